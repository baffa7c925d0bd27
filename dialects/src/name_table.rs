//! Tables of values by name in which `%7` and `%8` stand beside each other: a text numbers its values mostly in the order in which it
//! defines and uses them, and a table of a million entries is slow to visit anywhere.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::ir::ValueId;

/// Bits of the number at the end of a name that are its place in a stretch of the table.
const PLACE_BITS: u32 = 6;

/// Mask of these bits.
const PLACE: u32 = (1 << PLACE_BITS) - 1;

/// The hash of a name: names that differ only in the last bits of a number at their end differ in its last bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NameHash(u32);

impl NameHash {
    /// The hash of `name`.
    pub(crate) fn of(name: &str) -> Self {
        use std::hash::Hasher;
        let (mut stem, mut number, mut unit) = (name.as_bytes(), 0, 1);
        while let [rest @ .., digit @ b'0'..=b'9'] = stem
            && unit < 1_000_000_000
        {
            number += u32::from(digit - b'0') * unit;
            (stem, unit) = (rest, unit * 10);
        }
        let mut hasher = rustc_hash::FxHasher::default();
        hasher.write(stem);
        hasher.write_u32(number >> PLACE_BITS);
        Self((hasher.finish() >> 16) as u32 & !PLACE | number & PLACE)
    }

    /// As wide as a table wants it: low bits choose where to look, the topmost are compared first.
    fn spread(self) -> u64 {
        let (stretch, place) = (u64::from(self.0 & !PLACE), u64::from(self.0 & PLACE));
        let mixed = stretch.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
        (mixed & !u64::from(PLACE) | place) ^ place << 57
    }
}

/// Values by name. The names stand elsewhere: whoever asks says whether a value has the name.
#[derive(Debug, Default)]
pub(crate) struct NameTable(HashTable<(NameHash, ValueId)>);

impl NameTable {
    /// The value with that hash for which `is_named` holds.
    pub(crate) fn find(&self, hash: NameHash, is_named: impl Fn(ValueId) -> bool) -> Option<ValueId> {
        let found = self.0.find(hash.spread(), |&(known, value)| known == hash && is_named(value));
        found.map(|&(_, value)| value)
    }

    /// Adds `value`, unless there is one for which `is_named` holds: that.
    pub(crate) fn add(
        &mut self,
        hash: NameHash,
        value: ValueId,
        is_named: impl Fn(ValueId) -> bool,
    ) -> Option<ValueId> {
        let same = |&(known, value): &(NameHash, ValueId)| known == hash && is_named(value);
        match self.0.entry(hash.spread(), same, |(hash, _)| hash.spread()) {
            Entry::Occupied(known) => Some(known.get().1),
            Entry::Vacant(free) => {
                free.insert((hash, value));
                None
            }
        }
    }

    /// Takes `value` out.
    pub(crate) fn remove(&mut self, hash: NameHash, value: ValueId) {
        if let Ok(entry) = self.0.find_entry(hash.spread(), |&(_, known)| known == value) {
            entry.remove();
        }
    }

    /// Up to `most` values, in the order of their ids.
    pub(crate) fn values(&self, most: usize) -> Vec<ValueId> {
        let mut values: Vec<ValueId> = self.0.iter().map(|&(_, value)| value).take(most).collect();
        values.sort_unstable();
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_whatever_their_numbers() {
        let stems = ["", "v", "a_long_name_", "a0b"];
        let numbers = (0..2000).map(|number| number.to_string());
        let numbers = numbers.chain(["00".to_owned(), "007".to_owned(), "9".repeat(30), String::new()]);
        let numbers: Vec<String> = numbers.collect();
        let names: Vec<String> = stems
            .iter()
            .flat_map(|stem| numbers.iter().map(move |number| format!("{stem}{number}")))
            .collect();
        let mut table = NameTable::default();
        for (index, name) in names.iter().enumerate() {
            let is_named = |value: ValueId| names[value.index()] == *name;
            assert_eq!(table.add(NameHash::of(name), ValueId::new(index), is_named), None, "{name}");
            assert_eq!(table.add(NameHash::of(name), ValueId::new(0), is_named), Some(ValueId::new(index)));
        }
        for (index, name) in names.iter().enumerate().filter(|(index, _)| index % 3 == 0) {
            table.remove(NameHash::of(name), ValueId::new(index));
        }
        for (index, name) in names.iter().enumerate() {
            let found = table.find(NameHash::of(name), |value| names[value.index()] == *name);
            assert_eq!(found, Some(ValueId::new(index)).filter(|_| index % 3 != 0), "{name}");
        }
        assert_eq!(table.values(usize::MAX).len(), names.len() - names.len().div_ceil(3));
    }

    #[test]
    fn neighbours_stand_together() {
        let place = |name: &str| NameHash::of(name).spread() % (1 << 20);
        assert_eq!(place("v129"), place("v128") + 1);
        assert_ne!(place("v192"), place("v191") + 1);
        assert_ne!(place("w128"), place("v128"));
    }
}
