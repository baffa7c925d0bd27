//! The simulated device: every tile's supervisor executes the words in its memory, exchange follows the event-time
//! model, kernels run as their registry arithmetic.
//!
//! - [`memory`](TileMemory): copy-on-write pages with a mark on each written byte;
//! - `supervisor`, `workers`, `arithmetic`, `routines`: instructions and reference kernels;
//! - `exchange_unit`, `timeline`: exchange instructions turned into timed facts;
//! - `fabric`, `banks`, `transfer`: what arrives where and when, what clashes, and the moving of words;
//! - [`Snapshot`]: memory at a moment;
//! - [`StorageMap`]: which bytes belong to which buffer and when, and what may therefore be written and read;
//! - `sync`, `classes`, `settle`, `host`: barriers, like tiles, and the order in which all this happens.
//!
//! Between two global syncs tiles do not influence each other but through the exchange, so each runs until it needs
//! the words under way; then all words of the phase are decided and moved at once. A mistimed row moves the wrong
//! words, as on hardware; what hardware would answer with an exchange error is a [`Fault`]. Nothing loops over pairs
//! of tiles. Two kinds of time: cycles of a tile since the start, and row time since the sync that opened a phase.

mod arithmetic;
mod banks;
mod classes;
mod core_state;
mod decoder;
mod exchange_unit;
mod fabric;
mod fault;
mod host;
mod machine;
mod memory;
mod phase;
mod routines;
mod settle;
mod snapshot;
mod storage;
mod supervisor;
mod sync;
mod timeline;
mod transfer;
mod workers;

pub use fault::{Fault, FaultCode, Moment, tile_name};
pub use machine::{PhaseWrite, Simulator, SimulatorOptions, Statistics, SyncTime};
pub use memory::{MemoryError, POISON, TileMemory};
pub use phase::{PhaseOptions, PhaseOutcome, PhaseTile, run_phase};
pub use routines::KernelSymbols;
pub use settle::PhaseStatistics;
pub use snapshot::Snapshot;
pub use storage::{Storage, StorageMap};
pub use timeline::ExchangeRegisters;
pub use transfer::ExchangeWrite;
