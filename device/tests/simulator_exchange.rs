//! The simulated exchange against rows and predictions that an independent encoder and event simulator made.

use std::collections::BTreeMap;

use crate::exchange_cases::{self, Case, Mistimed};
use ipu_device::simulator::{
    ExchangeRegisters, FaultCode, PhaseOptions, PhaseOutcome, PhaseTile, TileMemory, run_phase,
};
use ipu_device::units::{Address, Event, PhysicalTile};

/// Word `word` of transfer `transfer`, as the file defines the payload.
fn payload(transfer: usize, word: u32) -> u32 {
    0x1000_0000 * (transfer as u32 + 1) + word
}

fn at(address: Address, word: u32) -> Address {
    Address(address.0 + 4 * word)
}

/// The tiles of a case with their rows and the payload in place.
fn tiles(case: &Case) -> Vec<PhaseTile> {
    let mut memories: BTreeMap<PhysicalTile, TileMemory> = BTreeMap::new();
    for (index, transfer) in case.transfers.iter().enumerate() {
        let memory = memories.entry(transfer.source).or_default();
        for word in 0..transfer.words.0 {
            memory.write_word(at(transfer.source_address, word), payload(index, word)).expect("mapped");
        }
    }
    case.rows
        .iter()
        .map(|row| PhaseTile {
            tile: row.tile,
            row: row.words.clone(),
            row_address: None,
            memory: memories.remove(&row.tile).unwrap_or_default(),
            registers: ExchangeRegisters {
                incoming_base: row.incoming_base.0,
                ..ExchangeRegisters::default()
            },
        })
        .collect()
}

/// The cases were placed without regard to banks.
const OPTIONS: PhaseOptions = PhaseOptions { check_banks: false, record_writes: true };

fn word(outcome: &PhaseOutcome, tile: PhysicalTile, address: Address) -> Option<u32> {
    let tile = outcome.tiles.iter().find(|candidate| candidate.tile == tile).expect("the tile has a row");
    tile.memory.word(address).ok()
}

#[test]
fn every_case_delivers_its_payload_at_its_events() {
    let mut delivered = 0;
    for case in exchange_cases::load().cases {
        let outcome = run_phase(tiles(&case), OPTIONS);
        assert_eq!(outcome.faults, [], "{}", case.name);
        assert_eq!(outcome.horizon, case.phase_events, "{}", case.name);
        for (index, transfer) in case.transfers.iter().enumerate() {
            let items = if transfer.paired { 2 } else { 1 };
            for receiver in &transfer.receivers {
                for offset in 0..transfer.words.0 {
                    let address = at(receiver.address, offset);
                    assert_eq!(
                        word(&outcome, receiver.tile, address),
                        Some(payload(index, offset)),
                        "{}",
                        case.name
                    );
                    let write = outcome
                        .writes
                        .iter()
                        .find(|write| write.tile == receiver.tile && write.address == address)
                        .expect("the word is listed");
                    assert_eq!(
                        write.event,
                        receiver.first_write + Event(i64::from(offset / items)),
                        "{}",
                        case.name
                    );
                    assert_eq!(
                        (write.sender, write.source),
                        (transfer.source, at(transfer.source_address, offset))
                    );
                    delivered += 1;
                }
            }
        }
        let expected: usize =
            case.transfers.iter().map(|transfer| transfer.words.0 as usize * transfer.receivers.len()).sum();
        assert_eq!(outcome.writes.len(), expected, "{}: nothing else is written", case.name);
    }
    assert_eq!(delivered, 7_204);
}

/// Runs a mistimed variant; the observed span starts out as the file says.
fn run_mistimed(case: &Case, mistimed: &Mistimed) -> PhaseOutcome {
    let mut tiles = tiles(case);
    for change in &mistimed.changes {
        let tile = tiles.iter_mut().find(|tile| tile.tile == change.tile).expect("the tile has a row");
        assert_eq!(tile.row[change.word], change.from);
        tile.row[change.word] = change.to;
    }
    let observed = tiles.iter_mut().find(|tile| tile.tile == mistimed.tile).expect("the tile has a row");
    for index in 0..mistimed.predicted.len() as u32 {
        observed.memory.write_word(at(mistimed.address, index), 0xfeed_0000 + index).expect("mapped");
    }
    // The file takes the cursor before the first pointer control as 0.
    observed.registers.cursor = Some(0);
    run_phase(tiles, OPTIONS)
}

#[test]
fn mistimed_rows_move_the_predicted_wrong_words() {
    let file = exchange_cases::load();
    assert_eq!(file.mistimed.len(), 8);
    for mistimed in &file.mistimed {
        let outcome = run_mistimed(file.case(&mistimed.based_on), mistimed);
        let words: Vec<u32> = (0..mistimed.predicted.len() as u32)
            .map(|index| word(&outcome, mistimed.tile, at(mistimed.address, index)).expect("written"))
            .collect();
        assert_eq!(words, mistimed.predicted, "{}", mistimed.name);
        let writes: Vec<(Event, Address, u32)> = outcome
            .writes
            .iter()
            .filter(|write| write.tile == mistimed.tile)
            .map(|write| (write.event, write.address, write.value))
            .collect();
        assert_eq!(writes, mistimed.writes, "{}", mistimed.name);
        let codes: Vec<FaultCode> = outcome.faults.iter().map(|fault| fault.code).collect();
        let unmapped = mistimed.writes.iter().any(|(_, address, _)| address.0 == 0);
        assert_eq!(
            codes,
            if unmapped { vec![FaultCode::BadPointer] } else { Vec::new() },
            "{}",
            mistimed.name
        );
    }
}

#[test]
fn a_word_before_any_pointer_is_a_fault_that_names_tile_and_event() {
    let file = exchange_cases::load();
    let mut tiles = tiles(file.case("unicast_0_to_2_4w"));
    // The pointer control one event late, as in `receiver_pic_one_late`.
    tiles[1].row[2] = 0x6191_8000;
    let outcome = run_phase(tiles, OPTIONS);
    assert_eq!(
        outcome.faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "word received before the receive pointer was set on tile 2 (physical 64): a word of tile 0 (physical 0) \
             arrives and the tile has set no receive pointer yet [event 55]"
        ]
    );
}
