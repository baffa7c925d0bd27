//! The subcommands of `ipu`, one file each.
