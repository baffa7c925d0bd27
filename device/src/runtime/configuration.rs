//! The register writes that bring a reset board into its working state, as captured on a C600.
//!
//! File: `IPUCFG1` and a zero byte, a little-endian u32 count, then pairs of u32 offset and value, nothing else.

use crate::package::ConfigWrite;

use super::error::{RuntimeCode, RuntimeError};
use super::registers::SPACE;

const MAGIC: &[u8] = b"IPUCFG1\0";

/// Register writes in the order of their replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    writes: Vec<ConfigWrite>,
}

impl Configuration {
    /// The capture of a C600 that comes with this crate: 2,003 writes.
    ///
    /// # Errors
    /// Never for a sound build.
    pub fn c600() -> Result<Self, RuntimeError> {
        Self::from_bytes(include_bytes!("../../data/c600-init.ipucfg"))
    }

    /// Reads an `.ipucfg` file.
    ///
    /// # Errors
    /// A wrong magic or length, or an offset that is no register.
    pub fn from_bytes(file: &[u8]) -> Result<Self, RuntimeError> {
        let refuse = |at: usize, message: String| {
            RuntimeError::new(RuntimeCode::Configuration, format!("byte {at}"), message)
                .fix("is this an `.ipucfg` file?")
        };
        let Some(rest) = file.strip_prefix(MAGIC) else {
            return Err(refuse(0, "the file does not begin with `IPUCFG1`".to_owned()));
        };
        let mut words = rest.chunks(4).map(|word| <[u8; 4]>::try_from(word).map(u32::from_le_bytes));
        let Some(Ok(count)) = words.next() else {
            return Err(refuse(8, "the file ends before the number of records".to_owned()));
        };
        if file.len() as u64 != 12 + 8 * u64::from(count) {
            let message = format!("{count} records announced, but the file has {} bytes", file.len());
            return Err(refuse(8, message));
        }
        let mut writes = Vec::with_capacity(count as usize);
        while let (Some(Ok(offset)), Some(Ok(value))) = (words.next(), words.next()) {
            if !offset.is_multiple_of(4) || offset >= SPACE {
                let message = format!("offset 0x{offset:x} is not a register");
                return Err(refuse(12 + 8 * writes.len(), message));
            }
            writes.push(ConfigWrite { offset, value });
        }
        Ok(Self { writes })
    }

    /// All records, those that a replay skips included.
    #[must_use]
    pub fn writes(&self) -> &[ConfigWrite] {
        &self.writes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::registers::{DebugRegister, GROUP_1, GROUP_2};
    use crate::topology::TILE_COUNT;
    use crate::units::LogicalTile;

    #[test]
    fn the_capture_holds_what_the_notes_count() {
        let configuration = Configuration::c600().unwrap();
        let writes = configuration.writes();
        assert_eq!(writes.len(), 2003);
        assert_eq!(writes.iter().filter(|w| w.offset == GROUP_1 || w.offset == GROUP_2).count(), 8);
        assert_eq!(writes.iter().map(|w| w.offset).min(), Some(0x2000));
        assert_eq!(writes.iter().map(|w| w.offset).max(), Some(0x46fc4));
        let breaks: Vec<u32> = writes.iter().filter(|w| w.value == 0x4000_0000).map(|w| w.offset).collect();
        let expected: Vec<u32> =
            (0..TILE_COUNT).map(|tile| DebugRegister::RunBreak.of(LogicalTile(tile).physical())).collect();
        assert_eq!(breaks, expected);
    }

    #[test]
    fn a_damaged_capture_is_refused() {
        let whole = include_bytes!("../../data/c600-init.ipucfg");
        for length in [0, 7, 8, 11, 12, 100, whole.len() - 1] {
            let error = Configuration::from_bytes(&whole[..length]).unwrap_err();
            assert_eq!(error.code(), "D0355", "{length} bytes");
        }
        let mut longer = whole.to_vec();
        longer.push(0);
        assert!(Configuration::from_bytes(&longer).is_err());
        let mut odd = whole.to_vec();
        odd[12] |= 1;
        assert!(Configuration::from_bytes(&odd).is_err());
    }
}
