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
        let (mut stem, mut number, mut unit) = (name.as_bytes(), 0, 1);
        while let [rest @ .., digit @ b'0'..=b'9'] = stem
            && unit < 1_000_000_000
        {
            number += u32::from(digit - b'0') * unit;
            (stem, unit) = (rest, unit * 10);
        }
        Self::of_parts(stem, number)
    }

    /// The hash of the name `stem` with `number` behind it.
    fn of_parts(stem: &[u8], number: u32) -> Self {
        use std::hash::Hasher;
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

/// How a name is looked up.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NameKey {
    /// It is this number, as one writes it.
    Number(u32),
    /// By its hash.
    Hash(NameHash),
}

impl NameKey {
    /// How to look up `name`.
    pub(crate) fn of(name: &str) -> Self {
        let plain = matches!(name.as_bytes(), [b'0'] | [b'1'..=b'9', ..]) && name.len() <= 9;
        let number = |sum: u32, byte: u8| byte.is_ascii_digit().then(|| sum * 10 + u32::from(byte - b'0'));
        match name.bytes().try_fold(0, number) {
            Some(number) if plain => Self::Number(number),
            _ => Self::Hash(NameHash::of(name)),
        }
    }

    fn hash(self) -> NameHash {
        match self {
            Self::Number(number) => NameHash::of_parts(&[], number),
            Self::Hash(hash) => hash,
        }
    }
}

/// Values of one scope by name. Numbers that follow each other are places of a list.
#[derive(Debug, Default)]
pub(crate) struct ScopeTable {
    first: u32,
    numbered: Vec<Option<ValueId>>,
    others: NameTable,
}

impl ScopeTable {
    /// The value with that key for which `is_named` holds.
    pub(crate) fn find(&self, key: NameKey, is_named: impl Fn(ValueId) -> bool) -> Option<ValueId> {
        let numbered = match key {
            NameKey::Number(number) => {
                number.checked_sub(self.first).and_then(|place| *self.numbered.get(place as usize)?)
            }
            NameKey::Hash(_) => None,
        };
        numbered
            .or_else(|| if self.others.0.is_empty() { None } else { self.others.find(key.hash(), is_named) })
    }

    /// Adds `value`, unless there is one for which `is_named` holds: that.
    pub(crate) fn add(
        &mut self,
        key: NameKey,
        value: ValueId,
        is_named: impl Fn(ValueId) -> bool,
    ) -> Option<ValueId> {
        let NameKey::Number(number) = key else { return self.others.add(key.hash(), value, is_named) };
        let known = self.find(key, &is_named);
        if known.is_some() {
            return known;
        }
        if self.numbered.is_empty() {
            self.first = number;
        }
        let most = 2 * self.numbered.len() as u32 + PLACE;
        match number.checked_sub(self.first).filter(|&place| place <= most).map(|place| place as usize) {
            Some(place) => {
                if self.numbered.len() <= place {
                    self.numbered.resize(place + 1, None);
                }
                self.numbered[place] = Some(value);
                None
            }
            None => self.others.add(key.hash(), value, is_named),
        }
    }

    /// Up to `most` values, in the order of their ids.
    pub(crate) fn values(&self, most: usize) -> Vec<ValueId> {
        let mut values = self.others.values(most);
        values.extend(self.numbered.iter().flatten().take(most - values.len()));
        values.sort_unstable();
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_in_any_order() {
        let numbers = (40..90).chain([7, 1_000_000_000, 90, 5_000, 91, 300, 0, 4_294_967_295]);
        let names: Vec<String> = numbers.map(|number: u64| number.to_string()).collect();
        let names: Vec<String> = names.into_iter().chain(["040".to_owned(), "x".to_owned()]).collect();
        let mut table = ScopeTable::default();
        for (index, name) in names.iter().enumerate() {
            let is_named = |value: ValueId| names[value.index()] == *name;
            assert_eq!(table.add(NameKey::of(name), ValueId::new(index), is_named), None, "{name}");
        }
        for (index, name) in names.iter().enumerate() {
            let is_named = |value: ValueId| names[value.index()] == *name;
            assert_eq!(table.find(NameKey::of(name), is_named), Some(ValueId::new(index)), "{name}");
            assert_eq!(table.add(NameKey::of(name), ValueId::new(0), is_named), Some(ValueId::new(index)));
        }
        for name in ["1", "39", "92", "00", "", "y"] {
            assert_eq!(table.find(NameKey::of(name), |value| names[value.index()] == name), None, "{name}");
        }
        assert_eq!(table.values(usize::MAX).len(), names.len());
        assert_eq!(table.values(3).len(), 3);
    }

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
