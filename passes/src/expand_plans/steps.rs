//! The steps of an expanded program: host loads, one phase and one compute step a stage of an op, host stores.

use std::collections::BTreeSet;

use ipu_device::LogicalTile;
use ipu_dialects::case::{Part, function_parts};
use ipu_dialects::diagnostics::Diagnostic;
use ipu_dialects::exchange::program::{
    Binding, BindingKind, BufferId, Compute, HostMove, HostPart, Phase, Piece, Program, Receiver, Run, Slice,
    Step, Transfer, Transfers,
};
use ipu_dialects::ir::{Module, Name, OpId, Type, ValueId};
use ipu_dialects::mapped::calls::{Scratch, Stage, Storage, buffer_name, work};
use ipu_dialects::mapped::{self, MappedError, ShardedTensor};

use super::buffers::Buffers;
use super::refusal;

/// A result, or why the program cannot be expanded.
type Expanded<T> = Result<T, Box<Diagnostic>>;

/// The exchange program of a `mapped.func`.
pub(super) fn expand(module: &Module, function: OpId) -> Expanded<Program> {
    let block = module.entry_block(function, 0);
    let block = block.ok_or_else(|| refusal(module, function, "`@main` has no body"))?;
    let (inputs, outputs) = function_parts(module, function);
    let mut expansion =
        Expansion { module, function, buffers: Buffers::default(), steps: Vec::new(), bindings: Vec::new() };
    for (part, &value) in inputs.iter().zip(module.arguments(block)) {
        expansion.load(part, value)?;
    }
    for op in module.ops_of(block) {
        if module.is::<mapped::Return>(op) {
            for (part, &value) in outputs.iter().zip(module.operands(op)) {
                expansion.store(op, part, value)?;
            }
        } else {
            expansion.op(op)?;
        }
    }
    Ok(expansion.finish())
}

struct Expansion<'m> {
    module: &'m Module,
    function: OpId,
    buffers: Buffers,
    steps: Vec<Step>,
    bindings: Vec<Binding>,
}

impl Expansion<'_> {
    fn refused(&self, op: OpId, error: MappedError) -> Box<Diagnostic> {
        refusal(self.module, op, error.at(self.module.span(op)).message)
    }

    fn tensor(&self, op: OpId, ty: &Type) -> Expanded<ShardedTensor> {
        ShardedTensor::of_type(ty).map_err(|error| self.refused(op, error))
    }

    /// Weights are loaded once, inputs for every call.
    fn load(&mut self, part: &Part<'_>, value: ValueId) -> Expanded<()> {
        let op = self.function;
        let tensor = self.tensor(op, part.ty)?;
        let kind = if part.weight { BindingKind::Weight } else { BindingKind::Input };
        let buffer = self.buffers.add(value, op, &part.name, &tensor);
        let binding = self.bind(part, kind);
        let parts = self.host_parts(op, &part.name, &tensor, buffer)?;
        self.steps.push(Step::LoadHost(HostMove { op, binding, once: part.weight, parts }));
        Ok(())
    }

    fn store(&mut self, op: OpId, part: &Part<'_>, value: ValueId) -> Expanded<()> {
        let tensor = self.tensor(op, part.ty)?;
        let buffer = self.buffers.of(value);
        let buffer = buffer.ok_or_else(|| refusal(self.module, op, "the result has no storage"))?;
        let binding = self.bind(part, BindingKind::Output);
        let mut parts = self.host_parts(op, &part.name, &tensor, buffer)?;
        let mut stored = BTreeSet::new();
        parts.retain(|part| stored.insert(part.image_offset));
        self.steps.push(Step::StoreHost(HostMove { op, binding, once: false, parts }));
        Ok(())
    }

    /// The moves of every shard with the host, which moves whole words.
    fn host_parts(
        &self,
        op: OpId,
        name: &str,
        tensor: &ShardedTensor,
        buffer: BufferId,
    ) -> Expanded<Vec<HostPart>> {
        let parts = host_parts(tensor, buffer);
        let Some(odd) = parts.iter().find(|part| !part.slice.bytes.is_multiple_of(4)) else {
            return Ok(parts);
        };
        let message = format!(
            "`{name}` has {} bytes on tile {}, the host moves whole words of 4 bytes; give its layout a `grain` or pad it",
            odd.slice.bytes, odd.tile
        );
        Err(refusal(self.module, op, message))
    }

    fn bind(&mut self, part: &Part<'_>, kind: BindingKind) -> usize {
        let kept = |name: &Name| !["ipu.name", "ipu.kind"].contains(&name.as_str());
        let attributes = part.attributes.iter().filter(|(name, _)| kept(name));
        let attributes = attributes.map(|(name, value)| (name.as_str().to_owned(), value.clone())).collect();
        let (name, ty) = (part.name.clone(), part.ty.clone());
        self.bindings.push(Binding { op: self.function, name, kind, ty, attributes });
        self.bindings.len() - 1
    }

    fn op(&mut self, op: OpId) -> Expanded<()> {
        let work = work(self.module, op).map_err(|error| self.refused(op, error))?;
        let result = self.module.result(op, 0);
        if work.stages.is_empty() {
            if let Some(&operand) = self.module.operands(op).first() {
                self.buffers.share(result, operand);
            }
            return Ok(());
        }
        let name = buffer_name(self.module, result);
        let tensor = self.tensor(op, self.module.value_type(result))?;
        let target = self.buffers.add(result, op, &name, &tensor);
        // The sum of a single partial has nothing to stage.
        let is_used = |scratch: &Scratch| scratch.bytes.values().any(|bytes| bytes.0 > 0);
        let scratch: Vec<Option<BufferId>> = work
            .scratch
            .iter()
            .map(|scratch| is_used(scratch).then(|| self.buffers.add_scratch(op, &name, scratch)))
            .collect();
        let operands: Vec<Option<BufferId>> =
            self.module.operands(op).iter().map(|&operand| self.buffers.of(operand)).collect();
        let storage = |storage: Storage| match storage {
            Storage::Operand(index) => operands.get(index as usize).copied().flatten(),
            Storage::Result => Some(target),
            Storage::Scratch(index) => scratch.get(index as usize).copied().flatten(),
        };
        for (index, stage) in work.stages.iter().enumerate() {
            let suffix = if index == 0 { String::new() } else { format!("_{index}") };
            self.stage(op, &format!("{name}{suffix}"), stage, &storage)
                .ok_or_else(|| refusal(self.module, op, "an operand has no storage"))?;
        }
        Ok(())
    }

    fn stage(
        &mut self,
        op: OpId,
        name: &str,
        stage: &Stage,
        storage: &dyn Fn(Storage) -> Option<BufferId>,
    ) -> Option<()> {
        if !stage.moves.is_empty() {
            let mut transfers = Transfers::default();
            for moved in &stage.moves {
                let buffer = storage(moved.to)?;
                let receivers: Vec<Receiver> =
                    moved.destinations.iter().map(|&tile| Receiver { tile, buffer, shift: 0 }).collect();
                transfers.push(Transfer {
                    op,
                    member: 0,
                    source: moved.source,
                    source_buffer: storage(moved.from)?,
                    source_offset: moved.source_offset.0,
                    bytes: moved.bytes.0,
                    paired: false,
                    receivers: &receivers,
                    pieces: &[Piece { offset: moved.destination_offset.0, bytes: moved.bytes.0 }],
                });
            }
            self.steps.push(Step::Phase(Phase {
                op,
                name: format!("{name}_exchange"),
                base: None,
                transfers,
            }));
        }
        let mut runs = Vec::new();
        for call in &stage.calls {
            let extents = call.kernel.extents(&call.scalars).ok()?;
            let mut operands = smallvec::SmallVec::new();
            for (operand, extent) in call.operands.iter().zip(extents) {
                let buffer = storage(operand.storage)?;
                self.buffers.reserve_tail(buffer, operand.offset.0 + operand.bytes.0, extent.tail);
                operands.push(Slice { buffer, offset: operand.offset.0, bytes: operand.bytes.0 });
            }
            let (kernel, scalars) = (call.kernel.clone(), call.scalars.clone());
            runs.push(Run { op, member: 0, tile: call.tile, kernel, operands, scalars });
        }
        if !runs.is_empty() {
            self.steps.push(Step::Compute(Compute { op, name: format!("{name}_compute"), runs }));
        }
        Some(())
    }

    /// The program on tiles `0..n` that covers every buffer.
    fn finish(self) -> Program {
        let last = self.buffers.list.iter().filter_map(|buffer| buffer.tiles.last()).max();
        let count = last.map_or(1, |tile| tile.0 + 1);
        Program {
            op: self.function,
            name: "main".into(),
            tiles: (0..count).map(LogicalTile).collect(),
            bindings: self.bindings,
            buffers: self.buffers.list,
            steps: self.steps,
            separate: Vec::new(),
        }
    }
}

/// Every shard with its range of the image.
fn host_parts(tensor: &ShardedTensor, buffer: BufferId) -> Vec<HostPart> {
    let ranges = tensor.placement.image_ranges();
    let part = |(shard, tile): (u32, LogicalTile)| {
        let range = ranges.get(shard as usize)?;
        let slice = Slice { buffer, offset: 0, bytes: range.len() as u32 };
        Some(HostPart { tile, slice, image_offset: range.start as u32 })
    };
    tensor.shards().filter_map(part).collect()
}
