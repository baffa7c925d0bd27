//! Which words arrive where and when: the event-time model of the exchange, on runs of items.
//!
//! Rules (hardware notes on the exchange, section 4), for receiver `d`, source `s`, `T = time_to_mux(s, d)` and
//! `R` the row of `d`:
//!
//! - an item sent at `tau` meets the mux at `e = tau + T`; it is accepted iff the last source control at or before
//!   `e` selects `s` and the item leaves in the direction of `d`;
//! - it is written at `w = e + 52 + 2R`, through the cursor after every pointer control at or before `w`; the
//!   cursor then advances by the item's size. Nothing else moves the cursor;
//! - a double-width source is selected by one member of a pair, its partner follows one event later; both members
//!   write at `tau + max(T, T of the partner) + 52 + 2R`;
//! - a format control at `f` governs what is written from `f + 2` on; ordinary words must all be written before
//!   a double-width format is set.
//!
//! Acceptance does not depend on data, so all of it is decided before any word moves. Work is per receiver and
//! per run of items; nothing visits pairs of tiles or single words.

use crate::topology::{Direction, NEUTRAL_SOURCE, TILE_COUNT, direction, early_member, time_to_mux};
use crate::units::{Address, PhysicalTile};

use super::fault::{Fault, FaultCode, tile_name};
use super::timeline::{SendRun, Timeline};

/// Events by which a format control precedes the first item that it governs.
const FORMAT_LEAD: i64 = 2;
/// No participant.
const NONE: u32 = u32::MAX;

/// A tile that takes part in an exchange.
pub(crate) struct Participant<'a> {
    pub(crate) tile: PhysicalTile,
    pub(crate) timeline: &'a Timeline,
}

/// Items of one send that one receiver writes to consecutive addresses on consecutive events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// Index of the sender among the participants.
    pub(crate) sender: u32,
    /// Index of the receiver among the participants.
    pub(crate) receiver: u32,
    /// The first item leaves at this event of the sender.
    pub(crate) sent: i64,
    /// The first item is written at this event of the receiver.
    pub(crate) written: i64,
    pub(crate) items: u32,
    pub(crate) item_bytes: u32,
    /// Byte address of the first item on the sender.
    pub(crate) from: u32,
    /// Byte address of the first item on the receiver.
    pub(crate) to: u32,
}

impl Delivery {
    /// First event after the last write.
    pub(crate) fn written_end(&self) -> i64 {
        self.written + i64::from(self.items)
    }

    pub(crate) fn bytes(&self) -> u32 {
        self.items * self.item_bytes
    }
}

/// All movement of one exchange.
#[derive(Debug, Default)]
pub(crate) struct Movement {
    pub(crate) deliveries: Vec<Delivery>,
    /// The receive cursor of each participant when all is over.
    pub(crate) cursors: Vec<Option<u32>>,
    /// Words each participant received.
    pub(crate) received_words: Vec<u32>,
    pub(crate) faults: Vec<Fault>,
}

/// Decides all movement of one exchange.
pub(crate) fn resolve(participants: &[Participant<'_>]) -> Movement {
    let mut index = vec![NONE; usize::from(TILE_COUNT)];
    for (position, participant) in participants.iter().enumerate() {
        if let Some(slot) = index.get_mut(usize::from(participant.tile.0)) {
            *slot = position as u32;
        }
    }
    let fabric = Fabric { participants, index };
    let mut movement = Movement::default();
    for receiver in 0..participants.len() {
        fabric.check_lane(receiver, &mut movement.faults);
        fabric.receive(receiver, &mut movement);
    }
    movement
}

struct Fabric<'a> {
    participants: &'a [Participant<'a>],
    /// Participant of a physical tile.
    index: Vec<u32>,
}

/// Items of one send that a receiver's mux accepts.
#[derive(Clone, Copy)]
struct Accepted {
    sender: u32,
    run: SendRun,
    /// Event at which the first item is written.
    written: i64,
    direction: Direction,
}

impl Accepted {
    fn written_end(&self) -> i64 {
        self.written + i64::from(self.run.items)
    }
}

impl Fabric<'_> {
    fn participant(&self, tile: u16) -> Option<(u32, &Participant<'_>)> {
        let position = *self.index.get(usize::from(tile))?;
        self.participants.get(position as usize).map(|participant| (position, participant))
    }

    /// A double-width send occupies the transmit lane of the sender's partner.
    fn check_lane(&self, sender: usize, faults: &mut Vec<Fault>) {
        let Participant { tile, timeline } = &self.participants[sender];
        let Some((_, partner)) = self.participant(tile.partner().0) else { return };
        let other = &partner.timeline.sends;
        for run in timeline.sends.iter().filter(|run| run.control.is_wide()) {
            let position = other.partition_point(|theirs| theirs.end() <= run.first);
            if let Some(theirs) = other.get(position).filter(|theirs| theirs.first < run.end()) {
                let message = format!(
                    "sends while {} borrows its lane for a 64-bit send at events {} to {}",
                    tile_name(*tile),
                    run.first,
                    run.end() - 1
                );
                let fault = Fault::on(partner.tile, FaultCode::LaneBorrowed, message);
                faults.push(fault.at_event(theirs.first.max(run.first)));
                return;
            }
        }
    }

    fn receive(&self, receiver: usize, movement: &mut Movement) {
        let timeline = self.participants[receiver].timeline;
        let mut accepted = Vec::new();
        self.accept_ordinary(receiver, &mut accepted, &mut movement.faults);
        self.accept_paired(receiver, &mut accepted, &mut movement.faults);
        accepted.sort_by_key(|accepted| accepted.written);
        self.check_format(receiver, &accepted, &mut movement.faults);
        let words = accepted.iter().map(|one| one.run.items * one.run.control.item_bytes() / 4).sum();
        movement.received_words.push(words);
        let cursor = if accepted.is_empty() {
            timeline.cursor.last()
        } else {
            self.place(receiver, &accepted, movement)
        };
        movement.cursors.push(cursor);
    }

    /// Ordinary words: the source selected by selector 0.
    fn accept_ordinary(&self, receiver: usize, accepted: &mut Vec<Accepted>, faults: &mut Vec<Fault>) {
        let Participant { tile, timeline } = &self.participants[receiver];
        for (start, end, source) in timeline.source.intervals() {
            let Some((sender, participant)) = self.participant(source) else { continue };
            let time = time_to_mux(participant.tile, *tile);
            let toward = direction(participant.tile, *tile);
            for run in heard(&participant.timeline.sends, start - time, end - time, toward) {
                if run.control.is_wide() {
                    let message = format!(
                        "a 64-bit item of {} reaches the ordinary source; select it as a paired source",
                        tile_name(participant.tile)
                    );
                    let fault = Fault::on(*tile, FaultCode::FormatMismatch, message);
                    faults.push(fault.at_event(run.first + time + tile.mux_to_write()));
                    continue;
                }
                if participant.tile == *tile && run.control.directions() != 3 {
                    let message = "selects itself while its send leaves in one direction; loopback works only beside \
                                   a remote receiver, with both directions driven";
                    faults.push(Fault::on(*tile, FaultCode::Loopback, message).at_event(run.first));
                    continue;
                }
                let written = run.first + time + tile.mux_to_write();
                accepted.push(Accepted { sender, run, written, direction: toward });
            }
        }
    }

    /// Double words: the source selected by selector 1 on this tile or, one event earlier, on its partner.
    fn accept_paired(&self, receiver: usize, accepted: &mut Vec<Accepted>, faults: &mut Vec<Fault>) {
        let Participant { tile, timeline } = &self.participants[receiver];
        let partner = self.participant(tile.partner().0).map(|(_, partner)| partner);
        if !timeline.listens_paired() && partner.is_none_or(|partner| !partner.timeline.listens_paired()) {
            return;
        }
        for (start, end, source) in paired_intervals(*tile, timeline, partner) {
            let Some((sender, participant)) = self.participant(source) else { continue };
            let time = time_to_mux(participant.tile, *tile);
            let late = i64::from(early_member(participant.tile, *tile) == *tile);
            let toward = direction(participant.tile, *tile);
            for run in heard(&participant.timeline.sends, start - time, end - time, toward) {
                let written = run.first + time + late + tile.mux_to_write();
                if run.control.is_wide() {
                    accepted.push(Accepted { sender, run, written, direction: toward });
                } else {
                    let message =
                        format!("a 32-bit word of {} reaches the paired source", tile_name(participant.tile));
                    faults.push(Fault::on(*tile, FaultCode::FormatMismatch, message).at_event(written));
                }
            }
        }
    }

    /// Each item must find its own format, and no two items may be written at one event.
    fn check_format(&self, receiver: usize, accepted: &[Accepted], faults: &mut Vec<Fault>) {
        let Participant { tile, timeline } = &self.participants[receiver];
        let mismatch = |event: i64, message: String| {
            Fault::on(*tile, FaultCode::FormatMismatch, message).at_event(event)
        };
        if let Some(pair) = accepted.windows(2).find(|pair| pair[0].written_end() > pair[1].written) {
            faults.push(mismatch(
                pair[1].written,
                "an ordinary and a double-width item arrive together".into(),
            ));
        }
        let uniform = timeline.format.changes.is_empty();
        for one in accepted {
            let (first, end) = (one.written, one.written_end());
            let needed = if one.run.control.is_wide() { one.direction.bits() as u8 } else { 0 };
            if uniform && timeline.format.initial == needed {
                continue;
            }
            // An ordinary word must be written before the format is set, a double word from `FORMAT_LEAD` on.
            let lead = |format: u8| if needed == 0 && format != 0 { 0 } else { FORMAT_LEAD };
            let wrong = timeline.format.intervals().find_map(|(from, to, format)| {
                let event = first.max(from + lead(format));
                (format != needed && event < end.min(to + FORMAT_LEAD)).then_some((event, format))
            });
            if let Some((event, format)) = wrong {
                let width = if needed == 0 { 32 } else { 64 };
                let message =
                    format!("a {width}-bit item needs receive format {needed}, the format is {format}");
                faults.push(mismatch(event, message));
                return;
            }
        }
    }

    /// Gives accepted items their addresses; returns the cursor after the last.
    fn place(&self, receiver: usize, accepted: &[Accepted], movement: &mut Movement) -> Option<u32> {
        let Participant { tile, timeline } = &self.participants[receiver];
        let (mut cursor, mut next) = (timeline.cursor.initial, 0);
        let controls = &timeline.cursor.changes;
        for one in accepted {
            let item_bytes = one.run.control.item_bytes();
            let mut done = 0;
            while done < one.run.items {
                let event = one.written + i64::from(done);
                while let Some(&(_, value)) = controls.get(next).filter(|&&(at, _)| at <= event) {
                    (cursor, next) = (value, next + 1);
                }
                let change = controls.get(next).map_or(i64::MAX, |&(at, _)| at);
                let end = one.written_end().min(change).min(next_change(timeline, event));
                let items = (end - event) as u32;
                let Some(at) = cursor else {
                    let message = format!(
                        "a word of {} arrives and the tile has set no receive pointer yet",
                        tile_name(self.participants[one.sender as usize].tile)
                    );
                    movement.faults.push(Fault::on(*tile, FaultCode::NoPointer, message).at_event(event));
                    done += items;
                    continue;
                };
                movement.deliveries.push(Delivery {
                    sender: one.sender,
                    receiver: receiver as u32,
                    sent: one.run.first + i64::from(done),
                    written: event,
                    items,
                    item_bytes,
                    from: one.run.address.wrapping_add(done * item_bytes),
                    to: timeline.incoming_base.at(event).wrapping_add(at),
                });
                cursor = Some(at.wrapping_add(items * item_bytes));
                done += items;
            }
        }
        controls.get(next..).and_then(<[_]>::last).map_or(cursor, |&(_, value)| value)
    }
}

/// The next event after `event` at which the receive base changes.
fn next_change(timeline: &Timeline, event: i64) -> i64 {
    let changes = &timeline.incoming_base.changes;
    changes.get(changes.partition_point(|&(at, _)| at <= event)).map_or(i64::MAX, |&(at, _)| at)
}

/// The parts of `sends` whose items leave at `start..end` toward `toward`.
fn heard(sends: &[SendRun], start: i64, end: i64, toward: Direction) -> impl Iterator<Item = SendRun> + '_ {
    let bit = toward.bits() as u8;
    let first = sends.partition_point(|run| run.end() <= start);
    sends[first..].iter().take_while(move |run| run.first < end).filter_map(move |run| {
        let (from, to) = (run.first.max(start), run.end().min(end));
        let skipped = (from - run.first) as u32;
        (run.control.directions() & bit != 0 && from < to).then(|| SendRun {
            first: from,
            items: (to - from) as u32,
            address: run.address.wrapping_add(skipped * run.control.item_bytes()),
            control: run.control,
        })
    })
}

/// Intervals over which `tile` listens to a double-width source, its own selections and its partner's merged.
fn paired_intervals(
    tile: PhysicalTile,
    timeline: &Timeline,
    partner: Option<&Participant<'_>>,
) -> Vec<(i64, i64, u16)> {
    // A selection names the sender for a member with bit 1 clear and the sender's partner for one with it set.
    let sender = |member: PhysicalTile, value: u16| {
        if value == NEUTRAL_SOURCE { NEUTRAL_SOURCE } else { value ^ (member.0 & 2) }
    };
    let mut initial = sender(tile, timeline.paired_source.initial);
    let mut changes = Vec::new();
    if let Some(partner) = partner {
        let theirs = &partner.timeline.paired_source;
        if initial == NEUTRAL_SOURCE {
            initial = sender(partner.tile, theirs.initial);
        }
        changes.extend(theirs.changes.iter().map(|&(at, value)| (at + 1, sender(partner.tile, value))));
    }
    changes.extend(timeline.paired_source.changes.iter().map(|&(at, value)| (at, sender(tile, value))));
    // The sort is stable: at equal events the tile's own selection comes after its partner's and stands.
    changes.sort_by_key(|&(at, _)| at);
    changes.insert(0, (i64::MIN / 2, initial));
    let ends = changes[1..].iter().map(|&(at, _)| at).chain(std::iter::once(i64::MAX / 2));
    let ends: Vec<i64> = ends.collect();
    changes.into_iter().zip(ends).map(|((start, source), end)| (start, end, source)).collect()
}

/// The fault of a delivery whose destination leaves tile memory, at the first such item.
pub(crate) fn bad_pointer(
    receiver: PhysicalTile,
    sender: PhysicalTile,
    address: Address,
    event: i64,
) -> Fault {
    let message = format!(
        "a word of {} arrives through a pointer to {address}, outside tile memory; the pointer control is late or \
         missing",
        tile_name(sender)
    );
    Fault::on(receiver, FaultCode::BadPointer, message).at_event(event).at_address(address)
}
