//! The logical meaning: what an op does to values by coordinate.

use super::storage::{self, Shard, Shards};
use crate::ir::{Module, OpId};
use crate::mapped::calls;
use crate::mapped::codes::{MappedCode, MappedError};
use crate::mapped::layout::Replicas;
use crate::mapped::ops::{Cast, ConvertLayout, Relabel};
use crate::mapped::sharded::ShardedTensor;
use crate::tensor_data::TensorData;

/// A tensor by coordinates: one whole, or partials whose sum it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogicalValue {
    /// The whole tensor, or each partial in order.
    pub parts: Vec<TensorData>,
}

impl LogicalValue {
    /// A whole tensor.
    #[must_use]
    pub fn whole(data: TensorData) -> Self {
        Self { parts: vec![data] }
    }

    /// The tensor.
    ///
    /// # Errors
    /// The value is a sum of partials.
    pub fn into_whole(mut self) -> Result<TensorData, MappedError> {
        let count = self.parts.len();
        self.parts.pop().filter(|_| count == 1).ok_or_else(|| {
            let message = format!("the value is the sum of {count} partials; `mapped.reduce` makes it whole");
            MappedError::new(MappedCode::Disagree, message)
        })
    }
}

/// The result of `mapped` op `op` on values.
///
/// # Errors
/// The op has no work, or operands do not suit it.
pub fn execute(module: &Module, op: OpId, operands: &[&LogicalValue]) -> Result<LogicalValue, MappedError> {
    let work = calls::work(module, op)?;
    if let ([input], true) = (operands, module.is::<ConvertLayout>(op) || module.is::<Relabel>(op)) {
        return Ok((*input).clone());
    }
    let result = ShardedTensor::of(module, module.result(op, 0))?;
    if let ([input], true) = (operands, module.is::<Cast>(op)) {
        let cast =
            |part: &TensorData| TensorData::from_values(part.shape.clone(), result.element, part.values());
        return Ok(LogicalValue { parts: input.parts.iter().map(cast).collect() });
    }
    let packed = operands.iter().zip(module.operands(op)).map(|(value, &operand)| {
        let tensor = ShardedTensor::of(module, operand)?;
        pack(tensor, value)
    });
    let packed = packed.collect::<Result<Vec<Shards>, MappedError>>()?;
    storage::run(&work, &packed.iter().collect::<Vec<_>>(), result)?.unpack_all()
}

/// The shards of a value, each packed from coordinates.
fn pack(tensor: ShardedTensor, value: &LogicalValue) -> Result<Shards, MappedError> {
    let Replicas::Partial(count) = tensor.placement.layout().replicas else {
        return Shards::pack(tensor, &value.clone().into_whole()?);
    };
    if value.parts.len() != count as usize {
        let message = format!("{} partials given, the layout has {count}", value.parts.len());
        return Err(MappedError::new(MappedCode::Disagree, message));
    }
    let mut layout = tensor.placement.layout().clone();
    layout.replicas = Replicas::Copies(count);
    let shape: Vec<u32> = tensor.placement.shape().collect();
    let copies = layout.place(&shape, tensor.placement.element_bytes())?;
    let mut shards = vec![Shard::default(); tensor.placement.shard_count() as usize];
    for (part, data) in value.parts.iter().enumerate() {
        let packed = copies.pack(&data.bytes)?;
        let own = shards.iter_mut().zip(packed).skip(part).step_by(count as usize);
        own.for_each(|(shard, bytes)| shard.bytes = bytes);
    }
    Ok(Shards { tensor, shards })
}
