//! Plain data to ops: the inverse of reading.
//!
//! Rules kept here: like transfers, calls and host moves become families wherever expressions give them exactly
//! ([`super::families`]); the op that a piece of plain data names is what its new op comes from, so places and origins
//! survive; calls of one tile keep their order. Reading back what was emitted gives the same program, up to the order
//! of transfers in a phase and of parts of a host move.

mod calls;
mod transfers;

use indexmap::IndexMap;
use ipu_device::LogicalTile;

use super::BufferType;
use super::families::{factor, family_of, fit_or_table};
use super::index::{Index, MemberSlice};
use super::members::MoveFamily;
use super::ops::{
    BindingOp, BufferOp, ComputeOp, LoadHostOp, PhaseOp, ProgramOp, RepeatOp, SeparateOp, StoreHostOp,
};
use super::program::{Binding, BindingKind, Buffer, HostMove, HostPart, Phase, Program, Step};
use super::write_back::set_at;
use crate::declaration::Op;
use crate::ipu::TileSet;
use crate::ir::{
    Attribute, BlockId, InsertionPoint, Module, Name, OpId, OpState, SYMBOL_NAME, Type, ValueId,
};

/// Writes `program` as an `exchange.program` at `point`, for pass `pass`, and gives the op.
///
/// Ops that the plain data names may be of any level: each new op inherits place and origin from them.
pub fn emit_program(module: &mut Module, point: InsertionPoint, program: &Program, pass: Name) -> OpId {
    let mut emitter = Emitter { module, pass, program, values: Vec::new() };
    emitter.program(point)
}

/// Replaces the transfers of `phase`, a step of `program` read from `module`, by those in its plain data.
pub fn rewrite_phase(module: &mut Module, program: &Program, phase: &Phase, pass: Name) {
    let values = program.buffers.iter().map(|buffer| module.result(buffer.op, 0)).collect();
    let Some(block) = module.entry_block(phase.op, 0) else { return };
    let old: Vec<OpId> = module.ops_of(block).collect();
    let mut emitter = Emitter { module, pass, program, values };
    emitter.transfers(block, &phase.transfers);
    for op in old {
        emitter.module.erase(op);
    }
}

struct Emitter<'a> {
    module: &'a mut Module,
    pass: Name,
    program: &'a Program,
    /// By buffer: its value.
    values: Vec<ValueId>,
}

/// A value name from the name of a buffer.
fn value_name(name: &str) -> String {
    let clean: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    let starts = clean.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts { clean } else { format!("b{clean}") }
}

impl Emitter<'_> {
    fn build(&mut self, point: InsertionPoint, source: OpId, state: OpState) -> OpId {
        let op = self.module.insert_new(point, state);
        if self.module.is_live(source) {
            self.module.inherit(op, &[source]);
        }
        if let Some(origin) = self.module.origin(op) {
            let origin = origin.through(self.pass);
            self.module.set_origin(op, Some(origin));
        }
        op
    }

    fn with_body(&mut self, point: InsertionPoint, source: OpId, state: OpState) -> (OpId, BlockId) {
        let region = self.module.create_region();
        let block = self.module.append_block(region);
        (self.build(point, source, state.region(region)), block)
    }

    fn value(&self, buffer: super::BufferId) -> ValueId {
        self.values[buffer.index()]
    }

    fn program(&mut self, point: InsertionPoint) -> OpId {
        let program = self.program;
        let tiles = TileSet::from_tiles(program.tiles.iter().copied());
        let state = ProgramOp::state()
            .attribute(SYMBOL_NAME, Attribute::string(&program.name))
            .maybe_attribute("tiles", tiles.map(Attribute::dialect));
        let (op, body) = self.with_body(point, program.op, state);
        let end = InsertionPoint::BlockEnd(body);
        for binding in &program.bindings {
            self.binding(end, binding);
        }
        for buffer in &program.buffers {
            self.buffer(end, buffer);
        }
        for &(first, second) in &program.separate {
            let state = SeparateOp::state().operand(self.value(first)).operand(self.value(second));
            self.build(end, program.op, state);
        }
        self.steps(body);
        op
    }

    fn binding(&mut self, point: InsertionPoint, binding: &Binding) {
        let kind = match binding.kind {
            BindingKind::Input => "input",
            BindingKind::Weight => "weight",
            BindingKind::Output => "output",
        };
        let mut state = BindingOp::state()
            .attribute(SYMBOL_NAME, Attribute::string(&binding.name))
            .attribute("kind", Attribute::string(kind))
            .attribute("tensor", Attribute::ty(binding.ty.clone()));
        for (name, value) in &binding.attributes {
            state = state.attribute(Name::intern(name), value.clone());
        }
        self.build(point, binding.op, state);
    }

    fn buffer(&mut self, point: InsertionPoint, buffer: &Buffer) {
        let everywhere = buffer.tiles.len() == self.program.tiles.len();
        let tiles = (!everywhere).then(|| TileSet::from_tiles(buffer.tiles.iter().copied())).flatten();
        let number = |value: u32| Attribute::i64(value.into());
        let state = BufferOp::state()
            .result(Type::dialect(BufferType))
            .named(&value_name(&buffer.name))
            .attribute("name", Attribute::string(&buffer.name))
            .attribute("bytes", number(buffer.bytes.0))
            .attribute("memory", Attribute::string(buffer.class.name()))
            .attribute("align", number(buffer.align.0))
            .maybe_attribute("tail", (buffer.tail.0 > 0).then(|| number(buffer.tail.0)))
            .maybe_attribute("tiles", tiles.map(Attribute::dialect));
        let op = self.build(point, buffer.op, state);
        if let Some(at) = &buffer.at {
            set_at(self.module, op, &buffer.tiles, at);
        }
        self.values.push(self.module.result(op, 0));
    }

    fn steps(&mut self, body: BlockId) {
        let program = self.program;
        let mut blocks = vec![(body, program.steps.len())];
        for (index, step) in program.steps.iter().enumerate() {
            while blocks.len() > 1 && blocks.last().is_some_and(|&(_, end)| end <= index) {
                blocks.pop();
            }
            let block = blocks.last().map_or(body, |&(block, _)| block);
            let point = InsertionPoint::BlockEnd(block);
            match step {
                Step::Phase(phase) => {
                    let state = PhaseOp::state()
                        .attribute(SYMBOL_NAME, Attribute::string(&phase.name))
                        .maybe_attribute("base", phase.base.clone().map(Attribute::dialect));
                    let (_, inner) = self.with_body(point, phase.op, state);
                    self.transfers(inner, &phase.transfers);
                }
                Step::Compute(compute) => {
                    let state = ComputeOp::state().attribute(SYMBOL_NAME, Attribute::string(&compute.name));
                    let (_, inner) = self.with_body(point, compute.op, state);
                    self.runs(inner, &compute.runs);
                }
                Step::LoadHost(moves) => self.host_move(point, moves, &LoadHostOp::state()),
                Step::StoreHost(moves) => self.host_move(point, moves, &StoreHostOp::state()),
                Step::Repeat { op, count, body } => {
                    let state = RepeatOp::state().attribute("count", Attribute::i64((*count).into()));
                    let (_, inner) = self.with_body(point, *op, state);
                    blocks.push((inner, body.end));
                }
            }
        }
    }

    fn host_move(&mut self, point: InsertionPoint, moves: &HostMove, state: &OpState) {
        let Some(binding) = self.program.bindings.get(moves.binding) else { return };
        let mut groups: IndexMap<(super::BufferId, u32), Vec<HostPart>> = IndexMap::new();
        for part in &moves.parts {
            groups.entry((part.slice.buffer, part.slice.bytes)).or_default().push(*part);
        }
        for ((buffer, bytes), parts) in groups {
            let mut state = state.clone().operand(self.value(buffer));
            state = state.attribute("binding", Attribute::symbol(&binding.name));
            if moves.once {
                state = state.attribute("once", Attribute::unit());
            }
            let state = state.attribute("family", Attribute::dialect(move_family(&parts, bytes)));
            self.build(point, moves.op, state);
        }
    }
}

fn tile_number(tile: LogicalTile) -> i64 {
    i64::from(tile.0)
}

/// Sizes over which the columns are affine, else one id.
fn sizes_of(columns: &[Vec<i64>]) -> Vec<u32> {
    let rows = columns.first().map_or(0, Vec::len);
    factor(columns).unwrap_or_else(|| vec![rows as u32])
}

fn move_family(parts: &[HostPart], bytes: u32) -> MoveFamily {
    let column = |value: fn(&HostPart) -> i64| parts.iter().map(value).collect::<Vec<i64>>();
    let columns = [
        column(|part| tile_number(part.tile)),
        column(|part| part.slice.offset.into()),
        column(|part| part.image_offset.into()),
    ];
    let sizes = sizes_of(&columns);
    let [on, offset, image] = columns.map(|column| fit_or_table(&column, &sizes));
    let slice = (offset != Index::constant(0)).then_some(MemberSlice { start: offset, length: bytes });
    MoveFamily { family: family_of(&sizes), on, slice, image: MemberSlice { start: image, length: bytes } }
}
