//! How much memory a placement takes, and the least that any placement needs.

use ipu_device::memory_map::MemoryClass;
use ipu_device::topology::TILE_COUNT;

use super::problem::{Lifetime, PlacementProblem};
use super::search::Placed;
use super::units::Units;

/// Bytes on the fullest tile, each maximum for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Peaks {
    /// Of standard buffers.
    pub standard: u64,
    /// Of interleaved buffers.
    pub interleaved: u64,
    /// Of both together.
    pub total: u64,
}

/// Memory a placement takes against the least possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct PlacementStatistics {
    /// Addresses that are ever used, on the fullest tile.
    pub footprint: Peaks,
    /// Bytes alive at one step, on the fullest tile: no placement can have a smaller footprint.
    pub liveness: Peaks,
    /// Buffers whose address differs between their tiles.
    pub split_buffers: usize,
}

impl Peaks {
    fn raise(&mut self, standard: u64, interleaved: u64, total: u64) {
        self.standard = self.standard.max(standard);
        self.interleaved = self.interleaved.max(interleaved);
        self.total = self.total.max(total);
    }
}

/// Most bytes alive at once, among weighted lifetimes.
pub(crate) fn most_alive(lifetimes: impl Iterator<Item = (Lifetime, u64)>) -> u64 {
    let mut changes: Vec<(u64, bool, u64)> = Vec::new();
    for (lifetime, bytes) in lifetimes {
        changes.push((u64::from(lifetime.first), true, bytes));
        changes.push((u64::from(lifetime.last) + 1, false, bytes));
    }
    changes.sort_unstable();
    let (mut alive, mut most) = (0, 0);
    for (_, begins, bytes) in changes {
        alive = if begins { alive + bytes } else { alive - bytes };
        most = most.max(alive);
    }
    most
}

/// Length of the union of half-open ranges.
pub(crate) fn covered(mut ranges: Vec<(u32, u32)>) -> u64 {
    ranges.sort_unstable();
    let (mut total, mut reached) = (0, 0);
    for (begin, end) in ranges {
        let begin = begin.max(reached);
        if end > begin {
            total += u64::from(end - begin);
            reached = end;
        }
    }
    total
}

/// Bytes alive at one step, tails included: a lower bound on the footprint of every placement.
#[must_use]
pub fn peak_liveness(problem: &PlacementProblem) -> Peaks {
    let mut peaks = Peaks::default();
    for (_, held) in classes(problem) {
        let alive = |wanted: &dyn Fn(MemoryClass) -> bool| {
            let buffers = held.iter().map(|&id| &problem.buffers[id as usize]);
            most_alive(buffers.filter(|b| wanted(b.class)).map(|b| (b.lifetime, u64::from(b.bytes.0))))
        };
        peaks.raise(
            alive(&|class| class == MemoryClass::Standard),
            alive(&|class| class == MemoryClass::Interleaved),
            alive(&|_| true),
        );
    }
    peaks
}

/// One tile of each class of tiles that hold the same buffers, with those buffers.
pub(crate) fn classes(problem: &PlacementProblem) -> Vec<(ipu_device::LogicalTile, Vec<u32>)> {
    let mut classes: indexmap::IndexMap<Vec<u32>, ipu_device::LogicalTile> = indexmap::IndexMap::new();
    for tile in (0..TILE_COUNT).map(ipu_device::LogicalTile) {
        let held: Vec<u32> = (0..problem.buffers.len() as u32)
            .filter(|&id| problem.buffers[id as usize].tiles.contains(tile))
            .collect();
        if !held.is_empty() {
            classes.entry(held).or_insert(tile);
        }
    }
    classes.into_iter().map(|(held, tile)| (tile, held)).collect()
}

/// Statistics of a placement.
pub(crate) fn measure(problem: &PlacementProblem, buffers: &[Vec<Placed>]) -> PlacementStatistics {
    let mut footprint = Peaks::default();
    for (tile, held) in classes(problem) {
        let ranges = |wanted: &dyn Fn(MemoryClass) -> bool| {
            let wanted = held.iter().filter(|&&id| wanted(problem.buffers[id as usize].class));
            let ranges = wanted.filter_map(|&id| {
                let placed = buffers[id as usize].iter().find(|placed| placed.tiles.contains(tile))?;
                Some((placed.at.0, placed.at.0 + problem.buffers[id as usize].bytes.0))
            });
            covered(ranges.collect())
        };
        footprint.raise(
            ranges(&|class| class == MemoryClass::Standard),
            ranges(&|class| class == MemoryClass::Interleaved),
            ranges(&|_| true),
        );
    }
    let split_buffers = buffers.iter().filter(|placed| placed.len() > 1).count();
    PlacementStatistics { footprint, liveness: peak_liveness(problem), split_buffers }
}

/// Addresses ever used on the tile that uses most; `classes` are the units that each class of tiles holds.
pub(crate) fn footprint(units: &Units, classes: &[Vec<usize>], addresses: &[Option<u32>]) -> u64 {
    let range = |unit: usize| addresses[unit].map(|at| (at, at + units.units[unit].bytes));
    let cover = |held: &Vec<usize>| covered(held.iter().filter_map(|&unit| range(unit)).collect());
    classes.iter().map(cover).max().unwrap_or(0)
}

/// The least footprint that the units can have.
pub(crate) fn unit_liveness(units: &Units, classes: &[Vec<usize>]) -> u64 {
    let alive = |held: &Vec<usize>| {
        most_alive(held.iter().map(|&unit| (units.units[unit].lifetime, u64::from(units.units[unit].bytes))))
    };
    classes.iter().map(alive).max().unwrap_or(0)
}
