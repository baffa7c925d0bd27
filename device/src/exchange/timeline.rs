//! One tile's part in an exchange phase: its sends, its receive windows, and the controls that follow from them.
//!
//! Rules kept here:
//!
//! - A neutral source control is left out when the next message starts on the same event, and a source control when
//!   that source is already selected.
//! - A pointer control is left out when the cursor already stands at the address.
//! - Back-to-back 64-bit messages of one format keep the format switched on.
//!
//! A timeline says what happens, not whether it may: see [`super::validate`].

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::routes::{Arrival, LEAST_SENDER_HORIZON, NEUTRAL, PairedArrival, arrival, paired_arrival};
use super::schedule_error::{Offender, Role, ScheduleCode, ScheduleError};
use super::transfer::{ItemWidth, Piece, Receiver, SendControl, Transfer};
use crate::units::{Address, Event, PhysicalTile};

/// Latest row time a message may start at; far past any useful row, it keeps event arithmetic in range.
pub const LATEST_START: Event = Event(1 << 30);

/// A message that leaves the tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Send {
    /// Row time at which its first instruction starts.
    pub start: Event,
    /// Items, one an event.
    pub items: u32,
    /// First byte sent.
    pub address: Address,
    /// Directions and item width.
    pub control: SendControl,
    /// Index of the transfer.
    pub transfer: u32,
}

impl Send {
    /// Row time at which its last instruction ends.
    #[must_use]
    pub fn end(&self) -> Event {
        Event(self.start.0 + i64::from(self.items))
    }

    /// Address of item `item` as send instructions hold it: in items.
    #[must_use]
    pub fn item_address(&self, item: u32) -> u32 {
        (self.address.word() / self.control.item_words()).wrapping_add(item)
    }
}

/// A span in which the partner sends 64-bit items over this tile's transmit lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lend {
    /// Start of the partner's send.
    pub start: Event,
    /// Its end.
    pub end: Event,
    /// Index of the transfer.
    pub transfer: u32,
}

/// A message that arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receive {
    /// Where it comes from.
    pub source: PhysicalTile,
    /// On which events.
    pub arrival: Arrival,
    /// What an item is.
    pub width: ItemWidth,
    /// Where it goes.
    pub pieces: SmallVec<[Piece; 1]>,
    /// Index of the transfer.
    pub transfer: u32,
}

/// What a control writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ControlAction {
    /// Selects the source to listen to.
    Source(u16),
    /// Selects the source of the borrowed half in 64-bit mode.
    PairedSource(u16),
    /// Switches the receive format.
    Format(u32),
    /// Sets the receive cursor, in words relative to the tile's incoming base.
    Pointer(u32),
}

impl ControlAction {
    /// Its part in a broken rule.
    #[must_use]
    pub fn role(self) -> Role {
        match self {
            Self::Source(_) => Role::Source,
            Self::PairedSource(_) => Role::PairedSource,
            Self::Format(_) => Role::Format,
            Self::Pointer(_) => Role::Pointer,
        }
    }
}

/// A control of the receive side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Control {
    /// Event on which it takes effect; it applies before the word of that event is judged.
    pub event: Event,
    /// What it writes.
    pub action: ControlAction,
    /// Index of the transfer it serves.
    pub transfer: u32,
}

/// One tile's part in a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// The tile.
    pub tile: PhysicalTile,
    /// Sends in order of start.
    pub sends: Vec<Send>,
    /// Loans of the transmit lane in order of start.
    pub lends: Vec<Lend>,
    /// Receives in order of their mux window.
    pub receives: Vec<Receive>,
    /// Controls in order of event; on one event source before pointer.
    pub controls: Vec<Control>,
    /// Row time at which the row may end.
    pub horizon: Event,
}

/// Collects the transfers of a phase, tile by tile.
#[derive(Debug, Default)]
pub struct TimelineBuilder {
    tiles: BTreeMap<PhysicalTile, Parts>,
    incoming_bases: BTreeMap<PhysicalTile, Address>,
    transfers: u32,
    errors: Vec<ScheduleError>,
}

#[derive(Debug, Default)]
struct Parts {
    sends: Vec<Send>,
    lends: Vec<Lend>,
    receives: Vec<Receive>,
}

impl TimelineBuilder {
    /// An empty phase.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes pointers of `tile` relative to `base`, the value that its program puts into the incoming base. The
    /// default is 0: absolute rows.
    pub fn set_incoming_base(&mut self, tile: PhysicalTile, base: Address) {
        self.incoming_bases.insert(tile, base);
    }

    /// Adds a transfer. Its index is the number of transfers added before.
    pub fn add(&mut self, transfer: &Transfer) {
        let index = self.transfers;
        self.transfers += 1;
        let errors = self.errors.len();
        super::validate::check_transfer(transfer, index, &mut self.errors);
        if self.errors.len() > errors {
            return;
        }
        let items = transfer.items();
        self.tiles.entry(transfer.source).or_default().sends.push(Send {
            start: transfer.start,
            items,
            address: transfer.source_address,
            control: transfer.control(),
            transfer: index,
        });
        if transfer.width == ItemWidth::Paired64 {
            let lend = Lend { start: transfer.start, end: transfer.end(), transfer: index };
            self.tiles.entry(transfer.source.partner()).or_default().lends.push(lend);
        }
        for receiver in &transfer.receivers {
            let receive = Receive::new(transfer, receiver, index);
            self.tiles.entry(receiver.tile).or_default().receives.push(receive);
        }
    }

    /// The timelines of all tiles that take part, in order of physical id.
    ///
    /// # Errors
    /// Every rule that is broken, see [`super::validate`].
    pub fn finish(self) -> Result<Vec<Timeline>, Vec<ScheduleError>> {
        let Self { tiles, incoming_bases, mut errors, .. } = self;
        let mut timelines = Vec::with_capacity(tiles.len());
        for (tile, parts) in tiles {
            let base = incoming_bases.get(&tile).copied().unwrap_or_default();
            let timeline = Timeline::assemble(tile, parts, base, &mut errors);
            super::validate::check_timeline(&timeline, &mut errors);
            timelines.push(timeline);
        }
        if errors.is_empty() { Ok(timelines) } else { Err(errors) }
    }
}

impl Receive {
    fn new(transfer: &Transfer, receiver: &Receiver, index: u32) -> Self {
        let at = match transfer.width {
            ItemWidth::Word32 => arrival,
            ItemWidth::Paired64 => paired_arrival,
        };
        Self {
            source: transfer.source,
            arrival: at(transfer.source, receiver.tile, transfer.start, transfer.items()),
            width: transfer.width,
            pieces: receiver.pieces.clone(),
            transfer: index,
        }
    }
}

impl Timeline {
    fn assemble(tile: PhysicalTile, parts: Parts, base: Address, errors: &mut Vec<ScheduleError>) -> Self {
        let Parts { mut sends, mut lends, mut receives } = parts;
        sends.sort_by_key(|send| (send.start, send.transfer));
        lends.sort_by_key(|lend| (lend.start, lend.transfer));
        receives.sort_by_key(|receive| (receive.arrival.source_event, receive.transfer));
        let mut controls = Vec::with_capacity(receives.len() * 3);
        select_sources(&receives, &mut controls);
        select_paired_sources(&receives, &mut controls);
        switch_formats(&receives, &mut controls);
        set_pointers(tile, &receives, base, &mut controls, errors);
        controls.sort_by_key(|control| (control.event, control.action.role()));
        let sending = sends.iter().map(Send::end).chain(lends.iter().map(|lend| lend.end)).max();
        let receiving = receives.iter().map(|receive| receive.arrival.horizon).max();
        let horizon = sending.map(|end| end.max(LEAST_SENDER_HORIZON)).max(receiving).unwrap_or_default();
        Self { tile, sends, lends, receives, controls, horizon }
    }
}

/// Source controls of ordinary messages, with the neutral source in gaps.
fn select_sources(receives: &[Receive], controls: &mut Vec<Control>) {
    let windows = receives.iter().filter(|receive| receive.width == ItemWidth::Word32);
    select(windows.map(|receive| (receive, receive.source.0)), ControlAction::Source, controls);
}

/// Paired source controls, on the member of the pair that sees the source first.
fn select_paired_sources(receives: &[Receive], controls: &mut Vec<Control>) {
    let windows = receives.iter().filter_map(|receive| {
        let paired = receive.arrival.paired.filter(|paired| paired.early)?;
        Some((receive, paired.select))
    });
    select(windows, ControlAction::PairedSource, controls);
}

/// Selects `value` for each window, and the neutral source after it unless the next window follows at once.
fn select<'a>(
    windows: impl Iterator<Item = (&'a Receive, u16)>,
    action: fn(u16) -> ControlAction,
    controls: &mut Vec<Control>,
) {
    let mut windows = windows.peekable();
    let mut selected = None;
    while let Some((receive, value)) = windows.next() {
        let Arrival { source_event, source_end, .. } = receive.arrival;
        let transfer = receive.transfer;
        if selected != Some(value) {
            controls.push(Control { event: source_event, action: action(value), transfer });
        }
        if windows.peek().is_some_and(|(next, _)| next.arrival.source_event == source_end) {
            selected = Some(value);
        } else {
            controls.push(Control { event: source_end, action: action(NEUTRAL), transfer });
            selected = None;
        }
    }
}

/// Switches to 64-bit format for each paired message and back, unless the next of the same format follows at once.
fn switch_formats(receives: &[Receive], controls: &mut Vec<Control>) {
    let mut spans: Vec<(PairedArrival, u32)> =
        receives.iter().filter_map(|receive| Some((receive.arrival.paired?, receive.transfer))).collect();
    spans.sort_by_key(|(span, transfer)| (span.format_on, *transfer));
    let joined = |a: &PairedArrival, b: &PairedArrival| a.format_off == b.format_on && a.format == b.format;
    for (index, &(span, transfer)) in spans.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| spans.get(index));
        if !before.is_some_and(|(before, _)| joined(before, &span)) {
            controls.push(Control {
                event: span.format_on,
                action: ControlAction::Format(span.format),
                transfer,
            });
        }
        if !spans.get(index + 1).is_some_and(|(after, _)| joined(&span, after)) {
            controls.push(Control { event: span.format_off, action: ControlAction::Format(0), transfer });
        }
    }
}

/// A pointer control at each piece's first write, unless the cursor is already there.
fn set_pointers(
    tile: PhysicalTile,
    receives: &[Receive],
    base: Address,
    controls: &mut Vec<Control>,
    errors: &mut Vec<ScheduleError>,
) {
    let mut order: Vec<&Receive> = receives.iter().collect();
    order.sort_by_key(|receive| (receive.arrival.first_write, receive.transfer));
    let mut cursor = None;
    for receive in order {
        let mut event = receive.arrival.first_write;
        for piece in &receive.pieces {
            if cursor != Some((piece.address, receive.width)) {
                match piece.address.0.checked_sub(base.0) {
                    Some(delta) => {
                        let action = ControlAction::Pointer(delta / 4);
                        controls.push(Control { event, action, transfer: receive.transfer });
                    }
                    None => errors.push(ScheduleError {
                        code: ScheduleCode::BadAddress,
                        tile,
                        event,
                        first: Some(Offender { transfer: receive.transfer, role: Role::Pointer }),
                        second: None,
                        detail: format!("address {} lies below the incoming base {base}", piece.address),
                    }),
                }
            }
            cursor = piece.address.checked_add(piece.words.bytes()).map(|end| (end, receive.width));
            event += Event(i64::from(piece.words.0 / receive.width.words()));
        }
    }
}
