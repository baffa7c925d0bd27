//! Running a package on a device: the host's side of the protocol, and the devices it can talk to.
//!
//! ```text
//! run_package          the whole life of a run                     run.rs
//!   DeviceLock         one run at a time                           lock.rs
//!   Device             open, attach, initialise, replay, complete  device.rs
//!     loader           autoloader, 23 batches, start               loader.rs
//!     HostSession      pages, calls, batches                       session.rs
//!     debug access     contexts and memory of a tile               debug_access.rs
//!   Transport          registers, requests, buffers                transport.rs
//!     DeviceTransport  /dev/ipu0                                   device_transport.rs
//!     SimulatedTransport  the same registers over a Machine        simulated/
//! ```
//!
//! Rules this folder keeps:
//! 1. Both transports are driven by the same code, register by register; nothing asks which one it is except to
//!    refuse what only a simulator can run.
//! 2. Every wait has a limit, and what it says names the register, the expected and the observed value.
//! 3. Whatever was attached is detached and whatever was locked is unlocked, also after an error.
//!
//! Source: hardware notes on the driver and on host exchange.

mod boot_program;
mod configuration;
mod debug_access;
mod device;
mod device_transport;
mod error;
mod loader;
mod lock;
mod machine;
pub mod registers;
mod run;
mod session;
mod simulated;
mod transport;

pub use boot_program::BootProgram;
pub use configuration::Configuration;
pub use device::Device;
pub use device_transport::{DEVICE_NODE, DeviceTransport};
pub use error::{RuntimeCode, RuntimeError};
pub use lock::DeviceLock;
pub use machine::{HostAccessError, HostMemory, Machine, MachineFault, MachineState};
pub use run::{RunInputs, RunOutputs, run_package};
pub use session::HostSession;
pub use simulated::SimulatedTransport;
pub use transport::{Request, Transport};

use crate::units::PhysicalTile;

/// Tiles as messages name them, at most four in full.
pub(crate) fn tile_list(tiles: &[PhysicalTile]) -> String {
    const SHOWN: usize = 4;
    let name = |tile: &PhysicalTile| match PhysicalTile::new(u64::from(tile.0)) {
        Some(known) => format!("tile {} (physical {known})", known.logical()),
        None => format!("physical tile {tile}"),
    };
    let shown: Vec<String> = tiles.iter().take(SHOWN).map(name).collect();
    match tiles.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
