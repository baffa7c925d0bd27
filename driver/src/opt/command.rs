//! The command line of `ipu-opt`: its flags, one flag a pass, and the options of passes.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Args as _, Command, value_parser};
use indexmap::IndexMap;
use ipu_passes::manager::registry;

use crate::listings::ListFormat;
use crate::log::LogFormat;
use crate::pass_options::PassOptions;
use crate::process::ProcessOptions;
use crate::render::DiagnosticFormat;

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
pub(super) fn pass_options() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let all: IndexMap<_, _> = registry::all()
        .iter()
        .flat_map(|info| info.options)
        .map(|option| (option.name, (option.name, option.form, option.help)))
        .collect();
    all.into_values()
}
