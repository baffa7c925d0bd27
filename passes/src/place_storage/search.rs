//! Finds addresses: greedy first, then improvement, over a portfolio of orders.
//!
//! One address for all tiles of a buffer is tried first, because equal addresses keep families of transfers and
//! rows compact. Where that fails, each class of tiles that hold the same buffers is placed by itself.

use std::cmp::Reverse;

use ipu_device::Address;
use ipu_device::memory_map::MemoryClass;
use petgraph::graph::NodeIndex;
use petgraph::unionfind::UnionFind;
use petgraph::visit::EdgeRef;

use super::failure::{PlaceError, explain, explain_fixed};
use super::problem::PlacementProblem;
use super::statistics::{PlacementStatistics, footprint, measure, unit_liveness};
use super::tiles::TileSet;
use super::units::{Conflict, INTERLEAVED_REGION, Region, Unit, Units, element_hull};

/// How hard to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaceOptions {
    /// Most rounds of improvement after the portfolio; each tries one changed order.
    pub rounds: u32,
}

impl Default for PlaceOptions {
    fn default() -> Self {
        Self { rounds: 200 }
    }
}

/// An address of a buffer on some of its tiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Tiles that have this address.
    pub tiles: TileSet,
    /// The address.
    pub at: Address,
}

/// Addresses of all buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// By buffer; one entry where the address is the same on all of its tiles, which is preferred.
    pub buffers: Vec<Vec<Placed>>,
    /// How much memory that takes.
    pub statistics: PlacementStatistics,
}

/// Where in a region a unit goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Policy {
    /// The lowest gap.
    FirstFit,
    /// The smallest gap.
    BestFit,
    /// Where the fewest bytes that nothing else uses at any time are added.
    LeastNew,
}

const POLICIES: [Policy; 3] = [Policy::LeastNew, Policy::FirstFit, Policy::BestFit];

/// A complete or failed run of the greedy placer.
struct Attempt {
    addresses: Vec<Option<u32>>,
    /// The unit that found no address.
    failed: Option<usize>,
}

/// Most repairs of an order whose greedy run fails: the unit that found no place moves to the front.
const REPAIRS: usize = 24;
/// Bounds the work of improvement: rounds x (units + conflicts).
const IMPROVEMENT_WORK: usize = 20_000_000;

/// Places all buffers. The same addresses for the same problem on every machine.
///
/// # Errors
/// A malformed problem, or the buffers that collide, on which tile, and what would help.
pub fn place_storage(problem: &PlacementProblem, options: &PlaceOptions) -> Result<Placement, PlaceError> {
    problem.check()?;
    let units = Units::new(problem, None);
    explain_fixed(problem, &units)?;
    let mut buffers = vec![Vec::new(); problem.buffers.len()];
    match solve(&units, options) {
        Ok(addresses) => record(problem, &units, &addresses, &mut buffers),
        Err(_) => {
            for (tiles, _) in units.tile_classes() {
                let units = Units::new(problem, Some(&tiles));
                let addresses = solve(&units, options).map_err(|attempt| {
                    explain(problem, &units, attempt.failed.unwrap_or(0), &attempt.addresses)
                })?;
                record(problem, &units, &addresses, &mut buffers);
            }
        }
    }
    let statistics = measure(problem, &buffers);
    Ok(Placement { buffers, statistics })
}

fn record(problem: &PlacementProblem, units: &Units, addresses: &[u32], buffers: &mut [Vec<Placed>]) {
    for (unit, &address) in units.units.iter().zip(addresses) {
        for &(id, offset) in &unit.members {
            let tiles = unit.tiles.intersection(&problem.buffers[id as usize].tiles);
            let at = Address(address + offset);
            let entries = &mut buffers[id as usize];
            match entries.iter_mut().find(|placed| placed.at == at) {
                Some(placed) => placed.tiles.extend_from(&tiles),
                None if tiles.is_empty() => {}
                None => entries.push(Placed { tiles, at }),
            }
        }
    }
}

/// Addresses of all units, or the attempt that placed the most bytes.
fn solve(units: &Units, options: &PlaceOptions) -> Result<Vec<u32>, Attempt> {
    let mut addresses = vec![0; units.units.len()];
    for component in components(units) {
        for (unit, address) in solve_component(units, &component, options)? {
            addresses[unit] = address;
        }
    }
    Ok(addresses)
}

/// Units that conflict directly or through others, ascending; components in order of their first unit.
fn components(units: &Units) -> Vec<Vec<usize>> {
    let mut sets = UnionFind::<usize>::new(units.units.len());
    for edge in units.conflicts.raw_edges() {
        sets.union(edge.source().index(), edge.target().index());
    }
    let mut components: indexmap::IndexMap<usize, Vec<usize>> = indexmap::IndexMap::new();
    for unit in 0..units.units.len() {
        components.entry(sets.find(unit)).or_default().push(unit);
    }
    components.into_values().collect()
}

fn solve_component(
    units: &Units,
    component: &[usize],
    options: &PlaceOptions,
) -> Result<Vec<(usize, u32)>, Attempt> {
    let classes = units.classes_within(component);
    let liveness = unit_liveness(units, &classes);
    let mut best: Option<(u64, Vec<usize>, Policy, Attempt)> = None;
    let mut furthest: Option<(u64, Attempt)> = None;
    for mut order in orders(units, component) {
        for policy in POLICIES {
            let attempt = greedy_with_repairs(units, &mut order, policy);
            if attempt.failed.is_some() {
                let placed = placed_bytes(units, &attempt);
                if furthest.as_ref().is_none_or(|&(most, _)| placed > most) {
                    furthest = Some((placed, attempt));
                }
                continue;
            }
            let score = footprint(units, &classes, &attempt.addresses);
            if best.as_ref().is_none_or(|&(least, ..)| score < least) {
                best = Some((score, order.clone(), policy, attempt));
            }
        }
        if best.as_ref().is_some_and(|&(score, ..)| score <= liveness) {
            break;
        }
    }
    let Some((score, order, policy, attempt)) = best else {
        let empty =
            || Attempt { addresses: vec![None; units.units.len()], failed: component.first().copied() };
        return Err(furthest.map_or_else(empty, |(_, attempt)| attempt));
    };
    let attempt = improve(units, &classes, Improvement { score, liveness, order, policy, attempt }, options);
    Ok(component.iter().map(|&unit| (unit, attempt.addresses[unit].unwrap_or(0))).collect())
}

fn placed_bytes(units: &Units, attempt: &Attempt) -> u64 {
    let placed = units.units.iter().zip(&attempt.addresses).filter(|(_, address)| address.is_some());
    placed.map(|(unit, _)| u64::from(unit.bytes)).sum()
}

/// What an order puts first, after fixed units.
#[derive(Debug, Clone, Copy)]
enum First {
    Interleaved,
    Large,
    LargeAndLong,
    Early,
    ManyEdges,
    Long,
}

const ORDERS: [First; 6] =
    [First::Interleaved, First::Large, First::LargeAndLong, First::Early, First::ManyEdges, First::Long];

impl First {
    /// Greater goes first.
    fn key(self, units: &Units, index: usize) -> (u64, u64) {
        let unit = &units.units[index];
        let bytes = u64::from(unit.bytes);
        let steps = u64::from(unit.lifetime.last - unit.lifetime.first) + 1;
        match self {
            Self::Interleaved => (u64::from(unit.class == MemoryClass::Interleaved), bytes),
            Self::Large => (bytes, steps),
            Self::LargeAndLong => (bytes.saturating_mul(steps), bytes),
            Self::Early => (u64::from(u32::MAX - unit.lifetime.first), bytes),
            Self::ManyEdges => {
                let edges = units.conflicts.edges(NodeIndex::new(index));
                (edges.filter(|edge| *edge.weight() == Conflict::Separate).count() as u64, bytes)
            }
            Self::Long => (steps, bytes),
        }
    }
}

/// The portfolio of orders.
fn orders(units: &Units, component: &[usize]) -> Vec<Vec<usize>> {
    let order = |first: First| {
        let mut order = component.to_vec();
        order.sort_by_cached_key(|&index| {
            Reverse((units.units[index].fixed.is_some(), first.key(units, index)))
        });
        order
    };
    ORDERS.into_iter().map(order).collect()
}

fn greedy_with_repairs(units: &Units, order: &mut [usize], policy: Policy) -> Attempt {
    let fixed = order.iter().take_while(|&&unit| units.units[unit].fixed.is_some()).count();
    let mut attempt = greedy(units, order, policy);
    for _ in 0..REPAIRS {
        let Some(failed) = attempt.failed else { break };
        let Some(position) =
            order.iter().position(|&unit| unit == failed).filter(|&position| position > fixed)
        else {
            break;
        };
        order[fixed..=position].rotate_right(1);
        attempt = greedy(units, order, policy);
    }
    attempt
}

fn greedy(units: &Units, order: &[usize], policy: Policy) -> Attempt {
    let mut addresses = vec![None; units.units.len()];
    for &unit in order {
        match find_address(units, unit, &addresses, policy) {
            Some(address) => addresses[unit] = Some(address),
            None => return Attempt { addresses, failed: Some(unit) },
        }
    }
    Attempt { addresses, failed: None }
}

/// Ranges that `unit` may not touch, merged and ascending.
pub(crate) fn blocked_ranges(units: &Units, unit: usize, addresses: &[Option<u32>]) -> Vec<(u32, u32)> {
    let mut blocked = units.units[unit].denied.clone();
    for edge in units.conflicts.edges(NodeIndex::new(unit)) {
        let other = edge.target();
        let Some(address) = addresses[other.index()] else { continue };
        let range = (address, address + units.units[other.index()].bytes);
        let apart = *edge.weight() == Conflict::Separate;
        blocked.push(if apart { element_hull(range) } else { range });
    }
    merged(blocked)
}

/// Ranges sorted, those that meet joined.
fn merged(mut ranges: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    ranges.sort_unstable();
    ranges.dedup_by(|next, kept| {
        let merges = next.0 <= kept.1;
        if merges {
            kept.1 = kept.1.max(next.1);
        }
        merges
    });
    ranges
}

fn find_address(units: &Units, index: usize, addresses: &[Option<u32>], policy: Policy) -> Option<u32> {
    let unit = &units.units[index];
    if unit.fixed.is_some() {
        return unit.fixed;
    }
    let blocked = blocked_ranges(units, index, addresses);
    if policy == Policy::LeastNew {
        return least_new(units, index, addresses, &blocked);
    }
    unit.regions().iter().find_map(|&region| {
        // Standard memory that spills into region 1 keeps away from the interleaved buffers that grow from below.
        let from_top = unit.class == MemoryClass::Standard && region == INTERLEAVED_REGION;
        let mut best: Option<(u32, u32)> = None;
        for (begin, end) in gaps(region, &blocked) {
            let Some(address) = fit(unit, begin, end, from_top) else { continue };
            let gap = if policy == Policy::BestFit { end - begin } else { 0 };
            let better = best.is_none_or(|(least, _)| gap < least || (gap == least && from_top));
            if better {
                best = Some((gap, address));
            }
        }
        best.map(|(_, address)| address)
    })
}

/// The address that adds the fewest bytes to those that units of the same tiles use at some time; among equals the
/// preferred region, then the lowest.
fn least_new(units: &Units, index: usize, addresses: &[Option<u32>], blocked: &[(u32, u32)]) -> Option<u32> {
    let unit = &units.units[index];
    let placed = units.neighbours[index].iter().filter_map(|&other| {
        let address = addresses[other as usize]?;
        Some((address, address + units.units[other as usize].bytes))
    });
    let used = merged(placed.collect());
    let mut best: Option<(u32, usize, u32)> = None;
    for (rank, &region) in unit.regions().iter().enumerate() {
        for (begin, end) in gaps(region, blocked) {
            let inside = used.iter().map(|range| range.0).filter(|&at| at > begin && at < end);
            let ends =
                used.iter().filter_map(|range| range.1.checked_sub(unit.bytes)).filter(|&at| at > begin);
            let starts = std::iter::once(begin).chain(inside).chain(ends.filter(|&at| at < end));
            let bottoms = starts.filter_map(|at| fit(unit, at, end, false));
            for address in bottoms.chain(fit(unit, begin, end, true)) {
                let new = unit.bytes - overlap(&used, (address, address + unit.bytes));
                best = Some(best.map_or((new, rank, address), |least| least.min((new, rank, address))));
            }
        }
    }
    best.map(|(.., address)| address)
}

/// Bytes of `range` that lie in `ranges` (merged, ascending).
fn overlap(ranges: &[(u32, u32)], range: (u32, u32)) -> u32 {
    let first = ranges.partition_point(|&(_, end)| end <= range.0);
    let meeting = ranges[first..].iter().take_while(|&&(begin, _)| begin < range.1);
    meeting.map(|&(begin, end)| end.min(range.1) - begin.max(range.0)).sum()
}

/// The address of `unit` at the bottom or top of a gap.
fn fit(unit: &Unit, begin: u32, end: u32, from_top: bool) -> Option<u32> {
    let address = if from_top {
        end.checked_sub(unit.bytes)? / unit.align * unit.align
    } else {
        begin.checked_next_multiple_of(unit.align)?
    };
    (address >= begin && address.checked_add(unit.bytes)? <= end).then_some(address)
}

/// What `blocked` (merged, ascending) leaves of a region, ascending.
pub(crate) fn gaps(region: Region, blocked: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut gaps = Vec::new();
    let mut cursor = region.0;
    for &(begin, end) in blocked {
        if end <= cursor {
            continue;
        }
        if begin >= region.1 {
            break;
        }
        if begin > cursor {
            gaps.push((cursor, begin));
        }
        cursor = end;
    }
    if cursor < region.1 {
        gaps.push((cursor, region.1));
    }
    gaps
}

/// The state of the search for a smaller footprint.
struct Improvement {
    score: u64,
    liveness: u64,
    order: Vec<usize>,
    policy: Policy,
    attempt: Attempt,
}

/// Moves single units forward in the order and keeps what does not need more memory.
fn improve(units: &Units, classes: &[Vec<usize>], mut state: Improvement, options: &PlaceOptions) -> Attempt {
    let fixed = state.order.iter().take_while(|&&unit| units.units[unit].fixed.is_some()).count();
    let work = state.order.len() + units.conflicts.edge_count();
    let rounds = (options.rounds as usize).min(IMPROVEMENT_WORK / work.max(1));
    let movable = state.order.len() - fixed;
    if movable < 2 {
        return state.attempt;
    }
    let mut choice = 0x9e37_79b9_7f4a_7c15u64;
    for round in 0..rounds {
        if state.score <= state.liveness {
            break;
        }
        choice = choice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let target = fixed + (choice >> 33) as usize % movable;
        let position = match round % 2 {
            0 => topmost(units, &state),
            _ => fixed + (choice >> 17) as usize % movable,
        };
        let mut order = state.order.clone();
        let unit = order.remove(position);
        order.insert(target.min(position), unit);
        let attempt = greedy(units, &order, state.policy);
        if attempt.failed.is_some() {
            continue;
        }
        let score = footprint(units, classes, &attempt.addresses);
        if score <= state.score {
            (state.score, state.order, state.attempt) = (score, order, attempt);
        }
    }
    state.attempt
}

/// Position in the order of the free unit that ends highest in its region.
fn topmost(units: &Units, state: &Improvement) -> usize {
    let height = |unit: usize| {
        let address = state.attempt.addresses[unit].unwrap_or(0);
        let end = address + units.units[unit].bytes;
        if address >= INTERLEAVED_REGION.0 && units.units[unit].class == MemoryClass::Standard {
            u32::MAX - address
        } else {
            end
        }
    };
    let free = state.order.iter().enumerate().filter(|&(_, &unit)| units.units[unit].fixed.is_none());
    free.max_by_key(|&(_, &unit)| height(unit)).map_or(0, |(position, _)| position)
}
