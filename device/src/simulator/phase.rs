//! One exchange phase by itself: rows, memories and registers in; memories, writes and faults out.
//!
//! Rows execute as on the device but from a list of words, so tests and tools need no program around them. Rows may
//! hold exchange instructions, `setzi`, `put`, arithmetic and a closing `br`; a leading `sync 3` is skipped.

use crate::isa::{Context, Instruction, decode};
use crate::units::{Address, Event, PhysicalTile};

use super::banks;
use super::core_state::{Core, Interval, ROW_ENTRY_CYCLES, Zone};
use super::fabric::{self, Participant};
use super::fault::{Fault, FaultCode};
use super::memory::TileMemory;
use super::timeline::{ExchangeRegisters, Timeline};
use super::transfer::{self, ExchangeWrite};

/// One tile of a phase.
#[derive(Debug, Clone)]
pub struct PhaseTile {
    /// Which tile.
    pub tile: PhysicalTile,
    /// Words of its row.
    pub row: Vec<u32>,
    /// Where the row lies, for clashes with instruction fetch and the alignment of double controls; `None` leaves
    /// both unchecked.
    pub row_address: Option<Address>,
    /// Its memory before the phase.
    pub memory: TileMemory,
    /// Its exchange registers before the phase.
    pub registers: ExchangeRegisters,
}

/// What to check and to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseOptions {
    /// Clashes in memory elements are faults.
    pub check_banks: bool,
    /// List every word written.
    pub record_writes: bool,
}

impl Default for PhaseOptions {
    fn default() -> Self {
        Self { check_banks: true, record_writes: true }
    }
}

/// What a phase did. Words move even where there are faults, as far as they have a place to go.
#[derive(Debug)]
pub struct PhaseOutcome {
    /// Memory and registers of each tile afterwards, in the order given; rows are kept.
    pub tiles: Vec<PhaseTile>,
    /// Every word written, in order of event and tile.
    pub writes: Vec<ExchangeWrite>,
    /// In order of event.
    pub faults: Vec<Fault>,
    /// Row time at which the last row ended.
    pub horizon: Event,
    /// Words written, each receiver counted.
    pub words: u64,
}

/// Runs one phase.
#[must_use]
pub fn run_phase(mut tiles: Vec<PhaseTile>, options: PhaseOptions) -> PhaseOutcome {
    let mut faults = Vec::new();
    let cores: Vec<Core> = tiles.iter().map(|tile| run_row(tile, &mut faults)).collect();
    let timelines: Vec<&Timeline> = cores.iter().map(|core| &core.unit.timeline).collect();
    let participants: Vec<Participant<'_>> = tiles
        .iter()
        .zip(&timelines)
        .map(|(tile, timeline)| Participant { tile: tile.tile, timeline })
        .collect();
    let mut movement = fabric::resolve(&participants);
    if options.check_banks {
        movement.faults.extend(banks::check(&participants, &movement));
    }
    let mut memories: Vec<&mut TileMemory> = tiles.iter_mut().map(|tile| &mut tile.memory).collect();
    let writes = transfer::run(&participants, &mut movement, &mut memories, options.record_writes);
    for ((tile, core), cursor) in tiles.iter_mut().zip(&cores).zip(&movement.cursors) {
        tile.registers = ExchangeRegisters { cursor: *cursor, ..core.unit.registers };
    }
    faults.append(&mut movement.faults);
    faults.sort_by_key(|fault| (fault.moment, fault.tile()));
    let horizon = timelines.iter().map(|timeline| timeline.horizon).max().unwrap_or(0);
    let words = movement.received_words.iter().map(|&words| u64::from(words)).sum();
    PhaseOutcome { tiles, writes, faults, horizon: Event(horizon), words }
}

/// Executes a row from row time 0; a fault ends it.
fn run_row(tile: &PhaseTile, faults: &mut Vec<Fault>) -> Core {
    let mut core = Core::at(tile.row_address.map_or(0, |address| address.0), tile.registers);
    core.interval = Interval { zone: Some(Zone::Internal), release: 0, settled: false };
    core.cycle = ROW_ENTRY_CYCLES;
    let mut rest = tile.row.as_slice();
    while !rest.is_empty() {
        let (start, at) = (core.row_time(), core.program_counter);
        match step(&mut core, tile, rest) {
            Ok(0) => break,
            Ok(words) => {
                rest = rest.get(words..).unwrap_or_default();
                if tile.row_address.is_some() {
                    let end = core.row_time();
                    core.unit.timeline.push_fetch(at, start, end);
                }
                core.program_counter = at.wrapping_add(4 * words as u32);
            }
            Err(fault) => {
                faults.push(fault.at_event(start));
                break;
            }
        }
    }
    core
}

/// Executes the instruction at the start of `words`; returns its words, or 0 at the end of the row.
fn step(core: &mut Core, tile: &PhaseTile, words: &[u32]) -> Result<usize, Fault> {
    let fault = |code, message: String| Fault::on(tile.tile, code, message);
    let instruction = decode(Context::Supervisor, words)
        .map_err(|error| fault(FaultCode::InvalidInstruction, error.to_string()))?;
    let count = instruction.word_count();
    if count == 2 && tile.row_address.is_some() && !core.program_counter.is_multiple_of(8) {
        return Err(fault(FaultCode::Misaligned, "`sendpicp` must start on a multiple of 8 bytes".into()));
    }
    if instruction.events().is_some() {
        let start = core.row_time();
        let events =
            core.unit.execute(&instruction, start).map_err(|error| fault(error.code, error.message))?;
        core.cycle += u64::from(events);
        return Ok(count);
    }
    match instruction {
        Instruction::Br { .. } => return Ok(0),
        Instruction::Sync { zone: 3 } if core.row_time() == 0 => return Ok(count),
        Instruction::Put { control, source } => core.put(control, core.registers.get(source)),
        _ if core.registers.execute(&instruction) => {
            core.cycle += crate::assumptions::SUPERVISOR_ISSUE_CYCLES;
        }
        _ => {
            let name = instruction.form().mnemonic;
            return Err(fault(FaultCode::NotModelled, format!("`{name}` inside a row that runs by itself")));
        }
    }
    Ok(count)
}
