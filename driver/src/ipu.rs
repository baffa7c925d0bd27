//! `ipu`: the subcommands behind one command line.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::commands::{
    bench, bisect, check, compile, diff, doc, explain, inspect, reduce, run, selftest, sweep, trace,
};

use crate::log::{self, LogFormat};
use crate::render::{DiagnosticFormat, emit};

/// Runs, checks and explains programs for the IPU.
#[derive(Debug, Parser)]
#[command(name = "ipu", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Event log on standard error.
    #[arg(long, value_enum, default_value = "off", global = true)]
    log: LogFormat,
    /// How findings are shown.
    #[arg(long, value_enum, default_value = "text", global = true)]
    diagnostics: DiagnosticFormat,
}

#[derive(Debug, Subcommand)]
enum Command {
    Compile(compile::CompileArguments),
    Run(run::RunArguments),
    Check(check::CheckArguments),
    Bisect(bisect::BisectArguments),
    Trace(trace::TraceArguments),
    Reduce(Box<reduce::ReduceArguments>),
    Diff(diff::DiffArguments),
    Sweep(sweep::SweepArguments),
    Inspect(inspect::InspectArguments),
    Bench(bench::BenchArguments),
    Selftest(selftest::SelftestArguments),
    Doc(doc::DocArguments),
    Explain(explain::ExplainArguments),
}

/// Runs the program on the process's arguments.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    log::start(arguments.log, "info");
    let result = match &arguments.command {
        Command::Compile(arguments) => compile::run(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::Bisect(arguments) => bisect::run(arguments),
        Command::Reduce(arguments) => reduce::run(arguments),
        Command::Diff(arguments) => diff::run(arguments),
        Command::Sweep(arguments) => sweep::run(arguments),
        Command::Trace(arguments) => trace::run(arguments),
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
        Command::Selftest(arguments) => selftest::run(arguments),
        Command::Doc(arguments) => doc::run(arguments),
        Command::Explain(arguments) => explain::run(arguments),
    };
    match result {
        Ok(exit) => exit,
        Err(failure) => {
            emit(&failure.diagnostics, &failure.sources, arguments.diagnostics);
            failure.exit
        }
    }
    .into()
}
