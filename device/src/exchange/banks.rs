//! Memory element rules of an exchange phase.
//!
//! A send and a receive of one tile that overlap in events must not touch a common element; a pair of interleaved
//! elements counts as one. A send holds its elements from start to end, a receive from its first write to its
//! horizon. Code that runs during the phase, the row first of all, keeps its elements to itself, 64 bytes of fetch
//! lookahead included.

use std::ops::Range;

use super::schedule_error::{Offender, Role, ScheduleCode, ScheduleError};
use super::timeline::{Receive, Send, Timeline};
use crate::memory_map::{Element, FETCH_LOOKAHEAD};
use crate::units::{Address, Bytes};

/// A set of elements, one bit each by [`Element::index`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ElementSet(u32);

impl ElementSet {
    /// The elements that hold the bytes `start..start + length`; unmapped addresses hold none.
    #[must_use]
    pub fn of_range(start: Address, length: Bytes) -> Self {
        let Some(last) = length.0.checked_sub(1).and_then(|last| start.checked_add(Bytes(last))) else {
            return Self::default();
        };
        match (Element::of(start), Element::of(last)) {
            (Some(first), Some(last)) => {
                Self((first.index()..=last.index()).fold(0, |set, index| set | 1 << index))
            }
            _ => Self::default(),
        }
    }

    /// The elements in either set.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The elements in both sets.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

fn send_elements(send: &Send) -> ElementSet {
    ElementSet::of_range(send.address, Bytes(send.items.saturating_mul(4 * send.control.item_words())))
}

fn receive_elements(receive: &Receive) -> ElementSet {
    receive
        .pieces
        .iter()
        .map(|piece| ElementSet::of_range(piece.address, piece.words.bytes()))
        .fold(ElementSet::default(), ElementSet::union)
}

/// Every clash between a tile's sends, receives, and the code that runs meanwhile.
#[must_use]
pub fn check_banks(timeline: &Timeline, code: &[Range<Address>]) -> Vec<ScheduleError> {
    let mut errors = Vec::new();
    let executed = code
        .iter()
        .map(|range| {
            let length = range.end.0.saturating_sub(range.start.0).saturating_add(FETCH_LOOKAHEAD.0);
            ElementSet::of_range(range.start, Bytes(length))
        })
        .fold(ElementSet::default(), ElementSet::union);
    let mut report = |event, first, second, detail: &str| {
        let (code, tile, detail) = (ScheduleCode::BankConflict, timeline.tile, detail.to_owned());
        errors.push(ScheduleError { code, tile, event, first: Some(first), second, detail });
    };
    let sender = |send: &Send| Offender { transfer: send.transfer, role: Role::Send };
    let writer = |receive: &Receive| Offender { transfer: receive.transfer, role: Role::Write };
    for receive in &timeline.receives {
        if !receive_elements(receive).intersection(executed).is_empty() {
            report(
                receive.arrival.first_write,
                writer(receive),
                None,
                "its element holds code that runs meanwhile",
            );
        }
    }
    for send in &timeline.sends {
        let elements = send_elements(send);
        if !elements.intersection(executed).is_empty() {
            report(send.start, sender(send), None, "its element holds code that runs meanwhile");
        }
        // Receives are in order of mux window, and so of writes up to the one event by which pairs differ.
        let from = timeline.receives.partition_point(|receive| receive.arrival.horizon.0 + 1 < send.start.0);
        for receive in &timeline.receives[from..] {
            let (first, end) = (receive.arrival.first_write, receive.arrival.horizon);
            if first.0 > send.end().0 + 1 {
                break;
            }
            let together = first < send.end() && send.start < end;
            if together && !receive_elements(receive).intersection(elements).is_empty() {
                report(first.max(send.start), sender(send), Some(writer(receive)), "they share an element");
            }
        }
    }
    errors
}
