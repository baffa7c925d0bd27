//! Rewrites the transfers of one phase; every byte that is read later still arrives at its place.
//!
//! In this order:
//! 1. *dead*: a receiver whose bytes nothing reads afterwards is dropped; so is a move of bytes onto themselves;
//! 2. *duplicate*: the same bytes sent to the same place twice are sent once;
//! 3. *multicast*: transfers of one source range become one transfer to all their receivers. A tile can stand only
//!    once in a multicast, so what goes to two places of one tile stays two transfers;
//! 4. *coalescing*: transfers that follow each other in the source and have the same receivers become one; where
//!    the destination does not run on, the joined transfer reloads the pointer there (a segment).

use std::cmp::Ordering;

use ipu_device::LogicalTile;

use crate::schedule_exchanges::problem::MAX_MESSAGE_WORDS;
use crate::schedule_exchanges::{Problem, Receiver, Segment, Transfer, Width};

/// What may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptimizeOptions {
    /// Whether one range for many receivers becomes one send.
    pub merge_multicasts: bool,
    /// Whether runs that are adjacent in the source but not in the destination are joined too.
    pub join_scattered: bool,
    /// Longest transfer that joining may make, in words.
    pub longest: u32,
}

impl Default for OptimizeOptions {
    fn default() -> Self {
        Self { merge_multicasts: true, join_scattered: true, longest: MAX_MESSAGE_WORDS }
    }
}

/// Bytes of each storage that something reads after the phase and before they are written again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reads {
    /// By storage: half-open byte ranges.
    pub ranges: Vec<Vec<(u32, u32)>>,
}

impl Reads {
    fn touch(&self, storage: u32, begin: i64, end: i64) -> bool {
        let ranges = self.ranges.get(storage as usize).map_or(&[][..], Vec::as_slice);
        ranges.iter().any(|&(first, last)| i64::from(first) < end && begin < i64::from(last))
    }
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct OptimizeStatistics {
    /// Deliveries dropped because nothing reads them or they change nothing.
    pub dead: usize,
    /// Deliveries dropped because another one does the same.
    pub duplicate: usize,
    /// Sends saved by multicasting.
    pub merged: usize,
    /// Sends saved by joining runs.
    pub coalesced: usize,
}

impl OptimizeStatistics {
    /// Counts what `other` counted too.
    pub(crate) fn add(&mut self, other: Self) {
        self.dead += other.dead;
        self.duplicate += other.duplicate;
        self.merged += other.merged;
        self.coalesced += other.coalesced;
    }
}

/// The rewritten phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Optimized {
    /// The transfers that remain, in the order of their first origins; storages as before.
    pub problem: Problem,
    /// Transfers of the input that each transfer stands for, ascending.
    pub origins: Vec<Vec<u32>>,
    /// What was done.
    pub statistics: OptimizeStatistics,
}

/// One delivery to one receiver, then, as they merge, one transfer to several.
#[derive(Debug, Clone)]
struct Run {
    source: LogicalTile,
    storage: u32,
    offset: u32,
    words: u32,
    width: Width,
    segments: Vec<Segment>,
    receivers: Vec<Receiver>,
    origins: Vec<u32>,
}

impl Run {
    fn end(&self) -> u64 {
        u64::from(self.offset) + 4 * u64::from(self.words)
    }

    /// Order in which equal sources are adjacent.
    fn compare_source(&self, other: &Self) -> Ordering {
        let key = |run: &Self| (run.source, run.storage, run.offset, run.words, run.width == Width::Paired);
        let segments =
            |run: &Self| run.segments.iter().map(|segment| (segment.word, segment.displacement)).collect();
        key(self).cmp(&key(other)).then_with(|| {
            let (own, others): (Vec<_>, Vec<_>) = (segments(self), segments(other));
            own.cmp(&others)
        })
    }

    fn receiver_keys(&self) -> impl Iterator<Item = (LogicalTile, u32)> + '_ {
        self.receivers.iter().map(|receiver| (receiver.tile, receiver.storage))
    }

    /// Order in which runs that may be joined are adjacent.
    fn compare_receivers(&self, other: &Self) -> Ordering {
        let key = |run: &Self| (run.source, run.storage, run.width == Width::Paired);
        key(self)
            .cmp(&key(other))
            .then_with(|| self.receiver_keys().cmp(other.receiver_keys()))
            .then(self.offset.cmp(&other.offset))
    }

    /// Appends `next`, which follows in the source, unless the receivers differ.
    fn join(&mut self, next: &Self, options: &OptimizeOptions) -> bool {
        let same = (self.source, self.storage, self.width) == (next.source, next.storage, next.width)
            && self.receiver_keys().eq(next.receiver_keys());
        let fits = self.words.checked_add(next.words).is_some_and(|words| words <= options.longest);
        if !same || !fits || self.end() != u64::from(next.offset) {
            return false;
        }
        let distance = |(own, next): (&Receiver, &Receiver)| i64::from(next.offset) - i64::from(own.offset);
        let mut distances = self.receivers.iter().zip(&next.receivers).map(distance);
        let Some(shift) = distances.next().and_then(|shift| i32::try_from(shift).ok()) else { return false };
        if !distances.all(|other| other == i64::from(shift)) {
            return false;
        }
        let last = self.segments.last().copied().unwrap_or(Segment { word: 0, displacement: 0 });
        let reached = i64::from(last.displacement) + 4 * i64::from(self.words - last.word);
        let runs_on = reached == i64::from(shift);
        if !runs_on && !options.join_scattered {
            return false;
        }
        if !runs_on {
            self.segments.push(Segment { word: self.words, displacement: shift });
        }
        self.segments.extend(next.segments.iter().map(|segment| Segment {
            word: self.words + segment.word,
            displacement: shift.wrapping_add(segment.displacement),
        }));
        self.words += next.words;
        self.origins.extend(&next.origins);
        true
    }
}

/// Rewrites a phase. Without `reads` every delivery counts as read.
#[must_use]
pub fn optimize_transfers(problem: &Problem, reads: Option<&Reads>, options: &OptimizeOptions) -> Optimized {
    let mut statistics = OptimizeStatistics::default();
    let mut runs = deliveries(problem, reads, &mut statistics);
    runs.sort_by(|a, b| {
        let receiver =
            |run: &Run| run.receivers.first().map(|first| (first.tile, first.storage, first.offset));
        a.compare_source(b)
            .then_with(|| receiver(a).cmp(&receiver(b)))
            .then_with(|| a.origins.cmp(&b.origins))
    });
    runs.dedup_by(|next, kept| {
        let same = kept.compare_source(next).is_eq() && kept.receivers == next.receivers;
        if same {
            kept.origins.append(&mut next.origins);
            statistics.duplicate += 1;
        }
        same
    });
    let mut sends: Vec<u32> = runs.iter().map(|run| run.origins[0]).collect();
    sends.sort_unstable();
    sends.dedup();
    let mut runs = merge(runs, options);
    statistics.merged = sends.len().saturating_sub(runs.len());
    runs.sort_by(Run::compare_receivers);
    let before = runs.len();
    runs.dedup_by(|next, kept| kept.join(next, options));
    statistics.coalesced = before - runs.len();
    let mut optimized = rebuild(problem, runs);
    optimized.statistics = statistics;
    optimized
}

/// Deliveries that change something that is read.
fn deliveries(problem: &Problem, reads: Option<&Reads>, statistics: &mut OptimizeStatistics) -> Vec<Run> {
    let mut runs = Vec::with_capacity(problem.receivers.len());
    for (index, transfer) in problem.transfers.iter().enumerate() {
        let segments = problem.segments_of(transfer);
        for receiver in problem.receivers_of(transfer) {
            let in_place = receiver.tile == transfer.source
                && (receiver.storage, receiver.offset) == (transfer.storage, transfer.offset)
                && segments.is_empty();
            if in_place || reads.is_some_and(|reads| !is_read(transfer, segments, receiver, reads)) {
                statistics.dead += 1;
                continue;
            }
            runs.push(Run {
                source: transfer.source,
                storage: transfer.storage,
                offset: transfer.offset,
                words: transfer.words,
                width: transfer.width,
                segments: segments.to_vec(),
                receivers: vec![*receiver],
                origins: vec![index as u32],
            });
        }
    }
    runs
}

fn is_read(transfer: &Transfer, segments: &[Segment], receiver: &Receiver, reads: &Reads) -> bool {
    let base = i64::from(receiver.offset);
    let starts =
        std::iter::once((0, 0)).chain(segments.iter().map(|segment| (segment.word, segment.displacement)));
    let ends = segments.iter().map(|segment| segment.word).chain([transfer.words]);
    starts.zip(ends).any(|((word, displacement), end)| {
        let begin = base + i64::from(displacement);
        reads.touch(receiver.storage, begin, begin + 4 * (i64::from(end) - i64::from(word)))
    })
}

/// Joins runs of one source range (adjacent in `runs`) into multicasts; a second delivery to one tile starts another.
/// Whole pairs stay together because both members of a pair come from the same transfers.
fn merge(runs: Vec<Run>, options: &OptimizeOptions) -> Vec<Run> {
    let mut merged: Vec<Run> = Vec::with_capacity(runs.len());
    let mut group_begin = 0;
    for run in runs {
        let same_source = |other: &Run| other.compare_source(&run).is_eq();
        if !merged.get(group_begin).is_some_and(same_source) {
            group_begin = merged.len();
        }
        let joins = |other: &&mut Run| {
            let from_same_transfer = other.origins.iter().any(|origin| run.origins.contains(origin));
            let allowed = options.merge_multicasts || from_same_transfer;
            allowed
                && run
                    .receivers
                    .iter()
                    .all(|own| other.receivers.iter().all(|theirs| theirs.tile != own.tile))
        };
        match merged[group_begin..].iter_mut().find(joins) {
            Some(other) => {
                other.receivers.extend(&run.receivers);
                other.origins.extend(&run.origins);
            }
            None => merged.push(run),
        }
    }
    merged
}

fn rebuild(problem: &Problem, mut runs: Vec<Run>) -> Optimized {
    for run in &mut runs {
        run.origins.sort_unstable();
        run.origins.dedup();
    }
    runs.sort_by(|a, b| a.origins.cmp(&b.origins).then_with(|| a.compare_source(b)));
    let mut rebuilt = Problem { storages: problem.storages.clone(), ..Problem::default() };
    let mut origins = Vec::with_capacity(runs.len());
    for run in runs {
        rebuilt.transfers.push(Transfer {
            words: run.words,
            storage: run.storage,
            offset: run.offset,
            first_receiver: rebuilt.receivers.len() as u32,
            receivers: run.receivers.len() as u32,
            first_segment: rebuilt.segments.len() as u32,
            segments: run.segments.len() as u32,
            source: run.source,
            width: run.width,
        });
        rebuilt.receivers.extend(run.receivers);
        rebuilt.segments.extend(run.segments);
        origins.push(run.origins);
    }
    Optimized { problem: rebuilt, origins, statistics: OptimizeStatistics::default() }
}
