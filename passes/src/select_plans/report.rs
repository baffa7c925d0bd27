//! Finalists as the event log and the tables print them.

use std::fmt::Write as _;

use serde::Serialize;

use super::cost::PlanCost;
use super::footprint::Footprint;
use super::plan::{CastPlace, GemmPlan, Grid, Home, Ownership, Packing, Side};
use super::search::Candidate;

/// One finalist, with the field names of the event log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FinalistRecord {
    /// Place among the finalists.
    pub index: u32,
    /// The grid.
    pub grid: String,
    /// Tensors of the plan.
    pub values: u32,
    /// Operations of the plan.
    pub operations: u32,
    /// Estimated cycles.
    pub estimated_cycles: u64,
    /// Estimated exchange cycles.
    pub estimated_exchange_cycles: u64,
    /// Exchange row bytes of the busiest tile.
    pub exchange_row_bytes: u32,
    /// Peak standard bytes.
    pub peak_standard_bytes: u32,
    /// Peak interleaved bytes.
    pub peak_interleaved_bytes: u32,
    /// Peak bytes of both classes.
    pub peak_total_bytes: u32,
    /// Largest allocation.
    pub largest_allocation_bytes: u32,
    /// Tiles that compute, and tiles that only hold a home, where there are any.
    pub active_tiles: Vec<u32>,
    /// Axes that are padded, as logical and padded length.
    pub padding_groups: Vec<[u32; 2]>,
    /// Layout conversions of the plan.
    pub converted_operations: u32,
    /// The cost, part by part.
    pub cost: PlanCost,
    /// The decisions in words.
    pub decisions: String,
}

impl Candidate {
    /// The record of finalist number `index`.
    #[must_use]
    pub fn record(&self, index: u32) -> FinalistRecord {
        let Self { plan, cost, footprint } = self;
        let Footprint { standard, interleaved, total, largest, rows } = *footprint;
        let (tensors, ops) = plan.mapped_ops().unwrap_or_default();
        let padding = [plan.rows(), plan.inner(), plan.columns()]
            .into_iter()
            .filter(|axis| axis.extent() != axis.units() * axis.grain())
            .map(|axis| [axis.extent(), axis.units() * axis.grain()]);
        let computing = plan.grid.tiles() as u32;
        let mut active = vec![computing];
        active.extend(plan.home_tiles().filter(|&tiles| tiles > computing));
        let converted = ops.iter().filter(|op| op.kind == super::MappedOpKind::ConvertLayout).count();
        FinalistRecord {
            index,
            grid: plan.grid.to_string(),
            values: tensors.len() as u32,
            operations: ops.len() as u32,
            estimated_cycles: cost.cycles,
            estimated_exchange_cycles: cost.exchange,
            exchange_row_bytes: rows,
            peak_standard_bytes: standard,
            peak_interleaved_bytes: interleaved,
            peak_total_bytes: total,
            largest_allocation_bytes: largest,
            active_tiles: active,
            padding_groups: padding.collect(),
            converted_operations: converted as u32,
            cost: *cost,
            decisions: plan.decisions(),
        }
    }
}

impl GemmPlan {
    /// One past the last tile that holds a spread home, for each operand that has one.
    fn home_tiles(&self) -> impl Iterator<Item = u32> {
        [self.lhs.home, self.rhs.home].into_iter().filter_map(|home| match home {
            Home::Spread { first, second, shift, tiles } => Some((first * second + shift).min(tiles)),
            _ => None,
        })
    }

    /// The decisions of the plan in words, such as `8x4x2, A spread 64x1, cast block, result scatter_rows`.
    #[must_use]
    pub fn decisions(&self) -> String {
        let Grid { m, n, k } = self.grid;
        let mut text = format!("grid {m}x{n}x{k}");
        for (side, name) in [(Side::Left, "A"), (Side::Right, "B")] {
            let operand = self.operand(side);
            let home = match operand.home {
                Home::Resident => "resident".to_owned(),
                Home::Blocks => "blocks at home".to_owned(),
                Home::Shared { first, second, rotated } => {
                    format!("blocks in {first}x{second} parts{}", if rotated { ", rotated" } else { "" })
                }
                Home::Spread { first, second, shift, .. } => {
                    format!("spread {first}x{second} from tile {shift}")
                }
            };
            let _ = write!(text, "; {name} {home}");
            if operand.cast != CastPlace::Nowhere {
                let panels = if operand.packing == Packing::Multiply { ", packed for it" } else { "" };
                let _ = write!(text, ", cast {}{panels}", operand.cast.name());
            }
            if side == Side::Right {
                let _ = write!(text, ", {}", operand.memory.name());
            }
        }
        if self.ownership != Ownership::Whole {
            let _ = write!(text, "; result {}", self.ownership.name());
        }
        text
    }
}

/// The finalists as a table, one line each.
#[must_use]
pub fn finalists_table(finalists: &[Candidate]) -> String {
    let mut text = String::from(
        "  # | cycles | exchange | standard | interleaved |  total | largest | rows | tiles | plan\n",
    );
    for (index, candidate) in (0u32..).zip(finalists) {
        let Candidate { plan, cost, footprint } = candidate;
        let _ = writeln!(
            text,
            "{index:3} | {:6} | {:8} | {:8} | {:11} | {:6} | {:7} | {:4} | {:5} | {}",
            cost.cycles,
            cost.exchange,
            footprint.standard,
            footprint.interleaved,
            footprint.total,
            footprint.largest,
            footprint.rows,
            plan.grid.tiles(),
            plan.decisions()
        );
    }
    text
}
