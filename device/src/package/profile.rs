//! What the cycle samples of a profiled package mean.

use crate::units::PhysicalTile;

/// The steps one tile samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TileProfilePlan {
    /// Which tile.
    pub tile: PhysicalTile,
    /// Its steps; step `k` spans samples `k` and `k + 1` and has local index `k`.
    pub steps: Vec<ProfileStep>,
}

/// One step between two samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileStep {
    /// Position in the tile's list.
    pub local_index: u32,
    /// Exchange phase it belongs to.
    pub phase: u32,
    /// Sync epoch it belongs to.
    pub epoch: u32,
    /// Name of the operation it works for.
    pub operation: String,
    /// What the tile does.
    pub kind: StepKind,
    /// Kernel symbol; empty if none runs.
    pub kernel: String,
    /// Free name and value pairs.
    pub metadata: Vec<(String, String)>,
    /// Sends and receives inside the step.
    pub exchange_activities: Vec<ExchangeActivity>,
    /// Planned length of the exchange.
    pub exchange_event_cycles: u32,
}

/// What a tile does in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// Runs an exchange row.
    Exchange,
    /// Runs a kernel.
    Compute,
    /// Waits at a barrier.
    Synchronization,
    /// Nothing.
    Idle,
}

/// A send, a receive, or a lane lent to the partner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExchangeActivity {
    /// Which.
    pub kind: ExchangeActivityKind,
    /// First event.
    pub start_cycle: u32,
    /// Event past the last.
    pub end_cycle: u32,
    /// Receivers; 0 if unknown.
    pub fanout: u16,
    /// Whether words travel in pairs.
    pub paired: bool,
}

/// Which part a tile takes in an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExchangeActivityKind {
    /// The tile sends.
    Send,
    /// The tile receives.
    Receive,
    /// The tile's lane is lent to its partner.
    PartnerBusy,
}
