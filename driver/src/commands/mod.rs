//! The subcommands of `ipu`, one file each.

pub mod bench;
pub mod bisect;
pub mod check;
pub mod compile;
pub mod diff;
pub mod doc;
pub mod explain;
pub mod fmt;
pub mod inspect;
pub mod reduce;
pub mod run;
pub mod selftest;
pub mod sweep;
pub mod trace;
