//! The steps of an expanded program: host loads, one phase and one compute step a stage of an op, host stores.

use ipu_device::LogicalTile;
use ipu_dialects::exchange::program::{
    Binding, BindingKind, BufferId, Compute, HostMove, HostPart, Phase, Piece, Program, Receiver, Run, Slice,
    Step, Transfer, Transfers,
};
use ipu_dialects::ir::{Attribute, Module, Name, OpId, Type, ValueId};
use ipu_dialects::mapped::ShardedTensor;
use ipu_dialects::mapped::calls::{Stage, Storage, work};

use super::Refusal;
use super::buffers::Buffers;

type Refused = (OpId, Refusal);

/// The exchange program of a `mapped.func`.
pub(super) fn expand(module: &Module, function: OpId) -> Result<Program, Refused> {
    let block = module.entry_block(function, 0);
    let block = block.ok_or_else(|| (function, Refusal::new("`@main` has no body")))?;
    let mut expansion =
        Expansion { module, function, buffers: Buffers::default(), steps: Vec::new(), bindings: Vec::new() };
    for (index, &value) in module.arguments(block).iter().enumerate() {
        expansion.load(index, value)?;
    }
    for op in module.ops_of(block) {
        if module.name(op).as_str() == "mapped.return" {
            for (index, &value) in module.operands(op).iter().enumerate() {
                expansion.store(op, index, value)?;
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
    fn tensor(&self, op: OpId, ty: &Type) -> Result<ShardedTensor, Refused> {
        let refused = |error: ipu_dialects::mapped::MappedError| {
            (op, Refusal::new(error.at(self.module.span(op)).message))
        };
        ShardedTensor::of_type(ty).map_err(refused)
    }

    /// Weights are loaded once, inputs for every call.
    fn load(&mut self, index: usize, value: ValueId) -> Result<(), Refused> {
        let (ty, op) = (self.module.value_type(value).clone(), self.function);
        let tensor = self.tensor(op, &ty)?;
        let attributes = self.attributes("arg_attrs", index);
        let weight = text(&attributes, "ipu.kind") == Some("weight");
        let kind = if weight { BindingKind::Weight } else { BindingKind::Input };
        let name = text(&attributes, "ipu.name").map_or_else(|| format!("arg{index}"), str::to_owned);
        let buffer = self.buffers.add(value, op, &name, &tensor);
        let binding = self.bind(name, kind, ty, attributes);
        let parts = host_parts(&tensor, buffer);
        self.steps.push(Step::LoadHost(HostMove { op, binding, once: weight, parts }));
        Ok(())
    }

    fn store(&mut self, op: OpId, index: usize, value: ValueId) -> Result<(), Refused> {
        let ty = self.module.value_type(value).clone();
        let tensor = self.tensor(op, &ty)?;
        let attributes = self.attributes("res_attrs", index);
        let name = text(&attributes, "ipu.name").map_or_else(|| format!("result{index}"), str::to_owned);
        let buffer = self.buffers.of(value).ok_or_else(|| (op, Refusal::new("the result has no storage")))?;
        let binding = self.bind(name, BindingKind::Output, ty, attributes);
        let mut parts = host_parts(&tensor, buffer);
        let mut stored = std::collections::BTreeSet::new();
        parts.retain(|part| stored.insert(part.image_offset));
        self.steps.push(Step::StoreHost(HostMove { op, binding, once: false, parts }));
        Ok(())
    }

    fn bind(
        &mut self,
        name: String,
        kind: BindingKind,
        ty: Type,
        attributes: Vec<(Name, Attribute)>,
    ) -> usize {
        let kept = |name: &Name| !["ipu.name", "ipu.kind"].contains(&name.as_str());
        let attributes = attributes.into_iter().filter(|(name, _)| kept(name));
        let attributes = attributes.map(|(name, value)| (name.as_str().to_owned(), value)).collect();
        self.bindings.push(Binding { op: self.function, name, kind, ty, attributes });
        self.bindings.len() - 1
    }

    fn attributes(&self, list: &str, index: usize) -> Vec<(Name, Attribute)> {
        let all = self.module.attribute(self.function, list).and_then(Attribute::as_array);
        let entries = all.and_then(|all| all.get(index)?.as_dictionary());
        entries.map(<[_]>::to_vec).unwrap_or_default()
    }

    fn op(&mut self, op: OpId) -> Result<(), Refused> {
        let refused = |error: ipu_dialects::mapped::MappedError| {
            (op, Refusal::new(error.at(self.module.span(op)).message))
        };
        let work = work(self.module, op).map_err(refused)?;
        let result = self.module.result(op, 0);
        if work.stages.is_empty() {
            if let Some(&operand) = self.module.operands(op).first() {
                self.buffers.share(result, operand);
            }
            return Ok(());
        }
        let name =
            self.module.value_name(result).map_or_else(|| format!("v{}", result.index()), str::to_owned);
        let tensor = self.tensor(op, self.module.value_type(result))?;
        let target = self.buffers.add(result, op, &name, &tensor);
        let scratch: Vec<BufferId> =
            work.scratch.iter().map(|scratch| self.buffers.add_scratch(op, &name, scratch)).collect();
        let operands: Vec<Option<BufferId>> =
            self.module.operands(op).iter().map(|&operand| self.buffers.of(operand)).collect();
        let storage = |storage: Storage| match storage {
            Storage::Operand(index) => operands.get(index as usize).copied().flatten(),
            Storage::Result => Some(target),
            Storage::Scratch(index) => scratch.get(index as usize).copied(),
        };
        for (index, stage) in work.stages.iter().enumerate() {
            let suffix = if index == 0 { String::new() } else { format!("_{index}") };
            self.stage(op, &format!("{name}{suffix}"), stage, &storage)
                .ok_or_else(|| (op, Refusal::new("an operand has no storage")))?;
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
                    receivers: &receivers,
                    pieces: &[Piece { offset: moved.destination_offset.0, bytes: moved.bytes.0 }],
                });
            }
            self.steps.push(Step::Phase(Phase { op, name: format!("{name}_exchange"), transfers }));
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

fn text<'a>(attributes: &'a [(Name, Attribute)], name: &str) -> Option<&'a str> {
    attributes.iter().find(|(key, _)| key.as_str() == name)?.1.as_str()
}

/// Every shard with its range of the image; copies share one.
fn host_parts(tensor: &ShardedTensor, buffer: BufferId) -> Vec<HostPart> {
    let placement = &tensor.placement;
    let copies = placement.layout().replicas.count().max(1);
    let mut offsets = Vec::with_capacity(placement.shard_count() as usize);
    let mut at = 0;
    for shard in 0..placement.shard_count() {
        offsets.push(at);
        if (shard + 1) % copies == 0 {
            at += placement.shard_bytes(shard).0;
        }
    }
    let part = |(shard, tile): (u32, LogicalTile)| HostPart {
        tile,
        slice: Slice { buffer, offset: 0, bytes: placement.shard_bytes(shard).0 },
        image_offset: offsets.get(shard as usize).copied().unwrap_or(0),
    };
    tensor.shards().map(part).collect()
}
