//! `ipu sweep`: every plan that the planner could choose for a case, compiled, run and compared.

use clap::Args;

use crate::exit::{DriverCode, Exit, Failure};
use crate::files::write_standard_output;
use crate::load::{LoadOptions, load};
use crate::render::{DiagnosticFormat, emit};
use crate::sweep::{Choice, Ending, Outcome, Sweep, sweep};

/// Compiles and runs every plan of a case, not only the best, and compares them.
///
/// The device must compute the bits of each plan's mapped program; plans with one or two inner blocks, which add the same numbers
/// in the same order, must compute the same bits as each other.
#[derive(Debug, Args)]
pub struct SweepArguments {
    /// Graph files.
    #[arg(required = true)]
    files: Vec<String>,
    /// Try this many plans of each file, chosen at random, instead of all.
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// Where random choices start.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Do part I of N; all parts together are the whole.
    #[arg(long, value_name = "I/N", default_value = "0/1", value_parser = parse_shard)]
    shard: (usize, usize),
    /// Print one JSON line a plan.
    #[arg(long)]
    json: bool,
}

fn parse_shard(text: &str) -> Result<(usize, usize), String> {
    let expected = || format!("`{text}` is no part; expected I/N with I from 0 to N-1, such as 0/4");
    let (part, parts) = text.split_once('/').ok_or_else(expected)?;
    let (part, parts) = (part.parse().map_err(|_| expected())?, parts.parse().map_err(|_| expected())?);
    if part < parts { Ok((part, parts)) } else { Err(expected()) }
}

/// Runs the subcommand.
///
/// # Errors
/// A file is refused, or holds no program that the planner takes.
pub fn run(arguments: &SweepArguments) -> Result<Exit, Failure> {
    let choice = Choice { sample: arguments.sample, seed: arguments.seed, shard: arguments.shard };
    let mut passed = true;
    for file in &arguments.files {
        let (module, warnings) = load(file, LoadOptions::default())?;
        emit(&warnings, &module.sources, DiagnosticFormat::Text);
        let found = sweep(file, module, choice)?;
        passed &= found.passed();
        let text = if arguments.json { lines(&found)? } else { summary(file, &found) };
        write_standard_output(text.as_bytes())?;
    }
    Ok(if passed { Exit::Ok } else { Exit::No })
}

fn lines(found: &Sweep) -> Result<String, Failure> {
    let mut text = String::new();
    for outcome in &found.outcomes {
        let line = serde_json::to_string(outcome)
            .map_err(|error| Failure::new(Exit::Internal, DriverCode::Internal, error.to_string()))?;
        text.push_str(&line);
        text.push('\n');
    }
    Ok(text)
}

fn summary(file: &str, found: &Sweep) -> String {
    let count = |ending| found.count(ending);
    let mut text = format!(
        "{file}: {} of {} plans; {} agree, {} outside tolerance, {} refused, {} diverge, {} fail\n",
        found.outcomes.len(),
        found.plans,
        count(Ending::Agrees),
        count(Ending::OutsideTolerance),
        count(Ending::Refused),
        count(Ending::Diverges),
        count(Ending::Fails),
    );
    for (blocks, results) in &found.different {
        text.push_str(&format!("    distinct results of the plans with inner blocks {blocks}: {results}\n"));
    }
    let bad = |outcome: &&Outcome| outcome.ending != Ending::Agrees;
    for outcome in found.outcomes.iter().filter(bad) {
        let said = outcome.said.as_deref().unwrap_or_default().trim_end();
        text.push_str(&format!(
            "    plan {} ({}): {:?}: {said}\n",
            outcome.index, outcome.plan, outcome.ending
        ));
    }
    text
}
