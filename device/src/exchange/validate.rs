//! The rules of an exchange phase.
//!
//! 1. A tile's sends do not overlap, nor a send and a loan of the tile's lane.
//! 2. Mux windows of a tile's receives do not overlap, nor do their write windows.
//! 3. Two controls share an event only as an ordinary source and a pointer.
//! 4. No control falls on events `S` and `S + 1` of a message that starts at `S`.
//! 5. The format is switched on after every ordinary write: its event is at least the last ordinary write + 1.
//! 6. No control falls before event 1; a message starts at 0 or later.
//! 7. A message has a receiver other than its sender; a 64-bit message reaches both members of a pair; lengths agree
//!    and addresses are aligned.
//!
//! Memory elements are the matter of [`super::banks`].

use super::schedule_error::{Offender, Role, ScheduleCode, ScheduleError};
use super::timeline::{Control, ControlAction, LATEST_START, Receive, Timeline};
use super::transfer::{ItemWidth, Transfer};
use crate::memory_map::{MEMORY_BASE, MEMORY_END};
use crate::units::{Address, Bytes, Event, PhysicalTile, Words};

/// Longest transfer: all of a tile's memory.
const MOST_WORDS: Words = Words((MEMORY_END.0 - MEMORY_BASE.0) / 4);

/// Checks what a transfer says on its own (rules 6 and 7).
pub(super) fn check_transfer(transfer: &Transfer, index: u32, errors: &mut Vec<ScheduleError>) {
    let mut report = |code, tile, role, detail: String| {
        let first = Some(Offender { transfer: index, role });
        errors.push(ScheduleError { code, tile, event: transfer.start, first, second: None, detail });
    };
    let source = transfer.source;
    if transfer.start < Event(0) || transfer.start > LATEST_START {
        report(
            ScheduleCode::BadEvent,
            source,
            Role::Send,
            format!("a message starts at 0 to {}", LATEST_START.0),
        );
    }
    let item_words = transfer.width.words();
    if transfer.words == Words(0)
        || transfer.words > MOST_WORDS
        || !transfer.words.0.is_multiple_of(item_words)
    {
        let detail =
            format!("{} words, expected 1 to {MOST_WORDS}, a multiple of {item_words}", transfer.words.0);
        report(ScheduleCode::WrongLength, source, Role::Send, detail);
    }
    let align = Bytes(4 * item_words);
    if let Some(detail) = address_problem(transfer.source_address, transfer.words, align) {
        report(ScheduleCode::BadAddress, source, Role::Send, detail);
    }
    for receiver in &transfer.receivers {
        let total = receiver.pieces.iter().fold(0_u64, |sum, piece| sum + u64::from(piece.words.0));
        let uneven = receiver
            .pieces
            .iter()
            .any(|piece| piece.words.0 == 0 || !piece.words.0.is_multiple_of(item_words));
        if total != u64::from(transfer.words.0) || uneven {
            let detail = format!("pieces hold {total} words, the message {}", transfer.words.0);
            report(ScheduleCode::WrongLength, receiver.tile, Role::Receive, detail);
        }
        for piece in &receiver.pieces {
            if let Some(detail) = address_problem(piece.address, piece.words, align) {
                report(ScheduleCode::BadAddress, receiver.tile, Role::Write, detail);
            }
        }
        let reached = |tile: PhysicalTile| transfer.receivers.iter().any(|other| other.tile == tile);
        if transfer.width == ItemWidth::Paired64 && !reached(receiver.tile.partner()) {
            let detail = format!("its partner, physical {}, must receive too", receiver.tile.partner());
            report(ScheduleCode::MissingPairMember, receiver.tile, Role::Receive, detail);
        }
    }
    if transfer.receivers.iter().all(|receiver| receiver.tile == source) {
        report(ScheduleCode::SourceOnlyLoopback, source, Role::Send, "use a local copy".to_owned());
    }
}

/// Why words cannot lie at `address`.
fn address_problem(address: Address, words: Words, align: Bytes) -> Option<String> {
    let end = u64::from(address.0) + 4 * u64::from(words.0);
    if !address.is_aligned(align) {
        Some(format!("address {address} is not a multiple of {}", align.0))
    } else if address < MEMORY_BASE || end > u64::from(MEMORY_END.0) {
        Some(format!("addresses {address} to 0x{end:x} lie outside the tile's memory"))
    } else {
        None
    }
}

/// Checks what a tile's messages do to each other (rules 1 to 6).
pub(super) fn check_timeline(timeline: &Timeline, errors: &mut Vec<ScheduleError>) {
    let mut checker = Checker { tile: timeline.tile, errors };
    checker.sends(timeline);
    checker.receives(timeline);
    checker.controls(timeline);
    checker.formats(timeline);
}

/// A span of events and whose it is.
type Span = (Event, Event, Offender);

struct Checker<'a> {
    tile: PhysicalTile,
    errors: &'a mut Vec<ScheduleError>,
}

impl Checker<'_> {
    fn report(
        &mut self,
        code: ScheduleCode,
        event: Event,
        first: Offender,
        second: Option<Offender>,
        detail: &str,
    ) {
        let (tile, detail) = (self.tile, detail.to_owned());
        self.errors.push(ScheduleError { code, tile, event, first: Some(first), second, detail });
    }

    /// Reports each span that starts before the one that reaches furthest so far has ended.
    fn disjoint(&mut self, code: impl Fn(Role, Role) -> ScheduleCode, mut spans: Vec<Span>) {
        spans.sort_by_key(|(start, end, offender)| (*start, *end, offender.transfer));
        let mut furthest: Option<Span> = None;
        for span in spans {
            match furthest {
                Some((_, end, before)) if span.0 < end => {
                    self.report(code(before.role, span.2.role), span.0, before, Some(span.2), "");
                }
                _ => {}
            }
            if furthest.is_none_or(|(_, end, _)| end < span.1) {
                furthest = Some(span);
            }
        }
    }

    fn sends(&mut self, timeline: &Timeline) {
        let sends = timeline
            .sends
            .iter()
            .map(|send| (send.start, send.end(), Offender { transfer: send.transfer, role: Role::Send }));
        let lends = timeline
            .lends
            .iter()
            .map(|lend| (lend.start, lend.end, Offender { transfer: lend.transfer, role: Role::Lend }));
        let code = |first, second| match (first, second) {
            (Role::Send, Role::Send) => ScheduleCode::OverlappingSends,
            _ => ScheduleCode::LentLaneInUse,
        };
        self.disjoint(code, sends.chain(lends).collect());
    }

    fn receives(&mut self, timeline: &Timeline) {
        let span =
            |receive: &Receive, start, end, role| (start, end, Offender { transfer: receive.transfer, role });
        let mux = timeline.receives.iter().map(|receive| {
            span(receive, receive.arrival.source_event, receive.arrival.source_end, Role::Receive)
        });
        self.disjoint(|_, _| ScheduleCode::OverlappingReceives, mux.collect());
        let writes = timeline.receives.iter().map(|receive| {
            let end = receive.arrival.last_write + Event(1);
            span(receive, receive.arrival.first_write, end, Role::Write)
        });
        self.disjoint(|_, _| ScheduleCode::OverlappingWrites, writes.collect());
    }

    fn controls(&mut self, timeline: &Timeline) {
        let offender =
            |control: &Control| Offender { transfer: control.transfer, role: control.action.role() };
        for control in &timeline.controls {
            if control.event < Event(1) {
                self.report(
                    ScheduleCode::BadEvent,
                    control.event,
                    offender(control),
                    None,
                    "a control falls on event 1 or later",
                );
            }
            // The last send that starts at or before the event is the only one that can touch it.
            let after = timeline.sends.partition_point(|send| send.start <= control.event);
            let send = after.checked_sub(1).and_then(|index| timeline.sends.get(index));
            if let Some(send) = send.filter(|send| control.event.0 <= send.start.0 + 1) {
                let sender = Offender { transfer: send.transfer, role: Role::Send };
                self.report(
                    ScheduleCode::ControlAtSendStart,
                    control.event,
                    offender(control),
                    Some(sender),
                    "move one by an event",
                );
            }
        }
        for group in timeline.controls.chunk_by(|a, b| a.event == b.event) {
            match group {
                [_] => {}
                [a, b]
                    if matches!(
                        (a.action, b.action),
                        (ControlAction::Source(_), ControlAction::Pointer(_))
                    ) => {}
                [a, b, ..] => {
                    let detail = "only an ordinary source and a pointer may share an event";
                    self.report(
                        ScheduleCode::CoincidentControls,
                        a.event,
                        offender(a),
                        Some(offender(b)),
                        detail,
                    );
                }
                [] => {}
            }
        }
    }

    /// Every ordinary write before a 64-bit message ends an event before the format is switched on.
    fn formats(&mut self, timeline: &Timeline) {
        let mut order: Vec<&Receive> = timeline.receives.iter().collect();
        order.sort_by_key(|receive| (receive.arrival.first_write, receive.transfer));
        let mut ordinary: Option<&Receive> = None;
        for receive in order {
            let Some(paired) = receive.arrival.paired else {
                ordinary = Some(receive);
                continue;
            };
            let late = ordinary.filter(|ordinary| paired.format_on.0 <= ordinary.arrival.last_write.0);
            if let Some(ordinary) = late {
                let format = Offender { transfer: receive.transfer, role: Role::Format };
                let write = Offender { transfer: ordinary.transfer, role: Role::Write };
                let detail = "the format is switched on after the last ordinary write";
                self.report(ScheduleCode::FormatWhileWriting, paired.format_on, write, Some(format), detail);
            }
        }
    }
}
