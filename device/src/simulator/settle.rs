//! Moves the words of the exchange under way once every tile has said all that it does in it.

use crate::runtime::HostMemory;
use crate::units::{Cycles, Event};

use super::banks;
use super::classes::Classes;
use super::core_state::Wait;
use super::fabric::{self, Participant};
use super::fault::{Fault, FaultCode};
use super::host::{self, HostTile};
use super::timeline::Timeline;
use super::transfer::{self, ExchangeWrite};

/// What one exchange phase took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseStatistics {
    /// Cycle at which its sync passed.
    pub release: Cycles,
    /// Row time at which the last row ended.
    pub horizon: Event,
    /// Cycles from the release to the end of the last row.
    pub cycles: Cycles,
    /// Tiles that sent or received.
    pub active_tiles: u32,
    /// Words written, each receiver counted.
    pub words: u64,
}

/// The outcome of settling the tiles' exchange: a phase, unless the words went to the host.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    pub(crate) phase: Option<PhaseStatistics>,
    pub(crate) host_bytes: u64,
    pub(crate) writes: Vec<ExchangeWrite>,
}

/// Moves the words of every exchange that has not been settled.
pub(crate) fn settle(
    classes: &mut Classes,
    record: bool,
    host: &mut dyn HostMemory,
) -> Result<Settled, Fault> {
    let (mut internal, mut external) = (Vec::new(), Vec::new());
    for (index, class) in classes.all.iter_mut().enumerate() {
        if class.core.must_settle() {
            let to_host = class.core.interval.zone.is_some_and(|zone| zone.needs_host());
            if to_host { external.push(index) } else { internal.push(index) }
        }
    }
    let mut settled = Settled::default();
    if !external.is_empty() {
        settled.host_bytes = settle_host(classes, &external, host)?;
    }
    if !internal.is_empty() {
        internal.sort_by_key(|&index| classes.all[index].lead());
        settle_internal(classes, &internal, record, &mut settled)?;
    }
    for class in &mut classes.all {
        class.core.interval.settled = true;
        let core = &mut class.core;
        let received = core.wait == Wait::Receive && core.unit.registers.expected_words == 0;
        if core.wait == Wait::Settle || received {
            core.wait = Wait::Runnable;
        }
    }
    Ok(settled)
}

fn settle_host(classes: &mut Classes, chosen: &[usize], host: &mut dyn HostMemory) -> Result<u64, Fault> {
    let mut tiles = Vec::with_capacity(chosen.len());
    for (index, class) in classes.all.iter_mut().enumerate() {
        if chosen.binary_search(&index).is_err() {
            continue;
        }
        let tile = class.lead();
        let unit = &mut class.core.unit;
        tiles.push(HostTile {
            tile,
            sends: std::mem::take(&mut unit.timeline.sends),
            memory: &mut class.memory,
            expected_words: &mut unit.registers.expected_words,
        });
    }
    tiles.sort_by_key(|tile| tile.tile);
    host::run_batch(tiles, host)
}

fn settle_internal(
    classes: &mut Classes,
    chosen: &[usize],
    record: bool,
    settled: &mut Settled,
) -> Result<(), Fault> {
    let timelines: Vec<Timeline> = chosen
        .iter()
        .map(|&index| {
            let unit = &mut classes.all[index].core.unit;
            let empty = Timeline::begin(&unit.registers);
            std::mem::replace(&mut unit.timeline, empty)
        })
        .collect();
    let participants: Vec<Participant<'_>> = chosen
        .iter()
        .zip(&timelines)
        .map(|(&index, timeline)| Participant { tile: classes.all[index].lead(), timeline })
        .collect();
    let mut movement = fabric::resolve(&participants);
    movement.faults.extend(banks::check(&participants, &movement));
    check_ends(classes, chosen, &movement.deliveries, &mut movement.faults);
    let mut memories = borrow_memories(classes, chosen);
    settled.writes = transfer::run(&participants, &mut movement, &mut memories, record);
    if let Some(fault) = first(movement.faults) {
        return Err(fault);
    }
    let horizon = timelines.iter().map(|timeline| timeline.horizon).max().unwrap_or(0);
    let release = classes.all[chosen[0]].core.interval.release;
    settled.phase = Some(PhaseStatistics {
        release: Cycles(release),
        horizon: Event(horizon),
        cycles: Cycles(horizon.max(0).cast_unsigned() + super::core_state::ROW_ENTRY_CYCLES),
        active_tiles: chosen.len() as u32,
        words: movement.received_words.iter().map(|&words| u64::from(words)).sum(),
    });
    for (position, &index) in chosen.iter().enumerate() {
        let registers = &mut classes.all[index].core.unit.registers;
        registers.cursor = movement.cursors[position];
        registers.expected_words = registers.expected_words.saturating_sub(movement.received_words[position]);
    }
    Ok(())
}

/// The memories of the chosen classes, in their order.
fn borrow_memories<'a>(classes: &'a mut Classes, chosen: &[usize]) -> Vec<&'a mut super::TileMemory> {
    let mut rank = vec![usize::MAX; classes.all.len()];
    for (position, &index) in chosen.iter().enumerate() {
        rank[index] = position;
    }
    let mut memories: Vec<(usize, &mut super::TileMemory)> = classes
        .all
        .iter_mut()
        .zip(rank)
        .filter(|(_, rank)| *rank != usize::MAX)
        .map(|(class, rank)| (rank, &mut class.memory))
        .collect();
    memories.sort_by_key(|(rank, _)| *rank);
    memories.into_iter().map(|(_, memory)| memory).collect()
}

/// Words may not arrive on a tile that has gone on to other work.
fn check_ends(classes: &Classes, chosen: &[usize], deliveries: &[fabric::Delivery], faults: &mut Vec<Fault>) {
    let mut last = vec![i64::MIN; chosen.len()];
    for delivery in deliveries {
        let slot = &mut last[delivery.receiver as usize];
        *slot = (*slot).max(delivery.written_end() - 1);
    }
    for (&index, last) in chosen.iter().zip(last) {
        let class = &classes.all[index];
        let now = class.core.row_time();
        if class.core.wait == Wait::Settle && last > now {
            let message = format!(
                "the last word is written at event {last}, memory or workers are used from event {now} on"
            );
            let fault = Fault::on(class.lead(), FaultCode::RowTooShort, message).at_event(last);
            faults.push(fault.at_instruction(class.core.program_counter));
        }
    }
}

/// The fault of the earliest event, lowest tile first.
pub(crate) fn first(faults: Vec<Fault>) -> Option<Fault> {
    faults.into_iter().min_by_key(|fault| (fault.moment, fault.tile(), fault.code))
}
