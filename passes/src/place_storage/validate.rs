//! Checks a placement buffer by buffer and pair by pair on every tile; shares nothing with the search.

use std::fmt;

use ipu_device::memory_map::{ELEMENT_SIZE, Element, INTERLEAVED_BASE, LOAD_END, MEMORY_BASE, MemoryClass};
use ipu_device::{Address, LogicalTile};

use super::problem::PlacementProblem;
use super::search::Placed;

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacementViolation {
    /// The tile.
    pub tile: LogicalTile,
    /// The rule and the buffers.
    pub message: String,
}

impl fmt::Display for PlacementViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tile {}: {}", self.tile, self.message)
    }
}

/// Where one buffer lies on the tile at hand.
#[derive(Clone, Copy)]
struct Span {
    id: u32,
    begin: u32,
    end: u32,
}

impl Span {
    fn elements(self) -> Vec<Element> {
        let step = ELEMENT_SIZE.0;
        let firsts = (self.begin / step..=(self.end - 1) / step).map(|element| element * step);
        firsts.filter_map(|address| Element::of(Address(address))).collect()
    }
}

/// Every broken rule, tile by tile.
#[must_use]
pub fn validate_placement(problem: &PlacementProblem, buffers: &[Vec<Placed>]) -> Vec<PlacementViolation> {
    let mut violations = Vec::new();
    for tile in LogicalTile::all() {
        let mut report = |message: String| violations.push(PlacementViolation { tile, message });
        let spans: Vec<Option<Span>> =
            (0..problem.buffers.len()).map(|id| span(problem, buffers, id, tile, &mut report)).collect();
        for span in spans.iter().flatten() {
            check_alone(problem, *span, tile, &mut report);
        }
        check_pairs(problem, &spans, &mut report);
        check_groups(problem, &spans, &mut report);
    }
    violations
}

fn span(
    problem: &PlacementProblem,
    buffers: &[Vec<Placed>],
    id: usize,
    tile: LogicalTile,
    report: &mut dyn FnMut(String),
) -> Option<Span> {
    let buffer = &problem.buffers[id];
    if !buffer.tiles.contains(tile) {
        return None;
    }
    let mut here = buffers.get(id)?.iter().filter(|placed| placed.tiles.contains(tile));
    match (here.next(), here.next()) {
        (Some(placed), None) => {
            Some(Span { id: id as u32, begin: placed.at.0, end: placed.at.0.saturating_add(buffer.bytes.0) })
        }
        (None, _) => {
            report(format!("`{}` has no address", buffer.name));
            None
        }
        _ => {
            report(format!("`{}` has two addresses", buffer.name));
            None
        }
    }
}

fn check_alone(problem: &PlacementProblem, span: Span, tile: LogicalTile, report: &mut dyn FnMut(String)) {
    let buffer = &problem.buffers[span.id as usize];
    let name = &buffer.name;
    if span.begin < MEMORY_BASE.0 || span.end > LOAD_END.0 {
        report(format!("`{name}` lies outside memory"));
    }
    if !span.begin.is_multiple_of(buffer.align.0) {
        report(format!("`{name}` is not aligned"));
    }
    let in_plain = span.begin < INTERLEAVED_BASE.0;
    if in_plain && (buffer.class == MemoryClass::Interleaved || span.end > INTERLEAVED_BASE.0) {
        report(format!("`{name}` lies in the wrong region or in both"));
    }
    if buffer.fixed.is_some_and(|at| at.0 != span.begin) {
        report(format!("`{name}` is not where it is fixed"));
    }
    let grouped = problem.groups.iter().any(|group| {
        group.contains(&span.id)
            && group.iter().any(|&member| problem.buffers[member as usize].fixed.is_some())
    });
    for reservation in problem.reservations.iter().filter(|_| buffer.fixed.is_none() && !grouped) {
        let meets = reservation.begin.0 < span.end && span.begin < reservation.end.0;
        if meets && reservation.tiles.contains(tile) && reservation.lifetime.overlaps(buffer.lifetime) {
            report(format!("`{name}` lies in `{}`", reservation.name));
        }
    }
}

fn check_pairs(problem: &PlacementProblem, spans: &[Option<Span>], report: &mut dyn FnMut(String)) {
    let name = |span: &Span| &problem.buffers[span.id as usize].name;
    for (index, first) in spans.iter().enumerate() {
        let Some(first) = first else { continue };
        for second in spans.iter().skip(index + 1).flatten() {
            let [a, b] = [first, second].map(|span| problem.buffers[span.id as usize].lifetime);
            let meet = a.first <= b.last && b.first <= a.last;
            if meet && first.begin < second.end && second.begin < first.end {
                report(format!("`{}` and `{}` overlap", name(first), name(second)));
            }
        }
    }
    for &(a, b) in &problem.separate {
        let (Some(first), Some(second)) = (spans[a as usize], spans[b as usize]) else { continue };
        let elements = first.elements();
        if second.elements().iter().any(|element| elements.contains(element)) {
            report(format!("`{}` and `{}` share an element", name(&first), name(&second)));
        }
    }
}

fn check_groups(problem: &PlacementProblem, spans: &[Option<Span>], report: &mut dyn FnMut(String)) {
    for group in &problem.groups {
        let here: Vec<Span> = group.iter().filter_map(|&id| spans[id as usize]).collect();
        if here.len() != group.len() {
            continue;
        }
        for pair in here.windows(2) {
            let align = problem.buffers[pair[1].id as usize].align.0;
            if pair[1].begin != pair[0].end.next_multiple_of(align) {
                let names = [pair[0], pair[1]].map(|span| &problem.buffers[span.id as usize].name);
                report(format!("`{}` does not follow `{}`", names[1], names[0]));
            }
        }
    }
}
