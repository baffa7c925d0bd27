//! How fast the simulator is: one phase of a million words, and a program of many phases on all tiles.
//!
//! `cargo run --release -p ipu-device --example simulator_speed`

#![allow(clippy::print_stdout, reason = "a program that prints measurements")]

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use ipu_device::exchange::{ItemWidth, Piece, Receiver, RowEncoding, TimelineBuilder, Transfer, encode_row};
use ipu_device::isa::{ControlRegister, Instruction, Register, encode_all};
use ipu_device::memory_map::LOAD_BASE;
use ipu_device::runtime::{HostAccessError, HostMemory, Machine};
use ipu_device::simulator::{
    ExchangeRegisters, KernelSymbols, PhaseOptions, PhaseTile, Simulator, SimulatorOptions, TileMemory,
    run_phase,
};
use ipu_device::topology::TILE_COUNT;
use ipu_device::units::{Address, Event, LogicalTile, PhysicalTile, Words};

const SOURCE: Address = Address(0x64000);
const DESTINATION: Address = Address(0x70000);
const ROW: Address = Address(0x5c000);

/// The words of each tile's row.
type Rows = Vec<(PhysicalTile, Vec<u32>)>;

/// Every tile sends `messages` messages of `words` words to the next pair of tiles, with the least gap between
/// messages that the rules allow.
fn rows(messages: u32, words: u32) -> Result<Rows, Box<dyn Error>> {
    let found = (0..64).find_map(|gap| rows_with_gap(messages, words, gap).ok());
    found.ok_or_else(|| "no gap up to 64 events is legal".into())
}

fn rows_with_gap(messages: u32, words: u32, gap: u32) -> Result<Rows, Box<dyn Error>> {
    let mut builder = TimelineBuilder::new();
    for tile in LogicalTile::all() {
        for message in 0..messages {
            let receiver = LogicalTile((tile.0 + 2) % TILE_COUNT).physical();
            let to = Address(DESTINATION.0 + 4 * words * message);
            let piece = Piece { address: to, words: Words(words) };
            builder.add(&Transfer {
                source: tile.physical(),
                start: Event(200 + i64::from(message * (words + gap))),
                words: Words(words),
                source_address: Address(SOURCE.0 + 4 * words * message),
                width: ItemWidth::Word32,
                receivers: [Receiver { tile: receiver, pieces: [piece].into_iter().collect() }]
                    .into_iter()
                    .collect(),
            });
        }
    }
    let timelines = builder.finish().map_err(|errors| format!("{} rules broken", errors.len()))?;
    timelines
        .iter()
        .map(|timeline| {
            let row = encode_row(timeline, RowEncoding::Compact).map_err(|error| format!("{error:?}"))?;
            Ok((timeline.tile, row.words()?))
        })
        .collect()
}

fn one_phase(messages: u32, words: u32) -> Result<(), Box<dyn Error>> {
    let rows = rows(messages, words)?;
    let row_words = rows.iter().map(|(_, row)| row.len()).max().unwrap_or(0);
    let mut memory = TileMemory::new();
    memory.fill_zero(SOURCE, Words(messages * words).bytes()).map_err(|error| format!("{error:?}"))?;
    let tiles: Vec<PhaseTile> = rows
        .into_iter()
        .map(|(tile, row)| PhaseTile {
            tile,
            row,
            row_address: Some(ROW),
            memory: memory.clone(),
            registers: ExchangeRegisters::default(),
        })
        .collect();
    let start = Instant::now();
    let outcome = run_phase(tiles, PhaseOptions { check_banks: true, record_writes: false });
    let elapsed = start.elapsed();
    if let Some(fault) = outcome.faults.first() {
        return Err(fault.to_string().into());
    }
    println!(
        "one phase: {} words in {messages} messages of {words} a tile, rows of {row_words} words, horizon {}: {:.1} ms",
        outcome.words,
        outcome.horizon.0,
        elapsed.as_secs_f64() * 1e3
    );
    Ok(())
}

/// A host that is never asked for anything.
struct NoHost;

impl HostMemory for NoHost {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), HostAccessError> {
        Err(HostAccessError { offset, size: into.len() as u64, attached: 0 })
    }
    fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), HostAccessError> {
        Err(HostAccessError { offset, size: from.len() as u64, attached: 0 })
    }
}

/// The image of a tile that runs its row, or none, in each of `phases` phases.
fn image(row: Option<&[u32]>, phases: u32) -> Result<Arc<[u8]>, Box<dyn Error>> {
    let enter = match row {
        Some(_) => vec![Instruction::Sync { zone: 3 }],
        None => vec![Instruction::Sans { syncs_minus_1: 0 }, Instruction::Sync { zone: 1 }],
    };
    let setzi = |destination, value| Instruction::Setzi { destination, value };
    let put = |control| Instruction::Put { control, source: Register::M15 };
    let mut program = vec![setzi(Register::M2, phases - 1)];
    program.extend([put(ControlRegister::INCOMING_BASE), put(ControlRegister::OUTGOING_BASE)]);
    program.extend(enter);
    program.push(Instruction::Call { link: Register::M10, target: ROW });
    program.push(Instruction::Brnzdec { counter: Register::M2, target: Address(LOAD_BASE.0 + 4) });
    program.push(Instruction::Br { target: Register::M15 });
    let mut words = encode_all(&program)?;
    words.resize(((ROW.0 - LOAD_BASE.0) / 4) as usize, 0);
    match row {
        Some(row) => {
            words.extend(row);
            words.resize(((DESTINATION.0 - LOAD_BASE.0) / 4) as usize, 0);
        }
        None => words.extend(encode_all(&[Instruction::Br { target: Register::M10 }])?),
    }
    Ok(words.iter().flat_map(|word| word.to_le_bytes()).collect())
}

fn program(active: usize, phases: u32) -> Result<(), Box<dyn Error>> {
    let rows = rows(1, 64)?;
    let idle = image(None, phases)?;
    let mut simulator = Simulator::new(SimulatorOptions::default(), KernelSymbols::default());
    // With fewer than all tiles active, words of senders that do not run are simply missing.
    for tile in LogicalTile::all().map(LogicalTile::physical) {
        let row =
            rows.iter().find(|(own, _)| *own == tile).filter(|_| usize::from(tile.logical().0) < active);
        let own = row.map(|(_, row)| image(Some(row), phases)).transpose()?;
        simulator.load_tile(tile, own.as_ref().unwrap_or(&idle))?;
    }
    let start = Instant::now();
    simulator.start()?;
    let loaded = start.elapsed().as_secs_f64();
    simulator.advance(&mut NoHost)?;
    let elapsed = start.elapsed().as_secs_f64();
    let statistics = simulator.statistics();
    println!(
        "{phases} phases, {active} tiles active: {} cycles, {} words, {} classes: {:.1} ms, {:.1} of them to load, {:.2e} tile-cycles/s",
        statistics.cycles.0,
        statistics.phases.iter().map(|phase| phase.words).sum::<u64>(),
        statistics.classes,
        elapsed * 1e3,
        loaded * 1e3,
        statistics.tile_cycles as f64 / elapsed
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    one_phase(1, 700)?;
    one_phase(13, 53)?;
    one_phase(24, 43)?;
    program(2, 100)?;
    program(64, 10)?;
    program(64, 1000)?;
    program(1472, 10)?;
    program(1472, 100)
}
