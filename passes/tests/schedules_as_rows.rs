//! Schedules as the device takes them: timelines without a clash and rows that can be encoded, wherever unplaced storages
//! come to lie.

use ipu_device::exchange::{self, ItemWidth, Piece, RowEncoding, TimelineBuilder, encode_row};
use ipu_device::{Address, Bytes, Event, LogicalTile, Words};
use ipu_passes::schedule_exchanges::{
    Problem, Receiver, Schedule, ScheduleOptions, Segment, Transfer, Width, schedule_phase,
};

struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// A phase of short messages: many controls on neighbouring events.
fn dense_problem(choices: &mut Choices) -> Problem {
    let tiles = [3, 8, 24, 64][choices.below(4) as usize];
    let longest = [1, 2, 3, 5, 12][choices.below(5) as usize];
    let paired = choices.below(4) == 0;
    let mut problem = Problem::default();
    let storages: Vec<u32> = (0..4).map(|group| problem.add_storage(None, group)).collect();
    let mut filled = vec![[0u32; 2]; 64];
    for _ in 0..tiles * (2 + choices.below(30)) {
        let source = LogicalTile(choices.below(tiles) as u16);
        let width = if paired && choices.below(2) == 0 { Width::Paired } else { Width::Word };
        let mut words = 1 + choices.below(longest) as u32;
        words += if width == Width::Paired { words % 2 } else { 0 };
        let count = if choices.below(4) == 0 { 3 } else { 1 };
        let mut to: Vec<u16> = (0..count).map(|_| choices.below(tiles & !1) as u16).collect();
        if width == Width::Paired {
            to = to.iter().flat_map(|&tile| [tile, tile ^ 1]).collect();
        }
        to.sort_unstable();
        to.dedup();
        to.retain(|&tile| tile != source.0 || width == Width::Paired);
        let destination = choices.below(2) as usize;
        // Often where the last message to this tile ended, so that pointers are left out.
        let at = to.iter().map(|&tile| filled[usize::from(tile)][destination]).max().unwrap_or(0);
        let at = (at + [0, 0, 8][choices.below(3) as usize]).next_multiple_of(8);
        to.iter().for_each(|&tile| filled[usize::from(tile)][destination] = at + 4 * words + 64);
        let receiver =
            |&tile: &u16| Receiver { storage: storages[destination], offset: at, tile: LogicalTile(tile) };
        let receivers: Vec<Receiver> = to.iter().map(receiver).collect();
        let from = (storages[2 + choices.below(2) as usize], Bytes(8 * choices.below(64) as u32));
        problem.add_transfer(source, from, Words(words), width, &receivers);
        if words > 4 && choices.below(3) == 0 {
            let transfer = problem.transfers.last_mut().unwrap();
            (transfer.first_segment, transfer.segments) = (problem.segments.len() as u32, 1);
            problem.segments.push(Segment { word: 2, displacement: 32 });
        }
        if problem.check().is_err() {
            problem.transfers.pop();
        }
    }
    problem
}

fn device_transfers(schedule: &Schedule, bases: &[u32]) -> Vec<exchange::Transfer> {
    let Schedule { messages, sends, .. } = schedule;
    let pieces = |transfer: &Transfer, receiver: &Receiver| {
        let segments = messages.segments_of(transfer);
        let starts = std::iter::once((0, 0)).chain(segments.iter().map(|s| (s.word, s.displacement)));
        let ends = segments.iter().map(|segment| segment.word).chain([transfer.words]);
        let base = bases[receiver.storage as usize] + receiver.offset;
        let piece = |((word, displacement), end): ((u32, i32), u32)| Piece {
            address: Address(base.wrapping_add_signed(displacement)),
            words: Words(end - word),
        };
        starts.zip(ends).map(piece).collect()
    };
    let transfer = |(transfer, &send): (&Transfer, &u32)| exchange::Transfer {
        source: transfer.source.physical(),
        start: Event(send.into()),
        words: Words(transfer.words),
        source_address: Address(bases[transfer.storage as usize] + transfer.offset),
        width: if transfer.width == Width::Paired { ItemWidth::Paired64 } else { ItemWidth::Word32 },
        receivers: messages
            .receivers_of(transfer)
            .iter()
            .map(|receiver| exchange::Receiver {
                tile: receiver.tile.physical(),
                pieces: pieces(transfer, receiver),
            })
            .collect(),
    };
    messages.transfers.iter().zip(sends).map(transfer).collect()
}

#[track_caller]
fn assert_encodes(problem: &Problem, bases: &[u32], name: &str) {
    let schedule = schedule_phase(problem, &ScheduleOptions::default()).unwrap();
    let mut builder = TimelineBuilder::new();
    for transfer in device_transfers(&schedule, bases) {
        builder.add(&transfer);
    }
    let timelines = builder.finish().unwrap_or_else(|errors| panic!("{name}: {}", errors[0]));
    for timeline in &timelines {
        for encoding in [RowEncoding::Reference, RowEncoding::Compact] {
            encode_row(timeline, encoding).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

#[test]
fn dense_phases_can_be_encoded() {
    for seed in 0..120 {
        let problem = dense_problem(&mut Choices(seed));
        // Far apart, and directly behind each other.
        assert_encodes(&problem, &[0x80000, 0x90000, 0xa0000, 0xb0000], &format!("phase {seed} apart"));
        let end = problem.receivers.iter().filter(|r| r.storage == 0).map(|r| r.offset).max().unwrap_or(0);
        let behind = 0x80000 + end + 8;
        assert_encodes(&problem, &[0x80000, behind, 0xa0000, 0xb0000], &format!("phase {seed} behind"));
    }
}

#[test]
fn a_word_from_every_tile_to_every_tile_can_be_encoded() {
    for tiles in [2, 5, 16, 64] {
        let mut problem = Problem::default();
        let (from, to) = (problem.add_storage(None, 0), problem.add_storage(None, 1));
        for step in 1..tiles {
            for tile in 0..tiles {
                let offset = 4 * u32::from(step - 1);
                let receiver = Receiver { storage: to, offset, tile: LogicalTile((tile + step) % tiles) };
                problem.add_transfer(
                    LogicalTile(tile),
                    (from, Bytes(offset)),
                    Words(1),
                    Width::Word,
                    &[receiver],
                );
            }
        }
        assert_encodes(&problem, &[0x80000, 0x90000], &format!("{tiles} tiles"));
    }
}
