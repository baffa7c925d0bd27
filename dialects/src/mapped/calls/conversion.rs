//! `mapped.convert_layout`: fill what padding promises, exchange what moves, copy what stays.

use std::collections::BTreeSet;

use ipu_device::kernels::{Family, Kernel};

use super::copies::{copies, fill};
use super::{Move, Stage, Storage, TileCall, Work};
use crate::mapped::codes::{MappedCode, MappedError};
use crate::mapped::layout::transfers;
use crate::mapped::sharded::ShardedTensor;

pub(super) fn work(from: &ShardedTensor, to: &ShardedTensor) -> Result<Work, MappedError> {
    if from.element != to.element {
        let message = "a conversion of layouts keeps the element type; `mapped.cast` changes it";
        return Err(MappedError::new(MappedCode::Disagree, message));
    }
    if let Some(calls) = rearrangements(from, to) {
        let mut work = Work::default();
        work.push(Stage::of_calls(calls));
        return Ok(work);
    }
    let found = transfers(&from.placement, &to.placement)?;
    let mut work = Work::default();
    // Gaps may be narrower than the fill kernel's unit: the whole shard is cleared before bytes arrive.
    let cleared: BTreeSet<_> = found.fill.iter().map(|&(tile, ..)| tile).collect();
    let mut fills = Vec::new();
    for tile in cleared {
        let Some(shard) = to.placement.shard_on(tile) else { continue };
        fills.push(fill(tile, Storage::Result, to.placement.shard_bytes(shard))?);
    }
    work.push(Stage::of_calls(fills));
    let moves = found.remote.into_iter().map(|run| Move {
        source: run.source,
        from: Storage::Operand(0),
        source_offset: run.source_offset,
        destinations: run.destinations,
        to: Storage::Result,
        destination_offset: run.destination_offset,
        bytes: run.bytes,
    });
    let moves = moves.collect();
    let calls = copies(&found.local, Storage::Operand(0), Storage::Result)?;
    work.push(Stage { moves, calls });
    Ok(work)
}

/// One call for each shard, where every shard stays on its tile and a kernel changes between the two orders.
fn rearrangements(from: &ShardedTensor, to: &ShardedTensor) -> Option<Vec<TileCall>> {
    let stays = from.placement.tiles() == to.placement.tiles()
        && from.placement.layout().order != to.placement.layout().order
        && from.shards().all(|(shard, _)| from.placement.ranges(shard) == to.placement.ranges(shard));
    if !stays {
        return None;
    }
    let mut calls = Vec::new();
    for (shard, tile) in to.shards() {
        let (output, input) = to.shard_layout(shard).zip(from.shard_layout(shard))?;
        let (kernel, scalars) = Kernel::select(Family::Rearrange, &[output, input]).ok()?;
        let places = [(Storage::Result, 0), (Storage::Operand(0), 0)];
        calls.push(TileCall::new(tile, kernel, scalars, &places).ok()?);
    }
    Some(calls)
}
