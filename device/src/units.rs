//! Quantities that must not be mixed up: bytes, words, addresses, cycles, events, logical and physical tiles.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

macro_rules! unit {
    ($(#[$meta:meta])* $name:ident($inner:ty), $format:literal) => {
        $(#[$meta])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize,
        )]
        #[serde(transparent)]
        #[repr(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, $format, self.0)
            }
        }

        impl From<$inner> for $name {
            fn from(value: $inner) -> Self {
                Self(value)
            }
        }
    };
}

macro_rules! additive {
    ($($name:ident),*) => {$(
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl std::iter::Sum for $name {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self::default(), Add::add)
            }
        }
    )*};
}

unit! {
    /// A count of bytes.
    Bytes(u32), "{} bytes"
}
unit! {
    /// A count of 32-bit words.
    Words(u32), "{} words"
}
unit! {
    /// A byte address in a tile's memory.
    Address(u32), "0x{:x}"
}
unit! {
    /// A duration in tile clock cycles.
    Cycles(u64), "{} cycles"
}
unit! {
    /// An instant of the exchange clock on one tile, in cycles after the first row instruction starts.
    /// Event `n` is the `n`-th cycle of the row. Negative only in intermediate sums of route delays.
    Event(i64), "event {}"
}
unit! {
    /// A tile in compiler order, `0..1472`. Consecutive tiles `2k, 2k + 1` are a physical pair.
    LogicalTile(u16), "{}"
}
unit! {
    /// A tile as the hardware numbers it: exchange selections, packets and images use this id.
    PhysicalTile(u16), "{}"
}
additive!(Bytes, Words, Cycles, Event);

impl Bytes {
    /// Whole words that hold this many bytes.
    #[must_use]
    pub fn words_ceil(self) -> Words {
        Words(self.0.div_ceil(4))
    }
}

impl Words {
    /// The size in bytes.
    #[must_use]
    pub fn bytes(self) -> Bytes {
        Bytes(self.0 * 4)
    }
}

impl Address {
    /// The address `offset` bytes further; `None` past the 32-bit space.
    #[must_use]
    pub fn checked_add(self, offset: Bytes) -> Option<Self> {
        self.0.checked_add(offset.0).map(Self)
    }

    /// The address as a count of words, as instruction fields hold it.
    #[must_use]
    pub fn word(self) -> u32 {
        self.0 >> 2
    }

    /// Whether the address is a multiple of `align`, which must be a power of two.
    #[must_use]
    pub fn is_aligned(self, align: Bytes) -> bool {
        self.0 & (align.0 - 1) == 0
    }
}
