//! What a tile's row does, as lists of timed facts: which items leave when, which controls take effect when.
//!
//! Rules (hardware notes on the exchange, sections 3 and 4): an instruction that starts at `s` and takes `n`
//! events covers `s + 1 ..= s + n`; a delayed control takes effect at `s + n`, a control merged with a send at
//! `s + 1`, item `k` of a send leaves at `s + 1 + k`. Lists are in order of time, items are runs.

use crate::memory_map::{Element, FETCH_LOOKAHEAD};
use crate::topology::NEUTRAL_SOURCE;
use crate::units::Address;

/// First source id that is no tile.
const SOURCE_TILES: u16 = crate::topology::TILE_COUNT;

/// The three bits of a send control field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SendControl(pub(crate) u8);

impl SendControl {
    pub(crate) fn directions(self) -> u8 {
        self.0 & 3
    }

    /// Items of 64 bits.
    pub(crate) fn is_wide(self) -> bool {
        self.0 & 4 != 0
    }

    /// Bytes of an item.
    pub(crate) fn item_bytes(self) -> u32 {
        if self.is_wide() { 8 } else { 4 }
    }
}

/// Items that leave on consecutive events from consecutive addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SendRun {
    /// Event of the first item.
    pub(crate) first: i64,
    pub(crate) items: u32,
    /// Byte address of the first item.
    pub(crate) address: u32,
    pub(crate) control: SendControl,
}

impl SendRun {
    /// First event after the last item.
    pub(crate) fn end(&self) -> i64 {
        self.first + i64::from(self.items)
    }
}

/// While code ran from these elements, one bit an [`Element::index`], over the row times `from..to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FetchSpan {
    pub(crate) elements: u32,
    pub(crate) from: i64,
    pub(crate) to: i64,
}

/// A control register that changes with time: pairs of event and value in order of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Control<T> {
    /// Value before the first change.
    pub(crate) initial: T,
    pub(crate) changes: Vec<(i64, T)>,
}

impl<T: Copy> Control<T> {
    fn new(initial: T) -> Self {
        Self { initial, changes: Vec::new() }
    }

    /// The value after every change at or before `event`.
    pub(crate) fn at(&self, event: i64) -> T {
        match self.changes.partition_point(|&(at, _)| at <= event) {
            0 => self.initial,
            count => self.changes[count - 1].1,
        }
    }

    /// The value after the last change.
    pub(crate) fn last(&self) -> T {
        self.changes.last().map_or(self.initial, |&(_, value)| value)
    }

    /// Intervals of constant value as start, end (exclusive), value; the first starts at `i64::MIN / 2`, the
    /// last ends at `i64::MAX / 2`.
    pub(crate) fn intervals(&self) -> impl Iterator<Item = (i64, i64, T)> + '_ {
        let starts = std::iter::once((i64::MIN / 2, self.initial)).chain(self.changes.iter().copied());
        let ends = self.changes.iter().map(|&(at, _)| at).chain(std::iter::once(i64::MAX / 2));
        starts
            .zip(ends)
            .map(|((start, value), end)| (start, end, value))
            .filter(|(start, end, _)| start < end)
    }
}

/// The exchange registers of a tile as they stand when an exchange begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeRegisters {
    /// Whose bus the tile listens to: a physical tile, a host block, or neutral.
    pub source: u16,
    /// Whose double-width stream it listens to, as written by selector 1.
    pub paired_source: u16,
    /// Receive cursor in bytes; `None` until the first pointer control.
    pub cursor: Option<u32>,
    /// 0 for words, 1 or 2 for double words from that direction.
    pub format: u8,
    /// Added to the receive cursor.
    pub incoming_base: u32,
    /// Added to the send cursor.
    pub outgoing_base: u32,
    /// Send cursor in bytes.
    pub outgoing_cursor: u32,
    /// Words that `sync 0` still waits for.
    pub expected_words: u32,
}

impl Default for ExchangeRegisters {
    /// Values after reset, as assumed: neutral source, 32-bit format, bases 0, no pointer.
    fn default() -> Self {
        Self {
            source: NEUTRAL_SOURCE,
            paired_source: NEUTRAL_SOURCE,
            cursor: None,
            format: 0,
            incoming_base: 0,
            outgoing_base: 0,
            outgoing_cursor: 0,
            expected_words: 0,
        }
    }
}

/// Everything one tile does in one exchange.
#[derive(Debug, Clone)]
pub(crate) struct Timeline {
    pub(crate) sends: Vec<SendRun>,
    pub(crate) source: Control<u16>,
    /// Values as written by selector 1, not yet corrected for the member of the pair.
    pub(crate) paired_source: Control<u16>,
    pub(crate) cursor: Control<Option<u32>>,
    pub(crate) format: Control<u8>,
    pub(crate) incoming_base: Control<u32>,
    pub(crate) fetches: Vec<FetchSpan>,
    /// Row time at which the last exchange instruction ended.
    pub(crate) horizon: i64,
}

impl Timeline {
    pub(crate) fn begin(registers: &ExchangeRegisters) -> Self {
        Self {
            sends: Vec::new(),
            source: Control::new(registers.source),
            paired_source: Control::new(registers.paired_source),
            cursor: Control::new(registers.cursor),
            format: Control::new(registers.format),
            incoming_base: Control::new(registers.incoming_base),
            fetches: Vec::new(),
            horizon: 0,
        }
    }

    /// Whether a tile's word may have been accepted at any time. The member of a pair that sees the source later selects
    /// nothing itself: that it listens shows in its format.
    pub(crate) fn listens(&self) -> bool {
        let is_tile = |source: u16| source < SOURCE_TILES;
        is_tile(self.source.initial)
            || self.source.changes.iter().any(|&(_, source)| is_tile(source))
            || self.listens_paired()
            || self.format.initial != 0
            || self.format.changes.iter().any(|&(_, format)| format != 0)
    }

    pub(crate) fn listens_paired(&self) -> bool {
        let neutral = NEUTRAL_SOURCE;
        self.paired_source.initial != neutral
            || self.paired_source.changes.iter().any(|&(_, source)| source != neutral)
    }

    /// Appends items; joins them to the run before when they continue it.
    pub(crate) fn push_send(&mut self, run: SendRun) {
        if run.control.directions() == 0 {
            return;
        }
        if let Some(last) = self.sends.last_mut()
            && last.control == run.control
            && last.end() == run.first
            && last.address.wrapping_add(last.items * run.control.item_bytes()) == run.address
        {
            last.items += run.items;
            return;
        }
        self.sends.push(run);
    }

    /// Notes that the instruction at `address` was being executed over the row times `from..to`.
    pub(crate) fn push_fetch(&mut self, address: u32, from: i64, to: i64) {
        let bit = |address: u32| Element::of(Address(address)).map_or(0, |element| 1 << element.index());
        let elements = bit(address) | bit(address.wrapping_add(3 + FETCH_LOOKAHEAD.0));
        match self.fetches.last_mut() {
            Some(last) if last.elements == elements && last.to == from => last.to = to,
            _ => self.fetches.push(FetchSpan { elements, from, to }),
        }
    }
}
