//! The event model of one message: which events its controls and writes fall on at a receiver.
//!
//! A message whose first send instruction starts at row time `S` has item `k` on send event `S + 1 + k`. With `T`
//! the time to the receiver's mux and `R` the receiver's row:
//!
//! | what | event |
//! |---|---|
//! | source control | `S + 1 + T` |
//! | neutral, or the next source | `S + 1 + T + words` |
//! | pointer control and first write | `S + 1 + T + 52 + 2R` |
//! | end of the receiver's row | last write + 6 |
//!
//! Of a receiving pair only the member that sees the source first (`T` less by one) selects it; both switch to
//! 64-bit format at `F = S + 1 + T + 51 + 2R`, write from `F + 2`, and switch back at `F + items`.

use crate::topology::{NEUTRAL_SOURCE, direction, early_member, time_to_mux};
use crate::units::{Event, PhysicalTile};

/// Events from a receiver's last write to the end of its row.
pub const RECEIVE_GUARD: i64 = 6;
/// Least length of a sender's row.
pub const LEAST_SENDER_HORIZON: Event = Event(6);
/// Events from a format write to the first item it governs.
pub const FORMAT_TO_WRITE: i64 = 2;
/// Source value that receives nothing.
pub const NEUTRAL: u16 = NEUTRAL_SOURCE;

/// Where a message falls on a receiver's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The source control's event: the mux instant of the first item.
    pub source_event: Event,
    /// One past the mux instant of the last item: the event of the neutral or next source control.
    pub source_end: Event,
    /// First write, and the pointer control's event.
    pub first_write: Event,
    /// Last write.
    pub last_write: Event,
    /// Earliest end of the receiver's row.
    pub horizon: Event,
    /// Further facts of a 64-bit receive.
    pub paired: Option<PairedArrival>,
}

/// The format switch of a 64-bit receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairedArrival {
    /// Whether this member issues the paired source control.
    pub early: bool,
    /// Value of the paired source control.
    pub select: u16,
    /// Event of the switch to 64-bit format.
    pub format_on: Event,
    /// Event of the switch back.
    pub format_off: Event,
    /// Format value: the direction that the items come from.
    pub format: u32,
}

/// Where a message of `items` 32-bit words that starts at row time `start` falls on `receiver`'s clock.
#[must_use]
pub fn arrival(source: PhysicalTile, receiver: PhysicalTile, start: Event, items: u32) -> Arrival {
    let source_event = start.0 + 1 + time_to_mux(source, receiver);
    let items = i64::from(items);
    let first_write = source_event + receiver.mux_to_write();
    let last_write = first_write + items - 1;
    Arrival {
        source_event: Event(source_event),
        source_end: Event(source_event + items),
        first_write: Event(first_write),
        last_write: Event(last_write),
        horizon: Event(last_write + RECEIVE_GUARD),
        paired: None,
    }
}

/// Where a message of `items` 64-bit items that starts at row time `start` falls on the clock of `receiver`, a
/// member of a receiving pair.
#[must_use]
pub fn paired_arrival(source: PhysicalTile, receiver: PhysicalTile, start: Event, items: u32) -> Arrival {
    let early = early_member(source, receiver);
    // Both members write at the instant of the later one.
    let late = arrival(source, early.partner(), start, items);
    let own = arrival(source, receiver, start, items);
    Arrival {
        source_event: own.source_event,
        source_end: own.source_end,
        paired: Some(PairedArrival {
            early: receiver == early,
            select: source.0 ^ (receiver.0 & 2),
            format_on: Event(late.first_write.0 - FORMAT_TO_WRITE),
            format_off: Event(late.first_write.0 - FORMAT_TO_WRITE + i64::from(items)),
            format: direction(source, receiver).bits(),
        }),
        ..late
    }
}

/// Earliest row time at which `source` may start so that no control of `receivers` falls before event 1.
#[must_use]
pub fn earliest_start(source: PhysicalTile, receivers: impl IntoIterator<Item = PhysicalTile>) -> Event {
    let least = receivers.into_iter().map(|receiver| time_to_mux(source, receiver)).min().unwrap_or(0);
    Event((-least).max(0))
}

/// Events from an item's send event to its write on `receiver`, on the sender's clock plus the receiver's skew:
/// 18 to 164.
#[must_use]
pub fn send_to_write(source: PhysicalTile, receiver: PhysicalTile) -> i64 {
    time_to_mux(source, receiver) + receiver.mux_to_write()
}
