//! Joins two phases into one where no byte that the first touches matters to the second.

use ipu_device::LogicalTile;

use crate::schedule_exchanges::{Problem, Segment, Transfer};

/// A byte range of one storage on one tile.
type Range = (LogicalTile, u32, i64, i64);

fn reads(problem: &Problem) -> Vec<Range> {
    let read = |transfer: &Transfer| {
        let begin = i64::from(transfer.offset);
        (transfer.source, transfer.storage, begin, begin + 4 * i64::from(transfer.words))
    };
    sorted(problem.transfers.iter().map(read).collect())
}

fn writes(problem: &Problem) -> Vec<Range> {
    let mut ranges = Vec::with_capacity(problem.receivers.len());
    for transfer in &problem.transfers {
        for receiver in problem.receivers_of(transfer) {
            let mut current = Segment { word: 0, displacement: 0 };
            let mut push = |current: Segment, end: u32| {
                let begin = i64::from(receiver.offset) + i64::from(current.displacement);
                let bytes = 4 * (i64::from(end) - i64::from(current.word));
                ranges.push((receiver.tile, receiver.storage, begin, begin + bytes));
            };
            for &segment in problem.segments_of(transfer) {
                push(current, segment.word);
                current = segment;
            }
            push(current, transfer.words);
        }
    }
    sorted(ranges)
}

fn sorted(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_unstable();
    ranges
}

/// Where a range of `a` meets one of `b`, first; both sorted.
fn meet(a: &[Range], b: &[Range]) -> Option<Range> {
    let mut all: Vec<(Range, bool)> =
        a.iter().map(|&range| (range, true)).chain(b.iter().map(|&range| (range, false))).collect();
    all.sort_unstable();
    // The furthest end seen on either side of the current tile and storage.
    let mut reached = [i64::MIN; 2];
    let mut place = None;
    for ((tile, storage, begin, end), first) in all {
        if place.replace((tile, storage)) != Some((tile, storage)) {
            reached = [i64::MIN; 2];
        }
        let (own, other) = if first { (0, 1) } else { (1, 0) };
        if begin < reached[other] {
            return Some((tile, storage, begin, end.min(reached[other])));
        }
        reached[own] = reached[own].max(end);
    }
    None
}

/// Bytes of one tile that keep two phases apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Conflict {
    /// What the second phase does to them.
    pub(super) what: &'static str,
    pub(super) tile: LogicalTile,
    pub(super) storage: u32,
    pub(super) begin: i64,
    pub(super) end: i64,
}

/// What of `second`, run directly after `first`, must wait for `first`. Both name the same storages.
pub(super) fn conflict(first: &Problem, second: &Problem) -> Option<Conflict> {
    let (first_writes, second_writes) = (writes(first), writes(second));
    let found = |what: &'static str, met: Option<Range>| {
        met.map(|(tile, storage, begin, end)| Conflict { what, tile, storage, begin, end })
    };
    found("reads what that writes", meet(&first_writes, &reads(second)))
        .or_else(|| found("writes what that reads", meet(&reads(first), &second_writes)))
        .or_else(|| found("writes what that writes", meet(&first_writes, &second_writes)))
}

/// Whether `second`, run directly after `first`, may run at the same time: it reads nothing that `first` writes, and
/// writes nothing that `first` reads or writes. Both name the same storages.
#[must_use]
pub fn may_fuse(first: &Problem, second: &Problem) -> bool {
    conflict(first, second).is_none()
}

/// Appends the transfers of `second`, which names the same storages, to `first`.
pub fn append_phase(first: &mut Problem, second: &Problem) {
    let (receivers, segments) = (first.receivers.len() as u32, first.segments.len() as u32);
    first.receivers.extend(&second.receivers);
    first.segments.extend(&second.segments);
    first.transfers.extend(second.transfers.iter().map(|&transfer| Transfer {
        first_receiver: transfer.first_receiver + receivers,
        first_segment: transfer.first_segment + segments,
        ..transfer
    }));
}
