//! `ipu-opt`: read a text, run passes in command-line order, print the result.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Args as _, Command, FromArgMatches as _, value_parser};
use indexmap::IndexMap;
use ipu_dialects::diagnostics::{Diagnostic, Diagnostics};
use ipu_dialects::ir::Module;
use ipu_dialects::printer::PrintOptions;
use ipu_dialects::source::{SourceMap, Span};
use ipu_passes::lift_package;
use ipu_passes::manager::{
    Artifacts, ManagerOptions, PassCode, Pipeline, PipelineEntry, PipelineError, ResolvedPipeline,
    RunFailure, Silent, registry,
};

use crate::chunks::{ChunkOptions, Chunks, run_chunks};
use crate::exit::{DriverCode, Exit, Failure};
use crate::explain::explain;
use crate::files::{write_module, write_whole};
use crate::instrumentation::printed;
use crate::listings::{ListFormat, list_dialects, list_passes};
use crate::load::{LoadOptions, load};
use crate::log::LogFormat;
use crate::package_file::read_package;
use crate::pass_options::{PassOptions, PipelineRun};
use crate::process::{ProcessOptions, finish, guarded};
use crate::render::{DiagnosticFormat, emit};
use crate::repro::Reproducer;
use crate::rerun;

/// Runs the program on the process's arguments.
#[must_use]
pub fn main() -> ExitCode {
    let words = match rerun::arguments(command(), std::env::args_os().collect()) {
        Ok(words) => words,
        Err(failure) => return finish(Err(failure), None, DiagnosticFormat::Text),
    };
    let matches = command().get_matches_from(words);
    let format = matches.get_one::<DiagnosticFormat>("diagnostics").copied().unwrap_or_default();
    let log = matches.get_one::<LogFormat>("log").copied().unwrap_or(LogFormat::Off);
    let process = ProcessOptions::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let timing = process.start(log);
    finish(guarded(|| run(&matches, format).map(|()| Exit::Ok)), timing.as_ref(), format)
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).help(help).action(ArgAction::SetTrue)
}

fn value(name: &'static str, form: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(form).help(help)
}

fn listing(name: &'static str, help: &'static str) -> Arg {
    value(name, "FORMAT", help)
        .value_parser(value_parser!(ListFormat))
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("text")
}

/// The command line, one flag a pass included.
#[must_use]
pub fn command() -> Command {
    let passes = registry::all().iter().map(|info| {
        Arg::new(info.name)
            .long(info.name)
            .help(info.summary)
            .value_name("OPTIONS")
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("")
            .action(ArgAction::Append)
            .help_heading("Passes, run in the order given; options as --pass='key=value key=value'")
    });
    let options = pass_options().map(|(name, form, help)| {
        Arg::new(name)
            .long(name)
            .value_name(form)
            .help(help)
            .help_heading("Options of the passes on the command line")
    });
    let command = Command::new("ipu-opt")
        .about("Reads IR, verifies it, runs passes in command-line order, and prints the result")
        .version(env!("CARGO_PKG_VERSION"))
        .arg(
            Arg::new("input")
                .value_name("FILE")
                .default_value("-")
                .help("IR file, package for --lift-package, or - for standard input"),
        )
        .args(passes)
        .args(options)
        .arg(value("pass-pipeline", "PIPELINE", "Passes as text: a,b{key=value},c"))
        .arg(Arg::new("output").short('o').long("output").value_name("FILE").help("Where the result goes"))
        .arg(flag("print-generic", "Print MLIR's generic form, canonical"))
        .arg(flag("print-locations", "Print locations in generic form"))
        .arg(flag("no-locations", "Hide locations and origins"))
        .arg(flag("allow-unregistered-dialect", "Keep what no dialect declares"))
        .arg(flag("split-input-file", "Take what stands between lines `// -----` as files of their own"))
        .arg(flag(
            "verify-diagnostics",
            "Hold findings to comments `// expected-error@+1 {{text}}`; print no IR",
        ))
        .arg(flag("foreign", "Let --lift-package take a package of another compiler"))
        .arg(
            value("dump-dir", "FOLDER", "Write the IR after each pass to numbered files")
                .value_parser(value_parser!(PathBuf)),
        )
        .arg(flag(
            "rerun",
            "Take passes and flags from the first line of the file, as in dumps and reproducers",
        ))
        .arg(value("explain", "CODE", "Print the page of an error code, or `list`"))
        .arg(listing("list-passes", "List passes with contracts and options"))
        .arg(listing("list-dialects", "List dialects with their ops"))
        .arg(
            value("diagnostics", "FORMAT", "How findings are shown")
                .value_parser(value_parser!(DiagnosticFormat))
                .default_value("text"),
        )
        .arg(
            value("log", "FORMAT", "Event log on standard error")
                .value_parser(value_parser!(LogFormat))
                .default_value("off"),
        );
    let command = ProcessOptions::augment_args(PassOptions::augment_args(command));
    #[cfg(feature = "mutations")]
    let command = command
        .arg(
            value("mutate", "NAME", "Plant this miscompile in the pass that it is for")
                .value_parser(crate::mutations::parse),
        )
        .arg(flag("list-mutations", "List the miscompiles that can be planted"));
    command
}

/// Name, form and help of every option that some pass has, each name once.
fn pass_options() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let all: IndexMap<_, _> = registry::all()
        .iter()
        .flat_map(|info| info.options)
        .map(|option| (option.name, (option.name, option.form, option.help)))
        .collect();
    all.into_values()
}

fn run(matches: &ArgMatches, format: DiagnosticFormat) -> Result<(), Failure> {
    if let Some(code) = matches.get_one::<String>("explain") {
        return write_output(matches, &explain(code)?);
    }
    if let Some(format) = matches.get_one::<ListFormat>("list-passes") {
        return write_output(matches, &list_passes(*format));
    }
    if let Some(format) = matches.get_one::<ListFormat>("list-dialects") {
        return write_output(matches, &list_dialects(*format));
    }
    #[cfg(feature = "mutations")]
    if matches.get_flag("list-mutations") {
        return write_output(matches, &crate::mutations::list());
    }
    let (pipeline, resolved) = pipeline(matches)?;
    let input = matches.get_one::<String>("input").map_or("-", String::as_str);
    let options = LoadOptions {
        allow_unregistered: matches.get_flag("allow-unregistered-dialect"),
        rerun: matches.get_flag("rerun"),
    };
    let chunks = ChunkOptions {
        split: matches.get_flag("split-input-file"),
        verify_diagnostics: matches.get_flag("verify-diagnostics"),
        load: options,
    };
    let lifts = pipeline.entries.first().is_some_and(|entry| entry.name == lift_package::INFO.name);
    let passes = PassOptions::from_arg_matches(matches).unwrap_or_else(|error| error.exit());
    let passes = Passes { matches, options: passes, pipeline, resolved, load: options, format };
    if chunks.split || chunks.verify_diagnostics {
        if lifts {
            let message = "`--lift-package` takes a package, which has neither chunks nor comments";
            return Err(Failure::new(Exit::Input, DriverCode::Usage, message));
        }
        return passes.run_in_chunks(input, chunks);
    }
    let mut artifacts = Artifacts::default();
    let (mut module, mut findings) = if lifts {
        artifacts.package = Some(read_package(input, matches.get_flag("foreign"))?);
        (Module::new(), Diagnostics::new())
    } else {
        load(input, options)?
    };
    let artifacts = passes.transform(&mut module, &mut findings, artifacts, None)?;
    emit(&findings, &module.sources, format);
    if let Some(package) = &artifacts.package {
        return write_package(matches, package);
    }
    let path = matches.get_one::<String>("output").filter(|path| *path != "-").map(Path::new);
    let written = write_module(path, &module, print_options(matches));
    // The process ends: freeing a million ops one by one would only take time.
    std::mem::forget(module);
    written
}

/// The passes asked for, and how they run.
struct Passes<'m> {
    matches: &'m ArgMatches,
    options: PassOptions,
    pipeline: Pipeline,
    resolved: ResolvedPipeline,
    load: LoadOptions,
    format: DiagnosticFormat,
}

impl Passes<'_> {
    /// Runs the passes on a module, the whole file or chunk number `chunk` of it; `findings` are those before and after.
    fn transform(
        &self,
        module: &mut Module,
        findings: &mut Diagnostics,
        artifacts: Artifacts,
        chunk: Option<usize>,
    ) -> Result<Artifacts, Failure> {
        let Self { matches, options, pipeline, .. } = self;
        let mut reproducer = Reproducer::new("ipu-opt", flags(matches, pipeline, options), module, self.load);
        options.write_reproducer(&mut reproducer)?;
        if !pipeline.entries.is_empty() && print_options(matches).locations {
            module.make_locations_explicit();
        }
        let folder = matches.get_one::<PathBuf>("dump-dir").cloned();
        let folder =
            folder.map(|folder| chunk.map_or(folder.clone(), |chunk| folder.join(chunk.to_string())));
        let run = PipelineRun {
            options,
            manager: manager_options(matches),
            pipeline,
            resolved: &self.resolved,
            print: print_options(matches),
            dump_dir: folder.as_deref(),
            format: self.format,
        };
        match run.run(module, artifacts, &mut Silent, &mut reproducer) {
            Ok(run) => {
                findings.append(run.diagnostics);
                Ok(run.artifacts)
            }
            Err(failure) => Err(failure.after(std::mem::take(findings))),
        }
    }

    /// `--split-input-file` and `--verify-diagnostics`.
    fn run_in_chunks(&self, input: &str, options: ChunkOptions) -> Result<(), Failure> {
        let matches = self.matches;
        let mut one = |mut module: Module, mut findings: Diagnostics, chunk: usize| {
            let chunk = options.split.then_some(chunk);
            let artifacts = self.transform(&mut module, &mut findings, Artifacts::default(), chunk)?;
            if artifacts.package.is_some() && !options.verify_diagnostics {
                let message = "a package has no place between chunks; leave `--split-input-file` or `--build-package` out";
                findings.push(Diagnostic::error(DriverCode::Usage, Span::NONE, message));
                return Err(Failure::of(Exit::Input, findings, &module.sources));
            }
            Ok((findings, printed(&module, print_options(matches))))
        };
        let Chunks { exit, diagnostics, sources, output } = run_chunks(input, options, &mut one)?;
        if !options.verify_diagnostics {
            write_output(matches, &output)?;
        }
        if exit != Exit::Ok {
            return Err(Failure::of(exit, diagnostics, &sources));
        }
        emit(&diagnostics, &sources, self.format);
        Ok(())
    }
}

pub(crate) fn exit_of(failure: RunFailure) -> Exit {
    match failure {
        RunFailure::Input => Exit::Input,
        RunFailure::CannotCompile => Exit::CannotCompile,
        RunFailure::InvalidResult => Exit::Internal,
    }
}

fn print_options(matches: &ArgMatches) -> PrintOptions {
    let generic = matches.get_flag("print-generic");
    let locations =
        if generic { matches.get_flag("print-locations") } else { !matches.get_flag("no-locations") };
    PrintOptions { generic, locations }
}

/// The passes asked for: a pipeline text, or flags in the order in which they stand.
fn pipeline(matches: &ArgMatches) -> Result<(Pipeline, ResolvedPipeline), Failure> {
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

/// What the manager is told besides how passes are watched.
fn manager_options(matches: &ArgMatches) -> ManagerOptions {
    ManagerOptions {
        allow_unregistered: matches.get_flag("allow-unregistered-dialect"),
        #[cfg(feature = "mutations")]
        mutation: matches.get_one::<&'static ipu_passes::mutations::Mutation>("mutate").copied(),
        ..ManagerOptions::default()
    }
}

/// The flags that change the result, as words of a command line.
fn flags(matches: &ArgMatches, pipeline: &Pipeline, passes: &PassOptions) -> Vec<String> {
    let mut flags = vec![rerun::pipeline_flag(pipeline)];
    flags.extend(passes.flags());
    for name in ["print-generic", "print-locations", "no-locations"] {
        flags.extend(matches.get_flag(name).then(|| format!("--{name}")));
    }
    #[cfg(feature = "mutations")]
    if let Some(mutation) = manager_options(matches).mutation {
        flags.push(rerun::flag("mutate", mutation.name));
    }
    flags
}

fn write_output(matches: &ArgMatches, text: &str) -> Result<(), Failure> {
    write_bytes(matches, text.as_bytes())
}

fn write_bytes(matches: &ArgMatches, bytes: &[u8]) -> Result<(), Failure> {
    match matches.get_one::<String>("output") {
        Some(path) if path != "-" => write_whole(path.as_ref(), bytes),
        _ => crate::files::write_standard_output(bytes),
    }
}

fn write_package(matches: &ArgMatches, package: &ipu_device::package::Package) -> Result<(), Failure> {
    let bytes =
        package.to_bytes().map_err(|error| Failure::new(Exit::Internal, error.code, error.to_string()))?;
    write_bytes(matches, &bytes)
}
