//! Ids of ops, blocks, regions and values: 32-bit indexes into a module's arenas, never reused.

use std::fmt;

macro_rules! entity {
    ($(#[$meta:meta])* $name:ident, $format:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// Position in the arena, for side tables.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, $format, self.0)
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
