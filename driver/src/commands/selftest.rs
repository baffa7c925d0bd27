//! `ipu selftest`: long campaigns of the checks that tests run in small.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use crate::exit::Exit;
use crate::exit::Failure;
use crate::files::{read_bytes, write_standard_output};
use crate::fuzz::{self, Target};
#[cfg(feature = "mutations")]
use crate::mutations::Attribution;
use crate::selftest;
#[cfg(feature = "mutations")]
use rayon::prelude::*;

/// Runs a campaign of random programs and prints what it found as one JSON object.
#[derive(Debug, Args)]
pub struct SelftestArguments {
    /// Which campaign.
    campaign: Campaign,
    /// Programs or inputs to try [default: 20 programs; 20000 inputs, or as many as there is time for].
    #[arg(long)]
    count: Option<u32>,
    /// Where the random choices start.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// When to stop fuzzing.
    #[arg(long)]
    seconds: Option<u64>,
    /// Fuzz with these files as they are, and nothing else.
    #[arg(long, value_name = "FILE")]
    input: Vec<PathBuf>,
    /// Where inputs go that fail.
    #[arg(long, value_name = "FOLDER", default_value = "target/fuzz")]
    failures: PathBuf,
}

/// Campaigns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Campaign {
    /// Random products: the device's bits are those of the mapped program.
    Gemm,
    /// Damaged IR: nothing panics, what parses prints back. Run in the root of the repository.
    FuzzIr,
    /// Damaged pipelines, likewise.
    FuzzPipeline,
    /// Damaged packages: what is read is written, shown, lifted and built again.
    FuzzPackage,
    /// Every planted miscompile: what `ipu bisect` names, against what was planted. Run where `test-ir` is.
    #[cfg(feature = "mutations")]
    Mutations,
}

/// Runs the subcommand.
///
/// # Errors
/// The result cannot be written.
pub fn run(arguments: &SelftestArguments) -> Result<Exit, Failure> {
    match arguments.campaign {
        Campaign::Gemm => gemm(arguments),
        Campaign::FuzzIr => fuzz(arguments, Target::Ir),
        Campaign::FuzzPipeline => fuzz(arguments, Target::Pipeline),
        Campaign::FuzzPackage => fuzz(arguments, Target::Package),
        #[cfg(feature = "mutations")]
        Campaign::Mutations => mutations(),
    }
}

/// Bisects every planted miscompile and prints the table.
#[cfg(feature = "mutations")]
fn mutations() -> Result<Exit, Failure> {
    let folder = std::path::Path::new("test-ir");
    let attribute =
        |&mutation: &&'static ipu_passes::mutations::Mutation| crate::mutations::attribute(mutation, folder);
    let all: Vec<Attribution> =
        ipu_passes::mutations::all().par_iter().map(attribute).collect::<Result<_, _>>()?;
    write_standard_output(crate::mutations::table(&all).as_bytes())?;
    let right = all.iter().filter(|one| one.correct).count();
    let enough =
        all.iter().all(|one| one.detected.is_some() && one.pass_correct) && 20 * right >= 19 * all.len();
    Ok(if enough { Exit::Ok } else { Exit::No })
}

fn gemm(arguments: &SelftestArguments) -> Result<Exit, Failure> {
    let (count, seed) = (arguments.count.unwrap_or(20), arguments.seed);
    let mut progress = |index: u32| {
        if index > 0 && index.is_multiple_of(50) {
            eprintln!("{index} of {count}");
        }
    };
    let findings = selftest::gemm(count, seed, &mut progress);
    let object = serde_json::to_string(&findings).unwrap_or_default();
    write_standard_output(format!("{object}\n").as_bytes())?;
    if findings.failures.is_empty() {
        return Ok(Exit::Ok);
    }
    eprintln!("{} of {} programs failed", findings.failures.len(), findings.tried);
    Ok(Exit::No)
}

/// Inputs of a fuzz campaign if neither their number nor a time is given.
const FUZZ_INPUTS: u32 = 20_000;
/// How often a fuzz campaign says how far it is.
const PROGRESS: Duration = Duration::from_secs(30);

fn fuzz(arguments: &SelftestArguments, target: Target) -> Result<Exit, Failure> {
    let named = |path: &PathBuf| Ok((path.display().to_string(), read_bytes(path)?));
    let mut count = arguments.count.or(arguments.seconds.is_none().then_some(FUZZ_INPUTS)).map(u64::from);
    let seeds = match arguments.input.as_slice() {
        [] => fuzz::seeds(target, Path::new("."))?,
        files => {
            count = Some(files.len() as u64);
            files.iter().map(named).collect::<Result<_, _>>()?
        }
    };
    let campaign = fuzz::Campaign {
        target,
        count,
        time: arguments.seconds.map(Duration::from_secs),
        seed: arguments.seed,
        save: Some(arguments.failures.clone()),
    };
    let mut said = Instant::now();
    let mut progress = |report: &fuzz::Report| {
        if said.elapsed() >= PROGRESS {
            said = Instant::now();
            let fuzz::Report { inputs, panics, broken, slow, seconds, .. } = report;
            eprintln!("{inputs} inputs in {seconds} s: {panics} panics, {broken} broken, {slow} slow");
        }
    };
    let report = fuzz::run(&campaign, &seeds, &mut progress)?;
    let object = serde_json::to_string(&report).unwrap_or_default();
    write_standard_output(format!("{object}\n").as_bytes())?;
    let failed = report.panics + report.broken + report.slow;
    if failed == 0 {
        return Ok(Exit::Ok);
    }
    eprintln!("{failed} of {} inputs failed", report.inputs);
    Ok(Exit::No)
}
