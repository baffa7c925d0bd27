//! Steps as supervisor code: instructions of every kind of step, images by host part, names, room, and programs that run.

use crate::pass_runs::{parse, run};
use ipu_device::isa::Instruction;
use ipu_device::package::{Package, SegmentFlags};
use ipu_device::runtime::{BootProgram, Configuration, Device, RunInputs, SimulatedTransport, run_package};
use ipu_device::simulator::{Simulator, SimulatorOptions};
use ipu_device::{Address, LogicalTile};
use ipu_dialects::exchange::Program;
use ipu_dialects::exchange::meaning::{Timing, run_program};
use ipu_dialects::ir::Module;
use ipu_dialects::printer::op_text;
use ipu_dialects::tile::{Body, Code, Image, StepKind, TileProgram};
use ipu_passes::build_package::{BuildCode, build};
use ipu_passes::emit_tile_code::{EmitCode, emit, first_free};
use ipu_passes::manager::RunFailure;
use ipu_passes::manager::state::main_program;

const EXAMPLE: &str = include_str!("../../test-ir/example/gemm-exchange.ir");

fn after(text: &str, pipeline: &str) -> Module {
    let mut module = parse("program.ir", text);
    let done = run(&mut module, pipeline);
    assert_eq!(done.diagnostics.render(&module.sources), "");
    module
}

fn program(module: &Module) -> TileProgram {
    TileProgram::read(module, main_program(module).expect("a program")).expect("reads")
}

/// The image of a logical tile.
fn image(program: &TileProgram, tile: u16) -> &Image {
    program.images.iter().find(|image| image.tiles.contains(&LogicalTile(tile))).expect("an image")
}

/// The text of section `symbol` of the image on `tile`.
fn section_text(module: &Module, tile: u16, symbol: &str) -> String {
    let program = program(module);
    let section = image(&program, tile).sections.iter().find(|section| *section.symbol == *symbol);
    op_text(module, section.expect("a section").source.expect("an op"))
}

#[test]
fn every_kind_of_step_has_its_instructions() {
    let module = after(EXAMPLE, "lower-exchanges,emit-tile-code");
    insta::assert_snapshot!(format!(
        "tile 0\n{}\n\ntile 1471\n{}",
        section_text(&module, 0, "main"),
        section_text(&module, 1471, "main")
    ));
}

#[test]
fn what_all_tiles_share_stands_in_the_program_and_followers_share_an_image() {
    let module = after(EXAMPLE, "lower-exchanges,emit-tile-code");
    let program = program(&module);
    let tiles: Vec<usize> = program.images.iter().map(|image| image.tiles.len()).collect();
    // Four tiles have packets of their own, and so have those that announce transfers to the host for others.
    assert_eq!(tiles.iter().sum::<usize>(), 1472);
    assert_eq!(tiles.iter().filter(|&&count| count > 1).count(), 1, "{tiles:?}");
    assert!(tiles.iter().any(|&count| count > 1460), "{tiles:?}");
    let entry = &program.common[0];
    assert_eq!((entry.address, &*entry.symbol), (Address(0x4c010), "entry"));
    for image in &program.images {
        let jump = image.sections.iter().find(|section| *section.symbol == *"program").expect("a jump");
        assert_eq!(jump.address, Address(first_free().0 - 8));
        // Rows, then host code and tables, then the tile's own program.
        let kinds: Vec<u32> = image.sections[1..]
            .iter()
            .map(|section| match &section.body {
                Body::Row(_) => 0,
                Body::Code(_) if section.symbol.starts_with("host.") => 1,
                Body::Data(data) if data.flags == SegmentFlags::TABLE => 2,
                _ => 3,
            })
            .collect();
        assert!(kinds.is_sorted(), "{kinds:?}");
        assert_eq!(kinds.last(), Some(&3));
    }
}

#[test]
fn a_program_with_code_stays_as_it_is() {
    let module = after(EXAMPLE, "lower-exchanges,emit-tile-code");
    let mut again = program(&module);
    let before = again.clone();
    emit(&mut again).expect("has code");
    assert_eq!((again.common, again.images.len()), (before.common, before.images.len()));
}

/// Two tiles; `body` stands between load and store. Buffers `%x`, `%y`, `%z` have 64 bytes each.
fn two_tiles(input: &str, body: &str) -> String {
    let layout = "#mapped.layout<split = [2], tiles = (i) -> i, order = row_major, memory = standard>";
    format!(
        r#"exchange.program @main on [0:2] {{
  exchange.binding @{input} input : tensor<64xf16, {layout}>
  exchange.binding @out output : tensor<64xf16, {layout}>
  %x = exchange.buffer "x" : 64 bytes {{memory = standard, align = 32}} at 0x64000
  %y = exchange.buffer "y" : 64 bytes {{memory = standard, align = 32}} at 0x68000
  %z = exchange.buffer "z" : 64 bytes {{memory = standard, align = 32}} at 0x6c000
  exchange.load_host @{input} -> %x (t) in (2) on t image [64*t : +64]
{body}
  exchange.store_host %x -> @out (t) in (2) on t image [64*t : +64]
}}
"#
    )
}

/// `%x` becomes the sum of both tiles' `%x`.
const ADD_OTHER: &str = r"exchange.phase @swap {
  exchange.copy (t) in (2) : %x[0 : +64] from t to [1 - t] into %y[0 : +64] send [28, 29]
}
exchange.compute @add {
  exchange.run on [0:2] : @reduce_add_f16(%z, %x, %y) {remotes = 1, elements = 32}
  exchange.run on [0:2] : @copy_strided_u64(%x, %z) {row_dwords = 8, rows = 1, source_stride = 8, destination_stride = 8}
}";

fn package(text: &str) -> Package {
    let module = after(text, "lower-exchanges,emit-tile-code");
    build(&module, &program(&module)).expect("builds")
}

/// Outputs of `package` for `input` on the simulated device.
fn simulated(package: &Package, input: &[u8]) -> Vec<u8> {
    let simulator = Simulator::for_package(SimulatorOptions::default(), package);
    let mut device = Device::open(None, || Ok(SimulatedTransport::new(simulator))).expect("opens");
    let configuration = Configuration::c600().expect("recorded");
    let inputs = RunInputs { weights: &[], invocations: &[input] };
    let outputs = run_package(&mut device, package, &configuration, &BootProgram::stand_in(), inputs)
        .unwrap_or_else(|error| panic!("{error}"));
    outputs.invocations.concat()
}

/// Outputs at the exchange level.
fn meant(text: &str, input: &[u8]) -> Vec<u8> {
    let module = parse("program.ir", text);
    let program = Program::read(&module, main_program(&module).expect("a program")).expect("reads");
    run_program(&program, &[input.to_vec(), Vec::new()], Timing::Bulk).expect("runs").concat()
}

/// `count` halves 0, 1, 2, 3, 0, ...
fn halves(count: usize) -> Vec<u8> {
    let codes = [0x0000_u16, 0x3c00, 0x4000, 0x4200];
    (0..count).flat_map(|index| codes[index % 4].to_le_bytes()).collect()
}

#[test]
fn repeats_run_as_often_as_they_say_also_inside_each_other() {
    let input = [halves(32), halves(32)].concat();
    for (body, rounds) in [
        (format!("exchange.repeat 3 {{\n{ADD_OTHER}\n}}"), 3),
        (
            format!(
                "exchange.repeat 2 {{\nexchange.repeat 2 {{\n{ADD_OTHER}\n}}\n{ADD_OTHER}\n}}\n{ADD_OTHER}"
            ),
            7,
        ),
    ] {
        // Phases and steps have names of their own.
        let mut number = 0;
        let body: String = body
            .split_inclusive('\n')
            .map(|line| {
                number += 1;
                line.replace("@swap", &format!("@swap{number}")).replace("@add", &format!("@add{number}"))
            })
            .collect();
        let text = two_tiles("in", &body);
        let output = simulated(&package(&text), &input);
        assert_eq!(output, meant(&text, &input));
        // Both tiles hold the same, so every round doubles: 3.0 is 0x4200, and an exponent more a round.
        assert_eq!(output[6..8], (0x4200_u16 + 0x400 * rounds).to_le_bytes());
    }
}

/// The lowered example, changed after it was verified.
fn changed(change: impl Fn(&mut StepKind)) -> TileProgram {
    let mut program = program(&after(EXAMPLE, "lower-exchanges"));
    let steps = program.images.iter_mut().flat_map(|image| &mut image.steps).flatten();
    steps.for_each(|step| change(&mut step.kind));
    program
}

#[test]
fn steps_that_were_built_as_data_are_refused_where_they_have_no_code() {
    let refused = |change: fn(&mut StepKind)| emit(&mut changed(change)).expect_err("no code").code;
    let nowhere = |step: &mut StepKind| {
        if let StepKind::Exchange { row, .. } = step {
            *row = "nowhere".into();
        }
    };
    assert_eq!(refused(nowhere), EmitCode::Link);
    assert_eq!(refused(|step| *step = StepKind::Repeat { count: 0, body: 1..1 }), EmitCode::Step);
    let mut half_words = changed(|_| {});
    half_words.bindings[0].slices[0].bytes.0 = 2;
    assert_eq!(emit(&mut half_words).expect_err("the host moves words").code, EmitCode::HostExchange);
}

#[test]
fn a_package_is_built_of_code_that_has_an_encoding_and_bindings_of_words() {
    let steps = after(EXAMPLE, "lower-exchanges");
    let module = after(EXAMPLE, "lower-exchanges,emit-tile-code");
    let refused = |module: &Module, change: fn(&mut TileProgram)| {
        let mut program = program(module);
        change(&mut program);
        build(module, &program).expect_err("no package").code
    };
    assert_eq!(refused(&steps, |_| {}), BuildCode::NoCode);
    let far = |program: &mut TileProgram| {
        let far_delay = Instruction::Delay { events_minus_1: 1 << 19 };
        for section in program.images.iter_mut().flat_map(|image| &mut image.sections) {
            if let Body::Row(lines) = &mut section.body {
                lines.iter_mut().for_each(|line| line.code = Code::Instruction(far_delay));
            }
        }
    };
    assert_eq!(refused(&module, far), BuildCode::Encoding);
    assert_eq!(
        refused(&module, |program| program.bindings[0].slices[0].bytes.0 = 2),
        BuildCode::HostExchange
    );
}

#[test]
fn names_of_the_runtime_are_free_for_the_user() {
    let plain = package(&two_tiles("in", ADD_OTHER));
    let input = [halves(32), halves(32)].concat();
    for name in ["main", "start", "program", "complete", "host.follower", "main_2"] {
        let text = two_tiles(name, ADD_OTHER);
        let package = package(&text);
        assert_eq!(package.tiles, plain.tiles, "{name}");
        assert_eq!(simulated(&package, &input), meant(&text, &input), "{name}");
    }
    let module = after(&two_tiles("main", ADD_OTHER), "lower-exchanges,emit-tile-code");
    assert!(section_text(&module, 0, "program").contains("setzi m0, @main_2"));
}

/// What `emit-tile-code` says of a program of steps on all tiles, with a row at `row` and a binding slice at `slice`.
fn finding(row: u32, slice: u32) -> (String, RunFailure) {
    let text = format!(
        r#"tile.program @main {{
  tile.binding @x input (t) in (2) on t at 0x{slice:x} image 64*t bytes 64 : tensor<64xf16>
  tile.image on [0:1472] {{
    tile.row @phase at 0x{row:x} {{
      tile.br m10
    }}
    tile.steps {{
      tile.exchange_host inputs
      tile.exchange @phase idle
    }}
  }}
}}
"#
    );
    let mut module = parse("steps.ir", &text);
    let done = run(&mut module, "emit-tile-code");
    (done.diagnostics.render(&module.sources), done.failure.expect("refused"))
}

#[test]
fn code_that_has_no_room_is_refused_with_what_is_in_the_way() {
    let (text, failure) = finding(0x60000, 0x60020);
    assert_eq!(failure, RunFailure::CannotCompile);
    insta::assert_snapshot!(text);
    let (text, failure) = finding(0x7ff80, 0x64000);
    assert_eq!(failure, RunFailure::CannotCompile);
    insta::assert_snapshot!(text);
    let (text, failure) = finding(0x5c100, 0x64000);
    assert_eq!(failure, RunFailure::Input);
    insta::assert_snapshot!(text);
}
