//! The programs `ipu-opt` and `ipu`: one file a subcommand. Only this crate reads files, draws diagnostics and exits.

pub mod bisect;
pub mod commands;
pub mod compile;
pub mod diff;
pub mod execute;
pub mod exit;
pub mod explain;
pub mod figures;
pub mod files;
pub mod instrumentation;
pub mod ipu;
pub mod load;
pub mod log;
#[cfg(feature = "mutations")]
pub mod mutations;
pub mod non_finite;
pub mod opt;
pub mod package_file;
pub mod reduce;
pub mod render;
pub mod selftest;
pub mod simulated;
pub mod stages;
pub mod sweep;
pub mod trace;
