//! Rewritten phases move the same bytes with fewer sends.

use std::collections::{BTreeMap, BTreeSet};

use ipu_device::{Bytes, LogicalTile, Words};
use ipu_passes::optimize_exchanges::{
    OptimizeOptions, OptimizeStatistics, Optimized, Reads, append_phase, may_fuse, optimize_transfers,
};
use ipu_passes::schedule_exchanges::{Problem, Receiver, Segment, Width};
use proptest::prelude::*;

/// A unicast: source tile, source offset, words, destination tile, destination offset.
type Unicast = (u16, u32, u32, u16, u32);

/// Unicasts from storage 0 to storage 1.
fn phase(unicasts: &[Unicast]) -> Problem {
    let mut problem = Problem::default();
    let (home, block) = (problem.add_storage(None, 0), problem.add_storage(None, 1));
    for &(source, from, words, tile, into) in unicasts {
        let receiver = Receiver { storage: block, offset: into, tile: LogicalTile(tile) };
        problem.add_transfer(
            LogicalTile(source),
            (home, Bytes(from)),
            Words(words),
            Width::Word,
            &[receiver],
        );
    }
    problem
}

/// A word of memory: tile, storage, byte offset.
type Word = (u16, u32, u32);

/// Where each destination word comes from.
fn movement(problem: &Problem) -> BTreeMap<Word, BTreeSet<Word>> {
    let mut moved: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for transfer in &problem.transfers {
        for receiver in problem.receivers_of(transfer) {
            for word in 0..transfer.words {
                let segments = problem.segments_of(transfer).iter();
                let current = segments.rev().find(|segment| segment.word <= word);
                let &Segment { word: first, displacement } =
                    current.unwrap_or(&Segment { word: 0, displacement: 0 });
                let at = receiver.offset.wrapping_add_signed(displacement) + 4 * (word - first);
                let from = (transfer.source.0, transfer.storage, transfer.offset + 4 * word);
                moved.entry((receiver.tile.0, receiver.storage, at)).or_default().insert(from);
            }
        }
    }
    moved
}

#[track_caller]
fn check(problem: &Problem, expected: OptimizeStatistics, transfers: usize) -> Optimized {
    let optimized = optimize_transfers(problem, None, &OptimizeOptions::default());
    assert_eq!(optimized.statistics, expected);
    assert_eq!(optimized.problem.transfers.len(), transfers);
    assert_eq!(movement(&optimized.problem), movement(problem));
    assert_eq!(optimized.problem.check(), Ok(()));
    optimized
}

#[test]
fn one_range_for_many_tiles_is_sent_once() {
    let problem = phase(&[(0, 0, 8, 1, 0), (0, 0, 8, 2, 64), (0, 0, 8, 3, 0), (1, 0, 8, 2, 0)]);
    let optimized = check(&problem, OptimizeStatistics { merged: 2, ..Default::default() }, 2);
    assert_eq!(optimized.origins, [vec![0, 1, 2], vec![3]]);
}

#[test]
fn two_places_on_one_tile_stay_two_transfers() {
    let problem = phase(&[(0, 0, 8, 1, 0), (0, 0, 8, 1, 64), (0, 0, 8, 2, 0)]);
    check(&problem, OptimizeStatistics { merged: 1, ..Default::default() }, 2);
}

#[test]
fn adjacent_runs_join_and_scattered_ones_reload_the_pointer() {
    let problem = phase(&[(0, 0, 8, 1, 0), (0, 32, 8, 1, 32), (0, 64, 8, 1, 256), (0, 128, 8, 1, 288)]);
    let optimized = check(&problem, OptimizeStatistics { coalesced: 2, ..Default::default() }, 2);
    assert_eq!(optimized.problem.segments, [Segment { word: 16, displacement: 256 }]);
    let unscattered = OptimizeOptions { join_scattered: false, ..OptimizeOptions::default() };
    assert_eq!(optimize_transfers(&problem, None, &unscattered).problem.transfers.len(), 3);
}

#[test]
fn a_repeated_delivery_happens_once() {
    let problem = phase(&[(0, 0, 8, 1, 0), (0, 0, 8, 1, 0)]);
    let optimized = check(&problem, OptimizeStatistics { duplicate: 1, ..Default::default() }, 1);
    assert_eq!(optimized.origins, [vec![0, 1]]);
}

#[test]
fn what_nothing_reads_is_not_sent() {
    let problem = phase(&[(0, 0, 8, 1, 0), (0, 32, 8, 1, 32), (0, 0, 8, 2, 96)]);
    let reads = Reads { ranges: vec![vec![], vec![(0, 16), (96, 128)]] };
    let optimized = optimize_transfers(&problem, Some(&reads), &OptimizeOptions::default());
    assert_eq!(optimized.statistics.dead, 1);
    assert_eq!(optimized.origins, [vec![0, 2]]);
}

#[test]
fn phases_fuse_only_where_neither_sees_the_other() {
    let first = phase(&[(0, 0, 8, 1, 0)]);
    assert!(may_fuse(&first, &phase(&[(0, 0, 8, 2, 0), (2, 0, 8, 1, 32)])));
    assert!(!may_fuse(&first, &phase(&[(2, 0, 8, 1, 28)])), "both write");
    let mut forward = phase(&[(1, 16, 8, 3, 0)]);
    forward.transfers[0].storage = 1;
    assert!(!may_fuse(&first, &forward), "reads what the first writes");
    let mut overwrite = phase(&[(3, 0, 1, 0, 28)]);
    overwrite.receivers[0].storage = 0;
    assert!(!may_fuse(&first, &overwrite), "writes what the first reads");
    let (mut fused, second) = (first.clone(), phase(&[(5, 0, 8, 6, 0), (6, 0, 8, 5, 0)]));
    append_phase(&mut fused, &second);
    assert_eq!(movement(&fused).len(), movement(&first).len() + movement(&second).len());
}

proptest! {
    #[test]
    fn any_phase_still_moves_its_bytes(
        unicasts in prop::collection::vec((0u16..4, 0u32..6, 1u32..4, 0u16..5, 0u32..40), 1..40),
        merge_multicasts: bool, join_scattered: bool, longest in 1u32..12,
    ) {
        let unicasts: Vec<Unicast> =
            unicasts.into_iter().map(|(s, from, blocks, d, into)| (s, 16 * from, 4 * blocks, d + 4, 16 * into)).collect();
        let problem = phase(&unicasts);
        let options = OptimizeOptions { merge_multicasts, join_scattered, longest };
        let optimized = optimize_transfers(&problem, None, &options);
        prop_assert_eq!(movement(&optimized.problem), movement(&problem));
        prop_assert!(optimized.problem.transfers.len() <= problem.transfers.len());
        prop_assert_eq!(optimized.problem.check(), Ok(()));
        let again = optimize_transfers(&optimized.problem, None, &options);
        prop_assert!(again.problem.transfers.len() <= optimized.problem.transfers.len());
    }
}
