//! How short a phase can be, and why.
//!
//! With `n` events a transfer (words, or half of them when paired), `T` = time to mux, `R` = row of the receiver,
//! `L = T + 52 + 2R`:
//!
//! * **Receiver.** Its windows `[x, x + n)` are disjoint and start at event 1 or later, and at `1 + T` or later
//!   for the source at hand since no send starts before row time 0. So the last window ends at
//!   `1 + words_in + max(0, min T)` or later, its last word is written `52 + 2R` after its mux instant, and the
//!   row runs 6 events past that write: `words_in + 58 + 2R + max(0, min T)`.
//! * **Sender.** Its sends, and those that borrow its lane, are disjoint, and the first one starts at or after
//!   `max(0, -T)` of some destination, or that destination's source select would come before event 1. The last
//!   word leaves `words_out` events later at the earliest and takes at least `min L` to be written, plus 6.
//! * **Transfer and receiver.** Both terms with one message: `n + 58 + 2R + max(0, T)`.
//!
//! The bound is the largest of these. Each holds however messages are cut, resent or ordered, because cutting keeps
//! the words of each end and resending only adds some. A *single-send* bound additionally assumes that a multicast
//! leaves once: `max(0, -min T) + n + max L + 6`.

use ipu_device::topology::{TILE_COUNT, time_to_mux};
use ipu_device::{LogicalTile, PhysicalTile};

use super::problem::{Problem, Transfer, Width};

/// Events between the last write and the earliest end of a row.
pub const GUARD_EVENTS: i64 = 6;

/// What holds the phase up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Words that the critical tile receives.
    Receive,
    /// Words that the critical tile sends or lends its lane for.
    Send,
    /// The route of one transfer.
    Latency,
    /// Nothing moves.
    Empty,
}

/// A lower bound on the length of a phase, in events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Bound {
    /// No schedule is shorter.
    pub events: i64,
    /// No schedule that sends each transfer exactly once is shorter.
    pub single_send_events: i64,
    /// The tile that attains `events`; the receiver for a route.
    pub critical_tile: LogicalTile,
    /// Which term attains it.
    pub limit: Limit,
}

/// Events that one transfer occupies on each of its ends.
pub(crate) fn transfer_events(transfer: &Transfer) -> u32 {
    match transfer.width {
        Width::Word => transfer.words,
        Width::Paired => transfer.words.div_ceil(2),
    }
}

/// The largest of the three terms over all tiles. The problem must have passed [`Problem::check`].
#[must_use]
pub fn lower_bound(problem: &Problem) -> Bound {
    #[derive(Clone, Copy)]
    struct End {
        events: i64,
        start: i64,
        latency: i64,
    }
    const UNUSED: End = End { events: 0, start: i64::MAX, latency: i64::MAX };
    let mut senders = vec![UNUSED; usize::from(TILE_COUNT)];
    let mut receivers = senders.clone();
    let mut bound =
        Bound { events: 0, single_send_events: 0, critical_tile: LogicalTile(0), limit: Limit::Empty };
    let mut raise = |events: i64, tile: LogicalTile, limit: Limit| {
        if events > bound.events {
            (bound.events, bound.critical_tile, bound.limit) = (events, tile, limit);
        }
    };
    let mut single_send = 0;
    for transfer in &problem.transfers {
        let source = transfer.source.physical();
        let events = i64::from(transfer_events(transfer));
        let (mut least, mut latest) = (i64::MAX, 0);
        let mut sender = End { events, ..UNUSED };
        for receiver in problem.receivers_of(transfer) {
            let tile = receiver.tile.physical();
            let time = mux_time(transfer.width, source, tile);
            let latency = time + tile.mux_to_write();
            least = least.min(time);
            latest = latest.max(latency);
            sender.start = sender.start.min((-time).max(0));
            sender.latency = sender.latency.min(latency);
            let end = &mut receivers[usize::from(receiver.tile.0)];
            end.events += events;
            end.start = end.start.min(time);
            raise(events + latency - time + GUARD_EVENTS + time.max(0), receiver.tile, Limit::Latency);
        }
        single_send = single_send.max((-least).max(0) + events + latest + GUARD_EVENTS);
        let lanes =
            [Some(transfer.source), (transfer.width == Width::Paired).then(|| transfer.source.partner())];
        for lane in lanes.into_iter().flatten() {
            let end = &mut senders[usize::from(lane.0)];
            end.events += events;
            end.start = end.start.min(sender.start);
            end.latency = end.latency.min(sender.latency);
        }
    }
    for tile in LogicalTile::all() {
        let (sender, receiver) = (senders[usize::from(tile.0)], receivers[usize::from(tile.0)]);
        if receiver.events > 0 {
            let fixed = tile.physical().mux_to_write() + GUARD_EVENTS;
            raise(receiver.events + fixed + receiver.start.max(0), tile, Limit::Receive);
        }
        if sender.events > 0 {
            raise(sender.events + sender.latency + GUARD_EVENTS + sender.start, tile, Limit::Send);
        }
    }
    bound.single_send_events = single_send.max(bound.events);
    bound
}

/// The event, after a word's send event, of its mux instant; of the earlier member for a pair, which selects for
/// both.
pub(crate) fn mux_time(width: Width, source: PhysicalTile, receiver: PhysicalTile) -> i64 {
    let time = time_to_mux(source, receiver);
    match width {
        Width::Word => time,
        Width::Paired => time.min(time_to_mux(source, receiver.partner())),
    }
}
