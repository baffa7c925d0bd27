//! Small tile programs for tests: the phase protocol, host batches and images, written as instructions.

use std::collections::BTreeMap;
use std::sync::Arc;

use ipu_device::isa::{ControlRegister, Instruction, Register, encode_all};
use ipu_device::memory_map::LOAD_BASE;
use ipu_device::runtime::{HostAccessError, HostMemory, Machine};
use ipu_device::simulator::{KernelSymbols, Simulator, SimulatorOptions};
use ipu_device::units::{Address, PhysicalTile};

/// Where the barrier helper, its worker, and rows lie.
pub(crate) const BARRIER: Address = Address(0x5c000);
pub(crate) const WORKER: Address = Address(0x5c040);
pub(crate) const ROW: Address = Address(0x5c080);

/// Contents of one tile's memory, by address.
#[derive(Default, Clone)]
pub(crate) struct Image(BTreeMap<u32, Vec<u32>>);

impl Image {
    /// A program at the load base, with the barrier helper.
    pub(crate) fn new(program: &[Instruction]) -> Self {
        Self::default()
            .code(LOAD_BASE, program)
            .code(
                BARRIER,
                &[
                    setzi(Register::M0, WORKER.0),
                    Instruction::Runall { entry: Register::M0, vertex_base: Register::M15, stride_words: 0 },
                    Instruction::Sync { zone: 2 },
                    Instruction::Br { target: Register::M7 },
                ],
            )
            .code(WORKER, &[Instruction::Exitz { source: Register::M15 }])
    }

    pub(crate) fn code(self, address: Address, code: &[Instruction]) -> Self {
        self.words(address, &encode_all(code).expect("fields fit"))
    }

    pub(crate) fn words(mut self, address: Address, words: &[u32]) -> Self {
        self.0.insert(address.0, words.to_vec());
        self
    }

    pub(crate) fn bytes(&self) -> Arc<[u8]> {
        let end =
            self.0.iter().map(|(start, words)| start + 4 * words.len() as u32).max().unwrap_or(LOAD_BASE.0);
        let mut bytes = vec![0; (end - LOAD_BASE.0) as usize];
        for (start, words) in &self.0 {
            for (index, word) in words.iter().enumerate() {
                let at = (start - LOAD_BASE.0) as usize + 4 * index;
                bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
            }
        }
        bytes.into()
    }
}

pub(crate) fn setzi(destination: Register, value: u32) -> Instruction {
    Instruction::Setzi { destination, value }
}

pub(crate) fn put(control: ControlRegister, source: Register) -> Instruction {
    Instruction::Put { control, source }
}

pub(crate) fn call(link: Register, target: Address) -> Instruction {
    Instruction::Call { link, target }
}

/// The step of a tile that sends or receives, up to and with the call of its row.
pub(crate) fn active_phase(row: Address) -> Vec<Instruction> {
    vec![
        setzi(Register::M8, 0),
        put(ControlRegister::INCOMING_BASE, Register::M8),
        put(ControlRegister::OUTGOING_BASE, Register::M15),
        call(Register::M7, BARRIER),
        setzi(Register::M8, 1),
        put(ControlRegister::INCOMING_DCOUNT, Register::M8),
        Instruction::Sync { zone: 3 },
        call(Register::M10, row),
    ]
}

/// The step of a tile that takes no part.
pub(crate) fn inactive_phase() -> Vec<Instruction> {
    vec![
        setzi(Register::M8, 0),
        put(ControlRegister::INCOMING_BASE, Register::M8),
        put(ControlRegister::OUTGOING_BASE, Register::M15),
        Instruction::Sans { syncs_minus_1: 0 },
        Instruction::Sync { zone: 1 },
    ]
}

/// Stops the supervisor.
pub(crate) fn stop() -> Instruction {
    Instruction::Br { target: Register::M15 }
}

/// A started machine in which all tiles but those of `tiles` hold `others`.
pub(crate) fn start(tiles: &[(u16, Image)], others: &Image, symbols: KernelSymbols) -> Simulator {
    let options =
        SimulatorOptions { record_writes: true, step_limit: 100_000, ..SimulatorOptions::default() };
    let mut simulator = Simulator::new(options, symbols);
    let common = others.bytes();
    for tile in (0..1472).map(PhysicalTile) {
        let own = tiles.iter().find(|(own, _)| *own == tile.0).map(|(_, image)| image.bytes());
        simulator.load_tile(tile, own.as_ref().unwrap_or(&common)).expect("fits");
    }
    simulator.start().expect("all tiles are loaded");
    simulator
}

/// Host memory of one attached range.
pub(crate) struct Host(pub(crate) Vec<u8>);

impl Host {
    fn range(&self, offset: u64, size: usize) -> Result<std::ops::Range<usize>, HostAccessError> {
        let start = offset as usize;
        let attached = self.0.len() as u64;
        if start + size > self.0.len() {
            return Err(HostAccessError { offset, size: size as u64, attached });
        }
        Ok(start..start + size)
    }
}

impl HostMemory for Host {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), HostAccessError> {
        into.copy_from_slice(&self.0[self.range(offset, into.len())?]);
        Ok(())
    }

    fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), HostAccessError> {
        let range = self.range(offset, from.len())?;
        self.0[range].copy_from_slice(from);
        Ok(())
    }
}
