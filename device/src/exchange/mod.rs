//! Exchange phases: from scheduled transfers to each tile's row of instruction words, and back.
//!
//! | module | holds |
//! |---|---|
//! | [`transfer`] | what moves: source, start, receivers, addresses |
//! | [`routes`] | the event model: when a word is selected, where its writes fall, when a row may end |
//! | [`timeline`] | one tile's merged sends, controls and windows |
//! | [`validate`] | the rules a timeline must keep to be encodable and legal |
//! | [`banks`] | the memory element rules |
//! | [`row_encoder`] | timeline to instruction words |
//! | [`row_checker`] | words back to events, compared with the schedule; shares only the field table and topology |
//!
//! There is no receive instruction: all tiles run straight-line rows on a common clock, and a word is received
//! because the receiver's source and pointer controls fall on the right events. A mistimed row is no error on the
//! chip; it moves wrong words. Source: exchange notes after `osmarks/ipu-stack`
//! `docs/EXCHANGE_INSTRUCTION_REFERENCE.md`, checked there against vendor rows and hardware.

pub mod banks;
pub mod routes;
pub mod row_checker;
pub mod row_encoder;
pub mod schedule_error;
pub mod timeline;
pub mod transfer;
pub mod validate;

pub use row_checker::{RowMismatch, check_row};
pub use row_encoder::{Row, RowEncoding, RowTable, encode_row};
pub use schedule_error::{Offender, Role, ScheduleCode, ScheduleError};
pub use timeline::{Control, ControlAction, Timeline, TimelineBuilder};
pub use transfer::{ItemWidth, Piece, Receiver, SendControl, Transfer};
