//! Which bytes are read after a step: what a phase delivers must reach exactly these.
//!
//! Conservative on purpose: tiles of a buffer count as one, a byte that is overwritten before it is read counts as read, a
//! step inside repeats is followed by all steps of the outermost one, and what is loaded once by all steps, for the call
//! after this one.

use std::collections::BTreeMap;
use std::ops::Range;

use ipu_dialects::exchange::program::{BindingKind, Program, Step, Transfers};
use ipu_dialects::exchange::{BufferId, Slice};

use super::Reads;

/// Byte ranges of buffers, each list sorted and apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ranges(BTreeMap<BufferId, Vec<(u32, u32)>>);

impl Ranges {
    /// The slices, in any order.
    fn of(slices: impl Iterator<Item = Slice>) -> Self {
        let mut ranges = Self::default();
        for slice in slices {
            let range = (slice.offset, slice.offset.saturating_add(slice.bytes));
            ranges.0.entry(slice.buffer).or_default().push(range);
        }
        ranges.0.values_mut().for_each(join);
        ranges
    }

    fn extend(&mut self, other: &Self) {
        for (&buffer, ranges) in &other.0 {
            let known = self.0.entry(buffer).or_default();
            known.extend(ranges);
            join(known);
        }
    }
}

/// Sorts ranges and joins those that meet.
fn join(ranges: &mut Vec<(u32, u32)>) {
    ranges.sort_unstable();
    ranges.dedup_by(|next, kept| {
        let meet = next.0 <= kept.1;
        if meet {
            kept.1 = kept.1.max(next.1);
        }
        meet
    });
}

/// What transfers read.
pub(crate) fn sources(transfers: &Transfers) -> Ranges {
    let slice = |row: usize| Slice {
        buffer: transfers.source_buffer[row],
        offset: transfers.source_offset[row],
        bytes: transfers.bytes[row],
    };
    Ranges::of((0..transfers.len()).map(slice))
}

fn reads_of(step: &Step) -> Ranges {
    match step {
        Step::Phase(phase) => sources(&phase.transfers),
        Step::Compute(compute) => Ranges::of(compute.runs.iter().flat_map(|run| {
            let roles = run.kernel.entry().operands.iter().map(|spec| spec.role).zip(&run.operands);
            roles.filter(|(role, _)| role.reads()).map(|(_, &slice)| slice)
        })),
        Step::StoreHost(moves) => Ranges::of(moves.parts.iter().map(|part| part.slice)),
        Step::LoadHost(_) | Step::Repeat { .. } => Ranges::default(),
    }
}

/// What each step of a program reads.
pub(crate) struct ProgramReads {
    steps: Vec<Ranges>,
    /// Bodies of the outermost repeats, ascending.
    repeats: Vec<Range<usize>>,
    /// By buffer: whether its bytes stay from call to call.
    persistent: Vec<bool>,
}

impl ProgramReads {
    pub(crate) fn of(program: &Program) -> Self {
        let mut persistent = vec![false; program.buffers.len()];
        let mut repeats: Vec<Range<usize>> = Vec::new();
        for step in &program.steps {
            match step {
                Step::Repeat { body, .. } if repeats.last().is_none_or(|last| last.end <= body.start) => {
                    repeats.push(body.clone());
                }
                Step::LoadHost(moves) => {
                    let binding = program.bindings.get(moves.binding);
                    let weight = binding.is_some_and(|binding| binding.kind == BindingKind::Weight);
                    for part in moves.parts.iter().filter(|_| moves.once || weight) {
                        persistent[part.slice.buffer.index()] = true;
                    }
                }
                _ => {}
            }
        }
        Self { steps: program.steps.iter().map(reads_of).collect(), repeats, persistent }
    }

    /// Step `step` reads this from now on.
    pub(crate) fn replace(&mut self, step: usize, reads: Ranges) {
        if let Some(known) = self.steps.get_mut(step) {
            *known = reads;
        }
    }

    /// By buffer: what is read after step `step`, by it again included where it repeats.
    pub(crate) fn after(&self, step: usize) -> Reads {
        let first = self.repeats.iter().find(|body| body.contains(&step)).map_or(step + 1, |body| body.start);
        let mut later = Ranges::default();
        for reads in self.steps.iter().skip(first) {
            later.extend(reads);
        }
        for reads in self.steps.iter().take(first) {
            let kept = |buffer: &BufferId| self.persistent.get(buffer.index()).is_some_and(|&kept| kept);
            let reads = reads.0.iter().filter(|(buffer, _)| kept(buffer));
            later.extend(&Ranges(reads.map(|(&buffer, ranges)| (buffer, ranges.clone())).collect()));
        }
        let mut by_buffer = vec![Vec::new(); self.persistent.len()];
        for (buffer, ranges) in later.0 {
            if let Some(known) = by_buffer.get_mut(buffer.index()) {
                *known = ranges;
            }
        }
        Reads { ranges: by_buffer }
    }
}
