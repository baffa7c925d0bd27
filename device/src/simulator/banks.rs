//! Memory elements during an exchange: nothing arbitrates, so users of one element must not meet in time.
//!
//! Rules (hardware notes on tile memory, section 4), on one tile, with the windows of rule 2:
//!
//! - a send reads over the row times `[start, start + items)`, a receive writes over `[first write, last write + 6)`;
//!   the two may not overlap in one element;
//! - neither may touch an element from which instructions are fetched meanwhile, 64 bytes of look-ahead included;
//! - an interleaved pair of elements counts as one.

use crate::memory_map::{ELEMENT_PAIR_SIZE, ELEMENT_SIZE, Element, INTERLEAVED_BASE};
use crate::units::{Address, PhysicalTile};

use super::fabric::{Movement, Participant};
use super::fault::{Fault, FaultCode};
use super::timeline::FetchSpan;

/// Row times for which a receive holds its element beyond the last write.
const WRITE_GUARD: i64 = 5;
/// Elements of a tile, pairs counted once.
const ELEMENTS: usize = 26;

/// One element in use over the row times `from..to`.
#[derive(Clone, Copy)]
struct Span {
    from: i64,
    to: i64,
    address: u32,
}

/// What one tile's transfers use, by element.
#[derive(Clone)]
struct Usage {
    reads: [Vec<Span>; ELEMENTS],
    writes: [Vec<Span>; ELEMENTS],
}

impl Default for Usage {
    fn default() -> Self {
        Self { reads: std::array::from_fn(|_| Vec::new()), writes: std::array::from_fn(|_| Vec::new()) }
    }
}

/// The first clash of every participant.
pub(crate) fn check(participants: &[Participant<'_>], movement: &Movement) -> Vec<Fault> {
    let mut by_receiver: Vec<Vec<usize>> = vec![Vec::new(); participants.len()];
    for (index, delivery) in movement.deliveries.iter().enumerate() {
        by_receiver[delivery.receiver as usize].push(index);
    }
    let mut faults = Vec::new();
    for (participant, deliveries) in participants.iter().zip(by_receiver) {
        let mut usage = Usage::default();
        for run in &participant.timeline.sends {
            let (item, start) = (run.control.item_bytes(), run.first - 1);
            split(run.address, run.items, item, start, |element, span| usage.reads[element].push(span));
        }
        for index in deliveries {
            let delivery = &movement.deliveries[index];
            split(delivery.to, delivery.items, delivery.item_bytes, delivery.written, |element, span| {
                usage.writes[element].push(span);
            });
        }
        faults.extend(first_clash(participant.tile, &usage, &participant.timeline.fetches));
    }
    faults
}

/// Cuts consecutive items at the borders of elements.
fn split(address: u32, items: u32, item_bytes: u32, start: i64, mut put: impl FnMut(usize, Span)) {
    let mut done = 0;
    while done < items {
        let at = address.wrapping_add(done * item_bytes);
        let Some(element) = Element::of(Address(at)) else {
            done += 1;
            continue;
        };
        let size = if at < INTERLEAVED_BASE.0 { ELEMENT_SIZE.0 } else { ELEMENT_PAIR_SIZE.0 };
        let here = ((size - at % size).div_ceil(item_bytes)).min(items - done);
        let from = start + i64::from(done);
        put(element.index(), Span { from, to: from + i64::from(here), address: at });
        done += here;
    }
}

fn first_clash(tile: PhysicalTile, usage: &Usage, fetches: &[FetchSpan]) -> Option<Fault> {
    let mut first: Option<Fault> = None;
    let mut keep = |fault: Fault| {
        if first.as_ref().is_none_or(|first| fault.moment < first.moment) {
            first = Some(fault);
        }
    };
    for element in 0..ELEMENTS {
        let (reads, writes) = (&usage.reads[element], &usage.writes[element]);
        if let Some((read, write, at)) = first_overlap(reads, writes, WRITE_GUARD) {
            let address = Address(write.address);
            let message = format!(
                "a send reads {} and a receive writes {address} in one element ({}) at row times {} to {} and {} to {}",
                Address(read.address),
                element_name(address),
                read.from,
                read.to,
                write.from,
                write.to + WRITE_GUARD
            );
            keep(Fault::on(tile, FaultCode::ClashSendReceive, message).at_event(at).at_address(address));
        }
        for (spans, what) in [(reads, "a send reads"), (writes, "a receive writes")] {
            if spans.is_empty() {
                continue;
            }
            let fetched: Vec<Span> = fetches
                .iter()
                .filter(|fetch| fetch.elements >> element & 1 == 1)
                .map(|fetch| Span { from: fetch.from, to: fetch.to, address: 0 })
                .collect();
            if let Some((_, span, at)) = first_overlap(&fetched, spans, 0) {
                let address = Address(span.address);
                let message = format!(
                    "{what} {address} in {}, from which instructions are being fetched",
                    element_name(address)
                );
                keep(Fault::on(tile, FaultCode::ClashFetch, message).at_event(at).at_address(address));
            }
        }
    }
    first
}

fn element_name(address: Address) -> String {
    Element::of(address).map_or_else(|| "no element".into(), |element| element.to_string())
}

/// The first pair of spans that overlap when those of `right` last `guard` longer. Both are in order of time.
fn first_overlap(left: &[Span], right: &[Span], guard: i64) -> Option<(Span, Span, i64)> {
    let (mut l, mut r) = (0, 0);
    while let (Some(a), Some(b)) = (left.get(l), right.get(r)) {
        if a.to <= b.from {
            l += 1;
        } else if b.to + guard <= a.from {
            r += 1;
        } else if a.from < a.to {
            return Some((*a, *b, a.from.max(b.from)));
        } else {
            l += 1;
        }
    }
    None
}
