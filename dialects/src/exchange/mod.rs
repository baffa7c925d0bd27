//! Dialect `exchange`: buffers on tiles, kernel runs, transfers between tiles, host loads and stores.
//!
//! [`program`] is the same as plain data: what passes, checks and interpreters work on.

pub mod program;

pub use program::{Buffer, BufferId, Phase, Program, Run, Slice, Step, Transfers};
