//! `ipu run` on the sample files, as a user would: verdicts, exit codes, and equal bits at every level.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::tree::{files_below, root};
use ipu_driver::fuzz::{self, Campaign, Target};

fn ipu(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ipu")).args(arguments).current_dir(root()).output().unwrap()
}

fn report(arguments: &[&str]) -> (Option<i32>, serde_json::Value) {
    let output = ipu(arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{error}")))
}

fn samples(folder: &str) -> Vec<String> {
    let mut files: Vec<String> = std::fs::read_dir(root().join("test-ir").join(folder))
        .unwrap()
        .map(|entry| format!("test-ir/{folder}/{}", entry.unwrap().file_name().to_string_lossy()))
        .filter(|file| file.ends_with(".ir"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_sample_passes_on_the_simulated_device_and_levels_agree_bit_for_bit() {
    let mut files = samples("gemm");
    files.extend(samples("seed"));
    files.extend(samples("example"));
    assert!(files.len() > 15);
    for file in files {
        let (code, report) = report(&["run", &file, "--json"]);
        assert_eq!((code, report["verdict"].as_str()), (Some(0), Some("pass")), "{file}: {report}");
        assert_eq!(report["level"], "tile", "{file}");
        let above = match &*file {
            "test-ir/example/gemm-tile.ir" => continue,
            "test-ir/example/gemm-exchange.ir" => "exchange",
            _ => "mapped",
        };
        let (_, above) = self::report(&["run", &file, "--json", "--at", above]);
        assert_eq!(above["result_sha256"], report["result_sha256"], "{file}");
    }
}

#[test]
fn the_recorded_miscompile_comes_out_the_same_at_every_level() {
    let (code, report) = report(&["run", "test-ir/repro/flat-cast.ir", "--json"]);
    assert_eq!(code, Some(1));
    let levels = report["levels"].as_array().unwrap();
    assert_eq!(levels.len(), 2);
    for level in levels {
        assert_eq!(level["mismatches"], 7565);
        assert_eq!(level["elements"], 8192);
        assert_eq!(level["max_abs_error"].as_f64().map(|error| error as f32), Some(1.436_035_2));
        assert_eq!(level["result_sha256"], levels[0]["result_sha256"]);
    }
}

#[test]
fn the_worked_example_gives_the_same_bits_from_each_of_its_four_levels() {
    let mut digests = Vec::new();
    for level in ["graph", "mapped", "exchange", "tile"] {
        let file = format!("test-ir/example/gemm-{level}.ir");
        let mut arguments = vec!["run", &file, "--json"];
        // The plan that the other files are written for.
        if level == "graph" {
            arguments.extend(["--plan", "grid=2x1x2"]);
        }
        let (code, report) = report(&arguments);
        assert_eq!(code, Some(0), "{file}");
        let levels = report["levels"].as_array().unwrap();
        digests.extend(levels.iter().map(|level| level["result_sha256"].clone()));
    }
    assert!(digests.len() >= 6 && digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");
}

/// The lines of a text that `ipu run` executes.
fn run_lines(text: &str) -> usize {
    text.lines().filter(|line| line.trim_start().starts_with("// run:")).count()
}

#[test]
fn every_run_line_of_the_samples_holds() {
    let files = files_below(&root().join("test-ir"), "ir");
    let mut levels = std::collections::BTreeSet::new();
    for file in files {
        let count = run_lines(&std::fs::read_to_string(&file).unwrap());
        if count == 0 {
            continue;
        }
        let (code, report) = report(&["run", file.to_str().unwrap(), "--json"]);
        let runs = report["runs"].as_array().unwrap();
        assert_eq!(code, Some(0), "{}: {report}", file.display());
        assert!(runs.len() >= count, "{}: {report}", file.display());
        assert!(runs.iter().all(|run| run["verdict"] == "pass"));
        levels.extend(runs.iter().map(|run| run["level"].as_str().unwrap().to_owned()));
    }
    assert_eq!(
        levels.iter().map(String::as_str).collect::<Vec<_>>(),
        ["exchange", "graph", "mapped", "tile"]
    );
}

#[test]
fn run_lines_of_a_graph_hold_at_every_level_below() {
    for level in ["mapped", "exchange", "tile"] {
        let (code, report) = report(&["run", "test-ir/run/graph.ir", "--at", level, "--json"]);
        let runs = report["runs"].as_array().unwrap();
        let levels: Vec<&str> = runs.iter().map(|run| run["level"].as_str().unwrap()).collect();
        assert_eq!((code, levels), (Some(0), vec!["graph", "graph", level, level]), "{report}");
    }
}

#[test]
fn a_run_line_that_does_not_hold_names_the_element_and_the_others_still_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.ir");
    let text = "// run: @main(dense<[0.0, 1.0]>) == dense<[-0.0, 1.0]>
// run: @main(dense<[1.0, nan]>) == dense<[1.0, nan]>
// run: @main(dense<[1.0, 2.0]>) ~= dense<[1.5, 2.01]>
graph.func @main(%a: tensor<2xf32>) -> tensor<2xf16> {
  %c = graph.cast %a : tensor<2xf32> -> tensor<2xf16>
  graph.return %c : tensor<2xf16>
}
";
    std::fs::write(&file, text).unwrap();
    let output = ipu(&["run", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap(), @r"
    graph   @main    FAIL  line 1: 1/2 differ  (reference arithmetic)
    graph   @main    pass  line 2: 0/2 differ  (reference arithmetic)
    graph   @main    FAIL  line 3: 1/2 outside tolerance  (reference arithmetic)
    ");
    let said = String::from_utf8(output.stderr).unwrap().replace(file.to_str().unwrap(), "t.ir");
    let said: Vec<&str> = said.lines().map(str::trim_end).collect();
    insta::assert_snapshot!(said.join("\n"), @r"
    [R0111] Error: `@main` does not give what its run line says: 1 of 2 elements differ
       ╭─[ t.ir:1:37 ]
       │
     1 │ // run: @main(dense<[0.0, 1.0]>) == dense<[-0.0, 1.0]>
       │                                     ─────────┬────────
       │                                              ╰────────── here
       │
       │ Note 1: (0): expected -0, came 0
       │
       │ Note 2: at graph level: reference arithmetic
    ───╯
    [R0111] Error: `@main` does not give what its run line says: 1 of 2 elements differ by more than 0.03 + 0.03 of the value
       ╭─[ t.ir:3:37 ]
       │
     3 │ // run: @main(dense<[1.0, 2.0]>) ~= dense<[1.5, 2.01]>
       │                                     ─────────┬────────
       │                                              ╰────────── here
       │
       │ Note 1: (0): expected 1.5, came 1
       │
       │ Note 2: at graph level: reference arithmetic
    ───╯
    `ipu-opt --explain R0111` says more
    result differs from what the file says
    ");
}

#[test]
fn random_products_have_the_same_bits_on_the_device_as_at_mapped_level() {
    let (code, findings) = report(&["selftest", "gemm", "--count", "12", "--seed", "7"]);
    assert_eq!(code, Some(0), "{findings}");
    assert_eq!(findings["tried"], 12);
    assert!(findings["agreed"].as_u64().unwrap() >= 10, "{findings}");
}

#[test]
fn damaged_inputs_are_refused_and_nothing_panics() {
    let targets = [(Target::Ir, 600, 60), (Target::Pipeline, 600, 3), (Target::Package, 400, 8)];
    for (target, damaged, codes) in targets {
        let seeds = fuzz::seeds(target, &root()).unwrap();
        let count = Some(seeds.len() as u64 + damaged);
        let campaign = Campaign { target, count, time: None, seed: 7, save: None };
        let report = fuzz::run(&campaign, &seeds, &mut |_| {}).unwrap();
        // What is slow is for long campaigns: tests share the machine.
        assert_eq!((report.panics, report.broken), (0, 0), "{:#?}", report.failures);
        assert!(report.parsed > 0 && report.distinct_codes >= codes, "{report:?}");
    }
}

#[test]
fn check_names_the_op_that_stores_something_else_than_it_says() {
    let (code, right) = report(&["check", "test-ir/seed/gemm_f8.ir", "--json"]);
    assert_eq!((code, right["verdict"].as_str()), (Some(0), Some("pass")));
    let stages = right["stages"].as_array().unwrap();
    assert!(stages.iter().all(|stage| stage["differ"].as_u64().unwrap_or(0) == 0), "{right}");
    assert!(
        ["graph", "mapped", "exchange", "tile"]
            .iter()
            .all(|level| stages.iter().any(|stage| stage["level"] == *level))
    );
    let output = ipu(&["check", "test-ir/repro/flat-cast.ir"]);
    assert_eq!(output.status.code(), Some(1));
    let table = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        table.lines().filter(|line| line.contains("7565/8192    1.4360352")).count(),
        table.lines().count() - 1
    );
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("`mapped.relabel` stores something else than it says"), "{error}");
    assert!(error.contains("first at (0, 16), element 16 of shard 0 on tile 0"), "{error}");
}

#[test]
fn options_of_passes_are_flags_too() {
    let file = "test-ir/example/gemm-exchange.ir";
    let opt = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_ipu-opt")).args(arguments).current_dir(root()).output().unwrap()
    };
    let flag = opt(&["--lower-exchanges", "--row-encoding=reference", file]);
    let inline = opt(&["--lower-exchanges=row-encoding=reference", file]);
    assert!(flag.status.success() && flag.stdout == inline.stdout);
    let unused = opt(&["--row-encoding=reference", file]);
    assert_eq!(unused.status.code(), Some(2));
    assert!(String::from_utf8(unused.stderr).unwrap().contains("no pass on the command line takes it"));
}

#[test]
fn the_pinned_plan_costs_what_the_recorded_run_counted() {
    let arguments = ["run", "test-ir/seed/gemm_f8.ir", "--plan", "grid=8x4x2", "--prices", "recorded"];
    let text = String::from_utf8(ipu(&arguments).stdout).unwrap();
    assert!(text.contains("total 3274 cycles, exchange 1840"), "{text}");
    assert!(text.contains("maximum absolute error 0.024902344"), "{text}");
}

#[test]
fn every_failing_exit_says_why() {
    for (arguments, code) in [
        (&["run", "missing.ir"][..], 2),
        (&["run", "test-ir"][..], 2),
        (&["run", "test-ir/seed/gemm_f8.ir", "--plan", "grid=9x9x9"][..], 3),
        (&["run", "test-ir/seed/gemm_f8.ir", "--pass-pipeline", "expand-plans"][..], 2),
        (&["doc", "grap"][..], 2),
        (&["run", "test-ir/repro/flat-cast.ir"][..], 1),
    ] {
        let output = ipu(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
}

/// Runs `ipu-opt` with `input` on its standard input.
fn opt(flag: &str, input: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ipu-opt"))
        .arg(flag)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{flag}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_pipe_of_single_passes_leaves_what_compile_dumps_but_for_the_header() {
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("dump");
    for file in ["test-ir/seed/gemm_f8.ir", "test-ir/gemm/odd-f8.ir"] {
        let output = ipu(&[
            "compile",
            file,
            "-o",
            folder.path().join("out.ipuexe").to_str().unwrap(),
            "--dump-dir",
            dump.to_str().unwrap(),
        ]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut dumped: Vec<PathBuf> =
            std::fs::read_dir(&dump).unwrap().map(|entry| entry.unwrap().path()).collect();
        dumped.sort();
        let mut text = None;
        for path in &dumped {
            let name = path.file_stem().unwrap().to_str().unwrap().split_once('-').unwrap().1.to_owned();
            let whole = std::fs::read_to_string(path).unwrap();
            let (header, body) = whole.split_once('\n').unwrap();
            assert!(header.starts_with("// ipu-opt --pass-pipeline="), "{header}");
            match text.take() {
                None => text = Some(body.to_owned()),
                Some(_) if name == "build-package" => break,
                Some(before) => {
                    let after = opt(&format!("--{name}"), &before);
                    assert!(after == body, "{file}: {name} on text gives something else");
                    assert!(opt("--verify-each=true", &after) == after, "{name} prints to itself");
                    text = Some(after);
                }
            }
            let (code, report) = report(&["run", path.to_str().unwrap(), "--json"]);
            assert_eq!((code, report["verdict"].as_str()), (Some(0), Some("pass")), "{}", path.display());
        }
    }
}
