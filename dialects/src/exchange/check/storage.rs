//! Addresses of a placed program.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use ipu_device::hash::HashSet;
use ipu_device::memory_map::{Element, INTERLEAVED_BASE, MEMORY_BASE, MEMORY_END, MemoryClass};
use ipu_device::topology::TILE_COUNT;
use ipu_device::{Address, LogicalTile};
use smallvec::SmallVec;

use super::{Checker, tile_text};
use crate::exchange::codes::ExchangeCode;
use crate::exchange::lifetimes::{Lifetime, Lifetimes};
use crate::exchange::program::{Buffer, BufferId};

/// A buffer on one tile.
#[derive(Debug, Clone, Copy)]
struct Stored {
    start: u32,
    end: u32,
    lifetime: Lifetime,
    buffer: BufferId,
}

impl Checker<'_> {
    pub(super) fn storage(&mut self, lifetimes: &Lifetimes) {
        let program = self.program;
        let mut by_tile: Vec<Vec<Stored>> = vec![Vec::new(); usize::from(TILE_COUNT)];
        for id in program.buffer_ids() {
            let buffer = program.buffer(id);
            if !self.address(buffer) {
                continue;
            }
            for (slot, &tile) in buffer.tiles.iter().enumerate() {
                let address = buffer.at.as_ref().and_then(|at| at.get(slot));
                let (Some(Address(start)), Some(lifetime)) = (address, lifetimes.on(id, slot)) else {
                    continue;
                };
                if let Some(stored) = by_tile.get_mut(usize::from(tile.0)) {
                    stored.push(Stored {
                        start,
                        end: start.saturating_add(buffer.bytes.0),
                        lifetime,
                        buffer: id,
                    });
                }
            }
        }
        let mut reported = HashSet::default();
        for (tile, stored) in by_tile.iter_mut().enumerate() {
            stored.sort_unstable_by_key(|stored| (stored.start, stored.buffer));
            self.overlaps(LogicalTile(tile as u16), stored, &mut reported);
        }
        for &(first, second) in &program.separate {
            self.separate(first, second);
        }
    }

    /// Alignment and memory of a buffer's addresses; the first tile that breaks a rule is reported.
    fn address(&mut self, buffer: &Buffer) -> bool {
        let least = match buffer.class {
            MemoryClass::Standard => MEMORY_BASE,
            MemoryClass::Interleaved => INTERLEAVED_BASE,
        };
        for (slot, &tile) in buffer.tiles.iter().enumerate() {
            let Some(address) = buffer.at.as_ref().and_then(|at| at.get(slot)) else { continue };
            let what = format!("`{}` at {address} on {}", buffer.name, tile_text(tile));
            if !address.is_aligned(buffer.align) {
                let message = format!("{what} is not aligned to {}", buffer.align);
                self.report(ExchangeCode::Misaligned, buffer.op, message);
                return false;
            }
            let end = u64::from(address.0) + u64::from(buffer.bytes.0) + u64::from(buffer.tail.0);
            if address < least || end > u64::from(MEMORY_END.0) {
                let message = format!(
                    "{what} ends at 0x{end:x}, tail included; {} memory is {least}..{MEMORY_END}",
                    buffer.class.name()
                );
                self.report(ExchangeCode::WrongMemory, buffer.op, message);
                return false;
            }
        }
        true
    }

    /// Buffers of one tile, by start: those that live at the same time share no byte. Tails may overlap anything.
    fn overlaps(
        &mut self,
        tile: LogicalTile,
        stored: &[Stored],
        reported: &mut HashSet<(BufferId, BufferId)>,
    ) {
        for_each_overlap(stored, |earlier, later| {
            if reported.insert((earlier.buffer, later.buffer)) {
                self.report_overlap(tile, earlier, later);
            }
            if self.diagnostics.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }

    fn report_overlap(&mut self, tile: LogicalTile, earlier: Stored, later: Stored) {
        let message = format!(
            "`{}` and `{}` share bytes {}..{} on {} while both live: {} and {}",
            self.name(earlier.buffer),
            self.name(later.buffer),
            Address(later.start),
            Address(earlier.end.min(later.end)),
            tile_text(tile),
            earlier.lifetime,
            later.lifetime,
        );
        let (first, second) = (self.program.buffer(earlier.buffer).op, self.program.buffer(later.buffer).op);
        let error = self.error(ExchangeCode::StorageOverlap, second, message);
        self.diagnostics.push(error.label(self.module.span(first), "the other buffer"));
    }

    fn separate(&mut self, first: BufferId, second: BufferId) {
        let program = self.program;
        let (left, right) = (program.buffer(first), program.buffer(second));
        for &tile in &left.tiles {
            let (Some(one), Some(other)) = (elements(left, tile), elements(right, tile)) else { continue };
            if one.0 <= other.1 && other.0 <= one.1 {
                let message = format!(
                    "`{}` and `{}` must lie in different memory elements and share {} on {}",
                    left.name,
                    right.name,
                    one.0.max(other.0),
                    tile_text(tile)
                );
                let error = self.error(ExchangeCode::NotSeparate, right.op, message);
                self.diagnostics.push(error.label(self.module.span(left.op), "the other buffer"));
                return;
            }
        }
    }
}

/// Calls `found` for all pairs that share bytes while both live. `stored` is in order of `start`; in that order are the two of
/// a pair. For buffers of which no two share, n log n.
fn for_each_overlap(stored: &[Stored], mut found: impl FnMut(Stored, Stored) -> ControlFlow<()>) {
    // By first step. No two live at the same time, so those that live while another does are neighbours.
    let mut apart: BTreeMap<u32, Stored> = BTreeMap::new();
    // All others; each was found to share bytes, so they are few.
    let mut crowded: Vec<Stored> = Vec::new();
    for &later in stored {
        let Lifetime { first, last } = later.lifetime;
        let neighbours = apart.range(..=last).rev().map(|(_, &earlier)| earlier);
        let (open, passed): (SmallVec<[Stored; 4]>, SmallVec<[Stored; 4]>) = neighbours
            .take_while(|earlier| earlier.lifetime.last >= first)
            .partition(|earlier| earlier.end > later.start);
        for earlier in passed {
            apart.remove(&earlier.lifetime.first);
        }
        crowded.retain(|earlier| earlier.end > later.start);
        let others = crowded.iter().filter(|earlier| earlier.lifetime.overlaps(later.lifetime));
        for &earlier in open.iter().chain(others) {
            if found(earlier, later).is_break() {
                return;
            }
        }
        if open.is_empty() {
            apart.insert(first, later);
        } else {
            crowded.push(later);
        }
    }
}

/// First and last memory element of a buffer on a tile.
fn elements(buffer: &Buffer, tile: LogicalTile) -> Option<(Element, Element)> {
    let first = buffer.address(tile)?;
    let last = Address(first.0.checked_add(buffer.bytes.0.saturating_sub(1))?);
    Some((Element::of(first)?, Element::of(last)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stored() -> impl Strategy<Value = Vec<Stored>> {
        let one = (0..40u32, 0..8u32, 0..40u32, 0..8u32).prop_map(|(start, bytes, first, steps)| Stored {
            start,
            end: start + bytes,
            lifetime: Lifetime { first, last: first + steps },
            buffer: BufferId(0),
        });
        proptest::collection::vec(one, 0..60).prop_map(|mut all| {
            all.sort_by_key(|stored| stored.start);
            for (index, stored) in all.iter_mut().enumerate() {
                stored.buffer = BufferId(index as u32);
            }
            all
        })
    }

    proptest! {
        #[test]
        fn all_pairs_that_share_bytes_while_both_live_are_found(stored in stored()) {
            let mut found = Vec::new();
            for_each_overlap(&stored, |earlier, later| {
                found.push((earlier.buffer, later.buffer));
                ControlFlow::Continue(())
            });
            found.sort_unstable();
            let mut wanted = Vec::new();
            for (place, later) in stored.iter().enumerate() {
                for earlier in &stored[..place] {
                    if earlier.end > later.start && earlier.lifetime.overlaps(later.lifetime) {
                        wanted.push((earlier.buffer, later.buffer));
                    }
                }
            }
            wanted.sort_unstable();
            prop_assert_eq!(found, wanted);
        }
    }
}
