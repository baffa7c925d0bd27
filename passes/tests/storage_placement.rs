//! Placements of random programs, checked by the validator and the liveness bound, and the messages of refusals.

use ipu_device::memory_map::{INTERLEAVED_BASE, MemoryClass};
use ipu_device::{Address, Bytes, LogicalTile};
use ipu_passes::place_storage::{
    Buffer, Lifetime, PlaceCode, PlaceOptions, PlacementProblem, Reservation, TileSet, peak_liveness,
    place_storage, validate_placement,
};

/// A small generator of reproducible choices.
struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: u64) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit) as u32
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

fn standard(name: &str, bytes: u32, first: u32, last: u32) -> Buffer {
    Buffer {
        name: name.to_owned(),
        bytes: Bytes(bytes),
        align: Bytes(32),
        class: MemoryClass::Standard,
        tiles: TileSet::range(0, 4),
        lifetime: Lifetime { first, last },
        fixed: None,
    }
}

fn interleaved(name: &str, bytes: u32, first: u32, last: u32) -> Buffer {
    Buffer { class: MemoryClass::Interleaved, ..standard(name, bytes, first, last) }
}

/// The ranges that every program reserves: host window with stacks, and code.
fn reservations(code_end: u32) -> Vec<Reservation> {
    let tiles = TileSet::range(0, 1472);
    let reserve = |name: &str, begin: u32, end: u32| Reservation {
        name: name.to_owned(),
        begin: Address(begin),
        end: Address(end),
        tiles: tiles.clone(),
        lifetime: Lifetime::ALWAYS,
    };
    vec![reserve("loader and host window", 0x4c000, 0x5c000), reserve("code and rows", 0x5c000, code_end)]
}

/// A program whose live bytes stay below `filled` of memory at each step.
fn random_problem(choices: &mut Choices, filled: u64) -> PlacementProblem {
    let steps = 2 + choices.below(30);
    let limit = (0xe7bb0u64 - 0x64000) * filled / 100;
    let mut problem = PlacementProblem { reservations: reservations(0x64000), ..PlacementProblem::default() };
    let count = 3 + choices.below(70);
    for id in 0..count {
        let first = choices.below(u64::from(steps));
        let largest = [64, 1000, 5000, 20_000][choices.below(4) as usize];
        let mut buffer = standard(&format!("b{id}"), 8, first, first + choices.below(u64::from(steps)) / 3);
        buffer.bytes = Bytes(4 * (1 + choices.below(largest)));
        buffer.align = Bytes([4, 8, 32, 32][choices.below(4) as usize]);
        if choices.one_in(3) {
            buffer.class = MemoryClass::Interleaved;
        }
        let begin = choices.below(6) as u16;
        buffer.tiles = match choices.below(3) {
            0 => TileSet::range(0, 16),
            1 => TileSet::range(begin, begin + 8),
            _ => (0..16).filter(|tile| tile % 2 == begin % 2).map(LogicalTile).collect(),
        };
        problem.buffers.push(buffer);
        let peaks = peak_liveness(&problem);
        if peaks.total > limit || peaks.interleaved > 300_000 {
            problem.buffers.pop();
        }
    }
    let count = problem.buffers.len() as u64;
    for _ in 0..choices.below(6) {
        let (a, b) = (choices.below(count), choices.below(count));
        let small = |id: u32| problem.buffers[id as usize].bytes.0 < 20_000;
        if a != b && small(a) && small(b) {
            problem.separate.push((a, b));
        }
    }
    let pair = choices.below(count.max(2) - 1);
    let edged = problem.separate.iter().any(|&(a, b)| [a, b].contains(&pair) || [a, b].contains(&(pair + 1)));
    if !edged && u64::from(pair) + 1 < count && choices.one_in(2) {
        problem.groups.push(vec![pair, pair + 1]);
    }
    problem
}

#[test]
fn random_programs_are_placed_right_and_near_the_liveness_bound() {
    let (mut footprint, mut liveness, mut placed) = (0, 0, 0);
    for seed in 0..200 {
        let problem = random_problem(&mut Choices(seed), 75);
        let placement = match place_storage(&problem, &PlaceOptions::default()) {
            Ok(placement) => placement,
            Err(error) => panic!("seed {seed}: {error}"),
        };
        let violations = validate_placement(&problem, &placement.buffers);
        assert!(violations.is_empty(), "seed {seed}: {}", violations[0]);
        let statistics = placement.statistics;
        assert!(statistics.footprint.total >= statistics.liveness.total);
        footprint += statistics.footprint.total;
        liveness += statistics.liveness.total;
        placed += usize::from(statistics.split_buffers == 0);
    }
    assert!(placed >= 190, "only {placed} of 200 with one address a buffer");
    let percent = footprint * 100 / liveness;
    assert!(percent <= 105, "footprints are {percent} % of the live bytes");
}

#[test]
fn a_placement_is_the_same_every_time() {
    let problem = random_problem(&mut Choices(3), 75);
    let first = place_storage(&problem, &PlaceOptions::default());
    assert_eq!(first, place_storage(&problem, &PlaceOptions::default()));
}

#[test]
fn buffers_that_never_live_together_share_addresses() {
    let problem = PlacementProblem {
        buffers: vec![
            interleaved("a", 400_000, 0, 1),
            interleaved("b", 400_000, 2, 3),
            interleaved("c", 400_000, 4, 4),
        ],
        ..PlacementProblem::default()
    };
    let placement = place_storage(&problem, &PlaceOptions::default()).expect("they fit");
    assert!(placement.buffers.iter().all(|placed| placed[0].at == INTERLEAVED_BASE));
    assert_eq!(placement.statistics.footprint.total, 400_000);
}

#[test]
fn standard_buffers_spill_into_region_one_and_separate_ones_into_other_elements() {
    let mut problem = PlacementProblem { reservations: reservations(0x60000), ..PlacementProblem::default() };
    problem.buffers =
        vec![standard("a", 100_000, 0, 9), standard("b", 100_000, 0, 9), standard("c", 64, 0, 9)];
    problem.separate = vec![(0, 2), (1, 2)];
    let placement = place_storage(&problem, &PlaceOptions::default()).expect("they fit");
    assert!(validate_placement(&problem, &placement.buffers).is_empty());
    assert!(placement.buffers.iter().flatten().any(|placed| placed.at >= INTERLEAVED_BASE));
}

#[test]
fn tiles_get_addresses_of_their_own_where_one_address_for_all_does_not_fit() {
    // Each pair of three buffers shares a tile, no tile holds all three: one address each needs three places.
    let mut problem = PlacementProblem::default();
    for (name, tiles) in [("a", [0, 2]), ("b", [0, 1]), ("c", [1, 2])] {
        let tiles: TileSet = tiles.into_iter().map(LogicalTile).collect();
        problem.buffers.push(Buffer { tiles, ..interleaved(name, 200_000, 0, 9) });
    }
    let placement = place_storage(&problem, &PlaceOptions::default()).expect("each tile holds two");
    assert!(validate_placement(&problem, &placement.buffers).is_empty());
    assert!(placement.statistics.split_buffers > 0);
}

#[test]
fn the_validator_sees_what_moving_one_buffer_breaks() {
    let mut problem = PlacementProblem { reservations: reservations(0x60000), ..PlacementProblem::default() };
    problem.buffers = vec![standard("a", 1000, 0, 9), standard("b", 1000, 0, 9), interleaved("c", 64, 0, 9)];
    problem.separate = vec![(0, 1)];
    let placement = place_storage(&problem, &PlaceOptions::default()).expect("they fit");
    let moved = |buffer: usize, at: u32| {
        let mut buffers = placement.buffers.clone();
        buffers[buffer][0].at = Address(at);
        validate_placement(&problem, &buffers).first().map(ToString::to_string).unwrap_or_default()
    };
    let first = placement.buffers[0][0].at.0;
    assert_eq!(moved(1, first + 32), "tile 0: `a` and `b` overlap");
    assert_eq!(moved(1, first + 2048), "tile 0: `a` and `b` share an element");
    assert_eq!(moved(0, first + 4), "tile 0: `a` is not aligned");
    assert_eq!(moved(0, 0x5c000), "tile 0: `a` lies in `code and rows`");
    assert_eq!(moved(2, 0x70000), "tile 0: `c` lies in the wrong region or in both");
    assert_eq!(moved(0, 0xe8000), "tile 0: `a` lies outside memory");
}

/// The message of a problem that cannot be placed.
#[track_caller]
fn refusal(problem: &PlacementProblem) -> String {
    place_storage(problem, &PlaceOptions::default()).expect_err("cannot be placed").to_string()
}

#[test]
fn addresses_that_are_fixed_are_refused_by_their_kind() {
    let at = |address: u32, name| Buffer { fixed: Some(Address(address)), ..standard(name, 64, 0, 4) };
    let problem = PlacementProblem {
        buffers: vec![at(0x70000, "a"), at(0x70020, "b")],
        reservations: reservations(0x64000),
        ..PlacementProblem::default()
    };
    let error = place_storage(&problem, &PlaceOptions::default()).expect_err("they overlap");
    assert_eq!(error.code, PlaceCode::FixedCollide);
}

#[test]
fn refusals_say_what_collides_and_what_would_help() {
    let with = |buffers: Vec<Buffer>| PlacementProblem {
        buffers,
        reservations: reservations(0x64000),
        ..PlacementProblem::default()
    };
    let at = |address: u32, buffer: Buffer| Buffer { fixed: Some(Address(address)), ..buffer };
    insta::assert_snapshot!(
        "more_alive_than_memory",
        refusal(&with(vec![
            standard("a.home", 300_000, 0, 4),
            standard("weights", 200_000, 0, u32::MAX),
            interleaved("c.partial", 90_000, 3, 5),
            standard("c.home", 4_000, 5, 9),
        ]))
    );
    insta::assert_snapshot!(
        "more_interleaved_than_region_one",
        refusal(&with(vec![
            interleaved("c.partial", 300_000, 0, 4),
            interleaved("d.partial", 300_000, 4, 6),
        ]))
    );
    insta::assert_snapshot!("larger_than_its_region", refusal(&with(vec![standard("table", 500_000, 0, 4)])));
    let mut grouped = with((0..4).map(|index| standard(&format!("w.{index}"), 120_000, 0, 9)).collect());
    grouped.groups = vec![vec![0, 1, 2, 3]];
    insta::assert_snapshot!("group_larger_than_its_region", refusal(&grouped));
    insta::assert_snapshot!(
        "fixed_overlap",
        refusal(&with(vec![at(0x70000, standard("a", 64, 0, 4)), at(0x70020, standard("b", 64, 4, 6)),]))
    );
    let mut apart = with(vec![at(0x70000, standard("a", 64, 0, 4)), at(0x71000, standard("b", 64, 5, 6))]);
    apart.separate = vec![(0, 1)];
    insta::assert_snapshot!("fixed_share_an_element", refusal(&apart));
    insta::assert_snapshot!("fixed_misaligned", refusal(&with(vec![at(0x70004, standard("a", 64, 0, 4))])));
    let mut grouped = with(vec![standard("a", 64, 0, 4), standard("b", 64, 0, 4)]);
    grouped.groups = vec![vec![0, 1]];
    grouped.separate = vec![(0, 1)];
    insta::assert_snapshot!("apart_but_one_group", refusal(&grouped));
    let mut elements = with((0..12).map(|index| interleaved(&format!("p{index}"), 33_000, 0, 9)).collect());
    elements.separate = (0..12).flat_map(|a| (0..a).map(move |b| (b, a))).collect();
    insta::assert_snapshot!("too_few_elements", refusal(&elements));
    insta::assert_snapshot!(
        "no_run_long_enough",
        refusal(&with(vec![
            at(0x90000, interleaved("pinned", 32, 0, 9)),
            at(0xb8000, interleaved("pinned too", 32, 0, 9)),
            interleaved("c.partial", 300_000, 0, 4),
        ]))
    );
}
