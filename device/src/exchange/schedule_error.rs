//! What a schedule can break, with the tile, the event and the transfers at fault.

use std::fmt;

use crate::units::{Event, PhysicalTile};

crate::coded_enum! {
    /// Rules of an exchange phase.
    pub enum ScheduleCode {
        /// Two messages leave one tile at once.
        OverlappingSends = "D0210", "two messages leave a tile at once",
        /// A tile sends while its partner has borrowed its transmit lane.
        LentLaneInUse = "D0211", "tile sends while its lane is lent to its partner",
        /// Two messages want one input mux at once.
        OverlappingReceives = "D0212", "two messages pass a tile's mux at once",
        /// Two messages are written at once.
        OverlappingWrites = "D0213", "two messages are written to a tile at once",
        /// A control falls where a message starts.
        ControlAtSendStart = "D0214", "control falls on the start of a message",
        /// Controls on one event that no instruction can carry.
        CoincidentControls = "D0215", "controls fall on one event",
        /// The receive format changes while words of the other format arrive.
        FormatWhileWriting = "D0216", "receive format changes while words arrive",
        /// A message whose only receiver is its sender.
        SourceOnlyLoopback = "D0217", "message has no receiver but its sender",
        /// A 64-bit message that misses a member of a pair.
        MissingPairMember = "D0218", "64-bit message misses a member of a pair",
        /// Lengths that do not fit together.
        WrongLength = "D0219", "lengths of a transfer do not agree",
        /// Simultaneous accesses of one memory element.
        BankConflict = "D0220", "simultaneous accesses to one memory element",
        /// An address that is misaligned, unmapped or below the base.
        BadAddress = "D0221", "address cannot be used",
        /// An event before the row starts, or past any row.
        BadEvent = "D0222", "event cannot be reached",
        /// A double control that cannot lie on a multiple of 8 bytes.
        UnalignedDoubleControl = "D0223", "double control cannot be aligned",
        /// A row and its schedule differ.
        RowMismatch = "D0224", "row does not do what the schedule says",
    }
}

/// What a transfer does where a rule is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// It sends.
    Send,
    /// It borrows the partner's lane.
    Lend,
    /// It passes the mux.
    Receive,
    /// It is written.
    Write,
    /// It selects the source.
    Source,
    /// It selects the paired source.
    PairedSource,
    /// It sets the pointer.
    Pointer,
    /// It sets the format.
    Format,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Send => "send",
            Self::Lend => "lane loan",
            Self::Receive => "receive",
            Self::Write => "write",
            Self::Source => "source control",
            Self::PairedSource => "paired source control",
            Self::Pointer => "pointer control",
            Self::Format => "format control",
        })
    }
}

/// A transfer's part in a broken rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Offender {
    /// Index of the transfer in the order it was given.
    pub transfer: u32,
    /// What it does there.
    pub role: Role,
}

impl fmt::Display for Offender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of transfer {}", self.role, self.transfer)
    }
}

/// A broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleError {
    /// Which rule.
    pub code: ScheduleCode,
    /// Where.
    pub tile: PhysicalTile,
    /// When, on that tile's clock.
    pub event: Event,
    /// Who.
    pub first: Option<Offender>,
    /// With whom.
    pub second: Option<Offender>,
    /// What was expected or how to mend it.
    pub detail: String,
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = crate::Coded::title(&self.code);
        write!(f, "{title} on tile {} (physical {}) at {}", self.tile.logical(), self.tile, self.event)?;
        match (self.first, self.second) {
            (Some(first), Some(second)) => write!(f, ": {first} and {second}")?,
            (Some(only), None) | (None, Some(only)) => write!(f, ": {only}")?,
            (None, None) => {}
        }
        if self.detail.is_empty() { Ok(()) } else { write!(f, "; {}", self.detail) }
    }
}

impl std::error::Error for ScheduleError {}
