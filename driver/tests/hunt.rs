//! The tools that hunt miscompiles, on programs of which the answer is known. Planted bugs are in `mutations.rs`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ipu_driver::load::{LoadOptions, load};
use ipu_driver::stages::Stages;
use ipu_driver::sweep::{Choice, choose};
use ipu_passes::manager::{ManagerOptions, State, registry};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn ipu(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ipu")).args(arguments).current_dir(root()).output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Files below `test-ir` that can be run, in order.
fn cases(folders: &[&str]) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(root().join("test-ir").join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ir"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_stage_of_every_case_computes_the_bits_of_the_one_before() {
    let mut files = cases(&["gemm", "seed", "example", "repro", "hunt", "exchange-cases"]);
    // Mistimed rows are wrong on purpose; tests/exchange_cases.rs has them.
    files.retain(|file| !file.to_string_lossy().contains("mistimed"));
    for file in &files {
        let (module, _) = load(&file.to_string_lossy(), LoadOptions::default()).unwrap();
        let pipeline = registry::default_pipeline(&module, State::Code);
        let stages = Stages::run(module, &pipeline, &ManagerOptions::default()).unwrap();
        assert_eq!(stages.list.len(), pipeline.entries.len() + 1, "{}", file.display());
        for stage in &stages.list {
            assert!(stage.execution().is_some(), "{}: {}", file.display(), stage.name());
            assert_eq!(stage.differ.unwrap_or(0), 0, "{}: {}", file.display(), stage.name());
        }
    }
    assert!(files.len() >= 40, "{} cases", files.len());
}

#[test]
fn a_right_program_has_nothing_to_find() {
    let output = ipu(&["bisect", "test-ir/hunt/two-panels-right.ir"]);
    assert_eq!((output.status.code(), text(&output).contains("nothing is wrong")), (Some(0), true));
    let output = ipu(&["reduce", "test-ir/hunt/two-panels-right.ir"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(text(&output));
}

#[test]
fn a_refusal_is_no_miscompile() {
    let output = ipu(&["bisect", "test-ir/graph/returned.ir"]);
    insta::assert_snapshot!(text(&output));
}

#[test]
fn the_first_op_that_leaves_the_finite_numbers_is_named() {
    let output = ipu(&["check", "test-ir/hunt/overflow.ir"]);
    assert_eq!(output.status.code(), Some(0));
    let text = text(&output);
    assert!(text.contains("`mapped.gemm` makes inf out of finite numbers: 64 elements"), "{text}");
    assert!(text.contains("first at (0, 0) on tile 0"), "{text}");
}

#[test]
fn two_files_differ_by_one_op() {
    let output = ipu(&["diff", "test-ir/hunt/two-panels.ir", "test-ir/hunt/two-panels-right.ir"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(text(&output));
    let output = ipu(&["diff", "test-ir/hunt/two-panels.ir", "test-ir/example/gemm-graph.ir"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(text(&output));
}

#[test]
fn reduction_is_deterministic_and_ends_small() {
    let folder = tempfile::tempdir().unwrap();
    let reduced = |name: &str| {
        let path = folder.path().join(name);
        let output = ipu(&["reduce", "test-ir/repro/flat-cast.ir", "-o", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        let all = std::fs::read_to_string(&path).unwrap();
        all.lines().skip(1).map(|line| format!("{line}\n")).collect::<String>()
    };
    let (first, second) = (reduced("one.ir"), reduced("two.ir"));
    assert_eq!(first, second);
    assert!(first.lines().count() < 40 && first.contains("split = [1, 1]"), "{first}");
    let check = ipu(&["bisect", "--pass-pipeline=", folder.path().join("one.ir").to_str().unwrap()]);
    assert!(text(&check).contains("16-wide panels"), "{}", text(&check));
}

#[test]
fn a_command_is_asked_what_is_interesting() {
    let file = root().join("test-ir/graph/five-ops.ir");
    let output = ipu(&["reduce", file.to_str().unwrap(), "--", "grep", "-q", "graph.transpose"]);
    let all = String::from_utf8(output.stdout).unwrap();
    assert_eq!(all.matches("= graph.transpose").count(), 1, "{all}");
    assert!(!all.contains("graph.gemm") && all.contains("tensor<1x1xf16>"), "{all}");
}

#[test]
fn shards_of_a_sweep_are_disjoint_and_complete() {
    for sample in [None, Some(40)] {
        let whole = choose(300, Choice { sample, seed: 5, shard: (0, 1) });
        assert_eq!(whole.len(), sample.unwrap_or(300));
        let mut parts: Vec<usize> =
            (0..7).flat_map(|part| choose(300, Choice { sample, seed: 5, shard: (part, 7) })).collect();
        parts.sort_unstable();
        assert_eq!(parts, whole);
    }
    assert_ne!(
        choose(300, Choice { sample: Some(40), seed: 5, shard: (0, 1) }),
        choose(300, Choice { sample: Some(40), seed: 6, shard: (0, 1) })
    );
}

#[test]
fn elements_that_are_not_there_are_refused() {
    let output = ipu(&["trace", "test-ir/hunt/two-panels.ir", "--element", "2,0"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(text(&output).lines().last().unwrap_or_default());
}
