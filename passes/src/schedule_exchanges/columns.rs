//! The transfers of a phase as columns of the scheduler, and back.
//!
//! A storage stands for one buffer at one address, because a buffer may lie elsewhere on each of its tiles; unplaced,
//! it stands for the buffer. Pieces that follow each other in memory are one run: only a jump is a segment.

use indexmap::IndexSet;
use ipu_device::{Address, LogicalTile};
use ipu_dialects::exchange::program::{Piece, Program, Receiver as Target, Transfer as Row, Transfers};
use ipu_dialects::exchange::{BufferId, Phase};
use ipu_dialects::ir::OpId;

use super::problem::{Problem, Receiver, ScheduleCode, ScheduleError, Segment, Transfer, Width};

/// A phase as columns, and the buffers that its storages stand for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns {
    pub(crate) problem: Problem,
    /// By storage.
    storages: IndexSet<(BufferId, Option<Address>)>,
}

/// Bytes in a word.
const WORD: u32 = 4;

impl Columns {
    /// The transfers of `phase` where the program's buffers are; in order, one transfer each.
    ///
    /// # Errors
    /// The first transfer that moves parts of words.
    pub(crate) fn of(program: &Program, phase: &Phase) -> Result<Self, ScheduleError> {
        let mut columns = Self::default();
        columns.append(&phase.transfers, |buffer, tile| (buffer, program.buffer(buffer).address(tile)))?;
        Ok(columns)
    }

    /// The transfers of `phase` in a program without addresses: all phases number their storages alike, by buffer.
    ///
    /// # Errors
    /// The first transfer that moves parts of words.
    pub(crate) fn by_buffer(program: &Program, phase: &Phase) -> Result<Self, ScheduleError> {
        let mut columns = Self::default();
        for buffer in program.buffer_ids() {
            columns.storage((buffer, None));
        }
        columns.append(&phase.transfers, |buffer, _| (buffer, None))?;
        Ok(columns)
    }

    fn storage(&mut self, key: (BufferId, Option<Address>)) -> u32 {
        let (index, new) = self.storages.insert_full(key);
        if new {
            self.problem.add_storage(key.1, key.0.0);
        }
        index as u32
    }

    fn append(
        &mut self,
        transfers: &Transfers,
        storage: impl Fn(BufferId, LogicalTile) -> (BufferId, Option<Address>),
    ) -> Result<(), ScheduleError> {
        for row in 0..transfers.len() {
            let bytes = transfers.bytes[row];
            let pieces = transfers.pieces(row);
            if !bytes.is_multiple_of(WORD) || pieces.iter().any(|piece| !piece.bytes.is_multiple_of(WORD)) {
                return Err(ScheduleError {
                    code: ScheduleCode::Malformed,
                    message: format!("a transfer of {bytes} bytes moves parts of words"),
                    transfer: Some(row as u32),
                });
            }
            let source = transfers.source[row];
            let from = self.storage(storage(transfers.source_buffer[row], source));
            let start = pieces.first().map_or(0, |piece| piece.offset);
            let first_receiver = self.problem.receivers.len() as u32;
            for target in transfers.receivers_of(row) {
                let storage = self.storage(storage(target.buffer, target.tile));
                let offset = start.saturating_add(target.shift);
                self.problem.receivers.push(Receiver { storage, offset, tile: target.tile });
            }
            let first_segment = self.problem.segments.len() as u32;
            self.problem.segments.extend(jumps(pieces, start));
            self.problem.transfers.push(Transfer {
                words: bytes / WORD,
                storage: from,
                offset: transfers.source_offset[row],
                first_receiver,
                receivers: self.problem.receivers.len() as u32 - first_receiver,
                first_segment,
                segments: self.problem.segments.len() as u32 - first_segment,
                source,
                width: if transfers.paired[row] { Width::Paired } else { Width::Word },
            });
        }
        Ok(())
    }

    /// The buffer of a storage.
    pub(crate) fn buffer(&self, storage: u32) -> Option<BufferId> {
        self.storages.get_index(storage as usize).map(|&(buffer, _)| buffer)
    }

    /// The transfers of `problem`, which has the storages of these columns, unscheduled; `op` is where each comes from.
    pub(crate) fn transfers(&self, problem: &Problem, op: impl Fn(usize) -> OpId) -> Transfers {
        let mut transfers = Transfers::default();
        let buffer = |storage: u32| self.buffer(storage).unwrap_or(BufferId(u32::MAX));
        for (index, transfer) in problem.transfers.iter().enumerate() {
            let receivers = problem.receivers_of(transfer);
            // The least of all offsets, so that no shift is negative.
            let base = receivers.iter().map(|receiver| receiver.offset).min().unwrap_or(0);
            let targets: Vec<Target> = receivers
                .iter()
                .map(|receiver| Target {
                    tile: receiver.tile,
                    buffer: buffer(receiver.storage),
                    shift: receiver.offset - base,
                })
                .collect();
            transfers.push(Row {
                op: op(index),
                member: 0,
                source: transfer.source,
                source_buffer: buffer(transfer.storage),
                source_offset: transfer.offset,
                bytes: transfer.words * WORD,
                paired: transfer.width == Width::Paired,
                receivers: &targets,
                pieces: &pieces(problem, transfer, base),
            });
        }
        transfers
    }
}

/// The pieces that do not begin where the one before ends.
fn jumps(pieces: &[Piece], start: u32) -> Vec<Segment> {
    let (mut word, mut reached) = (0, start);
    let mut segments = Vec::new();
    for piece in pieces {
        if piece.offset != reached {
            let displacement = (i64::from(piece.offset) - i64::from(start)) as i32;
            segments.push(Segment { word, displacement });
        }
        word += piece.bytes / WORD;
        reached = piece.offset.saturating_add(piece.bytes);
    }
    segments
}

/// The destination of a transfer whose receivers begin at `base` and above.
fn pieces(problem: &Problem, transfer: &Transfer, base: u32) -> Vec<Piece> {
    let segments = problem.segments_of(transfer);
    let starts = std::iter::once((0, 0)).chain(segments.iter().map(|s| (s.word, s.displacement)));
    let ends = segments.iter().map(|segment| segment.word).chain([transfer.words]);
    let piece = |((word, displacement), end): ((u32, i32), u32)| Piece {
        offset: base.wrapping_add_signed(displacement),
        bytes: (end - word) * WORD,
    };
    starts.zip(ends).map(piece).collect()
}
