//! When the bytes of each buffer matter, on each of its tiles: the one analysis that placement and checks share.
//!
//! Time is the position in [`Program::steps`]; a lifetime goes from the step of the first access to that of the last,
//! both included. Buffers of weights and of `once` loads live always: they are filled before all calls. In a repeat a
//! buffer lives through the whole body if it was in use before, or if the body reads it first: then it carries a value
//! from one iteration to the next. A body that writes first never needs the value of the iteration before, because a
//! byte that only the iteration before could have written is unwritten in the first one, which is an error.

use std::fmt;
use std::ops::Range;

use ipu_device::LogicalTile;

use super::program::{BindingKind, BufferId, Compute, HostMove, Program, Step, Transfers};

/// Steps during which bytes matter, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lifetime {
    /// Step of the first access.
    pub first: u32,
    /// Step of the last access.
    pub last: u32,
}

impl Lifetime {
    /// The whole program, and from call to call.
    pub const ALWAYS: Self = Self { first: 0, last: u32::MAX };

    /// Whether some step belongs to both.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// The shortest lifetime that covers both.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self { first: self.first.min(other.first), last: self.last.max(other.last) }
    }
}

impl fmt::Display for Lifetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ALWAYS => f.write_str("always"),
            Self { first, last } if first == last => write!(f, "step {first}"),
            Self { first, last: u32::MAX } => write!(f, "from step {first} on"),
            Self { first, last } => write!(f, "steps {first} to {last}"),
        }
    }
}

/// The lifetimes of all buffers of a program.
#[derive(Debug, Clone)]
pub struct Lifetimes {
    /// By buffer: where its tiles start in `table`; one more at the end.
    starts: Vec<usize>,
    table: Vec<Option<Lifetime>>,
}

impl Lifetimes {
    /// The lifetimes of the buffers of `program`.
    #[must_use]
    pub fn of(program: &Program) -> Self {
        let mut analysis = Analysis::new(program);
        for (index, step) in program.steps.iter().enumerate() {
            analysis.close_repeats(index);
            analysis.step(index as u32, step);
        }
        analysis.close_repeats(program.steps.len());
        analysis.lifetimes
    }

    /// The lifetime of a buffer on tile number `slot` of its tiles; `None` if no step uses it there.
    #[must_use]
    pub fn on(&self, buffer: BufferId, slot: usize) -> Option<Lifetime> {
        self.row(buffer).get(slot).copied().flatten()
    }

    /// The shortest lifetime that covers those on all tiles; `None` if no step uses the buffer.
    #[must_use]
    pub fn hull(&self, buffer: BufferId) -> Option<Lifetime> {
        self.row(buffer).iter().copied().flatten().reduce(Lifetime::hull)
    }

    fn row(&self, buffer: BufferId) -> &[Option<Lifetime>] {
        let range = |at: usize| Some(*self.starts.get(at)?..*self.starts.get(at + 1)?);
        range(buffer.index()).and_then(|range| self.table.get(range)).unwrap_or(&[])
    }
}

/// A repeat whose body is being walked.
struct OpenRepeat {
    body: Range<usize>,
    /// Entries of the table that live through the whole body.
    carried: Vec<usize>,
}

struct Analysis<'p> {
    program: &'p Program,
    lifetimes: Lifetimes,
    repeats: Vec<OpenRepeat>,
}

impl<'p> Analysis<'p> {
    fn new(program: &'p Program) -> Self {
        let mut starts = vec![0];
        let mut total = 0;
        for buffer in &program.buffers {
            total += buffer.tiles.len();
            starts.push(total);
        }
        Self { program, lifetimes: Lifetimes { starts, table: vec![None; total] }, repeats: Vec::new() }
    }

    /// Leaves the repeats whose bodies end before step `index`.
    fn close_repeats(&mut self, index: usize) {
        while let Some(repeat) = self.repeats.pop_if(|repeat| repeat.body.end <= index) {
            let (first, last) = (repeat.body.start as u32, (repeat.body.end as u32).saturating_sub(1));
            for entry in repeat.carried {
                if let Some(lifetime) = &mut self.lifetimes.table[entry] {
                    *lifetime = lifetime.hull(Lifetime { first, last });
                }
            }
        }
    }

    fn step(&mut self, at: u32, step: &'p Step) {
        match step {
            Step::Phase(phase) => self.phase(at, &phase.transfers),
            Step::Compute(compute) => self.compute(at, compute),
            Step::LoadHost(moves) => self.load(at, moves),
            Step::StoreHost(moves) => {
                for part in &moves.parts {
                    self.access(at, part.slice.buffer, part.tile, true);
                }
            }
            Step::Repeat { count, body, .. } => {
                if *count > 1 && !body.is_empty() {
                    self.repeats.push(OpenRepeat { body: body.clone(), carried: Vec::new() });
                }
            }
        }
    }

    /// Sources are read before destinations are written.
    fn phase(&mut self, at: u32, transfers: &Transfers) {
        for (&buffer, &tile) in transfers.source_buffer.iter().zip(&transfers.source) {
            self.access(at, buffer, tile, true);
        }
        for (&buffer, &tile) in transfers.receiver_buffer.iter().zip(&transfers.receiver) {
            self.access(at, buffer, tile, false);
        }
    }

    fn compute(&mut self, at: u32, compute: &Compute) {
        for run in &compute.runs {
            let roles = || run.kernel.entry().operands.iter().map(|spec| spec.role).zip(&run.operands);
            for (_, slice) in roles().filter(|(role, _)| role.reads()) {
                self.access(at, slice.buffer, run.tile, true);
            }
            for (_, slice) in roles().filter(|(role, _)| role.writes()) {
                self.access(at, slice.buffer, run.tile, false);
            }
        }
    }

    fn load(&mut self, at: u32, moves: &HostMove) {
        let weight = self.program.bindings.get(moves.binding).is_some_and(|b| b.kind == BindingKind::Weight);
        for part in &moves.parts {
            if moves.once || weight {
                if let Some(entry) = self.entry(part.slice.buffer, part.tile) {
                    self.lifetimes.table[entry] = Some(Lifetime::ALWAYS);
                }
            } else {
                self.access(at, part.slice.buffer, part.tile, false);
            }
        }
    }

    fn entry(&self, buffer: BufferId, tile: LogicalTile) -> Option<usize> {
        let slot = self.program.buffers.get(buffer.index())?.slot(tile)?;
        Some(self.lifetimes.starts.get(buffer.index())? + slot)
    }

    fn access(&mut self, at: u32, buffer: BufferId, tile: LogicalTile, reads: bool) {
        let Some(entry) = self.entry(buffer, tile) else { return };
        let known = self.lifetimes.table[entry];
        for repeat in &mut self.repeats {
            let first_here = known.is_none_or(|known| (known.last as usize) < repeat.body.start);
            if first_here && (known.is_some() || reads) {
                repeat.carried.push(entry);
            }
        }
        let now = Lifetime { first: at, last: at };
        self.lifetimes.table[entry] = Some(known.map_or(now, |known| known.hull(now)));
    }
}
