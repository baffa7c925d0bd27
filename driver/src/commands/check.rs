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
use ipu_dialects::tensor_data::TensorData;
use ipu_passes::manager::{Artifacts, ManagerOptions, ResolvedPipeline, Silent, State, registry};
use serde::Serialize;

use crate::commands::run::read_case;
use crate::execute::{execute, failure};
use crate::exit::{DriverCode, Exit, Failure};
use crate::files::write_standard_output;
use crate::load::{LoadOptions, load};
use crate::opt::exit_of;
use crate::render::{DiagnosticFormat, emit};

/// Runs a file at every stage of its compilation and compares.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// IR file, or - for standard input.
    file: String,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// What one stage computed.
#[derive(Debug, Serialize)]
struct Row {
    /// `input`, or the pass.
    stage: String,
    level: &'static str,
    how: &'static str,
    /// Elements that differ from the stage before, bit for bit; nothing above the storage of `mapped`.
    differ: Option<u64>,
    /// Elements outside tolerance of the reference.
    mismatches: u64,
    elements: u64,
    max_abs_error: f64,
}

/// Runs the subcommand.
///
/// # Errors
/// The file is refused, cannot be compiled, or faults.
pub fn run(arguments: &CheckArguments) -> Result<Exit, Failure> {
    let (mut module, warnings) = load(&arguments.file, LoadOptions::default())?;
    emit(&warnings, &module.sources, DiagnosticFormat::Text);
    let case = read_case(&module)?;
    let reference = case.reference(&module).map_err(|finding| failure(Exit::Input, *finding, &module))?;
    let mut stages = Stages { reference, rows: Vec::new(), before: None, at_fault: None };
    stages.observe("input", &module)?;
    for entry in registry::default_pipeline(&module, State::Code).entries {
        // A package is the same program; the stage before it runs as one.
        let makes_package = registry::find(&entry.name).is_some_and(|info| info.provides.is_empty());
        if makes_package && entry.name == ipu_passes::build_package::INFO.name {
            continue;
        }
        run_pass(&mut module, &entry)?;
        stages.observe(&entry.name, &module)?;
    }
    let passed = stages.passed();
    write_standard_output(stages.report(arguments.json).as_bytes())?;
    if let Some(finding) = stages.at_fault {
        let found = failure(Exit::No, finding, &module);
        emit(&found.diagnostics, &module.sources, DiagnosticFormat::Text);
    }
    if passed {
        return Ok(Exit::Ok);
    }
    eprintln!("a stage differs from the one before or from the reference");
    Ok(Exit::No)
}

fn run_pass(module: &mut Module, entry: &ipu_passes::manager::PipelineEntry) -> Result<(), Failure> {
    let pipeline = ipu_passes::manager::Pipeline { entries: vec![entry.clone()] };
    let resolved = ResolvedPipeline::new(&pipeline, |_| ipu_dialects::source::Span::NONE)
        .map_err(|findings| Failure::of(Exit::Input, findings, &module.sources))?;
    let run = resolved.run(module, &ManagerOptions::default(), Artifacts::default(), &mut Silent);
    match run.failure {
        Some(failed) => Err(Failure::of(exit_of(failed), run.diagnostics, &module.sources)),
        None => Ok(()),
    }
}

struct Stages {
    reference: Vec<TensorData>,
    rows: Vec<Row>,
    /// Level and results of the stage before.
    before: Option<(Level, Vec<TensorData>)>,
    at_fault: Option<Diagnostic>,
}

impl Stages {
    fn observe(&mut self, stage: &str, module: &Module) -> Result<(), Failure> {
        let case = read_case(module)?;
        let execution = execute(module, &case, &self.reference, None)?;
        let stored = |level: Level| level >= Level::Mapped;
        let comparable = self.before.as_ref().filter(|(level, _)| stored(*level) && stored(case.level));
        let differ = comparable.map(|(_, before)| differing(before, &execution.results));
        let verdicts = &execution.verdicts;
        self.rows.push(Row {
            stage: stage.to_owned(),
            level: case.level.name(),
            how: execution.how,
            differ,
            mismatches: verdicts.iter().map(|result| result.verdict.mismatches as u64).sum(),
            elements: verdicts.iter().map(|result| result.verdict.elements as u64).sum(),
            max_abs_error: verdicts.iter().map(|result| result.verdict.max_abs_error).fold(0.0, f64::max),
        });
        if self.at_fault.is_none() && case.level == Level::Mapped && !execution.passed() {
            let found = first_divergence(module, case.entry, &case.inputs());
            let found = found.map_err(|finding| failure(Exit::No, *finding, module))?;
            self.at_fault = found.map(|found| at_fault(module, &case, &found));
        }
        self.before = Some((case.level, execution.results));
        Ok(())
    }

    fn passed(&self) -> bool {
        self.rows.iter().all(|row| row.mismatches == 0 && row.differ.unwrap_or(0) == 0)
    }

    fn report(&self, json: bool) -> String {
        if json {
            let verdict = if self.passed() { "pass" } else { "fail" };
            let cause = self.at_fault.as_ref().map(|finding| &finding.message);
            return format!(
                "{}\n",
                serde_json::json!({"verdict": verdict, "stages": self.rows, "cause": cause})
            );
        }
        let mut text = format!(
            "{:28} {:9} {:>9} {:>17} {:>12}  {}\n",
            "stage", "level", "differ", "outside tolerance", "max error", "executed as"
        );
        for row in &self.rows {
            let differ = row.differ.map_or_else(|| "-".to_owned(), |count| count.to_string());
            let outside = format!("{}/{}", row.mismatches, row.elements);
            let error = row.max_abs_error as f32;
            text.push_str(&format!(
                "{:28} {:9} {differ:>9} {outside:>17} {error:>12}  {}\n",
                row.stage, row.level, row.how
            ));
        }
        text
    }
}

/// Elements that are not the same bits; all of a result that the other has not.
fn differing(before: &[TensorData], after: &[TensorData]) -> u64 {
    let count = |(one, other): (&TensorData, &TensorData)| {
        let width = one.bytes.len().checked_div(one.element_count() as usize).unwrap_or(1).max(1);
        if one.bytes.len() != other.bytes.len() {
            return one.element_count();
        }
        let elements = one.bytes.chunks(width).zip(other.bytes.chunks(width));
        elements.filter(|(one, other)| one != other).count() as u64
    };
    before.iter().zip(after).map(count).sum()
}

/// The op whose storage meaning differs from its logical one, and where it first shows.
fn at_fault(module: &Module, case: &Case, found: &Divergence) -> Diagnostic {
    let Divergence { op, coordinates, shard, element, tile, logical, storage, differing } = found;
    let name = module.name(*op);
    let message = format!("`{name}` stores something else than it says: {differing} elements differ");
    let place: Vec<String> = coordinates.iter().map(ToString::to_string).collect();
    debug_assert_eq!(case.level, Level::Mapped);
    Diagnostic::error(DriverCode::Mismatch, module.span(*op), message).note(format!(
        "first at ({}), element {element} of shard {shard} on tile {tile} (physical {}): expected {logical}, stored {storage}",
        place.join(", "),
        tile.physical()
    ))
}
