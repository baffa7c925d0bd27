//! A scheduled and placed transfer: one message from one tile to one or many.

use smallvec::{SmallVec, smallvec};

use crate::topology::direction;
use crate::units::{Address, Event, PhysicalTile, Words};

/// What one item of a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ItemWidth {
    /// A 32-bit word to single tiles.
    Word32,
    /// A 64-bit item to both members of physical pairs; the sender borrows its partner's transmit lane.
    Paired64,
}

impl ItemWidth {
    /// Words of an item.
    #[must_use]
    pub fn words(self) -> u32 {
        match self {
            Self::Word32 => 1,
            Self::Paired64 => 2,
        }
    }
}

/// A part of a receiver's destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Piece {
    /// First byte. A multiple of 4, of 8 for paired transfers.
    pub address: Address,
    /// Length.
    pub words: Words,
}

/// A tile that receives a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receiver {
    /// The tile.
    pub tile: PhysicalTile,
    /// Where the words go, in order of arrival. The lengths add up to the transfer's.
    pub pieces: SmallVec<[Piece; 1]>,
}

/// A scheduled transfer with addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// The tile that sends.
    pub source: PhysicalTile,
    /// Row time at which the first send instruction starts; the first item is on event `start + 1`.
    pub start: Event,
    /// Length, in words whatever the width.
    pub words: Words,
    /// First byte sent. A multiple of 4, of 8 for paired transfers.
    pub source_address: Address,
    /// What an item is.
    pub width: ItemWidth,
    /// Receivers; for paired transfers both members of each receiving pair.
    pub receivers: SmallVec<[Receiver; 2]>,
}

impl Transfer {
    /// Items of the stream, which are events too.
    #[must_use]
    pub fn items(&self) -> u32 {
        self.words.0 / self.width.words()
    }

    /// Row time at which the last send instruction ends.
    #[must_use]
    pub fn end(&self) -> Event {
        self.start + Event(i64::from(self.items()))
    }

    /// The send control that reaches every receiver.
    #[must_use]
    pub fn control(&self) -> SendControl {
        SendControl::reaching(self.source, self.width, self.receivers.iter().map(|receiver| receiver.tile))
    }
}

impl Receiver {
    /// A receiver that stores the whole transfer at one address.
    #[must_use]
    pub fn whole(tile: PhysicalTile, address: Address, words: Words) -> Self {
        Self { tile, pieces: smallvec![Piece { address, words }] }
    }
}

/// The 3-bit send control field: bits 0 and 1 drive directions 1 and 2, bit 2 makes items 64 bits wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SendControl(u32);

impl SendControl {
    /// Both directions, 32-bit items: what multicasts and host packets use.
    pub const BOTH: Self = Self(3);

    /// The control for these receivers: one direction for a single receiver or receiving pair, both for more.
    /// Whether one direction may serve several receivers is unknown, so it is not used.
    pub fn reaching(
        source: PhysicalTile,
        width: ItemWidth,
        receivers: impl IntoIterator<Item = PhysicalTile>,
    ) -> Self {
        let mut receivers = receivers.into_iter();
        let Some(first) = receivers.next() else { return Self(0) };
        let same_pair = |tile: PhysicalTile| width == ItemWidth::Paired64 && tile == first.partner();
        let directions = if receivers.all(same_pair) { direction(source, first).bits() } else { 3 };
        match width {
            ItemWidth::Word32 => Self(directions),
            ItemWidth::Paired64 => Self(directions | 4),
        }
    }

    /// The control with these bits, if there are only three.
    #[must_use]
    pub fn from_bits(bits: u32) -> Option<Self> {
        (bits < 8).then_some(Self(bits))
    }

    /// The field.
    #[must_use]
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Words of an item.
    #[must_use]
    pub fn item_words(self) -> u32 {
        if self.0 & 4 == 0 { 1 } else { 2 }
    }
}
