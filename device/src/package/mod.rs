//! The `.ipuexe` package: the images of all tiles, what the host must move and when, and our footer.
//!
//! Rules this folder keeps:
//! 1. A file is one Cap'n Proto message followed by one [`Footer`] and nothing else; a message without our
//!    footer is read only by [`Package::from_foreign_bytes`].
//! 2. What is written passes [`Package::validate`], and so does whatever a reader returns.
//! 3. The same package gives the same bytes, always.
//! 4. A hostile file costs at most a constant times its own size, and its damage has a code and a place.
//! 5. Equal images are one allocation, in memory and after reading.
//!
//! Source: hardware notes on the application container, sections 1 to 3 and 9.

#[rustfmt::skip]
#[allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    reason = "generated from device/schema/application.capnp",
)]
pub(crate) mod application_capnp;
mod error;
mod footer;
mod framing;
mod intern;
mod model;
mod profile;
mod read;
mod validate;
mod write;

pub use error::{PackageCode, PackageError};
pub use footer::Footer;
pub use model::{
    Binding, BindingKind, ConfigWrite, DebugRegion, DebugSymbol, EntryPoint, HostCall, HostExchange,
    HostPage, HostSlice, Package, RegionSlice, Segment, SegmentFlags, TileImage,
};
pub use profile::{ExchangeActivity, ExchangeActivityKind, ProfileStep, StepKind, TileProfilePlan};
