//! Which memory units of a tile are read and written when: a send and a receive of one tile may overlap in time
//! only in different units (memory notes, section 4, rule 2).
//!
//! Only units that a tile both reads and writes in the phase are tracked; the rest cannot clash.

use ipu_device::hash::HashMap;

use super::event_set::EventSet;
use super::problem::{Problem, Receiver, Transfer};

/// Occupancy of one contended unit of one tile.
#[derive(Debug, Clone, Default)]
struct Unit {
    reads: EventSet,
    writes: EventSet,
}

/// Occupancy of all contended units of all tiles.
#[derive(Debug, Clone, Default)]
pub(crate) struct Banks {
    units: HashMap<(u16, u32), u32>,
    occupancy: Vec<Unit>,
}

impl Banks {
    pub(crate) fn new(problem: &Problem) -> Self {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for transfer in &problem.transfers {
            let mut read = |bank| reads.push((transfer.source.0, bank));
            problem.visit_banks(transfer.storage, i64::from(transfer.offset), 4 * transfer.words, &mut read);
            for receiver in problem.receivers_of(transfer) {
                let mut write = |bank| writes.push((receiver.tile.0, bank));
                problem.visit_written_banks(transfer, receiver, &mut write);
            }
        }
        for side in [&mut reads, &mut writes] {
            side.sort_unstable();
            side.dedup();
        }
        let mut banks = Self::default();
        for key in reads.into_iter().filter(|key| writes.binary_search(key).is_ok()) {
            banks.units.insert(key, banks.occupancy.len() as u32);
            banks.occupancy.push(Unit::default());
        }
        banks
    }

    /// The next start for `transfer`'s send at or after `start` that no write into its elements forbids.
    pub(crate) fn next_send(&self, problem: &Problem, transfer: &Transfer, start: i64, events: i64) -> i64 {
        let mut next = start;
        if !self.units.is_empty() {
            problem.visit_banks(
                transfer.storage,
                i64::from(transfer.offset),
                4 * transfer.words,
                &mut |bank| {
                    if let Some(&unit) = self.units.get(&(transfer.source.0, bank)) {
                        next = next.max(self.occupancy[unit as usize].writes.first_gap(start, events));
                    }
                },
            );
        }
        next
    }

    /// The next first write event at or after `start` that no read of the elements written forbids.
    pub(crate) fn next_write(
        &self,
        problem: &Problem,
        transfer: &Transfer,
        receiver: &Receiver,
        start: i64,
        events: i64,
    ) -> i64 {
        let mut next = start;
        if !self.units.is_empty() {
            problem.visit_written_banks(transfer, receiver, &mut |bank| {
                if let Some(&unit) = self.units.get(&(receiver.tile.0, bank)) {
                    next = next.max(self.occupancy[unit as usize].reads.first_gap(start, events));
                }
            });
        }
        next
    }

    pub(crate) fn insert_send(&mut self, problem: &Problem, transfer: &Transfer, start: i64, events: i64) {
        if self.units.is_empty() {
            return;
        }
        let Self { units, occupancy } = self;
        problem.visit_banks(transfer.storage, i64::from(transfer.offset), 4 * transfer.words, &mut |bank| {
            if let Some(&unit) = units.get(&(transfer.source.0, bank)) {
                occupancy[unit as usize].reads.insert_range(start, start + events);
            }
        });
    }

    pub(crate) fn insert_write(
        &mut self,
        problem: &Problem,
        transfer: &Transfer,
        receiver: &Receiver,
        start: i64,
        events: i64,
    ) {
        if self.units.is_empty() {
            return;
        }
        let Self { units, occupancy } = self;
        problem.visit_written_banks(transfer, receiver, &mut |bank| {
            if let Some(&unit) = units.get(&(receiver.tile.0, bank)) {
                occupancy[unit as usize].writes.insert_range(start, start + events);
            }
        });
    }
}
