//! Gives every transfer of an exchange phase its start: the row time at which its first send instruction begins.

mod banks;
pub mod bound;
pub(crate) mod columns;
mod cut;
mod event_set;
mod fabric;
mod multicasts;
mod orders;
pub(crate) mod pass;
pub mod problem;
pub mod schedule;
mod separate;
pub mod validate;

pub use bound::{Bound, Limit, lower_bound};
pub use fabric::Rules;
pub use orders::Variant;
pub use pass::INFO;
pub use problem::{Problem, Receiver, ScheduleCode, ScheduleError, Segment, Storage, Transfer, Width};
pub use schedule::{Schedule, ScheduleOptions, ScheduleStatistics, schedule_phase};
pub use validate::{Violation, validate};
