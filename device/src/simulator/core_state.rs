//! The state of one tile's supervisor: registers, control registers, clock, and what it waits for.

use std::collections::BTreeMap;

use crate::assumptions::{EXCHANGE_BASE_WRITE_CYCLES, SUPERVISOR_ISSUE_CYCLES};
use crate::isa::ControlRegister;
use crate::memory_map::{LOAD_BASE, WORKERS};

use super::arithmetic::Registers;
use super::exchange_unit::ExchangeUnit;
use super::timeline::ExchangeRegisters;

/// Cycles from a sync's release to row time 0: the one call that enters a row.
pub(crate) const ROW_ENTRY_CYCLES: u64 = SUPERVISOR_ISSUE_CYCLES;

/// Which barrier a global sync joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Zone {
    /// All tiles of the chip.
    Internal,
    /// Group 1 without the host.
    Group1,
    /// Group 1 with the host: the boot loader's.
    Group1Host,
    /// Group 2 without the host.
    Group2,
    /// Group 2 with the host: an application's.
    Group2Host,
}

impl Zone {
    /// The zone that a sync selector names, slave or master; `None` for the selectors of one tile.
    pub(crate) fn of_selector(selector: u32) -> Option<Self> {
        Some(match selector {
            3 => Self::Internal,
            4 | 12 => Self::Group1,
            5 | 13 => Self::Group1Host,
            6 | 14 => Self::Group2,
            7 | 15 => Self::Group2Host,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Internal => "the internal sync (zone 3)",
            Self::Group1 => "the sync of group 1 (zone 4 or 12)",
            Self::Group1Host => "the host sync of group 1 (zone 5 or 13)",
            Self::Group2 => "the sync of group 2 (zone 6 or 14)",
            Self::Group2Host => "the host sync of group 2 (zone 7 or 15)",
        }
    }

    /// Whether only the host can let it pass.
    pub(crate) fn needs_host(self) -> bool {
        matches!(self, Self::Group1Host | Self::Group2Host)
    }
}

/// Why a supervisor does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Wait {
    /// It runs.
    Runnable,
    /// At a global sync.
    Global(Zone),
    /// At `sync 1`: the syncs of an earlier `sans`.
    Answer,
    /// At `sync 0`: words of a host read.
    Receive,
    /// Needs the words of the exchange under way before it can go on.
    Settle,
    /// Does something that depends on which tile it is.
    Split,
    /// Stopped for good.
    Halted,
}

/// What has been going on since the last global sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interval {
    /// The sync that opened it; `None` before the first.
    pub(crate) zone: Option<Zone>,
    /// Cycle at which that sync passed.
    pub(crate) release: u64,
    /// Whether its words have been moved.
    pub(crate) settled: bool,
}

/// A supervisor with its tile's control registers.
#[derive(Debug, Clone)]
pub(crate) struct Core {
    pub(crate) registers: Registers,
    pub(crate) program_counter: u32,
    pub(crate) cycle: u64,
    pub(crate) unit: ExchangeUnit,
    /// Global syncs still to be joined by an earlier `sans`.
    pub(crate) answers: u32,
    pub(crate) interval: Interval,
    pub(crate) wait: Wait,
    /// Cycle at which the last worker has exited.
    pub(crate) workers_end: u64,
    /// Whether workers were launched that no local sync has waited for.
    pub(crate) workers_out: bool,
    /// Whether every worker of the last launch exited with success.
    pub(crate) consensus: bool,
    pub(crate) worker_bases: [u32; WORKERS as usize],
    /// Control registers that only hold a value.
    pub(crate) plain: BTreeMap<u8, u32>,
    /// Instructions executed since the last global sync.
    pub(crate) steps: u64,
}

impl Core {
    /// A supervisor at the first instruction of an application.
    pub(crate) fn at_start() -> Self {
        Self::at(LOAD_BASE.0, ExchangeRegisters::default())
    }

    pub(crate) fn at(program_counter: u32, exchange: ExchangeRegisters) -> Self {
        Self {
            registers: Registers::default(),
            program_counter,
            cycle: 0,
            unit: ExchangeUnit::new(exchange),
            answers: 0,
            interval: Interval { zone: None, release: 0, settled: true },
            wait: Wait::Runnable,
            workers_end: 0,
            workers_out: false,
            consensus: true,
            worker_bases: [0; WORKERS as usize],
            plain: BTreeMap::new(),
            steps: 0,
        }
    }

    /// The row time of this cycle: 0 when a row's first instruction starts after one call from the sync.
    pub(crate) fn row_time(&self) -> i64 {
        self.cycle as i64 - self.interval.release as i64 - ROW_ENTRY_CYCLES as i64
    }

    /// A global sync has passed at `cycle`.
    pub(crate) fn release(&mut self, zone: Zone, cycle: u64) {
        if self.answers > 0 {
            self.answers -= 1;
            if self.wait != Wait::Answer || self.answers > 0 {
                return;
            }
        }
        if self.wait == Wait::Halted {
            return;
        }
        self.program_counter = self.program_counter.wrapping_add(4);
        self.cycle = cycle;
        self.wait = Wait::Runnable;
        self.steps = 0;
        self.interval = Interval { zone: Some(zone), release: cycle, settled: false };
        self.unit.begin();
    }

    /// Whether words of the exchange under way must be moved before memory may be touched.
    pub(crate) fn must_settle(&self) -> bool {
        !self.interval.settled && self.unit.is_active()
    }

    pub(crate) fn get_exchange_control(&self, control: ControlRegister) -> Option<u32> {
        let registers = &self.unit.registers;
        Some(match control {
            ControlRegister::INCOMING_MUX => u32::from(registers.source),
            ControlRegister::INCOMING_MUXPAIR => u32::from(registers.paired_source),
            ControlRegister::INCOMING_DELTA => registers.cursor.unwrap_or(0),
            ControlRegister::INCOMING_FORMAT => u32::from(registers.format),
            ControlRegister::INCOMING_BASE => registers.incoming_base,
            ControlRegister::INCOMING_DCOUNT => registers.expected_words,
            ControlRegister::OUTGOING_BASE => registers.outgoing_base,
            ControlRegister::OUTGOING_DELTA => registers.outgoing_cursor,
            ControlRegister::ANS_DCOUNT => self.answers,
            _ => return None,
        })
    }

    /// Writes a control register and charges its cycles.
    pub(crate) fn put(&mut self, control: ControlRegister, value: u32) {
        let is_base = matches!(control, ControlRegister::INCOMING_BASE | ControlRegister::OUTGOING_BASE);
        self.cycle += if is_base { EXCHANGE_BASE_WRITE_CYCLES } else { SUPERVISOR_ISSUE_CYCLES };
        if self.put_exchange_control(control, value) {
            return;
        }
        let worker = usize::from(control.0.wrapping_sub(ControlRegister::WORKER0_BASE.0));
        match self.worker_bases.get_mut(worker) {
            Some(base) => *base = value,
            None => {
                self.plain.insert(control.0, value);
            }
        }
    }

    /// Writes an exchange register at the end of the instruction that writes it; says whether it is one.
    fn put_exchange_control(&mut self, control: ControlRegister, value: u32) -> bool {
        let event = self.row_time();
        let unit = &mut self.unit;
        match control {
            ControlRegister::INCOMING_MUX => unit.source_control(0, (value & 0x7ff) as u16, event),
            ControlRegister::INCOMING_MUXPAIR => unit.source_control(1, (value & 0x7ff) as u16, event),
            ControlRegister::INCOMING_DELTA => unit.set_cursor(value, event),
            ControlRegister::INCOMING_FORMAT => unit.set_format((value & 3) as u8, event),
            ControlRegister::INCOMING_BASE => unit.set_incoming_base(value, event),
            ControlRegister::INCOMING_DCOUNT => unit.registers.expected_words = value & 0x1_ffff,
            ControlRegister::OUTGOING_BASE => unit.registers.outgoing_base = value,
            ControlRegister::OUTGOING_DELTA => unit.registers.outgoing_cursor = value,
            ControlRegister::ANS_DCOUNT => self.answers = value & 0x7_ffff,
            _ => return false,
        }
        true
    }
}
