//! Random rows in the simulated exchange against a second implementation that walks every event of every tile.
//!
//! The second implementation knows no runs, intervals or searches: it puts single words on buses, asks at every
//! event whom a tile listens to, and applies controls one by one.

use std::collections::BTreeMap;

use ipu_device::isa::Instruction;
use ipu_device::simulator::{ExchangeRegisters, PhaseOptions, PhaseTile, TileMemory, run_phase};
use ipu_device::topology::{NEUTRAL_SOURCE, direction, time_to_mux};
use ipu_device::units::{Address, PhysicalTile};
use proptest::prelude::*;

/// Tiles near and far, both members of a pair, several rows and columns.
const TILES: [u16; 6] = [0, 2, 64, 9, 1409, 53];
const SOURCE: u32 = 0x50000;
const SOURCE_WORDS: u32 = 0x2000;
const DESTINATION: u32 = 0x60000;

/// An instruction of a random row.
fn step() -> impl Strategy<Value = Instruction> {
    let source = || prop_oneof![2 => (0..TILES.len()).prop_map(|i| u32::from(TILES[i])), 1 => Just(u32::from(NEUTRAL_SOURCE))];
    let pointer = || (0..0x2000_u32).prop_map(|word| DESTINATION / 4 + word);
    let address = || (0..SOURCE_WORDS / 4).prop_map(|word| SOURCE / 4 + word);
    prop_oneof![
        (0..60_u32).prop_map(|events_minus_1| Instruction::Delay { events_minus_1 }),
        (0..40_u32, source()).prop_map(|(events_minus_1, value)| Instruction::Delayxpic {
            events_minus_1,
            selector: 0,
            value
        }),
        (0..40_u32, pointer()).prop_map(|(events_minus_1, value)| Instruction::Delaypic {
            events_minus_1,
            selector: 0,
            value
        }),
        (0..64_u32, address(), 0..4_u32).prop_map(|(items_minus_1, address, control)| Instruction::Send {
            items_minus_1,
            address,
            control
        }),
        (0..200_u32, 0..9_u32, 0..4_u32).prop_map(|(items_minus_1, delta, control)| Instruction::Sendoff {
            items_minus_1,
            delta,
            control
        }),
        (0..64_u32, source()).prop_map(|(items_minus_1, value)| Instruction::Sendpic {
            items_minus_1,
            selector: 0,
            value
        }),
        (0..64_u32, pointer()).prop_map(|(items_minus_1, value)| Instruction::Sendpic {
            items_minus_1,
            selector: 2,
            value
        }),
        (0..64_u32, address(), 0..4_u32, source(), pointer()).prop_map(
            |(items_minus_1, address, control, source, pointer)| Instruction::Sendpicp {
                items_minus_1,
                address,
                control,
                pointer_selector: 0,
                source_selector: 0,
                source,
                pointer,
            }
        ),
    ]
}

/// Keeps what is legal: a stream is continued only while one is open.
fn legal(steps: Vec<Instruction>) -> Vec<Instruction> {
    let mut open = false;
    steps
        .into_iter()
        .filter(|step| match *step {
            Instruction::Send { .. } => {
                open = true;
                true
            }
            Instruction::Sendpicp { control, .. } => {
                open = control & 3 != 0;
                true
            }
            Instruction::Sendoff { .. } | Instruction::Sendpic { .. } => open,
            _ => true,
        })
        .collect()
}

/// What a tile does, event by event.
#[derive(Default)]
struct Walk {
    /// Word address and control of the item on the bus.
    bus: BTreeMap<i64, (u32, u32)>,
    sources: BTreeMap<i64, u16>,
    pointers: BTreeMap<i64, u32>,
    end: i64,
}

impl Walk {
    fn select(&mut self, event: i64, source: u32) {
        self.sources.insert(event, source as u16);
    }

    fn point(&mut self, event: i64, word: u32) {
        self.pointers.insert(event, 4 * word);
    }
}

fn walk(row: &[Instruction]) -> Walk {
    let mut walk = Walk::default();
    let (mut cursor, mut control) = (0, 0);
    for step in row {
        let start = walk.end;
        let events = i64::from(step.events().expect("an exchange instruction"));
        match *step {
            Instruction::Delayxpic { value, .. } => walk.select(start + events, value),
            Instruction::Delaypic { value, .. } => walk.point(start + events, value),
            Instruction::Send { address, control: own, .. } => (cursor, control) = (address, own),
            Instruction::Sendoff { delta, control: own, .. } => (cursor, control) = (cursor + delta, own),
            Instruction::Sendpic { selector: 0, value, .. } => walk.select(start + 1, value),
            Instruction::Sendpic { value, .. } => walk.point(start + 1, value),
            Instruction::Sendpicp { address, control: own, source, pointer, .. } => {
                walk.select(start + 1, source);
                walk.point(start + 1, pointer);
                if own != 0 {
                    (cursor, control) = (address, own);
                }
            }
            _ => {}
        }
        let sends = match *step {
            Instruction::Send { .. } | Instruction::Sendoff { .. } | Instruction::Sendpic { .. } => true,
            Instruction::Sendpicp { control, .. } => control != 0,
            _ => false,
        };
        for item in 0..events {
            if sends {
                walk.bus.insert(start + 1 + item, (cursor, control));
                cursor += 1;
            }
        }
        walk.end += events;
    }
    walk
}

/// Every write as tile, event, address, value.
fn walk_all(rows: &[Vec<Instruction>]) -> Vec<(u16, i64, u32, u32)> {
    let walks: Vec<Walk> = rows.iter().map(|row| walk(row)).collect();
    let mut writes = Vec::new();
    for (tile, own) in TILES.into_iter().zip(&walks) {
        let receiver = PhysicalTile(tile);
        let last = walks.iter().map(|walk| walk.end).max().unwrap_or(0) + 200;
        let mut arrivals = BTreeMap::new();
        let mut source = NEUTRAL_SOURCE;
        for event in -200..last {
            source = own.sources.get(&event).copied().unwrap_or(source);
            let Some(position) = TILES.iter().position(|&tile| tile == source) else { continue };
            let sender = PhysicalTile(source);
            let sent = event - time_to_mux(sender, receiver);
            let Some(&(word, control)) = walks[position].bus.get(&sent) else { continue };
            let alone = sender == receiver && control != 3;
            if control & direction(sender, receiver).bits() != 0 && !alone {
                arrivals.insert(event + 52 + 2 * i64::from(tile / 64), content(source, word));
            }
        }
        let mut cursor = 0;
        for event in -200..last + 200 {
            cursor = own.pointers.get(&event).copied().unwrap_or(cursor);
            if let Some(&value) = arrivals.get(&event) {
                writes.push((tile, event, cursor, value));
                cursor += 4;
            }
        }
    }
    writes.sort_unstable_by_key(|&(tile, event, ..)| (event, tile));
    writes
}

/// What the word at a word address of a tile holds: distinct on all tiles.
fn content(tile: u16, word: u32) -> u32 {
    u32::from(tile) << 20 | (word - SOURCE / 4)
}

fn memory(tile: u16) -> TileMemory {
    let mut memory = TileMemory::new();
    for word in 0..SOURCE_WORDS {
        let value = content(tile, SOURCE / 4 + word);
        memory.write_word(Address(SOURCE + 4 * word), value).expect("mapped");
    }
    memory
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn runs_of_words_move_as_single_words_do(
        rows in prop::collection::vec(prop::collection::vec(step(), 0..14).prop_map(legal), TILES.len())
    ) {
        let tiles = TILES
            .into_iter()
            .zip(&rows)
            .map(|(tile, row)| PhaseTile {
                tile: PhysicalTile(tile),
                row: row.iter().flat_map(|step| step.encode().expect("fields fit")).collect(),
                row_address: None,
                memory: memory(tile),
                registers: ExchangeRegisters { cursor: Some(0), ..ExchangeRegisters::default() },
            })
            .collect();
        let outcome = run_phase(tiles, PhaseOptions { check_banks: false, record_writes: true });
        let writes: Vec<_> = outcome
            .writes
            .iter()
            .map(|write| (write.tile.0, write.event.0, write.address.0, write.value))
            .collect();
        prop_assert_eq!(writes, walk_all(&rows));
    }
}
