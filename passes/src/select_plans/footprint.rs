//! Memory and row bytes of a plan, estimated for its busiest tile.
//!
//! A peak is the most bytes live at one step; every operand counts at its largest shard, as if one tile held the
//! largest of each. Row bytes follow the geometry of a phase: 8 for entry and return, 8 a send (12 past 64 words),
//! 12 a receive, rounded to 8.

use ipu_device::memory_map::MemoryClass;
use ipu_device::numerics::ElementType;
use ipu_dialects::mapped::layout::AxisSplit;
use serde::Serialize;

use super::plan::{CastPlace, GemmPlan, Home, Ownership, Side};

/// Most words of a send that needs no continuation.
const SHORT_SEND_WORDS: u32 = 64;

/// Bytes that a plan needs on its busiest tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
pub struct Footprint {
    /// Most standard bytes live at once, rows included.
    pub standard: u32,
    /// Most interleaved bytes live at once.
    pub interleaved: u32,
    /// Most bytes live at once.
    pub total: u32,
    /// Largest allocation.
    pub largest: u32,
    /// Exchange rows of all phases.
    pub rows: u32,
}

/// Steps of a plan, in order, between which values live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Load,
    CastHome,
    Gather,
    CastBlock,
    Gemm,
    Scatter,
    Sum,
    Store,
}

const STEPS: [Step; 8] = [
    Step::Load,
    Step::CastHome,
    Step::Gather,
    Step::CastBlock,
    Step::Gemm,
    Step::Scatter,
    Step::Sum,
    Step::Store,
];

struct Buffer {
    bytes: u64,
    memory: MemoryClass,
    first: Step,
    last: Step,
}

/// A count of bytes, cut to what a tile could ever hold.
fn narrow(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl GemmPlan {
    /// The bytes the plan needs on its busiest tile.
    #[must_use]
    pub fn footprint(&self) -> Footprint {
        let mut buffers = Vec::with_capacity(12);
        for side in [Side::Left, Side::Right] {
            self.operand_buffers(side, &mut buffers);
        }
        self.result_buffers(&mut buffers);
        let rows = self.row_bytes();
        let mut peak = Footprint { rows, ..Footprint::default() };
        for step in STEPS {
            let live = |memory| {
                let at = |buffer: &&Buffer| {
                    buffer.memory == memory && (buffer.first..=buffer.last).contains(&step)
                };
                buffers.iter().filter(at).map(|buffer| buffer.bytes).sum::<u64>()
            };
            let standard = live(MemoryClass::Standard) + u64::from(rows);
            let interleaved = live(MemoryClass::Interleaved);
            peak.standard = peak.standard.max(narrow(standard));
            peak.interleaved = peak.interleaved.max(narrow(interleaved));
            peak.total = peak.total.max(narrow(standard + interleaved));
        }
        peak.largest = narrow(buffers.iter().map(|buffer| buffer.bytes).max().unwrap_or(0)).max(rows);
        peak
    }

    fn operand_buffers(&self, side: Side, buffers: &mut Vec<Buffer>) {
        let operand = self.operand(side);
        let elements = |axes: [AxisSplit; 2]| u64::from(axes[0].largest()) * u64::from(axes[1].largest());
        let block = elements(self.operand_grid(side).axes);
        let home = elements(self.home_axes(side));
        let width = |element: ElementType| u64::from(element.bytes());
        let (declared, multiply) = (width(self.declared(side)), width(self.problem.multiply));
        let standard = MemoryClass::Standard;
        // A weight is there in every run, so its home never dies.
        let kept = if self.source(side) == super::problem::Source::Weight { Step::Store } else { Step::Load };
        let mut add = |bytes, memory, first, last| buffers.push(Buffer { bytes, memory, first, last });
        match (operand.home.is_gathered(), operand.cast) {
            (false, CastPlace::Nowhere | CastPlace::Home) => {
                add(block * multiply, operand.memory, Step::Load, kept.max(Step::Gemm));
            }
            (false, CastPlace::Block) => {
                add(block * declared, standard, Step::Load, kept.max(Step::CastBlock));
                add(block * multiply, operand.memory, Step::CastBlock, Step::Gemm);
            }
            (true, CastPlace::Nowhere) => {
                add(home * multiply, standard, Step::Load, kept.max(Step::Gather));
                add(block * multiply, operand.memory, Step::Gather, Step::Gemm);
            }
            (true, CastPlace::Home) => {
                add(home * declared, standard, Step::Load, kept.max(Step::CastHome));
                add(home * multiply, standard, Step::CastHome, Step::Gather);
                add(block * multiply, operand.memory, Step::Gather, Step::Gemm);
            }
            (true, CastPlace::Block) => {
                add(home * declared, standard, Step::Load, kept.max(Step::Gather));
                add(block * declared, standard, Step::Gather, Step::CastBlock);
                add(block * multiply, operand.memory, Step::CastBlock, Step::Gemm);
            }
        }
    }

    fn result_buffers(&self, buffers: &mut Vec<Buffer>) {
        let (accumulate, output) = (self.problem.accumulate, self.problem.output);
        let product = |a: AxisSplit, b: AxisSplit| u64::from(a.largest()) * u64::from(b.largest());
        let block = product(self.rows(), self.columns()) * u64::from(accumulate.bytes());
        let [rows, columns] = self.owned_axes();
        let owned = product(rows, columns);
        let standard = MemoryClass::Standard;
        let split = self.grid.k > 1;
        let cast = accumulate != output;
        let produced = match (split, cast) {
            (true, _) => Step::Sum,
            (false, true) => Step::Scatter,
            (false, false) => Step::Store,
        };
        buffers.push(Buffer { bytes: block, memory: self.output_memory, first: Step::Gemm, last: produced });
        if split {
            let bytes = owned * u64::from(accumulate.bytes());
            let remote = bytes * u64::from(self.grid.k - 1);
            buffers.push(Buffer { bytes: remote, memory: standard, first: Step::Scatter, last: Step::Sum });
            buffers.push(Buffer { bytes, memory: standard, first: Step::Sum, last: Step::Store });
        }
        if cast {
            let bytes = owned * u64::from(output.bytes());
            let first = if split { Step::Sum } else { Step::Scatter };
            buffers.push(Buffer { bytes, memory: standard, first, last: Step::Store });
        }
    }

    fn row_bytes(&self) -> u32 {
        let mut bytes = 0;
        let gathered = [Side::Left, Side::Right].map(|side| self.gather_runs(side));
        if gathered.iter().any(Option::is_some) {
            let (mut sends, mut receives) = (0, 0);
            for runs in gathered.into_iter().flatten() {
                sends += runs.sent * if runs.words > SHORT_SEND_WORDS { 12 } else { 8 };
                receives += runs.received * 12;
            }
            bytes += (8 + sends + receives).next_multiple_of(8);
        }
        if self.grid.k > 1 {
            let panels = match self.ownership {
                Ownership::ScatterRows => {
                    self.columns().largest() / self.problem.accumulate.amp_inner().unwrap_or(1).max(1)
                }
                _ => 1,
            };
            let runs = panels.max(1) * (self.grid.k - 1);
            bytes += (8 + runs * (8 + 12)).next_multiple_of(8);
        }
        bytes
    }

    /// Byte runs that the busiest tile sends and receives to gather an operand.
    fn gather_runs(&self, side: Side) -> Option<Runs> {
        let operand = self.operand(side);
        if !operand.home.is_gathered() {
            return None;
        }
        let (axes, home) = (self.operand_grid(side).axes, self.home_axes(side));
        let inner = self.order(side, self.moved(side)).inner().unwrap_or(1);
        // Parts of the home that one block overlaps, along each axis.
        let over = |axis: usize| axes[axis].largest().div_ceil(home[axis].largest().max(1)).max(1);
        let overlap = |axis: usize| axes[axis].largest().min(home[axis].largest());
        let runs = match side {
            // A part that has all rows of the block is one run; else a run a panel.
            Side::Left if overlap(0) == axes[0].largest() && home[0].largest() == axes[0].largest() => 1,
            Side::Left => overlap(1).div_ceil(inner),
            Side::Right if overlap(0) == axes[0].largest() && home[0].largest() == axes[0].largest() => 1,
            Side::Right => overlap(1).div_ceil(ipu_device::orders::AMP_COLUMNS),
        };
        let blocks = |axis: usize| home[axis].largest().div_ceil(axes[axis].largest().max(1)).max(1);
        let words = overlap(0) * overlap(1) * self.moved(side).bytes() / 4 / runs.max(1);
        let received = over(0) * over(1) * runs;
        let sent = match operand.home {
            Home::Spread { .. } => blocks(0) * blocks(1) * runs,
            _ => runs,
        };
        Some(Runs { sent, received, words })
    }
}

struct Runs {
    sent: u32,
    received: u32,
    words: u32,
}
