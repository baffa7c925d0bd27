//! What an exchange program costs, counted on its own steps, calls and transfers.
//!
//! A program is stretches of work with phases between them; a phase is a barrier, so a stretch counts by its slowest
//! tile. Two price lists ([`Prices`]):
//!
//! * `recorded`, the counting rule of the recorded run. A phase costs [`RECORDED_PHASE_CYCLES`] and, at four a cycle, the
//!   bytes that the busiest tile's work consumes after it: what its calls read from buffers that the phase moves, own
//!   slices included. A slice that the tile had already is one copy, whether the program copies it or reads it in place.
//!   Kernels at ideal prices;
//! * `calibrated`. A phase costs its scheduled horizon, before scheduling its bound, and [`PHASE_OVERHEAD_CYCLES`]; every
//!   call is priced as it stands, in the memory where its operands are.
//!
//! Bytes that really move between tiles stand beside both.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ipu_device::exchange::routes::arrival;
use ipu_device::kernels::Family;
use ipu_device::memory_map::MemoryClass;
use ipu_device::numerics::ElementType;
use ipu_device::{Bytes, Event, LogicalTile};
use ipu_dialects::exchange::program::{BufferId, Phase, Program, Run, Step, Transfers};
use serde::Serialize;

use crate::select_plans::{
    EXCHANGE_BYTES_PER_CYCLE, PHASE_OVERHEAD_CYCLES, PlanError, PriceBook, Prices, RECORDED_PHASE_CYCLES,
    phase_bound,
};

/// The cost of a program and its parts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ProgramPrice {
    /// Total, in cycles.
    pub cycles: u64,
    /// Share of the phases.
    pub exchange: u64,
    /// Bytes received by all tiles from other tiles.
    pub moved_bytes: u64,
    /// Phases and stretches of work, in order.
    pub parts: Vec<Part>,
}

/// Calls of a tile in order: what, cycles.
type Calls = Vec<(String, u64)>;

/// A phase, or the work between two phases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "part", rename_all = "lowercase")]
pub enum Part {
    /// A phase.
    Phase {
        /// Its symbol.
        name: String,
        /// Cycles of one round.
        cycles: u64,
        /// Rounds.
        rounds: u64,
        /// Bytes that the busiest tile's work consumes after it, own slices included.
        consumed: u64,
        /// Bytes that the busiest receiver gets from other tiles.
        received: u64,
        /// Bytes that the busiest sender sends, each multicast once.
        sent: u64,
        /// Row time of its end: scheduled, else the lower bound.
        events: u64,
    },
    /// Work between two barriers, on its slowest tile.
    Work {
        /// That tile.
        tile: u16,
        /// Cycles of one round.
        cycles: u64,
        /// Rounds.
        rounds: u64,
        /// Calls of that tile in order: what, cycles.
        calls: Calls,
    },
}

impl fmt::Display for ProgramPrice {
    /// One line a phase and a call, then the total.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                Part::Phase { name, cycles, rounds, consumed, received, sent, events } => writeln!(
                    f,
                    "phase {name}: {cycles} cycles{} (consumed {consumed} B, received {received} B, sent {sent} B, {events} events)",
                    times(*rounds)
                )?,
                Part::Work { tile, rounds, calls, .. } => {
                    for (what, cycles) in calls {
                        writeln!(f, "  {what}: {cycles} cycles{} (tile {tile})", times(*rounds))?;
                    }
                }
            }
        }
        let Self { cycles, exchange, moved_bytes, .. } = self;
        write!(f, "total {cycles} cycles, exchange {exchange}; {moved_bytes} bytes move between tiles")
    }
}

fn times(rounds: u64) -> String {
    if rounds == 1 { String::new() } else { format!(" x {rounds}") }
}

/// Prices `program` by one of the lists.
///
/// # Errors
/// The registry lacks a kernel that the list needs, or a call is not valid.
pub fn price_program(program: &Program, prices: Prices) -> Result<ProgramPrice, PlanError> {
    let book = PriceBook::new(prices, ElementType::F16, ElementType::F16)?;
    let mut pricing = Pricing { program, book, price: ProgramPrice::default() };
    let mut stretch = Stretch::default();
    // Open repeats: where their bodies end, and their rounds.
    let mut repeats: Vec<(usize, u64)> = Vec::new();
    for (index, step) in program.steps.iter().enumerate() {
        while repeats.pop_if(|&mut (end, _)| end <= index).is_some() {
            pricing.close(&mut stretch, None);
        }
        let rounds = repeats.iter().map(|&(_, rounds)| rounds).product();
        match step {
            Step::Phase(phase) => pricing.close(&mut stretch, Some((phase, rounds))),
            Step::Compute(compute) => {
                stretch.rounds = rounds;
                stretch.runs.extend(&compute.runs);
            }
            Step::Repeat { count, body, .. } => {
                pricing.close(&mut stretch, None);
                repeats.push((body.end, u64::from(*count)));
            }
            Step::LoadHost(_) | Step::StoreHost(_) => {}
        }
    }
    pricing.close(&mut stretch, None);
    Ok(pricing.price)
}

/// Work since the last barrier, and the phase before it.
#[derive(Default)]
struct Stretch<'p> {
    phase: Option<(&'p Phase, u64)>,
    runs: Vec<&'p Run>,
    rounds: u64,
}

struct Pricing<'p> {
    program: &'p Program,
    book: PriceBook,
    price: ProgramPrice,
}

/// Half-open byte ranges by buffer.
type Ranges = BTreeMap<BufferId, Vec<(u64, u64)>>;

/// What a phase brings to one tile, and what it takes away.
#[derive(Default)]
struct Load {
    received: u64,
    sent: u64,
    delivered: Ranges,
}

impl<'p> Pricing<'p> {
    /// Prices the stretch with the phase before it, and begins the next one.
    fn close(&mut self, stretch: &mut Stretch<'p>, next: Option<(&'p Phase, u64)>) {
        let Stretch { phase, runs, rounds } = std::mem::take(stretch);
        stretch.phase = next;
        let loads = phase.map(|(phase, _)| loads(phase)).unwrap_or_default();
        let moved = phase.map(|(phase, _)| Moved::of(phase)).unwrap_or_default();
        let mut by_tile: BTreeMap<LogicalTile, Vec<&Run>> = BTreeMap::new();
        for run in runs {
            by_tile.entry(run.tile).or_default().push(run);
        }
        let mut consumed = 0;
        let mut slowest: Option<(u64, LogicalTile, Calls)> = None;
        for (tile, runs) in by_tile {
            let (eaten, calls) = self.tile(tile, &runs, &moved, loads.get(&tile));
            consumed = consumed.max(eaten);
            let cycles = calls.iter().map(|(_, cycles)| cycles).sum();
            if slowest.as_ref().is_none_or(|(most, ..)| cycles > *most) {
                slowest = Some((cycles, tile, calls));
            }
        }
        if let Some((phase, rounds)) = phase {
            self.phase(phase, rounds, consumed, &loads);
        }
        if let Some((cycles, tile, calls)) = slowest {
            self.price.cycles += cycles * rounds;
            self.price.parts.push(Part::Work { tile: tile.0, cycles, rounds, calls });
        }
    }

    fn phase(&mut self, phase: &Phase, rounds: u64, consumed: u64, loads: &BTreeMap<LogicalTile, Load>) {
        let most = |value: fn(&Load) -> u64| loads.values().map(value).max().unwrap_or(0);
        let bound = loads.iter().map(|(tile, load)| {
            let bytes = |bytes: u64| Bytes(u32::try_from(bytes).unwrap_or(u32::MAX));
            phase_bound(tile.physical().row(), bytes(load.received), bytes(load.sent))
        });
        let events = scheduled_end(phase).unwrap_or_else(|| bound.max().unwrap_or(0));
        let cycles = match self.book.prices {
            Prices::Recorded => RECORDED_PHASE_CYCLES + consumed.div_ceil(EXCHANGE_BYTES_PER_CYCLE),
            Prices::Calibrated => PHASE_OVERHEAD_CYCLES + events,
        };
        self.price.cycles += cycles * rounds;
        self.price.exchange += cycles * rounds;
        self.price.moved_bytes += rounds * loads.values().map(|load| load.received).sum::<u64>();
        let (name, received, sent) = (phase.name.clone(), most(|load| load.received), most(|load| load.sent));
        self.price.parts.push(Part::Phase { name, cycles, rounds, consumed, received, sent, events });
    }

    /// Bytes that the tile consumes of what the phase moves, and its calls with their prices.
    fn tile(&mut self, tile: LogicalTile, runs: &[&Run], moved: &Moved, load: Option<&Load>) -> (u64, Calls) {
        let recorded = self.book.prices == Prices::Recorded;
        let mut read = Ranges::new();
        let mut calls = Vec::new();
        // What the phase moves, and where copies on the tile put slices of it.
        let mut moved = moved.clone();
        for run in runs {
            let own_slice = moved.is_copied_by(run);
            match run.operands.first() {
                Some(to) if own_slice => moved.0.extend([to.buffer]),
                _ => collect_reads(run, &moved, &mut read),
            }
            if !(own_slice && recorded) {
                calls.push((run.kernel.symbol(), self.call(run)));
            }
        }
        let mut consumed = 0;
        let mut copies = Vec::new();
        for (buffer, ranges) in &read {
            let all = length(ranges.clone());
            let delivered = load.and_then(|load| load.delivered.get(buffer));
            let own = all - overlap(ranges, delivered.map_or(&[][..], Vec::as_slice));
            consumed += all;
            if recorded && own > 0 {
                let cycles = self.book.copy(u32::try_from(own).unwrap_or(u32::MAX)).unwrap_or(0);
                copies.push((format!("own slice of `{}`", self.program.buffer(*buffer).name), cycles));
            }
        }
        debug_assert!(runs.iter().all(|run| run.tile == tile), "runs of one tile");
        copies.extend(calls);
        (consumed, copies)
    }

    fn call(&self, run: &Run) -> u64 {
        let classes: Vec<MemoryClass> =
            run.operands.iter().map(|operand| self.program.buffer(operand.buffer).class).collect();
        let cycles = match self.book.prices {
            Prices::Recorded => run.kernel.recorded_cycles(&run.scalars),
            Prices::Calibrated => run.kernel.cycles(&run.scalars, &classes),
        };
        cycles.map_or(0, |cycles| cycles.0)
    }
}

/// Buffers that a phase reads or writes.
#[derive(Debug, Clone, Default)]
struct Moved(BTreeSet<BufferId>);

impl Moved {
    fn of(phase: &Phase) -> Self {
        let Transfers { receiver_buffer, source_buffer, .. } = &phase.transfers;
        Self(receiver_buffer.iter().chain(source_buffer).copied().collect())
    }

    /// Whether the call copies a slice that stays on its tile, from or to such a buffer.
    fn is_copied_by(&self, run: &Run) -> bool {
        let copy = matches!(run.kernel.entry().family, Family::Copy | Family::StridedCopy);
        copy && run.operands.iter().any(|operand| self.0.contains(&operand.buffer))
    }
}

fn collect_reads(run: &Run, moved: &Moved, read: &mut Ranges) {
    let Ok(extents) = run.kernel.extents(&run.scalars) else { return };
    for (extent, slice) in extents.iter().zip(&run.operands) {
        if extent.role.reads() && moved.0.contains(&slice.buffer) {
            let start = u64::from(slice.offset);
            read.entry(slice.buffer).or_default().push((start, start + u64::from(extent.bytes.0)));
        }
    }
}

fn loads(phase: &Phase) -> BTreeMap<LogicalTile, Load> {
    let transfers = &phase.transfers;
    let mut loads: BTreeMap<LogicalTile, Load> = BTreeMap::new();
    for row in 0..transfers.len() {
        let (source, bytes) = (transfers.source[row], u64::from(transfers.bytes[row]));
        loads.entry(source).or_default().sent += bytes;
        for receiver in transfers.receivers_of(row) {
            let load = loads.entry(receiver.tile).or_default();
            if receiver.tile != source {
                load.received += bytes;
            }
            let ranges = load.delivered.entry(receiver.buffer).or_default();
            ranges.extend(transfers.pieces(row).iter().map(|piece| {
                let start = u64::from(piece.offset) + u64::from(receiver.shift);
                (start, start + u64::from(piece.bytes))
            }));
        }
    }
    loads
}

/// Row time at which the last row of a scheduled phase ends.
fn scheduled_end(phase: &Phase) -> Option<u64> {
    let transfers = &phase.transfers;
    if transfers.is_empty() || !transfers.is_scheduled() {
        return None;
    }
    let ends = (0..transfers.len()).flat_map(|row| {
        let (source, words) = (transfers.source[row].physical(), transfers.bytes[row] / 4);
        let start = Event(transfers.send[row].into());
        let receive = move |tile: LogicalTile| arrival(source, tile.physical(), start, words).horizon.0;
        let receivers = transfers.receivers_of(row).map(move |receiver| receive(receiver.tile));
        receivers.chain([start.0 + i64::from(words)]).collect::<Vec<_>>()
    });
    ends.max().and_then(|end| u64::try_from(end).ok())
}

/// Bytes in the union of ranges.
fn length(mut ranges: Vec<(u64, u64)>) -> u64 {
    ranges.sort_unstable();
    let (mut total, mut reached) = (0, 0);
    for (start, end) in ranges {
        total += end.saturating_sub(start.max(reached));
        reached = reached.max(end);
    }
    total
}

/// Bytes in the union of `a` that are in the union of `b` too.
fn overlap(a: &[(u64, u64)], b: &[(u64, u64)]) -> u64 {
    let both = length(a.iter().chain(b).copied().collect());
    length(a.to_vec()) + length(b.to_vec()) - both
}
