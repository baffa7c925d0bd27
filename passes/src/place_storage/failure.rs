//! Why a placement failed: which buffers collide, on which tile, when, and what would help.

use std::fmt;

use ipu_device::memory_map::MemoryClass;
use ipu_device::{Coded, LogicalTile, coded_enum};

use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef;

use super::problem::{Lifetime, PlacementProblem};
use super::search::{blocked_ranges, gaps};
use super::units::{Conflict, INTERLEAVED_REGION, PLAIN_REGION, Region, Units, element_hull};

coded_enum! {
    /// Why buffers cannot be placed.
    pub enum PlaceCode {
        /// A buffer, edge or group that makes no sense.
        Malformed = "P0301", "malformed placement problem",
        /// An edge inside one allocation.
        SeparateFromItself = "P0302", "buffers of one allocation must lie in different elements",
        /// Fixed addresses that contradict each other.
        FixedCollide = "P0303", "fixed addresses collide",
        /// A buffer or group longer than its region.
        TooLarge = "P0304", "allocation larger than its region",
        /// More bytes alive than memory.
        PeakExceeded = "P0305", "more bytes alive than a tile has",
        /// More interleaved bytes alive than region 1.
        InterleavedExceeded = "P0306", "more interleaved bytes alive than region 1 has",
        /// Enough bytes, too few elements.
        ElementsExhausted = "P0307", "too few memory elements to keep buffers apart",
        /// Enough bytes, no run of them.
        Fragmented = "P0308", "no run of free memory is long enough",
        /// A warning: a placement exists only for other start times.
        TimesDropped = "P0309", "start times dropped for a placement",
    }
}

/// Buffers that cannot be placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceError {
    /// The kind.
    pub code: PlaceCode,
    /// What found no place, where, how much was wanted and available.
    pub message: String,
    /// The buffers that collide, largest first, one a line.
    pub notes: Vec<String>,
    /// What would help.
    pub help: Option<String>,
    /// The buffers concerned, the one without a place first.
    pub buffers: Vec<u32>,
    /// A tile on which they collide.
    pub tile: Option<LogicalTile>,
}

impl PlaceError {
    pub(crate) fn new(code: PlaceCode, message: String) -> Self {
        Self { code, message, notes: Vec::new(), help: None, buffers: Vec::new(), tile: None }
    }
}

impl fmt::Display for PlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.code(), self.message)?;
        for note in &self.notes {
            write!(f, "\n  {note}")?;
        }
        match &self.help {
            Some(help) => write!(f, "\n  help: {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for PlaceError {}

/// Buffers listed in a message, at most.
const LISTED: usize = 8;

/// Refuses fixed units that collide with each other.
pub(crate) fn explain_fixed(problem: &PlacementProblem, units: &Units) -> Result<(), PlaceError> {
    for (index, unit) in units.units.iter().enumerate() {
        let Some(at) = unit.fixed else { continue };
        for &(id, offset) in &unit.members {
            let buffer = &problem.buffers[id as usize];
            if buffer.fixed.is_some_and(|fixed| fixed.0 != at.wrapping_add(offset)) {
                let message = format!("buffer `{}` is fixed away from its place in its group", buffer.name);
                let buffers = unit.members.iter().map(|&(id, _)| id).collect();
                return Err(PlaceError { buffers, ..PlaceError::new(PlaceCode::FixedCollide, message) });
            }
        }
        let end = at.checked_add(unit.bytes);
        if !unit.regions().iter().any(|region| at >= region.0 && end.is_some_and(|end| end <= region.1)) {
            let message = format!("{} does not fit its region there", describe(problem, units, index));
            return Err(PlaceError {
                buffers: ids(units, &[index]),
                ..PlaceError::new(PlaceCode::FixedCollide, message)
            });
        }
        for edge in units.conflicts.edges(NodeIndex::new(index)) {
            let other = edge.target().index();
            let Some(other_at) = units.units[other].fixed.filter(|_| other > index) else { continue };
            let range = (at, at.saturating_add(unit.bytes));
            let other_range = (other_at, other_at.saturating_add(units.units[other].bytes));
            let apart = *edge.weight() == Conflict::Separate;
            let (first, second) =
                if apart { (element_hull(range), element_hull(other_range)) } else { (range, other_range) };
            if first.0 < second.1 && second.0 < first.1 {
                return Err(fixed_collision(problem, units, [index, other], apart));
            }
        }
    }
    Ok(())
}

fn fixed_collision(problem: &PlacementProblem, units: &Units, pair: [usize; 2], apart: bool) -> PlaceError {
    let [first, second] = pair.map(|unit| describe(problem, units, unit));
    let tiles = units.units[pair[0]].tiles.intersection(&units.units[pair[1]].tiles);
    let what = if apart { "share an element but must be apart" } else { "overlap while both are alive" };
    let message = format!("fixed addresses {what} on tiles {tiles}");
    PlaceError {
        notes: vec![first, second],
        help: Some("move one of them, or leave its address to the allocator".to_owned()),
        buffers: pair.iter().flat_map(|&unit| units.units[unit].members.iter().map(|&(id, _)| id)).collect(),
        tile: tiles.iter().next(),
        ..PlaceError::new(PlaceCode::FixedCollide, message)
    }
}

fn name(problem: &PlacementProblem, units: &Units, unit: usize) -> String {
    let members = &units.units[unit].members;
    let first = members.first().map_or("", |&(id, _)| problem.buffers[id as usize].name.as_str());
    match members.len() {
        1 => format!("`{first}`"),
        count => format!("group of `{first}` and {} more", count - 1),
    }
}

fn describe(problem: &PlacementProblem, units: &Units, index: usize) -> String {
    let unit = &units.units[index];
    let at = unit.fixed.map_or(String::new(), |at| format!(", fixed at 0x{at:x}"));
    let (name, class) = (name(problem, units, index), unit.class.name());
    format!("{name}: {} bytes, {class}, {}{at}", unit.bytes, unit.lifetime)
}

/// A step on a tile at which much is alive.
struct Moment {
    tile: LogicalTile,
    step: u32,
    /// Units alive, largest first.
    alive: Vec<usize>,
    bytes: u64,
    available: u64,
}

/// Explains why `failed` has no address beside those placed.
pub(crate) fn explain(
    problem: &PlacementProblem,
    units: &Units,
    failed: usize,
    addresses: &[Option<u32>],
) -> PlaceError {
    let Some(unit) = units.units.get(failed) else {
        return PlaceError::new(PlaceCode::Malformed, "nothing to place".to_owned());
    };
    let interleaved = unit.class == MemoryClass::Interleaved;
    let longest = unit.regions().iter().map(|region| region.1 - region.0).max().unwrap_or(0);
    let tight = fullest(problem, units, failed, interleaved);
    let whole = if interleaved { fullest(problem, units, failed, false) } else { None };
    let over =
        |moment: &Option<Moment>| moment.as_ref().is_some_and(|moment| moment.bytes > moment.available);
    let what = describe(problem, units, failed);
    if unit.bytes > longest {
        let message = format!("no region holds {what}; the longest has {longest} bytes");
        let help = "use more tiles, or split it where it is one allocation of several buffers".to_owned();
        let error = PlaceError::new(PlaceCode::TooLarge, message);
        return PlaceError { help: Some(help), buffers: ids(units, &[failed]), ..error };
    }
    if over(&tight) || over(&whole) {
        let (moment, interleaved) = if over(&tight) { (tight, interleaved) } else { (whole, false) };
        return peak_error(problem, units, failed, moment, interleaved);
    }
    shape_error(problem, units, failed, addresses, tight)
}

fn peak_error(
    problem: &PlacementProblem,
    units: &Units,
    failed: usize,
    moment: Option<Moment>,
    interleaved: bool,
) -> PlaceError {
    let what = name(problem, units, failed);
    let Some(moment) = moment else {
        return PlaceError::new(PlaceCode::PeakExceeded, format!("no address for {what}"));
    };
    let Moment { tile, step, bytes, available, .. } = moment;
    let (code, kind) = match interleaved {
        true => (PlaceCode::InterleavedExceeded, "interleaved bytes"),
        false => (PlaceCode::PeakExceeded, "bytes"),
    };
    let message = format!(
        "no address for {what} on tile {tile}: {bytes} {kind} are alive at step {step}, {available} exist"
    );
    let short = bytes - available;
    let help = match interleaved {
        true => {
            format!("free {short} bytes: make buffers standard, end lifetimes earlier, or use more tiles")
        }
        false => format!("free {short} bytes: end lifetimes earlier, stream weights, or use more tiles"),
    };
    located(PlaceError::new(code, message), problem, units, failed, &moment, help)
}

/// Enough bytes exist: elements or runs are lacking.
fn shape_error(
    problem: &PlacementProblem,
    units: &Units,
    failed: usize,
    addresses: &[Option<u32>],
    moment: Option<Moment>,
) -> PlaceError {
    let unit = &units.units[failed];
    let partners: Vec<usize> = units
        .conflicts
        .edges(NodeIndex::new(failed))
        .filter(|edge| *edge.weight() == Conflict::Separate)
        .map(|edge| edge.target().index())
        .collect();
    let mut relaxed = units.clone();
    relaxed.conflicts.edge_weights_mut().for_each(|conflict| *conflict = Conflict::Overlap);
    let largest = |units: &Units| {
        let blocked = blocked_ranges(units, failed, addresses);
        let regions = unit.regions().iter().flat_map(|&region: &Region| gaps(region, &blocked));
        regions.map(|(begin, end)| end - begin).max().unwrap_or(0)
    };
    let what = describe(problem, units, failed);
    let tile = moment.as_ref().map_or(LogicalTile(0), |moment| moment.tile);
    let gap = largest(units);
    if !partners.is_empty() && largest(&relaxed) >= unit.bytes {
        let message = format!("no element is left for {what} on tile {tile}");
        let notes = partners.iter().take(LISTED);
        let notes: Vec<String> = notes
            .map(|&other| format!("apart from {}", describe_placed(problem, units, other, addresses)))
            .collect();
        let help =
            "drop an `exchange.separate` edge by rescheduling with these addresses, or shorten lifetimes";
        let mut concerned = vec![failed];
        concerned.extend(&partners);
        let error = PlaceError::new(PlaceCode::ElementsExhausted, message);
        let buffers = ids(units, &concerned);
        return PlaceError { notes, help: Some(help.to_owned()), buffers, tile: Some(tile), ..error };
    }
    let message = format!("no run of free memory for {what} on tile {tile}; the longest has {gap} bytes");
    let help =
        "split the allocation, lower its alignment, or free fixed addresses and reservations".to_owned();
    let error = PlaceError::new(PlaceCode::Fragmented, message);
    match moment {
        Some(moment) => located(error, problem, units, failed, &moment, help),
        None => PlaceError { help: Some(help), buffers: ids(units, &[failed]), ..error },
    }
}

fn describe_placed(
    problem: &PlacementProblem,
    units: &Units,
    unit: usize,
    addresses: &[Option<u32>],
) -> String {
    let described = describe(problem, units, unit);
    match addresses.get(unit).copied().flatten().filter(|_| units.units[unit].fixed.is_none()) {
        Some(at) => format!("{described}, at 0x{at:x}"),
        None => described,
    }
}

fn ids(units: &Units, concerned: &[usize]) -> Vec<u32> {
    concerned.iter().flat_map(|&unit| units.units[unit].members.iter().map(|&(id, _)| id)).collect()
}

fn located(
    error: PlaceError,
    problem: &PlacementProblem,
    units: &Units,
    failed: usize,
    moment: &Moment,
    help: String,
) -> PlaceError {
    let mut notes: Vec<String> =
        moment.alive.iter().take(LISTED).map(|&unit| describe(problem, units, unit)).collect();
    if let Some(more) = moment.alive.len().checked_sub(LISTED).filter(|&more| more > 0) {
        notes.push(format!("and {more} smaller ones"));
    }
    let mut concerned = vec![failed];
    concerned.extend(moment.alive.iter().filter(|&&unit| unit != failed));
    PlaceError { notes, help: Some(help), buffers: ids(units, &concerned), tile: Some(moment.tile), ..error }
}

/// The tile and step of `unit`'s life at which most bytes are alive against what exists then.
fn fullest(problem: &PlacementProblem, units: &Units, unit: usize, interleaved: bool) -> Option<Moment> {
    let own = &units.units[unit];
    let mut fullest: Option<Moment> = None;
    for (tiles, held) in units.tile_classes() {
        let Some(tile) = tiles.intersection(&own.tiles).iter().next() else { continue };
        let counted =
            |&&other: &&u32| !interleaved || units.units[other as usize].class == MemoryClass::Interleaved;
        let held: Vec<usize> = held.iter().filter(counted).map(|&other| other as usize).collect();
        let starts = held.iter().map(|&other| units.units[other].lifetime.first.max(own.lifetime.first));
        for step in starts.filter(|&step| step <= own.lifetime.last) {
            let now = Lifetime { first: step, last: step };
            let mut alive: Vec<usize> =
                held.iter().copied().filter(|&other| units.units[other].lifetime.overlaps(now)).collect();
            let bytes = alive.iter().map(|&other| u64::from(units.units[other].bytes)).sum();
            let available = available(problem, tile, now, interleaved);
            let excess = |bytes: u64, available: u64| bytes as i64 - available as i64;
            let better =
                fullest.as_ref().is_none_or(|m| excess(bytes, available) > excess(m.bytes, m.available));
            if better {
                alive.sort_by_key(|&other| (std::cmp::Reverse(units.units[other].bytes), other));
                fullest = Some(Moment { tile, step, alive, bytes, available });
            }
        }
    }
    fullest
}

/// Bytes of a tile that no reservation takes.
fn available(problem: &PlacementProblem, tile: LogicalTile, now: Lifetime, interleaved: bool) -> u64 {
    let whole = (PLAIN_REGION.0, INTERLEAVED_REGION.1);
    let region = if interleaved { INTERLEAVED_REGION } else { whole };
    let mut taken: Vec<(u32, u32)> = problem
        .reservations
        .iter()
        .filter(|reservation| reservation.tiles.contains(tile) && reservation.lifetime.overlaps(now))
        .map(|reservation| (reservation.begin.0, reservation.end.0))
        .collect();
    taken.sort_unstable();
    gaps(region, &taken).iter().map(|(begin, end)| u64::from(end - begin)).sum()
}
