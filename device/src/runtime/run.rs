//! The whole life of a run, the same on every transport.

use crate::host_exchange::batches::{INITIALIZE, RUN};
use crate::package::Package;

use super::boot_program::BootProgram;
use super::configuration::Configuration;
use super::device::Device;
use super::error::RuntimeError;
use super::transport::Transport;

/// What goes in. All bytes are in the order of the package's bindings, each in its tiles' storage order.
#[derive(Debug, Clone, Copy)]
pub struct RunInputs<'a> {
    /// The weights, one binding after another.
    pub weights: &'a [u8],
    /// The inputs of each invocation, one binding after another.
    pub invocations: &'a [&'a [u8]],
}

/// What comes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOutputs {
    /// The output bytes of each invocation, one transferred binding after another.
    pub invocations: Vec<Vec<u8>>,
}

/// Initialises an open device, loads `package`, makes its calls, and waits for the end of its program.
///
/// # Errors
/// The first step that fails.
pub fn run_package<T: Transport>(
    device: &mut Device<T>,
    package: &Package,
    configuration: &Configuration,
    boot: &BootProgram,
    inputs: RunInputs<'_>,
) -> Result<RunOutputs, RuntimeError> {
    device.initialise()?;
    device.replay(configuration)?;
    device.load(package, boot)?;
    let mut session = device.start_session(&package.host_exchange)?;
    if package.host_exchange.call(INITIALIZE).is_some() {
        session.call(INITIALIZE, inputs.weights)?;
    }
    let mut invocations = Vec::with_capacity(inputs.invocations.len());
    for input in inputs.invocations {
        invocations.push(session.call(RUN, input)?);
    }
    session.device().check_completion(package)?;
    Ok(RunOutputs { invocations })
}
