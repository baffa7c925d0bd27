//! `ipu bench`: figures about ourselves, measured on this machine, as one JSON object.

mod language;
mod process;
mod runs;
mod texts;

use std::time::Duration;

use clap::{Args, Subcommand};

use crate::exit::{DriverCode, Exit, Failure};
use crate::files::write_standard_output;

/// Measures ourselves on this machine and prints one JSON object.
#[derive(Debug, Args)]
pub struct BenchArguments {
    #[command(subcommand)]
    what: Benchmark,
}

/// What is measured.
#[derive(Debug, Subcommand)]
enum Benchmark {
    Run(runs::RunsArguments),
    Language(language::LanguageArguments),
}

/// Runs the subcommand.
///
/// # Errors
/// A measured process fails, or a file cannot be written.
pub fn run(arguments: &BenchArguments) -> Result<Exit, Failure> {
    let object = match &arguments.what {
        Benchmark::Run(arguments) => runs::cold_runs(arguments)?,
        Benchmark::Language(arguments) => language::language(arguments)?,
    };
    write_standard_output(format!("{object}\n").as_bytes())?;
    Ok(Exit::Ok)
}

fn failed(message: &str) -> Failure {
    Failure::new(Exit::Input, DriverCode::Usage, format!("the measured run failed: {message}"))
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// The middle value; of two middle ones the greater.
fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_median_is_the_middle_value() {
        assert_eq!(super::median(vec![5, 1, 3]), 3);
        assert_eq!(super::median(vec![4, 1, 3, 2]), 3);
        assert_eq!(super::median(vec![]), 0);
    }
}
