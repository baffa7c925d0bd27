//! `ipu`: the subcommands behind one command line.

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::commands::{
    bench, bisect, check, compile, diff, doc, explain, fmt, inspect, reduce, run, selftest, sweep, trace,
};

use crate::exit::{Exit, Failure};
use crate::log::LogFormat;
use crate::process::{ProcessOptions, finish, guarded};
use crate::render::DiagnosticFormat;
use crate::rerun;

/// Runs, checks and explains programs for the IPU.
#[derive(Debug, Parser)]
#[command(name = "ipu", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    process: ProcessOptions,
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
    Fmt(fmt::FmtArguments),
    Inspect(inspect::InspectArguments),
    Bench(bench::BenchArguments),
    Selftest(selftest::SelftestArguments),
    Doc(doc::DocArguments),
    Explain(explain::ExplainArguments),
}

/// Runs the program on the process's arguments.
#[must_use]
pub fn main() -> ExitCode {
    let words = match rerun::arguments(Arguments::command(), std::env::args_os().collect()) {
        Ok(words) => words,
        Err(failure) => return finish(Err(failure), None, DiagnosticFormat::Text),
    };
    let arguments = Arguments::parse_from(words);
    let timing = arguments.process.start(arguments.log);
    finish(guarded(|| arguments.command.run(arguments.diagnostics)), timing.as_ref(), arguments.diagnostics)
}

impl Command {
    fn run(&self, format: DiagnosticFormat) -> Result<Exit, Failure> {
        match self {
            Self::Compile(arguments) => compile::run(arguments),
            Self::Run(arguments) => run::run(arguments),
            Self::Check(arguments) => check::run(arguments),
            Self::Bisect(arguments) => bisect::run(arguments),
            Self::Reduce(arguments) => reduce::run(arguments),
            Self::Diff(arguments) => diff::run(arguments),
            Self::Sweep(arguments) => sweep::run(arguments),
            Self::Trace(arguments) => trace::run(arguments),
            Self::Inspect(arguments) => inspect::run(arguments),
            Self::Bench(arguments) => bench::run(arguments),
            Self::Selftest(arguments) => selftest::run(arguments),
            Self::Doc(arguments) => doc::run(arguments),
            Self::Fmt(arguments) => fmt::run(arguments, format),
            Self::Explain(arguments) => explain::run(arguments),
        }
    }
}
