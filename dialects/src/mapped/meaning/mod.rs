//! What `mapped` means, twice: on coordinates ([`logical`]) and on the bytes of shards ([`storage`]).
//!
//! The storage meaning executes [`super::calls::Work`] with the arithmetic of the kernel registry. The logical meaning of
//! a conversion or relabel is the identity, of a cast the rounding of each element; a product or sum is that of the same
//! kernels on operands packed afresh from coordinates. So the two are bit-equal unless bytes lie where their layout does
//! not say, and [`first_divergence`] names the op, the element and the tile where they do.

pub mod logical;
mod memory;
pub mod storage;

use ipu_device::LogicalTile;
use ipu_device::hash::HashMap;

use super::codes::{MappedCode, MappedError};
use super::ops::Return;
use super::sharded::ShardedTensor;
use crate::diagnostics::Diagnostic;
use crate::ir::{Module, OpId, ValueId};
use crate::tensor_data::TensorData;
pub use logical::LogicalValue;
pub use storage::{ScratchShards, Shard, Shards};

/// The results of the `mapped.func` `function` on coordinates.
///
/// # Errors
/// Arguments do not suit the function, or an op has no meaning; the finding names it.
pub fn evaluate_logical(
    module: &Module,
    function: OpId,
    arguments: &[TensorData],
) -> Result<Vec<TensorData>, Box<Diagnostic>> {
    let enter = |_: &ShardedTensor, data: &TensorData| Ok(LogicalValue::whole(data.clone()));
    let run = |op, operands: &[&LogicalValue]| logical::execute(module, op, operands);
    let results = evaluate(module, function, arguments, enter, run)?;
    results
        .into_iter()
        .map(|value| value.into_whole().map_err(|error| Box::new(error.at(module.span(function)))))
        .collect()
}

/// The shards of the results of the `mapped.func` `function`.
///
/// # Errors
/// As [`evaluate_logical`]; also a read of bytes that nothing wrote.
pub fn evaluate_storage(
    module: &Module,
    function: OpId,
    arguments: &[TensorData],
) -> Result<Vec<Shards>, Box<Diagnostic>> {
    let enter = |tensor: &ShardedTensor, data: &TensorData| Shards::pack(tensor.clone(), data);
    evaluate(module, function, arguments, enter, |op, operands: &[&Shards]| {
        storage::execute(module, op, operands)
    })
}

/// What one op of a function left in storage.
#[derive(Debug, Clone)]
pub struct OpStorage {
    /// The op.
    pub op: OpId,
    /// Its operands.
    pub operands: Vec<Shards>,
    /// Its result.
    pub result: Shards,
    /// Its scratch.
    pub scratch: ScratchShards,
}

/// What every op of the `mapped.func` `function` leaves in storage, in order.
///
/// # Errors
/// As [`evaluate_storage`].
pub fn storage_of_ops(
    module: &Module,
    function: OpId,
    arguments: &[TensorData],
) -> Result<Vec<OpStorage>, Box<Diagnostic>> {
    let mut all = Vec::new();
    let enter = |tensor: &ShardedTensor, data: &TensorData| Shards::pack(tensor.clone(), data);
    evaluate(module, function, arguments, enter, |op, operands: &[&Shards]| {
        let (result, scratch) = storage::execute_with_scratch(module, op, operands)?;
        let operands = operands.iter().copied().cloned().collect();
        all.push(OpStorage { op, operands, result: result.clone(), scratch });
        Ok(result)
    })?;
    Ok(all)
}

/// An op whose storage meaning differs from its logical one on the same operands.
#[derive(Debug, Clone, PartialEq)]
pub struct Divergence {
    /// The op.
    pub op: OpId,
    /// Coordinates of the first element that differs, in the order of physical storage.
    pub coordinates: Vec<u32>,
    /// Shard of the result that holds it.
    pub shard: u32,
    /// Element of the shard, in storage order.
    pub element: u32,
    /// Tile of the shard.
    pub tile: LogicalTile,
    /// The number that the logical meaning gives.
    pub logical: f64,
    /// The number in storage.
    pub storage: f64,
    /// Elements of the result that differ.
    pub differing: usize,
}

/// The first op of the `mapped.func` `function` whose storage meaning differs from its logical one, both on the operands
/// that storage gives; any NaN equals any NaN.
///
/// # Errors
/// As [`evaluate_storage`].
pub fn first_divergence(
    module: &Module,
    function: OpId,
    arguments: &[TensorData],
) -> Result<Option<Divergence>, Box<Diagnostic>> {
    let mut found = None;
    let enter = |tensor: &ShardedTensor, data: &TensorData| Shards::pack(tensor.clone(), data);
    evaluate(module, function, arguments, enter, |op, operands: &[&Shards]| {
        let result = storage::execute(module, op, operands)?;
        if found.is_none() {
            let operands =
                operands.iter().map(|shards| shards.unpack_all()).collect::<Result<Vec<_>, _>>()?;
            let wanted = logical::execute(module, op, &operands.iter().collect::<Vec<_>>())?;
            found = divergence(op, &wanted, &result);
        }
        Ok(result)
    })?;
    Ok(found)
}

fn divergence(op: OpId, wanted: &LogicalValue, result: &Shards) -> Option<Divergence> {
    let placement = &result.tensor.placement;
    let wanted: Vec<Vec<f64>> = wanted.parts.iter().map(TensorData::values).collect();
    let extents: Vec<u32> = placement.shape().collect();
    let (mut first, mut differing) = (None, 0);
    for (shard, tile) in result.tensor.shards() {
        let replica = placement.shard(shard).replica as usize;
        let part = wanted.get(replica).or_else(|| wanted.first())?;
        for (element, storage) in (0u32..).zip(result.values(shard)) {
            let Some(coordinates) = placement.coordinates(shard, element) else { continue };
            let index = coordinates.iter().zip(&extents).fold(0, |at, (&place, &extent)| at * extent + place);
            let logical = part.get(index as usize).copied().unwrap_or(f64::NAN);
            if logical == storage || (logical.is_nan() && storage.is_nan()) {
                continue;
            }
            differing += 1;
            let coordinates = coordinates.to_vec();
            let here = Divergence { op, coordinates, shard, element, tile, logical, storage, differing: 0 };
            first.get_or_insert(here);
        }
    }
    first.map(|first| Divergence { differing, ..first })
}

/// Walks the ops of a function.
fn evaluate<V: Clone>(
    module: &Module,
    function: OpId,
    arguments: &[TensorData],
    enter: impl Fn(&ShardedTensor, &TensorData) -> Result<V, MappedError>,
    mut run: impl FnMut(OpId, &[&V]) -> Result<V, MappedError>,
) -> Result<Vec<V>, Box<Diagnostic>> {
    let at = |op: OpId| move |error: MappedError| Box::new(error.at(module.span(op)));
    let Some(block) = module.entry_block(function, 0) else { return Ok(Vec::new()) };
    let formal = module.arguments(block);
    if formal.len() != arguments.len() {
        let message = format!("{} arguments given, the function takes {}", arguments.len(), formal.len());
        return Err(at(function)(MappedError::new(MappedCode::Disagree, message)));
    }
    let mut values: HashMap<ValueId, V> = HashMap::default();
    for (&value, data) in formal.iter().zip(arguments) {
        let tensor = ShardedTensor::of(module, value).map_err(at(function))?;
        tensor.check(data).map_err(at(function))?;
        values.insert(value, enter(&tensor, data).map_err(at(function))?);
    }
    for op in module.ops_of(block) {
        let operands: Option<Vec<&V>> = module.operands(op).iter().map(|value| values.get(value)).collect();
        let Some(operands) = operands else {
            let message = "an operand has no value here";
            return Err(at(op)(MappedError::new(MappedCode::Disagree, message)));
        };
        if module.is::<Return>(op) {
            return Ok(operands.into_iter().cloned().collect());
        }
        if module.results(op).is_empty() {
            continue;
        }
        let result = run(op, &operands).map_err(at(op))?;
        values.insert(module.result(op, 0), result);
    }
    Ok(Vec::new())
}
