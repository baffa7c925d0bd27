//! A package of real tile programs, written to bytes and read back, runs through the whole host protocol.

use std::sync::Arc;

use ipu_device::host_exchange::{
    Batch, CallGroup, Descriptor, HostPlan, TileHostPlan, batch_program, plan_host_exchange,
};
use ipu_device::isa::{Instruction, Register, encode_all};
use ipu_device::memory_map::{COMPLETION_WORD, HOST_STAGING, HOST_WINDOW, LOAD_BASE};
use ipu_device::package::{Binding, Footer, Package, RegionSlice, Segment, SegmentFlags, TileImage};
use ipu_device::runtime::{
    BootProgram, Configuration, Device, RunInputs, RuntimeError, SimulatedTransport, run_package,
};
use ipu_device::simulator::{Simulator, SimulatorOptions};
use ipu_device::{Address, Bytes, PhysicalTile};

const WEIGHTS: Address = Address(0x64000);
const DATA: Address = Address(0x60000);
const TABLES: Address = Address(0x5c000);
/// A column's owner that is a target itself, two targets of one owner, and a target in the last row.
const TILES: [(u16, u64); 4] = [(0, 512), (69, 300), (5 + 128, 4), (1471, 64)];
const INVOCATIONS: usize = 2;

fn binding(name: &str, address: Address) -> Binding {
    let mut file_offset = 0;
    let slices = TILES.map(|(tile, size)| {
        let slice = RegionSlice { tile: PhysicalTile(tile), address, file_offset, size };
        file_offset += size;
        slice
    });
    Binding { name: name.to_owned(), dtype: "u8".to_owned(), shape: vec![880], slices: slices.to_vec() }
}

fn copy(from: Address, to: Address, words: usize) -> Vec<Instruction> {
    let mut code = vec![
        Instruction::Setzi { destination: Register::M3, value: from.0 },
        Instruction::Setzi { destination: Register::M4, value: to.0 },
    ];
    for offset in 0..words as u32 {
        let (value, delta) = (Register::M0, Register::M15);
        code.push(Instruction::Ld32 { destination: value, base: Register::M3, delta, offset });
        code.push(Instruction::St32 { source: value, base: Register::M4, delta, offset });
    }
    code
}

/// The tile's program, batch after batch without a runner, and its packet tables.
fn program(plan: &HostPlan, tile: PhysicalTile) -> (Vec<Instruction>, Vec<u32>) {
    let own = TileHostPlan::new(plan, tile).unwrap();
    let mut starts = Vec::new();
    let mut tables = Vec::new();
    for table in &own.packet_tables {
        starts.push(Address(TABLES.0 + 4 * tables.len() as u32));
        tables.extend_from_slice(table);
    }
    let mut code = vec![Instruction::Sync { zone: 7 }];
    let mut call = |batches: &[Batch], groups: &[CallGroup]| {
        let mut descriptors = groups.iter().flat_map(|group| match group {
            CallGroup::Active { descriptors, .. } => descriptors.iter().copied().map(Some).collect(),
            CallGroup::Follow { count } => vec![None::<Descriptor>; *count as usize],
        });
        for batch in batches {
            let descriptor = descriptors.next().unwrap();
            if let Some(own) = descriptor {
                let place = Address(HOST_WINDOW.0 + if own.owner { 0 } else { 8 });
                code.extend(copy(starts[own.packet_table], place, own.packet_words.0 as usize));
            }
            let mut body = batch_program(batch, tile);
            assert!(matches!(body.pop(), Some(Instruction::Br { .. })));
            code.extend(body);
            if let Some(own) = descriptor.filter(|own| own.copy_words.0 > 0) {
                code.extend(copy(HOST_STAGING, own.destination, own.copy_words.0 as usize));
            }
        }
    };
    call(&plan.weights, &own.weights);
    for _ in 0..INVOCATIONS {
        call(&plan.inputs, &own.inputs);
        call(&plan.outputs, &own.outputs);
    }
    code.extend([
        Instruction::Setzi { destination: Register::M0, value: 1 },
        Instruction::Setzi { destination: Register::M1, value: COMPLETION_WORD.0 },
        Instruction::St32 { source: Register::M0, base: Register::M1, delta: Register::M15, offset: 0 },
        Instruction::Br { target: Register::M15 },
    ]);
    (code, tables)
}

fn segment(address: Address, words: &[u32], flags: SegmentFlags) -> Segment {
    let data: Arc<[u8]> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    Segment { address, size: Bytes(data.len() as u32), flags, data }
}

/// Weights stay in the tiles and are given back as the first output; each input is given back as the second.
fn echo() -> Package {
    let (weights, inputs) = (vec![binding("w", WEIGHTS)], vec![binding("x", DATA)]);
    let outputs = vec![binding("output.0", WEIGHTS), binding("output.1", DATA)];
    let plan = plan_host_exchange(&weights, &inputs, &outputs).unwrap();
    let mut images: Vec<Arc<[Segment]>> = Vec::new();
    let tiles = (0..1472).map(PhysicalTile).map(|tile| {
        let (code, tables) = program(&plan, tile);
        let mut segments = vec![segment(LOAD_BASE, &encode_all(&code).unwrap(), SegmentFlags::CODE)];
        if !tables.is_empty() {
            segments.push(segment(TABLES, &tables, SegmentFlags::TABLE));
        }
        let known = images.iter().find(|known| known[..] == segments[..]).cloned();
        TileImage::new(
            tile,
            known.unwrap_or_else(|| {
                images.push(segments.into());
                images[images.len() - 1].clone()
            }),
        )
    });
    Package {
        tiles: tiles.collect(),
        host_exchange: plan.host_exchange(),
        weights,
        inputs,
        outputs,
        footer: Some(Footer::default()),
        ..Package::default()
    }
}

fn run(package: &Package, weights: &[u8], inputs: &[&[u8]]) -> Result<Vec<Vec<u8>>, RuntimeError> {
    let simulator = Simulator::for_package(SimulatorOptions::default(), package);
    let mut device = Device::open(None, || Ok(SimulatedTransport::new(simulator)))?;
    let (configuration, boot) = (Configuration::c600()?, BootProgram::stand_in());
    let inputs = RunInputs { weights, invocations: inputs };
    Ok(run_package(&mut device, package, &configuration, &boot, inputs)?.invocations)
}

#[test]
fn bytes_go_through_a_written_package_and_come_back() {
    let package = Package::from_bytes(&echo().to_bytes().unwrap()).unwrap();
    let calls: Vec<_> =
        package.host_exchange.calls.iter().map(|call| (call.name.as_str(), call.phases)).collect();
    assert_eq!(calls, [("initialize", 2), ("run", 5)]);
    let bytes = |seed: u8| -> Vec<u8> { (0..880_u32).map(|k| (k as u8).wrapping_mul(7) ^ seed).collect() };
    let (weights, first, second) = (bytes(1), bytes(50), bytes(200));
    let outputs = run(&package, &weights, &[&first, &second]).unwrap();
    assert_eq!(outputs, [[weights.clone(), first].concat(), [weights, second].concat()]);
}

#[test]
fn a_host_that_asks_for_more_or_less_than_the_program_is_told_so() {
    let package = echo();
    let bytes = vec![0; 880];
    let more = run(&package, &bytes, &[&bytes, &bytes, &bytes]).unwrap_err();
    assert_eq!(more.code(), "D0359", "{more}");
    let less = run(&package, &bytes, &[&bytes]).unwrap_err();
    assert_eq!(less.code(), "D0360", "{less}");
    assert!(less.to_string().contains("1472 active"), "{less}");
}
