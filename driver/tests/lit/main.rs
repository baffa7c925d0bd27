//! The files in `lit/`: `// RUN:` lines are run by bash, `FileCheck` in them is `filecheck.rs`.
//!
//! Own code, because `litnik` (0.2.1) takes about 200 crates and 100 s of building on two cores for what is small. The files mean the
//! same to LLVM: `lit lit` with FileCheck runs them by `lit/lit.cfg.py`, and the last test does where both are installed.

mod filecheck;
#[path = "../tree/mod.rs"]
mod tree;

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};
use tree::{files_below, root};

/// What the RUN lines find besides the programs.
const PRELUDE: &str = "set -euo pipefail\n\
    FileCheck() { \"${LIT}\" --filecheck \"$@\"; }\n\
    not() { local status=0; \"$@\" || status=$?; [[ ${status} -gt 0 && ${status} -lt 128 ]]; }\n";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "--filecheck") {
        return file_check(&arguments[1..]);
    }
    let mut trials: Vec<Trial> = files_below(&root().join("lit"), "ir")
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(root()).unwrap().display().to_string();
            Trial::test(name, move || run(&path).map_err(Failed::from))
        })
        .collect();
    trials.push(Trial::test("llvm_means_the_same", || llvm().map_err(Failed::from)));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// `FileCheck FILE [--check-prefix=NAME]` on standard input.
fn file_check(arguments: &[String]) -> ExitCode {
    let (mut prefix, mut file) = ("CHECK", "");
    for argument in arguments {
        match argument.strip_prefix("--check-prefix=") {
            Some(name) => prefix = name,
            None if argument.starts_with('-') => {
                eprintln!("FileCheck here has no option `{argument}`");
                return ExitCode::from(2);
            }
            None => file = argument,
        }
    }
    let checks = std::fs::read_to_string(file).unwrap_or_default();
    let mut input = String::new();
    let read = std::io::stdin().read_to_string(&mut input).map_err(|error| error.to_string());
    match read.and_then(|_| filecheck::check(&checks, prefix, &input)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{file}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn path_with_programs() -> String {
    let binaries = Path::new(env!("CARGO_BIN_EXE_ipu")).parent().unwrap();
    format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap_or_default())
}

fn run(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    if !text.starts_with("// ") || text.starts_with("// RUN") {
        return Err("the first line must say what the file shows".to_owned());
    }
    if let Some(word) = ["XFAIL:", "REQUIRES:", "UNSUPPORTED:"].iter().find(|word| text.contains(**word)) {
        return Err(format!("`{word}` is not supported"));
    }
    let lines: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once("RUN: ")?.1)).collect();
    if lines.is_empty() {
        return Err("there is no `RUN:` line".to_owned());
    }
    let temporary = tempfile::tempdir().map_err(|error| error.to_string())?;
    let folder = path.parent().unwrap_or(path).display().to_string();
    let script = lines.join("\n").replace("%s", &path.display().to_string()).replace("%S", &folder);
    let script = script.replace("%t", &temporary.path().join("t").display().to_string());
    let output = Command::new("bash")
        .args(["-c", &format!("{PRELUDE}{script}")])
        .env("PATH", path_with_programs())
        .env("LIT", std::env::current_exe().map_err(|error| error.to_string())?)
        .env("NO_COLOR", "1")
        .current_dir(temporary.path())
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let error = String::from_utf8_lossy(&output.stderr);
    Err(format!("{script}\n{error}{}", String::from_utf8_lossy(&output.stdout)))
}

/// Runs the files with LLVM's lit and FileCheck.
fn llvm() -> Result<(), String> {
    let there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let check = ["FileCheck", "FileCheck-19", "FileCheck-20", "FileCheck-18"].into_iter().find(there);
    let (true, Some(check)) = (there(&"lit"), check) else {
        eprintln!("skipped: lit and LLVM's FileCheck are not installed");
        return Ok(());
    };
    let output = Command::new("lit")
        .args(["-v", "lit"])
        .env("PATH", path_with_programs())
        .env("FILECHECK", check)
        .current_dir(root())
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stdout).into_owned()) }
}
