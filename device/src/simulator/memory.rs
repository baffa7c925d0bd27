//! A tile's memory: 624 KiB in copy-on-write pages, each byte with a mark that says whether it was ever written.
//!
//! Equal images share their pages, so 1,472 tiles cost what their differences cost. A byte counts as written
//! after image data (zero fill included), an exchange, a host transfer or a store; reading any other byte is an
//! error that names it.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use crate::hash::HashMap;
use rustc_hash::FxHasher;

use crate::memory_map::{MEMORY_BASE, MEMORY_END};
use crate::units::{Address, Bytes};

/// Bytes of a page; the unit of sharing.
const PAGE: usize = 4096;
/// Pages of a tile.
const PAGES: usize = (MEMORY_END.0 - MEMORY_BASE.0) as usize / PAGE;
/// What an unwritten byte reads as where reading it is allowed: a NaN in every 16- and 32-bit format.
pub const POISON: u8 = 0xff;

/// Why an access to tile memory was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryError {
    /// The address lies outside tile memory.
    Unmapped(Address),
    /// The byte was never written.
    Unwritten(Address),
    /// The address is not a multiple of the access size.
    Misaligned(Address),
    /// The byte may not be written: it is in no buffer that is live.
    Stray(Address),
}

impl MemoryError {
    /// The first byte concerned.
    pub(crate) fn address(self) -> Address {
        match self {
            Self::Unmapped(address)
            | Self::Unwritten(address)
            | Self::Misaligned(address)
            | Self::Stray(address) => address,
        }
    }
}

/// Ranges that may be written, apart from each other and in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Writable(Arc<[(u32, u32)]>);

impl Writable {
    /// The union of `ranges`, each with its first byte and the first behind it.
    pub(crate) fn of(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (start, end) in ranges {
            match merged.last_mut().filter(|last| last.1 >= start) {
                Some(last) => last.1 = last.1.max(end),
                None => merged.push((start, end)),
            }
        }
        Self(merged.into())
    }

    /// The first byte of `start..end` outside.
    fn first_outside(&self, start: u32, end: u32) -> Option<u32> {
        let at = self.0.partition_point(|&(_, end)| end <= start);
        match self.0.get(at) {
            Some(&(first, _)) if first > start => Some(start),
            Some(&(_, last)) if last >= end => None,
            Some(&(_, last)) => Some(last),
            None => Some(start),
        }
        .filter(|_| start < end)
    }
}

#[derive(Clone)]
struct Page {
    data: [u8; PAGE],
    /// One bit a byte.
    written: [u64; PAGE / 64],
}

impl Page {
    fn new() -> Self {
        Self { data: [POISON; PAGE], written: [0; PAGE / 64] }
    }

    /// A page whose every byte is written.
    fn full(bytes: &[u8]) -> Self {
        let mut page = Self { data: [0; PAGE], written: [u64::MAX; PAGE / 64] };
        page.data.copy_from_slice(bytes);
        page
    }

    fn unmark(&mut self, start: usize, end: usize) {
        for (index, mask) in masks(start, end) {
            self.written[index] &= !mask;
        }
        self.data[start..end].fill(POISON);
    }

    fn mark(&mut self, start: usize, end: usize) {
        for (index, mask) in masks(start, end) {
            self.written[index] |= mask;
        }
    }

    /// The first byte of `start..end` that was never written.
    fn first_unwritten(&self, start: usize, end: usize) -> Option<usize> {
        masks(start, end).find_map(|(index, mask)| {
            let missing = !self.written[index] & mask;
            (missing != 0).then(|| index * 64 + missing.trailing_zeros() as usize)
        })
    }
}

/// The page of zeros that cleared memory shares.
static ZERO_PAGE: LazyLock<Arc<Page>> = LazyLock::new(|| Arc::new(Page::full(&[0; PAGE])));

/// Words of a bit map that cover the bits `start..end`, each with the mask of the bits inside.
fn masks(start: usize, end: usize) -> impl Iterator<Item = (usize, u64)> {
    (start / 64..end.div_ceil(64)).map(move |index| {
        let low = start.saturating_sub(index * 64);
        let high = (end - index * 64).min(64);
        (index, (u64::MAX >> (64 - (high - low))) << low)
    })
}

/// Pages seen so far, by hash of their contents.
#[derive(Default)]
pub(crate) struct PagePool(HashMap<u64, Vec<Arc<Page>>>);

/// The memory of one tile, or of a class of tiles whose memories are equal. A clone shares all pages.
#[derive(Clone)]
pub struct TileMemory {
    pages: Vec<Option<Arc<Page>>>,
    /// What may be written; everything if nothing is said.
    writable: Option<Writable>,
}

impl Default for TileMemory {
    fn default() -> Self {
        Self { pages: vec![None; PAGES], writable: None }
    }
}

impl std::fmt::Debug for TileMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TileMemory({} pages)", self.pages.iter().flatten().count())
    }
}

/// The pieces of a range, one a page: page index, start and end inside the page, offset inside the range.
fn pieces(address: u32, length: usize) -> impl Iterator<Item = (usize, usize, usize, usize)> {
    let first = (address - MEMORY_BASE.0) as usize;
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == length {
            return None;
        }
        let at = first + done;
        let start = at % PAGE;
        let end = (start + length - done).min(PAGE);
        let piece = (at / PAGE, start, end, done);
        done += end - start;
        Some(piece)
    })
}

impl TileMemory {
    /// Memory in which no byte was written.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn check(address: Address, length: usize) -> Result<(), MemoryError> {
        if address < MEMORY_BASE {
            return Err(MemoryError::Unmapped(address));
        }
        let room = MEMORY_END.0.saturating_sub(address.0) as usize;
        if length > room {
            return Err(MemoryError::Unmapped(address.max(MEMORY_END)));
        }
        Ok(())
    }

    /// Fills `into` from `address`.
    ///
    /// # Errors
    /// A byte outside tile memory, or one that was never written.
    pub fn read(&self, address: Address, into: &mut [u8]) -> Result<(), MemoryError> {
        Self::check(address, into.len())?;
        for (page, start, end, offset) in pieces(address.0, into.len()) {
            let base = MEMORY_BASE.0 + (page * PAGE) as u32;
            let Some(page) = &self.pages[page] else {
                return Err(MemoryError::Unwritten(Address(base + start as u32)));
            };
            if let Some(missing) = page.first_unwritten(start, end) {
                return Err(MemoryError::Unwritten(Address(base + missing as u32)));
            }
            into[offset..offset + end - start].copy_from_slice(&page.data[start..end]);
        }
        Ok(())
    }

    /// Fills `into` from `address`; bytes that were never written or lie outside tile memory read as
    /// [`POISON`].
    pub fn read_ahead(&self, address: Address, into: &mut [u8]) {
        into.fill(POISON);
        let inside = if address < MEMORY_BASE { 0 } else { MEMORY_END.0.saturating_sub(address.0) as usize };
        let length = into.len().min(inside);
        for (page, start, end, offset) in pieces(address.0.max(MEMORY_BASE.0), length) {
            if let Some(page) = &self.pages[page] {
                into[offset..offset + end - start].copy_from_slice(&page.data[start..end]);
            }
        }
    }

    /// Whether every byte of the range was written.
    #[must_use]
    pub fn is_written(&self, address: Address, length: Bytes) -> bool {
        Self::check(address, length.0 as usize).is_ok()
            && pieces(address.0, length.0 as usize).all(|(page, start, end, _)| {
                self.pages[page].as_ref().is_some_and(|page| page.first_unwritten(start, end).is_none())
            })
    }

    /// The word at `address`.
    ///
    /// # Errors
    /// A misaligned address, one outside tile memory, or a byte that was never written.
    pub fn word(&self, address: Address) -> Result<u32, MemoryError> {
        if !address.is_aligned(Bytes(4)) {
            return Err(MemoryError::Misaligned(address));
        }
        Self::check(address, 4)?;
        let at = (address.0 - MEMORY_BASE.0) as usize;
        let (page, start) = (at / PAGE, at % PAGE);
        match &self.pages[page] {
            Some(page) if page.written[start / 64] >> (start % 64) & 15 == 15 => {
                let bytes = &page.data[start..start + 4];
                Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            }
            Some(page) => {
                let missing = page.first_unwritten(start, start + 4).unwrap_or(start);
                Err(MemoryError::Unwritten(Address(address.0 + (missing - start) as u32)))
            }
            None => Err(MemoryError::Unwritten(address)),
        }
    }

    /// From now on only `writable` may be written.
    pub(crate) fn restrict(&mut self, writable: Writable) {
        self.writable = Some(writable);
    }

    /// Makes a range of tile memory count as never written; what lies outside is left alone.
    pub(crate) fn forget(&mut self, address: Address, length: Bytes) {
        if Self::check(address, length.0 as usize).is_err() {
            return;
        }
        for (page, start, end, _) in pieces(address.0, length.0 as usize) {
            if let Some(page) = &mut self.pages[page] {
                Arc::make_mut(page).unmark(start, end);
            }
        }
    }

    fn check_write(&self, address: Address, length: usize) -> Result<(), MemoryError> {
        Self::check(address, length)?;
        let end = address.0 + length as u32;
        let stray = self.writable.as_ref().and_then(|writable| writable.first_outside(address.0, end));
        stray.map_or(Ok(()), |byte| Err(MemoryError::Stray(Address(byte))))
    }

    /// Stores `bytes` at `address`.
    ///
    /// # Errors
    /// A byte outside tile memory, or one that may not be written; nothing is stored then.
    pub fn write(&mut self, address: Address, bytes: &[u8]) -> Result<(), MemoryError> {
        self.check_write(address, bytes.len())?;
        for (page, start, end, offset) in pieces(address.0, bytes.len()) {
            let from = &bytes[offset..offset + end - start];
            if from.len() == PAGE && self.pages[page].is_none() {
                self.pages[page] = Some(Arc::new(Page::full(from)));
                continue;
            }
            let page = Arc::make_mut(self.pages[page].get_or_insert_with(|| Arc::new(Page::new())));
            page.data[start..end].copy_from_slice(from);
            page.mark(start, end);
        }
        Ok(())
    }

    /// Stores a word.
    ///
    /// # Errors
    /// A misaligned address, one outside tile memory, or one that may not be written.
    pub fn write_word(&mut self, address: Address, word: u32) -> Result<(), MemoryError> {
        if !address.is_aligned(Bytes(4)) {
            return Err(MemoryError::Misaligned(address));
        }
        self.write(address, &word.to_le_bytes())
    }

    /// Stores zeros over a range.
    ///
    /// # Errors
    /// A byte outside tile memory, or one that may not be written; nothing is stored then.
    pub fn fill_zero(&mut self, address: Address, length: Bytes) -> Result<(), MemoryError> {
        self.check_write(address, length.0 as usize)?;
        for (page, start, end, _) in pieces(address.0, length.0 as usize) {
            if end - start == PAGE {
                self.pages[page] = Some(Arc::clone(&ZERO_PAGE));
                continue;
            }
            let page = Arc::make_mut(self.pages[page].get_or_insert_with(|| Arc::new(Page::new())));
            page.data[start..end].fill(0);
            page.mark(start, end);
        }
        Ok(())
    }

    /// Shares pages with those of `pool` that are equal, and adds the others to it.
    pub(crate) fn share_pages(&mut self, pool: &mut PagePool) {
        for page in self.pages.iter_mut().flatten() {
            let mut hasher = FxHasher::default();
            page.data.hash(&mut hasher);
            page.written.hash(&mut hasher);
            let known = pool.0.entry(hasher.finish()).or_default();
            match known.iter().find(|known| known.data == page.data && known.written == page.written) {
                Some(known) => *page = Arc::clone(known),
                None => known.push(Arc::clone(page)),
            }
        }
    }

    /// Whether both share every page; equal contents that were written separately do not count.
    #[must_use]
    pub fn shares_all(&self, other: &Self) -> bool {
        self.pages.iter().zip(&other.pages).all(|pair| match pair {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_reads_back_only_after_it_was_written() {
        let mut memory = TileMemory::new();
        let at = Address(MEMORY_BASE.0 + PAGE as u32 - 2);
        assert_eq!(memory.word(Address(MEMORY_BASE.0)), Err(MemoryError::Unwritten(MEMORY_BASE)));
        memory.write(at, &[1, 2, 3]).unwrap();
        let mut bytes = [0; 3];
        memory.read(at, &mut bytes).unwrap();
        assert_eq!(bytes, [1, 2, 3]);
        let mut more = [0; 4];
        assert_eq!(memory.read(at, &mut more), Err(MemoryError::Unwritten(Address(at.0 + 3))));
        memory.read_ahead(at, &mut more);
        assert_eq!(more, [1, 2, 3, POISON]);
        assert!(memory.is_written(at, Bytes(3)) && !memory.is_written(at, Bytes(4)));
    }

    #[test]
    fn the_ends_of_memory_are_mapped_and_what_lies_past_them_is_not() {
        let mut memory = TileMemory::new();
        memory.fill_zero(MEMORY_BASE, Bytes(MEMORY_END.0 - MEMORY_BASE.0)).unwrap();
        assert_eq!(memory.word(Address(MEMORY_END.0 - 4)), Ok(0));
        assert_eq!(memory.write(Address(MEMORY_END.0 - 1), &[0, 0]), Err(MemoryError::Unmapped(MEMORY_END)));
        assert_eq!(
            memory.word(Address(MEMORY_BASE.0 - 4)),
            Err(MemoryError::Unmapped(Address(MEMORY_BASE.0 - 4)))
        );
        assert_eq!(
            memory.word(Address(MEMORY_BASE.0 + 2)),
            Err(MemoryError::Misaligned(Address(MEMORY_BASE.0 + 2)))
        );
        let mut ahead = [0; 8];
        memory.read_ahead(Address(MEMORY_END.0 - 4), &mut ahead);
        assert_eq!(ahead, [0, 0, 0, 0, POISON, POISON, POISON, POISON]);
    }

    #[test]
    fn only_what_may_be_written_is_and_what_is_forgotten_reads_as_unwritten() {
        let mut memory = TileMemory::new();
        let base = 0x60000;
        memory.write(Address(base), &[1; 16]).unwrap();
        memory.restrict(Writable::of(vec![(base + 8, base + 12), (base, base + 8), (base + 20, base + 24)]));
        memory.write(Address(base), &[2; 12]).unwrap();
        let stray = |at: u32| Err(MemoryError::Stray(Address(at)));
        assert_eq!(memory.write(Address(base + 8), &[3; 8]), stray(base + 12));
        assert_eq!(memory.write_word(Address(base + 16), 3), stray(base + 16));
        assert_eq!(memory.write_word(Address(base + 24), 3), stray(base + 24));
        memory.write_word(Address(base + 20), 3).unwrap();
        memory.forget(Address(base + 4), Bytes(4));
        assert_eq!(memory.word(Address(base + 4)), Err(MemoryError::Unwritten(Address(base + 4))));
        assert_eq!(memory.word(Address(base + 8)), Ok(0x0202_0202));
    }

    #[test]
    fn a_clone_shares_pages_until_one_side_writes() {
        let mut memory = TileMemory::new();
        memory.write_word(Address(0x60000), 7).unwrap();
        let mut copy = memory.clone();
        assert!(copy.shares_all(&memory));
        let mut equal = TileMemory::new();
        equal.write_word(Address(0x60000), 7).unwrap();
        assert!(!equal.shares_all(&memory));
        let mut pool = PagePool::default();
        memory.share_pages(&mut pool);
        equal.share_pages(&mut pool);
        assert!(equal.shares_all(&memory));
        copy.write_word(Address(0x60000), 8).unwrap();
        assert!(!copy.shares_all(&memory));
        assert_eq!((memory.word(Address(0x60000)), copy.word(Address(0x60000))), (Ok(7), Ok(8)));
    }
}
