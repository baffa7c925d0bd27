//! `ipu selftest`: long campaigns of the checks that tests run in small.

use clap::{Args, ValueEnum};

use crate::exit::Exit;
use crate::exit::Failure;
use crate::files::write_standard_output;
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
    /// Programs to try.
    #[arg(long, default_value_t = 20)]
    count: u32,
    /// Where the random choices start.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Campaigns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Campaign {
    /// Random products: the device's bits are those of the mapped program.
    Gemm,
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
    let SelftestArguments { count, seed, .. } = *arguments;
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
