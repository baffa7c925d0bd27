//! A tile's debug window: its context states, and the few injected instructions with which a host reads and
//! writes memory. Contexts' own registers `$m0` and `$m1` are kept here, apart from the tile's.
//!
//! Not modelled: stopping a running context and breakpoints; those registers are plain cells.

use std::collections::BTreeMap;

use crate::runtime::debug_access::{
    DATA_FROM_M0, DESTINATION_M1, LOAD_M0, M0_FROM_DATA, M0_FROM_STATUS, SOURCE_M1, STATUS_FAILED, STORE_M0,
};
use crate::runtime::machine::Machine;
use crate::runtime::registers::{DebugRegister, context_state};
use crate::units::{Address, PhysicalTile};

/// Failure: the context runs.
const NOT_QUIESCENT: u32 = 1;
/// Failure: the instruction or its address is invalid.
const INVALID: u32 = 2;

#[derive(Debug, Default)]
pub(super) struct DebugWindow {
    tiles: BTreeMap<u16, Window>,
}

#[derive(Debug, Default)]
struct Window {
    data: u32,
    owner: u32,
    status: u32,
    /// `$m0`, `$m1` and nothing of the tile's own registers.
    registers: [u32; 2],
}

impl DebugWindow {
    /// The value of `register`; `cell` is what was last written to it.
    pub(super) fn read(&self, tile: PhysicalTile, register: u32, cell: u32, machine: &impl Machine) -> u32 {
        let window = self.tiles.get(&tile.0);
        match register {
            r if r == DebugRegister::ContextStatus as u32 => machine.context_status(tile),
            r if r == DebugRegister::Data as u32 => window.map_or(0, |window| window.data),
            r if r == DebugRegister::Status as u32 => window.map_or(0, |window| window.status),
            _ => cell,
        }
    }

    pub(super) fn write(
        &mut self,
        tile: PhysicalTile,
        register: u32,
        value: u32,
        machine: &mut impl Machine,
    ) {
        let is = |wanted: DebugRegister| register == wanted as u32;
        if is(DebugRegister::RunBreak) {
            return;
        }
        let window = self.tiles.entry(tile.0).or_default();
        if is(DebugRegister::Inject) {
            window.inject(tile, value, machine);
        } else if is(DebugRegister::InjectOwner) {
            window.owner = value & 7;
        } else if is(DebugRegister::Data) {
            window.data = value;
        } else if is(DebugRegister::StatusClear) {
            window.status &= !(value & STATUS_FAILED);
        }
    }
}

impl Window {
    fn inject(&mut self, tile: PhysicalTile, word: u32, machine: &mut impl Machine) {
        if context_state(machine.context_status(tile), self.owner) == 1 {
            self.status |= NOT_QUIESCENT;
        } else if self.execute(tile, word, machine).is_none() {
            self.status |= INVALID;
        } else {
            self.status &= !NOT_QUIESCENT;
        }
    }

    fn execute(&mut self, tile: PhysicalTile, word: u32, machine: &mut impl Machine) -> Option<()> {
        const FROM_M1: u32 = DATA_FROM_M0 | SOURCE_M1;
        const TO_M1: u32 = M0_FROM_DATA | DESTINATION_M1;
        let [m0, m1] = &mut self.registers;
        match word {
            DATA_FROM_M0 => self.data = *m0,
            FROM_M1 => self.data = *m1,
            M0_FROM_DATA => *m0 = self.data,
            TO_M1 => *m1 = self.data,
            M0_FROM_STATUS if self.owner == 0 => *m0 = machine.supervisor_status(tile),
            LOAD_M0 => *m0 = machine.read_word(tile, Address(*m1).aligned()?)?,
            STORE_M0 => machine.write_word(tile, Address(*m1).aligned()?, *m0)?,
            _ => return None,
        }
        Some(())
    }
}

impl Address {
    fn aligned(self) -> Option<Self> {
        self.0.is_multiple_of(4).then_some(self)
    }
}
