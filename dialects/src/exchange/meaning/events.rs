//! A scheduled and placed phase by events: rows are made and executed on a model of the fabric, and whatever words
//! arrive wherever they arrive is what the phase means. A right schedule gives the same bytes as reading everything
//! before writing anything.

use std::collections::BTreeMap;

use ipu_device::exchange::{RowEncoding, ScheduleError, TimelineBuilder, encode_row};
use ipu_device::simulator::{ExchangeRegisters, PhaseOptions, PhaseTile, TileMemory, run_phase};
use ipu_device::{Address, LogicalTile, PhysicalTile};

use super::storage::Storage;
use super::{Fault, Machine, MeaningCode};
use crate::exchange::placed::{device_transfers, incoming_bases};
use crate::exchange::program::{BufferId, Phase};

/// How phases that are scheduled and placed are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Timing {
    /// As any other: all reads, then all writes.
    #[default]
    Bulk,
    /// By events.
    Events,
    /// By events, and clashes of memory elements are no faults: for addresses that nobody chose.
    EventsAnywhere,
}

/// By tile: first address, end, buffer.
type Buffers = BTreeMap<LogicalTile, Vec<(u32, u32, BufferId)>>;

impl Machine<'_> {
    /// Runs a phase by events; says whether it could, that is whether it is scheduled and placed.
    pub(super) fn phase_by_events(&mut self, phase: &Phase) -> Result<bool, Fault> {
        let Some(transfers) = device_transfers(self.program, phase) else { return Ok(false) };
        let mut builder = TimelineBuilder::new();
        for (tile, base) in incoming_bases(phase) {
            builder.set_incoming_base(tile, base);
        }
        for transfer in &transfers {
            builder.add(transfer);
        }
        let refused = |errors: Vec<ScheduleError>| self.schedule_fault(phase, errors.first());
        let timelines = builder.finish().map_err(refused)?;
        let sources = self.places(phase.transfers.source.iter().zip(&phase.transfers.source_buffer));
        let mut tiles = Vec::with_capacity(timelines.len());
        for timeline in &timelines {
            let row = encode_row(timeline, RowEncoding::Compact);
            let row = row.map_err(|error| self.schedule_fault(phase, Some(&error)))?;
            let words =
                row.words().map_err(|error| self.exchange_fault(phase, timeline.tile, error.to_string()))?;
            tiles.push(PhaseTile {
                tile: timeline.tile,
                row: words,
                row_address: None,
                memory: self.memory_of(timeline.tile.logical(), &sources),
                registers: ExchangeRegisters {
                    incoming_base: phase.incoming_base(timeline.tile.logical()).0,
                    ..ExchangeRegisters::default()
                },
            });
        }
        let outcome = run_phase(
            tiles,
            PhaseOptions { check_banks: self.timing == Timing::Events, record_writes: true },
        );
        if let Some(fault) = outcome.faults.first() {
            let tile = fault.tile().unwrap_or(PhysicalTile(0));
            return Err(self.exchange_fault(phase, tile, fault.to_string()));
        }
        let written = &phase.transfers;
        let places = self.places(written.receiver.iter().zip(&written.receiver_buffer));
        for write in outcome.writes {
            let tile = write.tile.logical();
            let place = places.get(&tile).and_then(|places| {
                places.iter().find(|(start, end, _)| (*start..*end).contains(&write.address.0))
            });
            let store = self.place(tile).and_then(|at| self.tiles.get_mut(at));
            let stored = place.zip(store).is_some_and(|(&(start, _, buffer), store)| {
                let storage = store.get_mut(buffer);
                storage
                    .is_some_and(|storage| storage.write(write.address.0 - start, &write.value.to_le_bytes()))
            });
            if !stored {
                let message = format!(
                    "a word from {} is written at {}, where no receiver has a buffer",
                    write.sender, write.address
                );
                return Err(self.exchange_fault(phase, write.tile, message));
            }
        }
        Ok(true)
    }

    /// Memory of a tile with what is written in the buffers that it sends from.
    fn memory_of(&self, tile: LogicalTile, sources: &Buffers) -> TileMemory {
        let mut memory = TileMemory::new();
        for &(start, _, id) in sources.get(&tile).map_or(&[][..], Vec::as_slice) {
            for (offset, bytes) in self.storage(id, tile).into_iter().flat_map(Storage::written_runs) {
                // An address outside of memory stays unwritten there, and is a fault when it is used.
                let _ = memory.write(Address(start.saturating_add(offset)), bytes);
            }
        }
        memory
    }

    /// By tile: the address ranges of these buffers, each once.
    fn places<'a>(&self, buffers: impl Iterator<Item = (&'a LogicalTile, &'a BufferId)>) -> Buffers {
        let mut places = Buffers::new();
        for (&tile, &id) in buffers {
            let buffer = self.program.buffer(id);
            let known = places.entry(tile).or_default();
            if known.iter().any(|(_, _, known)| *known == id) {
                continue;
            }
            if let Some(Address(start)) = buffer.address(tile) {
                known.push((start, start.saturating_add(buffer.bytes.0), id));
            }
        }
        places
    }

    fn schedule_fault(&self, phase: &Phase, error: Option<&ScheduleError>) -> Fault {
        let Some(error) = error else {
            return self.exchange_fault(phase, PhysicalTile(0), "no schedule".to_owned());
        };
        let row = error.first.map(|offender| offender.transfer as usize);
        let fault = self.exchange_fault(phase, error.tile, error.to_string());
        let op = row.and_then(|row| phase.transfers.op.get(row)).copied().unwrap_or(phase.op);
        let member = row.and_then(|row| phase.transfers.member.get(row)).copied();
        Fault { op, member, ..fault }
    }

    fn exchange_fault(&self, phase: &Phase, tile: PhysicalTile, message: String) -> Fault {
        Fault {
            code: MeaningCode::ExchangeFault,
            message: format!("phase `@{}`: {message}", phase.name),
            op: phase.op,
            member: None,
            tile: Some(tile.logical()),
        }
    }
}
