//! Exchange programs as rows and steps: the words of the worked example, hazards found again, room for code.

use crate::pass_runs::{parse, printed, run};
use ipu_device::{Address, Coded as _, LogicalTile};
use ipu_dialects::exchange::Program;
use ipu_dialects::tile::{Body, Section, StepKind, TileProgram};
use ipu_passes::lower_exchanges::{LowerCode, LowerOptions, code_ends, lower};
use ipu_passes::manager::state::main_program;

const EXAMPLE: &str = include_str!("../../test-ir/example/gemm-exchange.ir");

/// The tile program that `pipeline` makes of `text`.
fn lowered(text: &str, pipeline: &str) -> TileProgram {
    let mut module = parse("program.ir", text);
    let done = run(&mut module, pipeline);
    assert_eq!(done.diagnostics.render(&module.sources), "");
    TileProgram::read(&module, main_program(&module).expect("a program")).expect("reads")
}

/// What `lower-exchanges` says of `text`.
fn findings(text: &str) -> String {
    let mut module = parse("program.ir", text);
    let done = run(&mut module, "lower-exchanges");
    assert!(done.failure.is_some(), "lowered");
    done.diagnostics.render(&module.sources)
}

fn words(section: &Section) -> String {
    let bytes = section.stored_bytes().expect("fields fit");
    let words = bytes.as_chunks::<4>().0.iter().map(|&word| format!("{:08x}", u32::from_le_bytes(word)));
    words.collect::<Vec<_>>().join(" ")
}

/// The words of row `symbol` of `tile`.
fn row(program: &TileProgram, tile: u16, symbol: &str) -> String {
    let image = program.images.iter().find(|image| image.tiles.contains(&LogicalTile(tile)));
    let mut rows = image.expect("an image").sections.iter();
    let row = rows.find(|section| *section.symbol == *symbol && matches!(section.body, Body::Row(_)));
    words(row.expect("a row"))
}

#[test]
fn rows_of_the_worked_example_are_word_for_word_those_of_its_table() {
    let gather = [
        "64000002 40a0001a 7aec0401 77f99040 717990c0 73700640 40a0001d 43a00000",
        "64000000 40a0001b 7acc0001 77f99000 71799080 73900640 40a0001c 43a00000",
        "64000042 40a0001a 7b2c0401 77f99040 713990c0 73700640 40a0001f 43a00000",
        "64000040 40a0001b 7b0c0001 77f99000 71399080 73900640 40a0001e 43a00000",
    ];
    let scatter = [
        "64000002 40a0001a 7af00201 71799000 73700640 40a0001d 43a00000",
        "64000000 40a0001b 7ad00001 71799000 73900640 40a0001c 43a00000",
        "64000042 40a0001a 7b300201 71399000 73700640 40a0001f 43a00000",
        "64000040 40a0001b 7b100001 71399000 73900640 40a0001e 43a00000",
    ];
    for encoding in ["reference", "compact"] {
        let program = lowered(EXAMPLE, &format!("lower-exchanges{{row-encoding={encoding}}}"));
        for (tile, (gather, scatter)) in (0..).zip(gather.into_iter().zip(scatter)) {
            assert_eq!(
                (&*row(&program, tile, "gather"), &*row(&program, tile, "scatter")),
                (gather, scatter)
            );
        }
        assert_eq!(row(&program, 1471, "gather"), "43a00000", "a tile without a part returns at once");
    }
}

#[test]
fn rows_and_steps_read_as_text() {
    let steps = format!("{LOAD}{}{STORE}", swap(28, 29));
    let mut module = parse("program.ir", &two_tiles("0x64000", "0x68000", &steps));
    run(&mut module, "lower-exchanges");
    insta::assert_snapshot!(printed(&module));
}

#[test]
fn tiles_that_do_the_same_share_an_image() {
    let program = lowered(EXAMPLE, "lower-exchanges");
    let tiles: Vec<usize> = program.images.iter().map(|image| image.tiles.len()).collect();
    assert_eq!(tiles, [1, 1, 1, 1, 1468]);
    let steps = program.images[4].steps.as_ref().expect("steps");
    let idle = |kind: &StepKind| matches!(kind, StepKind::Exchange { idle: true, .. });
    assert_eq!(steps.iter().filter(|step| idle(&step.kind)).count(), 2, "idle tiles pass every barrier");
}

/// The example without the addresses of its buffers.
fn unplaced() -> String {
    let lines = EXAMPLE.lines().map(|line| match line.rsplit_once(" at 0x") {
        Some((buffer, _)) if line.contains("exchange.buffer") => format!("{buffer}\n"),
        _ => format!("{line}\n"),
    });
    lines.collect()
}

#[test]
fn what_is_not_scheduled_and_placed_is_not_lowered() {
    let module = parse("program.ir", &unplaced());
    let program = Program::read(&module, main_program(&module).expect("a program")).expect("reads");
    let refused = lower(&module, &program, LowerOptions::default()).expect_err("unplaced");
    let codes: Vec<&str> = refused.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [LowerCode::Unfinished.code()]);
}

#[test]
fn code_ends_are_known_before_buffers_have_addresses() {
    let text = unplaced();
    assert_ne!(text, EXAMPLE);
    let ends = |text: &str| {
        let module = parse("program.ir", text);
        let program = Program::read(&module, main_program(&module).expect("a program")).expect("reads");
        code_ends(&module, &program).expect("fits")
    };
    let finished = lowered(EXAMPLE, "lower-exchanges,emit-tile-code");
    let real = |tile: u16| -> Address {
        let image = finished.images.iter().find(|image| image.tiles.contains(&LogicalTile(tile)));
        let ends = image.expect("an image").sections.iter();
        ends.map(|section| Address(section.address.0 + section.size().0)).max().expect("code")
    };
    for (tile, end) in (0..).zip(ends(&text)).step_by(7).chain((0..4).zip(ends(&text))) {
        assert_eq!(end, real(tile), "tile {tile}");
    }
}

/// A program of two tiles: `%x` sends, `%y` receives.
fn two_tiles(x: &str, y: &str, steps: &str) -> String {
    format!(
        r#"exchange.program @main on [0:2] {{
  exchange.binding @in input : tensor<32xf16, #mapped.layout<split = [1], copies = 2, tiles = (i, c) -> c, order = row_major, memory = standard>>
  exchange.binding @out output : tensor<32xf16, #mapped.layout<split = [1], tiles = (i) -> i, order = row_major, memory = standard>>
  %x = exchange.buffer "x" : 64 bytes {{memory = standard, align = 8}} at {x}
  %y = exchange.buffer "y" : 64 bytes {{memory = standard, align = 8}} at {y}
{steps}}}
"#
    )
}

const LOAD: &str = "  exchange.load_host @in -> %x (t) in (2) on t image [0 : +64]\n";
const STORE: &str = "  exchange.store_host %y -> @out on 0 image [0 : +64]\n";

fn swap(first: u32, second: u32) -> String {
    format!(
        "  exchange.phase @swap {{\n    exchange.copy (t) in (2) : %x[0 : +64] from t to [1 - t] into %y[0 : +64] send [{first}, {second}]\n  }}\n"
    )
}

#[test]
fn hazards_of_hand_written_schedules_are_found() {
    let program = |x, y, steps: &str| two_tiles(x, y, &format!("{LOAD}{steps}{STORE}"));
    lowered(&program("0x64000", "0x68000", &swap(28, 29)), "lower-exchanges");
    // One memory element is read and written at once.
    insta::assert_snapshot!(findings(&program("0x64000", "0x64100", &swap(50, 29))));
    // The receiver cannot select the source before its row starts.
    insta::assert_snapshot!(findings(&program("0x64000", "0x68000", &swap(5, 29))));
    let twice = "  exchange.phase @twice {\n    exchange.copy %x[0 : +32] from 0 to [1] into %y[0 : +32] send 28\n    exchange.copy %x[32 : +32] from 0 to [1] into %y[32 : +32] send 30\n  }\n";
    insta::assert_snapshot!(findings(&program("0x64000", "0x68000", twice)));
}

#[test]
fn buffers_stay_out_of_code_and_of_the_runtimes_memory() {
    let steps = format!("{LOAD}{}{STORE}", swap(28, 29));
    insta::assert_snapshot!(findings(&two_tiles("0x64000", "0x5c100", &steps)));
    insta::assert_snapshot!(findings(&two_tiles("0x50180", "0x68000", &steps)));
}

#[test]
fn host_moves_stand_at_the_ends() {
    let late = format!("{}{LOAD}{STORE}", swap(28, 29));
    insta::assert_snapshot!(findings(&two_tiles("0x64000", "0x68000", &late)));
    let repeated = format!("{LOAD}  exchange.repeat 2 {{\n{}{STORE}  }}\n", swap(28, 29));
    insta::assert_snapshot!(findings(&two_tiles("0x64000", "0x68000", &repeated)));
}

#[test]
fn a_repeat_stays_a_repeat_on_the_tiles_that_take_part() {
    let steps = format!("{LOAD}  exchange.repeat 3 {{\n{}  }}\n{STORE}", swap(28, 29));
    let program = lowered(&two_tiles("0x64000", "0x68000", &steps), "lower-exchanges");
    for image in &program.images {
        let steps = image.steps.as_ref().expect("steps");
        let repeat = steps.iter().find_map(|step| match &step.kind {
            StepKind::Repeat { count, body } => Some((*count, body.clone())),
            _ => None,
        });
        assert_eq!(repeat, Some((3, 2..3)), "every tile passes the barrier three times");
    }
}

#[test]
fn rows_do_not_take_names_of_the_runtime() {
    let steps = format!("{LOAD}{}{STORE}", swap(28, 29).replace("@swap", "@start"));
    let program = lowered(&two_tiles("0x64000", "0x68000", &steps), "lower-exchanges,emit-tile-code");
    assert!(!row(&program, 0, "start.row").is_empty());
}

#[test]
fn an_instruction_has_the_place_of_the_kernel_run_that_asked_for_it() {
    let mut module = parse("program.ir", EXAMPLE);
    let done = run(&mut module, "lower-exchanges,emit-tile-code");
    assert_eq!(done.diagnostics.render(&module.sources), "");
    let main = main_program(&module).expect("a program");
    let calls = module.walk(main).filter(|&op| module.name(op) == "tile.call".into());
    let line = |op| {
        let (file, place) = module.sources.locate(module.span(op))?;
        Some(file.text.lines().nth(place.line as usize - 1)?.trim_start().to_owned())
    };
    let places: Vec<String> = calls.filter_map(line).collect();
    for what in ["exchange.run on [0:4] : @cast_f16_f143_panels", "exchange.phase @gather"] {
        assert!(places.iter().any(|place| place.starts_with(what)), "{what}: {places:?}");
    }
}
