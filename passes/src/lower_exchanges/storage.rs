//! Where buffers live, for who checks the finished program: addresses from the placement, lifetimes in exchange phases.

use std::ops::RangeInclusive;

use indexmap::IndexMap;
use ipu_device::{Address, LogicalTile};
use ipu_dialects::exchange::Step;
use ipu_dialects::exchange::lifetimes::{Lifetime, Lifetimes};
use ipu_dialects::tile::Storage;

use super::Lowering;

/// Address and lifetime of a buffer on some of its tiles.
type Place = (Address, Option<RangeInclusive<u32>>);

impl Lowering<'_> {
    /// The buffers that some step uses, one entry for the tiles with equal address and lifetime.
    pub(super) fn storage(&self) -> Vec<Storage> {
        let lifetimes = Lifetimes::of(self.program);
        let phases = Phases::of(&self.program.steps);
        let mut storage = Vec::new();
        for (id, buffer) in self.program.buffer_ids().zip(&self.program.buffers) {
            let mut places: IndexMap<Place, Vec<LogicalTile>> = IndexMap::new();
            for (slot, &tile) in buffer.tiles.iter().enumerate() {
                let (Some(lifetime), Some(address)) = (lifetimes.on(id, slot), buffer.address(tile)) else {
                    continue;
                };
                places.entry((address, phases.of_lifetime(lifetime))).or_default().push(tile);
            }
            storage.extend(places.into_iter().map(|((address, live), tiles)| Storage {
                source: Some(buffer.op),
                buffer: buffer.name.clone(),
                address,
                size: buffer.bytes,
                live,
                tiles,
            }));
        }
        storage
    }
}

/// By step: phases begun up to and with it; nothing if phases repeat, then their numbers say nothing of steps.
struct Phases(Option<Vec<u32>>);

impl Phases {
    fn of(steps: &[Step]) -> Self {
        if steps.iter().any(|step| matches!(step, Step::Repeat { .. })) {
            return Self(None);
        }
        let begun = steps.iter().scan(0, |begun, step| {
            *begun += u32::from(matches!(step, Step::Phase(_)));
            Some(*begun)
        });
        Self(Some(begun.collect()))
    }

    fn of_lifetime(&self, lifetime: Lifetime) -> Option<RangeInclusive<u32>> {
        let begun = self.0.as_ref().filter(|_| lifetime != Lifetime::ALWAYS)?;
        let of_step = |step: u32| begun.get(step as usize).copied();
        Some(of_step(lifetime.first)?..=of_step(lifetime.last)?)
    }
}
