//! What a plan costs, part by part.
//!
//! A plan is at most three stretches of work between at most two phases:
//!
//! 1. casts of operands at their homes; then the gather;
//! 2. copies of own slices, casts of gathered blocks, the GEMM; then the exchange of partials;
//! 3. a copy of the own partial where it is not contiguous, the sum, the cast of the result.
//!
//! A phase is a barrier: a stretch counts by its slowest tile.

use std::fmt;

use serde::Serialize;

use super::error::{PlanCode, PlanError};
use super::evaluate::evaluate;
use super::options::Prices;
use super::plan::{GemmPlan, Ownership};
use super::prices::{GemmBlock, PhaseCost, PriceBook};

/// Cycles of the calls of one tile between two barriers, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct WorkCost {
    /// The slowest tile.
    pub tile: u32,
    /// Casts of operands at their homes.
    pub cast_home: u64,
    /// Copies of own slices of gathered operands.
    pub copy_own: u64,
    /// Casts of whole blocks.
    pub cast_block: u64,
    /// The GEMM.
    pub gemm: u64,
    /// Copy of the own partial.
    pub copy_partial: u64,
    /// Sum of the partials.
    pub reduce: u64,
    /// Cast of the result.
    pub cast_result: u64,
}

impl WorkCost {
    /// The calls that cost something, by name.
    pub fn calls(&self) -> impl Iterator<Item = (&'static str, u64)> {
        [
            ("cast home", self.cast_home),
            ("copy own slice", self.copy_own),
            ("cast block", self.cast_block),
            ("gemm", self.gemm),
            ("copy own partial", self.copy_partial),
            ("reduce", self.reduce),
            ("cast result", self.cast_result),
        ]
        .into_iter()
        .filter(|&(_, cycles)| cycles > 0)
    }

    /// Sum of the calls.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        let operands = self.cast_home + self.copy_own + self.cast_block;
        operands + self.gemm + self.copy_partial + self.reduce + self.cast_result
    }
}

impl WorkCost {
    /// Keeps the slower of two tiles; of equals the first.
    pub(crate) fn keep_slower(&mut self, other: Self) {
        let (own, theirs) = (self.cycles(), other.cycles());
        if theirs > own || (theirs == own && theirs > 0 && other.tile < self.tile) {
            *self = other;
        }
    }
}

/// The cost of a plan and its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct PlanCost {
    /// Total.
    pub cycles: u64,
    /// Share of the phases.
    pub exchange: u64,
    /// Work before the gather, before the exchange of partials, and after it.
    pub work: [WorkCost; 3],
    /// The gather, if operands are gathered.
    pub gather: Option<PhaseCost>,
    /// The exchange of partials, if the inner axis is split.
    pub scatter: Option<PhaseCost>,
}

impl PlanCost {
    /// Exchange phases.
    #[must_use]
    pub fn phases(&self) -> u32 {
        u32::from(self.gather.is_some()) + u32::from(self.scatter.is_some())
    }
}

impl fmt::Display for PlanCost {
    /// One line a call and a phase, in order of the program, then the total.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phases = [None, self.gather.as_ref(), self.scatter.as_ref()];
        let names = ["", "gather", "scatter"];
        for ((work, phase), name) in self.work.iter().zip(phases).zip(names) {
            if let Some(phase) = phase {
                writeln!(
                    f,
                    "phase {name}: {} cycles (consumed {} B, received {} B, sent {} B, bound {} events)",
                    phase.cycles, phase.consumed, phase.received, phase.sent, phase.bound
                )?;
            }
            for (call, cycles) in work.calls() {
                writeln!(f, "  {call}: {cycles} cycles (tile {})", work.tile)?;
            }
        }
        write!(f, "total {} cycles, exchange {}", self.cycles, self.exchange)
    }
}

impl GemmPlan {
    /// The GEMM call of a block of this size.
    pub(crate) fn block(&self, rows: u32, inner: u32, columns: u32) -> GemmBlock {
        GemmBlock { rows, inner, columns, weights: self.rhs.memory, output: self.output_memory }
    }

    /// Whether the shares of a scattered result are whole and lie inside the blocks.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let k = self.grid.k;
        let [rows, columns] = self.owned_axes();
        match self.ownership {
            Ownership::Whole => k == 1,
            Ownership::Collapse => k > 1,
            Ownership::ScatterRows => {
                k > 1 && rows.parts() <= rows.units() && self.rows().is_refined_by(rows, k)
            }
            Ownership::ScatterColumns => {
                k > 1 && columns.parts() <= columns.units() && self.columns().is_refined_by(columns, k)
            }
        }
    }

    /// The cost of the plan under a price list, with its decomposition.
    ///
    /// # Errors
    /// [`PlanCode::NoKernel`].
    pub fn cost(&self, prices: Prices) -> Result<PlanCost, PlanError> {
        let mut book = PriceBook::new(prices, self.problem.multiply, self.problem.accumulate)?;
        evaluate(self, &mut book).ok_or_else(|| {
            PlanError::new(PlanCode::NoKernel, format!("grid {} has a step that no kernel does", self.grid))
        })
    }
}
