//! `--canonicalize` on the files of `test-ir/canonicalize`, one behaviour a file, and on the other graph programs.

use std::fs;
use std::path::{Path, PathBuf};

use ipu_dialects::ir::Module;
use ipu_dialects::parser::{ParseOptions, parse_module};
use ipu_dialects::printer::{PrintOptions, print_with};
use ipu_dialects::registry::Registry;
use ipu_dialects::verifier::{VerifyOptions, verify};
use ipu_passes::canonicalize::{Canonicalized, Limits, Stop, canonicalize, rules};

fn test_ir(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../test-ir").join(folder)
}

/// The texts of a folder in order of name, each with its name.
fn files(folder: &str) -> Vec<(String, String)> {
    let entries = fs::read_dir(test_ir(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "ir")).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    paths.into_iter().map(read).collect()
}

fn parse(name: &str, text: &str) -> Module {
    let options = ParseOptions { registry: Registry::standard(), allow_unregistered: true };
    let (module, diagnostics) = parse_module(name, text, options);
    assert_eq!(diagnostics.render(&module.sources), "", "{name}");
    module
}

fn verified_text(name: &str, module: &Module) -> String {
    if let Err(diagnostics) = verify(module, VerifyOptions { allow_unregistered: true }) {
        panic!("{name}: {}", diagnostics.render(&module.sources));
    }
    print_with(module, PrintOptions::default())
}

fn run(name: &str, text: &str) -> (String, Canonicalized) {
    let mut module = parse(name, text);
    let report = canonicalize(&mut module, Limits::default(), || true);
    (verified_text(name, &module), report)
}

#[test]
fn each_behaviour_has_its_golden() {
    for (name, text) in files("canonicalize") {
        let (result, report) = run(&name, &text);
        assert_eq!(report.stop, Some(Stop::Saturated), "{name}");
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(test_ir("canonicalize"));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(name, result));
    }
}

#[test]
fn a_second_run_changes_nothing() {
    for (name, text) in files("canonicalize") {
        let (once, _) = run(&name, &text);
        let (twice, report) = run(&name, &once);
        assert_eq!(twice, once, "{name}");
        assert_eq!((report.created, report.removed), (0, 0), "{name}");
    }
}

#[test]
fn what_cannot_become_cheaper_stays_to_the_byte() {
    let programs = files("gemm").into_iter().chain(files("seed"));
    for (name, text) in programs.filter(|(_, text)| text.contains("graph.func @main")) {
        let before = verified_text(&name, &parse(&name, &text));
        let (after, report) = run(&name, &text);
        assert_eq!(after, before, "{name}");
        assert_eq!((report.created, report.removed), (0, 0), "{name}");
    }
}

#[test]
fn nothing_is_rewritten_without_leave() {
    for (name, text) in files("canonicalize") {
        let mut module = parse(&name, &text);
        let report = canonicalize(&mut module, Limits::default(), || false);
        assert_eq!(report.created, 0, "{name}");
        assert_eq!(report.moved_bytes_after, report.moved_bytes_before, "{name}");
    }
}

#[test]
fn a_search_that_is_cut_short_says_so_and_is_no_worse() {
    for (name, text) in files("canonicalize") {
        let mut module = parse(&name, &text);
        let report = canonicalize(&mut module, Limits { iterations: 1, nodes: 3 }, || true);
        verified_text(&name, &module);
        assert!(report.moved_bytes_after <= report.moved_bytes_before, "{name}");
        if report.created > 0 {
            assert_ne!(report.stop, Some(Stop::Saturated), "{name}");
        }
    }
}

#[test]
fn the_page_lists_every_rule() {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/passes/canonicalize.md"))
            .unwrap();
    let listed: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name)
        .collect();
    let rules: Vec<&str> = rules::statements().map(|(name, _)| name).collect();
    assert_eq!(listed, rules);
}
