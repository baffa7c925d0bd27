//! A growing set of events as a bitmap: the occupancy of one lane of one tile.

/// Events are non-negative and below 2^31; whatever was never inserted is absent.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventSet {
    words: Vec<u64>,
}

/// Bits `from % 64 ..` of a word.
fn from_bit(event: usize) -> u64 {
    u64::MAX << (event % 64)
}

/// Bits `..= last % 64` of a word.
fn to_bit(last: usize) -> u64 {
    u64::MAX >> (63 - last % 64)
}

impl EventSet {
    pub(crate) fn contains(&self, event: i64) -> bool {
        let Ok(event) = usize::try_from(event) else { return false };
        self.words.get(event / 64).is_some_and(|word| word >> (event % 64) & 1 == 1)
    }

    pub(crate) fn insert(&mut self, event: i64) {
        self.insert_range(event, event + 1);
    }

    pub(crate) fn remove(&mut self, event: i64) {
        let Ok(event) = usize::try_from(event) else { return };
        if let Some(word) = self.words.get_mut(event / 64) {
            *word &= !(1 << (event % 64));
        }
    }

    /// Inserts `begin..end`, clipped to events from 0 on.
    pub(crate) fn insert_range(&mut self, begin: i64, end: i64) {
        let (begin, end) = (begin.max(0) as usize, end.max(0) as usize);
        if begin >= end {
            return;
        }
        let (first, last) = (begin / 64, (end - 1) / 64);
        if self.words.len() <= last {
            self.words.resize(last + 1, 0);
        }
        if first == last {
            self.words[first] |= from_bit(begin) & to_bit(end - 1);
            return;
        }
        self.words[first] |= from_bit(begin);
        self.words[first + 1..last].fill(u64::MAX);
        self.words[last] |= to_bit(end - 1);
    }

    /// The last event of the set in `begin..end`.
    pub(crate) fn last_in(&self, begin: i64, end: i64) -> Option<i64> {
        let begin = begin.max(0) as usize;
        let end = (end.max(0) as usize).min(self.words.len() * 64);
        if begin >= end {
            return None;
        }
        let (first, last) = (begin / 64, (end - 1) / 64);
        let mut word = self.words[last] & to_bit(end - 1);
        let mut index = last;
        loop {
            if index == first {
                word &= from_bit(begin);
            }
            if word != 0 {
                return Some((index * 64 + 63 - word.leading_zeros() as usize) as i64);
            }
            if index == first {
                return None;
            }
            index -= 1;
            word = self.words[index];
        }
    }

    /// The first event at or after `from` that is absent.
    fn first_absent(&self, from: i64) -> i64 {
        let from = from.max(0) as usize;
        let mut index = from / 64;
        let Some(&word) = self.words.get(index) else { return from as i64 };
        let mut absent = !word & from_bit(from);
        while absent == 0 {
            index += 1;
            match self.words.get(index) {
                Some(&word) => absent = !word,
                None => return (index * 64) as i64,
            }
        }
        (index * 64 + absent.trailing_zeros() as usize) as i64
    }

    /// The first `begin >= from` with all of `begin..begin + length` absent.
    pub(crate) fn first_gap(&self, from: i64, length: i64) -> i64 {
        let mut begin = self.first_absent(from);
        while let Some(last) = self.last_in(begin, begin + length) {
            begin = self.first_absent(last + 1);
        }
        begin
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_plain_table(ranges in prop::collection::vec((0i64..400, 0i64..90), 0..12), from in 0i64..500, length in 1i64..80) {
            let mut set = EventSet::default();
            let mut table = vec![false; 1200];
            for (begin, size) in ranges {
                set.insert_range(begin, begin + size);
                table[begin as usize..(begin + size) as usize].fill(true);
            }
            for event in 0..1100 {
                prop_assert_eq!(set.contains(event), table[event as usize]);
            }
            let last = (from..from + length).rev().find(|&event| table[event as usize]);
            prop_assert_eq!(set.last_in(from, from + length), last);
            let free = |begin: i64| !(begin..begin + length).any(|event| table[event as usize]);
            let gap = (from..1100).find(|&begin| free(begin)).expect("the table ends free");
            prop_assert_eq!(set.first_gap(from, length), gap);
        }
    }
}
