//! Running a package on a device: the host's side of the protocol, and the devices it can talk to.
//!
//! Source: hardware notes on the driver and on host exchange.

mod machine;

pub use machine::{HostAccessError, HostMemory, Machine, MachineFault, MachineState};

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
