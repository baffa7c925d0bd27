//! Ids of ops, blocks, regions and values: 32-bit indexes into a module's arenas, never reused. An optional id takes no more room
//! than an id.

use std::fmt;
use std::num::NonZeroU32;

macro_rules! entity {
    ($(#[$meta:meta])* $name:ident, $format:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(NonZeroU32);

        impl $name {
            /// The id of position `index`; arenas have less than 2^32 - 1 entries.
            pub(crate) fn new(index: usize) -> Self {
                let number = u32::try_from(index).ok().and_then(|index| index.checked_add(1));
                match number.and_then(NonZeroU32::new) {
                    Some(number) => Self(number),
                    None => unreachable!("internal bug: an arena with more than 2^32 - 2 entries"),
                }
            }

            /// Position in the arena, for side tables.
            #[must_use]
            pub fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, $format, self.index())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

entity! {
    /// An op.
    OpId, "op{}"
}
entity! {
    /// A block.
    BlockId, "^bb{}"
}
entity! {
    /// A region.
    RegionId, "region{}"
}
entity! {
    /// A value: a result of an op or an argument of a block.
    ValueId, "%{}"
}
