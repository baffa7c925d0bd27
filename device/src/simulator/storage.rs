//! The sanitizer of buffers: which bytes of each tile belong to which buffer, and during which exchange phases.
//!
//! Rules kept here, for tiles of a program that says where its buffers are ([`StorageMap`]): a write must lie in buffers
//! that are live, in writable data of the image, or in the runtime's own memory, so every byte between buffers is a canary;
//! when a buffer's last phase has ended its bytes count as unwritten, so a late reader, or a reader of the next buffer there
//! that comes before its writer, faults instead of getting old bytes. A byte that a buffer live in both phases covers stays.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::memory_map::{FREE_DATA_BASE, HOST_WINDOW};
use crate::units::{Address, Bytes, PhysicalTile};

use super::classes::{Class, Classes};
use super::fault::{Fault, FaultCode};
use super::memory::Writable;

/// Bytes of a buffer on a tile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Storage {
    /// The buffer, for messages.
    pub name: Arc<str>,
    /// First byte.
    pub address: Address,
    /// Length.
    pub size: Bytes,
    /// Exchange phases from whose sync to whose end the bytes matter: 0 is the time before the first phase. `None` is always.
    pub live: Option<RangeInclusive<u32>>,
}

impl Storage {
    fn end(&self) -> u32 {
        self.address.0.saturating_add(self.size.0)
    }

    fn holds(&self, address: Address) -> bool {
        (self.address.0..self.end()).contains(&address.0)
    }

    fn is_live(&self, phase: u32) -> bool {
        self.live.as_ref().is_none_or(|live| live.contains(&phase))
    }

    /// `` `a_full` (0x64000 to 0x64800) ``
    fn text(&self) -> String {
        format!("`{}` ({} to {})", self.name, self.address, Address(self.end()))
    }

    /// ` in phases 1 to 3`; empty for always.
    fn lifetime(&self) -> String {
        match &self.live {
            None => String::new(),
            Some(live) => match (*live.start(), *live.end()) {
                (0, 0) => " before the first phase".to_owned(),
                (0, last) => format!(" until phase {last}"),
                (first, last) if first == last => format!(" in phase {first}"),
                (first, last) => format!(" in phases {first} to {last}"),
            },
        }
    }
}

/// The buffers of every tile. A map without any asks for no checks.
#[derive(Debug, Clone, Default)]
pub struct StorageMap {
    tiles: BTreeMap<PhysicalTile, Vec<Storage>>,
}

impl StorageMap {
    /// Adds bytes of a buffer on `tile`.
    pub fn add(&mut self, tile: PhysicalTile, storage: Storage) {
        self.tiles.entry(tile).or_default().push(storage);
    }

    /// Whether no tile has a buffer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tiles.is_empty()
    }

    pub(crate) fn on(&self, tile: PhysicalTile) -> &[Storage] {
        self.tiles.get(&tile).map_or(&[], Vec::as_slice)
    }

    /// Lets no tile share a class with one whose buffers are others.
    pub(crate) fn separate(&self, classes: &mut Classes) {
        let mixed = |class: &Class| {
            let own = self.on(class.lead());
            class.members.iter().any(|&tile| self.on(tile) != own)
        };
        classes.split(mixed);
    }

    /// Phase `phase` begins: what died with the phase before is forgotten, and writes are held to what is live now.
    pub(crate) fn enter(&self, phase: u32, classes: &mut Classes) {
        for class in &mut classes.all {
            let storages = self.on(class.lead());
            if let Some(before) = phase.checked_sub(1) {
                let dying =
                    storages.iter().filter(|storage| storage.is_live(before) && !storage.is_live(phase));
                let kept =
                    storages.iter().filter(|storage| storage.is_live(before) && storage.is_live(phase));
                let kept: Vec<_> = kept.map(|storage| (storage.address.0, storage.end())).collect();
                for storage in dying {
                    for (start, end) in without((storage.address.0, storage.end()), &kept) {
                        class.memory.forget(Address(start), Bytes(end - start));
                    }
                }
            }
            let live = storages.iter().filter(|storage| storage.is_live(phase));
            let mut ranges: Vec<(u32, u32)> =
                live.map(|storage| (storage.address.0, storage.end())).collect();
            ranges.push((HOST_WINDOW.0, FREE_DATA_BASE.0));
            ranges.extend(class.writable.iter().copied());
            class.memory.restrict(Writable::of(ranges));
        }
    }

    /// The fault, with the buffer that its address belongs or belonged to.
    pub(crate) fn explain(&self, mut fault: Fault, phase: u32) -> Fault {
        let (Some(tile), Some(address)) = (fault.tile(), fault.address) else { return fault };
        let known =
            matches!(fault.code, FaultCode::Unwritten | FaultCode::UnwrittenSend | FaultCode::StrayWrite);
        if self.is_empty() || !known {
            return fault;
        }
        let storages = self.on(tile);
        let here = || storages.iter().filter(|storage| storage.holds(address));
        let before = || {
            storages.iter().filter(|storage| storage.end() <= address.0).max_by_key(|storage| storage.end())
        };
        let note = if let Some(storage) = here().find(|storage| storage.is_live(phase)) {
            format!("it belongs to {}", storage.text())
        } else if let Some(storage) = here().next_back() {
            format!("{} lived there{} and is dead", storage.text(), storage.lifetime())
        } else if let Some(storage) = before() {
            let gap = match address.0 - storage.end() {
                0 => "right".to_owned(),
                bytes => Bytes(bytes).to_string(),
            };
            format!("no buffer lies there, {gap} behind {}", storage.text())
        } else {
            "no buffer lies there".to_owned()
        };
        fault.message = format!("{}; {note}", fault.message);
        fault
    }
}

/// The parts of a range outside of `holes`, in order.
fn without((start, end): (u32, u32), holes: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut holes: Vec<(u32, u32)> =
        holes.iter().copied().filter(|hole| hole.0 < end && start < hole.1).collect();
    holes.sort_unstable();
    let mut parts = Vec::new();
    let mut next = start;
    for hole in holes {
        if hole.0 > next {
            parts.push((next, hole.0));
        }
        next = next.max(hole.1);
    }
    if next < end {
        parts.push((next, end));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holes_leave_of_a_range_is_in_order() {
        assert_eq!(without((10, 20), &[]), [(10, 20)]);
        assert_eq!(without((10, 20), &[(18, 30), (5, 12), (14, 15)]), [(12, 14), (15, 18)]);
        assert_eq!(without((10, 20), &[(0, 15), (12, 40)]), []);
    }
}
