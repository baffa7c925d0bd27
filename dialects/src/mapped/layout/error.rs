//! What can be wrong with a layout, or with a set of layouts that must fit together.

use std::fmt;

use ipu_device::Coded as _;

ipu_device::coded_enum! {
    /// Kinds of layout errors.
    pub enum LayoutCode {
        /// The number of split factors, grains or tile ids does not suit the shape.
        Rank = "V0501", "layout and shape differ in rank",
        /// A part count, copy count or grain is zero, or a tensor or shard is too large.
        Count = "V0502", "count out of range",
        /// The tile expression has no value or names no tile of the device.
        Tile = "V0503", "shard on no tile",
        /// Two shards lie on one tile.
        TileTwice = "V0504", "tile named twice by one layout",
        /// The padded shard does not suit the element order.
        Order = "V0505", "shard does not suit the element order",
        /// A byte run of a conversion is not made of whole words.
        SubWord = "V0506", "transfer of part of a word",
        /// The operation is not defined for a sum of partial tensors.
        Partial = "V0507", "layout of partial values where whole values are needed",
        /// The layouts of a computation do not describe one grid.
        Grid = "V0508", "layouts do not agree on a grid",
        /// Bytes given do not suit the layout.
        Bytes = "V0509", "wrong number of bytes",
    }
}

/// A layout error: its kind, and what was wrong, what was expected, and the fix where it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutError {
    /// The kind.
    pub code: LayoutCode,
    /// The text, lower case, no full stop.
    pub message: String,
}

impl LayoutError {
    pub(crate) fn new(code: LayoutCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.title(), self.message)
    }
}

impl std::error::Error for LayoutError {}
