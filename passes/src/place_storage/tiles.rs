//! A set of tiles as a bitmap.

use std::fmt;

use ipu_device::LogicalTile;
use ipu_device::topology::TILE_COUNT;

const WORDS: usize = TILE_COUNT.div_ceil(64) as usize;

/// A set of logical tiles.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TileSet([u64; WORDS]);

impl TileSet {
    /// No tile.
    #[must_use]
    pub fn empty() -> Self {
        Self([0; WORDS])
    }

    /// Tiles `begin..end`, as far as they exist.
    #[must_use]
    pub fn range(begin: u16, end: u16) -> Self {
        (begin..end.min(TILE_COUNT)).map(LogicalTile).collect()
    }

    /// Adds a tile; false if the device does not have it.
    pub fn insert(&mut self, tile: LogicalTile) -> bool {
        let known = tile.0 < TILE_COUNT;
        if known {
            self.0[usize::from(tile.0) / 64] |= 1 << (tile.0 % 64);
        }
        known
    }

    /// Whether the tile is a member.
    #[must_use]
    pub fn contains(&self, tile: LogicalTile) -> bool {
        self.0.get(usize::from(tile.0) / 64).is_some_and(|word| word >> (tile.0 % 64) & 1 == 1)
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// Whether the sets share a tile.
    #[must_use]
    pub fn intersects(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    /// Adds all members of `other`.
    pub fn extend_from(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// Members of both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
        both
    }

    /// Members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = LogicalTile> + '_ {
        (0..TILE_COUNT).map(LogicalTile).filter(|&tile| self.contains(tile))
    }
}

impl FromIterator<LogicalTile> for TileSet {
    fn from_iter<I: IntoIterator<Item = LogicalTile>>(tiles: I) -> Self {
        let mut set = Self::empty();
        for tile in tiles {
            set.insert(tile);
        }
        set
    }
}

impl fmt::Display for TileSet {
    /// As the IR spells tile sets: `[0:4, 9]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut runs: Vec<(u16, u16)> = Vec::new();
        for tile in self.iter() {
            match runs.last_mut() {
                Some((_, end)) if *end == tile.0 => *end += 1,
                _ => runs.push((tile.0, tile.0 + 1)),
            }
        }
        f.write_str("[")?;
        for (index, (begin, end)) in runs.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            match end - begin {
                1 => write!(f, "{comma}{begin}")?,
                _ => write!(f, "{comma}{begin}:{end}")?,
            }
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_as_the_language_spells_tile_sets() {
        let mut set = TileSet::range(0, 4);
        assert!(
            set.insert(LogicalTile(9)) && set.insert(LogicalTile(1471)) && !set.insert(LogicalTile(1472))
        );
        assert_eq!(set.to_string(), "[0:4, 9, 1471]");
        assert_eq!(TileSet::empty().to_string(), "[]");
        assert_eq!(set.intersection(&TileSet::range(2, 10)).to_string(), "[2:4, 9]");
    }
}
