//! `ipu bisect`: from a wrong result to the pass, op, element, tile, address and transfer that are to blame.

use std::path::Path;

use clap::Args;
use ipu_dialects::ir::Module;
use ipu_dialects::printer::{PrintOptions, print_with};
use ipu_passes::lift_package;
use ipu_passes::manager::{Pipeline, State};

use crate::bisect::bisect;
use crate::bisect::report::{Detected, Finding};
use crate::compile::CompileOptions;
use crate::exit::{Exit, Failure};
use crate::files::{quoted, write_standard_output};
use crate::load::{LoadOptions, load};
use crate::opt::exit_of;
use crate::package_file::read_package;
use crate::render::{DiagnosticFormat, emit};
use crate::stages::{Outcome, Stages};

/// Finds what makes a file compute the wrong thing.
///
/// Every pass of the compilation runs by itself and its output is executed on the same data. The first output that computes
/// something else than the one before names the pass; then its rewrite, op, element, tile, address and transfer are found.
#[derive(Debug, Args)]
pub struct BisectArguments {
    /// IR file, or - for standard input.
    file: String,
    #[command(flatten)]
    options: CompileOptions,
    /// Compare this package, which was built from the file, with what the passes make of it.
    #[arg(long, value_name = "X.ipuexe")]
    package: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
///
/// # Errors
/// The file is refused, or has no data or reference.
pub fn run(arguments: &BisectArguments) -> Result<Exit, Failure> {
    let (mut module, warnings) = load(&arguments.file, LoadOptions::default())?;
    emit(&warnings, &module.sources, DiagnosticFormat::Text);
    module.make_locations_explicit();
    let (pipeline, _) = arguments.options.pipeline(&module, State::Code)?;
    let manager = arguments.options.manager_options();
    let mut stages = Stages::run(module, &pipeline, &manager)?;
    if let Some(path) = &arguments.package {
        let package = read_package(path, false)?;
        let lifted = lift_package::module(&package)
            .map_err(|error| Failure::new(Exit::Input, error.code, format!("`{path}`: {}", error.message)))?;
        stages.add_package(lifted, package);
    }
    if let Some(folder) = arguments.options.dump_dir() {
        dump(folder, &stages, &pipeline)?;
    }
    let mut finding = bisect(&stages, &manager);
    if let Some(finding) = &mut finding {
        finding.rerun = rerun(arguments, &stages, finding);
    }
    let text = match (&finding, arguments.json) {
        (finding, true) => {
            format!("{}\n", serde_json::json!({"stages": stages.list.len(), "finding": finding}))
        }
        (Some(finding), false) => finding.text(),
        (None, false) => {
            format!("nothing is wrong: {} stages compute the same and pass\n", stages.list.len())
        }
    };
    write_standard_output(text.as_bytes())?;
    let refused = stages.list.last().and_then(|stage| match &stage.outcome {
        Outcome::Refused(failure, _) => Some(exit_of(*failure)),
        _ => None,
    });
    Ok(match finding {
        None => Exit::Ok,
        Some(finding) if finding.detected == Detected::Refusal => refused.unwrap_or(Exit::CannotCompile),
        Some(_) => Exit::No,
    })
}

/// Writes the stages as numbered files, as compilation does.
fn dump(folder: &Path, stages: &Stages, pipeline: &Pipeline) -> Result<(), Failure> {
    let print = |module: &Module| print_with(module, PrintOptions { generic: false, locations: true });
    for (index, stage) in stages.list.iter().enumerate() {
        crate::instrumentation::write_dump(folder, pipeline, index, stage.name(), &print(&stage.module))?;
    }
    Ok(())
}

/// The command that runs the pass at fault on what it was given.
fn rerun(arguments: &BisectArguments, stages: &Stages, finding: &Finding) -> Option<String> {
    let entry = stages.list.get(finding.stage)?.entry.as_ref()?;
    let mutation = arguments.options.mutation_flag();
    let before = finding.stage - 1;
    if let Some(folder) = arguments.options.dump_dir() {
        let file = crate::instrumentation::dump_name(before, stages.list[before].name());
        return Some(format!(
            "ipu-opt --pass-pipeline='{entry}'{mutation} {}",
            quoted(&folder.join(file).to_string_lossy())
        ));
    }
    let earlier = stages.list[..finding.stage].iter().filter_map(|stage| stage.entry.clone());
    let earlier = Pipeline { entries: earlier.collect() };
    Some(if earlier.entries.is_empty() {
        format!("ipu-opt --pass-pipeline='{entry}'{mutation} {}", quoted(&arguments.file))
    } else {
        format!(
            "ipu-opt --pass-pipeline='{earlier}' {} | ipu-opt --pass-pipeline='{entry}'{mutation}",
            quoted(&arguments.file)
        )
    })
}
