//! Every plan of a program, the bad ones too: what differential tests go through.

use ipu_dialects::diagnostics::Diagnostic;
use ipu_dialects::ir::Module;

use super::candidates;
use super::error::{PlanCode, PlanError};
use super::evaluate::evaluate;
use super::lower::lower;
use super::pass::{GemmProgram, declared_tiles, read_program};
use super::search::fits;
use super::{Candidate, PlanOptions, PriceBook, Prices, SearchCounts};

/// All plans that the planner could choose for a program, in order of grids.
pub struct PlanSpace {
    program: GemmProgram,
    /// The plans, each with its calibrated price.
    pub candidates: Vec<Candidate>,
    /// What was left out: plans without kernels, plans that do not fit.
    pub counts: SearchCounts,
}

impl PlanSpace {
    /// The plans for the graph program of `module` on the tiles that it declares.
    ///
    /// # Errors
    /// The program is not one that the planner takes; [`PlanCode`].
    pub fn of(module: &Module) -> Result<Self, Box<Diagnostic>> {
        let (program, problem) = read_program(module).map_err(|(op, message)| {
            Box::new(Diagnostic::error(PlanCode::Unsupported, module.span(op), message))
        })?;
        let span = module.span(program.gemm);
        let refused = |error: PlanError| Box::new(Diagnostic::error(error.code, span, error.message));
        problem.check().map_err(refused)?;
        let tiles = declared_tiles(module, program.function);
        let defaults = PlanOptions::default();
        let options = PlanOptions { tiles: tiles.unwrap_or(defaults.tiles), ..defaults };
        let mut book =
            PriceBook::new(Prices::Calibrated, problem.multiply, problem.accumulate).map_err(refused)?;
        let grids = candidates::grids(&problem, &options, &mut book).map_err(refused)?;
        let mut counts = SearchCounts { grids: grids.bounded.len() as u32, ..SearchCounts::default() };
        let mut found = Vec::new();
        for bounded in &grids.bounded {
            for plan in candidates::plans(&problem, &options, bounded.grid, &book) {
                let footprint = plan.footprint();
                if !fits(footprint, &options) {
                    counts.too_large += 1;
                } else if let Some(cost) = evaluate(&plan, &mut book) {
                    counts.priced += 1;
                    found.push(Candidate { plan, cost, footprint });
                } else {
                    counts.no_kernel += 1;
                }
            }
        }
        Ok(Self { program, candidates: found, counts })
    }

    /// Replaces the graph program of `module`, which the space is of, by the mapped program of plan number `index`.
    ///
    /// # Errors
    /// A step of the plan has no kernel; [`PlanCode`].
    pub fn lower(&self, module: &mut Module, index: usize) -> Result<(), PlanError> {
        let Some(chosen) = self.candidates.get(index) else { return Ok(()) };
        lower(module, &self.program, std::slice::from_ref(chosen), 0)
    }
}
