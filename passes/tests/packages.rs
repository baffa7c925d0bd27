//! Packages: built and lifted without loss, run on the simulated device with the results of the exchange level, and refused
//! when damaged.

use std::sync::Arc;

use crate::pass_runs::{parse, printed, run};
use ipu_device::package::{Footer, Package, Segment, SegmentFlags, TileImage};
use ipu_device::runtime::{BootProgram, Configuration, Device, RunInputs, SimulatedTransport, run_package};
use ipu_device::simulator::{Simulator, SimulatorOptions};
use ipu_device::{Address, Bytes, PhysicalTile};
use ipu_dialects::exchange::Program;
use ipu_dialects::exchange::meaning::{Timing, image_bytes, run_program};
use ipu_dialects::exchange::program::BindingKind;
use ipu_dialects::ir::{Module, Name, Origin};
use ipu_dialects::tile::{Body, Code, TileProgram};
use ipu_passes::build_package::build;
use ipu_passes::lift_package::{self, left_out, lift};
use ipu_passes::manager::state::main_program;

const EXAMPLE: &str = include_str!("../../test-ir/example/gemm-exchange.ir");
const TO_CODE: &str = "lower-exchanges,emit-tile-code";

/// The module of the example after `pipeline`.
fn after(pipeline: &str) -> Module {
    let mut module = parse("example.ir", EXAMPLE);
    let done = run(&mut module, pipeline);
    assert_eq!(done.diagnostics.render(&module.sources), "");
    module
}

fn build_of(module: &Module) -> Package {
    let op = main_program(module).expect("a program");
    let program = TileProgram::read(module, op).expect("reads");
    build(module, &program).expect("builds")
}

fn example() -> Package {
    build_of(&after(TO_CODE))
}

/// Lifts, prints, parses and builds.
fn through_text(package: &Package) -> Package {
    let module = lift_package::module(package).expect("lifts");
    build_of(&parse("lifted.ir", &printed(&module)))
}

fn bytes(length: usize, seed: usize) -> Vec<u8> {
    // Finite numbers in any format: no exponent is all ones.
    (0..length).map(|index| ((index * 37 + index / 256 + seed) % 59) as u8).collect()
}

#[test]
fn a_lifted_package_is_the_text_it_was_built_from_and_builds_to_the_same_bytes() {
    let module = after(TO_CODE);
    let file = build_of(&module).to_bytes().expect("writes");
    let package = Package::from_bytes(&file).expect("reads");
    let lifted = lift_package::module(&package).expect("lifts");
    assert_eq!(printed(&lifted), printed(&module));
    assert_eq!(build_of(&lifted).to_bytes().expect("writes"), file);
    assert_eq!(through_text(&package).to_bytes().expect("writes"), file);
    let program = lift(&package).expect("lifts");
    assert_eq!(left_out(&package, &program), Vec::<String>::new());
}

#[test]
fn the_command_that_made_a_package_is_an_attribute_of_its_program() {
    let mut package = example();
    let footer = package.footer.as_mut().expect("a footer");
    footer.command = vec!["ipu".to_owned(), "compile".to_owned(), "a \"b\".ir".to_owned()];
    let again = through_text(&package);
    assert_eq!(again.to_bytes(), package.to_bytes());
}

#[test]
fn what_sections_were_made_for_survives_in_the_footer() {
    let mut module = after("lower-exchanges");
    let program = main_program(&module).expect("a program");
    let ops: Vec<_> = module.walk(program).collect();
    for op in ops {
        let name = module.symbol_name(op).map(str::to_owned);
        if let Some(name) = name.filter(|name| name == "gather" || name.starts_with("gemm")) {
            module.set_origin(op, Some(Origin::new(&format!("main/{name}"), vec![Name::of("select-plans")])));
        }
    }
    let done = run(&mut module, "emit-tile-code");
    assert_eq!(done.diagnostics.render(&module.sources), "");
    let package = build_of(&module);
    let lifted = lift_package::module(&package).expect("lifts");
    let origins = |wanted: &str| {
        let program = main_program(&lifted).expect("a program");
        let named = lifted.walk(program).filter(|&op| lifted.symbol_name(op) == Some(wanted));
        named.map(|op| lifted.origin(op).cloned()).collect::<Vec<_>>()
    };
    let gather = Origin::new("main/gather", vec![Name::of("select-plans"), Name::of("emit-tile-code")]);
    assert_eq!(origins("gather"), vec![Some(gather); 5]);
    assert_eq!(origins("gemm_f143_f16_k32_c16_r16").len(), 1);
    assert!(origins("gemm_f143_f16_k32_c16_r16")[0].is_some());
    assert_eq!(build_of(&lifted).to_bytes(), package.to_bytes());
}

#[test]
fn a_package_without_our_names_lifts_to_the_same_images() {
    let mut package = example();
    package.footer = None;
    let again = through_text(&package);
    let program = lift(&package).expect("lifts");
    assert_eq!(program.kernels.len(), 4, "debug symbols name kernels");
    let names: Vec<&str> = program.images[0].sections.iter().map(|section| &*section.symbol).collect();
    assert!(names.contains(&"code_5c130"), "{names:?}");
    assert_eq!((&again.tiles, &again.inputs, &again.outputs, &again.weights), {
        (&package.tiles, &package.inputs, &package.outputs, &package.weights)
    });
    assert_eq!(
        (&again.host_exchange, &again.debug_symbols),
        (&package.host_exchange, &package.debug_symbols)
    );

    package.debug_symbols.clear();
    let program = lift(&package).expect("lifts");
    assert!(program.kernels.is_empty());
    assert_eq!(&*program.common[0].symbol, "code_4c010");
    assert_eq!(through_text(&package).tiles, package.tiles);
}

/// A sequence of numbers that looks random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}

#[test]
fn segments_with_anything_in_them_lift_to_the_same_images() {
    let mut numbers = Numbers(0x1234_5678_9abc_def1);
    for _ in 0..20 {
        let mut images: Vec<Arc<[Segment]>> = Vec::new();
        for _ in 0..3 {
            let mut segments = vec![segment(&mut numbers, 0x4c010, SegmentFlags::CODE)];
            for place in 0..6 {
                let start = 0x5c000 + 0x400 * place + 4 * numbers.below(8) as u32;
                let flags = [SegmentFlags::CODE, SegmentFlags::TABLE, SegmentFlags::DATA, SegmentFlags(0x15)];
                let flags = flags[numbers.below(flags.len())];
                segments.push(segment(&mut numbers, start, flags));
            }
            images.push(segments.into());
        }
        let image =
            |tile: u16| TileImage::new(PhysicalTile(tile), Arc::clone(&images[usize::from(tile % 3)]));
        let package = Package { tiles: (0..1472).map(image).collect(), ..Package::default() };
        assert_eq!(through_text(&package).tiles, package.tiles);
    }
}

/// Words of instructions, words of anything, and sizes that are not whole words where that can be.
fn segment(numbers: &mut Numbers, start: u32, flags: SegmentFlags) -> Segment {
    let known = [0x43a0_0000, 0x1905_c000, 0x1871_7040, 0x40a0_001a, 0x7aec_0401, 0x77f9_9040, 0x4180_0003];
    let mut data = Vec::new();
    for _ in 0..numbers.below(30) {
        let word = match numbers.below(3) {
            0 => known[numbers.below(known.len())],
            1 => numbers.0 as u32,
            _ => (numbers.0 >> 32) as u32 & 0x7fff_ffff,
        };
        data.extend(word.to_le_bytes());
    }
    let more = if flags == SegmentFlags::CODE { 0 } else { numbers.below(9) };
    let short = if flags == SegmentFlags::CODE { 0 } else { numbers.below(3).min(data.len()) };
    data.truncate(data.len() - short);
    let size = Bytes((data.len() + short + more) as u32);
    Segment { address: Address(start), size, flags, data: data.into() }
}

#[test]
fn damaged_packages_are_refused_and_what_reads_as_foreign_lifts_or_says_why() {
    let file = example().to_bytes().expect("writes");
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for case in 0..200 {
        let mut damaged = file.clone();
        let at = numbers.below(file.len());
        if case % 2 == 0 {
            damaged.truncate(at);
        } else {
            damaged[at] ^= 1 << numbers.below(8);
        }
        assert!(Package::from_bytes(&damaged).is_err(), "case {case}: byte {at}");
        if let Ok(package) = Package::from_foreign_bytes(&damaged) {
            let _ = lift_package::module(&package);
        }
    }
}

#[test]
fn packages_that_cannot_be_loaded_are_refused() {
    let mut package = example();
    package.tiles.pop();
    let error = lift(&package).expect_err("1,471 tiles");
    assert_eq!(
        error.to_string(),
        "package cannot be lifted: package cannot be loaded: tiles: 1471 tiles, but a device has 1472"
    );
    let mut module = Module::new();
    let done = run(&mut module, "lift-package");
    insta::assert_snapshot!(done.diagnostics.render(&module.sources));
    // Instructions where no instruction can be executed.
    let mut package = example();
    let mut segments = package.tiles[3].segments.to_vec();
    let data = vec![0; 8].into();
    segments.push(Segment { address: Address(0x90000), size: Bytes(8), flags: SegmentFlags::CODE, data });
    package.tiles[3].segments = segments.into();
    insta::assert_snapshot!(lift_package::module(&package).expect_err("code up there"));
}

#[test]
fn a_footer_that_lies_is_refused_or_ignored() {
    let text = |package: &Package| lift_package::module(package).expect_err("refused").to_string();
    let mut package = example();
    let change = |package: &mut Package, change: &dyn Fn(&mut Footer)| {
        change(package.footer.as_mut().expect("a footer"));
    };
    change(&mut package, &|footer| footer.origins["rest"] = "graph.func @reference( {".into());
    assert!(text(&package).starts_with("footer of the package cannot be read: the rest of the file"));
    let mut package = example();
    change(&mut package, &|footer| {
        footer.origins["attributes"] = serde_json::json!([["ipu.x", "#ipu.nothing"]]);
    });
    assert!(
        text(&package).starts_with("footer of the package cannot be read: `#ipu.nothing` is no attribute")
    );
    // An attribute that the op has already.
    let mut package = example();
    change(&mut package, &|footer| {
        let bindings = footer.binding_layouts.values_mut();
        bindings.for_each(|binding| binding["attributes"] = serde_json::json!([["kind", "unit"]]));
    });
    let twice = "footer of the package cannot be read: attribute `kind` is given twice, here as `unit`";
    assert_eq!(text(&package), twice);
    // A kernel without a name has the one that it would have without the footer.
    let mut package = example();
    change(&mut package, &|footer| {
        let segments = footer.origins["segments"][0].as_array_mut().expect("a list");
        let kernel = segments.iter_mut().find(|segment| segment["kind"] == "kernel").expect("a kernel");
        kernel["name"] = "".into();
    });
    assert_eq!(through_text(&package).tiles, package.tiles);
    // Two sections of one name.
    let mut package = example();
    change(&mut package, &|footer| footer.origins["segments"][0][1]["name"] = "main".into());
    assert!(text(&package).starts_with("package has no form as a tile program"), "{}", text(&package));
    let mut package = example();
    change(&mut package, &|footer| footer.origins = serde_json::json!({"images": "none"}));
    assert_eq!(through_text(&package).tiles, package.tiles);
}

/// The outputs of one invocation on the simulated device.
fn simulated(package: &Package, weights: &[u8], inputs: &[u8]) -> Vec<u8> {
    let simulator = Simulator::for_package(SimulatorOptions::default(), package);
    let mut device = Device::open(None, || Ok(SimulatedTransport::new(simulator))).expect("opens");
    let configuration = Configuration::c600().expect("recorded");
    let inputs = RunInputs { weights, invocations: &[inputs] };
    let outputs = run_package(&mut device, package, &configuration, &BootProgram::stand_in(), inputs)
        .unwrap_or_else(|error| panic!("{error}"));
    outputs.invocations.concat()
}

#[test]
fn a_package_gives_the_bytes_of_the_exchange_level() {
    let module = parse("example.ir", EXAMPLE);
    let program = Program::read(&module, main_program(&module).expect("a program")).expect("reads");
    let images: Vec<Vec<u8>> =
        (0..program.bindings.len()).map(|at| bytes(image_bytes(&program, at) as usize, at)).collect();
    let expected = run_program(&program, &images, Timing::Bulk).expect("runs").concat();
    let of_kind = |kind| {
        let bindings = program.bindings.iter().zip(&images);
        bindings
            .filter(|(binding, _)| binding.kind == kind)
            .flat_map(|(_, image)| image.clone())
            .collect::<Vec<_>>()
    };
    let (weights, inputs) = (of_kind(BindingKind::Weight), of_kind(BindingKind::Input));
    assert!(expected.iter().any(|&byte| byte != 0));
    let package = example();
    assert_eq!(simulated(&package, &weights, &inputs), expected);
    // A package whose kernels and code were lifted without names is the same program.
    let nameless = Package { footer: None, ..package };
    assert_eq!(simulated(&through_text(&nameless), &weights, &inputs), expected);
}

#[test]
fn tiles_with_equal_contents_are_one_allocation() {
    let package = example();
    let idle = &package.tiles[100].segments;
    let shared = package.tiles.iter().filter(|image| Arc::ptr_eq(&image.segments, idle)).count();
    assert_eq!(shared, 1468);
}

#[test]
fn every_word_of_our_code_is_an_instruction() {
    let program = lift(&example()).expect("lifts");
    let own = program.images.iter().flat_map(|image| &image.sections);
    for section in program.common.iter().chain(own) {
        let words = section.lines().iter().filter(|line| matches!(line.code, Code::Word(_))).count();
        assert_eq!(words, 0, "`@{}`", section.symbol);
        assert!(!matches!(section.body, Body::Data(_)) || section.symbol.starts_with("host."));
    }
}
