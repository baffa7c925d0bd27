//! `--select-plans`: which tiles compute what, where every tensor lives, in which precision it moves.
//!
//! The search works on plain values: a [`GemmProblem`] in, [`Candidate`]s out, each a [`GemmPlan`] whose layouts
//! and operations ([`GemmPlan::mapped_ops`]) are those of the `mapped` dialect. Rules:
//!
//! * a decision stands in the plan once; layouts, kernels, costs and memory follow from it;
//! * a cost is a closed form over shards, proved equal to the analysis of the expanded layouts;
//! * nothing that could be the cheapest plan is left out without a bound that proves it dearer;
//! * fair inputs: each element of a host input enters one tile in its declared type; the host packs in any order
//!   for free, but replication, casts and moves between tiles are work on the device and are counted.

mod candidates;
mod cost;
mod error;
mod evaluate;
mod footprint;
mod lower;
mod mapped_ops;
mod options;
mod pass;
mod plan;
mod prices;
mod problem;
mod remarks;
mod report;
mod search;
mod space;

#[cfg(test)]
mod tests;

pub use cost::{PlanCost, WorkCost};
pub use error::{PlanCode, PlanError};
pub use footprint::Footprint;
pub use mapped_ops::{MappedOp, MappedOpKind, MappedTensor};
pub use options::{Pin, PinnedHome, PlanOptions, Prices};
pub use pass::INFO;
pub use plan::{CastPlace, GemmPlan, Grid, Home, OperandPlan, Ownership, Packing, Side};
pub(crate) use prices::PriceBook;
pub use prices::{
    BoundKernel, EXCHANGE_BYTES_PER_CYCLE, PHASE_OVERHEAD_CYCLES, PhaseCost, PhaseLoad,
    RECORDED_PHASE_CYCLES, phase_bound,
};
pub use problem::{GemmProblem, OperandType, Source};
pub use report::{FinalistRecord, finalists_table};
pub use search::{Candidate, Search, SearchCounts, Unfitting, search};
pub use space::PlanSpace;
