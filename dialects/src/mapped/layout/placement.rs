//! A layout resolved on a shape: shards, tiles, offsets, and whole tensors packed into shards and back.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use ipu_device::topology::TILE_COUNT;
use ipu_device::{Bytes, LogicalTile};
use smallvec::SmallVec;

use super::axis::AxisSplit;
use super::error::{LayoutCode, LayoutError};
use super::shard_order::ShardOrder;
use super::{Layout, Replicas};

/// Most elements of a shard, and most bytes of a tensor: far above what a device holds, low enough that no sum overflows.
const MOST_ELEMENTS: u64 = 1 << 30;
/// Most axes of a tensor.
const MOST_AXES: usize = 8;
const NO_SHARD: u32 = u32::MAX;

/// Per-axis numbers of one shard or element.
pub(crate) type Coordinates = SmallVec<[u32; 4]>;

/// One shard: its part along every axis, and its replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shard {
    /// Part of each axis.
    pub parts: SmallVec<[u32; 4]>,
    /// Copy or partial number.
    pub replica: u32,
}

/// A layout on a shape, with every shard found.
#[derive(Debug, Clone)]
pub struct Placement {
    layout: Layout,
    element_bytes: u32,
    axes: SmallVec<[AxisSplit; 4]>,
    tiles: Vec<LogicalTile>,
    by_tile: Vec<u32>,
    /// One order for each distinct padded shard shape.
    orders: BTreeMap<Coordinates, Arc<ShardOrder>>,
}

impl Placement {
    pub(super) fn new(layout: &Layout, shape: &[u32], element_bytes: u32) -> Result<Self, LayoutError> {
        let axes = check_shape(layout, shape, element_bytes)?;
        let (tiles, by_tile) = place_shards(layout, &axes)?;
        let mut placement =
            Self { layout: layout.clone(), element_bytes, axes, tiles, by_tile, orders: BTreeMap::new() };
        placement.resolve_orders()?;
        Ok(placement)
    }

    /// The layout as written.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Bytes of an element.
    #[must_use]
    pub fn element_bytes(&self) -> u32 {
        self.element_bytes
    }

    /// The logical shape.
    pub fn shape(&self) -> impl ExactSizeIterator<Item = u32> {
        self.axes.iter().map(|axis| axis.extent())
    }

    /// The cut of each axis.
    #[must_use]
    pub fn axes(&self) -> &[AxisSplit] {
        &self.axes
    }

    /// Shards, empty ones included.
    #[must_use]
    pub fn shard_count(&self) -> u32 {
        self.tiles.len() as u32
    }

    /// Tile of every shard, by shard number.
    #[must_use]
    pub fn tiles(&self) -> &[LogicalTile] {
        &self.tiles
    }

    /// The shard on `tile`.
    #[must_use]
    pub fn shard_on(&self, tile: LogicalTile) -> Option<u32> {
        self.by_tile.get(usize::from(tile.0)).copied().filter(|&shard| shard != NO_SHARD)
    }

    /// The parts and the replica of shard number `shard`.
    #[must_use]
    pub fn shard(&self, shard: u32) -> Shard {
        let count = self.layout.replicas.count();
        let mut rest = shard / count;
        let mut parts: Coordinates = self.axes.iter().map(|_| 0).collect();
        for (part, axis) in parts.iter_mut().zip(&self.axes).rev() {
            *part = rest % axis.parts();
            rest /= axis.parts();
        }
        Shard { parts, replica: shard % count }
    }

    /// The number of the shard with these parts and this replica.
    #[must_use]
    pub fn shard_number(&self, parts: &[u32], replica: u32) -> u32 {
        let part = parts.iter().zip(&self.axes).fold(0, |number, (&part, axis)| number * axis.parts() + part);
        part * self.layout.replicas.count() + replica
    }

    /// The logical elements of `shard`, per axis, without padding.
    #[must_use]
    pub fn ranges(&self, shard: u32) -> SmallVec<[Range<u32>; 4]> {
        self.shard(shard).parts.iter().zip(&self.axes).map(|(&part, axis)| axis.range(part)).collect()
    }

    /// Elements of `shard` per axis, padding included.
    #[must_use]
    pub fn padded_shape(&self, shard: u32) -> SmallVec<[u32; 4]> {
        self.shard(shard).parts.iter().zip(&self.axes).map(|(&part, axis)| axis.padded(part)).collect()
    }

    /// Bytes that `shard` takes, padding included.
    #[must_use]
    pub fn shard_bytes(&self, shard: u32) -> Bytes {
        Bytes(self.padded_shape(shard).iter().product::<u32>() * self.element_bytes)
    }

    /// Where each shard lies in the tensor's image: the bytes of the distinct shards in shard order. Copies of a part
    /// share one range; partials have one each.
    #[must_use]
    pub fn image_ranges(&self) -> Vec<Range<usize>> {
        let sharers = match self.layout.replicas {
            Replicas::Copies(count) => count.max(1),
            Replicas::One | Replicas::Partial(_) => 1,
        };
        let (mut start, mut ranges) = (0, Vec::with_capacity(self.shard_count() as usize));
        for shard in 0..self.shard_count() {
            let end = start + self.shard_bytes(shard).0 as usize;
            ranges.push(start..end);
            if (shard + 1).is_multiple_of(sharers) {
                start = end;
            }
        }
        ranges
    }

    /// Bytes of the largest shard.
    #[must_use]
    pub fn largest_shard_bytes(&self) -> Bytes {
        self.shard_bytes(0)
    }

    /// The element order of `shard`.
    pub(super) fn order(&self, shard: u32) -> Arc<ShardOrder> {
        let padded = self.padded_shape(shard);
        match self.orders.get(&padded) {
            Some(order) => Arc::clone(order),
            None => Arc::new(ShardOrder::empty()),
        }
    }

    /// The first shard (replica 0) that holds the element at `coordinates`, and the element's place in the
    /// shard's storage; `None` outside the shape.
    #[must_use]
    pub fn locate(&self, coordinates: &[u32]) -> Option<(u32, u32)> {
        let inside = coordinates.len() == self.axes.len()
            && coordinates.iter().zip(&self.axes).all(|(&index, axis)| index < axis.extent());
        if !inside {
            return None;
        }
        let mut parts = Coordinates::new();
        let mut local = Coordinates::new();
        for (&index, axis) in coordinates.iter().zip(&self.axes) {
            let (part, place) = axis.locate(index);
            parts.push(part);
            local.push(place);
        }
        let shard = self.shard_number(&parts, 0);
        self.order(shard).storage(&local).map(|storage| (shard, storage))
    }

    /// The coordinates of storage element `element` of `shard`; `None` for padding or past its end.
    #[must_use]
    pub fn coordinates(&self, shard: u32, element: u32) -> Option<SmallVec<[u32; 4]>> {
        let local = self.order(shard).local(element)?;
        let parts = self.shard(shard).parts;
        let mut coordinates = Coordinates::new();
        for ((place, &part), axis) in local.iter().zip(&parts).zip(&self.axes) {
            let index = axis.start(part) + place;
            if index >= axis.extent() {
                return None;
            }
            coordinates.push(index);
        }
        Some(coordinates)
    }

    /// Bytes of the whole tensor, row-major and without padding.
    #[must_use]
    pub fn logical_bytes(&self) -> u64 {
        self.shape().map(u64::from).product::<u64>() * u64::from(self.element_bytes)
    }

    /// The storage bytes of every shard, by shard number, from the tensor's row-major bytes. Every copy gets
    /// the same bytes; padding is zero.
    ///
    /// # Errors
    /// `logical` has the wrong length, or the layout holds partial values.
    pub fn pack(&self, logical: &[u8]) -> Result<Vec<Vec<u8>>, LayoutError> {
        if let Replicas::Partial(count) = self.layout.replicas {
            return Err(LayoutError::new(
                LayoutCode::Partial,
                format!("cannot split a value into {count} partials; reduce it first"),
            ));
        }
        self.check_logical(logical.len())?;
        let count = self.layout.replicas.count();
        let mut shards = Vec::with_capacity(self.tiles.len());
        for first in (0..self.shard_count()).step_by(count as usize) {
            let mut storage = vec![0u8; self.shard_bytes(first).0 as usize];
            self.visit_runs(first, |logical_at, storage_at, length| {
                storage[storage_at..storage_at + length]
                    .copy_from_slice(&logical[logical_at..logical_at + length]);
            });
            for _ in 1..count {
                shards.push(storage.clone());
            }
            shards.push(storage);
        }
        Ok(shards)
    }

    /// The tensor's row-major bytes from the storage bytes of every shard, by shard number. Copies other than
    /// the first are not read; for partials see [`unpack_replica`](Self::unpack_replica).
    ///
    /// # Errors
    /// A shard has the wrong length, or the layout holds partial values.
    pub fn unpack<S: AsRef<[u8]>>(&self, shards: &[S]) -> Result<Vec<u8>, LayoutError> {
        if let Replicas::Partial(count) = self.layout.replicas {
            return Err(LayoutError::new(
                LayoutCode::Partial,
                format!("the value is the sum of {count} partials; reduce it first"),
            ));
        }
        self.unpack_replica(shards, 0)
    }

    /// The row-major bytes that one copy or partial holds.
    ///
    /// # Errors
    /// A shard has the wrong length or `replica` does not exist.
    pub fn unpack_replica<S: AsRef<[u8]>>(&self, shards: &[S], replica: u32) -> Result<Vec<u8>, LayoutError> {
        let count = self.layout.replicas.count();
        if shards.len() != self.tiles.len() || replica >= count {
            return Err(LayoutError::new(
                LayoutCode::Bytes,
                format!(
                    "{} shards given, expected {}; replica {replica} of {count}",
                    shards.len(),
                    self.tiles.len()
                ),
            ));
        }
        let mut logical = vec![0u8; self.logical_bytes() as usize];
        for (shard, storage) in (0u32..).zip(shards) {
            let (storage, expected) = (storage.as_ref(), self.shard_bytes(shard).0 as usize);
            if storage.len() != expected {
                return Err(LayoutError::new(
                    LayoutCode::Bytes,
                    format!("shard {shard} has {} bytes, expected {expected}", storage.len()),
                ));
            }
            if shard % count == replica {
                self.visit_runs(shard, |logical_at, storage_at, length| {
                    logical[logical_at..logical_at + length]
                        .copy_from_slice(&storage[storage_at..storage_at + length]);
                });
            }
        }
        Ok(logical)
    }

    fn check_logical(&self, length: usize) -> Result<(), LayoutError> {
        if length as u64 == self.logical_bytes() {
            return Ok(());
        }
        Err(LayoutError::new(
            LayoutCode::Bytes,
            format!("{length} bytes given, the tensor has {}", self.logical_bytes()),
        ))
    }

    /// Calls `visit(logical byte, storage byte, byte count)` for the logical elements of `shard`, runs that are
    /// contiguous on both sides joined.
    fn visit_runs(&self, shard: u32, mut visit: impl FnMut(usize, usize, usize)) {
        let order = self.order(shard);
        let (ranges, padded) = (self.ranges(shard), self.padded_shape(shard));
        let (Some(last), Some(&row_length)) = (ranges.last(), padded.last()) else { return };
        let width = self.element_bytes as usize;
        let columns = last.len();
        for_each_row(&ranges, |row| {
            let (mut local_row, mut logical_row) = (0usize, 0usize);
            for (((&index, range), axis), &extent) in row.iter().zip(&ranges).zip(&self.axes).zip(&padded) {
                local_row = local_row * extent as usize + (index - range.start) as usize;
                logical_row = logical_row * axis.extent() as usize + index as usize;
            }
            let leading = self.axes.last().map_or(0, |axis| axis.extent()) as usize;
            let table = order.row(local_row, row_length as usize);
            let logical_start = logical_row * leading + last.start as usize;
            let mut column = 0;
            while column < columns {
                let mut end = column + 1;
                while end < columns && table[end] == table[end - 1] + 1 {
                    end += 1;
                }
                let (logical_at, storage_at) = (logical_start + column, table[column] as usize);
                visit(logical_at * width, storage_at * width, (end - column) * width);
                column = end;
            }
        });
    }

    fn resolve_orders(&mut self) -> Result<(), LayoutError> {
        let mut kinds: Vec<Coordinates> = vec![Coordinates::new()];
        for axis in &self.axes {
            let mut sizes: SmallVec<[u32; 2]> = SmallVec::new();
            sizes.push(axis.padded(0));
            if !axis.is_even() {
                sizes.push(axis.padded(axis.parts() - 1));
            }
            kinds = kinds
                .iter()
                .flat_map(|kind| {
                    sizes.iter().map(move |&size| {
                        let mut kind = kind.clone();
                        kind.push(size);
                        kind
                    })
                })
                .collect();
        }
        for kind in kinds {
            if kind.iter().all(|&extent| extent > 0) {
                let order = ShardOrder::new(&self.layout.order, &kind)?;
                self.orders.insert(kind, Arc::new(order));
            }
        }
        Ok(())
    }
}

/// Calls `visit` with the coordinates of every row (all axes but the last) of a box, in row-major order.
pub(super) fn for_each_row(ranges: &[Range<u32>], mut visit: impl FnMut(&[u32])) {
    let Some((_, leading)) = ranges.split_last() else { return };
    if ranges.iter().any(Range::is_empty) {
        return;
    }
    let mut row: Coordinates = leading.iter().map(|range| range.start).collect();
    loop {
        visit(&row);
        let mut axis = row.len();
        loop {
            let Some(next) = axis.checked_sub(1) else { return };
            axis = next;
            row[axis] += 1;
            if row[axis] < leading[axis].end {
                break;
            }
            row[axis] = leading[axis].start;
        }
    }
}

fn check_shape(
    layout: &Layout,
    shape: &[u32],
    element_bytes: u32,
) -> Result<SmallVec<[AxisSplit; 4]>, LayoutError> {
    let rank = |what: &str, count: usize| {
        Err(LayoutError::new(
            LayoutCode::Rank,
            format!("{what} has {count} entries, the tensor has {} axes", shape.len()),
        ))
    };
    if shape.is_empty() || shape.len() > MOST_AXES {
        return rank("the shape", shape.len());
    }
    if layout.split.len() != shape.len() {
        return rank("`split`", layout.split.len());
    }
    if !layout.grain.is_empty() && layout.grain.len() != shape.len() {
        return rank("`grain`", layout.grain.len());
    }
    let ids = shape.len() + usize::from(layout.replicas != Replicas::One);
    if layout.tiles.ids.len() != ids {
        return Err(LayoutError::new(
            LayoutCode::Rank,
            format!("`tiles` has {} ids, expected {ids}: the axes, then the replica", layout.tiles.ids.len()),
        ));
    }
    let zero =
        layout.split.iter().chain(&layout.grain).any(|&count| count == 0) || layout.replicas.count() == 0;
    if zero || element_bytes == 0 {
        return Err(LayoutError::new(
            LayoutCode::Count,
            "a part, copy or grain count is 0, expected 1 or more",
        ));
    }
    let padded = shape.iter().enumerate().map(|(axis, &extent)| {
        let grain = u64::from(layout.grain_of(axis));
        u64::from(extent).div_ceil(grain).saturating_mul(grain)
    });
    let elements = padded.fold(u64::from(element_bytes), u64::saturating_mul);
    if elements > MOST_ELEMENTS {
        return Err(LayoutError::new(
            LayoutCode::Count,
            format!("the padded tensor has {elements} bytes, the limit is {MOST_ELEMENTS}"),
        ));
    }
    let cut = |(axis, &extent): (usize, &u32)| {
        AxisSplit::new(extent, layout.grain_of(axis), layout.split.get(axis).copied().unwrap_or(1))
    };
    Ok(shape.iter().enumerate().map(cut).collect())
}

fn place_shards(layout: &Layout, axes: &[AxisSplit]) -> Result<(Vec<LogicalTile>, Vec<u32>), LayoutError> {
    let count = layout.shard_count();
    if count > u64::from(TILE_COUNT) {
        return Err(LayoutError::new(
            LayoutCode::Count,
            format!("the layout has {count} shards, the device has {TILE_COUNT} tiles"),
        ));
    }
    let mut tiles = Vec::with_capacity(count as usize);
    let mut by_tile = vec![NO_SHARD; usize::from(TILE_COUNT)];
    let replicas = i64::from(layout.replicas.count());
    let mut ids: SmallVec<[i64; 8]> = SmallVec::new();
    for shard in 0..count as u32 {
        let mut rest = i64::from(shard);
        ids.clear();
        if layout.replicas != Replicas::One {
            ids.push(rest % replicas);
            rest /= replicas;
        }
        for axis in axes.iter().rev() {
            ids.push(rest % i64::from(axis.parts()));
            rest /= i64::from(axis.parts());
        }
        ids.reverse();
        let tile = layout.tiles.tile(&ids)?;
        let slot = &mut by_tile[usize::from(tile.0)];
        if *slot != NO_SHARD {
            return Err(LayoutError::new(
                LayoutCode::TileTwice,
                format!("shards {slot} and {shard} (index {ids:?}) both lie on tile {tile}"),
            ));
        }
        *slot = shard;
        tiles.push(tile);
    }
    Ok((tiles, by_tile))
}
