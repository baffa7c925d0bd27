//! Supervisor programs: an assembler, the runtime that every tile carries, and the steps of generated programs.
//!
//! | module | holds |
//! |---|---|
//! | [`assembler`] | lines with symbols to words; the size is known before any address is |
//! | [`runtime()`] | start-up, worker barrier, runners of host batches, completion: the same bytes on every tile |
//! | [`steps`] | exchange steps, kernel calls, repeats |
//! | [`host_code`] | a tile's host exchange programs, tables and calls |
//!
//! Registers: `m0`, `m1` scratch; `m2` to `m9` arguments; `m7` returns from the worker barrier, `m9` from runners,
//! `m10` from kernels, rows and batch programs; `m8` scratch for control registers; `m11` stack pointer, grows down;
//! `m15` zero. Nothing in `m0` to `m10` survives a kernel call. Source: supervisor notes, after `osmarks/ipu-stack`
//! `crates/ipu-target/src/emit.rs` and its static runtime.

pub mod assembler;
pub mod host_code;
pub mod runtime;
pub mod steps;

pub use assembler::{Assembler, Line, LinkCode, LinkError, Linked, Symbol};
pub use host_code::{host_calls, host_programs, host_tables};
pub use runtime::{WorkerSeeds, entry_words, runtime};
pub use steps::{Argument, Repeat};
