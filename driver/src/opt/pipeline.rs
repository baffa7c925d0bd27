//! Which passes a command line asks for.

use clap::ArgMatches;
use ipu_dialects::diagnostics::{Diagnostic, Diagnostics};
use ipu_dialects::source::{SourceMap, Span};
use ipu_passes::manager::{PassCode, Pipeline, PipelineEntry, PipelineError, ResolvedPipeline, registry};

use super::command::pass_options;
use crate::exit::{DriverCode, Exit, Failure};

/// The passes asked for: a pipeline text, or flags in the order in which they stand.
pub(super) fn pipeline(matches: &ArgMatches) -> Result<(Pipeline, ResolvedPipeline), Failure> {
    if let Some(text) = matches.get_one::<String>("pass-pipeline") {
        return resolve_text("--pass-pipeline", text);
    }
    let mut asked: Vec<(usize, String)> = Vec::new();
    for info in registry::all() {
        let Some(values) = matches.get_many::<String>(info.name) else { continue };
        let indices = matches.indices_of(info.name).into_iter().flatten();
        for (index, options) in indices.zip(values) {
            let options = options.trim();
            asked.push((
                index,
                if options.is_empty() { info.name.into() } else { format!("{}{{{options}}}", info.name) },
            ));
        }
    }
    asked.sort();
    let text = asked.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",");
    let mut pipeline = resolve_text(COMMAND_LINE, &text)?.0;
    for (name, ..) in pass_options() {
        let Some(value) = matches.get_one::<String>(name) else { continue };
        set_option(&mut pipeline, name, value)?;
    }
    resolve_text(COMMAND_LINE, &pipeline.to_string())
}

/// Name of the passes on the command line in messages.
const COMMAND_LINE: &str = "<command line>";

/// Gives the option to each pass that has it and does not say otherwise.
fn set_option(pipeline: &mut Pipeline, name: &str, value: &str) -> Result<(), Failure> {
    let takes = |entry: &&mut PipelineEntry| {
        registry::find(&entry.name).is_some_and(|info| info.options.iter().any(|option| option.name == name))
    };
    let mut taken = false;
    for entry in pipeline.entries.iter_mut().filter(takes) {
        taken = true;
        entry.options.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }
    if taken {
        return Ok(());
    }
    let message =
        format!("`--{name}` is given, but no pass on the command line takes it; see `--list-passes`");
    Err(Failure::new(Exit::Input, DriverCode::Usage, message))
}

/// Parses and resolves a pipeline text called `name` in messages.
///
/// # Errors
/// The text does not parse, names an unknown pass, or gives an option that the pass does not take.
pub fn resolve_text(name: &str, text: &str) -> Result<(Pipeline, ResolvedPipeline), Failure> {
    let mut sources = SourceMap::default();
    let file = sources.add(name, text);
    let span = |range: &std::ops::Range<usize>| Span::new(file, range.start as u32, range.end as u32);
    let malformed = |PipelineError { message, range }| {
        let mut diagnostics = Diagnostics::new();
        diagnostics.push(Diagnostic::error(PassCode::BadPipeline, span(&range), message));
        Failure::of(Exit::Input, diagnostics, &sources)
    };
    let pipeline = Pipeline::parse(text).map_err(malformed)?;
    let resolved = ResolvedPipeline::new(&pipeline, |entry: &PipelineEntry| span(&entry.range))
        .map_err(|diagnostics| Failure::of(Exit::Input, diagnostics, &sources))?;
    Ok((pipeline, resolved))
}
