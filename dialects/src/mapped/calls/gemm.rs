//! `mapped.gemm`: on every tile of the grid the product of its blocks, in one call or in calls of at most `block`.

use ipu_device::LogicalTile;
use ipu_device::kernels::{Kernel, KernelEntry, ShardLayout};
use ipu_device::orders::{AMP_COLUMNS, MatrixShape};

use super::copies::fill;
use super::{Stage, Storage, TileCall, Work};
use crate::mapped::codes::{MappedCode, MappedError};
use crate::mapped::layout::GemmGrid;
use crate::mapped::sharded::ShardedTensor;

const LEFT: Storage = Storage::Operand(0);
const RIGHT: Storage = Storage::Operand(1);

/// Rows, columns and inner elements of the largest call.
struct Block {
    rows: u32,
    columns: u32,
    inner: u32,
}

/// The shards that meet on a tile.
struct Meeting {
    tile: LogicalTile,
    left: ShardLayout,
    right: ShardLayout,
    result: ShardLayout,
}

pub(super) fn work(
    entry: &'static KernelEntry,
    block: &[i64],
    [left, right]: &[ShardedTensor; 2],
    result: &ShardedTensor,
) -> Result<Work, MappedError> {
    let block = read_block(block)?;
    let grid = GemmGrid::derive(&left.placement, &right.placement, &result.placement)?;
    let (mut fills, mut calls) = (Vec::new(), Vec::new());
    for place in &grid.tiles {
        let shard = |tensor: &ShardedTensor| {
            tensor.placement.shard_on(place.tile).and_then(|shard| tensor.shard_layout(shard))
        };
        let Some(output) = shard(result) else { continue };
        let (Some(left), Some(right)) = (shard(left), shard(right)) else {
            // An empty inner block adds nothing: its partial is zero.
            let bytes = u32::try_from(output.bytes()).unwrap_or(u32::MAX);
            fills.push(fill(place.tile, Storage::Result, ipu_device::Bytes(bytes))?);
            continue;
        };
        Meeting { tile: place.tile, left, right, result: output }.calls(entry, &block, &mut calls)?;
    }
    fills.append(&mut calls);
    let mut work = Work::default();
    work.push(Stage::of_calls(fills));
    Ok(work)
}

fn read_block(block: &[i64]) -> Result<Block, MappedError> {
    let positive = |&value: &i64| u32::try_from(value).ok().filter(|&value| value > 0);
    let values: Option<Vec<u32>> = block.iter().map(positive).collect();
    match values.as_deref() {
        Some(&[rows, columns, inner]) => Ok(Block { rows, columns, inner }),
        _ => {
            let message = "`block` must be `[rows, columns, inner elements]`, all positive";
            Err(MappedError::new(MappedCode::Block, message))
        }
    }
}

impl Meeting {
    fn calls(
        &self,
        entry: &'static KernelEntry,
        block: &Block,
        calls: &mut Vec<TileCall>,
    ) -> Result<(), MappedError> {
        let (rows, inner, columns) =
            (self.left.shape.rows, self.left.shape.columns, self.right.shape.columns);
        // The shards fit the kernel as wholes, whatever the block.
        let (kernel, scalars) = Kernel::bind(entry, &[self.result, self.left, self.right])?;
        if rows <= block.rows && columns <= block.columns && inner <= block.inner {
            let places = [(Storage::Result, 0), (LEFT, 0), (RIGHT, 0)];
            calls.push(TileCall::new(self.tile, kernel, scalars, &places)?);
            return Ok(());
        }
        self.check_block(block)?;
        for column in (0..columns).step_by(block.columns as usize) {
            let width = block.columns.min(columns - column);
            for first in (0..inner).step_by(block.inner as usize) {
                let depth = block.inner.min(inner - first);
                calls.push(self.part(entry, (column, width), (first, depth))?);
            }
        }
        Ok(())
    }

    /// Whether parts of at most `block` are contiguous in the shards.
    fn check_block(&self, block: &Block) -> Result<(), MappedError> {
        let wrong = |message: String| Err(MappedError::new(MappedCode::Block, message));
        let (rows, inner) = (self.left.shape.rows, self.left.shape.columns);
        if block.rows < rows {
            return wrong(format!(
                "blocks of {} rows of a shard of {rows} are not contiguous in `{}`; a block has all rows of the shard",
                block.rows, self.left.order
            ));
        }
        if !block.columns.is_multiple_of(AMP_COLUMNS) {
            return wrong(format!(
                "blocks of {} columns; expected a multiple of {AMP_COLUMNS}",
                block.columns
            ));
        }
        if block.inner < inner && block.columns > AMP_COLUMNS {
            return wrong(format!(
                "blocks of {} of {inner} inner elements are contiguous for {AMP_COLUMNS} columns only, not {}",
                block.inner, block.columns
            ));
        }
        Ok(())
    }

    /// The call for some columns and some inner elements.
    fn part(
        &self,
        entry: &'static KernelEntry,
        (column, width): (u32, u32),
        (first, depth): (u32, u32),
    ) -> Result<TileCall, MappedError> {
        let (rows, inner) = (self.left.shape.rows, self.left.shape.columns);
        let of = |layout: ShardLayout, rows, columns| ShardLayout {
            shape: MatrixShape::new(rows, columns),
            ..layout
        };
        let (kernel, scalars) = Kernel::bind(
            entry,
            &[of(self.result, rows, width), of(self.left, rows, depth), of(self.right, depth, width)],
        )?;
        let accumulates = first > 0;
        let (kernel, scalars) = if accumulates {
            let Some(kernel) = kernel.accumulating() else {
                let message = format!("kernel `@{}` has no form that adds to its output", entry.name);
                return Err(MappedError::new(MappedCode::Block, message));
            };
            let values: Vec<i64> = scalars.values().iter().map(|&value| i64::from(value)).collect();
            let scalars = ipu_device::kernels::ScalarValues::from_values(kernel.entry(), &values)?;
            (kernel, scalars)
        } else {
            (kernel, scalars)
        };
        // Column groups of both the output and the coefficients lie one behind the other, and so do panels of the left
        // operand; inside one column group the coefficients lie by inner elements.
        let output = column * rows * self.result.element.bytes();
        let left = first * rows * self.left.element.bytes();
        let right = (column * inner + first * width.min(AMP_COLUMNS)) * self.right.element.bytes();
        TileCall::new(self.tile, kernel, scalars, &[(Storage::Result, output), (LEFT, left), (RIGHT, right)])
    }
}
