//! The program that the autoloader puts at the base of every tile and that then fetches the images.
//!
//! The vendor's is the file `tile_bootloader_cc_ipu21.elf` of its SDK and does not come with this crate. The
//! simulated device has its rules built in and takes a stand-in.

use crate::memory_map::MEMORY_BASE;

use super::error::{RuntimeCode, RuntimeError};

/// The autoloader works in units of 1 KiB.
const UNIT: usize = 1024;
/// Largest boot program.
const SIZE_MAX: u32 = 4096;
/// `trap 1`: a stand-in that reaches hardware stops at once.
const STAND_IN_WORD: u32 = 0x4180_1001;
/// Program header type of a loadable segment.
const PT_LOAD: u32 = 1;

/// The words of a boot program, a multiple of 1 KiB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootProgram {
    words: Vec<u32>,
    stand_in: bool,
}

impl BootProgram {
    /// What a simulated device is given.
    #[must_use]
    pub fn stand_in() -> Self {
        Self { words: vec![STAND_IN_WORD; UNIT / 4], stand_in: true }
    }

    /// Takes the boot program from the vendor's ELF file: its one loadable segment at the base of tile memory.
    ///
    /// # Errors
    /// If the file is not a 32-bit little-endian ELF file, or has no such segment, two, or one above 4 KiB.
    pub fn from_elf(file: &[u8]) -> Result<Self, RuntimeError> {
        let refuse = |message: &str| RuntimeError::new(RuntimeCode::BootProgram, "boot program", message);
        if !file.starts_with(b"\x7fELF\x01\x01") {
            return Err(refuse("the file is not a 32-bit little-endian ELF file")
                .fix("give the SDK's `bin/ipu/tile_bootloader_cc_ipu21.elf`"));
        }
        let damaged = || refuse("the ELF file is cut short");
        let table = word(file, 28).ok_or_else(damaged)? as usize;
        let stride = half(file, 42).ok_or_else(damaged)?;
        let count = half(file, 44).ok_or_else(damaged)?;
        let mut found = None;
        for index in 0..count {
            let header = table.checked_add(stride * index).ok_or_else(damaged)?;
            let field = |at: usize| word(file, header.checked_add(at)?);
            let kind = field(0).ok_or_else(damaged)?;
            let (Some(offset), Some(address), Some(size)) = (field(4), field(8), field(16)) else {
                return Err(damaged());
            };
            if kind != PT_LOAD || address != MEMORY_BASE.0 || size == 0 {
                continue;
            }
            if found.is_some() {
                return Err(refuse("two segments begin at the base of tile memory"));
            }
            if size > SIZE_MAX {
                return Err(refuse(&format!("{size} bytes, but at most {SIZE_MAX} fit")));
            }
            let end = (offset as usize).checked_add(size as usize).ok_or_else(damaged)?;
            found = Some(file.get(offset as usize..end).ok_or_else(damaged)?);
        }
        let segment = found.ok_or_else(|| refuse("no segment begins at the base of tile memory"))?;
        let mut bytes = segment.to_vec();
        bytes.resize(segment.len().next_multiple_of(UNIT), 0);
        let words = bytes.chunks_exact(4).filter_map(|word| Some(u32::from_le_bytes(word.try_into().ok()?)));
        Ok(Self { words: words.collect(), stand_in: false })
    }

    /// The words, a multiple of 256.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Whether only a simulated device can use it.
    #[must_use]
    pub fn is_stand_in(&self) -> bool {
        self.stand_in
    }
}

fn word(file: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(file.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn half(file: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes(file.get(at..at.checked_add(2)?)?.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file with one program header per (type, address, bytes).
    fn elf(segments: &[(u32, u32, &[u8])]) -> Vec<u8> {
        let mut file = b"\x7fELF\x01\x01\x01".to_vec();
        file.resize(52, 0);
        file[28..32].copy_from_slice(&52_u32.to_le_bytes());
        file[42..44].copy_from_slice(&32_u16.to_le_bytes());
        file[44..46].copy_from_slice(&(segments.len() as u16).to_le_bytes());
        let mut offset = 52 + 32 * segments.len() as u32;
        for &(kind, address, bytes) in segments {
            let size = bytes.len() as u32;
            for field in [kind, offset, address, address, size, size, 5, 4] {
                file.extend_from_slice(&field.to_le_bytes());
            }
            offset += size;
        }
        segments.iter().for_each(|(_, _, bytes)| file.extend_from_slice(bytes));
        file
    }

    #[test]
    fn the_segment_at_the_base_is_taken_and_padded() {
        let file =
            elf(&[(1, 0x5_0000, &[9; 8]), (1, 0x4_c000, &[1, 0, 0, 0, 2, 0, 0, 0]), (4, 0x4_c000, &[7; 4])]);
        let boot = BootProgram::from_elf(&file).unwrap();
        assert_eq!(boot.words().len(), 256);
        assert_eq!(&boot.words()[..3], &[1, 2, 0]);
        assert!(!boot.is_stand_in());
        for length in 0..file.len() - 12 {
            assert!(BootProgram::from_elf(&file[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn other_files_are_refused() {
        let code = |file: &[u8]| BootProgram::from_elf(file).unwrap_err().code();
        assert_eq!(code(b"PK"), "D0356");
        assert_eq!(code(&elf(&[(1, 0x5_0000, &[9; 8])])), "D0356");
        assert_eq!(code(&elf(&[(1, 0x4_c000, &[9; 8]), (1, 0x4_c000, &[9; 8])])), "D0356");
        assert_eq!(code(&elf(&[(1, 0x4_c000, &[9; 4097])])), "D0356");
        assert_eq!(BootProgram::from_elf(&elf(&[(1, 0x4_c000, &[9; 4096])])).unwrap().words().len(), 1024);
    }
}
