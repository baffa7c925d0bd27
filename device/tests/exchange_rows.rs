//! Exchange rows against rows that an independent encoder made: event model, encoder, decoder, checker.

use crate::exchange_cases::{self, Case, CaseTransfer};
use ipu_device::exchange::routes::{arrival, earliest_start, paired_arrival};
use ipu_device::exchange::{
    ItemWidth, Piece, Receiver, Row, RowEncoding, RowTable, ScheduleCode, Timeline, TimelineBuilder,
    Transfer, check_row, encode_row,
};
use ipu_device::isa::{Context, decode_all};
use ipu_device::units::{Address, Bytes, Event, LogicalTile, PhysicalTile, Words};

fn transfer(case: &CaseTransfer) -> Transfer {
    Transfer {
        source: case.source,
        start: case.send_start,
        words: case.words,
        source_address: case.source_address,
        width: if case.paired { ItemWidth::Paired64 } else { ItemWidth::Word32 },
        receivers: case
            .receivers
            .iter()
            .map(|receiver| Receiver::whole(receiver.tile, receiver.address, case.words))
            .collect(),
    }
}

fn timelines(case: &Case) -> Vec<Timeline> {
    let mut builder = TimelineBuilder::new();
    for row in &case.rows {
        builder.set_incoming_base(row.tile, row.incoming_base);
    }
    for case in &case.transfers {
        builder.add(&transfer(case));
    }
    builder.finish().unwrap_or_else(|errors| panic!("{}: {}", case.name, errors[0]))
}

fn words(row: &Row) -> Vec<u32> {
    row.words().expect("fits")
}

#[test]
fn rows_of_the_cases_decode_to_their_instructions_and_times() {
    let mut rows = 0;
    for case in exchange_cases::load().cases {
        for row in &case.rows {
            let mut time = Event(0);
            let decoded = decode_all(Context::Supervisor, &row.words).expect("known words");
            assert_eq!(decoded.len(), row.decoded.len());
            for ((_, instruction), (start, end, text)) in decoded.iter().zip(&row.decoded) {
                assert_eq!((time, &instruction.to_string()), (*start, text), "{}", case.name);
                time += Event(i64::from(instruction.events().unwrap_or(0)));
                assert_eq!(time, *end);
            }
            rows += 1;
        }
    }
    assert_eq!(rows, 62);
}

#[test]
fn the_event_model_gives_the_events_of_the_cases() {
    for case in exchange_cases::load().cases {
        for moved in &case.transfers {
            for receiver in &moved.receivers {
                let at = if moved.paired { paired_arrival } else { arrival };
                let items = transfer(moved).items();
                let found = at(moved.source, receiver.tile, moved.send_start, items);
                assert_eq!(found.first_write, receiver.first_write, "{}", case.name);
                assert_eq!(found.first_write, receiver.pointer_event, "{}", case.name);
                assert_eq!(found.last_write, receiver.last_write, "{}", case.name);
                // The recorded encoder waits an event longer after messages of 52 words.
                let longer = Event(i64::from(moved.words == Words(52)));
                assert_eq!(found.horizon + longer, receiver.horizon, "{}", case.name);
                let format = found.paired.map(|paired| (paired.format_on, paired.format_off, paired.format));
                assert_eq!(format, receiver.format, "{}", case.name);
                let selects = found.paired.is_none_or(|paired| paired.early);
                assert_eq!(selects.then_some(found.source_event), receiver.source_event, "{}", case.name);
            }
        }
    }
}

#[test]
fn the_reference_encoding_gives_the_rows_of_the_cases_word_for_word() {
    let mut rows = 0;
    for case in exchange_cases::load().cases {
        let timelines = timelines(&case);
        assert_eq!(timelines.len(), case.rows.len(), "{}", case.name);
        let mut longest = Event(0);
        for timeline in &timelines {
            let expected = case.rows.iter().find(|row| row.tile == timeline.tile).expect("a row");
            let row = encode_row(timeline, RowEncoding::Reference).expect("encodable");
            assert_eq!(words(&row), expected.words, "{} tile {}", case.name, timeline.tile);
            assert_eq!(row.events, expected.events, "{}", case.name);
            longest = longest.max(row.events);
            rows += 1;
        }
        assert_eq!(longest, case.phase_events, "{}", case.name);
    }
    assert_eq!(rows, 62);
}

#[test]
fn the_compact_encoding_has_the_same_events_and_no_more_words() {
    for case in exchange_cases::load().cases {
        let transfers: Vec<Transfer> = case.transfers.iter().map(transfer).collect();
        for timeline in timelines(&case) {
            let expected = case.rows.iter().find(|row| row.tile == timeline.tile).expect("a row");
            let row = encode_row(&timeline, RowEncoding::Compact).expect("encodable");
            assert!(row.word_count() <= expected.words.len(), "{}", case.name);
            check_row(timeline.tile, &words(&row), &transfers, expected.incoming_base)
                .unwrap_or_else(|error| panic!("{}: {error}", case.name));
        }
    }
}

#[test]
fn the_checker_accepts_the_rows_of_the_cases_and_refuses_mistimed_ones() {
    let file = exchange_cases::load();
    for case in &file.cases {
        let transfers: Vec<Transfer> = case.transfers.iter().map(transfer).collect();
        for row in &case.rows {
            check_row(row.tile, &row.words, &transfers, row.incoming_base)
                .unwrap_or_else(|error| panic!("{}: {error}", case.name));
        }
    }
    for mistimed in &file.mistimed {
        let case = file.case(&mistimed.based_on);
        let transfers: Vec<Transfer> = case.transfers.iter().map(transfer).collect();
        let changed = mistimed.changes[0].tile;
        let row = case.rows.iter().find(|row| row.tile == changed).expect("a row");
        let mut words = row.words.clone();
        for change in &mistimed.changes {
            assert_eq!((change.tile, words[change.word]), (changed, change.from), "{}", mistimed.name);
            words[change.word] = change.to;
        }
        let error = check_row(changed, &words, &transfers, row.incoming_base).expect_err(&mistimed.name);
        assert_eq!(error.code(), ScheduleCode::RowMismatch, "{}", mistimed.name);
    }
}

/// A copy of the example program: sender, receiver, words, source address, destination pieces, all logical.
fn copy(
    source: u16,
    start: i64,
    words: u32,
    source_address: u32,
    receiver: u16,
    pieces: &[(u32, u32)],
) -> Transfer {
    let pieces =
        pieces.iter().map(|&(address, words)| Piece { address: Address(address), words: Words(words) });
    Transfer {
        source: LogicalTile(source).physical(),
        start: Event(start),
        words: Words(words),
        source_address: Address(source_address),
        width: ItemWidth::Word32,
        receivers: [Receiver { tile: LogicalTile(receiver).physical(), pieces: pieces.collect() }]
            .into_iter()
            .collect(),
    }
}

fn rows(transfers: &[Transfer], encoding: RowEncoding) -> Vec<Vec<u32>> {
    let mut builder = TimelineBuilder::new();
    for transfer in transfers {
        builder.add(transfer);
    }
    let timelines = builder.finish().expect("a legal phase");
    let row = |timeline| words(&encode_row(timeline, encoding).expect("encodable"));
    let rows: Vec<Vec<u32>> = timelines.iter().map(row).collect();
    for (timeline, row) in timelines.iter().zip(&rows) {
        check_row(timeline.tile, row, transfers, Address(0)).expect("the row does what the schedule says");
    }
    rows
}

/// Rows of the example program's two phases on logical tiles 0 to 3, in order.
const GATHER: [[u32; 8]; 4] = [
    [0x64000002, 0x40a0001a, 0x7aec0401, 0x77f99040, 0x717990c0, 0x73700640, 0x40a0001d, 0x43a00000],
    [0x64000000, 0x40a0001b, 0x7acc0001, 0x77f99000, 0x71799080, 0x73900640, 0x40a0001c, 0x43a00000],
    [0x64000042, 0x40a0001a, 0x7b2c0401, 0x77f99040, 0x713990c0, 0x73700640, 0x40a0001f, 0x43a00000],
    [0x64000040, 0x40a0001b, 0x7b0c0001, 0x77f99000, 0x71399080, 0x73900640, 0x40a0001e, 0x43a00000],
];
const SCATTER: [[u32; 7]; 4] = [
    [0x64000002, 0x40a0001a, 0x7af00201, 0x71799000, 0x73700640, 0x40a0001d, 0x43a00000],
    [0x64000000, 0x40a0001b, 0x7ad00001, 0x71799000, 0x73900640, 0x40a0001c, 0x43a00000],
    [0x64000042, 0x40a0001a, 0x7b300201, 0x71399000, 0x73700640, 0x40a0001f, 0x43a00000],
    [0x64000040, 0x40a0001b, 0x7b100001, 0x71399000, 0x73900640, 0x40a0001e, 0x43a00000],
];

#[test]
fn the_example_program_has_the_rows_that_its_page_shows() {
    let pieces = |q: u32| [(0x64000 + 256 * q, 64), (0x64200 + 256 * q, 64)];
    let gather = [
        copy(0, 28, 128, 0x60200, 1, &pieces(0)),
        copy(1, 29, 128, 0x60000, 0, &pieces(1)),
        copy(2, 28, 128, 0x60200, 3, &pieces(0)),
        copy(3, 29, 128, 0x60000, 2, &pieces(1)),
    ];
    let scatter = [
        copy(0, 28, 64, 0x80100, 1, &[(0x64000, 64)]),
        copy(1, 29, 64, 0x80000, 0, &[(0x64000, 64)]),
        copy(2, 28, 64, 0x80100, 3, &[(0x64000, 64)]),
        copy(3, 29, 64, 0x80000, 2, &[(0x64000, 64)]),
    ];
    for encoding in [RowEncoding::Reference, RowEncoding::Compact] {
        assert_eq!(rows(&gather, encoding), GATHER, "{encoding:?}");
        assert_eq!(rows(&scatter, encoding), SCATTER, "{encoding:?}");
    }
}

#[test]
fn messages_that_follow_at_once_from_one_range_share_a_send() {
    let transfers =
        [copy(0, 31, 30, 0x60000, 2, &[(0x64000, 30)]), copy(0, 61, 30, 0x60078, 2, &[(0x64078, 30)])];
    let (reference, compact) =
        (rows(&transfers, RowEncoding::Reference), rows(&transfers, RowEncoding::Compact));
    assert_eq!((reference[0].len(), compact[0].len()), (4, 3));
    assert_eq!(reference[1], compact[1], "one source control, one pointer control, one neutral");
    assert_eq!(compact[1].len(), 5);
}

#[test]
fn rows_longer_than_one_instruction_can_wait_or_send_are_cut() {
    let receiver = LogicalTile(2).physical();
    for (start, words) in [(31, 20_000), (600_000, 65), (31, 4161), (31, 64)] {
        let transfers =
            [copy(0, start, words, 0x80000, 2, &[(0x4d000, words / 2), (0x80000, words - words / 2)])];
        for row in rows(&transfers, RowEncoding::Compact) {
            assert!(row.len() < 16, "{start} {words}");
        }
    }
    assert_eq!(earliest_start(LogicalTile(0).physical(), [receiver]), Event(31));
}

#[test]
fn identical_rows_and_tails_share_their_place() {
    let mut table = RowTable::new();
    let gather = &GATHER[0];
    assert_eq!(table.insert(gather, RowEncoding::Compact), Bytes(0));
    assert_eq!(table.insert(&SCATTER[0], RowEncoding::Compact), Bytes(32));
    assert_eq!(table.insert(gather, RowEncoding::Compact), Bytes(0));
    assert_eq!(
        table.insert(&[0x43a0_0000], RowEncoding::Compact),
        Bytes(56),
        "the tail of a row of odd length"
    );
    assert_eq!(table.words().len(), 15);
    assert_eq!(table.insert(gather, RowEncoding::Reference), Bytes(64), "the reference shares nothing");
}

/// The codes that a phase is refused with.
fn refusals(transfers: &[Transfer]) -> Vec<String> {
    let mut builder = TimelineBuilder::new();
    for transfer in transfers {
        builder.add(transfer);
    }
    builder.finish().expect_err("an illegal phase").iter().map(ToString::to_string).collect()
}

/// The kinds of errors of an illegal phase.
fn refused_as(transfers: &[Transfer]) -> Vec<ScheduleCode> {
    let mut builder = TimelineBuilder::new();
    for transfer in transfers {
        builder.add(transfer);
    }
    builder.finish().expect_err("an illegal phase").iter().map(|error| error.code).collect()
}

#[test]
fn broken_rules_name_the_tile_the_event_and_both_offenders() {
    let one = |source, start, receiver| copy(source, start, 8, 0x60000, receiver, &[(0x64000, 8)]);
    assert_eq!(
        refusals(&[one(0, 31, 2), one(0, 35, 4)])[0],
        "two messages leave a tile at once on tile 0 (physical 0) at event 35: send of transfer 0 and send of transfer 1"
    );
    assert_eq!(
        refusals(&[one(0, 31, 2), one(4, 30, 2)]),
        [
            "two messages pass a tile's mux at once on tile 2 (physical 64) at event 4: receive of transfer 0 and \
             receive of transfer 1",
            "two messages are written to a tile at once on tile 2 (physical 64) at event 58: write of transfer 0 and \
             write of transfer 1",
        ]
    );
    assert_eq!(
        refusals(&[one(0, 20, 2)])[0],
        "event cannot be reached on tile 2 (physical 64) at event -10: source control of transfer 0; a control falls \
         on event 1 or later"
    );
    assert_eq!(
        refusals(&[one(0, 31, 2), one(2, 54, 6)])[0],
        "control falls on the start of a message on tile 2 (physical 64) at event 55: pointer control of transfer 0 \
         and send of transfer 1; move one by an event"
    );
    assert_eq!(
        refusals(&[one(0, 31, 0)]),
        [
            "message has no receiver but its sender on tile 0 (physical 0) at event 31: send of transfer 0; use a local copy"
        ]
    );
    assert_eq!(
        refusals(&[copy(0, 31, 8, 0x60002, 2, &[(0x64000, 7)])]),
        [
            "address cannot be used on tile 0 (physical 0) at event 31: send of transfer 0; address 0x60002 is not a \
             multiple of 4",
            "lengths of a transfer do not agree on tile 2 (physical 64) at event 31: receive of transfer 0; pieces \
             hold 7 words, the message 8",
        ]
    );
    assert_eq!(refused_as(&[one(0, 31, 0)]), [ScheduleCode::SourceOnlyLoopback]);
    let short = copy(0, 31, 8, 0x60000, 2, &[(0x64000, 7)]);
    assert_eq!(refused_as(&[short]), [ScheduleCode::WrongLength]);
}

/// A 64-bit message from logical tile 0 to the pair of logical tiles 2 and 3.
fn paired(start: i64, words: u32) -> Transfer {
    let pair =
        [2, 3].map(|tile| Receiver::whole(LogicalTile(tile).physical(), Address(0x64000), Words(words)));
    Transfer {
        width: ItemWidth::Paired64,
        receivers: pair.into_iter().collect(),
        ..copy(0, start, words, 0x60000, 2, &[])
    }
}

#[test]
fn paired_messages_keep_the_rules_of_the_format_and_the_lane() {
    // Tile 1 lends its lane to tile 0.
    assert_eq!(
        refusals(&[paired(31, 256), copy(1, 50, 8, 0x60000, 6, &[(0x64000, 8)])])[0],
        "tile sends while its lane is lent to its partner on tile 1 (physical 2) at event 50: lane loan of transfer 0 \
         and send of transfer 1"
    );
    // The last ordinary write and the format control both on event 70.
    let ordinary = copy(4, 27, 16, 0x60000, 2, &[(0x68000, 16)]);
    let late = paired(47, 256);
    let errors = refusals(&[ordinary, late]);
    let expected = "receive format changes while words arrive on tile 2 (physical 64) at event 70: write of transfer 0 \
                    and format control of transfer 1; the format is switched on after the last ordinary write";
    assert!(errors.iter().any(|error| error == expected), "{errors:?}");
    let mut alone = paired(31, 256);
    alone.receivers.pop();
    assert_eq!(
        refusals(std::slice::from_ref(&alone)),
        [
            "64-bit message misses a member of a pair on tile 2 (physical 64) at event 31: receive of transfer 0; its \
             partner, physical 66, must receive too"
        ]
    );
    assert_eq!(refused_as(&[alone]), [ScheduleCode::MissingPairMember]);
    // Two that follow at once switch the format once: on, pointer twice, off, source twice, neutral, delay, return.
    let mut second = paired(31 + 128, 256);
    second.source_address = Address(0x60400);
    let rows = rows(&[paired(31, 256), second], RowEncoding::Reference);
    assert_eq!(rows[2].len(), 8, "{:x?}", rows[2]);
}

#[test]
fn sends_and_receives_that_overlap_keep_to_different_elements() {
    let clash = |destination: u32| {
        let mut builder = TimelineBuilder::new();
        builder.add(&copy(0, 31, 80, 0x65000, 2, &[(0x60000, 80)]));
        builder.add(&copy(2, 27, 80, 0x65000, 0, &[(destination, 80)]));
        let timelines = builder.finish().expect("a legal phase");
        timelines
            .iter()
            .flat_map(|timeline| {
                ipu_device::exchange::banks::check_banks(timeline, &[Address(0x5c000)..Address(0x5c100)])
            })
            .map(|error| error.to_string())
            .collect::<Vec<_>>()
    };
    assert!(clash(0x60000).is_empty());
    assert_eq!(
        clash(0x67000),
        [
            "simultaneous accesses to one memory element on tile 0 (physical 0) at event 53: send of transfer 0 and \
             write of transfer 1; they share an element"
        ]
    );
    assert_eq!(
        clash(0x5f000),
        [
            "simultaneous accesses to one memory element on tile 0 (physical 0) at event 53: write of transfer 1; its \
             element holds code that runs meanwhile"
        ]
    );
}

#[test]
fn every_tile_can_be_reached_from_every_row_of_the_chip() {
    // A sample of routes over all rows and columns; each row is checked by the independent reader.
    for source in (0..1472).step_by(97).map(PhysicalTile) {
        for receiver in (5..1472).step_by(131).map(PhysicalTile).filter(|&receiver| receiver != source) {
            let start = earliest_start(source, [receiver]).0;
            let transfer =
                copy(source.logical().0, start, 100, 0x60000, receiver.logical().0, &[(0x64000, 100)]);
            rows(&[transfer], RowEncoding::Compact);
        }
    }
}

/// A transfer among the first ten logical tiles, in rows 0 to 4: source, set of receivers, delay beyond the earliest
/// start, words, whether paired.
type Draft = (u16, u16, i64, u32, bool);

fn drafted(&(source, receivers, delay, words, paired): &Draft, index: u32) -> Option<Transfer> {
    let chosen = (0..10).map(LogicalTile).filter(|tile| {
        let bit = if paired { tile.0 & !1 } else { tile.0 };
        receivers >> bit & 1 == 1 && tile.0 != source && (!paired || tile.0 / 2 != source / 2)
    });
    let tiles: Vec<PhysicalTile> = chosen.map(LogicalTile::physical).collect();
    let source = LogicalTile(source).physical();
    let words = Words(if paired { 2 * words } else { words });
    let address = Address(0x64000 + 0x1000 * index);
    (!tiles.is_empty()).then(|| Transfer {
        source,
        start: earliest_start(source, tiles.iter().copied()) + Event(delay),
        words,
        source_address: Address(0x60000 + 8 * (index % 7)),
        width: if paired { ItemWidth::Paired64 } else { ItemWidth::Word32 },
        receivers: tiles.iter().map(|&tile| Receiver::whole(tile, address, words)).collect(),
    })
}

fn legal(transfers: &[Transfer]) -> Option<Vec<Timeline>> {
    let mut builder = TimelineBuilder::new();
    for transfer in transfers {
        builder.add(transfer);
    }
    builder.finish().ok()
}

proptest::proptest! {
    /// Whatever passes the rules encodes to rows that the independent reader finds to do what the schedule says, and
    /// the compact row is never the longer one.
    #[test]
    fn legal_phases_encode_to_rows_that_do_what_the_schedule_says(
        drafts in proptest::collection::vec((0..10_u16, 1..1024_u16, 0..500_i64, 1..120_u32, proptest::bool::weighted(0.2)), 1..30)
    ) {
        let mut transfers: Vec<Transfer> = Vec::new();
        for (index, draft) in (0..).zip(&drafts) {
            let Some(transfer) = drafted(draft, index) else { continue };
            transfers.push(transfer);
            if legal(&transfers).is_none() {
                transfers.pop();
            }
        }
        for timeline in legal(&transfers).unwrap_or_default() {
            let encoded = |encoding| match encode_row(&timeline, encoding) {
                Ok(row) => Some(words(&row)),
                Err(error) => {
                    assert_eq!(error.code, ipu_device::exchange::ScheduleCode::UnalignedDoubleControl);
                    None
                }
            };
            let (reference, compact) = (encoded(RowEncoding::Reference), encoded(RowEncoding::Compact));
            for row in [&reference, &compact].into_iter().flatten() {
                check_row(timeline.tile, row, &transfers, Address(0)).expect("the row does what the schedule says");
            }
            if let (Some(reference), Some(compact)) = (reference, compact) {
                proptest::prop_assert!(compact.len() <= reference.len());
            }
        }
    }
}
