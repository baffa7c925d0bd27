//! A package on the simulated device: through the runtime's own protocol, from open to the end of the program.

use ipu_device::package::{Binding, BindingKind, Package};
use ipu_device::runtime::{
    BootProgram, Configuration, Device, DeviceLock, RunInputs, RuntimeError, SimulatedTransport, run_package,
};
use ipu_device::simulator::{Simulator, SimulatorOptions, Statistics};

/// What a run gave.
#[derive(Debug)]
pub struct DeviceRun {
    /// The image of each output, in order of the package.
    pub outputs: Vec<Vec<u8>>,
    /// What the simulator counted.
    pub statistics: Statistics,
}

/// Runs `package` once. `image` gives the bytes of the binding of that kind and name, as long as the binding is.
///
/// # Errors
/// The device's own: no configuration, a fault of the program, a broken protocol.
pub fn run_once(
    package: &Package,
    lock: Option<DeviceLock>,
    image: &dyn Fn(BindingKind, &Binding) -> Vec<u8>,
) -> Result<DeviceRun, RuntimeError> {
    let bytes = |kind: BindingKind, bindings: &[Binding]| -> Vec<u8> {
        bindings.iter().flat_map(|binding| image(kind, binding)).collect()
    };
    let weights = bytes(BindingKind::Weight, &package.weights);
    let inputs = bytes(BindingKind::Input, &package.inputs);
    let simulator = Simulator::for_package(SimulatorOptions::default(), package);
    let mut device = Device::open(lock, || Ok(SimulatedTransport::new(simulator)))?;
    let configuration = Configuration::c600()?;
    let given = RunInputs { weights: &weights, invocations: &[&inputs] };
    let result = run_package(&mut device, package, &configuration, &BootProgram::stand_in(), given)?;
    let statistics = device.close().into_machine().statistics();
    let whole = result.invocations.into_iter().next().unwrap_or_default();
    let mut rest = whole.as_slice();
    let mut outputs = Vec::with_capacity(package.outputs.len());
    for output in &package.outputs {
        let length = usize::try_from(output.byte_length()).unwrap_or(usize::MAX).min(rest.len());
        let (own, after) = rest.split_at(length);
        outputs.push(own.to_vec());
        rest = after;
    }
    Ok(DeviceRun { outputs, statistics })
}
