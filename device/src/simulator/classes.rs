//! Classes of like tiles: tiles whose memory and state are equal are simulated once.
//!
//! A class stays together while it does nothing that depends on which tile it is. What does (sending, listening to a
//! tile, reading the tile's id) splits it, and every member goes on alone with a shared copy of the memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::hash::HashMap;

use crate::memory_map::LOAD_BASE;
use crate::package::Segment;
use crate::topology::TILE_COUNT;
use crate::units::{Address, Bytes, PhysicalTile};

use super::core_state::Core;
use super::fault::{Fault, FaultCode};
use super::memory::{PagePool, TileMemory};

/// Tiles in one state.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    /// In ascending order, never empty.
    pub(crate) members: Vec<PhysicalTile>,
    pub(crate) core: Core,
    pub(crate) memory: TileMemory,
    /// Writable data of the image: first byte and the first behind it.
    pub(crate) writable: Arc<[(u32, u32)]>,
    pub(crate) fault: Option<Fault>,
}

impl Class {
    /// The first member.
    pub(crate) fn lead(&self) -> PhysicalTile {
        self.members.first().copied().unwrap_or_default()
    }
}

/// All tiles, each in one class.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    pub(crate) all: Vec<Class>,
    /// The class of a physical tile.
    index: Vec<u32>,
}

impl Classes {
    pub(crate) fn new(all: Vec<Class>) -> Self {
        let mut classes = Self { all, index: Vec::new() };
        classes.reindex();
        classes
    }

    fn reindex(&mut self) {
        self.index = vec![u32::MAX; usize::from(TILE_COUNT)];
        for (position, class) in self.all.iter().enumerate() {
            for tile in &class.members {
                if let Some(slot) = self.index.get_mut(usize::from(tile.0)) {
                    *slot = position as u32;
                }
            }
        }
    }

    /// The class that holds `tile`.
    pub(crate) fn of(&self, tile: PhysicalTile) -> Option<&Class> {
        let position = *self.index.get(usize::from(tile.0))?;
        self.all.get(position as usize)
    }

    /// The class of `tile` alone, split off if it shared one.
    pub(crate) fn alone(&mut self, tile: PhysicalTile) -> Option<&mut Class> {
        let position = *self.index.get(usize::from(tile.0))? as usize;
        if self.all.get(position)?.members.len() > 1 {
            let shared = &mut self.all[position];
            shared.members.retain(|&member| member != tile);
            let own = Class { members: vec![tile], ..shared.clone() };
            self.all.push(own);
            self.reindex();
        }
        let position = *self.index.get(usize::from(tile.0))? as usize;
        self.all.get_mut(position)
    }

    /// Splits the classes that `chosen` picks into single tiles; says whether there was one.
    pub(crate) fn split(&mut self, chosen: impl Fn(&Class) -> bool) -> bool {
        let mut added = Vec::new();
        for class in self.all.iter_mut().filter(|class| class.members.len() > 1 && chosen(class)) {
            let rest = class.members.split_off(1);
            added.extend(rest.into_iter().map(|tile| Class { members: vec![tile], ..class.clone() }));
        }
        let any = !added.is_empty();
        if any {
            self.all.append(&mut added);
            self.reindex();
        }
        any
    }
}

/// Images as the loader hands them over, collected until the machine starts.
#[derive(Debug, Default)]
pub(crate) struct Images {
    groups: Vec<ImageGroup>,
    /// The group of an image and its segments, by their addresses in the simulator's own memory.
    known: HashMap<(usize, usize), usize>,
    /// The group of each loaded tile.
    loaded: BTreeMap<PhysicalTile, usize>,
    /// What the package says each tile's image holds; without it the whole image counts as written.
    segments: BTreeMap<PhysicalTile, Arc<[Segment]>>,
}

#[derive(Debug)]
struct ImageGroup {
    image: Arc<[u8]>,
    segments: Option<Arc<[Segment]>>,
}

impl ImageGroup {
    fn memory(&self) -> Result<TileMemory, Fault> {
        let mut memory = TileMemory::new();
        let refuse = |_error| {
            let message = format!("an image of {} bytes does not fit from {LOAD_BASE}", self.image.len());
            Fault::of_machine(FaultCode::Machine, message)
        };
        let Some(segments) = &self.segments else {
            memory.write(LOAD_BASE, &self.image).map_err(refuse)?;
            return Ok(memory);
        };
        for segment in segments.iter() {
            memory.fill_zero(segment.address, segment.size).map_err(refuse)?;
            let start = segment.address.0.saturating_sub(LOAD_BASE.0) as usize;
            let end = self.image.len().min(start + segment.size.0 as usize);
            if let Some(bytes) = self.image.get(start..end) {
                memory.write(Address(segment.address.0.max(LOAD_BASE.0)), bytes).map_err(refuse)?;
            }
        }
        Ok(memory)
    }

    /// Segments that are written while the program runs.
    fn writable(&self) -> Arc<[(u32, u32)]> {
        let segments = self.segments.iter().flat_map(|segments| segments.iter());
        let data = segments.filter(|segment| segment.flags.is_writable());
        data.map(|segment| (segment.address.0, segment.address.0.saturating_add(segment.size.0))).collect()
    }
}

impl Images {
    /// Says which bytes of a tile's image are data; the rest of the image is padding that was never written.
    pub(crate) fn declare(&mut self, tile: PhysicalTile, segments: Arc<[Segment]>) {
        self.segments.insert(tile, segments);
    }

    pub(crate) fn load(&mut self, tile: PhysicalTile, image: &Arc<[u8]>) {
        let segments = self.segments.get(&tile);
        // A group keeps its image and segments alive, so their addresses stay theirs.
        let segments_at = segments.map_or(0, |segments| Arc::as_ptr(segments).cast::<u8>() as usize);
        let key = (Arc::as_ptr(image).cast::<u8>() as usize, segments_at);
        let group = *self.known.entry(key).or_insert_with(|| {
            self.groups.push(ImageGroup { image: Arc::clone(image), segments: segments.cloned() });
            self.groups.len() - 1
        });
        self.loaded.insert(tile, group);
    }

    pub(crate) fn loaded(&self) -> usize {
        self.loaded.len()
    }

    /// One class an image.
    pub(crate) fn classes(&self) -> Result<Classes, Fault> {
        let mut members: Vec<Vec<PhysicalTile>> = vec![Vec::new(); self.groups.len()];
        for (&tile, &group) in &self.loaded {
            members[group].push(tile);
        }
        let mut all = Vec::with_capacity(self.groups.len());
        let mut pool = PagePool::default();
        for (group, members) in self.groups.iter().zip(members).filter(|(_, members)| !members.is_empty()) {
            let mut memory = group.memory()?;
            memory.share_pages(&mut pool);
            let writable = group.writable();
            all.push(Class { members, core: Core::at_start(), memory, writable, fault: None });
        }
        Ok(Classes::new(all))
    }

    /// Bytes that the loader cannot tell from data when no segments are declared.
    pub(crate) fn is_mapped(image: &[u8]) -> bool {
        Address(LOAD_BASE.0)
            .checked_add(Bytes(image.len() as u32))
            .is_some_and(|end| end <= crate::memory_map::LOAD_END)
    }
}
