//! `ipu bench language`: the files that it measures are what it says they are.

use std::path::Path;
use std::process::Command;

use ipu_dialects::ir::Module;
use ipu_dialects::parser::parse_module;
use ipu_dialects::printer::{print_generic, print_module};
use ipu_dialects::verifier::{VerifyOptions, verify};
use ipu_driver::load::LoadOptions;
use serde_json::Value;

/// Measures files of `ops` ops and leaves them in `folder`.
fn measured(folder: &Path, ops: u64, seed: u64) -> Value {
    let (ops, seed) = (ops.to_string(), seed.to_string());
    let output = Command::new(env!("CARGO_BIN_EXE_ipu"))
        .args(["bench", "language", "--count", "1", "--ops", &ops, "--seed", &seed, "--write"])
        .arg(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn parsed(name: &str, text: &str) -> Module {
    let options = LoadOptions { allow_unregistered: true, ..LoadOptions::default() };
    let (module, findings) = parse_module(name, text, options.parse_options());
    assert!(findings.is_empty(), "{name}: {findings:?}");
    module
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn generated_files_are_valid_and_of_the_size_that_is_said() {
    const OPS: u64 = 700;
    let folder = tempfile::tempdir().unwrap();
    let report = measured(folder.path(), OPS, 1);
    let files = report["files"].as_array().unwrap();
    let names: Vec<&str> = files.iter().map(|file| file["file"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["graph.ir", "mapped.ir", "exchange.ir", "tile.ir", "simple.mlir", "rich.mlir", "graph-generic.mlir"]
    );
    for (file, name) in files.iter().zip(names) {
        let text = read(folder.path(), name);
        assert_eq!(file["bytes"], text.len(), "{name}");
        let module = parsed(name, &text);
        let count = module.walk(module.root()).filter(|&op| op != module.root()).count() as u64;
        assert_eq!(file["ops"], count, "{name}");
        assert!((OPS..OPS + 30).contains(&count), "{name}: {count}");
        let allow_unregistered = file["form"] == "generic";
        let verified = verify(&module, VerifyOptions { allow_unregistered });
        assert!(verified.is_ok_and(|(_, warnings)| warnings.is_empty()), "{name}");
        let (own, generic) = (print_module(&module), print_generic(&module, false));
        assert_eq!(print_module(&parsed(name, &own)), own, "{name}");
        assert_eq!(print_generic(&parsed(name, &generic), false), generic, "{name}");
        for phase in ["read", "parse", "verify", "print"] {
            assert!(file["ours"]["phases_us"][phase].as_u64().unwrap() > 0, "{name}: {phase}");
        }
        assert!(file["ours"]["peak_bytes"].as_u64().unwrap() > 1 << 20, "{name}");
    }
}

#[test]
fn generated_files_follow_from_the_seed() {
    let folders = [1, 1, 2].map(|seed| {
        let folder = tempfile::tempdir().unwrap();
        measured(folder.path(), 100, seed);
        folder
    });
    // What is on four tiles with fixed layouts has few choices, but it has some.
    for name in ["graph.ir", "mapped.ir", "exchange.ir", "tile.ir", "simple.mlir", "rich.mlir"] {
        let [one, same, other] = [0, 1, 2].map(|place: usize| read(folders[place].path(), name));
        assert_eq!(one, same, "{name}");
        assert_ne!(one, other, "{name}");
    }
}
