//! The tiles' side of the host protocol: packets, batches, roles, programs, tables.
//!
//! Host and tiles move data in *batches*: at most 4,096 bytes a tile, each tile's bytes in a slot of its own. A batch
//! is two host syncs, entry and completion, that all 1,472 tiles take part in. A *target* asks for or sends its bytes
//! with packets; its *owner* (row 0 of the same column and half) announces it with a request bitmap.
//!
//! | module | holds |
//! |---|---|
//! | [`packet`] | headers, chunking, request bitmap |
//! | [`batches`] | bindings to batches, slots, and the package's host calls |
//! | [`program`] | role of a tile in a batch, and its program |
//! | [`tile_plan`] | all a tile needs: programs, packet tables, descriptors, calls in order |
//!
//! Source: host exchange notes, after `osmarks/ipu-stack` `crates/ipu-codegen/src/package.rs` and
//! `crates/ipu-driver/src/lib.rs`.

pub mod batches;
pub mod packet;
pub mod program;
pub mod tile_plan;

pub use batches::{
    Batch, Direction, HostPlan, HostPlanCode, HostPlanError, TileTransfer, plan_host_exchange,
};
pub use packet::{Chunk, Packet, PacketKind, chunks, request_bitmap};
pub use program::{Role, batch_program};
pub use tile_plan::{CallGroup, Descriptor, TileHostPlan};
