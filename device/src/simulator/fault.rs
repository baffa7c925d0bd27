//! What can go wrong inside the simulated tiles. Every fault names the tile, the event or cycle and the address.
//!
//! Where hardware would answer a clash or a bad address with corrupt data, the simulator stops: source, hardware
//! notes on tile memory section 4 ("a simulator should raise these as hard faults").

use std::fmt;

use crate::memory_map::Element;
use crate::units::{Address, Event, PhysicalTile};

use super::memory::MemoryError;

crate::coded_enum! {
    /// Kinds of fault of the simulated tiles.
    pub enum FaultCode {
        /// An access left tile memory.
        Unmapped = "D0401", "access outside tile memory",
        /// A byte was read that nothing had written.
        Unwritten = "D0402", "read of unwritten memory",
        /// An address was not a multiple of the access size.
        Misaligned = "D0403", "misaligned access",
        /// A word was executed that is no known instruction.
        InvalidInstruction = "D0404", "invalid instruction",
        /// An instruction is known but not modelled where it stands.
        NotModelled = "D0405", "instruction that the simulator does not model here",
        /// The program counter left executable memory.
        InvalidProgramCounter = "D0406", "invalid program counter",
        /// A trap was reached that is not the body of a reference kernel.
        Trap = "D0407", "trap reached",
        /// A kernel refused its arguments or faulted in its arithmetic.
        Kernel = "D0408", "kernel fault",
        /// A worker was launched while workers were running.
        WorkersRunning = "D0409", "launch while workers are running",
        /// A program executed more instructions between two syncs than the limit.
        Runaway = "D0410", "program that does not come to a sync",
        /// A stream was continued that had ended or never begun.
        NoStream = "D0411", "continuation of a stream that is not open",
        /// Two controls stand in one instruction that may not share an event.
        ControlsCoincide = "D0412", "controls that may not coincide",
        /// An exchange instruction was executed where no exchange is under way.
        OutsideExchange = "D0413", "exchange instruction outside an exchange",
        /// A tile sent while its partner borrowed its transmit lane.
        LaneBorrowed = "D0414", "send on a lane that the partner has borrowed",
        /// Width of an item and receive format of the tile disagree.
        FormatMismatch = "D0415", "item that does not fit the receive format",
        /// A send reads and a receive writes the same element at the same time.
        ClashSendReceive = "D0416", "send and receive in one memory element",
        /// A transfer touches the element from which instructions are fetched.
        ClashFetch = "D0417", "transfer in the memory element of executing code",
        /// A word arrived before any pointer was set.
        NoPointer = "D0418", "word received before the receive pointer was set",
        /// A word arrived through a pointer outside tile memory.
        BadPointer = "D0419", "word received at an unmapped address",
        /// A send read a word that nothing had written.
        UnwrittenSend = "D0420", "send of unwritten memory",
        /// Words arrive after the row has ended and other work has begun.
        RowTooShort = "D0421", "words that arrive after the row has ended",
        /// A tile receives from itself and nobody else does.
        Loopback = "D0422", "loopback without a remote receiver",
        /// Tiles wait for others that cannot arrive.
        Deadlock = "D0423", "deadlock",
        /// A host packet is malformed.
        HostPacket = "D0424", "malformed host packet",
        /// A host packet has no exchange request by the tile's owner.
        HostRequest = "D0425", "host packet without an exchange request",
        /// A host packet addresses bytes that are not attached.
        HostMemory = "D0426", "host packet outside the attached pages",
        /// An image cannot be loaded or the machine is in the wrong state.
        Machine = "D0427", "machine in the wrong state",
        /// A byte was written that is in no buffer that is live.
        StrayWrite = "D0428", "write outside of every live buffer",
    }
}

/// When a fault happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// At an event of the exchange row.
    Event(Event),
    /// At a cycle of the tile, counted from the start of the machine.
    Cycle(u64),
}

/// A fault of one tile, or of the whole machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What kind.
    pub code: FaultCode,
    /// The tiles at fault, the first in the lead; empty for the whole machine.
    pub tiles: Vec<PhysicalTile>,
    /// When.
    pub moment: Option<Moment>,
    /// Program counter of the instruction.
    pub program_counter: Option<Address>,
    /// The data address concerned.
    pub address: Option<Address>,
    /// What happened and what was expected.
    pub message: String,
}

impl Fault {
    /// A fault of `tile`.
    pub(crate) fn on(tile: PhysicalTile, code: FaultCode, message: impl Into<String>) -> Self {
        Self {
            code,
            tiles: vec![tile],
            moment: None,
            program_counter: None,
            address: None,
            message: message.into(),
        }
    }

    /// A fault of the whole machine.
    pub(crate) fn of_machine(code: FaultCode, message: impl Into<String>) -> Self {
        Self {
            code,
            tiles: Vec::new(),
            moment: None,
            program_counter: None,
            address: None,
            message: message.into(),
        }
    }

    /// An access to memory that was refused.
    pub(crate) fn memory(tile: PhysicalTile, error: MemoryError, what: &str) -> Self {
        let (code, address, text) = match error {
            MemoryError::Unmapped(address) => (FaultCode::Unmapped, address, "is outside tile memory"),
            MemoryError::Unwritten(address) => (FaultCode::Unwritten, address, "was never written"),
            MemoryError::Misaligned(address) => {
                (FaultCode::Misaligned, address, "is not a multiple of its size")
            }
            MemoryError::Stray(address) => (FaultCode::StrayWrite, address, "is written"),
        };
        let element = Element::of(address).map(|element| format!(" ({element})")).unwrap_or_default();
        Self::on(tile, code, format!("{what}: address {address}{element} {text}")).at_address(address)
    }

    pub(crate) fn at_event(mut self, event: i64) -> Self {
        self.moment = Some(Moment::Event(Event(event)));
        self
    }

    pub(crate) fn at_cycle(mut self, cycle: u64) -> Self {
        self.moment.get_or_insert(Moment::Cycle(cycle));
        self
    }

    pub(crate) fn at_address(mut self, address: Address) -> Self {
        self.address = Some(address);
        self
    }

    pub(crate) fn at_instruction(mut self, program_counter: u32) -> Self {
        self.program_counter.get_or_insert(Address(program_counter));
        self
    }

    /// The tile in the lead.
    #[must_use]
    pub fn tile(&self) -> Option<PhysicalTile> {
        self.tiles.first().copied()
    }

    /// When and where, as messages end: `event 56`, `cycle 812, instruction at 0x5c010`.
    #[must_use]
    pub fn place(&self) -> String {
        let moment = self.moment.map(|moment| match moment {
            Moment::Event(event) => event.to_string(),
            Moment::Cycle(cycle) => format!("cycle {cycle}"),
        });
        let instruction = self.program_counter.map(|address| format!("instruction at {address}"));
        [moment, instruction].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// The message with the place, without tile and title.
    #[must_use]
    pub fn detail(&self) -> String {
        match self.place() {
            place if place.is_empty() => self.message.clone(),
            place => format!("{} [{place}]", self.message),
        }
    }
}

/// The tile as messages name it: `tile 2 (physical 64)`.
#[must_use]
pub fn tile_name(tile: PhysicalTile) -> String {
    format!("tile {} (physical {tile})", tile.logical())
}

/// Tiles as messages name them: one in full, several as logical ranges of at most `SHOWN` pieces.
pub(crate) fn tile_group(tiles: &[PhysicalTile]) -> String {
    const SHOWN: usize = 6;
    if let [tile] = tiles {
        return tile_name(*tile);
    }
    let mut logical: Vec<u16> = tiles.iter().map(|tile| tile.logical().0).collect();
    logical.sort_unstable();
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for id in logical {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == id => *last = id,
            _ => ranges.push((id, id)),
        }
    }
    let more = ranges.len().saturating_sub(SHOWN);
    let mut text: Vec<String> = ranges
        .iter()
        .take(SHOWN)
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}..{last}") })
        .collect();
    if more > 0 {
        text.push(format!("{more} more ranges"));
    }
    format!("{} tiles ({})", tiles.len(), text.join(", "))
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", crate::Coded::title(&self.code))?;
        if !self.tiles.is_empty() {
            write!(f, " on {}", tile_group(&self.tiles))?;
        }
        write!(f, ": {}", self.detail())
    }
}

impl std::error::Error for Fault {}

impl FaultCode {
    /// The exchange error that the context status register shows: 1 and 2 clashes, 3 address, 4 workers, 6
    /// configuration, 7 format; 0 for faults that are none of the exchange.
    pub(crate) fn receive_error(self) -> u32 {
        match self {
            Self::ClashSendReceive => 1,
            Self::ClashFetch => 2,
            Self::NoPointer | Self::BadPointer => 3,
            Self::RowTooShort => 4,
            Self::ControlsCoincide | Self::LaneBorrowed | Self::Loopback | Self::NoStream => 6,
            Self::FormatMismatch => 7,
            _ => 0,
        }
    }
}
