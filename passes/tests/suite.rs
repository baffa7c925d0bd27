//! The tests of the passes, as one program: linked and optimised once. A file here is a module of it.

mod canonicalize;
mod emit_tile_code;
mod exchange_cases;
mod exchange_optimization;
mod exchange_passes;
mod exchange_rewrites;
mod exchange_scheduling;
mod lowering;
mod packages;
mod pass_runs;
mod plans_mean_their_graph;
mod price_program;
mod remarks;
mod schedules_as_rows;
mod select_plans;
mod stage_goldens;
mod storage_placement;
mod unchanged_modules;
