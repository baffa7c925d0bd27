//! Rows read back into events and compared with the schedule.
//!
//! The checker knows instruction words, the topology and the event model's closed forms, and nothing of timelines or
//! the encoder: it executes the words, keeps what each control register holds from which event on, and demands of
//! every transfer that the tile sends exactly its items, listens to its source exactly in its mux window, and stores
//! each of its words where it belongs. Outside windows the tile must listen to nobody.

use std::fmt;

use super::transfer::{ItemWidth, Transfer};
use crate::isa::{Context, Instruction, decode_all};
use crate::topology::{NEUTRAL_SOURCE, direction, early_member, time_to_mux};
use crate::units::{Address, Event, PhysicalTile};

/// A difference between a row and its schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowMismatch {
    /// The tile.
    pub tile: PhysicalTile,
    /// Where the difference shows, on that tile's clock.
    pub event: Event,
    /// What the schedule expects and the row does.
    pub detail: String,
}

impl RowMismatch {
    /// The kind of error.
    #[must_use]
    pub fn code(&self) -> super::ScheduleCode {
        super::ScheduleCode::RowMismatch
    }
}

impl fmt::Display for RowMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tile, event, detail } = self;
        write!(f, "row of tile {} (physical {tile}) at {event}: {detail}", tile.logical())
    }
}

impl std::error::Error for RowMismatch {}

/// Items sent back to back from consecutive addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Burst {
    /// Event of the first item.
    event: i64,
    items: i64,
    /// First item's address, in items.
    address: i64,
    control: u32,
}

/// The values a control takes, each from its event on.
type Settings = Vec<(i64, u32)>;

/// What a row does, read off its words.
#[derive(Debug, Default)]
struct Trace {
    bursts: Vec<Burst>,
    source: Settings,
    paired_source: Settings,
    pointer: Settings,
    format: Settings,
    end: i64,
}

/// Compares the words of `tile`'s row with the part that `transfers` give it. Pointers are relative to
/// `incoming_base`; transfers that do not touch the tile are skipped.
///
/// # Errors
/// The first difference found.
pub fn check_row<'a>(
    tile: PhysicalTile,
    words: &[u32],
    transfers: impl IntoIterator<Item = &'a Transfer>,
    incoming_base: Address,
) -> Result<(), RowMismatch> {
    let at = |event: i64, detail: String| RowMismatch { tile, event: Event(event), detail };
    let trace = Trace::read(words).map_err(|(event, detail)| at(event, detail))?;
    let mut expected = Expected { tile, bursts: Vec::new(), windows: Vec::new(), end: 0 };
    for transfer in transfers {
        expected.add(transfer);
    }
    expected.check(&trace, incoming_base).map_err(|(event, detail)| at(event, detail))
}

type Found<T> = Result<T, (i64, String)>;

impl Trace {
    fn read(words: &[u32]) -> Found<Self> {
        let mut trace = Self::default();
        let instructions = decode_all(Context::Supervisor, words)
            .map_err(|(index, error)| (0, format!("word {index}: {error}")))?;
        let Some(((_, last), body)) = instructions.split_last() else {
            return Err((0, "the row is empty".to_owned()));
        };
        if !matches!(last, Instruction::Br { target } if target.number() == 10) {
            return Err((0, format!("the row ends in `{last}`, expected `br $m10`")));
        }
        let mut stream: Option<u32> = None;
        for &(index, instruction) in body {
            let start = trace.end;
            let events = instruction.events().ok_or_else(|| {
                (start, format!("word {index}: `{instruction}` is no exchange instruction"))
            })?;
            trace.end = start + i64::from(events);
            stream = trace.execute(index, instruction, start, stream)?;
        }
        Ok(trace)
    }

    /// Executes one instruction; gives the send control that a later `sendpic` would go on with.
    fn execute(
        &mut self,
        index: usize,
        instruction: Instruction,
        start: i64,
        stream: Option<u32>,
    ) -> Found<Option<u32>> {
        let (end, first) = (self.end, start + 1);
        let items = end - start;
        match instruction {
            Instruction::Delaypic { selector, value, .. } => self.set(selector + 2, end, value),
            Instruction::Delayxpic { selector, value, .. } => self.set(selector, end, value),
            Instruction::Send { address, control, .. } => {
                self.bursts.push(Burst { event: first, items, address: i64::from(address), control });
                return Ok(Some(control));
            }
            Instruction::Sendoff { delta, control, .. } => {
                let last = self
                    .bursts
                    .last()
                    .ok_or_else(|| (first, format!("word {index}: no stream to continue")))?;
                let address = last.address + last.items + i64::from(delta);
                self.bursts.push(Burst { event: first, items, address, control });
                return Ok(Some(control));
            }
            Instruction::Sendpic { selector, value, .. } => {
                let (Some(control), Some(last)) = (stream, self.bursts.last()) else {
                    return Err((first, format!("word {index}: no stream to continue")));
                };
                let address = last.address + last.items;
                self.bursts.push(Burst { event: first, items, address, control });
                self.set(selector, first, value);
                return Ok(Some(control));
            }
            Instruction::Sendpicp {
                address,
                control,
                pointer_selector,
                source_selector,
                source,
                pointer,
                ..
            } => {
                if !index.is_multiple_of(2) {
                    return Err((first, format!("word {index}: a double control lies on an odd word")));
                }
                self.set(source_selector, first, source);
                self.set(pointer_selector + 2, first, pointer);
                if control == 0 {
                    return Ok(None);
                }
                self.bursts.push(Burst { event: first, items, address: i64::from(address), control });
                return Ok(Some(control));
            }
            _ => {}
        }
        Ok(stream)
    }

    fn set(&mut self, selector: u32, event: i64, value: u32) {
        match selector {
            0 => self.source.push((event, value)),
            1 => self.paired_source.push((event, value)),
            2 => self.pointer.push((event, value)),
            _ => self.format.push((event, value)),
        }
    }
}

/// A message that the tile must receive.
struct Window<'a> {
    transfer: &'a Transfer,
    /// Mux instants, first and one past the last.
    mux: (i64, i64),
    /// Value and register that must select the source: `None` on the late member of a pair.
    select: Option<u32>,
    first_write: i64,
}

struct Expected<'a> {
    tile: PhysicalTile,
    bursts: Vec<Burst>,
    windows: Vec<Window<'a>>,
    end: i64,
}

impl<'a> Expected<'a> {
    fn add(&mut self, transfer: &'a Transfer) {
        let items = i64::from(transfer.items());
        let sends = transfer.source == self.tile;
        let lends = transfer.width == ItemWidth::Paired64 && transfer.source.partner() == self.tile;
        if sends || lends {
            self.end = self.end.max(transfer.start.0 + items);
        }
        if sends {
            let address = i64::from(transfer.source_address.0 / (4 * transfer.width.words()));
            let control = transfer
                .receivers
                .iter()
                .fold(0, |control, receiver| control | direction(transfer.source, receiver.tile).bits());
            let control = control | if transfer.width == ItemWidth::Paired64 { 4 } else { 0 };
            self.bursts.push(Burst { event: transfer.start.0 + 1, items, address, control });
        }
        if transfer.receivers.iter().any(|receiver| receiver.tile == self.tile) {
            let window = Window::new(transfer, self.tile);
            self.end = self.end.max(window.first_write + items - 1 + 6);
            self.windows.push(window);
        }
    }

    fn check(mut self, trace: &Trace, incoming_base: Address) -> Found<()> {
        if trace.end < self.end {
            return Err((trace.end, format!("the row ends, expected at {} or later", self.end)));
        }
        self.bursts.sort_by_key(|burst| burst.event);
        check_bursts(&self.bursts, &trace.bursts)?;
        self.windows.sort_by_key(|window| window.mux);
        self.check_sources(trace)?;
        self.check_formats(trace)?;
        self.windows.sort_by_key(|window| window.first_write);
        self.check_pointers(trace, incoming_base)
    }

    /// The source registers hold each window's source in it, and nobody outside.
    fn check_sources(&self, trace: &Trace) -> Found<()> {
        let of = |width| self.windows.iter().filter(move |window| window.transfer.width == width);
        let spans = |width| -> Vec<(i64, i64, u32)> {
            of(width).filter_map(|window| Some((window.mux.0, window.mux.1, window.select?))).collect()
        };
        check_setting("source", &spans(ItemWidth::Word32), &trace.source, u32::from(NEUTRAL_SOURCE))?;
        check_setting(
            "paired source",
            &spans(ItemWidth::Paired64),
            &trace.paired_source,
            u32::from(NEUTRAL_SOURCE),
        )
    }

    /// The format register holds the direction from two events before each 64-bit item's write, and 0 otherwise.
    fn check_formats(&self, trace: &Trace) -> Found<()> {
        let mut spans = Vec::new();
        for window in &self.windows {
            let bits = direction(window.transfer.source, self.tile).bits();
            let items = i64::from(window.transfer.items());
            if window.transfer.width == ItemWidth::Paired64 {
                spans.push((window.first_write - 2, window.first_write - 2 + items, bits));
            }
        }
        spans.sort_unstable();
        check_setting("format", &spans, &trace.format, 0)
    }

    /// Every word is stored where it belongs.
    fn check_pointers(&self, trace: &Trace, incoming_base: Address) -> Found<()> {
        let mut settings = trace.pointer.iter().peekable();
        let mut cursor: Option<u64> = None;
        for window in &self.windows {
            let item_words = window.transfer.width.words();
            let mut event = window.first_write;
            let pieces = window.transfer.receivers.iter().filter(|receiver| receiver.tile == self.tile);
            for piece in pieces.flat_map(|receiver| &receiver.pieces) {
                while let Some((_, value)) = settings.next_if(|(at, _)| *at <= event) {
                    cursor = Some(u64::from(incoming_base.0) + 4 * u64::from(*value));
                }
                if cursor != Some(u64::from(piece.address.0)) {
                    let found = cursor.map_or("nowhere".to_owned(), |cursor| format!("to 0x{cursor:x}"));
                    return Err((event, format!("a word is written {found}, expected to {}", piece.address)));
                }
                let items = i64::from(piece.words.0 / item_words);
                event += items;
                cursor = cursor.map(|cursor| cursor + 4 * u64::from(piece.words.0));
                if let Some((at, _)) = settings.next_if(|(at, _)| *at < event) {
                    return Err((
                        *at,
                        format!("the pointer changes while words for {} arrive", piece.address),
                    ));
                }
            }
        }
        Ok(())
    }
}

impl<'a> Window<'a> {
    fn new(transfer: &'a Transfer, tile: PhysicalTile) -> Self {
        let source = transfer.source;
        let first_item = transfer.start.0 + 1;
        let own = first_item + time_to_mux(source, tile);
        let late = own.max(first_item + time_to_mux(source, tile.partner()));
        let to_write = 52 + 2 * i64::from(tile.row());
        let (select, first_write) = match transfer.width {
            ItemWidth::Word32 => (Some(u32::from(source.0)), own + to_write),
            ItemWidth::Paired64 => {
                let value = u32::from(source.0 ^ (tile.0 & 2));
                ((early_member(source, tile) == tile).then_some(value), late + to_write)
            }
        };
        Self { transfer, mux: (own, own + i64::from(transfer.items())), select, first_write }
    }
}

/// The items sent are those of the schedule; a burst's control has every direction it needs.
fn check_bursts(expected: &[Burst], found: &[Burst]) -> Found<()> {
    let mut found = found.iter().copied().peekable();
    for &Burst { event, items, address, control } in expected {
        let mut sent = 0;
        while sent < items {
            let (at, from) = (event + sent, address + sent);
            let Some(burst) = found.peek_mut() else {
                return Err((at, "nothing is sent, expected an item".to_owned()));
            };
            if (burst.event, burst.address) != (at, from) {
                let detail = format!(
                    "item 0x{:x} is sent at {}, expected item 0x{from:x} at {at}",
                    burst.address, burst.event
                );
                return Err((at, detail));
            }
            if burst.control & control != control || (burst.control ^ control) & 4 != 0 {
                return Err((at, format!("send control {}, expected the bits of {control}", burst.control)));
            }
            let step = burst.items.min(items - sent);
            sent += step;
            *burst = Burst {
                event: burst.event + step,
                address: burst.address + step,
                items: burst.items - step,
                ..*burst
            };
            if burst.items == 0 {
                found.next();
            }
        }
    }
    found.next().map_or(Ok(()), |burst| {
        Err((burst.event, "an item is sent that the schedule does not have".to_owned()))
    })
}

/// A register holds `value` throughout each span `(start, end, value)` and `rest` outside all of them.
fn check_setting(name: &str, spans: &[(i64, i64, u32)], settings: &[(i64, u32)], rest: u32) -> Found<()> {
    let expected = |event: i64| {
        let after = spans.partition_point(|(start, _, _)| *start <= event);
        let span = after.checked_sub(1).and_then(|index| spans.get(index));
        span.filter(|(_, end, _)| event < *end).map_or(rest, |(_, _, value)| *value)
    };
    let found = |event: i64| {
        let after = settings.partition_point(|(at, _)| *at <= event);
        after.checked_sub(1).and_then(|index| settings.get(index)).map_or(rest, |(_, value)| *value)
    };
    // Both are constant between their own changes, so comparing at every change of either compares everywhere.
    let changes =
        spans.iter().flat_map(|(start, end, _)| [*start, *end]).chain(settings.iter().map(|(at, _)| *at));
    let mut changes: Vec<i64> = changes.collect();
    changes.sort_unstable();
    match changes.into_iter().find(|&event| expected(event) != found(event)) {
        Some(event) => Err((
            event,
            format!("the {name} register holds 0x{:x}, expected 0x{:x}", found(event), expected(event)),
        )),
        None => Ok(()),
    }
}
