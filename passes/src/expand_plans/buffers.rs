//! The buffers of an expanded program: one for each value, one for each scratch of an op.

use ipu_device::hash::HashMap;

use ipu_device::{Bytes, LogicalTile};
use ipu_dialects::exchange::program::{Buffer, BufferId};
use ipu_dialects::ir::{OpId, ValueId};
use ipu_dialects::mapped::ShardedTensor;
use ipu_dialects::mapped::calls::Scratch;

/// Alignment of every buffer: what AMP operands need.
const ALIGN: Bytes = Bytes(32);

/// Buffers, and which value has which.
#[derive(Default)]
pub(super) struct Buffers {
    pub(super) list: Vec<Buffer>,
    of_value: HashMap<ValueId, BufferId>,
}

impl Buffers {
    /// The buffer of a value that has one.
    pub(super) fn of(&self, value: ValueId) -> Option<BufferId> {
        self.of_value.get(&value).copied()
    }

    /// A buffer for `value`, which `op` makes.
    pub(super) fn add(&mut self, value: ValueId, op: OpId, name: &str, tensor: &ShardedTensor) -> BufferId {
        let mut tiles: Vec<LogicalTile> = tensor.shards().map(|(_, tile)| tile).collect();
        tiles.sort_unstable();
        let bytes = tensor.placement.largest_shard_bytes();
        let class = tensor.placement.layout().memory;
        let id = self.push(Buffer {
            op,
            name: name.into(),
            bytes,
            tail: Bytes(0),
            align: ALIGN,
            class,
            tiles,
            at: None,
        });
        self.of_value.insert(value, id);
        id
    }

    /// `value` is in the buffer of `other`.
    pub(super) fn share(&mut self, value: ValueId, other: ValueId) {
        if let Some(id) = self.of(other) {
            self.of_value.insert(value, id);
        }
    }

    /// A buffer for scratch of `op`.
    pub(super) fn add_scratch(&mut self, op: OpId, value_name: &str, scratch: &Scratch) -> BufferId {
        let bytes = scratch.bytes.values().copied().max().unwrap_or_default();
        self.push(Buffer {
            op,
            name: format!("{value_name}.{}", scratch.name),
            bytes,
            tail: Bytes(0),
            align: ALIGN,
            class: scratch.memory,
            tiles: scratch.bytes.keys().copied().collect(),
            at: None,
        })
    }

    /// A kernel may fetch `tail` bytes past the end `end` of its operand in `id`.
    pub(super) fn reserve_tail(&mut self, id: BufferId, end: u32, tail: Bytes) {
        let Some(buffer) = self.list.get_mut(id.index()) else { return };
        let past = (end + tail.0).saturating_sub(buffer.bytes.0);
        buffer.tail = buffer.tail.max(Bytes(past));
    }

    fn push(&mut self, buffer: Buffer) -> BufferId {
        self.list.push(buffer);
        BufferId(self.list.len() as u32 - 1)
    }
}
