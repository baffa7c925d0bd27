//! The passes from graph to package, and the pass manager. One pass, one file or folder of its name.

pub mod build_package;
pub mod canonicalize;
pub mod emit_tile_code;
pub mod expand_plans;
pub mod lift_package;
pub mod lower_exchanges;
pub mod manager;
#[cfg(feature = "mutations")]
pub mod mutations;
pub mod optimize_exchange_placement;
pub mod optimize_exchanges;
pub mod place_storage;
pub mod price_program;
pub mod schedule_exchanges;
pub mod select_plans;
