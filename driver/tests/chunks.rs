//! `ipu-opt --split-input-file` and `--verify-diagnostics`, as a user would.

use std::path::Path;
use std::process::Command;

/// Three chunks, of which the second does not parse.
const CHUNKS: &str = "\
// The first.
graph.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  graph.return %a : tensor<4x4xf32>
}
// -----
graph.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  graph.return %a tensor<4x4xf32>
}
// -----
graph.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %t = graph.transpose %a permutation [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  %u = graph.transpose %t permutation [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  graph.return %u : tensor<4x4xf32>
}
";

/// The place of the error, and what it says.
const ERROR: &str = "expected `:`, found `tensor`";

struct Ran {
    code: Option<i32>,
    output: String,
    error: String,
}

fn run(folder: &Path, text: &str, arguments: &[&str]) -> Ran {
    std::fs::write(folder.join("t.ir"), text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ipu-opt"));
    let output = command.args(arguments).arg("t.ir").current_dir(folder).output().unwrap();
    Ran {
        code: output.status.code(),
        output: String::from_utf8(output.stdout).unwrap(),
        error: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn chunks_run_alone_and_keep_their_places_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), CHUNKS, &["--split-input-file", "--canonicalize", "--no-locations"]);
    assert_eq!(ran.code, Some(2));
    let function = "graph.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {\n  \
                    graph.return %a : tensor<4x4xf32>\n}\n";
    assert_eq!(ran.output, format!("// The first.\n{function}// -----\n// -----\n{function}"));
    assert!(ran.error.contains(ERROR) && ran.error.contains("t.ir:7:19"), "{}", ran.error);
    assert!(ran.error.contains(" 7 │   graph.return %a tensor<4x4xf32>"), "{}", ran.error);
    let ran = run(folder.path(), CHUNKS, &["--split-input-file", "--canonicalize"]);
    assert!(ran.output.contains("loc(\"t.ir\":13:3)"), "{}", ran.output);
}

#[test]
fn the_worst_chunk_decides_how_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let good = CHUNKS.split("// -----\n").next().unwrap();
    let two = format!("{good}// -----\n{good}");
    assert_eq!(run(folder.path(), &two, &["--split-input-file"]).code, Some(0));
    // A module of two chunks defines its function twice.
    assert_eq!(run(folder.path(), &two, &[]).code, Some(2));
    // A product of one plan that does not fit, then a text that does not parse.
    let gemm = std::fs::read_to_string("../test-ir/gemm/two-tiles.ir").unwrap();
    let text = format!("{gemm}// -----\n{}", CHUNKS.split("// -----\n").nth(1).unwrap());
    let ran = run(folder.path(), &text, &["--split-input-file", "--select-plans=plan=grid=9x9x9"]);
    assert_eq!((ran.code, ran.error.matches("Error: ").count()), (Some(3), 2), "{}", ran.error);
}

#[test]
fn each_chunk_is_dumped_into_a_folder_of_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), CHUNKS, &["--split-input-file", "--canonicalize", "--dump-dir", "dump"]);
    assert_eq!(ran.code, Some(2));
    let there = |name: &str| folder.path().join("dump").join(name).exists();
    assert!(there("0/01-canonicalize.ir") && !there("1") && there("2/01-canonicalize.ir"));
}

#[test]
fn expected_findings_are_a_success_that_prints_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--split-input-file", "--verify-diagnostics", "--canonicalize"];
    let comment = format!("  // expected-error[E0201]@+1 {{{{{ERROR}}}}}\n  graph.return %a tensor");
    let text = CHUNKS.replace("  graph.return %a tensor", &comment);
    let ran = run(folder.path(), &text, &flags);
    assert_eq!((ran.code, ran.output.as_str(), ran.error.as_str()), (Some(0), "", ""));
    // Without the flag the comments are comments.
    assert_eq!(run(folder.path(), &text, &["--split-input-file"]).code, Some(2));
    // An expectation does not reach over the end of its chunk.
    let beyond = format!("// expected-error@+6 {{{{{ERROR}}}}}");
    let ran = run(folder.path(), &CHUNKS.replace("// The first.", &beyond), &flags);
    assert_eq!((ran.code, ran.error.matches("Error: ").count()), (Some(1), 2), "{}", ran.error);
}

#[test]
fn disagreements_are_shown_where_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--split-input-file", "--verify-diagnostics"];
    let ran = run(folder.path(), CHUNKS, &flags);
    assert_eq!(ran.code, Some(1));
    assert!(ran.error.contains(&format!("[R0302] Error: unexpected error[E0201]: {ERROR}")), "{}", ran.error);
    assert!(ran.error.contains("t.ir:7:19"), "{}", ran.error);
    let text = CHUNKS.replace("// The first.", "// expected-warning@+1 {{nothing of the kind}}");
    let ran = run(folder.path(), &text, &flags);
    let unmet = "[R0301] Error: expected warning is not reported: {{nothing of the kind}}";
    assert!(ran.error.contains(unmet) && ran.error.contains("t.ir:1:4"), "{}", ran.error);
}

#[test]
fn findings_of_passes_are_expected_too() {
    let folder = tempfile::tempdir().unwrap();
    let text = "// expected-error[P0610]@+2 {{the program has no `graph.gemm` to plan}}\n".to_owned()
        + CHUNKS.split("// -----\n").next().unwrap();
    let ran = run(folder.path(), &text, &["--verify-diagnostics", "--select-plans"]);
    assert_eq!((ran.code, ran.error.as_str()), (Some(0), ""));
    // A file without `@main` has no place for its finding.
    let text = "// expected-error@unknown {{the file has no program `@main`}}\n";
    let ran = run(folder.path(), text, &["--verify-diagnostics", "--select-plans"]);
    assert_eq!((ran.code, ran.error.as_str()), (Some(0), ""));
}

#[test]
fn packages_have_no_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), "", &["--split-input-file", "--lift-package"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.error.contains("takes a package, which has neither chunks nor comments"), "{}", ran.error);
}

#[test]
fn samples_find_what_their_comments_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../test-ir/diagnostics");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ipu-opt"));
        let output =
            command.args(["--split-input-file", "--verify-diagnostics"]).arg(&path).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {error}", path.display());
        files += 1;
    }
    assert!(files > 0);
}
