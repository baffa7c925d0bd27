//! MLIR reads what `--print-generic` writes, and means the same by it: the canonical generic print of a file is the canonical generic
//! print of what `mlir-opt --allow-unregistered-dialect` made of it, for all IR of `test-ir`, `lit` and the book.
//!
//! With an `mlir-opt` (`MLIR_OPT`, or `mlir-opt` or `mlir-opt-NN` on the path; Debian's package is mlir-19-tools) it is asked; without
//! one the texts that it printed before, in `driver/tests/mlir`, are read. `UPDATE_MLIR=1` records them anew.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::tree::{files_below, root};
use ipu_dialects::parser::{ParseOptions, parse_module};
use ipu_dialects::printer::print_generic;
use ipu_dialects::registry::Registry;
use rayon::prelude::*;

/// Longest text of MLIR that is recorded.
const RECORDED_BYTES: usize = 6_000;

fn mlir_opt() -> Option<String> {
    let names = (15..=30).rev().map(|version| format!("mlir-opt-{version}"));
    let named = std::env::var("MLIR_OPT").into_iter().chain(["mlir-opt".to_owned()]).chain(names);
    named.into_iter().find(|name| {
        let version = Command::new(name).arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    })
}

/// What MLIR makes of `text`, in its own generic form with its own names.
fn through(program: &str, text: &str, locations: bool) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(["--allow-unregistered-dialect", "--mlir-print-op-generic"]);
    if locations {
        command.arg("--mlir-print-debuginfo");
    }
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = text.to_owned();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8(output.stdout).unwrap())
}

/// The canonical generic print, if the text can be read.
fn canonical(text: &str, locations: bool) -> Option<String> {
    let options = ParseOptions { registry: Registry::standard(), allow_unregistered: true };
    let (module, findings) = parse_module("case.ir", text, options);
    (!findings.has_errors()).then(|| print_generic(&module, locations))
}

/// All IR of the repository that can be read, by a name that is unique.
fn cases() -> Vec<(String, String)> {
    let mut cases = Vec::new();
    let name_of = |path: &Path| {
        let name = path.strip_prefix(root()).unwrap().with_extension("");
        name.to_string_lossy().replace(['/', '\\'], "-")
    };
    for path in ["test-ir", "lit"].map(|folder| files_below(&root().join(folder), "ir")).concat() {
        cases.push((name_of(&path), std::fs::read_to_string(&path).unwrap()));
    }
    for path in files_below(&root().join("docs"), "md") {
        let page = std::fs::read_to_string(&path).unwrap();
        for (index, block) in page.split("```ir\n").skip(1).enumerate() {
            let text = block.split("\n```").next().unwrap_or("");
            cases.push((format!("{}-{index}", name_of(&path)), format!("{text}\n")));
        }
    }
    cases.retain(|(_, text)| canonical(text, false).is_some());
    cases.sort();
    cases
}

#[test]
fn mlir_reads_the_generic_form_and_means_the_same() {
    let recorded = root().join("driver/tests/mlir");
    let cases = cases();
    assert!(cases.len() > 150, "{} cases", cases.len());
    let Some(program) = mlir_opt() else {
        let mut compared = 0;
        for (name, text) in &cases {
            let Ok(mlir) = std::fs::read_to_string(recorded.join(format!("{name}.mlir"))) else { continue };
            assert_eq!(canonical(&mlir, false), canonical(text, false), "{name}: MLIR means something else");
            compared += 1;
        }
        assert!(compared > 50, "only {compared} recorded texts");
        return;
    };
    let compare = |(name, text): &(String, String)| -> Result<(), String> {
        for locations in [false, true] {
            let ours = canonical(text, locations).unwrap_or_default();
            let mlir = through(&program, &ours, locations).map_err(|error| format!("{name}: {error}"))?;
            let back =
                canonical(&mlir, locations).ok_or_else(|| format!("{name}: not read back:\n{mlir}"))?;
            if let Some((ours, back)) = ours.lines().zip(back.lines()).find(|(ours, back)| ours != back) {
                return Err(format!("{name}: MLIR means something else:\n{ours}\n{back}"));
            }
            let kept = !locations && mlir.len() <= RECORDED_BYTES && !name.starts_with("docs-");
            if kept && std::env::var_os("UPDATE_MLIR").is_some() {
                std::fs::create_dir_all(&recorded).unwrap();
                std::fs::write(recorded.join(format!("{name}.mlir")), mlir).unwrap();
            }
        }
        Ok(())
    };
    let failures: Vec<String> = cases.par_iter().filter_map(|case| compare(case).err()).collect();
    assert!(failures.is_empty(), "{} of {} cases:\n{}", failures.len(), cases.len(), failures.join("\n"));
}
