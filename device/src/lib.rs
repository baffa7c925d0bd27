//! The machine, and nothing of the IR: a Graphcore IPU21 (C600) with 1,472 tiles.
//!
//! Everything here is a fact about the chip, a model of it, or a file format; the compiler's levels are built
//! on top. Facts carry their source; where sources disagree the choice is a constant in [`assumptions`].

pub mod assumptions;
pub mod coded;
pub mod exchange;
pub mod generators;
pub mod hash;
pub mod host_exchange;
pub mod isa;
pub mod kernels;
pub mod memory_map;
pub mod numerics;
pub mod orders;
pub mod package;
pub mod runtime;
pub mod simulator;
pub mod supervisor;
pub mod topology;
pub mod units;

pub use coded::Coded;
pub use units::{Address, Bytes, Cycles, Event, LogicalTile, PhysicalTile, Words};
