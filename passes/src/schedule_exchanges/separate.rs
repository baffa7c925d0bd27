//! Which storages a schedule takes to lie in different memory elements: those that some tile reads and writes at the
//! same time.

use super::problem::Problem;
use super::validate::accesses;

/// Pairs of storages, the lower first, ascending, each once. Only pairs with an unplaced member: between placed ones
/// the schedule obeys the addresses.
pub(crate) fn separate_edges(problem: &Problem, sends: &[u32]) -> Vec<(u32, u32)> {
    let mut edges = Vec::new();
    let unplaced = |storage: u32| problem.storages[storage as usize].address.is_none();
    let mut tiles = accesses(problem, sends);
    for tile in &mut tiles {
        tile.reads.sort_unstable();
        tile.writes.sort_unstable();
        let mut first = 0;
        for read in &tile.reads {
            // Writes are disjoint but for their guard events, so they end in the order in which they begin.
            while tile.writes.get(first).is_some_and(|write| write.end <= read.begin) {
                first += 1;
            }
            for write in tile.writes[first..].iter().take_while(|write| write.begin < read.end) {
                if unplaced(read.storage) || unplaced(write.storage) {
                    edges.push((read.storage.min(write.storage), read.storage.max(write.storage)));
                }
            }
        }
    }
    edges.sort_unstable();
    edges.dedup();
    edges
}
