//! Runs a module at the level of its `@main` and compares with its reference.

use std::time::Duration;

use ipu_device::hash::HashMap;
use ipu_device::package::{Binding, Package};
use ipu_dialects::case::{Case, Level, ResultVerdict};
use ipu_dialects::diagnostics::{Diagnostic, Diagnostics};
use ipu_dialects::exchange::meaning::{Timing, run_program};
use ipu_dialects::exchange::placed::spread_out;
use ipu_dialects::exchange::program::BindingKind;
use ipu_dialects::exchange::{self, Program};
use ipu_dialects::ir::{Module, Type};
use ipu_dialects::mapped::meaning::Shards;
use ipu_dialects::mapped::{MappedError, ShardedTensor};
use ipu_dialects::tensor_data::TensorData;
use ipu_dialects::tile::TileProgram;
use ipu_passes::build_package::build;
use ipu_passes::emit_tile_code;

use crate::exit::{DriverCode, Exit, Failure};
use crate::simulated::{DeviceCounts, DeviceUse, run_once};

/// What a run at one level gave.
#[derive(Debug)]
pub struct Execution {
    /// The level.
    pub level: Level,
    /// How the level was executed, in words.
    pub how: &'static str,
    /// The results.
    pub results: Vec<TensorData>,
    /// Comparison with the reference.
    pub verdicts: Vec<ResultVerdict>,
    /// What the simulator counted, and the time it took here, where it ran.
    pub device: Option<(DeviceCounts, Duration)>,
}

impl Execution {
    /// Whether every result is within tolerance.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.verdicts.iter().all(ResultVerdict::passed)
    }
}

/// Runs `case`, which was read from `module`, at its own level and compares with `reference`; `device` says how
/// a device is used, if one is.
///
/// # Errors
/// The program faults.
pub fn execute(
    module: &Module,
    case: &Case,
    reference: &[TensorData],
    device: DeviceUse,
) -> Result<Execution, Failure> {
    let (how, results) = match case.level {
        Level::Exchange => run_exchange(module, case)?,
        Level::Graph => ("reference arithmetic", run_meaning(module, case)?),
        Level::Mapped => ("storage of every shard", run_meaning(module, case)?),
        Level::Tile => {
            let package = package_of(module, case)?;
            return execute_package(module, case, &package, reference, device);
        }
    };
    let verdicts = case.verdicts(reference, &results);
    Ok(Execution { level: case.level, how, results, verdicts, device: None })
}

/// Runs `package`, which was built from the tile program of `module`, on the simulated device, used as `device` says.
///
/// # Errors
/// A fault of the program, at the program.
pub fn execute_package(
    module: &Module,
    case: &Case,
    package: &Package,
    reference: &[TensorData],
    device: DeviceUse,
) -> Result<Execution, Failure> {
    let misfit = |error: MappedError| failure(Exit::Input, error.at(module.span(case.entry)), module);
    let images = argument_images(case).map_err(misfit)?;
    let bytes = |_, binding: &Binding| images.get(binding.name.as_str()).cloned().unwrap_or_default();
    let run = run_once(package, device, &bytes).map_err(|error| {
        let (exit, code) = if error.is_program_fault() {
            (Exit::No, DriverCode::Fault)
        } else {
            (Exit::Input, DriverCode::Device)
        };
        let finding = Diagnostic::error(code, module.span(case.entry), error.to_string());
        failure(exit, finding.note(format!("reported as {}", error.code())), module)
    })?;
    let mut results = Vec::new();
    for result in &case.results {
        let at = package.outputs.iter().position(|output| output.name == result.name);
        let bytes = at.and_then(|at| run.outputs.get(at)).map_or(&[][..], Vec::as_slice);
        results.push(from_image(bytes, &result.ty).map_err(misfit)?);
    }
    let verdicts = case.verdicts(reference, &results);
    let how = "package on the simulated device";
    Ok(Execution { level: Level::Tile, how, results, verdicts, device: Some((run.counts, run.elapsed)) })
}

/// The package of the tile program of `module`.
///
/// # Errors
/// The program has no code or no package.
pub fn package_of(module: &Module, case: &Case) -> Result<Package, Failure> {
    let mut program = TileProgram::read(module, case.entry)
        .map_err(|findings| Failure::of(Exit::Input, findings, &module.sources))?;
    emit_tile_code::emit(&mut program).map_err(|error| failure(Exit::Input, error.at(module), module))?;
    build(module, &program).map_err(|error| failure(Exit::Input, error.at(module), module))
}

/// A failure of one finding about `module`.
#[must_use]
pub fn failure(exit: Exit, finding: Diagnostic, module: &Module) -> Failure {
    let mut diagnostics = Diagnostics::new();
    diagnostics.push(finding);
    Failure::of(exit, diagnostics, &module.sources)
}

fn run_meaning(module: &Module, case: &Case) -> Result<Vec<TensorData>, Failure> {
    case.run(module).map_err(|finding| failure(Exit::No, *finding, module))
}

/// Scheduled programs run through the event model, others all reads before all writes.
fn run_exchange(module: &Module, case: &Case) -> Result<(&'static str, Vec<TensorData>), Failure> {
    let program = Program::read(module, case.entry)
        .map_err(|findings| Failure::of(Exit::Input, findings, &module.sources))?;
    let (how, program, timing) = timed(program);
    let misfit = |error: MappedError| failure(Exit::Input, error.at(module.span(case.entry)), module);
    let images = binding_images(case, &program).map_err(misfit)?;
    let outputs = run_program(&program, &images, timing).map_err(|fault| {
        let finding = Diagnostic::error(fault.code, module.span(fault.op), fault.message.clone());
        failure(Exit::No, finding, module)
    })?;
    let mut results = Vec::new();
    for (binding, bytes) in program.bindings.iter().zip(outputs) {
        if binding.kind == BindingKind::Output {
            results.push(from_image(&bytes, &binding.ty).map_err(misfit)?);
        }
    }
    Ok((how, results))
}

/// How an exchange program is executed: by events where it is scheduled, at addresses of its own or, if it is not placed yet,
/// at any.
#[must_use]
pub fn timed(program: Program) -> (&'static str, Program, Timing) {
    if program.is_scheduled() && program.phases().count() > 0 {
        if program.is_placed() {
            return ("encoded rows through the event model", program, Timing::Events);
        }
        if let Some(spread) = spread_out(&program) {
            return ("rows through the event model, buffers anywhere", spread, Timing::EventsAnywhere);
        }
    }
    ("bytes between buffers", program, Timing::Bulk)
}

/// The image of each binding of `program` with the data of `case`; empty for outputs.
///
/// # Errors
/// Data does not suit the layout of its binding.
pub fn binding_images(case: &Case, program: &Program) -> Result<Vec<Vec<u8>>, MappedError> {
    let of_binding = |binding: &exchange::program::Binding| {
        let argument = case.arguments.iter().find(|argument| argument.name == binding.name);
        argument.map_or(Ok(Vec::new()), |argument| image(&argument.data, &binding.ty))
    };
    program.bindings.iter().map(of_binding).collect()
}

/// The image of each argument of `case` by name.
///
/// # Errors
/// Data does not suit the layout of its argument.
pub fn argument_images(case: &Case) -> Result<HashMap<&str, Vec<u8>>, MappedError> {
    let arguments = case.arguments.iter();
    arguments.map(|argument| Ok((argument.name.as_str(), image(&argument.data, &argument.ty)?))).collect()
}

/// The image of a tensor.
fn image(data: &TensorData, ty: &Type) -> Result<Vec<u8>, MappedError> {
    Ok(Shards::pack(ShardedTensor::of_type(ty)?, data)?.image())
}

/// The tensor with that image.
fn from_image(image: &[u8], ty: &Type) -> Result<TensorData, MappedError> {
    Shards::from_image(ShardedTensor::of_type(ty)?, image)?.unpack()
}
