//! `mapped.cast`: one call for each shard.

use ipu_device::kernels::{Kernel, KernelEntry};

use super::{Stage, Storage, TileCall, Work};
use crate::mapped::codes::{MappedCode, MappedError};
use crate::mapped::layout::Replicas;
use crate::mapped::sharded::ShardedTensor;
use crate::mapped::verify::same_tiles;

pub(super) fn work(
    entry: &'static KernelEntry,
    from: &ShardedTensor,
    to: &ShardedTensor,
) -> Result<Work, MappedError> {
    if !from.placement.shape().eq(to.placement.shape()) {
        return Err(MappedError::new(MappedCode::Disagree, "a cast keeps the shape"));
    }
    if let Replicas::Partial(count) = from.placement.layout().replicas {
        let message = format!("a cast of {count} partials is not the cast of their sum; reduce them first");
        return Err(MappedError::new(MappedCode::Disagree, message));
    }
    same_tiles(from, to, "a cast")?;
    let mut calls = Vec::new();
    for (shard, tile) in to.shards() {
        if from.placement.ranges(shard) != to.placement.ranges(shard) {
            let message = format!("shard {shard} holds other elements in the operand than in the result");
            return Err(MappedError::new(MappedCode::Disagree, message));
        }
        let Some((input, output)) = from.shard_layout(shard).zip(to.shard_layout(shard)) else { continue };
        let (kernel, scalars) = Kernel::bind(entry, &[output, input])?;
        calls.push(TileCall::new(tile, kernel, scalars, &[(Storage::Result, 0), (Storage::Operand(0), 0)])?);
    }
    let mut work = Work::default();
    work.push(Stage::of_calls(calls));
    Ok(work)
}
