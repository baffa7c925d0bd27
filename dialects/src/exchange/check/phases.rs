//! Transfers of one phase against each other.

use ipu_device::LogicalTile;
use ipu_device::hash::HashSet;
use rayon::slice::ParallelSliceMut;

use super::{Checker, tile_text};
use crate::exchange::codes::ExchangeCode;
use crate::exchange::program::{BufferId, Phase, Transfers};
use crate::ir::OpId;

/// Bytes of one transfer on one tile, ordered by place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Range {
    tile: LogicalTile,
    buffer: BufferId,
    start: u32,
    end: u32,
    transfer: u32,
}

impl Range {
    fn place(&self) -> (LogicalTile, BufferId) {
        (self.tile, self.buffer)
    }
}

/// Bytes of an item of the fabric: a word, or two in a paired transfer.
fn item(transfers: &Transfers, row: usize) -> u32 {
    if transfers.paired[row] { 8 } else { 4 }
}

impl Checker<'_> {
    pub(super) fn phase(&mut self, phase: &Phase) {
        let transfers = &phase.transfers;
        self.words(transfers);
        self.paired(phase);
        self.incoming_base(phase);
        let (reads, writes) = (reads_of(transfers), writes_of(transfers));
        self.written_twice(phase, &writes);
        self.read_and_written(phase, &reads, &writes);
    }

    /// The fabric moves whole aligned items, and a tile does not send to itself alone.
    fn words(&mut self, transfers: &Transfers) {
        let mut reported: HashSet<OpId> = HashSet::default();
        for row in 0..transfers.len() {
            let (op, member) = (transfers.op[row], transfers.member[row]);
            let shift = transfers.receivers_of(row).fold(0, |bits, receiver| bits | receiver.shift);
            let pieces =
                transfers.pieces(row).iter().fold(0, |bits, piece| bits | piece.offset | piece.bytes);
            let bits = shift | pieces | transfers.source_offset[row] | transfers.bytes[row];
            let item = item(transfers, row);
            let odd = !bits.is_multiple_of(item);
            let empty =
                transfers.bytes[row] == 0 || transfers.pieces(row).iter().any(|piece| piece.bytes == 0);
            let alone = transfers.receivers_of(row).all(|receiver| receiver.tile == transfers.source[row]);
            if !(odd || empty || alone) || !reported.insert(op) {
                continue;
            }
            let source = tile_text(transfers.source[row]);
            if odd {
                let message = format!(
                    "offsets and lengths of a transfer must be multiples of {item} bytes; member {member} reads bytes {}..{} on {source}",
                    transfers.source_offset[row],
                    u64::from(transfers.source_offset[row]) + u64::from(transfers.bytes[row])
                );
                self.report(ExchangeCode::Misaligned, op, message);
            } else if empty {
                self.report(ExchangeCode::BadTransfer, op, format!("member {member} moves no bytes"));
            } else {
                let message = format!(
                    "member {member} sends from {source} to itself alone, expected a remote receiver"
                );
                let error = self.error(ExchangeCode::BadTransfer, op, message);
                self.diagnostics.push(error.note("copy bytes on a tile with a kernel such as `@copy_u64`"));
            }
        }
    }

    fn written_twice(&mut self, phase: &Phase, writes: &[Range]) {
        let mut reported: HashSet<(OpId, OpId)> = HashSet::default();
        // The write that reaches furthest on the current tile and buffer.
        let mut furthest: Option<Range> = None;
        for &write in writes {
            let before = furthest.filter(|before| before.place() == write.place());
            if let Some(before) = before.filter(|before| before.end > write.start) {
                let what = ("written", "written again");
                self.overlap(ExchangeCode::WrittenTwice, phase, before, write, what, &mut reported);
            }
            if before.is_none_or(|before| before.end < write.end) {
                furthest = Some(write);
            }
        }
    }

    fn read_and_written(&mut self, phase: &Phase, reads: &[Range], writes: &[Range]) {
        let mut reported: HashSet<(OpId, OpId)> = HashSet::default();
        let mut furthest: Option<Range> = None;
        let mut next = writes.iter().peekable();
        // Writes do not overlap, so among those that start before a read ends only the last can reach into it; one
        // that reaches further has been reported as written twice.
        for &read in reads {
            while let Some(&&write) = next.peek() {
                if (write.place(), write.start) >= (read.place(), read.end) {
                    break;
                }
                furthest = Some(write);
                next.next();
            }
            let clash = furthest.filter(|write| write.place() == read.place() && write.end > read.start);
            if let Some(write) = clash {
                let what = ("read", "written");
                self.overlap(ExchangeCode::ReadAndWritten, phase, read, write, what, &mut reported);
            }
        }
    }

    fn overlap(
        &mut self,
        code: ExchangeCode,
        phase: &Phase,
        first: Range,
        second: Range,
        what: (&str, &str),
        reported: &mut HashSet<(OpId, OpId)>,
    ) {
        let transfers = &phase.transfers;
        let (one, other) = (first.transfer as usize, second.transfer as usize);
        let (one_op, other_op) = (transfers.op[one], transfers.op[other]);
        if !reported.insert((one_op, other_op)) {
            return;
        }
        let message = format!(
            "in phase `@{}`, bytes {}..{} of `{}` on {} are {} by member {} and {} by member {}",
            phase.name,
            first.start.max(second.start),
            first.end.min(second.end),
            self.name(first.buffer),
            tile_text(first.tile),
            what.0,
            transfers.member[one],
            what.1,
            transfers.member[other],
        );
        let error = self.error(code, other_op, message);
        let error = error.label(self.module.span(one_op), format!("{} here", what.0));
        self.diagnostics.push(
            error.note("all sources of a phase are read before all destinations are written, in no order"),
        );
    }
}

fn reads_of(transfers: &Transfers) -> Vec<Range> {
    let mut reads: Vec<Range> = (0..transfers.len())
        .map(|row| Range {
            tile: transfers.source[row],
            buffer: transfers.source_buffer[row],
            start: transfers.source_offset[row],
            end: transfers.source_offset[row].saturating_add(transfers.bytes[row]),
            transfer: row as u32,
        })
        .collect();
    reads.par_sort_unstable();
    reads
}

fn writes_of(transfers: &Transfers) -> Vec<Range> {
    let mut writes = Vec::with_capacity(transfers.receiver.len());
    for row in 0..transfers.len() {
        for receiver in transfers.receivers_of(row) {
            for piece in transfers.pieces(row) {
                let start = piece.offset.saturating_add(receiver.shift);
                writes.push(Range {
                    tile: receiver.tile,
                    buffer: receiver.buffer,
                    start,
                    end: start.saturating_add(piece.bytes),
                    transfer: row as u32,
                });
            }
        }
    }
    writes.par_sort_unstable();
    writes
}
