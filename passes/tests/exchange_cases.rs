//! Hand-written exchange programs in `test-ir/exchange-cases` against the rows that an independent encoder made of them
//! (`device/tests/data/exchange-cases.json`).
//!
//! A right case is a file at exchange level, named as the case: offsets, addresses and starts are given, the rows are
//! what must come out. A mistimed case is a file at tile level, because no exchange program says it: one start gives
//! the events of sender and receivers, and they agree. So its rows stand in the file word by word; the test checks that
//! they are those of the case with its changes, `ipu run` that the memory ends up as predicted.

#[path = "../../device/tests/exchange_cases/mod.rs"]
mod recorded;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::pass_runs::{parse, run};
use ipu_device::exchange::{ItemWidth, check_row};
use ipu_device::{Event, LogicalTile, PhysicalTile};
use ipu_dialects::exchange::Program;
use ipu_dialects::exchange::placed::{device_transfers, incoming_bases};
use ipu_dialects::tile::{Body, Section, TileProgram};
use ipu_passes::manager::state::main_program;
use recorded::{Case, ExchangeCases};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../test-ir/exchange-cases")
}

fn text(file: &str) -> String {
    std::fs::read_to_string(folder().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The exchange program of a case.
fn program(case: &Case) -> Program {
    let module = parse(&case.name, &text(&format!("{}.ir", case.name)));
    Program::read(&module, main_program(&module).expect("a program")).expect("reads")
}

fn words(section: &Section) -> Vec<u32> {
    let bytes = section.stored_bytes().expect("fields fit");
    bytes.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word)).collect()
}

/// The words of the row of every tile.
fn rows(program: &TileProgram) -> BTreeMap<PhysicalTile, Vec<u32>> {
    let mut rows = BTreeMap::new();
    for image in &program.images {
        let mut sections = image.sections.iter().filter(|section| matches!(section.body, Body::Row(_)));
        let row = words(sections.next().expect("every tile has a row"));
        assert!(sections.next().is_none(), "a case is one phase");
        rows.extend(image.tiles.iter().map(|tile| (tile.physical(), row.clone())));
    }
    rows
}

fn lowered(case: &Case, encoding: &str) -> BTreeMap<PhysicalTile, Vec<u32>> {
    let mut module = parse(&case.name, &text(&format!("{}.ir", case.name)));
    let done = run(&mut module, &format!("lower-exchanges{{row-encoding={encoding}}}"));
    assert_eq!(done.diagnostics.render(&module.sources), "");
    rows(&TileProgram::read(&module, main_program(&module).expect("a program")).expect("reads"))
}

/// A lone return: the row of a tile that takes no part.
const IDLE: [u32; 1] = [0x43a0_0000];

fn cases() -> ExchangeCases {
    let file = recorded::load();
    assert_eq!((file.cases.len(), file.mistimed.len()), (18, 8));
    file
}

/// The file of a mistimed case.
fn mistimed_file(name: &str) -> String {
    format!("mistimed-{}.ir", name.replace('_', "-"))
}

#[test]
fn every_case_has_a_file_and_every_file_a_case_that_it_names() {
    let file = cases();
    let right = file.cases.iter().map(|case| (format!("{}.ir", case.name), &case.name));
    let mistimed = file.mistimed.iter().map(|case| (mistimed_file(&case.name), &case.name));
    let mut expected: BTreeMap<String, &String> = right.chain(mistimed).collect();
    for entry in std::fs::read_dir(folder()).expect("the folder is there") {
        let name = entry.expect("readable").file_name().to_string_lossy().into_owned();
        let case = expected.remove(&name).unwrap_or_else(|| panic!("{name} is no case"));
        let text = text(&name);
        let heading: String = text.lines().take_while(|line| line.starts_with("//")).collect();
        assert!(heading.contains(&format!("`{case}`")), "{name} does not say which case it is");
    }
    assert!(expected.is_empty(), "cases without a file: {:?}", expected.keys());
}

#[test]
fn files_move_what_the_cases_move() {
    for case in cases().cases {
        let program = program(&case);
        let phase = program.phases().next().expect("a phase");
        let moved = device_transfers(&program, phase).expect("scheduled and placed");
        assert_eq!(moved.len(), case.transfers.len(), "{}", case.name);
        for expected in &case.transfers {
            let width = if expected.paired { ItemWidth::Paired64 } else { ItemWidth::Word32 };
            let found = moved.iter().find(|transfer| {
                (transfer.source, transfer.start, transfer.source_address)
                    == (expected.source, expected.send_start, expected.source_address)
            });
            let found = found.unwrap_or_else(|| panic!("{}: no transfer of {}", case.name, expected.source));
            assert_eq!((found.words, found.width, found.end()), (expected.words, width, expected.send_end));
            let places: Vec<_> =
                found.receivers.iter().map(|one| (one.tile, one.pieces[0].address)).collect();
            let wanted: Vec<_> = expected.receivers.iter().map(|one| (one.tile, one.address)).collect();
            assert_eq!(places, wanted, "{}", case.name);
        }
    }
}

#[test]
fn reference_rows_are_word_for_word_those_of_the_cases() {
    let mut listed = 0;
    for case in cases().cases {
        let rows = lowered(&case, "reference");
        for tile in LogicalTile::all().map(LogicalTile::physical) {
            let expected = case.rows.iter().find(|row| row.tile == tile);
            listed += usize::from(expected.is_some());
            let expected = expected.map_or(&IDLE[..], |row| &row.words);
            assert_eq!(rows[&tile], expected, "{} on {tile}", case.name);
        }
    }
    assert_eq!(listed, 62);
}

#[test]
fn compact_rows_do_the_same_in_no_more_words() {
    for case in cases().cases {
        let program = program(&case);
        let phase = program.phases().next().expect("a phase");
        let transfers = device_transfers(&program, phase).expect("scheduled and placed");
        let (rows, bases) = (lowered(&case, "compact"), incoming_bases(phase));
        for expected in &case.rows {
            let row = &rows[&expected.tile];
            assert!(row.len() <= expected.words.len(), "{} on {}", case.name, expected.tile);
            let base = bases.get(&expected.tile).copied().unwrap_or_default();
            assert_eq!(base, expected.incoming_base, "{}", case.name);
            check_row(expected.tile, row, &transfers, base)
                .unwrap_or_else(|error| panic!("{}: {error}", case.name));
        }
    }
}

#[test]
fn mistimed_files_hold_the_rows_of_their_cases_with_the_changed_words() {
    let file = cases();
    for mistimed in &file.mistimed {
        let case = file.case(&mistimed.based_on);
        let name = mistimed_file(&mistimed.name);
        let module = parse(&name, &text(&name));
        let program = TileProgram::read(&module, main_program(&module).expect("a program")).expect("reads");
        let rows = rows(&program);
        for row in &case.rows {
            let mut expected = row.words.clone();
            for change in mistimed.changes.iter().filter(|change| change.tile == row.tile) {
                assert_eq!(expected[change.word], change.from);
                expected[change.word] = change.to;
            }
            assert_eq!(rows[&row.tile], expected, "{name} on {}", row.tile);
        }
    }
}

#[test]
fn the_events_of_a_phase_are_those_of_the_case() {
    for case in cases().cases {
        let rows = lowered(&case, "reference");
        let events = |words: &Vec<u32>| {
            let decoded =
                ipu_device::isa::decode_all(ipu_device::isa::Context::Supervisor, words).expect("a row");
            let events = decoded.iter().map(|(_, one)| i64::from(one.events().unwrap_or(0)));
            Event(events.sum())
        };
        assert_eq!(rows.values().map(events).max(), Some(case.phase_events), "{}", case.name);
    }
}
