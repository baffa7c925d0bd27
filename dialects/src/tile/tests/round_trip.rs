//! Text that prints to itself, in both forms, and plain data that survives emission.

use std::collections::BTreeMap;

use ipu_device::LogicalTile;

use super::{EXAMPLE, STEPS, findings, first, module, program};
use crate::ir::{InsertionPoint, Module, Name, Origin};
use crate::printer::{PrintOptions, print_generic, print_module, print_with};
use crate::tile::{Body, Section, TileProgram};

fn words(section: &Section) -> Vec<u32> {
    let bytes = section.stored_bytes().expect("fields fit");
    bytes.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word)).collect()
}

#[test]
fn programs_print_to_themselves_and_verify() {
    for text in [EXAMPLE, STEPS] {
        assert_eq!(print_module(&module(text)), text);
        assert_eq!(findings(text), "");
    }
}

#[test]
fn the_generic_form_reads_back_to_the_same() {
    for text in [EXAMPLE, STEPS] {
        let generic = print_generic(&module(text), false);
        assert_eq!(print_generic(&module(&generic), false), generic);
    }
}

#[test]
fn plain_data_survives_emission() {
    for text in [EXAMPLE, STEPS] {
        let before = program(text);
        let mut emitted = Module::new();
        let body = emitted.body();
        let op = TileProgram { op: None, ..before.clone() }.emit(
            &mut emitted,
            InsertionPoint::BlockEnd(body),
            Name::of("test"),
        );
        let after = TileProgram::read(&emitted, op).expect("reads");
        assert_eq!(after.has_code(), text == EXAMPLE);
        assert_eq!((&after.name, &after.attributes), (&before.name, &before.attributes));
        assert_eq!(after.host, before.host);
        assert_eq!(after.common, before.common);
        assert_eq!(after.images.len(), before.images.len());
        for (after, before) in after.images.iter().zip(&before.images) {
            assert_eq!(after.tiles, before.tiles);
            assert_eq!((&after.sections, &after.steps), (&before.sections, &before.steps));
        }
        for (after, before) in after.bindings.iter().zip(&before.bindings) {
            assert_eq!((&after.name, &after.slices, &after.ty), (&before.name, &before.slices, &before.ty));
        }
        for (after, before) in after.kernels.iter().zip(&before.kernels) {
            assert_eq!(
                (&after.symbol, &after.code, &after.tiles),
                (&before.symbol, &before.code, &before.tiles)
            );
        }
        // The family's own names of ids are the only difference in the text.
        let printed = print_with(&emitted, PrintOptions::default());
        assert_eq!(print_with(&module(&printed), PrintOptions::default()), printed);
    }
}

#[test]
fn the_words_are_those_of_the_worked_example() {
    let program = program(EXAMPLE);
    let image = |index: usize| -> BTreeMap<&str, Vec<u32>> {
        let sections = program.images[index].sections.iter();
        sections.map(|section| (&*section.symbol, words(section))).collect()
    };
    assert_eq!(
        image(0)["gather"],
        [0x64000002, 0x40a0001a, 0x7aec0401, 0x77f99040, 0x717990c0, 0x73700640, 0x40a0001d, 0x43a00000]
    );
    assert_eq!(
        image(1)["gather"],
        [0x64000000, 0x40a0001b, 0x7acc0001, 0x77f99000, 0x71799080, 0x73900640, 0x40a0001c, 0x43a00000]
    );
    assert_eq!(
        image(0)["main"][..13],
        [
            0x19800000, 0x438080a4, 0x43f080a7, 0x18717040, 0x19800001, 0x438080a6, 0x41800003, 0x18a17800,
            0x19268000, 0x19364000, 0x19400200, 0x19500010, 0x18a17400,
        ]
    );
    assert_eq!(image(2)["main"][3..6], [0x40c00000, 0x41800001, 0x18a17800]);
}

#[test]
fn code_of_all_images_names_what_every_image_has_at_one_address() {
    let program = program(EXAMPLE);
    assert_eq!(words(&program.common[0]), [0x1905e040, 0x43000000]);
    let text = EXAMPLE.replacen(
        "tile.code @main at 0x5e040 {\n      tile.br",
        "tile.code @main at 0x5e048 {\n      tile.br",
        1,
    );
    insta::assert_snapshot!(findings(&text));
}

#[test]
fn equal_images_become_one() {
    let mut program = program(EXAMPLE);
    let idle = program.images.pop().expect("an idle image");
    for tile in idle.tiles.iter().rev() {
        program.images.insert(1, crate::tile::Image { tiles: vec![*tile], ..idle.clone() });
    }
    program.group_images();
    assert_eq!(program.images.len(), 3);
    assert_eq!(program.images[0].tiles, [LogicalTile(0)]);
    assert_eq!(program.images[1].tiles, idle.tiles);
    assert_eq!(program.images[1].sections, idle.sections);
}

#[test]
fn ops_have_the_origin_of_what_they_were_made_for() {
    let mut module = module(EXAMPLE);
    let op = first(&module);
    module.set_origin(op, Some(Origin::new("main/c", Vec::new())));
    let mut program = TileProgram::read(&module, op).expect("reads");
    let row = &mut program.images[0].sections[0];
    row.source = Some(op);
    if let Body::Row(lines) = &mut row.body {
        lines[2].source = Some(op);
    }
    let made = program.emit(&mut module, InsertionPoint::After(op), Name::of("lower-exchanges"));
    let expected = Origin::new("main/c", vec![Name::of("lower-exchanges")]);
    let with: Vec<String> = module
        .walk(made)
        .filter(|&op| module.origin(op) == Some(&expected))
        .map(|op| module.name(op).to_string())
        .collect();
    assert_eq!(with, ["tile.program", "tile.row", "tile.send"]);
}
