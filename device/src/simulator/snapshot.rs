//! The memory of all tiles at one moment of a run, for tools that ask when a byte went wrong.

use crate::topology::TILE_COUNT;
use crate::units::PhysicalTile;

use super::classes::Classes;
use super::memory::TileMemory;

/// The memory of every tile at a global sync. Pages are shared with the snapshots before and the tiles themselves, so it
/// costs what has changed.
#[derive(Debug, Clone)]
pub struct Snapshot {
    memories: Vec<TileMemory>,
    /// By physical tile: its position in `memories`.
    class_of: Vec<u16>,
}

impl Snapshot {
    pub(crate) fn of(classes: &Classes) -> Self {
        let mut class_of = vec![u16::MAX; usize::from(TILE_COUNT)];
        for (position, class) in (0u16..).zip(&classes.all) {
            for tile in &class.members {
                if let Some(slot) = class_of.get_mut(usize::from(tile.0)) {
                    *slot = position;
                }
            }
        }
        Self { memories: classes.all.iter().map(|class| class.memory.clone()).collect(), class_of }
    }

    /// The memory of a tile; nothing for a number that no tile has.
    #[must_use]
    pub fn memory(&self, tile: PhysicalTile) -> Option<&TileMemory> {
        let class = *self.class_of.get(usize::from(tile.0))?;
        self.memories.get(usize::from(class))
    }
}
