//! Layouts: how a tensor is cut into shards, which tile holds each, and how a shard lies in memory.
//!
//! This is the only place that turns a layout into indices. A [`Layout`] is the attribute as written; a
//! [`Placement`] is a layout resolved on a shape and an element size. Rules:
//!
//! * shards are numbered row-major over the parts of the axes, the replica (copy or partial) fastest;
//! * a tensor of rank above two is a matrix whose rows are the leading axes flattened, except for coefficient
//!   orders, which keep one matrix per leading index;
//! * a part past the last unit of its axis is an empty shard: it takes a tile number but no bytes;
//! * nothing states a grid beside the layouts: [`GemmGrid::derive`] reads it from the three layouts of a GEMM,
//!   [`transfers`] finds what a conversion moves.

pub(super) mod attribute;
mod axis;
mod error;
mod grid;
mod placement;
mod shard_order;
mod tile_map;
mod transfers;

#[cfg(test)]
mod tests;

use std::fmt;

use ipu_device::memory_map::MemoryClass;
use ipu_device::orders::ElementOrder;

pub use axis::AxisSplit;
pub use error::{LayoutCode, LayoutError};
pub use grid::{GemmGrid, GridTile};
pub use placement::{Placement, Shard};
pub use shard_order::ShardOrder;
pub use tile_map::TileMap;
pub use transfers::{LocalRun, Run, Transfers, partial_transfers, transfers};

/// How many shards hold the same part of a tensor, and what that means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Replicas {
    /// One shard holds each part.
    #[default]
    One,
    /// This many shards hold equal values.
    Copies(u32),
    /// The value is the sum over this many shards.
    Partial(u32),
}

impl Replicas {
    /// Shards for each part.
    #[must_use]
    pub fn count(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Copies(count) | Self::Partial(count) => count,
        }
    }
}

/// What the padding of a shard holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Padding {
    /// Nothing that may be relied on. The default.
    #[default]
    None,
    /// Zeros.
    Zero,
    /// Some finite values.
    Finite,
}

impl Padding {
    /// The word that the text uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Zero => "zero",
            Self::Finite => "finite",
        }
    }

    /// The padding of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::None, Self::Zero, Self::Finite].into_iter().find(|padding| padding.name() == name)
    }
}

/// Where a tensor lives: `#mapped.layout<split = [2, 2], tiles = (m, k) -> 2*m + k, ...>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Parts of each logical axis.
    pub split: Vec<u32>,
    /// Elements of a unit of each axis; empty stands for all ones.
    pub grain: Vec<u32>,
    /// Copies or partials of each part.
    pub replicas: Replicas,
    /// Tile of each shard.
    pub tiles: TileMap,
    /// Element order inside a shard.
    pub order: ElementOrder,
    /// What padding holds.
    pub pad: Padding,
    /// Memory class of every shard.
    pub memory: MemoryClass,
}

impl Layout {
    /// Resolves the layout on a tensor.
    ///
    /// # Errors
    /// The layout does not suit the shape, a shard has no tile or shares it, or a padded shard does not suit
    /// the element order.
    pub fn place(&self, shape: &[u32], element_bytes: u32) -> Result<Placement, LayoutError> {
        Placement::new(self, shape, element_bytes)
    }

    /// The grain of `axis`.
    #[must_use]
    pub fn grain_of(&self, axis: usize) -> u32 {
        self.grain.get(axis).copied().unwrap_or(1)
    }

    /// Shards, empty ones included.
    #[must_use]
    pub fn shard_count(&self) -> u64 {
        let parts = self.split.iter().map(|&parts| u64::from(parts)).try_fold(1u64, u64::checked_mul);
        parts.and_then(|parts| parts.checked_mul(u64::from(self.replicas.count()))).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Layout {
    /// The attribute as the text spells it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#mapped.layout<split = {:?}", self.split)?;
        if self.grain.iter().any(|&grain| grain != 1) {
            write!(f, ", grain = {:?}", self.grain)?;
        }
        match self.replicas {
            Replicas::One => {}
            Replicas::Copies(count) => write!(f, ", copies = {count}")?,
            Replicas::Partial(count) => write!(f, ", partial = {count}")?,
        }
        write!(f, ", tiles = {}, order = {}", self.tiles, self.order)?;
        if self.pad != Padding::None {
            write!(f, ", pad = {}", self.pad.name())?;
        }
        write!(f, ", memory = {}>", self.memory.name())
    }
}
