//! Schedules of whole phases, checked by the validator, by the lower bound, and by following every word.

use std::collections::BTreeMap;

use ipu_device::{Address, Bytes, LogicalTile, Words};
use ipu_passes::schedule_exchanges::{
    Problem, Receiver, Rules, Schedule, ScheduleCode, ScheduleOptions, Segment, Variant, Width, lower_bound,
    schedule_phase, validate,
};

/// A small generator of reproducible choices.
struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// A phase from lines of source, words and destinations; ranges follow each other in file order, sources from
/// 0x58000 and destinations from 0x90000 up; a multicast lands at one address on all its destinations.
fn parse_problem(text: &str) -> Problem {
    let mut problem = Problem::default();
    let sources = problem.add_storage(Some(Address(0x58000)), 0);
    let destinations = problem.add_storage(Some(Address(0x90000)), 1);
    let (mut sent, mut received) = (BTreeMap::new(), BTreeMap::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |field: &str| field.parse::<u32>().expect("a number");
        let (source, words) = (number(fields[0]) as u16, number(fields[1]));
        let tiles: Vec<u16> = fields[2].split(',').map(|tile| number(tile) as u16).collect();
        let offset = tiles.iter().map(|tile| *received.get(tile).unwrap_or(&0)).max().expect("a destination");
        let at = sent.entry(source).or_insert(0);
        let receivers: Vec<Receiver> = tiles
            .iter()
            .map(|&tile| Receiver { storage: destinations, offset, tile: LogicalTile(tile) })
            .collect();
        problem.add_transfer(
            LogicalTile(source),
            (sources, Bytes(*at)),
            Words(words),
            Width::Word,
            &receivers,
        );
        *at += 4 * words;
        received.extend(tiles.into_iter().map(|tile| (tile, offset + 4 * words)));
    }
    problem
}

fn options(rules: Rules) -> ScheduleOptions {
    ScheduleOptions { rules, ..ScheduleOptions::default() }
}

/// Every word of every transfer reaches each of its receivers once, at its place.
fn assert_delivers(problem: &Problem, schedule: &Schedule) {
    let mut wanted = BTreeMap::new();
    let mut moved = BTreeMap::new();
    let list = |problem: &Problem, index: usize, into: &mut BTreeMap<_, u32>| {
        let transfer = &problem.transfers[index];
        for receiver in problem.receivers_of(transfer) {
            let mut segments = problem.segments_of(transfer).iter().peekable();
            let mut destination = receiver.offset;
            for word in 0..transfer.words {
                if let Some(segment) = segments.next_if(|segment| segment.word == word) {
                    destination = receiver.offset.wrapping_add_signed(segment.displacement);
                }
                let from = (transfer.source, transfer.storage, transfer.offset + 4 * word);
                *into
                    .entry((
                        from,
                        receiver.tile,
                        receiver.storage,
                        destination,
                        transfer.width == Width::Paired,
                    ))
                    .or_insert(0) += 1;
                destination += 4;
            }
        }
    };
    (0..problem.transfers.len()).for_each(|index| list(problem, index, &mut wanted));
    (0..schedule.sends.len()).for_each(|index| list(&schedule.messages, index, &mut moved));
    assert!(wanted == moved, "words lost, moved twice or elsewhere");
}

#[track_caller]
fn assert_right(problem: &Problem, options: &ScheduleOptions) -> Schedule {
    let schedule = schedule_phase(problem, options).expect("the phase can be scheduled");
    let violations = validate(&schedule.messages, &schedule.sends, options.rules);
    assert!(
        violations.is_empty(),
        "{}",
        violations.iter().take(5).map(|v| format!("{v}\n")).collect::<String>()
    );
    assert_delivers(problem, &schedule);
    assert!(schedule.statistics.events >= lower_bound(problem).events, "shorter than the bound");
    assert_eq!(i64::from(*schedule.horizons.iter().max().expect("tiles")), schedule.statistics.events);
    schedule
}

/// A phase of random unicasts and multicasts with private ranges, some loopback, paired, scattered, long.
fn random_problem(choices: &mut Choices) -> Problem {
    let tiles = [2, 3, 8, 64, 300, 1472][choices.below(6) as usize];
    let transfers = 1 + choices.below(if tiles > 64 { 900 } else { 40 });
    let longest = [1, 4, 20, 90, if tiles > 64 { 60 } else { 5000 }][choices.below(5) as usize];
    let address = |choices: &mut Choices, at: u32| choices.one_in(2).then_some(Address(at));
    let mut problem = Problem::default();
    let sources = address(choices, 0x50000);
    let sources = problem.add_storage(sources, 0);
    let at = [0x52000, 0x64000, 0x90000][choices.below(3) as usize];
    let destinations = address(choices, at);
    let group = choices.below(2) as u32;
    let destinations = problem.add_storage(destinations, group);
    let paired = choices.one_in(3);
    for index in 0..transfers {
        let source = LogicalTile(choices.below(tiles) as u16);
        let mut words = 1 + choices.below(longest) as u32;
        let width = if paired && choices.one_in(2) { Width::Paired } else { Width::Word };
        let count = if choices.one_in(3) { 1 + choices.below(6) } else { 1 };
        let mut to: Vec<u16> = (0..count).map(|_| choices.below(tiles & !1) as u16).collect();
        if width == Width::Paired {
            words += words % 2;
            to = to.iter().flat_map(|&tile| [tile, tile ^ 1]).collect();
        }
        to.sort_unstable();
        to.dedup();
        let offset = (index as u32 % 8) * 512;
        let receivers: Vec<Receiver> = to
            .iter()
            .map(|&tile| Receiver { storage: destinations, offset, tile: LogicalTile(tile) })
            .collect();
        problem.add_transfer(source, (sources, Bytes(offset)), Words(words), width, &receivers);
        if words >= 8 && choices.one_in(4) {
            let first_segment = problem.segments.len() as u32;
            problem.segments.push(Segment { word: 2, displacement: 64 });
            problem.segments.push(Segment { word: 6, displacement: -32 + 64 });
            let transfer = problem.transfers.last_mut().expect("just added");
            (transfer.first_segment, transfer.segments) = (first_segment, 2);
        }
        if problem.check().is_err() {
            problem.transfers.pop();
        }
    }
    problem
}

#[test]
fn random_phases_obey_every_rule_and_lose_no_word() {
    for seed in 0..120 {
        let mut choices = Choices(seed);
        let problem = random_problem(&mut choices);
        let rules = if choices.one_in(2) { Rules::STRICT } else { Rules::STREAMS };
        let options = ScheduleOptions {
            rules,
            split_multicasts: choices.one_in(2),
            refits: choices.below(3) as u32,
            ..ScheduleOptions::default()
        };
        assert_right(&problem, &options);
    }
}

#[test]
fn a_schedule_is_the_same_every_time() {
    let problem = random_problem(&mut Choices(7));
    let first = schedule_phase(&problem, &ScheduleOptions::default());
    assert_eq!(first, schedule_phase(&problem, &ScheduleOptions::default()));
}

#[test]
fn unplaced_storages_used_at_once_are_reported_and_shared_groups_keep_apart_in_time() {
    let exchange = |group| {
        let mut problem = Problem::default();
        let home = problem.add_storage(None, 0);
        let block = problem.add_storage(None, group);
        for (source, tile) in [(0, 1), (1, 0)] {
            let receiver = Receiver { storage: block, offset: 0, tile: LogicalTile(tile) };
            problem.add_transfer(LogicalTile(source), (home, Bytes(0)), Words(128), Width::Word, &[receiver]);
        }
        assert_right(&problem, &ScheduleOptions::default())
    };
    let apart = exchange(1);
    assert_eq!(apart.separate, [(0, 1)]);
    let together = exchange(0);
    assert_eq!(together.separate, []);
    assert!(together.statistics.events > apart.statistics.events + 100);
}

#[test]
fn the_two_phases_of_the_worked_gemm_are_optimal() {
    for (words, segments, length) in [(128, true, 188), (64, false, 124)] {
        let mut problem = Problem::default();
        let home = problem.add_storage(Some(Address(0x60000)), 0);
        let block = problem.add_storage(Some(Address(0x64000)), 1);
        for source in 0..4u16 {
            let receiver = Receiver {
                storage: block,
                offset: 256 * u32::from(source % 2),
                tile: LogicalTile(source ^ 1),
            };
            problem.add_transfer(
                LogicalTile(source),
                (home, Bytes(0)),
                Words(words),
                Width::Word,
                &[receiver],
            );
            if segments {
                problem.segments.push(Segment { word: 64, displacement: 512 });
                let transfer = problem.transfers.last_mut().expect("just added");
                (transfer.first_segment, transfer.segments) = (u32::from(source), 1);
            }
        }
        let schedule = assert_right(&problem, &ScheduleOptions::default());
        assert_eq!(schedule.sends, [28, 29, 28, 29]);
        assert_eq!((schedule.statistics.events, schedule.statistics.bound.events), (length, length));
    }
}

#[test]
fn one_element_for_send_and_receive_costs_time_where_placed() {
    let exchange = |destination| {
        let mut problem = Problem::default();
        let home = problem.add_storage(Some(Address(0x60000)), 0);
        let block = problem.add_storage(Some(Address(destination)), 1);
        for (source, tile) in [(0, 2), (2, 0)] {
            let receiver = Receiver { storage: block, offset: 0, tile: LogicalTile(tile) };
            problem.add_transfer(LogicalTile(source), (home, Bytes(0)), Words(100), Width::Word, &[receiver]);
        }
        assert_right(&problem, &ScheduleOptions::default()).statistics.events
    };
    assert!(exchange(0x61000) > exchange(0x64000) + 60);
    assert_eq!(exchange(0x64000), exchange(0x80000));
}

#[test]
fn long_runs_are_cut_and_scattered_runs_keep_their_places() {
    let mut problem = Problem::default();
    let home = problem.add_storage(Some(Address(0x60000)), 0);
    let block = problem.add_storage(Some(Address(0x80000)), 1);
    let receiver = Receiver { storage: block, offset: 0x100, tile: LogicalTile(9) };
    problem.add_transfer(LogicalTile(4), (home, Bytes(64)), Words(10_000), Width::Word, &[receiver]);
    problem.segments.push(Segment { word: 4000, displacement: 0x6000 });
    problem.segments.push(Segment { word: 9000, displacement: -0x80 });
    (problem.transfers[0].first_segment, problem.transfers[0].segments) = (0, 2);
    let schedule = assert_right(&problem, &ScheduleOptions::default());
    assert_eq!(schedule.origins, [0, 0, 0]);
    assert!(schedule.messages.transfers.iter().all(|transfer| transfer.words <= 4148));
}

#[test]
fn problems_of_the_peer_stay_near_the_bound() {
    // File, most that the strict rules and the stream rules may exceed the bound by, in thousandths.
    let cases = [
        ("perm1472x64", 1010, 1000),
        ("bcast1to1471x256", 1070, 1070),
        ("gather1471x16", 1000, 1000),
        ("alltoall64x16", 1065, 1010),
    ];
    for (name, strict, streams) in cases {
        let path = format!("{}/tests/data/{name}.tsv", env!("CARGO_MANIFEST_DIR"));
        let problem = parse_problem(&std::fs::read_to_string(path).expect("test data"));
        for (rules, limit) in [(Rules::STRICT, strict), (Rules::STREAMS, streams)] {
            let statistics = assert_right(&problem, &options(rules)).statistics;
            let thousandths = statistics.events * 1000 / statistics.bound.events;
            assert!(
                thousandths <= limit,
                "{name}: {} events, bound {}",
                statistics.events,
                statistics.bound.events
            );
        }
    }
}

#[test]
fn a_resend_serves_receivers_that_could_not_listen() {
    // Each tile of a ring sends one multicast to all the others: unsplit, a tile's own turn is a hole for it.
    let mut problem = Problem::default();
    let home = problem.add_storage(Some(Address(0x60000)), 0);
    let block = problem.add_storage(Some(Address(0x80000)), 1);
    for source in 0..12u16 {
        let others = (0..12).filter(|&tile| tile != source);
        let receivers: Vec<Receiver> = others
            .map(|tile| Receiver { storage: block, offset: 128 * u32::from(source), tile: LogicalTile(tile) })
            .collect();
        problem.add_transfer(LogicalTile(source), (home, Bytes(0)), Words(32), Width::Word, &receivers);
    }
    let whole =
        assert_right(&problem, &ScheduleOptions { split_multicasts: false, ..options(Rules::STREAMS) });
    let split = assert_right(&problem, &options(Rules::STREAMS));
    assert_eq!(whole.sends.len(), 12);
    assert_eq!(split.statistics.variant, Variant::SplitMulticasts);
    assert!(split.statistics.events < whole.statistics.events);
}

#[test]
fn the_validator_sees_what_moving_one_start_breaks() {
    // Back to back at one receiver: any move toward the other message breaks a rule.
    let mut problem = Problem::default();
    let home = problem.add_storage(Some(Address(0x60000)), 0);
    let block = problem.add_storage(Some(Address(0x80000)), 1);
    for source in [2, 4] {
        let receiver = Receiver { storage: block, offset: 4096 * u32::from(source), tile: LogicalTile(0) };
        problem.add_transfer(LogicalTile(source), (home, Bytes(0)), Words(60), Width::Word, &[receiver]);
    }
    let schedule = assert_right(&problem, &ScheduleOptions::default());
    for moved in 0..2 {
        let earliest = schedule.sends[moved] <= schedule.sends[1 - moved];
        let mut sends = schedule.sends.clone();
        sends[moved] = if earliest { sends[moved] + 1 } else { sends[moved] - 1 };
        let violations = validate(&problem, &sends, Rules::STRICT);
        assert!(violations.iter().any(|violation| violation.tile == LogicalTile(0)), "{violations:?}");
    }
    let early = validate(&problem, &[0, 100], Rules::STRICT);
    assert!(early[0].message.contains("too early"), "{early:?}");
    let lane = {
        let mut problem = problem.clone();
        problem.transfers[1].source = LogicalTile(2);
        validate(&problem, &[100, 130], Rules::STRICT)
    };
    assert!(lane.iter().any(|violation| violation.message.contains("one send lane")), "{lane:?}");
}

#[test]
fn a_problem_whose_columns_do_not_fit_or_whose_phase_is_too_long_is_refused() {
    let code = |words: u32, change: fn(&mut Problem)| {
        let mut problem = Problem::default();
        let storage = problem.add_storage(None, 0);
        let receiver = Receiver { storage, offset: 0, tile: LogicalTile(2) };
        problem.add_transfer(LogicalTile(0), (storage, Bytes(0)), Words(words), Width::Word, &[receiver]);
        change(&mut problem);
        schedule_phase(&problem, &ScheduleOptions::default()).map(|_| ()).map_err(|error| error.code)
    };
    assert_eq!(code(8, |problem| problem.receivers.clear()), Err(ScheduleCode::Malformed));
    assert_eq!(code(8, |problem| problem.transfers[0].storage = 7), Err(ScheduleCode::Malformed));
    assert_eq!(code((1 << 28) + 1, |_| {}), Err(ScheduleCode::TooLong));
}

#[test]
fn what_the_fabric_cannot_carry_is_refused() {
    let refuse = |source: u16, words: u32, width, tiles: &[u16], destination: u32| {
        let mut problem = Problem::default();
        let home = problem.add_storage(Some(Address(0x60000)), 0);
        let block = problem.add_storage(Some(Address(destination)), 1);
        let receivers: Vec<Receiver> = tiles
            .iter()
            .map(|&tile| Receiver { storage: block, offset: 0, tile: LogicalTile(tile) })
            .collect();
        problem.add_transfer(LogicalTile(source), (home, Bytes(0)), Words(words), width, &receivers);
        schedule_phase(&problem, &ScheduleOptions::default()).map(|_| ()).map_err(|error| error.code)
    };
    assert_eq!(refuse(0, 4, Width::Word, &[0], 0x80000), Err(ScheduleCode::LoneLoopback));
    assert_eq!(refuse(0, 4, Width::Word, &[0, 1], 0x61000), Err(ScheduleCode::LoopbackBank));
    assert_eq!(refuse(0, 28, Width::Word, &[0, 1], 0x80000), Ok(()));
    assert_eq!(refuse(0, 4, Width::Word, &[5, 5], 0x80000), Err(ScheduleCode::RepeatedReceiver));
    assert_eq!(refuse(0, 4, Width::Word, &[1472], 0x80000), Err(ScheduleCode::UnknownTile));
    assert_eq!(refuse(0, 0, Width::Word, &[1], 0x80000), Err(ScheduleCode::EmptyTransfer));
    assert_eq!(refuse(0, 3, Width::Paired, &[2, 3], 0x80000), Err(ScheduleCode::BrokenPair));
    assert_eq!(refuse(0, 4, Width::Paired, &[2], 0x80000), Err(ScheduleCode::BrokenPair));
    assert_eq!(refuse(0, 2 * 53, Width::Paired, &[2, 3], 0x80000), Ok(()));
}
