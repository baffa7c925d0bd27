//! The search: grids by lower bound, plans of each grid priced, the frontier, the finalists.
//!
//! Exact: a grid is left out only if its lower bound exceeds the cheapest plan found by more than the slack, and a
//! plan only if another is no worse in cycles, standard, interleaved and total peak, largest allocation and row
//! bytes. Sequential and free of hash order, so the same problem gives the same finalists.

use std::cmp::Reverse;

use serde::Serialize;

use super::candidates;
use super::cost::PlanCost;
use super::error::{PlanCode, PlanError};
use super::evaluate::evaluate;
use super::footprint::Footprint;
use super::options::PlanOptions;
use super::plan::{GemmPlan, Grid, Home, Side};
use super::prices::PriceBook;
use super::problem::GemmProblem;

/// A plan with what it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// The plan.
    pub plan: GemmPlan,
    /// Its cost.
    pub cost: PlanCost,
    /// Its memory.
    pub footprint: Footprint,
}

/// What the search did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct SearchCounts {
    /// Grids that the tiles allow.
    pub grids: u32,
    /// Grids left out because their lower bound was over the cheapest plan and the slack.
    pub grids_bounded_out: u32,
    /// Plans left out because their own lower bound was.
    pub bounded_out: u32,
    /// Plans priced.
    pub priced: u32,
    /// Plans that no kernel does.
    pub no_kernel: u32,
    /// Plans that do not fit the memory of a tile.
    pub too_large: u32,
    /// Plans over the cheapest and the slack.
    pub too_slow: u32,
    /// Plans no better than another in any respect.
    pub dominated: u32,
    /// Plans on the frontier.
    pub frontier: u32,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// The finalists, cheapest first; never empty.
    pub finalists: Vec<Candidate>,
    /// What was tried.
    pub counts: SearchCounts,
    /// The plan with the lowest bound of those that do not fit the tiles.
    pub unfitting: Option<Unfitting>,
}

/// A plan that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfitting {
    /// Cycles that it takes at least.
    pub bound: u64,
    /// The plan.
    pub plan: GemmPlan,
    /// What it needs.
    pub footprint: Footprint,
}

/// Plans one GEMM.
///
/// # Errors
/// [`PlanCode`]: the problem or an option is not valid, no kernel does it, or nothing fits.
pub fn search(problem: &GemmProblem, options: &PlanOptions) -> Result<Search, PlanError> {
    problem.check()?;
    options.check()?;
    let mut book = PriceBook::new(options.prices, problem.multiply, problem.accumulate)?;
    let grids = candidates::grids(problem, options, &mut book)?;
    let mut counts = SearchCounts { grids: grids.bounded.len() as u32, ..SearchCounts::default() };
    let mut found: Vec<Candidate> = Vec::new();
    let mut unfitting = None;
    let mut limit = u64::MAX;
    let mut smallest = grids.smallest_refused;
    for (index, bounded) in (0u32..).zip(&grids.bounded) {
        if bounded.bound > limit {
            counts.grids_bounded_out = counts.grids - index;
            break;
        }
        for plan in candidates::plans(problem, options, bounded.grid, &book) {
            let bound = candidates::plan_bound(&plan, &mut book);
            if bound.is_some_and(|bound| bound > limit) {
                counts.bounded_out += 1;
                continue;
            }
            // Too large a block has no kernel either.
            let footprint = plan.footprint();
            if !fits(footprint, options) {
                counts.too_large += 1;
                let bound = bound.unwrap_or(bounded.bound);
                if unfitting.as_ref().is_none_or(|known: &Unfitting| bound < known.bound) {
                    unfitting = Some(Unfitting { bound, plan, footprint });
                }
                smallest = smallest.into_iter().chain([(u64::from(footprint.total), plan.grid)]).min();
                continue;
            }
            let Some(cost) = evaluate(&plan, &mut book) else {
                counts.no_kernel += 1;
                continue;
            };
            counts.priced += 1;
            limit = limit.min(cost.cycles + cost.cycles * u64::from(options.slack_percent) / 100);
            if cost.cycles <= limit {
                found.push(Candidate { plan, cost, footprint });
            } else {
                counts.too_slow += 1;
            }
        }
    }
    let before = found.len() as u32;
    found.retain(|candidate| candidate.cost.cycles <= limit);
    counts.too_slow += before - found.len() as u32;
    let mut finalists = frontier(found, &mut counts);
    if finalists.is_empty() {
        return Err(no_plan(problem, options, smallest, counts));
    }
    finalists.truncate(options.finalists as usize);
    Ok(Search { finalists, counts, unfitting })
}

pub(super) fn fits(footprint: Footprint, options: &PlanOptions) -> bool {
    // Standard buffers may also lie in interleaved memory.
    footprint.interleaved <= options.interleaved_bytes
        && footprint.total <= options.standard_bytes.saturating_add(options.interleaved_bytes)
}

fn no_plan(
    problem: &GemmProblem,
    options: &PlanOptions,
    smallest: Option<(u64, Grid)>,
    counts: SearchCounts,
) -> PlanError {
    let GemmProblem { m, k, n, .. } = problem;
    let room = u64::from(options.standard_bytes) + u64::from(options.interleaved_bytes);
    match smallest {
        Some((bytes, grid)) if bytes > room || counts.too_large > 0 => PlanError::new(
            PlanCode::DoesNotFit,
            format!(
                "a GEMM of {m}x{k}x{n} on {} tiles needs at least {bytes} bytes on a tile (grid {grid}), data may take \
                 {room}, of it {} interleaved; use more tiles or a narrower multiply type",
                options.tiles, options.interleaved_bytes
            ),
        ),
        _ => PlanError::new(
            PlanCode::NoKernel,
            format!(
                "no plan of a GEMM of {m}x{k}x{n} has kernels for all its steps: {} from {} and {}, accumulated in {}, \
                 to {} ({} plans tried)",
                problem.multiply,
                problem.lhs.element,
                problem.rhs.element,
                problem.accumulate,
                problem.output,
                counts.no_kernel
            ),
        ),
    }
}

type Key = (u64, u32, u32, Reverse<u64>, u32, [u8; 2]);

/// Order of finalists: cycles, then memory, then the more tiles, then the simpler home.
fn key(candidate: &Candidate) -> Key {
    let home = |side| match candidate.plan.operand(side).home {
        Home::Resident | Home::Blocks => 0,
        Home::Shared { .. } => 1,
        Home::Spread { .. } => 2,
    };
    let Candidate { plan, cost, footprint } = candidate;
    let homes = [home(Side::Left), home(Side::Right)];
    (cost.cycles, footprint.total, footprint.rows, Reverse(plan.grid.tiles()), footprint.standard, homes)
}

fn measures(candidate: &Candidate) -> [u64; 6] {
    let Footprint { standard, interleaved, total, largest, rows } = candidate.footprint;
    let bytes = [standard, interleaved, total, largest, rows].map(u64::from);
    [candidate.cost.cycles, bytes[0], bytes[1], bytes[2], bytes[3], bytes[4]]
}

/// The plans that no other beats or equals in every measure, in order of [`key`].
fn frontier(mut found: Vec<Candidate>, counts: &mut SearchCounts) -> Vec<Candidate> {
    found.sort_by_cached_key(key);
    let mut kept: Vec<(Candidate, [u64; 6])> = Vec::new();
    for candidate in found {
        let own = measures(&candidate);
        let beaten = |(_, other): &(Candidate, [u64; 6])| other.iter().zip(&own).all(|(a, b)| a <= b);
        if kept.iter().any(beaten) {
            counts.dominated += 1;
        } else {
            kept.push((candidate, own));
        }
    }
    counts.frontier = kept.len() as u32;
    kept.into_iter().map(|(candidate, _)| candidate).collect()
}
