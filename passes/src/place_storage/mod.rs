//! Gives every buffer of a program its address.

pub(crate) mod buffers;
mod failure;
pub(crate) mod pass;
pub mod problem;
mod search;
pub mod statistics;
mod tiles;
mod units;
pub mod validate;

pub use failure::{PlaceCode, PlaceError};
pub use pass::INFO;
pub use problem::{Buffer, Lifetime, PlacementProblem, Reservation};
pub use search::{PlaceOptions, Placed, Placement, place_storage};
pub use statistics::{Peaks, PlacementStatistics, peak_liveness};
pub use tiles::TileSet;
pub use validate::{PlacementViolation, validate_placement};
