//! The subcommands of `ipu`, one file each.

pub mod doc;
pub mod run;
