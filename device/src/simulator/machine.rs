//! The simulated tiles as the runtime drives them: load, start, advance, release.

use std::sync::Arc;

use rayon::prelude::*;

use crate::assumptions::GLOBAL_SYNC_CYCLES;
use crate::package::{Package, Segment};
use crate::runtime::{HostMemory, Machine, MachineFault, MachineState};
use crate::topology::TILE_COUNT;
use crate::units::{Address, Bytes, Cycles, PhysicalTile};

use super::classes::{Classes, Images};
use super::core_state::{Wait, Zone};
use super::fault::{Fault, FaultCode};
use super::memory::MemoryError;
use super::routines::KernelSymbols;
use super::settle::{self, PhaseStatistics};
use super::snapshot::Snapshot;
use super::storage::StorageMap;
use super::supervisor::{Environment, Supervisor};
use super::sync::{self, Barrier};
use super::transfer::ExchangeWrite;

/// How to simulate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulatorOptions {
    /// Keep every word that an exchange writes, with its sender: see [`Simulator::writes`].
    pub record_writes: bool,
    /// Keep the memory of all tiles at the sync that opens each phase: see [`Simulator::snapshots`].
    pub record_memory: bool,
    /// Most instructions of one supervisor between two global syncs; beyond it the program counts as runaway.
    pub step_limit: u64,
    /// Supervisors run on several threads; results do not depend on it.
    pub parallel: bool,
}

impl Default for SimulatorOptions {
    fn default() -> Self {
        Self { record_writes: false, record_memory: false, step_limit: 100_000_000, parallel: true }
    }
}

/// A word that an exchange wrote, and in which phase of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseWrite {
    /// Index into [`Statistics::phases`].
    pub phase: u32,
    /// The word and where it came from.
    pub write: ExchangeWrite,
}

/// What a run took so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Exchange phases in which words moved, in order.
    pub phases: Vec<PhaseStatistics>,
    /// Global syncs passed, host syncs included.
    pub syncs: u32,
    /// Host syncs among them, in order.
    pub host_syncs: Vec<SyncTime>,
    /// Bytes moved by host packets.
    pub host_bytes: u64,
    /// Cycle of the tile that is furthest.
    pub cycles: Cycles,
    /// Sum over all tiles of the cycles simulated.
    pub tile_cycles: u64,
    /// Classes of tiles simulated one by one.
    pub classes: u32,
}

/// When a sync passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncTime {
    /// Cycle at which the last tile arrived.
    pub arrival: Cycles,
    /// Cycle at which all go on.
    pub release: Cycles,
}

/// The tiles of one device.
#[derive(Debug)]
pub struct Simulator {
    options: SimulatorOptions,
    symbols: KernelSymbols,
    images: Images,
    classes: Classes,
    started: bool,
    /// The host sync at which the tiles wait.
    at_host: Option<Zone>,
    fault: Option<Fault>,
    phases: Vec<PhaseStatistics>,
    writes: Vec<PhaseWrite>,
    snapshots: Vec<Snapshot>,
    syncs: u32,
    host_syncs: Vec<SyncTime>,
    host_bytes: u64,
    storage: StorageMap,
    /// Exchange phases begun.
    phase: u32,
}

impl Simulator {
    /// A device without images, whose reference kernels are those of `symbols`.
    #[must_use]
    pub fn new(options: SimulatorOptions, symbols: KernelSymbols) -> Self {
        Self {
            options,
            symbols,
            images: Images::default(),
            classes: Classes::default(),
            started: false,
            at_host: None,
            fault: None,
            phases: Vec::new(),
            writes: Vec::new(),
            snapshots: Vec::new(),
            syncs: 0,
            host_syncs: Vec::new(),
            host_bytes: 0,
            storage: StorageMap::default(),
            phase: 0,
        }
    }

    /// A device for `package`: its debug symbols name the reference kernels, its segments tell image data from the
    /// loader's padding. The images themselves come through [`Machine::load_tile`].
    #[must_use]
    pub fn for_package(options: SimulatorOptions, package: &Package) -> Self {
        let symbols = package.debug_symbols.iter().map(|symbol| (symbol.name.as_str(), symbol.address));
        let mut simulator = Self::new(options, KernelSymbols::new(symbols));
        for image in &package.tiles {
            simulator.declare_segments(image.tile, Arc::clone(&image.segments));
        }
        simulator
    }

    /// Says which bytes of the image of `tile` are data; without it the whole image counts as written. Call it before
    /// the tile is loaded, with the same `Arc` for tiles with equal segments.
    pub fn declare_segments(&mut self, tile: PhysicalTile, segments: Arc<[Segment]>) {
        self.images.declare(tile, segments);
    }

    /// Says where the buffers are. From then on what is written outside of them, or read of them after their lifetimes, is a
    /// fault. Call it before the start.
    pub fn sanitize(&mut self, storage: StorageMap) {
        self.storage = storage;
    }

    /// The fault that ended the run.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// Copies memory of a tile, whether it was written or not; unwritten bytes are `None`.
    #[must_use]
    pub fn peek(&self, tile: PhysicalTile, address: Address, length: Bytes) -> Vec<Option<u8>> {
        let Some(class) = self.classes.of(tile) else { return vec![None; length.0 as usize] };
        let byte = |offset: u32| {
            let mut byte = [0];
            class.memory.read(address.checked_add(Bytes(offset))?, &mut byte).ok().map(|()| byte[0])
        };
        (0..length.0).map(byte).collect()
    }

    /// Fills `into` from the memory of a tile.
    ///
    /// # Errors
    /// The first byte that is unmapped or was never written.
    pub fn read(&self, tile: PhysicalTile, address: Address, into: &mut [u8]) -> Result<(), MemoryError> {
        match self.classes.of(tile) {
            Some(class) => class.memory.read(address, into),
            None => Err(MemoryError::Unwritten(address)),
        }
    }

    /// Cycles of a tile since the start.
    #[must_use]
    pub fn tile_cycles(&self, tile: PhysicalTile) -> Cycles {
        Cycles(self.classes.of(tile).map_or(0, |class| class.core.cycle))
    }

    /// Words that exchanges wrote, in order of phase, event, tile; empty unless the options ask for it.
    #[must_use]
    pub fn writes(&self) -> &[PhaseWrite] {
        &self.writes
    }

    /// Memory of all tiles at the last sync before each phase of [`Statistics::phases`] and, behind those, at the last sync
    /// passed; empty unless the options ask for it.
    #[must_use]
    pub fn snapshots(&self) -> &[Snapshot] {
        &self.snapshots
    }

    /// What the run took so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let classes = &self.classes.all;
        Statistics {
            phases: self.phases.clone(),
            syncs: self.syncs,
            host_syncs: self.host_syncs.clone(),
            host_bytes: self.host_bytes,
            cycles: Cycles(classes.iter().map(|class| class.core.cycle).max().unwrap_or(0)),
            tile_cycles: classes.iter().map(|class| class.core.cycle * class.members.len() as u64).sum(),
            classes: classes.len() as u32,
        }
    }

    /// Runs every runnable class until it waits.
    fn run_supervisors(&mut self) -> Result<(), Fault> {
        let environment = Environment { symbols: &self.symbols, step_limit: self.options.step_limit };
        let run = |class: &mut super::classes::Class| {
            if class.core.wait != Wait::Runnable {
                return;
            }
            let (tile, is_class) = (class.lead(), class.members.len() > 1);
            let supervisor = Supervisor { core: &mut class.core, memory: &mut class.memory, tile, is_class };
            class.fault = { supervisor }.run(&environment).err();
        };
        if self.options.parallel {
            self.classes.all.par_iter_mut().with_min_len(16).for_each(run);
        } else {
            self.classes.all.iter_mut().for_each(run);
        }
        settle::first(self.classes.all.iter().filter_map(|class| class.fault.clone()).collect())
            .map_or(Ok(()), Err)
    }

    fn advance_to_rest(&mut self, host: &mut dyn HostMemory) -> Result<MachineState, Fault> {
        loop {
            self.run_supervisors()?;
            if self.classes.split(|class| class.core.wait == Wait::Split) {
                for class in self.classes.all.iter_mut().filter(|class| class.core.wait == Wait::Split) {
                    class.core.wait = Wait::Runnable;
                }
                continue;
            }
            if self.classes.all.iter().any(|class| class.core.must_settle()) {
                let settled = settle::settle(&mut self.classes, self.options.record_writes, host)?;
                let phase = self.phases.len() as u32;
                self.phases.extend(settled.phase);
                self.writes.extend(settled.writes.into_iter().map(|write| PhaseWrite { phase, write }));
                self.host_bytes += settled.host_bytes;
                if self.classes.all.iter().any(|class| class.core.wait == Wait::Runnable) {
                    continue;
                }
            }
            match sync::find(&self.classes.all)? {
                Barrier::Passes(zone) => self.pass(zone),
                Barrier::AwaitsHost(zone) => {
                    self.at_host = Some(zone);
                    return Ok(MachineState::AtHostSync);
                }
                Barrier::Stopped => return Ok(MachineState::Stopped),
            }
        }
    }

    fn pass(&mut self, zone: Zone) {
        if self.options.record_memory {
            self.snapshots.truncate(self.phases.len());
            self.snapshots.push(Snapshot::of(&self.classes));
        }
        let (arrival, release) = sync::pass(&mut self.classes, zone, GLOBAL_SYNC_CYCLES);
        self.syncs += 1;
        // Start-up has an internal sync of its own, before its host sync.
        if zone == Zone::Internal && !self.host_syncs.is_empty() {
            self.phase += 1;
            if !self.storage.is_empty() {
                self.storage.enter(self.phase, &mut self.classes);
            }
        }
        if zone.needs_host() {
            self.host_syncs.push(SyncTime { arrival: Cycles(arrival), release: Cycles(release) });
        }
    }
}

impl From<Fault> for MachineFault {
    fn from(fault: Fault) -> Self {
        let detail = fault.detail();
        Self::new(&fault.code, fault.tiles, detail)
    }
}

impl Machine for Simulator {
    fn load_tile(&mut self, tile: PhysicalTile, image: &Arc<[u8]>) -> Result<(), MachineFault> {
        if tile.0 >= TILE_COUNT || self.started || !Images::is_mapped(image) {
            let message = if tile.0 >= TILE_COUNT {
                format!("physical tile {tile} does not exist; the device has {TILE_COUNT} tiles")
            } else if self.started {
                "images cannot be loaded while the tiles run".to_owned()
            } else {
                format!("an image of {} bytes is larger than the loader can fill", image.len())
            };
            return Err(Fault::of_machine(FaultCode::Machine, message).into());
        }
        self.images.load(tile, image);
        Ok(())
    }

    fn start(&mut self) -> Result<(), MachineFault> {
        let loaded = self.images.loaded();
        if self.started || loaded != usize::from(TILE_COUNT) {
            let message = if self.started {
                "the tiles run already".to_owned()
            } else {
                format!("{loaded} of {TILE_COUNT} tiles are loaded")
            };
            return Err(Fault::of_machine(FaultCode::Machine, message).into());
        }
        self.classes = self.images.classes()?;
        if !self.storage.is_empty() {
            self.storage.separate(&mut self.classes);
            self.storage.enter(self.phase, &mut self.classes);
        }
        self.started = true;
        Ok(())
    }

    fn advance(&mut self, host: &mut dyn HostMemory) -> Result<MachineState, MachineFault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone().into());
        }
        if !self.started {
            return Err(Fault::of_machine(FaultCode::Machine, "the tiles have not been started").into());
        }
        if self.at_host.is_some() {
            return Ok(MachineState::AtHostSync);
        }
        self.advance_to_rest(host).map_err(|fault| {
            let fault = self.storage.explain(fault, self.phase);
            self.fault = Some(fault.clone());
            fault.into()
        })
    }

    fn release_host_sync(&mut self) -> Result<(), MachineFault> {
        match self.at_host.take() {
            Some(zone) => {
                self.pass(zone);
                Ok(())
            }
            None => {
                Err(Fault::of_machine(FaultCode::Machine, "a host sync is released and no tile waits at one")
                    .into())
            }
        }
    }

    fn context_status(&self, tile: PhysicalTile) -> u32 {
        if self
            .fault
            .as_ref()
            .is_some_and(|fault| fault.tiles.contains(&tile) && fault.code != FaultCode::Deadlock)
        {
            return 3 | self.fault.as_ref().map_or(0, |fault| fault.code.receive_error()) << 27;
        }
        let running = self.classes.of(tile).is_some_and(|class| class.core.wait != Wait::Halted);
        u32::from(self.started && running)
    }

    fn read_word(&self, tile: PhysicalTile, address: Address) -> Option<u32> {
        match self.classes.of(tile)?.memory.word(address) {
            Ok(word) => Some(word),
            // The loader clears all memory before it fills in images.
            Err(MemoryError::Unwritten(_)) => Some(0),
            Err(_) => None,
        }
    }

    fn write_word(&mut self, tile: PhysicalTile, address: Address, value: u32) -> Option<()> {
        self.classes.alone(tile)?.memory.write_word(address, value).ok()
    }
}
