//! `ipu reduce`: a case that shows a fault, as small as it can be.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ipu_passes::manager::State;
use regex::Regex;

use crate::compile::CompileOptions;
use crate::exit::{DriverCode, Exit, Failure};
use crate::files::{quoted, write_standard_output, write_whole};
use crate::load::{LoadOptions, load};
use crate::reduce::predicate::{How, Wrong};
use crate::reduce::{Budget, Predicate, Reduction, Size, Specimen, reduce, text};
use crate::render::{DiagnosticFormat, emit};
use crate::stages::Stages;

/// Shrinks a file, and the pipeline with it, as long as it shows its fault.
///
/// Without another predicate the fault is that the same stage goes wrong first, in the same way, as `ipu check` would say.
#[derive(Debug, Args)]
pub struct ReduceArguments {
    /// IR file, or - for standard input.
    file: String,
    #[command(flatten)]
    options: CompileOptions,
    /// The same stage goes wrong first: the default.
    #[arg(long)]
    diverges: bool,
    /// The compiler or the simulator panics.
    #[arg(long, conflicts_with = "diverges")]
    crashes: bool,
    /// A finding matches this regular expression.
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["diverges", "crashes"])]
    says: Option<Regex>,
    /// `ipu check` exits with this code.
    #[arg(long, value_name = "N", conflicts_with_all = ["diverges", "crashes", "says"])]
    exit: Option<u8>,
    /// Candidates to try at most.
    #[arg(long, value_name = "N", default_value_t = 2000)]
    steps: u32,
    /// Seconds to take at most.
    #[arg(long, value_name = "S", default_value_t = 120)]
    seconds: u64,
    /// Where the result goes; by default to standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// A command that gets a file as its last argument and exits with 0 if that shows the fault.
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["diverges", "crashes", "says", "exit"])]
    command: Vec<String>,
}

/// Runs the subcommand.
///
/// # Errors
/// The file is refused, does not show the fault, or the result cannot be written.
pub fn run(arguments: &ReduceArguments) -> Result<Exit, Failure> {
    let (module, warnings) = load(&arguments.file, LoadOptions::default())?;
    emit(&warnings, &module.sources, DiagnosticFormat::Text);
    let (pipeline, _) = arguments.options.pipeline(&module, State::Code)?;
    let specimen = Specimen { module, pipeline };
    let output = arguments.output.as_ref().filter(|path| path.as_os_str() != "-");
    let folder = output.and_then(|path| path.parent()).filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let message = format!("`{}` is no folder, so the result could not be written", folder.display());
        return Err(Failure::new(Exit::Input, DriverCode::Unwritable, message));
    }
    let predicate = predicate(arguments, &specimen)?;
    if !predicate.holds(&specimen) {
        let message =
            format!("`{}` does not show the fault as it is, so there is nothing to shrink", arguments.file);
        return Err(Failure::new(Exit::Input, DriverCode::Usage, message));
    }
    let (before, lines) = (Size::of(&specimen), text(&specimen.module).lines().count());
    eprintln!("{:>6}  {:40} {}", 0, "as given", describe(before));
    let budget = Budget { steps: arguments.steps, time: Duration::from_secs(arguments.seconds) };
    let mut progress =
        |step: u32, edit: &str, size: Size| eprintln!("{step:>6}  {edit:40} {}", describe(size));
    let reduction = reduce(specimen, &predicate, budget, &mut progress);
    let end = if reduction.minimal { "nothing smaller shows it" } else { "the budget ended" };
    eprintln!(
        "{} candidates tried, {} taken, {:.1} s; {end}",
        reduction.steps,
        reduction.taken,
        reduction.elapsed.as_secs_f64()
    );
    let file = header(arguments, &predicate, &reduction, lines) + &text(&reduction.specimen.module);
    match output {
        Some(path) => write_whole(path, file.as_bytes())?,
        None => write_standard_output(file.as_bytes())?,
    }
    Ok(Exit::Ok)
}

fn describe(size: Size) -> String {
    let Size { ops, passes, tiles, elements, .. } = size;
    format!("{ops} ops, {passes} passes, {tiles} tiles, {elements} elements")
}

fn predicate(arguments: &ReduceArguments, specimen: &Specimen) -> Result<Predicate, Failure> {
    let options = arguments.options.manager_options();
    if !arguments.command.is_empty() {
        return Ok(Predicate::Command(arguments.command.clone()));
    }
    if arguments.crashes {
        return Ok(Predicate::Crashes(options));
    }
    if let Some(pattern) = &arguments.says {
        return Ok(Predicate::Says(options, pattern.clone()));
    }
    if let Some(code) = arguments.exit {
        return Ok(Predicate::Exits(options, code));
    }
    let stages = Stages::run(specimen.module.clone(), &specimen.pipeline, &options)?;
    Wrong::of(&stages).map(|wrong| Predicate::Diverges(options, wrong)).ok_or_else(|| {
        let message = format!("no stage of `{}` goes wrong, so there is nothing to shrink", arguments.file);
        Failure::new(Exit::Input, DriverCode::Usage, message)
    })
}

/// A word of a command; options stay options.
fn command_word(word: &str) -> String {
    match word.strip_prefix('-') {
        Some(rest) => format!("-{}", if rest.is_empty() { String::new() } else { quoted(rest) }),
        None => quoted(word),
    }
}

/// One line: what shows the fault, and how the file came about.
fn header(arguments: &ReduceArguments, predicate: &Predicate, reduction: &Reduction, lines: usize) -> String {
    let name = arguments.output.as_ref().map_or("FILE".to_owned(), |path| quoted(&path.to_string_lossy()));
    let pipeline = &reduction.specimen.pipeline;
    let passes = if pipeline.entries.is_empty() {
        " --pass-pipeline=''".to_owned()
    } else {
        format!(" --pass-pipeline='{pipeline}'")
    };
    let mutation = arguments.options.mutation_flag();
    let (command, shows) = match predicate {
        Predicate::Diverges(_, Wrong { stage, how }) => {
            let how = match how {
                How::Differs => "computes something else",
                How::StoresOtherwise => "stores something else than it says",
                How::OutsideTolerance => "is outside tolerance",
            };
            (format!("ipu check{passes}{mutation} {name}"), format!("`{stage}` {how}"))
        }
        Predicate::Crashes(_) => (format!("ipu check{passes}{mutation} {name}"), "crashes".to_owned()),
        Predicate::Says(_, pattern) => {
            (format!("ipu check{passes}{mutation} {name}"), format!("says /{pattern}/"))
        }
        Predicate::Exits(_, code) => (format!("ipu check{passes}{mutation} {name}"), format!("exits {code}")),
        Predicate::Command(words) => {
            let words: Vec<String> = words.iter().map(|word| command_word(word)).collect();
            (format!("{} {name}", words.join(" ")), "exits 0".to_owned())
        }
    };
    format!("// {command}  ({shows}; {} steps from {lines} lines)\n", reduction.steps)
}
