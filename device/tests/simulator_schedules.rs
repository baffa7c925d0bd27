//! Scheduled transfers, encoded to rows by the device's encoder, in the simulated exchange: every word arrives, and
//! what the rules forbid is a fault.

use std::collections::BTreeMap;

use ipu_device::exchange::{ItemWidth, Piece, Receiver, RowEncoding, TimelineBuilder, Transfer, encode_row};
use ipu_device::simulator::{
    ExchangeRegisters, FaultCode, PhaseOptions, PhaseOutcome, PhaseTile, TileMemory, run_phase,
};
use ipu_device::units::{Address, Event, LogicalTile, PhysicalTile, Words};
use proptest::prelude::*;

const SOURCE: u32 = 0x50000;
const DESTINATION: u32 = 0x60000;
const ROW: Address = Address(0x5c000);

fn physical(logical: u16) -> PhysicalTile {
    LogicalTile(logical).physical()
}

/// What a tile's memory holds before the phase.
fn content(tile: PhysicalTile, address: u32) -> u32 {
    u32::from(tile.0) << 20 | address
}

fn transfer(
    source: u16,
    receivers: &[u16],
    words: u32,
    start: i64,
    index: u32,
    width: ItemWidth,
) -> Transfer {
    let piece = Piece { address: Address(DESTINATION + 0x800 * index), words: Words(words) };
    Transfer {
        source: physical(source),
        start: Event(start),
        words: Words(words),
        source_address: Address(SOURCE + 8 * index),
        width,
        receivers: receivers
            .iter()
            .map(|&tile| Receiver { tile: physical(tile), pieces: [piece].into_iter().collect() })
            .collect(),
    }
}

/// Rows of the transfers; `None` when a rule forbids the schedule.
fn rows(transfers: &[Transfer], encoding: RowEncoding) -> Option<BTreeMap<PhysicalTile, Vec<u32>>> {
    let mut builder = TimelineBuilder::new();
    for transfer in transfers {
        builder.add(transfer);
    }
    let timelines = builder.finish().ok()?;
    timelines
        .iter()
        .map(|timeline| {
            Some((timeline.tile, encode_row(timeline, encoding).ok()?.words().expect("fields fit")))
        })
        .collect()
}

fn run(rows: BTreeMap<PhysicalTile, Vec<u32>>) -> PhaseOutcome {
    let tiles = rows.into_iter().map(|(tile, row)| {
        let mut memory = TileMemory::new();
        for address in (SOURCE..SOURCE + 0x2000).step_by(4) {
            memory.write_word(Address(address), content(tile, address)).expect("mapped");
        }
        PhaseTile { tile, row, row_address: Some(ROW), memory, registers: ExchangeRegisters::default() }
    });
    run_phase(tiles.collect(), PhaseOptions::default())
}

/// A transfer of a random phase: source, receivers as pairs of logical tiles, words, whether it is paired.
fn wish() -> impl Strategy<Value = (u16, Vec<u16>, u32, bool)> {
    let tile = || prop_oneof![0..8_u16, 90..96_u16, 730..740_u16, 1464..1472_u16];
    (tile(), prop::collection::btree_set(tile(), 1..4), 1..200_u32, any::<bool>()).prop_map(
        |(source, receivers, words, paired)| {
            let receivers: Vec<u16> = receivers.into_iter().filter(|&receiver| receiver != source).collect();
            if !paired {
                return (source, receivers, words, false);
            }
            let mut pairs: Vec<u16> = receivers.iter().flat_map(|&tile| [tile & !1, tile | 1]).collect();
            pairs.dedup();
            pairs.retain(|&tile| tile & !1 != source & !1);
            (source, pairs, words + words % 2, true)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_word_of_a_legal_schedule_arrives(wishes in prop::collection::vec(wish(), 1..7), compact in any::<bool>()) {
        let encoding = if compact { RowEncoding::Compact } else { RowEncoding::Reference };
        let mut transfers: Vec<Transfer> = Vec::new();
        let mut last = None;
        for (index, (source, receivers, words, paired)) in wishes.into_iter().enumerate() {
            if receivers.is_empty() {
                continue;
            }
            let width = if paired { ItemWidth::Paired64 } else { ItemWidth::Word32 };
            // The earliest start at which the phase stays legal.
            for start in 0..1_500 {
                transfers.push(transfer(source, &receivers, words, start, index as u32, width));
                if let Some(rows) = rows(&transfers, encoding) {
                    last = Some(rows);
                    break;
                }
                transfers.pop();
            }
        }
        let Some(rows) = last else { return Ok(()) };
        let outcome = run(rows);
        prop_assert_eq!(&outcome.faults, &[]);
        let mut expected = BTreeMap::new();
        for transfer in &transfers {
            for receiver in &transfer.receivers {
                for word in 0..transfer.words.0 {
                    let to = receiver.pieces[0].address.0 + 4 * word;
                    let value = content(transfer.source, transfer.source_address.0 + 4 * word);
                    expected.insert((receiver.tile, to), value);
                }
            }
        }
        let written: BTreeMap<(PhysicalTile, u32), u32> =
            outcome.writes.iter().map(|write| ((write.tile, write.address.0), write.value)).collect();
        prop_assert_eq!(written.len(), outcome.writes.len());
        prop_assert_eq!(written, expected);
    }
}

fn codes(outcome: &PhaseOutcome) -> Vec<FaultCode> {
    outcome.faults.iter().map(|fault| fault.code).collect()
}

/// A paired transfer of 64 items from logical tile 0 to tiles 2 and 3.
fn paired_rows() -> BTreeMap<PhysicalTile, Vec<u32>> {
    rows(&[transfer(0, &[2, 3], 128, 31, 0, ItemWidth::Paired64)], RowEncoding::Reference).expect("legal")
}

#[test]
fn a_format_set_one_event_late_refuses_the_first_double_word() {
    let mut rows = paired_rows();
    assert_eq!(codes(&run(rows.clone())), []);
    let row = rows.get_mut(&physical(3)).expect("a receiver");
    // `delaypic 53, 1, 1` one event longer, the pointer control after it one event shorter.
    assert_eq!(row[..2], [0x61ac_0001, 0x6009_8000]);
    row[..2].copy_from_slice(&[0x61b4_0001, 0x6001_8000]);
    let outcome = run(rows);
    assert_eq!(codes(&outcome), [FaultCode::FormatMismatch]);
    assert_eq!(
        outcome.faults[0].to_string(),
        "item that does not fit the receive format on tile 3 (physical 66): a 64-bit item needs receive format 1, the \
         format is 0 [event 56]"
    );
}

#[test]
fn a_partner_that_sends_while_its_lane_is_borrowed_is_a_fault() {
    let mut rows = paired_rows();
    // `delay 94` of the lender becomes a delay and a send of one word.
    rows.insert(physical(1), vec![0x40a0_0030, 0x7800_0000 | (SOURCE / 4) << 3 | 1, 0x43a0_0000]);
    let outcome = run(rows);
    assert_eq!(codes(&outcome), [FaultCode::LaneBorrowed]);
    assert_eq!(outcome.faults[0].tile(), Some(physical(1)));
}

#[test]
fn a_send_and_a_receive_in_one_element_at_one_time_clash() {
    let forth = transfer(0, &[2], 100, 40, 0, ItemWidth::Word32);
    let back = transfer(2, &[0], 100, 40, 1, ItemWidth::Word32);
    let mut rows = rows(&[forth, back], RowEncoding::Compact).expect("legal");
    assert_eq!(codes(&run(rows.clone())), []);
    // Tile 0 sends from 0x50000; let it receive at 0x52000 meanwhile: both lie in element 20.
    let own = rows.get_mut(&physical(0)).expect("a row");
    let pointer = (DESTINATION + 0x800) / 4;
    let moved = own.iter_mut().find(|word| **word & 0x3_ffff == pointer).expect("a pointer control");
    *moved = (*moved & !0x3_ffff) | ((SOURCE + 0x2000) / 4);
    let outcome = run(rows);
    assert_eq!(codes(&outcome), [FaultCode::ClashSendReceive]);
    assert!(outcome.faults[0].message.contains("element 20"), "{}", outcome.faults[0]);
}
