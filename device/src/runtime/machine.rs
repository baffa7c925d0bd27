//! What the simulated transport asks of the simulated tiles.
//!
//! The transport owns all that the host sees: registers, marks, the loader, attached buffers. The machine owns
//! the tiles: memory, contexts, internal exchange. They meet at three points, always in this order:
//!
//! 1. *Load.* [`Machine::load_tile`] once per tile, for every tile of the device. Tiles with equal images get
//!    clones of one `Arc`: compare with [`Arc::ptr_eq`] before comparing bytes.
//! 2. *Start.* [`Machine::start`] once: every tile begins at [`LOAD_BASE`](crate::memory_map::LOAD_BASE) with its
//!    supervisor active and its workers inactive. It only makes the tiles runnable; nothing executes yet.
//! 3. *Run.* [`Machine::advance`] and [`Machine::release_host_sync`] in turn. `advance` executes until every
//!    tile that has not stopped waits at one host-zone sync (GS2). While it executes, host packets that tiles
//!    send move bytes at once through [`HostMemory`]. If it returns [`MachineState::AtHostSync`] the transport
//!    takes one off the host's mark and calls `release_host_sync`, which lets that one sync pass and executes
//!    nothing. `advance` is idempotent: called again before the release, or after a stop, it changes nothing.
//!
//! So all bytes of a batch have moved when its closing sync is reached, and the host never writes to a page
//! while tiles execute. A tile that takes part by `sans` counts as arrived. Tiles that can never arrive (one
//! stopped while others wait for it, an endless loop, a receive without a sender) are a [`MachineFault`] that
//! names them, never an endless `advance`.

use std::fmt;
use std::sync::Arc;

use crate::coded::Coded;
use crate::units::{Address, PhysicalTile};

/// Simulated tiles.
pub trait Machine {
    /// Replaces the memory of `tile`: `image` holds the bytes from
    /// [`LOAD_BASE`](crate::memory_map::LOAD_BASE) on, all other memory is zero. The length of the image is a
    /// multiple of 992 and its end is at most [`LOAD_END`](crate::memory_map::LOAD_END).
    ///
    /// # Errors
    /// If the machine does not have this tile or cannot hold the image.
    fn load_tile(&mut self, tile: PhysicalTile, image: &Arc<[u8]>) -> Result<(), MachineFault>;

    /// Makes every loaded tile runnable at [`LOAD_BASE`](crate::memory_map::LOAD_BASE).
    ///
    /// # Errors
    /// If a tile has not been loaded or the machine runs already.
    fn start(&mut self) -> Result<(), MachineFault>;

    /// Executes until every tile waits at a host sync or has stopped.
    ///
    /// # Errors
    /// Any fault of a tile, and tiles that can never reach a host sync.
    fn advance(&mut self, host: &mut dyn HostMemory) -> Result<MachineState, MachineFault>;

    /// Lets the host sync pass at which the tiles wait.
    ///
    /// # Errors
    /// If the tiles do not wait at one.
    fn release_host_sync(&mut self) -> Result<(), MachineFault>;

    /// The context status register of `tile`: two bits per context, supervisor first (0 inactive, 1 active, 2
    /// stopped for debug, 3 excepted), exchange error in bits 29:27, as control register 0x72 holds them.
    fn context_status(&self, tile: PhysicalTile) -> u32;

    /// The supervisor's own status of `tile`, control register 1: exception kind in bits 7:4. A machine whose
    /// supervisors end inactive and otherwise fault never needs it.
    fn supervisor_status(&self, _tile: PhysicalTile) -> u32 {
        0
    }

    /// The word at `address`, a multiple of 4, of `tile`; `None` outside its memory.
    fn read_word(&self, tile: PhysicalTile, address: Address) -> Option<u32>;

    /// Writes the word at `address`, a multiple of 4, of `tile`; `None` outside its memory.
    fn write_word(&mut self, tile: PhysicalTile, address: Address, value: u32) -> Option<()>;
}

/// Where [`Machine::advance`] came to rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachineState {
    /// Every tile that runs waits at the same host sync.
    AtHostSync,
    /// Every supervisor has stopped.
    Stopped,
}

/// Host memory as tiles see it: one linear space of exchange offsets in which the attached buffers follow each
/// other in index order.
pub trait HostMemory {
    /// Fills `into` with the bytes at `offset`: what a host-to-tile packet asks for.
    ///
    /// # Errors
    /// If the range leaves the attached buffer in which it starts.
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), HostAccessError>;

    /// Writes `from` at `offset`: what a tile-to-host packet carries.
    ///
    /// # Errors
    /// If the range leaves the attached buffer in which it starts.
    fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), HostAccessError>;
}

/// A host packet addressed bytes that no attached buffer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostAccessError {
    /// First exchange offset of the packet.
    pub offset: u64,
    /// Its length in bytes.
    pub size: u64,
    /// Total size of the attached buffers.
    pub attached: u64,
}

impl fmt::Display for HostAccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, size, attached } = self;
        write!(
            f,
            "host packet of {size} bytes at exchange offset {offset} leaves the attached pages ({attached} bytes)"
        )
    }
}

impl std::error::Error for HostAccessError {}

/// A fault of the simulated tiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineFault {
    /// Stable code of the kind.
    pub code: &'static str,
    /// Title of the kind.
    pub title: &'static str,
    /// The tiles concerned, the first at fault first; empty if it concerns the whole machine.
    pub tiles: Vec<PhysicalTile>,
    /// What happened, where and when: address, event, expectation.
    pub message: String,
}

impl MachineFault {
    /// A fault of kind `kind` on `tiles`.
    #[must_use]
    pub fn new(kind: &dyn Coded, tiles: Vec<PhysicalTile>, message: impl Into<String>) -> Self {
        Self { code: kind.code(), title: kind.title(), tiles, message: message.into() }
    }
}

impl fmt::Display for MachineFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.title)?;
        if !self.tiles.is_empty() {
            write!(f, " on {}", super::tile_list(&self.tiles))?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for MachineFault {}
