//! Instruction ops against the device's field table and its vectors.

use std::sync::Arc;

use ipu_device::Address;
use ipu_device::isa::{Context, FORMS, Form, Instruction, decode};

use super::{module, program};
use crate::printer::print_module;
use crate::tile::instructions::{declaration, mnemonic, operands};
use crate::tile::{Body, Section, TileProgram};

const VECTORS: &str = include_str!("../../../../device/tests/data/supervisor-vectors.tsv");

/// A program whose image holds these lines as code; every tile has it.
fn text_of(lines: &[String]) -> String {
    let lines: String = lines.iter().map(|line| format!("      {line}\n")).collect();
    format!(
        "tile.program @main {{\n  tile.image on [0:1472] {{\n    tile.code @code at 0x60000 {{\n{lines}    }}\n  }}\n}}\n"
    )
}

fn line(instruction: &Instruction) -> Option<String> {
    let (mnemonic, operands) = operands(instruction, None)?;
    Some(format!("tile.{mnemonic} {operands}").trim_end().to_owned())
}

/// The code as read back.
fn code(program: &TileProgram) -> &Section {
    &program.images[0].sections[0]
}

/// Instructions of a form with the least, the greatest and another value in each operand.
fn samples(form: &Form) -> Vec<Instruction> {
    let value = |pick: usize| -> Vec<i64> {
        let of = |operand: &ipu_device::isa::Operand| {
            let (least, most) = operand.kind.bounds(operand.width());
            match pick {
                0 => least,
                1 => most,
                // A multiple of every unit there is.
                _ => ((most / 2) >> 20 << 20).max(most.min(8)),
            }
        };
        form.operands.iter().map(of).collect()
    };
    let made = (0..3).filter_map(|pick| Instruction::from_values(form.opcode, &value(pick)));
    made.filter(|instruction| instruction.encode().is_ok()).collect()
}

#[test]
fn there_is_one_op_for_each_mnemonic() {
    for form in FORMS {
        let op = declaration(form.mnemonic).expect("declared");
        assert_eq!(op.name, format!("tile.{}", form.mnemonic));
        assert_eq!(mnemonic(op.name.into()), Some(form.mnemonic));
    }
    let mut names: Vec<&str> = crate::tile::DIALECT.ops.iter().map(|op| op.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "an instruction has the name of another op");
}

#[test]
fn every_form_round_trips_through_text() {
    let mut instructions = Vec::new();
    for form in FORMS {
        let found = samples(form);
        assert!(!found.is_empty(), "{}", form.mnemonic);
        instructions.extend(found);
    }
    let named: Vec<(Instruction, String)> =
        instructions.iter().filter_map(|&found| Some((found, line(&found)?))).collect();
    // `or` with a high constant of 0 reads as `or` with 0; `setzi m14, 0` and `nop` are one word.
    assert!(instructions.len() - named.len() <= 1, "all but one have a text");
    // Instructions of two words lie on a multiple of 8.
    let mut lines = Vec::new();
    let mut words = 0;
    for (instruction, text) in &named {
        if instruction.word_count() == 2 && words % 2 == 1 {
            lines.push("tile.nop".to_owned());
            words += 1;
        }
        words += instruction.word_count();
        lines.push(text.clone());
    }
    let text = text_of(&lines);
    assert_eq!(print_module(&module(&text)), text);
    let program = program(&text);
    let Body::Code(read) = &code(&program).body else { panic!("code") };
    let mut read =
        read.iter().filter(|line| line.code != crate::tile::Code::Instruction(Instruction::Nop {}));
    for (instruction, text) in named.iter().filter(|(found, _)| *found != (Instruction::Nop {})) {
        let line = read.next().expect("as many lines");
        let crate::tile::Code::Instruction(found) = line.code else { panic!("{text}") };
        assert_eq!(found.encode(), instruction.encode(), "{text}");
    }
}

#[test]
fn every_vector_of_the_assembler_reads_as_its_word() {
    let mut lines = Vec::new();
    let mut expected = Vec::new();
    for vector in VECTORS.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<u32> = vector
            .split('\t')
            .take_while(|field| field.starts_with("0x"))
            .filter_map(|field| u32::from_str_radix(&field[2..], 16).ok())
            .collect();
        let Ok(instruction) = decode(Context::Supervisor, &words) else { continue };
        if instruction.word_count() == 1 {
            lines.push(line(&instruction).expect("has a text"));
            expected.push(words[0]);
        }
    }
    assert!(lines.len() > 30, "{}", lines.len());
    let program = program(&text_of(&lines));
    let bytes = code(&program).stored_bytes().expect("fields fit");
    let found: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_symbol_stands_for_a_code_address_and_for_the_constant_of_setzi_only() {
    let name: Arc<str> = "gather".into();
    let text = |instruction: Instruction| {
        let (mnemonic, operands) = operands(&instruction, Some(&name)).expect("has a text");
        format!("{mnemonic} {operands}")
    };
    let link = ipu_device::isa::Register::M10;
    assert_eq!(text(Instruction::Call { link, target: Address(0x5e000) }), "call m10, @gather");
    assert_eq!(text(Instruction::Brnz { source: link, target: Address(0x5e000) }), "brnz m10, @gather");
    assert_eq!(text(Instruction::Setzi { destination: link, value: 0x5e000 }), "setzi m10, @gather");
    assert_eq!(text(Instruction::Sync { zone: 3 }), "sync 3");
}
