//! What can go wrong while a program runs.

use std::fmt;

use ipu_device::{Coded, LogicalTile};

use crate::exchange::program::{Binding, Buffer};
use crate::exchange::read::tile_text;
use crate::ir::OpId;

ipu_device::coded_enum! {
    /// Kinds of fault of an exchange program that runs on buffers.
    pub enum MeaningCode {
        /// A byte is read that nothing has written.
        UnwrittenRead = "R0201", "read of an unwritten byte",
        /// A kernel refuses its call, or leaves its operands.
        KernelFault = "R0202", "fault of a kernel",
        /// The image of an input is too short.
        ShortImage = "R0203", "image too short",
        /// Bytes outside of a buffer, or a buffer that the tile does not have.
        OutsideBuffer = "R0204", "access outside of a buffer",
        /// A schedule that breaks a rule of the fabric, or a fault of the fabric that executes it.
        ExchangeFault = "R0205", "fault of a scheduled exchange",
    }
}

/// A fault of a program that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Its kind.
    pub code: MeaningCode,
    /// What happened, with tile, buffer and offset.
    pub message: String,
    /// The op that was running.
    pub op: OpId,
    /// Which member of its family, for transfers and calls.
    pub member: Option<u32>,
    /// Where.
    pub tile: Option<LogicalTile>,
}

impl Fault {
    pub(super) fn image(binding: &Binding, needed: u64, found: usize) -> Self {
        let message =
            format!("the image of `@{}` has {found} bytes, the program loads {needed}", binding.name);
        Self { code: MeaningCode::ShortImage, message, op: binding.op, member: None, tile: None }
    }

    pub(super) fn unwritten(
        op: OpId,
        member: Option<u32>,
        tile: LogicalTile,
        buffer: &Buffer,
        offset: u32,
    ) -> Self {
        let message = format!(
            "byte {offset} of `{}` on {} is read, nothing has written it",
            buffer.name,
            tile_text(tile)
        );
        Self { code: MeaningCode::UnwrittenRead, message, op, member, tile: Some(tile) }
    }

    pub(super) fn outside(op: OpId, member: Option<u32>, tile: LogicalTile, buffer: &Buffer) -> Self {
        let message = format!("access outside of `{}` on {}", buffer.name, tile_text(tile));
        Self { code: MeaningCode::OutsideBuffer, message, op, member, tile: Some(tile) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.title(), self.message)?;
        match self.member {
            Some(member) => write!(f, ", in member {member}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}
