//! Runs a module at the level of its `@main` and compares with its reference.

use ipu_dialects::case::{Case, Level, ResultVerdict};
use ipu_dialects::diagnostics::{Diagnostic, Diagnostics};
use ipu_dialects::exchange::Program;
use ipu_dialects::exchange::meaning::{Timing, run_program};
use ipu_dialects::exchange::program::BindingKind;
use ipu_dialects::ir::{Module, Type};
use ipu_dialects::mapped::meaning::Shards;
use ipu_dialects::mapped::{MappedError, ShardedTensor};
use ipu_dialects::tensor_data::TensorData;

use crate::exit::{Exit, Failure};

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

/// Runs `case`, which was read from `module`, at its own level and compares with `reference`.
///
/// # Errors
/// The program faults.
pub fn execute(module: &Module, case: &Case, reference: &[TensorData]) -> Result<Execution, Failure> {
    let (how, results) = match case.level {
        Level::Exchange => run_exchange(module, case)?,
        Level::Graph => ("reference arithmetic", run_meaning(module, case)?),
        Level::Mapped | Level::Tile => ("storage of every shard", run_meaning(module, case)?),
    };
    let verdicts = case.verdicts(reference, &results);
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
    let misfit = |error: MappedError| failure(Exit::Input, error.at(module.span(case.entry)), module);
    let mut images = Vec::new();
    for binding in &program.bindings {
        let argument = case.arguments.iter().find(|argument| argument.name == binding.name);
        images.push(match argument {
            Some(argument) => image(&argument.data, &binding.ty).map_err(misfit)?,
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
            results.push(from_image(&bytes, &binding.ty).map_err(misfit)?);
        }
    }
    Ok((how, results))
}

/// The image of a tensor.
fn image(data: &TensorData, ty: &Type) -> Result<Vec<u8>, MappedError> {
    Ok(Shards::pack(ShardedTensor::of_type(ty)?, data)?.image())
}

/// The tensor with that image.
fn from_image(image: &[u8], ty: &Type) -> Result<TensorData, MappedError> {
    Shards::from_image(ShardedTensor::of_type(ty)?, image)?.unpack()
}
