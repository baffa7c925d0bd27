//! Plain data to ops: the inverse of reading.
//!
//! Rules kept here: what a piece of plain data was made for gives its op place and origin; like instructions share one
//! attribute, so a program of many tiles stays small; reading back what was emitted gives the same program.

use std::ops::RangeInclusive;

use ipu_device::hash::HashMap;
use ipu_device::package::HostSlice;
use ipu_device::{Address, LogicalTile};
use smallvec::{SmallVec, smallvec};

use super::instructions::{self, OPERANDS};
use super::ops::{
    BindingOp, CallKernelOp, CodeOp, DataOp, ExchangeHostOp, ExchangeOp, HostCallOp, HostPagesOp, ImageOp,
    KernelOp, ProgramOp, RepeatOp, RowOp, StepsOp, StorageOp, WordOp,
};
use super::program::{
    Binding, Body, Code, Data, Image, KernelCode, KernelImage, Line, Section, Step, StepKind, Storage,
    TileProgram,
};
use super::slices::SliceFamily;
use crate::declaration::Op;
use crate::exchange::column_attribute;
use crate::ipu::TileSet;
use crate::ir::{Attribute, BlockId, InsertionPoint, Module, Name, OpId, OpKind, OpState, SYMBOL_NAME};

impl TileProgram {
    /// Writes the program as a `tile.program` at `point`, for pass `pass`, and gives the op.
    ///
    /// A line whose text would read back as another word becomes a `tile.word`.
    pub fn emit(&self, module: &mut Module, point: InsertionPoint, pass: Name) -> OpId {
        let mut emitter = Emitter { module, pass, lines: HashMap::default() };
        emitter.program(point, self)
    }
}

/// States of the ops of one line.
type LineStates = SmallVec<[OpState; 1]>;

struct Emitter<'a> {
    module: &'a mut Module,
    pass: Name,
    /// States of the ops of each distinct line.
    lines: HashMap<Line, LineStates>,
}

fn number(value: impl Into<i64>) -> Attribute {
    Attribute::i64(value.into())
}

fn hexadecimal(value: u32) -> Attribute {
    Attribute::hexadecimal(value.into())
}

fn words(words: &[u32]) -> Attribute {
    Attribute::i64_array(words.iter().map(|&word| word.into()).collect())
}

fn tile_set(tiles: &[LogicalTile]) -> Option<Attribute> {
    TileSet::from_tiles(tiles.iter().copied()).map(Attribute::dialect)
}

/// A number as an attribute; what does not fit 63 bits saturates, and then fails its check.
fn wide(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl Emitter<'_> {
    fn build(&mut self, block: BlockId, source: Option<OpId>, state: OpState) -> OpId {
        self.build_at(InsertionPoint::BlockEnd(block), source, state)
    }

    fn build_at(&mut self, point: InsertionPoint, source: Option<OpId>, state: OpState) -> OpId {
        let op = self.module.insert_new(point, state);
        if let Some(source) = source.filter(|&source| self.module.is_live(source)) {
            self.module.inherit(op, &[source]);
            if let Some(origin) = self.module.origin(op) {
                let origin = origin.through(self.pass);
                self.module.set_origin(op, Some(origin));
            }
        }
        op
    }

    /// The state with a region of one empty block.
    fn with_body(&mut self, state: OpState) -> (OpState, BlockId) {
        let region = self.module.create_region();
        let block = self.module.append_block(region);
        (state.region(region), block)
    }

    fn program(&mut self, point: InsertionPoint, program: &TileProgram) -> OpId {
        let mut state = ProgramOp::state().attribute(SYMBOL_NAME, Attribute::string(&program.name));
        state.attributes.extend(program.attributes.iter().cloned());
        let (state, body) = self.with_body(state);
        let op = self.build_at(point, program.op, state);
        for binding in &program.bindings {
            self.binding(body, binding);
        }
        self.host(body, program);
        for kernel in &program.kernels {
            self.kernel(body, kernel);
        }
        for storage in &program.storage {
            self.storage(body, storage);
        }
        for section in &program.common {
            self.section(body, section);
        }
        for image in &program.images {
            self.image(body, image);
        }
        op
    }

    fn binding(&mut self, body: BlockId, binding: &Binding) {
        let mut state = BindingOp::state()
            .attribute(SYMBOL_NAME, Attribute::string(&binding.name))
            .attribute("kind", Attribute::string(binding.kind.name()))
            .attribute("tensor", Attribute::ty(binding.ty.clone()))
            .maybe_attribute("slices", SliceFamily::of(&binding.slices).map(Attribute::dialect));
        state.attributes.extend(binding.attributes.iter().cloned());
        self.build(body, binding.source, state);
    }

    fn host(&mut self, body: BlockId, program: &TileProgram) {
        let Some(host) = &program.host else { return };
        let integers = |values: &[u32]| words(values);
        let state = HostPagesOp::state()
            .attribute("indices", integers(&host.pages.iter().map(|page| page.index).collect::<Vec<_>>()))
            .attribute("sizes", Attribute::i64_array(host.pages.iter().map(|page| wide(page.size)).collect()))
            .attribute("order", integers(&host.attach_order))
            .attribute("command_page", number(host.command_page))
            .attribute("command_offset", Attribute::i64(wide(host.command_offset)))
            .attribute("startup", number(host.startup_mark));
        self.build(body, program.op, state);
        for call in &host.calls {
            let mut state = HostCallOp::state()
                .attribute("name", Attribute::string(&call.name))
                .attribute("command", number(call.command))
                .attribute("phases", number(call.phases))
                .attribute("invocations", number(call.invocations));
            let names = ["in_page", "in_at", "in_offset", "in_bytes", "in_batches"];
            state = host_slices(state, names, &call.inputs, &call.input_batch_ends);
            let names = ["out_page", "out_at", "out_offset", "out_bytes", "out_batches"];
            state = host_slices(state, names, &call.outputs, &call.output_batch_ends);
            self.build(body, program.op, state);
        }
    }

    fn kernel(&mut self, body: BlockId, kernel: &KernelImage) {
        let mut state = KernelOp::state()
            .attribute(SYMBOL_NAME, Attribute::string(&*kernel.symbol))
            .attribute("address", hexadecimal(kernel.address.0))
            .attribute("size", number(kernel.size().0));
        state = match &kernel.code {
            KernelCode::Reference(_) => state.attribute("reference", Attribute::unit()),
            KernelCode::Words(code) => state.attribute("words", words(code)),
        };
        let tiles = kernel.tiles.as_deref().and_then(tile_set);
        self.build(body, kernel.source, state.maybe_attribute("tiles", tiles));
    }

    fn storage(&mut self, body: BlockId, storage: &Storage) {
        let phase =
            |end: fn(&RangeInclusive<u32>) -> &u32| storage.live.as_ref().map(|live| number(*end(live)));
        let state = StorageOp::state()
            .attribute("buffer", Attribute::string(&storage.buffer))
            .attribute("address", hexadecimal(storage.address.0))
            .attribute("size", number(storage.size.0))
            .maybe_attribute("first", phase(RangeInclusive::start))
            .maybe_attribute("last", phase(RangeInclusive::end))
            .maybe_attribute("tiles", tile_set(&storage.tiles));
        self.build(body, storage.source, state);
    }

    fn image(&mut self, body: BlockId, image: &Image) {
        let physical = match image.tiles.as_slice() {
            [only] => Some(number(only.physical().0)),
            _ => None,
        };
        let state = ImageOp::state()
            .maybe_attribute("tiles", tile_set(&image.tiles))
            .maybe_attribute("physical", physical);
        let (state, inner) = self.with_body(state);
        self.build(body, image.source, state);
        for section in &image.sections {
            self.section(inner, section);
        }
        if let Some(steps) = &image.steps {
            let (state, block) = self.with_body(StepsOp::state());
            self.build(inner, image.source, state);
            self.steps(block, steps);
        }
    }

    fn section(&mut self, body: BlockId, section: &Section) {
        let kind = match &section.body {
            Body::Row(_) => RowOp::state(),
            Body::Code(_) => CodeOp::state(),
            Body::Data(data) => data_state(data),
        };
        let state = kind
            .attribute(SYMBOL_NAME, Attribute::string(&*section.symbol))
            .attribute("address", hexadecimal(section.address.0));
        if matches!(section.body, Body::Data(_)) {
            self.build(body, section.source, state);
            return;
        }
        let (state, block) = self.with_body(state);
        self.build(body, section.source, state);
        for line in section.lines() {
            for state in self.line_states(line) {
                self.build(block, line.source.or(section.source), state);
            }
        }
    }

    fn line_states(&mut self, line: &Line) -> LineStates {
        if let Some(states) = self.lines.get(line) {
            return states.clone();
        }
        let states = line_states(line);
        self.lines.insert(Line { source: None, ..line.clone() }, states.clone());
        states
    }

    fn steps(&mut self, body: BlockId, steps: &[Step]) {
        let mut blocks = vec![(body, steps.len())];
        for (index, step) in steps.iter().enumerate() {
            while blocks.len() > 1 && blocks.last().is_some_and(|&(_, end)| end <= index) {
                blocks.pop();
            }
            let block = blocks.last().map_or(body, |&(block, _)| block);
            let state = step_state(&step.kind);
            if let StepKind::Repeat { body, .. } = &step.kind {
                let (state, inner) = self.with_body(state);
                self.build(block, step.source, state);
                blocks.push((inner, body.end));
            } else {
                self.build(block, step.source, state);
            }
        }
    }
}

fn host_slices(state: OpState, names: [&'static str; 5], slices: &[HostSlice], ends: &[u32]) -> OpState {
    if ends.is_empty() {
        return state;
    }
    let [page, at, offset, bytes, batches] = names;
    let column =
        |value: fn(&HostSlice) -> u64| column_attribute(slices.iter().map(|s| wide(value(s))).collect());
    state
        .attribute(page, column(|slice| slice.page.into()))
        .attribute(at, column(|slice| slice.page_offset))
        .attribute(offset, column(|slice| slice.file_offset))
        .attribute(bytes, column(|slice| slice.size))
        .attribute(batches, words(ends))
}

fn data_state(data: &Data) -> OpState {
    let all = super::program::word_bytes(data.words.len());
    let stored = (data.stored != all).then(|| number(data.stored.0));
    let size = (data.size != data.stored).then(|| number(data.size.0));
    DataOp::state()
        .attribute("flags", number(data.flags.0))
        .maybe_attribute("bytes", stored)
        .maybe_attribute("size", size)
        .attribute("words", words(&data.words))
}

/// An instruction is one op; one that has no text is an op for each of its words.
fn line_states(line: &Line) -> LineStates {
    let word = |word: u32| WordOp::state().attribute("word", hexadecimal(word));
    let instruction = match &line.code {
        Code::Word(value) => return smallvec![word(*value)],
        Code::Instruction(instruction) => instruction,
    };
    let text = instructions::operands(instruction, line.symbol.as_ref());
    let declared =
        text.and_then(|(mnemonic, operands)| Some((instructions::declaration(mnemonic)?, operands)));
    match declared {
        Some((declaration, operands)) => {
            let state = OpState::new(OpKind::Declared(declaration));
            smallvec![state.attribute(OPERANDS, Attribute::dialect(operands))]
        }
        None => instruction.encode().iter().flatten().map(|&value| word(value)).collect(),
    }
}

fn step_state(kind: &StepKind) -> OpState {
    match kind {
        StepKind::ExchangeHost(part) => {
            ExchangeHostOp::state().attribute("part", Attribute::string(part.name()))
        }
        StepKind::Exchange { row, base, idle } => ExchangeOp::state()
            .attribute("row", Attribute::symbol(row))
            .maybe_attribute("base", (*base != Address(0)).then(|| hexadecimal(base.0)))
            .maybe_attribute("idle", idle.then(Attribute::unit)),
        StepKind::CallKernel { kernel, operands, scalars } => {
            let addresses = operands.iter().map(|&Address(address)| address.into()).collect();
            let named: Vec<(Name, Attribute)> =
                scalars.named().map(|(name, value)| (Name::of(name), number(value))).collect();
            CallKernelOp::state()
                .attribute("kernel", Attribute::symbol(&kernel.symbol()))
                .attribute("addresses", Attribute::i64_array(addresses))
                .maybe_attribute("scalars", (!named.is_empty()).then(|| Attribute::dictionary(named)))
        }
        StepKind::Repeat { count, .. } => RepeatOp::state().attribute("count", number(*count)),
    }
}
