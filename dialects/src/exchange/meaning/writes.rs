//! Which bytes a step writes, and from where: what tools follow when they ask which step made a byte.

use ipu_device::LogicalTile;

use crate::exchange::program::{BufferId, HostPart, Run, Step};
use crate::ir::OpId;

/// A range of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The tile.
    pub tile: LogicalTile,
    /// The buffer.
    pub buffer: BufferId,
    /// First byte.
    pub offset: u32,
}

/// Bytes that a step puts into one buffer of one tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// The copy, run or host move.
    pub op: OpId,
    /// Which transfer of the phase, run of the compute step, or part of the host move.
    pub row: usize,
    /// Which member of the op's family, for transfers and runs.
    pub member: Option<u32>,
    /// Where they go.
    pub to: Place,
    /// How many.
    pub bytes: u32,
    /// Where a transfer reads them.
    pub from: Option<Place>,
}

/// What a step writes into buffers, in order of the text. A kernel writes at most its first operand.
#[must_use]
pub fn writes(step: &Step) -> Vec<Write> {
    match step {
        Step::Phase(phase) => {
            let transfers = &phase.transfers;
            let of_row = |row: usize| {
                transfers.receivers_of(row).flat_map(move |receiver| {
                    let mut offset = transfers.source_offset[row];
                    transfers.pieces(row).iter().map(move |piece| {
                        let tile = transfers.source[row];
                        let from = Place { tile, buffer: transfers.source_buffer[row], offset };
                        offset = offset.saturating_add(piece.bytes);
                        let place = piece.offset.saturating_add(receiver.shift);
                        Write {
                            op: transfers.op[row],
                            row,
                            member: Some(transfers.member[row]),
                            to: Place { tile: receiver.tile, buffer: receiver.buffer, offset: place },
                            bytes: piece.bytes,
                            from: Some(from),
                        }
                    })
                })
            };
            (0..transfers.len()).flat_map(of_row).collect()
        }
        Step::Compute(compute) => {
            let of_run = |(row, run): (usize, &Run)| {
                let output = run.operands.first()?;
                let to = Place { tile: run.tile, buffer: output.buffer, offset: output.offset };
                let member = Some(run.member);
                Some(Write { op: run.op, row, member, to, bytes: output.bytes, from: None })
            };
            compute.runs.iter().enumerate().filter_map(of_run).collect()
        }
        Step::LoadHost(moves) => {
            let of_part = |(row, part): (usize, &HostPart)| Write {
                op: moves.op,
                row,
                member: None,
                to: Place { tile: part.tile, buffer: part.slice.buffer, offset: part.slice.offset },
                bytes: part.slice.bytes,
                from: None,
            };
            moves.parts.iter().enumerate().map(of_part).collect()
        }
        Step::StoreHost(_) | Step::Repeat { .. } => Vec::new(),
    }
}
