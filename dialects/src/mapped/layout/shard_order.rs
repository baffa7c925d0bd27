//! How one padded shard lies in memory: local coordinates to storage positions and back.
//!
//! The map of a matrix is the element order's own; this file only turns a shard of any rank into matrices:
//! leading axes are flattened into rows, or kept as one matrix each where the order says so.

use ipu_device::orders::{ElementOrder, MatrixShape};
use smallvec::SmallVec;

use super::error::{LayoutCode, LayoutError};

/// The storage position of every element of a shard of one shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardOrder {
    extents: SmallVec<[u32; 4]>,
    /// Storage position of each row-major local position.
    storage: Vec<u32>,
    /// Row-major local position of each storage position.
    local: Vec<u32>,
}

impl ShardOrder {
    /// The order of an empty shard.
    pub(super) fn empty() -> Self {
        Self { extents: SmallVec::new(), storage: Vec::new(), local: Vec::new() }
    }

    /// The order of a shard with these padded extents, none of them zero.
    pub(super) fn new(order: &ElementOrder, extents: &[u32]) -> Result<Self, LayoutError> {
        let Some((&columns, leading)) = extents.split_last() else { return Ok(Self::empty()) };
        let (rows, matrices) = match leading.split_last() {
            Some((&rows, batches)) if order.keeps_matrices_apart() => (rows, batches.iter().product::<u32>()),
            _ => (leading.iter().product(), 1),
        };
        let map = order.map(MatrixShape::new(rows, columns)).map_err(|error| {
            LayoutError::new(LayoutCode::Order, format!("{}; a grain of that axis pads it", error.message))
        })?;
        let matrix = map.storage_indices();
        let size = matrix.len() as u32;
        let storage: Vec<u32> =
            (0..matrices).flat_map(|batch| matrix.iter().map(move |&at| batch * size + at)).collect();
        let mut local = vec![0; storage.len()];
        for (place, &at) in (0u32..).zip(&storage) {
            if let Some(slot) = local.get_mut(at as usize) {
                *slot = place;
            }
        }
        Ok(Self { extents: extents.into(), storage, local })
    }

    /// Elements, padding included.
    #[must_use]
    pub fn elements(&self) -> u32 {
        self.storage.len() as u32
    }

    /// The storage position of the element at `local` coordinates.
    #[must_use]
    pub fn storage(&self, local: &[u32]) -> Option<u32> {
        let inside = local.len() == self.extents.len()
            && local.iter().zip(&self.extents).all(|(&index, &extent)| index < extent);
        let position = local.iter().zip(&self.extents).fold(0, |at, (&index, &extent)| at * extent + index);
        if inside { self.storage.get(position as usize).copied() } else { None }
    }

    /// The local coordinates of a storage position.
    #[must_use]
    pub fn local(&self, storage: u32) -> Option<SmallVec<[u32; 4]>> {
        let mut rest = self.local.get(storage as usize).copied()?;
        let mut coordinates = self.extents.clone();
        for (coordinate, &extent) in coordinates.iter_mut().zip(&self.extents).rev() {
            *coordinate = rest % extent;
            rest /= extent;
        }
        Some(coordinates)
    }

    /// Storage positions of local row number `row` (all axes but the last flattened), which has `length` elements.
    pub(super) fn row(&self, row: usize, length: usize) -> &[u32] {
        self.storage.get(row * length..(row + 1) * length).unwrap_or_default()
    }

    /// Storage positions by row-major local position.
    pub(super) fn table(&self) -> &[u32] {
        &self.storage
    }
}
