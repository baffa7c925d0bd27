//! Fewer and longer transfers for the same movement of bytes.

mod coalesce;
mod fuse;
mod pass;
mod reads;
mod remarks;

pub use coalesce::{OptimizeOptions, OptimizeStatistics, Optimized, Reads, optimize_transfers};
pub use fuse::{append_phase, may_fuse};
pub use pass::INFO;
