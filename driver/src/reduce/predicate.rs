//! What must stay true while a case shrinks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use ipu_passes::manager::{ManagerOptions, RunFailure};
use regex::Regex;

use super::{Specimen, text};
use crate::opt::exit_of;
use crate::stages::{Outcome, Stage, Stages};

/// What a specimen must show.
#[derive(Debug)]
pub enum Predicate {
    /// The stage of that name is the first that goes wrong, in that way.
    Diverges(ManagerOptions, Wrong),
    /// The compiler or the simulator panics.
    Crashes(ManagerOptions),
    /// A finding matches.
    Says(ManagerOptions, Regex),
    /// `ipu check` would exit so.
    Exits(ManagerOptions, u8),
    /// The command, given the file, exits with 0.
    Command(Vec<String>),
}

/// The first stage that goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// `input`, or the pass.
    pub stage: String,
    /// How.
    pub how: How,
}

/// How a stage goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It computes something else than the stage before, faults, or does not verify.
    Differs,
    /// An op of a mapped program stores something else than it says.
    StoresOtherwise,
    /// It is outside tolerance of the reference, and nothing else is wrong.
    OutsideTolerance,
}

impl Wrong {
    /// What is wrong with `stages`; nothing if they pass, or if a pass just cannot go on.
    #[must_use]
    pub fn of(stages: &Stages) -> Option<Self> {
        let differs = |stage: &&Stage| match &stage.outcome {
            Outcome::Refused(failure, _) => *failure == RunFailure::InvalidResult,
            Outcome::Faulted(_) => true,
            Outcome::Ran(_) => stage.differ.unwrap_or(0) > 0,
        };
        let outside = |stage: &&Stage| stage.execution().is_some_and(|execution| !execution.passed());
        let wrong = |stage: &Stage, how| Self { stage: stage.name().to_owned(), how };
        let differing = stages.list.iter().find(differs).map(|stage| wrong(stage, How::Differs));
        let storing = || {
            stages
                .list
                .iter()
                .find(|stage| stage.stores_otherwise())
                .map(|stage| wrong(stage, How::StoresOtherwise))
        };
        differing
            .or_else(storing)
            .or_else(|| stages.list.iter().find(outside).map(|stage| wrong(stage, How::OutsideTolerance)))
    }
}

impl Predicate {
    /// Whether the specimen shows it.
    #[must_use]
    pub fn holds(&self, specimen: &Specimen) -> bool {
        match self {
            Self::Diverges(options, wanted) => {
                let stages = quietly(|| run(&up_to(specimen, &wanted.stage), options)).flatten();
                stages.is_some_and(|stages| Wrong::of(&stages).as_ref() == Some(wanted))
            }
            Self::Crashes(options) => quietly(|| run(specimen, options)).is_none(),
            Self::Says(options, pattern) => {
                quietly(|| findings(specimen, options)).is_some_and(|text| pattern.is_match(&text))
            }
            Self::Exits(options, code) => {
                quietly(|| exit(specimen, options)).is_some_and(|exit| exit == *code)
            }
            Self::Command(words) => command(specimen, words).unwrap_or(false),
        }
    }
}

/// The specimen without the passes behind the first of that name: what they do does not matter.
fn up_to(specimen: &Specimen, pass: &str) -> Specimen {
    let mut first = specimen.clone();
    let entries = &mut first.pipeline.entries;
    let end = entries.iter().position(|entry| entry.name == pass).map_or(0, |at| at + 1);
    // The name of the input is not that of a pass.
    entries.truncate(end);
    first
}

fn run(specimen: &Specimen, options: &ManagerOptions) -> Option<Stages> {
    Stages::run(specimen.module.clone(), &specimen.pipeline, options).ok()
}

/// What `work` gives; nothing if it panics, of which nothing is printed.
fn quietly<T>(work: impl FnOnce() -> T) -> Option<T> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = catch_unwind(AssertUnwindSafe(work));
    std::panic::set_hook(hook);
    result.ok()
}

/// Everything that is said, as text.
fn findings(specimen: &Specimen, options: &ManagerOptions) -> String {
    match Stages::run(specimen.module.clone(), &specimen.pipeline, options) {
        Err(failure) => failure.diagnostics.render(&failure.sources),
        Ok(stages) => {
            let said = |stage: &Stage| match &stage.outcome {
                Outcome::Refused(_, findings) => findings.render(&stage.module.sources),
                Outcome::Faulted(failure) => failure.diagnostics.render(&failure.sources),
                Outcome::Ran(_) => String::new(),
            };
            stages.list.iter().map(said).collect()
        }
    }
}

fn exit(specimen: &Specimen, options: &ManagerOptions) -> u8 {
    let code = match Stages::run(specimen.module.clone(), &specimen.pipeline, options) {
        Err(failure) => failure.exit,
        Ok(stages) => match stages.list.last().map(|stage| &stage.outcome) {
            Some(Outcome::Refused(failure, _)) => exit_of(*failure),
            Some(Outcome::Faulted(failure)) => failure.exit,
            _ if stages.passed() => crate::exit::Exit::Ok,
            _ => crate::exit::Exit::No,
        },
    };
    code as u8
}

/// Whether the command, with a file that holds the specimen as its last word, exits with 0.
fn command(specimen: &Specimen, words: &[String]) -> std::io::Result<bool> {
    let folder = tempfile::tempdir()?;
    let file: PathBuf = folder.path().join("candidate.ir");
    std::fs::write(&file, text(&specimen.module))?;
    let Some((program, arguments)) = words.split_first() else { return Ok(false) };
    let mut command = Command::new(program);
    command.args(arguments).arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.status()?.success())
}
