//! `ipu-opt`: read a text, run passes in command-line order, print the result.

mod command;
mod pipeline;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches as _};
use ipu_dialects::diagnostics::{Diagnostic, Diagnostics};
use ipu_dialects::ir::Module;
use ipu_dialects::printer::PrintOptions;
use ipu_dialects::source::Span;
use ipu_passes::lift_package;
use ipu_passes::manager::{Artifacts, ManagerOptions, Pipeline, ResolvedPipeline, RunFailure, Silent};

use crate::chunks::{Chunk, ChunkOptions, Chunks, run_chunks};
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

pub use command::command;
use pipeline::pipeline;
pub use pipeline::resolve_text;

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
    /// Runs the passes on a module, the whole file or `chunk` of it; `findings` are those before and after.
    fn transform(
        &self,
        module: &mut Module,
        findings: &mut Diagnostics,
        artifacts: Artifacts,
        chunk: Option<&Chunk>,
    ) -> Result<Artifacts, Failure> {
        let Self { matches, options, pipeline, .. } = self;
        let mut reproducer = Reproducer::new("ipu-opt", flags(matches, pipeline, options), module, self.load);
        reproducer.of_chunk(chunk);
        options.write_reproducer(&mut reproducer)?;
        if !pipeline.entries.is_empty() && print_options(matches).locations {
            module.make_locations_explicit();
        }
        let folder = matches.get_one::<PathBuf>("dump-dir").cloned();
        let folder =
            folder.map(|folder| chunk.map_or(folder.clone(), |chunk| folder.join(chunk.number.to_string())));
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
        let mut one = |mut module: Module, mut findings: Diagnostics, chunk: Chunk| {
            let chunk = options.split.then_some(chunk);
            let artifacts =
                self.transform(&mut module, &mut findings, Artifacts::default(), chunk.as_ref())?;
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
