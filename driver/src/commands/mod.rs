//! The subcommands of `ipu`, one file each.

pub mod compile;
pub mod doc;
pub mod inspect;
pub mod run;
