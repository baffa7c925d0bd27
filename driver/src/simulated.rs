//! A package on the simulated device: through the runtime's own protocol, from open to the end of the program.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ipu_device::host_exchange::batches::{INITIALIZE, RUN};
use ipu_device::package::{Binding, BindingKind, Package};
use ipu_device::runtime::{
    BootProgram, Configuration, Device, DeviceLock, RunInputs, RuntimeError, SimulatedTransport, run_package,
};
use ipu_device::simulator::{Simulator, SimulatorOptions, Statistics, Storage, StorageMap};
use ipu_passes::build_package::{Record, StorageRecord};

/// What a run gave.
#[derive(Debug)]
pub struct DeviceRun {
    /// The image of each output, in order of the package.
    pub outputs: Vec<Vec<u8>>,
    /// What the simulator counted.
    pub counts: DeviceCounts,
    /// Time that opening, loading and running took here.
    pub elapsed: Duration,
}

/// What the simulator counted in a run of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceCounts {
    /// Cycles between the last host sync of the inputs and the first of the outputs: the last batch's words to their
    /// places, then every step of the program.
    pub body: u64,
    /// Cycles from start to end, host exchange included.
    pub total: u64,
    /// Of each exchange phase: cycles from its sync to the end of its last row.
    pub phases: Vec<u64>,
    /// Cycles of all tiles together.
    pub tile_cycles: u64,
}

impl DeviceCounts {
    fn of(package: &Package, statistics: &Statistics) -> Self {
        let calls = [INITIALIZE, RUN].map(|name| package.host_exchange.call(name));
        let batches: usize = calls.iter().flatten().map(|call| call.input_batch_ends.len()).sum();
        // One sync at start-up, then one before and one after each batch.
        let syncs = &statistics.host_syncs;
        let (last, next) = (syncs.get(2 * batches), syncs.get(2 * batches + 1));
        let end = next.map_or(statistics.cycles, |sync| sync.arrival);
        Self {
            body: last.map_or(0, |sync| end.0.saturating_sub(sync.release.0)),
            total: statistics.cycles.0,
            phases: statistics.phases.iter().map(|phase| phase.cycles.0).collect(),
            tile_cycles: statistics.tile_cycles,
        }
    }
}

/// How a device is used.
#[derive(Debug)]
pub struct DeviceUse {
    /// Held until the device is closed.
    pub lock: Option<DeviceLock>,
    /// Whether accesses are held to the buffers that the package says it has, and to their lifetimes.
    pub sanitize: bool,
}

impl Default for DeviceUse {
    fn default() -> Self {
        Self { lock: None, sanitize: true }
    }
}

/// Runs `package` once. `image` gives the bytes of the binding of that kind and name, as long as the binding is.
///
/// # Errors
/// The device's own: no configuration, a fault of the program, a broken protocol.
pub fn run_once(
    package: &Package,
    device: DeviceUse,
    image: &dyn Fn(BindingKind, &Binding) -> Vec<u8>,
) -> Result<DeviceRun, RuntimeError> {
    run_with(package, device, SimulatorOptions::default(), image)?.0
}

/// Runs `package` once with every word that exchanges write and the memory before each phase kept, and gives the device as
/// it stands afterwards, after a fault too.
///
/// # Errors
/// The device could not be opened; a fault of the program stands in the result.
pub fn run_observed(
    package: &Package,
    image: &dyn Fn(BindingKind, &Binding) -> Vec<u8>,
) -> Result<(Result<DeviceRun, RuntimeError>, Simulator), RuntimeError> {
    let options =
        SimulatorOptions { record_writes: true, record_memory: true, ..SimulatorOptions::default() };
    run_with(package, DeviceUse::default(), options, image)
}

fn run_with(
    package: &Package,
    DeviceUse { lock, sanitize }: DeviceUse,
    options: SimulatorOptions,
    image: &dyn Fn(BindingKind, &Binding) -> Vec<u8>,
) -> Result<(Result<DeviceRun, RuntimeError>, Simulator), RuntimeError> {
    let bytes = |kind: BindingKind, bindings: &[Binding]| -> Vec<u8> {
        bindings.iter().flat_map(|binding| image(kind, binding)).collect()
    };
    let weights = bytes(BindingKind::Weight, &package.weights);
    let inputs = bytes(BindingKind::Input, &package.inputs);
    let started = Instant::now();
    let mut simulator = Simulator::for_package(options, package);
    if sanitize {
        simulator.sanitize(storage_of(package));
    }
    let mut device = Device::open(lock, || Ok(SimulatedTransport::new(simulator)))?;
    let configuration = Configuration::c600()?;
    let given = RunInputs { weights: &weights, invocations: &[&inputs] };
    let result = run_package(&mut device, package, &configuration, &BootProgram::stand_in(), given);
    let simulator = device.close().into_machine();
    let run = result.map(|result| DeviceRun {
        outputs: split_outputs(package, &result.invocations.into_iter().next().unwrap_or_default()),
        counts: DeviceCounts::of(package, &simulator.statistics()),
        elapsed: started.elapsed(),
    });
    Ok((run, simulator))
}

/// Where the buffers of a package are, as its footer says.
fn storage_of(package: &Package) -> StorageMap {
    let mut map = StorageMap::default();
    let record = package.footer.as_ref().map(Record::read).unwrap_or_default();
    for storage in record.storage.iter().map(StorageRecord::storage) {
        let name: Arc<str> = storage.buffer.into();
        for tile in storage.tiles {
            let (name, live) = (Arc::clone(&name), storage.live.clone());
            map.add(tile.physical(), Storage { name, address: storage.address, size: storage.size, live });
        }
    }
    map
}

/// The image of each output of a call that gave `whole`.
fn split_outputs(package: &Package, whole: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = whole;
    let mut outputs = Vec::with_capacity(package.outputs.len());
    for output in &package.outputs {
        let length = usize::try_from(output.byte_length()).unwrap_or(usize::MAX).min(rest.len());
        let (own, after) = rest.split_at(length);
        outputs.push(own.to_vec());
        rest = after;
    }
    outputs
}
