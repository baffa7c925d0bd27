//! `ipu check`: what every stage of a compilation computes, in one table, and the first op at fault.
//!
//! Every file that a pass leaves is executed at its own level on the same data. From the storage of `mapped` down results
//! must be equal bit for bit; every level is compared with the reference. Where a mapped program computes something else
//! than it says, the op whose storage meaning differs from its logical one is named.

use clap::Args;
use ipu_dialects::case::{Case, Level};
use ipu_dialects::diagnostics::Diagnostic;
use ipu_dialects::ir::Module;
use ipu_dialects::mapped::meaning::{Divergence, first_divergence};
use ipu_passes::manager::State;
use serde::Serialize;

use crate::bisect::places::index_text;
use crate::compile::CompileOptions;
use crate::execute::failure;
use crate::exit::{DriverCode, Exit, Failure};
use crate::files::write_standard_output;
use crate::load::{LoadOptions, load};
use crate::non_finite::{NonFinite, first_non_finite};
use crate::render::{DiagnosticFormat, emit};
use crate::stages::{Outcome, Stage, Stages};

/// Runs a file at every stage of its compilation and compares.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// IR file, or - for standard input.
    file: String,
    #[command(flatten)]
    options: CompileOptions,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// What one stage computed.
#[derive(Debug, Serialize)]
struct Row<'a> {
    /// `input`, or the pass.
    stage: &'a str,
    level: &'static str,
    how: &'a str,
    /// Elements that differ from the stage before, bit for bit; nothing where bits may differ.
    differ: Option<u64>,
    /// Elements outside tolerance of the reference.
    mismatches: u64,
    elements: u64,
    max_abs_error: f64,
    /// Largest distance from the reference in units of the last place of the result's type.
    max_ulps: u32,
}

/// Runs the subcommand.
///
/// # Errors
/// The file is refused, cannot be compiled, or faults.
pub fn run(arguments: &CheckArguments) -> Result<Exit, Failure> {
    let (module, warnings) = load(&arguments.file, LoadOptions::default())?;
    emit(&warnings, &module.sources, DiagnosticFormat::Text);
    let (pipeline, _) = arguments.options.pipeline(&module, State::Code)?;
    let mut stages = Stages::run(module, &pipeline, &arguments.options.manager_options())?;
    let at_fault = stages.list.iter().find_map(|stage| mapped_op_at_fault(stage).transpose()).transpose()?;
    write_standard_output(report(&stages, at_fault.as_ref(), arguments.json).as_bytes())?;
    let passed = stages.passed() && at_fault.is_none();
    if let Some(finding) = stages.list.iter().find_map(non_finite) {
        let found = failure(Exit::No, finding, &stages.list[0].module);
        emit(&found.diagnostics, &found.sources, DiagnosticFormat::Text);
    }
    if let Some(finding) = at_fault {
        let found = failure(Exit::No, finding, &stages.list[0].module);
        emit(&found.diagnostics, &found.sources, DiagnosticFormat::Text);
    }
    if passed {
        return Ok(Exit::Ok);
    }
    match stages.list.pop().map(|last| (last.outcome, last.module)) {
        Some((Outcome::Refused(refused, findings), module)) => {
            Err(Failure::of(crate::opt::exit_of(refused), findings, &module.sources))
        }
        Some((Outcome::Faulted(failure), _)) => Err(failure),
        _ => {
            eprintln!("a stage differs from the one before or from the reference");
            Ok(Exit::No)
        }
    }
}

/// The op of a mapped program that stores something else than it says.
fn mapped_op_at_fault(stage: &Stage) -> Result<Option<Diagnostic>, Failure> {
    let module = &stage.module;
    let Some(case) = stage.mapped_case().filter(|_| stage.stores_otherwise()) else { return Ok(None) };
    let found = first_divergence(module, case.entry, &case.inputs());
    let found = found.map_err(|finding| failure(Exit::No, *finding, module))?;
    Ok(found.map(|found| at_fault(module, case, &found)))
}

/// The op of a mapped program that is the first to make an infinity or NaN out of finite numbers.
fn non_finite(stage: &Stage) -> Option<Diagnostic> {
    let module = &stage.module;
    let NonFinite { op, index, tile, value, count } = first_non_finite(module, stage.mapped_case()?)?;
    let message = format!("`{}` makes {value} out of finite numbers: {count} elements", module.name(op));
    Some(Diagnostic::warning(DriverCode::NonFinite, module.span(op), message).note(format!(
        "first at {} on tile {tile} (physical {})",
        index_text(&index),
        tile.physical()
    )))
}

fn rows(stages: &Stages) -> impl Iterator<Item = Row<'_>> {
    stages.list.iter().filter_map(|stage| {
        let execution = stage.execution()?;
        let verdicts = &execution.verdicts;
        Some(Row {
            stage: stage.name(),
            level: execution.level.name(),
            how: execution.how,
            differ: stage.differ,
            mismatches: verdicts.iter().map(|result| result.verdict.mismatches as u64).sum(),
            elements: verdicts.iter().map(|result| result.verdict.elements as u64).sum(),
            max_abs_error: verdicts.iter().map(|result| result.verdict.max_abs_error).fold(0.0, f64::max),
            max_ulps: stages.ulps(&execution.results),
        })
    })
}

fn report(stages: &Stages, at_fault: Option<&Diagnostic>, json: bool) -> String {
    if json {
        let verdict = if stages.passed() && at_fault.is_none() { "pass" } else { "fail" };
        let cause = at_fault.map(|finding| &finding.message);
        let rows: Vec<Row<'_>> = rows(stages).collect();
        return format!("{}\n", serde_json::json!({"verdict": verdict, "stages": rows, "cause": cause}));
    }
    let mut text = format!(
        "{:28} {:9} {:>9} {:>17} {:>12} {:>8}  {}\n",
        "stage", "level", "differ", "outside tolerance", "max error", "ULPs", "executed as"
    );
    for row in rows(stages) {
        let differ = row.differ.map_or_else(|| "-".to_owned(), |count| count.to_string());
        let outside = format!("{}/{}", row.mismatches, row.elements);
        let error = row.max_abs_error as f32;
        text.push_str(&format!(
            "{:28} {:9} {differ:>9} {outside:>17} {error:>12} {:>8}  {}\n",
            row.stage, row.level, row.max_ulps, row.how
        ));
    }
    text
}

/// The op whose storage meaning differs from its logical one, and where it first shows.
fn at_fault(module: &Module, case: &Case, found: &Divergence) -> Diagnostic {
    let Divergence { op, coordinates, shard, element, tile, logical, storage, differing } = found;
    let name = module.name(*op);
    let message = format!("`{name}` stores something else than it says: {differing} elements differ");
    debug_assert_eq!(case.level, Level::Mapped);
    Diagnostic::error(DriverCode::Mismatch, module.span(*op), message).note(format!(
        "first at {}, element {element} of shard {shard} on tile {tile} (physical {}): expected {logical}, stored {storage}",
        index_text(coordinates),
        tile.physical()
    ))
}
