//! A tensor type of `mapped`, resolved: its placement, its element type, and each shard as kernels see it.

use std::ops::Range;

use ipu_device::LogicalTile;
use ipu_device::kernels::ShardLayout;
use ipu_device::orders::MatrixShape;

use super::codes::{MappedCode, MappedError};
use super::layout::{Layout, Placement};
use crate::ipu::ScaledElement;
use crate::ir::{Module, Type, ValueId};
use crate::tensor_data::TensorData;

/// A tensor on tiles.
#[derive(Debug, Clone)]
pub struct ShardedTensor {
    /// Where every shard lies.
    pub placement: Placement,
    /// Element type and scale.
    pub element: ScaledElement,
}

impl ShardedTensor {
    /// The tensor of that type.
    ///
    /// # Errors
    /// The type is no tensor with a layout, tiles do not store its elements, or the layout does not suit it.
    pub fn of_type(ty: &Type) -> Result<Self, MappedError> {
        let missing = |what: &str| MappedError::new(MappedCode::NoLayout, format!("`{ty}` {what}"));
        let tensor = ty.as_tensor().ok_or_else(|| missing("is no tensor"))?;
        let layout: &Layout = tensor
            .encoding_as()
            .ok_or_else(|| missing("has no layout; write `tensor<..., #mapped.layout<...>>`"))?;
        let element = ScaledElement::of(&tensor.element)
            .ok_or_else(|| missing("has elements that tiles do not store"))?;
        let shape: Option<Vec<u32>> = tensor.shape.iter().map(|&extent| u32::try_from(extent).ok()).collect();
        let shape = shape.ok_or_else(|| missing("has an axis of more than 2^32 elements"))?;
        Ok(Self { placement: layout.place(&shape, element.element.bytes())?, element })
    }

    /// The tensor that `value` is.
    ///
    /// # Errors
    /// As [`of_type`](Self::of_type); the text names the value.
    pub fn of(module: &Module, value: ValueId) -> Result<Self, MappedError> {
        Self::of_type(module.value_type(value)).map_err(|error| match error {
            MappedError::Layout(mut error) => {
                error.message = format!("layout of `{}`: {}", module.value_text(value), error.message);
                MappedError::Layout(error)
            }
            other => other,
        })
    }

    /// Whether `data` is a tensor of this shape and element type.
    ///
    /// # Errors
    /// Says what it is and what was expected.
    pub fn check(&self, data: &TensorData) -> Result<(), MappedError> {
        let shape: Vec<u64> = self.placement.shape().map(u64::from).collect();
        if data.shape == shape && data.element == self.element && data.is_whole() {
            return Ok(());
        }
        let message = format!(
            "given are {:?} of `{}`, expected {shape:?} of `{}`",
            data.shape, data.element.element, self.element.element
        );
        Err(MappedError::new(MappedCode::Disagree, message))
    }

    /// The layout of `shard` for a kernel; `None` if the shard is empty.
    #[must_use]
    pub fn shard_layout(&self, shard: u32) -> Option<ShardLayout> {
        let padded = self.placement.padded_shape(shard);
        if padded.contains(&0) {
            return None;
        }
        let order = self.placement.layout().order;
        let (&columns, leading) = padded.split_last()?;
        let (rows, count) = match leading.split_last() {
            Some((&rows, batches)) if order.keeps_matrices_apart() => (rows, batches.iter().product()),
            _ => (leading.iter().product(), 1),
        };
        let layout = ShardLayout::new(self.element.element, order, MatrixShape::new(rows, columns));
        Some(layout.scaled(self.element.scale).repeated(count))
    }

    /// Shard number and tile of every shard that has bytes, in order of shards.
    pub fn shards(&self) -> impl Iterator<Item = (u32, LogicalTile)> + '_ {
        let tiles = self.placement.tiles().iter().copied();
        (0u32..).zip(tiles).filter(|&(shard, _)| self.placement.shard_bytes(shard).0 > 0)
    }
}

/// Where the image of a tensor lies on the tiles, as its layout says.
#[derive(Debug)]
pub struct ImagePlaces {
    tensor: ShardedTensor,
    ranges: Vec<Range<usize>>,
}

impl ImagePlaces {
    /// The places of the image of a tensor of that type; `None` if it has no layout that places it.
    #[must_use]
    pub fn of_type(ty: &Type) -> Option<Self> {
        let tensor = ShardedTensor::of_type(ty).ok()?;
        let ranges = tensor.placement.image_ranges();
        Some(Self { tensor, ranges })
    }

    /// Why bytes `bytes` of the image do not lie on `tile`; `None` if they do.
    #[must_use]
    pub fn misplaced(&self, tile: LogicalTile, bytes: Range<u64>) -> Option<String> {
        let wide = |range: &Range<usize>| range.start as u64..range.end as u64;
        let own = self.tensor.placement.shard_on(tile).and_then(|shard| self.ranges.get(shard as usize));
        let own = own.map(wide).filter(|own| !own.is_empty());
        if own.as_ref().is_some_and(|own| own.start <= bytes.start && bytes.end <= own.end) {
            return None;
        }
        let (start, end) = (bytes.start, bytes.end);
        let found = format!("bytes {start} to {end} of the image are not what the layout has there");
        Some(match own {
            Some(own) => format!("{found}, expected bytes {} to {}", own.start, own.end),
            None => {
                let at = self.ranges.iter().position(|range| wide(range).contains(&start));
                let home = at.and_then(|shard| self.tensor.placement.tiles().get(shard));
                let home = home.map_or_else(|| "on no tile".to_owned(), |home| format!("on tile {home}"));
                format!("{found}, expected none; the layout has them {home}")
            }
        })
    }
}
