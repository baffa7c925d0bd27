//! Plain data as ops, and state written back.

use ipu_device::{Address, LogicalTile};

use super::{EXAMPLE, findings_of, first, module};
use crate::exchange::program::{BufferId, PerTile, Piece, Program, Receiver, Step, Transfer, Transfers};
use crate::exchange::{emit_program, rewrite_phase, set_addresses, set_phase_sends};
use crate::ir::{InsertionPoint, Module, Name};
use crate::printer::{PrintOptions, print_with};

fn text(module: &Module) -> String {
    print_with(module, PrintOptions::default())
}

/// The module of `text` with its program written anew from plain data.
fn emitted(text: &str) -> Module {
    let mut module = module(text);
    let old = first(&module);
    let program = Program::read(&module, old).expect("the text is right");
    emit_program(&mut module, InsertionPoint::Before(old), &program, Name::of("test"));
    module.erase(old);
    module
}

#[test]
fn the_example_is_emitted_as_families() {
    insta::assert_snapshot!(text(&emitted(EXAMPLE)));
}

#[test]
fn what_was_emitted_verifies_and_emits_the_same_again() {
    let once = text(&emitted(EXAMPLE));
    assert_eq!(findings_of(&emitted(EXAMPLE)), "");
    assert_eq!(text(&emitted(&once)), once);
}

const EMPTY: &str = r#"exchange.program @main on [0:16] {
  %x = exchange.buffer "x" : 4096 bytes {memory = standard, align = 32}
  %y = exchange.buffer "y" : 4096 bytes {memory = standard, align = 32}
  exchange.phase @p {
  }
}
"#;

/// `EMPTY` with these transfers, rewritten.
fn with_transfers(transfers: impl IntoIterator<Item = (u16, u32, Vec<Receiver>, Vec<Piece>)>) -> Module {
    let mut module = module(EMPTY);
    let mut program = Program::read(&module, first(&module)).expect("it is right");
    let Some(Step::Phase(mut phase)) = program.steps.pop() else { panic!("it has a phase") };
    for (source, source_offset, receivers, pieces) in transfers {
        phase.transfers.push(Transfer {
            op: phase.op,
            member: 0,
            source: LogicalTile(source),
            source_buffer: BufferId(0),
            source_offset,
            bytes: pieces.iter().map(|piece| piece.bytes).sum(),
            paired: false,
            receivers: &receivers,
            pieces: &pieces,
        });
    }
    rewrite_phase(&mut module, &program, &phase, Name::of("test"));
    module
}

fn receiver(tile: u16, shift: u32) -> Receiver {
    Receiver { tile: LogicalTile(tile), buffer: BufferId(1), shift }
}

fn transfers_of(module: &Module) -> Transfers {
    let program = Program::read(module, first(module)).expect("what was written is right");
    program.phases().next().expect("it has a phase").transfers.clone()
}

#[test]
fn irregular_transfers_become_columns() {
    let module = with_transfers([
        (0, 0, vec![receiver(3, 0)], vec![Piece { offset: 0, bytes: 16 }]),
        (
            1,
            64,
            vec![receiver(7, 0), receiver(5, 32)],
            vec![Piece { offset: 8, bytes: 8 }, Piece { offset: 64, bytes: 8 }],
        ),
        (1, 16, vec![receiver(5, 0)], vec![Piece { offset: 256, bytes: 16 }]),
        (2, 4, vec![receiver(4, 0)], vec![Piece { offset: 12, bytes: 16 }]),
        (9, 8, vec![receiver(1, 0)], vec![Piece { offset: 8, bytes: 16 }]),
    ]);
    insta::assert_snapshot!(text(&module));
    let transfers = transfers_of(&module);
    assert_eq!(transfers.len(), 5);
    let (shifted, found) = (receiver(5, 32), transfers.receivers_of(1).collect::<Vec<_>>());
    assert!(found.contains(&shifted) || transfers.receiver_shift.contains(&32));
}

#[test]
fn regular_transfers_become_one_family_in_whatever_order_they_come() {
    let all = (0..16u16).flat_map(|tile| (0..4u32).map(move |part| (tile, part)));
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|&(tile, part)| (u32::from(tile) * 7 + part * 5) % 64);
    let module = with_transfers(all.into_iter().map(|(tile, part)| {
        (tile, 64 * part, vec![receiver(15 - tile, 0)], vec![Piece { offset: 128 * part, bytes: 64 }])
    }));
    let transfers = transfers_of(&module);
    assert_eq!(transfers.len(), 64);
    assert!(text(&module).contains("exchange.copy (i, j) in (16, 4)"), "{}", text(&module));
}

/// What a transfer does, without the op and member that say it.
fn rows(transfers: &Transfers) -> Vec<String> {
    let row = |row: usize| {
        let mut writes: Vec<_> = transfers
            .receivers_of(row)
            .flat_map(|receiver| {
                let place = move |piece: &Piece| (receiver.tile, piece.offset + receiver.shift, piece.bytes);
                transfers.pieces(row).iter().map(place)
            })
            .collect();
        writes.sort_unstable();
        format!("{} {} {:?}", transfers.source[row], transfers.source_offset[row], writes)
    };
    let mut rows: Vec<String> = (0..transfers.len()).map(row).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn whatever_is_written_reads_back() {
    let mut state = 7u32;
    let mut random = move |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % below
    };
    for round in 0..40 {
        let count = 1 + random(30);
        let given: Vec<_> = (0..count)
            .map(|row| {
                let tile = if round % 2 == 0 { random(16) } else { row % 16 } as u16;
                let (to, shift) = ((tile + 1 + random(15) as u16) % 16, 64 * random(2));
                let mut pieces = vec![Piece { offset: 8 * random(8), bytes: 4 }];
                if random(2) == 0 {
                    pieces.push(Piece { offset: 128 + 8 * random(8), bytes: 4 });
                }
                (tile, 4 * random(64), vec![receiver(to, shift)], pieces)
            })
            .collect();
        let mut expected = Transfers::default();
        let blank = module(EMPTY);
        for (tile, source_offset, receivers, pieces) in &given {
            expected.push(Transfer {
                op: first(&blank),
                member: 0,
                source: LogicalTile(*tile),
                source_buffer: BufferId(0),
                source_offset: *source_offset,
                bytes: pieces.iter().map(|piece| piece.bytes).sum(),
                paired: false,
                receivers,
                pieces,
            });
        }
        assert_eq!(rows(&transfers_of(&with_transfers(given))), rows(&expected), "round {round}");
    }
}

#[test]
fn starts_and_addresses_are_written_back() {
    let mut module = module(EXAMPLE);
    let mut program = Program::read(&module, first(&module)).expect("it is right");
    for step in &mut program.steps {
        if let Step::Phase(phase) = step {
            phase.transfers.send = vec![40, 40, 40, 40];
            set_phase_sends(&mut module, &phase.transfers);
        }
    }
    let split = PerTile::Each([0x60000, 0x60000, 0x70000, 0x60000].map(Address).to_vec());
    program.buffers[0].at = Some(split);
    set_addresses(&mut module, &program);
    let text = text(&module);
    assert!(text.contains("send 40\n") && text.contains("at {[0:2, 3] = 0x60000, [2] = 0x70000}"), "{text}");
    let again = Program::read(&module, first(&module)).expect("it is right");
    assert_eq!(again.buffers[0].at, program.buffers[0].at);

    program.buffers.iter_mut().for_each(|buffer| buffer.at = None);
    for step in &mut program.steps {
        if let Step::Phase(phase) = step {
            phase.transfers.send.clear();
            set_phase_sends(&mut module, &phase.transfers);
        }
    }
    set_addresses(&mut module, &program);
    let again = Program::read(&module, first(&module)).expect("it is right");
    assert!(!again.is_placed() && !again.is_scheduled());
}
