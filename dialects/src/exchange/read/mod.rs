//! Text to plain data: expands families and columns, and checks what plain data cannot express.
//!
//! Rules kept here: an op is read up to its first error, so a bad family of a million members is one finding; nothing
//! recurses, repeats are a stack. What holds between ops is checked elsewhere, on the result.

mod calls;
mod moves;
mod storage;
mod transfers;

use ipu_device::LogicalTile;
use ipu_device::hash::HashMap;
use ipu_device::topology::TILE_COUNT;

use super::codes::ExchangeCode;
use super::index::Index;
use super::ops::{
    BindingOp, BufferOp, ComputeOp, CopiesOp, CopyOp, LoadHostOp, PhaseOp, ProgramOp, RepeatOp, RunOp,
    SeparateOp, StoreHostOp,
};
use super::program::{BufferId, Compute, Phase, Program, Step, Transfers};
use crate::declaration::{Op, check_op};
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::ipu::Family;
use crate::ir::{Module, OpId, ValueId};

/// The result of reading one op: its first error.
type Read<T> = Result<T, Box<Diagnostic>>;

impl Program {
    /// Reads an `exchange.program` as plain data.
    ///
    /// # Errors
    /// What is wrong in the text of the program: ops that are malformed or misplaced, indices without values, tiles that
    /// do not exist, ranges outside of buffers, unknown kernels, half a state.
    pub fn read(module: &Module, op: OpId) -> Result<Self, Diagnostics> {
        let mut diagnostics = Diagnostics::new();
        for nested in module.walk(op) {
            check_op(module, nested, &mut diagnostics);
        }
        let program = module.cast::<ProgramOp>(op);
        if program.is_none() && !diagnostics.has_errors() {
            let message = format!("`{}` is no `exchange.program`", module.name(op));
            diagnostics.push(Diagnostic::error(ExchangeCode::Misplaced, module.span(op), message));
        }
        let Some(program) = program.filter(|_| !diagnostics.has_errors()) else { return Err(diagnostics) };
        let mut reader = Reader::new(module, program, diagnostics);
        reader.run(program);
        reader.check_addresses();
        if reader.diagnostics.has_errors() { Err(reader.diagnostics) } else { Ok(reader.program) }
    }
}

/// A set of tiles as bits.
#[derive(Debug, Clone, Copy, Default)]
struct TileMask([u64; TILE_COUNT as usize / 64]);

impl TileMask {
    fn of(tiles: &[LogicalTile]) -> Self {
        let mut mask = Self::default();
        for tile in tiles {
            if let Some(word) = mask.0.get_mut(usize::from(tile.0) / 64) {
                *word |= 1 << (tile.0 % 64);
            }
        }
        mask
    }

    fn has(&self, tile: LogicalTile) -> bool {
        self.0.get(usize::from(tile.0) / 64).is_some_and(|word| word >> (tile.0 % 64) & 1 == 1)
    }
}

/// The program read so far, and what its names mean.
struct Reader<'m> {
    module: &'m Module,
    program: Program,
    tiles: TileMask,
    buffers: HashMap<ValueId, BufferId>,
    /// By buffer: the tiles that have it.
    present: Vec<TileMask>,
    bindings: HashMap<&'m str, usize>,
    diagnostics: Diagnostics,
}

/// A tile as messages write it: `tile 2 (physical 64)`.
pub(super) fn tile_text(tile: LogicalTile) -> String {
    match LogicalTile::new(u64::from(tile.0)) {
        Some(tile) => format!("tile {tile} (physical {})", tile.physical()),
        None => format!("tile {tile}"),
    }
}

impl<'m> Reader<'m> {
    fn new(module: &'m Module, op: ProgramOp, diagnostics: Diagnostics) -> Self {
        let tiles: Vec<LogicalTile> = op.tiles(module).iter().collect();
        let mask = TileMask::of(&tiles);
        let program = Program {
            op: op.id(),
            name: op.sym_name(module).to_owned(),
            tiles,
            bindings: Vec::new(),
            buffers: Vec::new(),
            steps: Vec::new(),
            separate: Vec::new(),
        };
        Self {
            module,
            program,
            tiles: mask,
            buffers: HashMap::default(),
            present: Vec::new(),
            bindings: HashMap::default(),
            diagnostics,
        }
    }

    /// Reads the body, and the bodies of repeats where they stand.
    fn run(&mut self, op: ProgramOp) {
        let first = |op: OpId| self.module.entry_block(op, 0).and_then(|block| self.module.first_op(block));
        let mut stack = vec![(None, first(op.id()))];
        while let Some((owner, next)) = stack.last_mut() {
            let Some(op) = *next else {
                if let Some(owner) = *owner {
                    self.close_repeat(owner);
                }
                stack.pop();
                continue;
            };
            *next = self.module.next_op(op);
            let nested = owner.is_some();
            match self.module.cast::<RepeatOp>(op) {
                Some(repeat) => {
                    let owner = self.open_repeat(repeat);
                    stack.push((
                        Some(owner),
                        self.module.entry_block(op, 0).and_then(|b| self.module.first_op(b)),
                    ));
                }
                None => {
                    if let Err(error) = self.step(op, nested) {
                        self.diagnostics.push(*error);
                    }
                }
            }
        }
    }

    fn open_repeat(&mut self, repeat: RepeatOp) -> usize {
        let count = u32::try_from(repeat.count(self.module)).ok().filter(|&count| count > 0);
        if count.is_none() {
            let message =
                format!("`exchange.repeat` runs 1 to {} times, not {}", u32::MAX, repeat.count(self.module));
            self.diagnostics.push(self.error(ExchangeCode::BadIndex, repeat.id(), message));
        }
        let at = self.program.steps.len();
        let step = Step::Repeat { op: repeat.id(), count: count.unwrap_or(1), body: at + 1..at + 1 };
        self.program.steps.push(step);
        at
    }

    fn close_repeat(&mut self, at: usize) {
        let end = self.program.steps.len();
        if let Some(Step::Repeat { body, .. }) = self.program.steps.get_mut(at) {
            body.end = end;
        }
    }

    /// Reads an op of the program or of a repeat.
    fn step(&mut self, op: OpId, nested: bool) -> Read<()> {
        let module = self.module;
        if let Some(phase) = module.cast::<PhaseOp>(op) {
            self.phase(phase);
        } else if let Some(compute) = module.cast::<ComputeOp>(op) {
            self.compute(compute);
        } else if let Some(load) = module.cast::<LoadHostOp>(op) {
            let part = self.host_move(op, load.buffer(module), load.binding(module), load.family(module))?;
            self.program.steps.push(Step::LoadHost(part));
        } else if let Some(store) = module.cast::<StoreHostOp>(op) {
            let part =
                self.host_move(op, store.buffer(module), store.binding(module), store.family(module))?;
            self.program.steps.push(Step::StoreHost(part));
        } else if nested {
            return Err(
                self.misplaced(op, "`exchange.repeat` holds steps: phases, compute, host moves, repeats")
            );
        } else if let Some(binding) = module.cast::<BindingOp>(op) {
            self.binding(binding);
        } else if let Some(buffer) = module.cast::<BufferOp>(op) {
            self.buffer(buffer)?;
        } else if let Some(separate) = module.cast::<SeparateOp>(op) {
            let pair =
                (self.operand(separate.first(module), op)?, self.operand(separate.second(module), op)?);
            self.program.separate.push(pair);
        } else {
            return Err(self
                .misplaced(op, "`exchange.program` holds bindings, buffers, `exchange.separate` and steps"));
        }
        Ok(())
    }

    fn phase(&mut self, op: PhaseOp) {
        let module = self.module;
        let base = op.base(module).cloned();
        let mut transfers = Transfers::default();
        let (mut scheduled, mut unscheduled) = (None, None);
        for child in module.entry_block(op.id(), 0).into_iter().flat_map(|block| module.ops_of(block)) {
            let before = transfers.send.len();
            let read = if let Some(copy) = module.cast::<CopyOp>(child) {
                self.copy(copy, &mut transfers)
            } else if let Some(copies) = module.cast::<CopiesOp>(child) {
                self.copies(copies, &mut transfers)
            } else {
                Err(self.misplaced(child, "`exchange.phase` holds `exchange.copy` and `exchange.copies`"))
            };
            if let Err(error) = read {
                self.diagnostics.push(*error);
            } else if transfers.send.len() > before {
                scheduled = scheduled.or(Some(child));
            } else {
                unscheduled = unscheduled.or(Some(child));
            }
        }
        let name = op.sym_name(module);
        if let (Some(with), Some(without)) = (scheduled, unscheduled) {
            let message =
                format!("phase `@{name}` is scheduled in part: this has no `send`, expected all or none");
            let error = self.error(ExchangeCode::HalfState, without, message);
            self.diagnostics.push(error.label(module.span(with), "this has `send`"));
        }
        self.program.steps.push(Step::Phase(Phase { op: op.id(), name: name.to_owned(), base, transfers }));
    }

    fn compute(&mut self, op: ComputeOp) {
        let module = self.module;
        let mut runs = Vec::new();
        for child in module.entry_block(op.id(), 0).into_iter().flat_map(|block| module.ops_of(block)) {
            let read = match module.cast::<RunOp>(child) {
                Some(run) => self.run_op(run, &mut runs),
                None => Err(self.misplaced(child, "`exchange.compute` holds `exchange.run`")),
            };
            if let Err(error) = read {
                self.diagnostics.push(*error);
            }
        }
        let name = op.sym_name(module).to_owned();
        self.program.steps.push(Step::Compute(Compute { op: op.id(), name, runs }));
    }

    // What ops have in common.

    fn error(&self, code: ExchangeCode, op: OpId, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.module.span(op), message)
    }

    fn fail<T>(&self, code: ExchangeCode, op: OpId, message: impl Into<String>) -> Read<T> {
        Err(Box::new(self.error(code, op, message)))
    }

    fn misplaced(&self, op: OpId, expected: &str) -> Box<Diagnostic> {
        let message = format!("`{}` does not belong here", self.module.name(op));
        Box::new(self.error(ExchangeCode::Misplaced, op, message).note(expected))
    }

    fn operand(&self, value: ValueId, op: OpId) -> Read<BufferId> {
        match self.buffers.get(&value) {
            Some(&buffer) => Ok(buffer),
            None => {
                let message = format!("`{}` is no buffer of this program", self.module.value_text(value));
                self.fail(ExchangeCode::Misplaced, op, message)
            }
        }
    }

    /// The values of an index for the members of a family.
    fn values(&self, op: OpId, part: &str, index: &Index, family: &Family) -> Read<Vec<i64>> {
        index.values(family).or_else(|error| {
            self.fail(ExchangeCode::BadIndex, op, format!("`{part}` of {} members: {error}", family.len()))
        })
    }

    /// The tile of that number, which must have `buffer`.
    fn tile(&self, op: OpId, member: usize, part: &str, number: i64, buffer: BufferId) -> Read<LogicalTile> {
        let tile = u16::try_from(number).ok().map(LogicalTile);
        let held = tile.filter(|&tile| self.present.get(buffer.index()).is_some_and(|mask| mask.has(tile)));
        if let Some(tile) = held {
            return Ok(tile);
        }
        let name = &self.program.buffer(buffer).name;
        let message = match tile.filter(|&tile| self.tiles.has(tile)) {
            Some(tile) => format!("`{part}` is {}, which does not have buffer `{name}`", tile_text(tile)),
            None => format!("`{part}` is {number}, which is no tile of the program"),
        };
        let error = self.error(ExchangeCode::NoSuchTile, op, message);
        Err(Box::new(error.note(format!("in member {member}"))))
    }

    /// `start` as an offset; `start..start + length` must lie in `buffer`.
    fn range(
        &self,
        op: OpId,
        member: usize,
        part: &str,
        start: i64,
        length: u32,
        buffer: BufferId,
    ) -> Read<u32> {
        let size = self.program.buffer(buffer).bytes.0;
        let offset = u32::try_from(start).ok();
        if let Some(offset) =
            offset.filter(|offset| offset.checked_add(length).is_some_and(|end| end <= size))
        {
            return Ok(offset);
        }
        let (name, end) = (&self.program.buffer(buffer).name, i128::from(start) + i128::from(length));
        let message = format!("`{part}` is bytes {start}..{end} of `{name}`, which has {size} bytes");
        let error = self.error(ExchangeCode::OutOfBuffer, op, message);
        Err(Box::new(error.note(format!("in member {member}"))))
    }
}
