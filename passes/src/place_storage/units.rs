//! What is placed as one piece, and the graph of what conflicts with what.
//!
//! A unit is a buffer or a whole contiguity group. An edge joins units that some tile holds both of and that
//! either live at the same time or must lie in different elements.

use ipu_device::Address;
use ipu_device::memory_map::{ELEMENT_PAIR_SIZE, ELEMENT_SIZE, INTERLEAVED_BASE, MEMORY_BASE, MemoryClass};
use petgraph::graph::{NodeIndex, UnGraph};

use super::problem::{Lifetime, PLACEABLE_END, PlacementProblem};
use super::tiles::TileSet;

/// Why two units cannot have the same addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// They live at the same time.
    Overlap,
    /// They may share no element.
    Separate,
}

/// Something that gets one address.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    /// Buffers and their distance from the unit's address.
    pub(crate) members: Vec<(u32, u32)>,
    pub(crate) bytes: u32,
    pub(crate) align: u32,
    pub(crate) class: MemoryClass,
    pub(crate) tiles: TileSet,
    pub(crate) lifetime: Lifetime,
    pub(crate) fixed: Option<u32>,
    /// Ranges that reservations deny it, sorted.
    pub(crate) denied: Vec<(u32, u32)>,
}

/// A region's bounds.
pub(crate) type Region = (u32, u32);
pub(crate) const PLAIN_REGION: Region = (MEMORY_BASE.0, INTERLEAVED_BASE.0);
pub(crate) const INTERLEAVED_REGION: Region = (INTERLEAVED_BASE.0, PLACEABLE_END.0);

impl Unit {
    /// Regions it may use, the preferred one first.
    pub(crate) fn regions(&self) -> &'static [Region] {
        match self.class {
            MemoryClass::Standard => &[PLAIN_REGION, INTERLEAVED_REGION],
            MemoryClass::Interleaved => &[INTERLEAVED_REGION],
        }
    }
}

/// The units of a problem and their conflicts; node `i` of the graph is unit `i`.
#[derive(Debug, Clone)]
pub(crate) struct Units {
    pub(crate) units: Vec<Unit>,
    pub(crate) conflicts: UnGraph<(), Conflict, u32>,
    /// The other units of each unit's tiles, alive together or not.
    pub(crate) neighbours: Vec<Vec<u32>>,
}

/// The whole elements that `begin..end` touches.
pub(crate) fn element_hull((begin, end): (u32, u32)) -> (u32, u32) {
    let floor = |address: u32| {
        let size = if address < INTERLEAVED_BASE.0 { ELEMENT_SIZE.0 } else { ELEMENT_PAIR_SIZE.0 };
        (address / size * size, size)
    };
    let (first, _) = floor(begin);
    let (last, size) = floor(end.max(begin + 1) - 1);
    (first, last + size)
}

impl Units {
    /// Units of all buffers, held on `only` where given.
    pub(crate) fn new(problem: &PlacementProblem, only: Option<&TileSet>) -> Self {
        let mut grouped = vec![false; problem.buffers.len()];
        let mut lists: Vec<Vec<u32>> =
            problem.groups.iter().filter(|group| !group.is_empty()).cloned().collect();
        lists.iter().flatten().for_each(|&member| grouped[member as usize] = true);
        lists
            .extend((0..problem.buffers.len() as u32).filter(|&id| !grouped[id as usize]).map(|id| vec![id]));
        lists.sort_by_key(|list| list[0]);
        let units: Vec<Unit> = lists
            .iter()
            .map(|list| Self::unit(problem, list))
            .filter_map(|mut unit| match only {
                None => Some(unit),
                Some(only) => {
                    unit.tiles = unit.tiles.intersection(only);
                    (!unit.tiles.is_empty()).then_some(unit)
                }
            })
            .collect();
        let conflicts = Self::conflicts(problem, &units);
        let neighbours = (0..units.len())
            .map(|own| {
                let shares =
                    |&other: &usize| other != own && units[other].tiles.intersects(&units[own].tiles);
                (0..units.len()).filter(shares).map(|other| other as u32).collect()
            })
            .collect();
        Self { units, conflicts, neighbours }
    }

    fn unit(problem: &PlacementProblem, list: &[u32]) -> Unit {
        let first = &problem.buffers[list[0] as usize];
        let mut unit = Unit {
            members: Vec::with_capacity(list.len()),
            bytes: 0,
            align: 1,
            class: MemoryClass::Standard,
            tiles: TileSet::empty(),
            lifetime: first.lifetime,
            fixed: None,
            denied: Vec::new(),
        };
        for &id in list {
            let buffer = &problem.buffers[id as usize];
            let offset = unit.bytes.checked_next_multiple_of(buffer.align.0).unwrap_or(u32::MAX);
            unit.members.push((id, offset));
            unit.bytes = offset.saturating_add(buffer.bytes.0);
            unit.align = unit.align.max(buffer.align.0);
            unit.tiles.extend_from(&buffer.tiles);
            unit.lifetime = unit.lifetime.hull(buffer.lifetime);
            if buffer.class == MemoryClass::Interleaved {
                unit.class = MemoryClass::Interleaved;
            }
            unit.fixed = unit.fixed.or(buffer.fixed.map(|Address(at)| at.wrapping_sub(offset)));
        }
        for reservation in &problem.reservations {
            if reservation.tiles.intersects(&unit.tiles) && reservation.lifetime.overlaps(unit.lifetime) {
                unit.denied.push((reservation.begin.0, reservation.end.0));
            }
        }
        unit.denied.sort_unstable();
        unit
    }

    fn conflicts(problem: &PlacementProblem, units: &[Unit]) -> UnGraph<(), Conflict, u32> {
        let mut conflicts = UnGraph::with_capacity(units.len(), 4 * units.len());
        let mut unit_of = vec![u32::MAX; problem.buffers.len()];
        for (index, unit) in units.iter().enumerate() {
            conflicts.add_node(());
            unit.members.iter().for_each(|&(id, _)| unit_of[id as usize] = index as u32);
        }
        let mut separate: Vec<(u32, u32)> = problem
            .separate
            .iter()
            .map(|&(a, b)| (unit_of[a as usize], unit_of[b as usize]))
            .filter(|&(a, b)| a != u32::MAX && b != u32::MAX)
            .map(|(a, b)| (a.min(b), a.max(b)))
            .collect();
        separate.sort_unstable();
        separate.dedup();
        for (a, first) in units.iter().enumerate() {
            for (b, second) in units.iter().enumerate().skip(a + 1) {
                if !first.tiles.intersects(&second.tiles) {
                    continue;
                }
                let apart = separate.binary_search(&(a as u32, b as u32)).is_ok();
                let conflict = match (apart, first.lifetime.overlaps(second.lifetime)) {
                    (true, _) => Conflict::Separate,
                    (false, true) => Conflict::Overlap,
                    (false, false) => continue,
                };
                conflicts.add_edge(NodeIndex::new(a), NodeIndex::new(b), conflict);
            }
        }
        conflicts
    }

    /// Tiles grouped by the units that they hold: one member of each group, and those units.
    pub(crate) fn tile_classes(&self) -> Vec<(TileSet, Vec<u32>)> {
        let mut classes: indexmap::IndexMap<Vec<u32>, TileSet> = indexmap::IndexMap::new();
        for tile in ipu_device::LogicalTile::all() {
            let held: Vec<u32> = (0..self.units.len() as u32)
                .filter(|&unit| self.units[unit as usize].tiles.contains(tile))
                .collect();
            if !held.is_empty() {
                classes.entry(held).or_insert_with(TileSet::empty).insert(tile);
            }
        }
        classes.into_iter().map(|(held, tiles)| (tiles, held)).collect()
    }
    /// The members of `component` that each distinct class of tiles holds.
    pub(crate) fn classes_within(&self, component: &[usize]) -> Vec<Vec<usize>> {
        let mut classes: indexmap::IndexSet<Vec<usize>> = indexmap::IndexSet::new();
        for tile in ipu_device::LogicalTile::all() {
            let held: Vec<usize> =
                component.iter().copied().filter(|&unit| self.units[unit].tiles.contains(tile)).collect();
            if !held.is_empty() {
                classes.insert(held);
            }
        }
        classes.into_iter().collect()
    }
}
