//! The sample files of the repository at graph and mapped level.

use std::path::{Path, PathBuf};

use crate::ir::Module;
use crate::parser::{ParseOptions, parse_module};
use crate::printer::{PrintOptions, print_with};
use crate::registry::Registry;
use crate::verifier::{VerifyOptions, verify};

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../test-ir")
}

/// The text of `path` below `test-ir`.
pub fn text(path: &str) -> String {
    std::fs::read_to_string(samples().join(path)).unwrap()
}

/// The module of `path` below `test-ir`.
pub fn module(path: &str) -> Module {
    parse(path, &text(path))
}

/// The module of `text`, which has no errors.
pub fn parse(name: &str, text: &str) -> Module {
    let (module, diagnostics) = parse_module(name, text, ParseOptions::new(Registry::standard()));
    assert_eq!(diagnostics.render(&module.sources), "");
    module
}

/// Files of the folders below `test-ir` at graph and mapped level.
fn files() -> Vec<String> {
    let mut files = Vec::new();
    for folder in ["example", "gemm", "repro", "seed"] {
        for entry in std::fs::read_dir(samples().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let lower = name.contains("exchange") || name.contains("tile.");
            if name.ends_with(".ir") && !lower {
                files.push(format!("{folder}/{name}"));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn samples_print_to_themselves_and_verify() {
    let files = files();
    assert!(files.len() > 15);
    for file in files {
        let text = text(&file);
        let module = parse(&file, &text);
        let printed = print_with(&module, PrintOptions { generic: false, locations: false });
        if std::env::var_os("REWRITE").is_some() {
            std::fs::write(samples().join(&file), &printed).unwrap();
        } else {
            assert_eq!(printed, text, "{file}");
        }
        let found = verify(&module, VerifyOptions::default());
        let errors = found.err().map(|found| found.render(&module.sources));
        assert_eq!(errors, None, "{file}");
    }
}
