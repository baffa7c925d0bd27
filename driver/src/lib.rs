//! The programs `ipu-opt` and `ipu`, one file a subcommand; alone in reading files, rendering diagnostics and exiting.
