//! `ipu trace`: where a value came from, and where it goes.

use clap::Args;
use ipu_dialects::case::Level;
use ipu_dialects::exchange::Program;
use ipu_passes::manager::State;

use crate::bisect::places::{Places, index_text};
use crate::commands::run::{read_case, shape};
use crate::compile::CompileOptions;
use crate::execute::binding_images;
use crate::exit::{DriverCode, Exit, Failure};
use crate::files::write_standard_output;
use crate::load::{LoadOptions, load};
use crate::render::{DiagnosticFormat, emit};
use crate::stages::Stages;
use crate::trace::{Traced, forward};

/// Follows a value back to the inputs, or an input forward to the results.
///
/// The file is compiled down to a scheduled and placed exchange program, so that tiles, addresses and events are known.
#[derive(Debug, Args)]
pub struct TraceArguments {
    /// IR file of graph, mapped or exchange, or - for standard input.
    file: String,
    #[command(flatten)]
    options: CompileOptions,
    /// Index of the element, one number an axis.
    #[arg(long, value_name = "I,J", value_delimiter = ',', required = true)]
    element: Vec<u32>,
    /// Result that the element belongs to; by default the first.
    #[arg(long, value_name = "NAME")]
    result: Option<String>,
    /// Follow this input or weight forward instead.
    #[arg(long, value_name = "NAME", conflicts_with = "result")]
    from: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
///
/// # Errors
/// The file is refused, cannot be compiled, or has no such element.
pub fn run(arguments: &TraceArguments) -> Result<Exit, Failure> {
    let (mut module, warnings) = load(&arguments.file, LoadOptions::default())?;
    emit(&warnings, &module.sources, DiagnosticFormat::Text);
    module.make_locations_explicit();
    let (pipeline, _) = arguments.options.pipeline(&module, State::Placed)?;
    let stages = Stages::run(module, &pipeline, &arguments.options.manager_options())?;
    let stage = stages.list.iter().rev().find(|stage| State::Exchange.lacking(&stage.module).is_none());
    let Some(stage) = stage else {
        let message = "only programs that come to the level `exchange` can be traced; `ipu check` says where this one stops";
        return Err(Failure::new(Exit::Input, DriverCode::NothingToRun, message));
    };
    let case = read_case(&stage.module)?;
    debug_assert_eq!(case.level, Level::Exchange);
    let program = Program::read(&stage.module, case.entry)
        .map_err(|findings| Failure::of(Exit::Input, findings, &stage.module.sources))?;
    let images = binding_images(&case, &program).map_err(|error| {
        Failure::new(Exit::Input, DriverCode::Usage, error.at(stage.module.span(case.entry)).message)
    })?;
    let places = Places::of(&stages);
    let traced = Traced::new(&stage.module, &program, &images, &places);
    let text = follow(
        arguments,
        &traced,
        &case.results.iter().map(|result| result.name.as_str()).collect::<Vec<_>>(),
    )?;
    write_standard_output(text.as_bytes())?;
    Ok(Exit::Ok)
}

fn follow(arguments: &TraceArguments, traced: &Traced<'_>, results: &[&str]) -> Result<String, Failure> {
    let missing = |name: &str, known: &str| {
        let message =
            format!("`{name}` has no element {}; there are {known}", index_text(&arguments.element));
        Failure::new(Exit::Input, DriverCode::Usage, message)
    };
    let bindings =
        traced.program.bindings.iter().map(|binding| format!("`{}` {}", binding.name, shape(&binding.ty)));
    let known = bindings.collect::<Vec<_>>().join(", ");
    if let Some(name) = &arguments.from {
        let reached = traced.forward(name, &arguments.element).ok_or_else(|| missing(name, &known))?;
        return Ok(if arguments.json {
            format!("{}\n", serde_json::json!({"from": name, "element": arguments.element, "steps": reached}))
        } else {
            forward::text(&reached)
        });
    }
    let name = arguments.result.as_deref().or(results.first().copied()).unwrap_or_default();
    let link = traced.back(name, &arguments.element).ok_or_else(|| missing(name, &known))?;
    Ok(if arguments.json { format!("{}\n", serde_json::json!(link)) } else { link.text() })
}
