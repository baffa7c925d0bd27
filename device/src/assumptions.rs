//! Choices where the sources about the chip disagree or say nothing, each with both sides.
//!
//! `ipu doc --assumptions` lists [`ALL`]. A constant that embodies a choice stands beside its entry.

/// One choice.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Assumption {
    /// Short stable name.
    pub name: &'static str,
    /// What is assumed.
    pub choice: &'static str,
    /// The evidence for it, and for the alternatives.
    pub sources: &'static str,
}

/// Cycles a supervisor instruction takes outside exchange rows.
pub const SUPERVISOR_ISSUE_CYCLES: u64 = 1;

/// All choices.
pub const ALL: &[Assumption] = &[Assumption {
    name: "supervisor-issue",
    choice: "a supervisor instruction outside a row takes 1 cycle",
    sources: "setzi is measured at 1 cycle inside timed rows; the barrel pipeline suggests 6; a flat 6 does not \
              fit measured call overheads",
}];
