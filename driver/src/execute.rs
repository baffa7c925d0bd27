//! Runs a module at the level of its `@main` and compares with its reference.

use ipu_dialects::case::{Case, Level, ResultVerdict};
use ipu_dialects::diagnostics::{Diagnostic, Diagnostics};
use ipu_dialects::exchange::Program;
use ipu_dialects::exchange::meaning::{Timing, run_program};
use ipu_dialects::exchange::program::BindingKind;
use ipu_dialects::ir::Module;
use ipu_dialects::mapped::meaning::Shards;
use ipu_dialects::mapped::{MappedError, ShardedTensor};
use ipu_dialects::tensor_data::TensorData;

use crate::exit::{DriverCode, Exit, Failure};

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
}

impl Execution {
    /// Whether every result is within tolerance.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.verdicts.iter().all(ResultVerdict::passed)
    }
}

/// Runs `case`, which was read from `module`, at its own level.
///
/// # Errors
/// The program faults, or there is nothing to compare with.
pub fn execute(module: &Module, case: &Case) -> Result<Execution, Failure> {
    let (how, results) = match case.level {
        Level::Exchange => run_exchange(module, case)?,
        Level::Graph => ("reference arithmetic", run_meaning(module, case)?),
        Level::Mapped | Level::Tile => ("storage of every shard", run_meaning(module, case)?),
    };
    let reference = case.reference(module).map_err(|finding| failure(Exit::Input, *finding, module))?;
    let verdicts = case.verdicts(&reference, &results);
    Ok(Execution { level: case.level, how, results, verdicts })
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

/// Scheduled and placed programs run through the event model, others all reads before all writes.
fn run_exchange(module: &Module, case: &Case) -> Result<(&'static str, Vec<TensorData>), Failure> {
    let program = Program::read(module, case.entry)
        .map_err(|findings| Failure::of(Exit::Input, findings, &module.sources))?;
    let (how, timing) = if program.is_scheduled() && program.is_placed() {
        ("encoded rows through the event model", Timing::Events)
    } else {
        ("bytes between buffers", Timing::Bulk)
    };
    let mut images = Vec::new();
    for binding in &program.bindings {
        let argument = case.arguments.iter().find(|argument| argument.name == binding.name);
        images.push(match argument {
            Some(argument) => image(&argument.data, &binding.ty, module, case)?,
            None => Vec::new(),
        });
    }
    let outputs = run_program(&program, &images, timing).map_err(|fault| {
        let finding = Diagnostic::error(fault.code, module.span(fault.op), fault.message.clone());
        failure(Exit::No, finding, module)
    })?;
    let mut results = Vec::new();
    for (binding, bytes) in program.bindings.iter().zip(outputs) {
        if binding.kind == BindingKind::Output {
            results.push(from_image(&bytes, &binding.ty, module, case)?);
        }
    }
    Ok((how, results))
}

fn mapped_failure(error: MappedError, module: &Module, case: &Case) -> Failure {
    failure(Exit::Input, error.at(module.span(case.entry)), module)
}

fn layout_failure(message: impl std::fmt::Display, module: &Module, case: &Case) -> Failure {
    let finding = Diagnostic::error(DriverCode::NothingToRun, module.span(case.entry), message.to_string());
    failure(Exit::Input, finding, module)
}

/// The image of a tensor: its distinct shards in shard order.
fn image(
    data: &TensorData,
    ty: &ipu_dialects::ir::Type,
    module: &Module,
    case: &Case,
) -> Result<Vec<u8>, Failure> {
    let tensor = ShardedTensor::of_type(ty).map_err(|error| mapped_failure(error, module, case))?;
    let shards = Shards::pack(tensor, data).map_err(|error| mapped_failure(error, module, case))?;
    Ok(shards.image())
}

/// The tensor whose image is `bytes`.
fn from_image(
    bytes: &[u8],
    ty: &ipu_dialects::ir::Type,
    module: &Module,
    case: &Case,
) -> Result<TensorData, Failure> {
    let tensor = ShardedTensor::of_type(ty).map_err(|error| mapped_failure(error, module, case))?;
    let placement = &tensor.placement;
    let replicas = placement.layout().replicas.count();
    let mut at = 0;
    let mut shards: Vec<&[u8]> = Vec::new();
    for shard in 0..placement.shard_count() {
        let length = placement.shard_bytes(shard).0 as usize;
        let Some(range) = bytes.get(at..at + length) else {
            return Err(layout_failure("an output image is shorter than its layout", module, case));
        };
        shards.push(range);
        if (shard + 1) % replicas.max(1) == 0 {
            at += length;
        }
    }
    let whole = placement.unpack(&shards).map_err(|error| layout_failure(error, module, case))?;
    let shape = placement.shape().map(u64::from).collect();
    Ok(TensorData { shape, element: tensor.element, bytes: whole })
}
