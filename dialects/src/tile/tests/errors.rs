//! What the verifier says, one text a rule.

use super::{EXAMPLE, STEPS, findings};
use crate::parser::{ParseOptions, parse_module};
use crate::registry::Registry;

/// The findings without the lines that show the source.
fn short(text: &str) -> String {
    let text = findings(text);
    let kept = text.lines().filter(|line| !line.starts_with("  |"));
    kept.map(|line| format!("{line}\n")).collect()
}

/// The example with the first `from` replaced.
fn example(from: &str, to: &str) -> String {
    assert!(EXAMPLE.contains(from), "{from}");
    short(&EXAMPLE.replacen(from, to, 1))
}

/// The program with steps with the first `from` replaced.
fn steps(from: &str, to: &str) -> String {
    assert!(STEPS.contains(from), "{from}");
    short(&STEPS.replacen(from, to, 1))
}

#[test]
fn operands_fit_their_fields() {
    insta::assert_snapshot!(example("tile.delay 26", "tile.delay 524288"));
    insta::assert_snapshot!(example("tile.sendpic 63, 2, 0x19040", "tile.sendpic 64, 2, 0x19040"));
    insta::assert_snapshot!(example("tile.put 0xa4, m8", "tile.put m8, 0xa4"));
    insta::assert_snapshot!(example("tile.br m7", "tile.br"));
    insta::assert_snapshot!(example("tile.call m10, @gather", "tile.call m10, 0x5e002"));
    insta::assert_snapshot!(example("tile.delay 26", "tile.delay @gather"));
}

#[test]
fn symbols_resolve() {
    insta::assert_snapshot!(example("@worker_barrier  //", "@worker_barier  //"));
    insta::assert_snapshot!(example("tile.call m10, @gather", "tile.call m10, @a"));
    insta::assert_snapshot!(example("tile.row @gather", "tile.row @entry"));
}

#[test]
fn addresses_are_in_range_and_apart() {
    insta::assert_snapshot!(example("tile.row @gather at 0x5e000", "tile.row @gather at 0x5e002"));
    insta::assert_snapshot!(example("tile.row @gather at 0x5e000", "tile.row @gather at 0x5e024"));
    insta::assert_snapshot!(example("tile.row @gather at 0x5e000", "tile.row @gather at 0x7fff0"));
    insta::assert_snapshot!(example("tile.row @gather at 0x5e000", "tile.row @gather at 0x57ff0"));
    insta::assert_snapshot!(example("at 0x4c010", "at 0x4c000"));
    insta::assert_snapshot!(example("on t at 0x60000", "on t at 0x5e000"));
    insta::assert_snapshot!(example("at 0x5d000 size 512", "at 0x5de04 size 512"));
    insta::assert_snapshot!(example("tile.delay 26", "tile.sendpicp 0, 0x18000, 1, 0, 0, 0x640, 0x19000"));
}

#[test]
fn every_tile_has_one_image_at_its_physical_place() {
    insta::assert_snapshot!(example("on [2:1472]", "on [3:1471]"));
    insta::assert_snapshot!(example("on [2:1472]", "on [1:1472]"));
    insta::assert_snapshot!(example("on 1 physical 2", "on 1 physical 1"));
    insta::assert_snapshot!(example("on [2:1472]", "on [2:1472] physical 64"));
}

#[test]
fn a_program_has_steps_or_code() {
    let mixed = STEPS.replace("    tile.steps {\n      tile.exchange @gather idle\n    }\n", "");
    insta::assert_snapshot!(short(&mixed));
    insta::assert_snapshot!(steps("tile.steps {", "tile.code @main at 0x5f000 {\n}\ntile.steps {"));
    insta::assert_snapshot!(steps("tile.steps {", "tile.steps {\n}\ntile.steps {"));
}

#[test]
fn steps_name_rows_and_kernels_of_their_tiles() {
    insta::assert_snapshot!(steps("@gather base", "@descriptors base"));
    insta::assert_snapshot!(steps("reference\n", "reference on [0:1]\n"));
    insta::assert_snapshot!(steps("tile.repeat 3", "tile.repeat 0"));
}

#[test]
fn calls_fit_their_kernels() {
    insta::assert_snapshot!(steps("remainder_workers = 4}", "remainder_workers = 4, rows = 1}"));
    insta::assert_snapshot!(steps("(0x68000)", "(0x68000, 0x68100)"));
    insta::assert_snapshot!(steps("(0x68000)", "(0x68004)"));
    insta::assert_snapshot!(steps("(0x68000)", "(0xe7ff8)"));
}

#[test]
fn sizes_agree() {
    insta::assert_snapshot!(steps("size 64 reference", "size 62 reference"));
    insta::assert_snapshot!(steps("size 64 reference", "size 64"));
    insta::assert_snapshot!(steps("size 8 on", "size 12 on"));
    insta::assert_snapshot!(steps("bytes 6 size 12", "bytes 9 size 12"));
    insta::assert_snapshot!(steps("bytes 6 size 12", "bytes 6 size 5"));
}

#[test]
fn slices_of_bindings_are_words_of_tiles() {
    insta::assert_snapshot!(steps("image 64*t bytes 64", "image 64*t bytes 62"));
    insta::assert_snapshot!(steps("on t at 0x60000", "on 2000*t at 0x60000"));
    insta::assert_snapshot!(steps("[0x60100, 0x60100, 0x60200]", "[0x60100, 0x60200]"));
    insta::assert_snapshot!(steps("on 1 at 0x68000", "on 1 at 0xe7ff0"));
}

#[test]
fn slices_of_bindings_lie_where_the_layout_and_the_storage_say() {
    insta::assert_snapshot!(example("on t at 0x60000 image", "on 3 - t at 0x60000 image"));
    let stored = |start: &str| {
        let storage = format!("  tile.storage \"x\" at {start} size 64 on [0:2]\n  tile.host_pages");
        steps("  tile.host_pages", &storage)
    };
    insta::assert_snapshot!(stored("0x60000"));
    insta::assert_snapshot!(stored("0x60004"));
}

#[test]
fn host_calls_have_slices_for_their_batches() {
    insta::assert_snapshot!(steps("bytes 64 batches [2]", "bytes 64 batches [3]"));
    insta::assert_snapshot!(steps("sizes [4096, 8192]", "sizes [4096]"));
    insta::assert_snapshot!(steps("phases 3", "phases -3"));
}

#[test]
fn ops_stand_where_they_mean_something() {
    insta::assert_snapshot!(short(
        "tile.sync 3\ntile.exchange_host inputs\ntile.kernel @k at 0x5d000 size 4 reference\n"
    ));
    insta::assert_snapshot!(steps("tile.exchange_host weights", "tile.sync 3"));
    insta::assert_snapshot!(example("tile.br m0", "tile.data @x at 0x60000 table [0x0]"));
}

#[test]
fn texts_that_are_no_operands_say_what_was_expected() {
    let parse = |text: &str| {
        let (module, found) = parse_module("t.ir", text, ParseOptions::new(Registry::standard()));
        found.render(&module.sources)
    };
    insta::assert_snapshot!(parse("tile.setzi m8,\n"));
    insta::assert_snapshot!(parse("tile.setzi m16, 0\n"));
    insta::assert_snapshot!(parse("tile.ld64 a1:2, m12, m15, 0\n"));
    insta::assert_snapshot!(parse("tile.sinc 3\n"));
    insta::assert_snapshot!(parse("tile.image on 1472 {\n}\n"));
}
