//! Whole packages from the building blocks of tile code: host input, an exchange phase, host output, on the simulated
//! device through the runtime's own protocol.

use std::sync::Arc;

use ipu_device::exchange::{ItemWidth, Receiver, Row, RowEncoding, TimelineBuilder, Transfer, encode_row};
use ipu_device::host_exchange::{HostPlan, TileHostPlan, plan_host_exchange};
use ipu_device::memory_map::{CODE_BASE, LOAD_BASE};
use ipu_device::package::{Binding, Footer, Package, RegionSlice, Segment, SegmentFlags, TileImage};
use ipu_device::runtime::{BootProgram, Configuration, Device, RunInputs, SimulatedTransport, run_package};
use ipu_device::simulator::{Simulator, SimulatorOptions};
use ipu_device::supervisor::{
    Assembler, WorkerSeeds, entry_words, host_calls, host_programs, host_tables, runtime,
};
use ipu_device::units::{Address, Bytes, LogicalTile, PhysicalTile, Words};

const INPUT: Address = Address(0x64000);
const RESULT: Address = Address(0x68000);
const ROW: Address = Address(0x60000);

/// Where the next program goes, and all symbols so far.
struct Linker {
    next: Address,
    symbols: std::collections::BTreeMap<String, Address>,
    segments: Vec<Segment>,
}

impl Linker {
    fn place(&mut self, program: &Assembler, flags: SegmentFlags) {
        let linked = program.link(self.next, |name| self.symbols.get(name).copied()).expect("links");
        self.symbols.extend(linked.symbols);
        self.put(self.next, &linked.words, flags);
        self.next = Address((self.next.0 + program.size().0).next_multiple_of(8));
    }

    fn put(&mut self, address: Address, words: &[u32], flags: SegmentFlags) {
        let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.segments.push(Segment { address, size: Bytes(data.len() as u32), flags, data: data.into() });
    }
}

/// The image of a tile: runtime, host code, and a program of input, one phase, output.
fn image(
    plan: &HostPlan,
    tile: PhysicalTile,
    row: Option<&Row>,
    seeds: WorkerSeeds,
    rounds: u32,
) -> Arc<[Segment]> {
    let host = TileHostPlan::new(plan, tile).expect("fits");
    let runtime = runtime(seeds);
    // The runtime jumps to the program, which follows the code before it.
    let (programs, tables) = (host_programs(&host), host_tables(&host));
    let size = |program: &Assembler| program.size().0.next_multiple_of(8);
    let program = Address(CODE_BASE.0 + size(&runtime) + size(&programs) + size(&tables));
    let mut linker =
        Linker { next: CODE_BASE, symbols: [("program".to_owned(), program)].into(), segments: vec![] };
    linker.place(&runtime, SegmentFlags::CODE);
    linker.place(&programs, SegmentFlags::CODE);
    linker.place(&tables, SegmentFlags::TABLE);
    linker.symbols.insert("row".to_owned(), ROW);
    let mut code = Assembler::new();
    host_calls(&mut code, &host, "weights");
    let repeat = code.begin_repeat(rounds, &[]);
    host_calls(&mut code, &host, "inputs");
    match row {
        Some(_) => code.exchange_active("row", Address(0)),
        None => code.exchange_inactive("row"),
    }
    host_calls(&mut code, &host, "outputs");
    code.end_repeat(repeat, &[]);
    code.finish();
    assert_eq!(linker.next, program);
    linker.place(&code, SegmentFlags::CODE);
    linker.put(ROW, &row.cloned().unwrap_or_else(Row::idle).words().expect("fits"), SegmentFlags::CODE);
    linker.put(LOAD_BASE, &entry_words(linker.symbols["start"]).expect("fits"), SegmentFlags::CODE);
    linker.segments.sort_by_key(|segment| segment.address);
    linker.segments.into()
}

fn binding(name: &str, slices: &[(PhysicalTile, Address, u64)]) -> Binding {
    let mut file_offset = 0;
    let mut slice = |&(tile, address, size): &(PhysicalTile, Address, u64)| {
        let slice = RegionSlice { tile, address, file_offset, size };
        file_offset += size;
        slice
    };
    Binding { name: name.to_owned(), slices: slices.iter().map(&mut slice).collect(), ..Binding::default() }
}

/// `sender` receives its bytes from the host and sends them to all receivers, which give them back to the host.
fn broadcast(
    sender: LogicalTile,
    receivers: &[LogicalTile],
    size: u32,
    seeds: WorkerSeeds,
    rounds: u32,
) -> Package {
    let inputs = vec![binding("x", &[(sender.physical(), INPUT, size.into())])];
    let slices: Vec<_> = receivers.iter().map(|tile| (tile.physical(), RESULT, u64::from(size))).collect();
    let outputs = vec![binding("y", &slices)];
    let plan = plan_host_exchange(&[], &inputs, &outputs).expect("legal");
    let words = Words(size / 4);
    let tiles = receivers.iter().map(|tile| tile.physical());
    let transfer = Transfer {
        source: sender.physical(),
        start: ipu_device::exchange::routes::earliest_start(sender.physical(), tiles.clone()),
        words,
        source_address: INPUT,
        width: ItemWidth::Word32,
        receivers: tiles.map(|tile| Receiver::whole(tile, RESULT, words)).collect(),
    };
    let mut builder = TimelineBuilder::new();
    builder.add(&transfer);
    let timelines = builder.finish().expect("a legal phase");
    let mut package = Package { inputs, outputs, host_exchange: plan.host_exchange(), ..Package::default() };
    // Tiles that do nothing share one image.
    let mut follower = None;
    for tile in (0..1472).map(PhysicalTile) {
        let timeline = timelines.iter().find(|timeline| timeline.tile == tile);
        let row = timeline.map(|timeline| encode_row(timeline, RowEncoding::Compact).expect("encodable"));
        let idle = row.is_none() && TileHostPlan::new(&plan, tile).expect("fits").is_follower();
        let segments = match (&follower, idle) {
            (Some(shared), true) => Arc::clone(shared),
            _ => image(&plan, tile, row.as_ref(), seeds, rounds),
        };
        if idle {
            follower = Some(Arc::clone(&segments));
        }
        package.tiles.push(TileImage::new(tile, segments));
    }
    package.footer = Some(Footer::default());
    package
}

/// Runs a package; gives the outputs of each invocation and the number of classes simulated.
fn run(package: &Package, inputs: &[&[u8]]) -> (Vec<Vec<u8>>, u32) {
    let simulator = Simulator::for_package(SimulatorOptions::default(), package);
    let mut device = Device::open(None, || Ok(SimulatedTransport::new(simulator))).expect("opens");
    let configuration = Configuration::c600().expect("recorded");
    let inputs = RunInputs { weights: &[], invocations: inputs };
    let outputs = run_package(&mut device, package, &configuration, &BootProgram::stand_in(), inputs)
        .unwrap_or_else(|error| panic!("{error}"));
    (outputs.invocations, device.close().into_machine().statistics().classes)
}

fn bytes(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 31 + index / 256 + seed) as u8).collect()
}

#[test]
fn bytes_go_from_the_host_through_an_exchange_and_back() {
    let receivers = [LogicalTile(2), LogicalTile(1286), LogicalTile(736)];
    // More than a page, and a length that needs long and short packets.
    for size in [4, 300, 4092, 5000] {
        let package = broadcast(LogicalTile(0), &receivers, size, WorkerSeeds::Reset, 1);
        let input = bytes(size as usize, 0);
        let (outputs, classes) = run(&package, &[&input]);
        assert_eq!(outputs, [input.repeat(3)], "{size} bytes");
        assert!(classes < 40, "idle tiles are simulated once, not as {classes} classes");
    }
}

#[test]
fn a_program_runs_as_often_as_it_was_built_for() {
    let package = broadcast(LogicalTile(5), &[LogicalTile(90)], 256, WorkerSeeds::Reset, 3);
    let inputs = [bytes(256, 1), bytes(256, 2), bytes(256, 3)];
    let (outputs, _) = run(&package, &inputs.each_ref().map(Vec::as_slice));
    assert_eq!(outputs, inputs);
}

#[test]
fn start_up_with_seeds_for_all_workers_runs() {
    let package = broadcast(LogicalTile(3), &[LogicalTile(2)], 64, WorkerSeeds::PerTile, 1);
    let input = bytes(64, 9);
    assert_eq!(run(&package, &[&input]).0, [input]);
}
