//! Where a value that is no finite number comes from: the first op of a mapped program that makes one out of finite numbers.

use ipu_device::LogicalTile;
use ipu_dialects::case::Case;
use ipu_dialects::ir::{Module, OpId};
use ipu_dialects::mapped::meaning::{OpStorage, Shards, storage_of_ops};

/// An infinity or NaN that an op made.
#[derive(Debug, Clone, PartialEq)]
pub struct NonFinite {
    /// The op.
    pub op: OpId,
    /// Index of the element, one number an axis; the first in the order of storage.
    pub index: Vec<u32>,
    /// Tile of its shard.
    pub tile: LogicalTile,
    /// The value.
    pub value: f64,
    /// Elements of the result that are not finite, copies included.
    pub count: u64,
}

/// The first op of the mapped program `case`, in `module`, whose operands are finite and whose result is not; nothing if there is
/// none, or if the program faults.
#[must_use]
pub fn first_non_finite(module: &Module, case: &Case) -> Option<NonFinite> {
    let ops = storage_of_ops(module, case.entry, &case.inputs()).ok()?;
    let finite = |shards: &Shards| elements(shards).all(|(.., value)| value.is_finite());
    ops.iter().filter(|stored| stored.operands.iter().all(finite)).find_map(of_op)
}

fn of_op(stored: &OpStorage) -> Option<NonFinite> {
    let mut wrong = elements(&stored.result).filter(|(.., value)| !value.is_finite());
    let (index, tile, value) = wrong.next()?;
    Some(NonFinite { op: stored.op, index, tile, value, count: 1 + wrong.count() as u64 })
}

/// Elements in order of storage, without padding.
fn elements(shards: &Shards) -> impl Iterator<Item = (Vec<u32>, LogicalTile, f64)> {
    let placement = &shards.tensor.placement;
    shards.tensor.shards().flat_map(move |(shard, tile)| {
        (0u32..).zip(shards.values(shard)).filter_map(move |(element, value)| {
            Some((placement.coordinates(shard, element)?.to_vec(), tile, value))
        })
    })
}
