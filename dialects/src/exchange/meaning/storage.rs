//! The bytes of buffers, and which of them something has written.

use crate::exchange::program::BufferId;

/// One buffer on one tile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Storage {
    content: Vec<u8>,
    /// A bit a byte.
    written: Vec<u64>,
}

/// The buffers of one tile, by ascending id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TileStore {
    buffers: Vec<(BufferId, Storage)>,
}

/// The bits of word `word` that stand for bytes `start..end`.
fn mask(word: usize, start: usize, end: usize) -> u64 {
    let (low, high) = (start.max(word * 64) - word * 64, end.min(word * 64 + 64) - word * 64);
    let ones = |count: usize| if count >= 64 { u64::MAX } else { (1 << count) - 1 };
    ones(high) & !ones(low)
}

impl Storage {
    fn new(bytes: u32) -> Self {
        let bytes = bytes as usize;
        Self { content: vec![0; bytes], written: vec![0; bytes.div_ceil(64)] }
    }

    /// Counts every byte as unwritten.
    pub(super) fn forget(&mut self) {
        self.written.fill(0);
    }

    pub(super) fn content(&self) -> &[u8] {
        &self.content
    }

    /// The bytes, if the range is inside.
    pub(super) fn range(&self, offset: u32, bytes: u32) -> Option<&[u8]> {
        let start = offset as usize;
        self.content.get(start..start.checked_add(bytes as usize)?)
    }

    /// The first byte of a range that nothing has written.
    pub(super) fn first_unwritten(&self, offset: u32, bytes: u32) -> Option<u32> {
        let (start, end) = (offset as usize, offset as usize + bytes as usize);
        if start == end {
            return None;
        }
        (start / 64..end.div_ceil(64)).find_map(|word| {
            let missing = mask(word, start, end) & !self.written.get(word).copied().unwrap_or(0);
            (missing != 0).then(|| (word * 64) as u32 + missing.trailing_zeros())
        })
    }

    /// The longest runs of written bytes, with their offsets.
    pub(super) fn written_runs(&self) -> Vec<(u32, &[u8])> {
        let is_written = |&at: &usize| self.written[at / 64] >> (at % 64) & 1 == 1;
        let mut runs = Vec::new();
        let mut at = 0;
        while at < self.content.len() {
            let end = (at..self.content.len()).find(|at| !is_written(at)).unwrap_or(self.content.len());
            if end > at {
                runs.push((at as u32, &self.content[at..end]));
            }
            at = end + 1;
        }
        runs
    }

    /// Stores bytes; says whether they were inside.
    pub(super) fn write(&mut self, offset: u32, from: &[u8]) -> bool {
        let start = offset as usize;
        let end = start.saturating_add(from.len());
        let Some(place) = self.content.get_mut(start..end) else { return false };
        place.copy_from_slice(from);
        if start < end {
            for word in start / 64..end.div_ceil(64) {
                self.written[word] |= mask(word, start, end);
            }
        }
        true
    }
}

impl TileStore {
    /// Adds a buffer whose id is greater than those before.
    pub(super) fn add(&mut self, buffer: BufferId, bytes: u32) {
        self.buffers.push((buffer, Storage::new(bytes)));
    }

    /// These buffers alone.
    pub(super) fn only(&self, buffers: impl Iterator<Item = BufferId>) -> Self {
        let mut kept: Vec<BufferId> = buffers.collect();
        kept.sort_unstable();
        kept.dedup();
        let storage = |id: BufferId| self.get(id).map(|storage| (id, storage.clone()));
        Self { buffers: kept.into_iter().filter_map(storage).collect() }
    }

    /// The position of a buffer, for [`at`](Self::at).
    pub(super) fn position(&self, buffer: BufferId) -> Option<usize> {
        self.buffers.binary_search_by_key(&buffer, |(id, _)| *id).ok()
    }

    pub(super) fn at(&self, position: usize) -> Option<&Storage> {
        self.buffers.get(position).map(|(_, storage)| storage)
    }

    pub(super) fn at_mut(&mut self, position: usize) -> Option<&mut Storage> {
        self.buffers.get_mut(position).map(|(_, storage)| storage)
    }

    pub(super) fn get(&self, buffer: BufferId) -> Option<&Storage> {
        self.at(self.position(buffer)?)
    }

    pub(super) fn get_mut(&mut self, buffer: BufferId) -> Option<&mut Storage> {
        let position = self.position(buffer)?;
        self.at_mut(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_bytes_are_known_one_by_one() {
        let mut storage = Storage::new(200);
        assert_eq!(storage.first_unwritten(0, 0), None);
        assert_eq!(storage.first_unwritten(63, 2), Some(63));
        assert!(storage.write(10, &[7; 118]));
        assert_eq!(storage.first_unwritten(10, 118), None);
        assert_eq!(storage.first_unwritten(10, 119), Some(128));
        assert_eq!(storage.first_unwritten(9, 2), Some(9));
        assert!(!storage.write(199, &[1, 2]));
        assert!(storage.write(199, &[1]));
        assert_eq!(storage.written_runs(), [(10, &[7; 118][..]), (199, &[1][..])]);
        assert_eq!(storage.range(126, 3), Some(&[7, 7, 0][..]));
        assert_eq!(storage.range(199, 2), None);
    }
}
