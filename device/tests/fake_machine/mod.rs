//! Tiles that execute a script: what they exchange with the host between one host sync and the next.
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::BTreeMap;
use std::sync::Arc;

use ipu_device::package::{
    Footer, HostCall, HostExchange, HostPage, HostSlice, Package, Segment, SegmentFlags, TileImage,
};
use ipu_device::runtime::{HostMemory, Machine, MachineFault, MachineState};
use ipu_device::{Address, Bytes, PhysicalTile};

ipu_device::coded_enum! {
    /// Faults of scripted tiles.
    pub(crate) enum ScriptCode {
        /// Something the script does not allow.
        Script = "D9901", "scripted fault",
    }
}

/// What tiles do before they arrive at a host sync.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    /// Appends host bytes to the machine's store.
    Read { offset: u64, size: usize },
    /// Writes the newest bytes of the store, each plus `add`.
    Write { offset: u64, size: usize, add: u8 },
    /// A fault of this tile.
    Fault(PhysicalTile),
}

/// The script: one list of actions before each host sync.
#[derive(Debug, Default)]
pub(crate) struct ScriptedMachine {
    pub(crate) script: Vec<Vec<Action>>,
    pub(crate) images: BTreeMap<u16, Arc<[u8]>>,
    pub(crate) store: Vec<u8>,
    pub(crate) words: BTreeMap<(u16, u32), u32>,
    pub(crate) final_status: u32,
    position: usize,
    waiting: bool,
    started: bool,
}

impl ScriptedMachine {
    pub(crate) fn new(script: Vec<Vec<Action>>) -> Self {
        Self { script, ..Self::default() }
    }

    fn fault(tiles: Vec<PhysicalTile>, message: &str) -> MachineFault {
        MachineFault::new(&ScriptCode::Script, tiles, message)
    }
}

impl Machine for ScriptedMachine {
    fn load_tile(&mut self, tile: PhysicalTile, image: &Arc<[u8]>) -> Result<(), MachineFault> {
        match self.images.insert(tile.0, Arc::clone(image)) {
            Some(_) => Err(Self::fault(vec![tile], "loaded twice")),
            None => Ok(()),
        }
    }

    fn start(&mut self) -> Result<(), MachineFault> {
        if std::mem::replace(&mut self.started, true) || self.images.len() != 1472 {
            return Err(Self::fault(vec![], "cannot start"));
        }
        Ok(())
    }

    fn advance(&mut self, host: &mut dyn HostMemory) -> Result<MachineState, MachineFault> {
        assert!(self.started && !self.waiting, "advanced out of turn");
        let Some(actions) = self.script.get(self.position) else { return Ok(MachineState::Stopped) };
        for action in actions {
            let moved = match *action {
                Action::Read { offset, size } => {
                    let mut bytes = vec![0; size];
                    let moved = host.read(offset, &mut bytes);
                    self.store.extend_from_slice(&bytes);
                    moved
                }
                Action::Write { offset, size, add } => {
                    let newest = &self.store[self.store.len() - size..];
                    host.write(offset, &newest.iter().map(|byte| byte.wrapping_add(add)).collect::<Vec<_>>())
                }
                Action::Fault(tile) => {
                    return Err(Self::fault(vec![tile], "waits for words that nobody sends"));
                }
            };
            moved.map_err(|error| Self::fault(vec![], &error.to_string()))?;
        }
        self.position += 1;
        self.waiting = true;
        Ok(MachineState::AtHostSync)
    }

    fn release_host_sync(&mut self) -> Result<(), MachineFault> {
        if std::mem::replace(&mut self.waiting, false) {
            Ok(())
        } else {
            Err(Self::fault(vec![], "nobody waits at a host sync"))
        }
    }

    fn context_status(&self, _tile: PhysicalTile) -> u32 {
        if self.waiting { 1 } else { self.final_status }
    }

    fn supervisor_status(&self, _tile: PhysicalTile) -> u32 {
        10 << 4
    }

    fn read_word(&self, tile: PhysicalTile, address: Address) -> Option<u32> {
        let mapped = (0x4c000..0xe8000).contains(&address.0);
        mapped.then(|| self.words.get(&(tile.0, address.0)).copied().unwrap_or_default())
    }

    fn write_word(&mut self, tile: PhysicalTile, address: Address, value: u32) -> Option<()> {
        self.read_word(tile, address)?;
        self.words.insert((tile.0, address.0), value);
        Some(())
    }
}

/// Bytes of a slot that carry data.
pub(crate) const SLOT_BYTES: usize = 64;

/// A call over two slots of page 1; batch `k` moves slot bytes of both.
pub(crate) fn call(name: &str, inputs: u32, outputs: u32, phases: u32) -> HostCall {
    let slices = |batches: u32| -> Vec<HostSlice> {
        let slice = |k: u64| HostSlice {
            page: 1,
            page_offset: 4096 * (k % 2),
            file_offset: SLOT_BYTES as u64 * k,
            size: SLOT_BYTES as u64,
        };
        (0..2 * u64::from(batches)).map(slice).collect()
    };
    let ends = |batches: u32| (1..=batches).map(|k| 2 * k).collect();
    HostCall {
        name: name.to_owned(),
        command: 7,
        phases,
        invocations: 1,
        inputs: slices(inputs),
        input_batch_ends: ends(inputs),
        outputs: slices(outputs),
        output_batch_ends: ends(outputs),
    }
}

/// 1,472 tiles with three images between them, and the given calls.
pub(crate) fn package(calls: Vec<HostCall>) -> Package {
    let images: Vec<Arc<[Segment]>> = (0..3_u8)
        .map(|fill| {
            let data: Arc<[u8]> = vec![fill + 1; 8].into();
            let code = Segment { address: Address(0x4c010), size: Bytes(8), flags: SegmentFlags::CODE, data };
            let tail =
                Segment { address: Address(0x5c000), size: Bytes(0x1000 * u32::from(fill)), ..code.clone() };
            if fill == 0 { vec![code].into() } else { vec![tail, code].into() }
        })
        .collect();
    let tiles = (0..1472).map(|t| TileImage::new(PhysicalTile(t), images[usize::from(t % 67 % 3)].clone()));
    Package {
        compiler_version: "test".to_owned(),
        tiles: tiles.collect(),
        host_exchange: HostExchange {
            startup_mark: 23,
            command_page: 0,
            command_offset: 0,
            pages: vec![HostPage { index: 0, size: 4096 }, HostPage { index: 1, size: 8192 }],
            attach_order: vec![0, 1],
            calls,
        },
        footer: Some(Footer::default()),
        ..Package::default()
    }
}

fn both_slots(action: impl Fn(u64) -> Action) -> Vec<Action> {
    vec![action(4096), action(8192)]
}

/// The start-up sync.
pub(crate) fn startup() -> Vec<Vec<Action>> {
    vec![vec![]]
}

/// Entry and closing sync of an input batch.
pub(crate) fn input_batch() -> Vec<Vec<Action>> {
    vec![vec![], both_slots(|offset| Action::Read { offset, size: SLOT_BYTES })]
}

/// Entry and closing sync of an output batch.
pub(crate) fn output_batch(add: u8) -> Vec<Vec<Action>> {
    vec![vec![], both_slots(|offset| Action::Write { offset, size: SLOT_BYTES, add })]
}
