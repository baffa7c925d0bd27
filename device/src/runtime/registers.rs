//! Device registers, their fields, and the time limits of the protocol.
//!
//! Numbers as read in the peer's driver; the meaning of fields beyond the numbers is inferred.

use std::time::Duration;

/// Bytes of the configuration space.
pub const SPACE: u32 = 0x80000;
/// Chip control; safe to read as a write barrier.
pub const CCSR: u32 = 0x2000;
/// Bits of [`CCSR`] cleared during the load: no-snoop and exchange-link ECRC.
pub const CCSR_CLEARED_IN_LOAD: u32 = 1 << 1 | 1 << 10;
/// Autoloader control.
pub const AUTOLOADER: u32 = 0x2068;
/// Bit of [`AUTOLOADER`]: start, reads 1 while busy.
pub const AUTOLOADER_GO: u32 = 1 << 8;
/// Bit of [`AUTOLOADER`]: the data register holds the prefix.
pub const AUTOLOADER_DATA_PRESENT: u32 = 1 << 20;
/// Position in [`AUTOLOADER`] of the 11-bit number of the last tile.
pub const AUTOLOADER_LAST_TILE: u32 = 9;
/// Autoloader range: first KiB in bits 9:0, end KiB in bits 19:10, zone in bits 31:20.
pub const AUTOLOADER_TARGET: u32 = 0x206c;
/// The zone selector of [`AUTOLOADER_TARGET`].
pub const AUTOLOADER_ZONE: u32 = 32 << 20;
/// Autoloader data: takes one word of the prefix.
pub const AUTOLOADER_DATA: u32 = 0x2070;
/// Host sync group 1, used by the boot program: mark in the low 16 bits.
pub const GROUP_1: u32 = 0x302c;
/// Host sync group 2, used by applications: mark in the low 16 bits.
pub const GROUP_2: u32 = 0x3030;
/// The mark field of [`GROUP_1`] and [`GROUP_2`].
pub const MARK: u32 = 0xffff;
/// Exchange window base.
pub const EXCHANGE_WINDOW: u32 = 0x3044;
/// What [`EXCHANGE_WINDOW`] must hold before a buffer is attached.
pub const EXCHANGE_WINDOW_BUFFERS: u32 = 1 << 11;
/// Exchange blocks.
pub const EXCHANGE_BLOCKS: u32 = 16;
/// Value of an exchange block's request ids that disables it.
pub const EXCHANGE_BLOCK_DISABLED: u32 = exchange_block_ids(0x3f);
/// First register of tile 0's debug window.
pub const DEBUG_WINDOW: u32 = 0x30000;
/// Bytes of one tile's debug window.
pub const DEBUG_WINDOW_STRIDE: u32 = 0x40;

/// Limit of a wait for a mark.
pub const MARK_LIMIT: Duration = Duration::from_secs(10);
/// Limit of a wait for the autoloader.
pub const AUTOLOADER_LIMIT: Duration = Duration::from_secs(2);
/// Limit of an injected instruction.
pub const DEBUG_LIMIT: Duration = Duration::from_millis(100);
/// Limit of a wait for the tiles to halt.
pub const HALT_LIMIT: Duration = Duration::from_secs(10);
/// Pause between two reads of a register that is waited for.
pub const POLL: Duration = Duration::from_micros(100);

/// Registers of a tile's debug window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum DebugRegister {
    /// Context states.
    ContextStatus = 0,
    /// Retirement breaks.
    RunBreak = 1,
    /// Instruction to execute.
    Inject = 3,
    /// Context that executes it.
    InjectOwner = 4,
    /// Data mailbox.
    Data = 7,
    /// State of the injection.
    Status = 8,
    /// Clears failures of the injection.
    StatusClear = 9,
}

impl DebugRegister {
    /// Offset of this register for `tile`.
    #[must_use]
    pub fn of(self, tile: crate::PhysicalTile) -> u32 {
        DEBUG_WINDOW + DEBUG_WINDOW_STRIDE * u32::from(tile.0) + 4 * self as u32
    }
}

/// Exception kind: a branch to an address that holds no code.
pub const EXCEPTION_INVALID_PC: u32 = 10;

/// State of `context` in a context status: 0 inactive, 1 active, 2 stopped for debug, 3 excepted. Context 0 is
/// the supervisor, 1 to 6 are the workers.
#[must_use]
pub const fn context_state(status: u32, context: u32) -> u32 {
    (status >> (2 * context)) & 3
}

/// The exception kind in a supervisor's or worker's own status.
#[must_use]
pub const fn exception_kind(status: u32) -> u32 {
    (status >> 4) & 15
}

/// The request-id register of exchange block `block`, 0 to 15.
#[must_use]
pub const fn exchange_block(block: u32) -> u32 {
    if block < 8 { 0x5404 + 0x400 * block } else { 0x1b804 + 0x400 * (block - 8) }
}

/// The value of an exchange block whose four contexts have request id `id`.
#[must_use]
pub const fn exchange_block_ids(id: u32) -> u32 {
    2 | id << 3 | id << 9 | id << 15 | id << 21
}

/// The operational value of exchange block `block`: id 0 on the first interface, 1 on the second.
#[must_use]
pub const fn exchange_block_operational(block: u32) -> u32 {
    exchange_block_ids(if block < 8 { 0 } else { 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchange_block_values_are_those_of_the_notes() {
        assert_eq!(EXCHANGE_BLOCK_DISABLED, 0x07ff_fffa);
        assert_eq!(exchange_block_operational(0), 0x2);
        assert_eq!(exchange_block_operational(15), 0x0020_820a);
        assert_eq!((exchange_block(7), exchange_block(8)), (0x7004, 0x1b804));
        assert_eq!(DebugRegister::Data.of(crate::PhysicalTile(2)), 0x3009c);
    }
}
