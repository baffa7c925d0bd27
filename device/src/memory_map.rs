//! A tile's memory: 624 KiB in two regions, the elements that can clash, and the fixed runtime layout.
//!
//! Source: hardware notes on tile memory, after `osmarks/ipu-stack` `crates/ipu-target/src/memory.rs`.

use crate::units::{Address, Bytes};

/// First byte of tile memory.
pub const MEMORY_BASE: Address = Address(0x4c000);
/// First byte past tile memory.
pub const MEMORY_END: Address = Address(0xe8000);
/// First byte of region 1: two-way interleaved, data only. Region 0, below it, can hold code.
pub const INTERLEAVED_BASE: Address = Address(0x80000);
/// First byte that the loader cannot fill.
pub const LOAD_END: Address = Address(0xe7bb0);
/// First byte of an application image and the first instruction executed.
pub const LOAD_BASE: Address = Address(0x4c010);
/// Size of a memory element of region 0.
pub const ELEMENT_SIZE: Bytes = Bytes(0x4000);
/// Size of a pair of interleaved elements in region 1, one unit for every contention check.
pub const ELEMENT_PAIR_SIZE: Bytes = Bytes(0x8000);
/// How far instruction fetch may run ahead of the current word.
pub const FETCH_LOOKAHEAD: Bytes = Bytes(64);

/// Host exchange window: packet headers and the staging buffer of host transfers.
pub const HOST_WINDOW: Address = Address(0x50000);
/// First byte past the host exchange window.
pub const HOST_WINDOW_END: Address = Address(0x58000);
/// Destination of the closing zero-byte read of a tile-to-host transfer.
pub const HOST_CLOSE: Address = Address(0x50160);
/// Staging buffer of host-to-tile transfers, 4,096 bytes.
pub const HOST_STAGING: Address = Address(0x50180);
/// Word that reads 1 when the program has ended.
pub const COMPLETION_WORD: Address = Address(0x58000);
/// Base of worker 0's stack; worker `k` is [`WORKER_STACK_SIZE`] x `k` further.
pub const WORKER_STACK_BASE: Address = Address(0x580e0);
/// Stack of one worker.
pub const WORKER_STACK_SIZE: Bytes = Bytes(0x100);
/// Initial supervisor stack pointer; the stack grows down.
pub const SUPERVISOR_STACK_TOP: Address = Address(0x586e0);
/// First byte free for data in the standard region below the linked code.
pub const FREE_DATA_BASE: Address = Address(0x586e0);
/// First byte of linked runtime and kernels; host programs, tile code and row tables follow.
pub const CODE_BASE: Address = Address(0x5c000);
/// Worker contexts of a tile.
pub const WORKERS: u32 = 6;

/// Which kind of memory a buffer wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryClass {
    /// Either region; 8 bytes a cycle.
    Standard,
    /// Region 1 only; 16 bytes a cycle, two accesses a cycle.
    Interleaved,
}

impl MemoryClass {
    /// The class as the IR spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Interleaved => "interleaved",
        }
    }

    /// The class of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Standard, Self::Interleaved].into_iter().find(|class| class.name() == name)
    }
}

/// An effective memory element: the unit in which simultaneous accesses clash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Element {
    /// A 16 KiB element of region 0, numbered by absolute address: 19 to 31.
    Plain(u16),
    /// A 32 KiB pair of region 1, numbered from its base: 0 to 12.
    Pair(u16),
}

impl Element {
    /// The element that holds `address`, if it is mapped.
    #[must_use]
    pub fn of(address: Address) -> Option<Self> {
        if address < MEMORY_BASE || address >= MEMORY_END {
            return None;
        }
        Some(if address < INTERLEAVED_BASE {
            Self::Plain((address.0 / ELEMENT_SIZE.0) as u16)
        } else {
            Self::Pair(((address.0 - INTERLEAVED_BASE.0) / ELEMENT_PAIR_SIZE.0) as u16)
        })
    }

    /// A dense number: 0 to 12 plain, 13 to 25 pairs.
    #[must_use]
    pub fn index(self) -> usize {
        match self {
            Self::Plain(id) => usize::from(id) - (MEMORY_BASE.0 / ELEMENT_SIZE.0) as usize,
            Self::Pair(id) => 13 + usize::from(id),
        }
    }
}

impl std::fmt::Display for Element {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Plain(id) => write!(f, "element {id}"),
            Self::Pair(id) => write!(f, "pair {id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_numbered_as_the_notes_say() {
        assert_eq!(Element::of(MEMORY_BASE), Some(Element::Plain(19)));
        assert_eq!(Element::of(Address(INTERLEAVED_BASE.0 - 1)), Some(Element::Plain(31)));
        assert_eq!(Element::of(INTERLEAVED_BASE), Some(Element::Pair(0)));
        assert_eq!(Element::of(Address(MEMORY_END.0 - 1)), Some(Element::Pair(12)));
        assert_eq!(Element::of(MEMORY_END), None);
        assert_eq!(Element::of(Address(0)), None);
        assert_eq!(Element::of(Address(MEMORY_END.0 - 1)).map(Element::index), Some(25));
    }
}
