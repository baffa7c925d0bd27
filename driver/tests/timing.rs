//! `--timing` in its three forms, and statistics as text and JSON.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn run(program: &str, line: &str) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(program).args(line.split(' ')).current_dir(root).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn opt(line: &str) -> String {
    let line = format!("{line} test-ir/gemm/two-tiles.ir -o /dev/null");
    String::from_utf8(run(env!("CARGO_BIN_EXE_ipu-opt"), &line).stderr).unwrap()
}

const PASSES: &str = "--canonicalize --select-plans --expand-plans --optimize-exchanges";

#[test]
fn times_are_a_table_of_what_was_done_in_order() {
    let text = opt(&format!("{PASSES} --timing"));
    let spans: Vec<&str> = text.lines().map(|line| line.get(30..).unwrap_or("")).collect();
    let expected = [
        "span",
        "read test-ir/gemm/two-tiles.ir",
        "parse test-ir/gemm/two-tiles.ir",
        "verify test-ir/gemm/two-tiles.ir",
        "pass canonicalize",
        "verify canonicalize",
        "pass select-plans",
        "verify select-plans",
        "pass expand-plans",
        "verify expand-plans",
        // There is nothing to optimize: the module stays as it was, so it is not verified again.
        "pass optimize-exchanges",
        "print",
        "from start to end",
    ];
    let at_the_margin: Vec<&str> = spans.into_iter().filter(|span| !span.starts_with(' ')).collect();
    assert_eq!(at_the_margin, expected, "{text}");
}

#[test]
fn times_as_json_have_stable_keys_and_parents_before_what_is_below() {
    let report: Value = serde_json::from_str(&opt(&format!("{PASSES} --timing=json --threads 2"))).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&report), ["total_us", "threads", "spans"]);
    assert_eq!(report["threads"], 2);
    let spans = report["spans"].as_array().unwrap();
    let mut seen: Vec<&[Value]> = Vec::new();
    for span in spans {
        assert_eq!(keys(span), ["path", "calls", "us", "self_us"]);
        let path = span["path"].as_array().unwrap().as_slice();
        assert!(path.len() == 1 || seen.contains(&&path[..path.len() - 1]), "{path:?}");
        seen.push(path);
    }
}

#[test]
fn a_trace_is_a_list_of_complete_events_in_order_of_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let line = format!("run test-ir/gemm/two-tiles.ir --timing=chrome --timing-output {}", path.display());
    run(env!("CARGO_BIN_EXE_ipu"), &line);
    let trace: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let events = trace.as_array().unwrap();
    let mut last = 0.0;
    for event in events {
        assert_eq!(event["ph"], "X");
        assert!(event["pid"].is_u64() && event["tid"].is_u64(), "{event}");
        let started = event["ts"].as_f64().unwrap();
        assert!(started >= last && event["dur"].as_f64().unwrap() >= 0.0, "{event}");
        last = started;
    }
    for name in ["pass lower-exchanges", "verify lower-exchanges"] {
        assert!(events.iter().any(|event| event["name"] == name), "{name}");
    }
}

#[test]
fn statistics_are_json_lines_or_a_table() {
    let lines = opt("--canonicalize --select-plans --stats");
    for line in lines.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        assert!(entry["pass"].is_string() && entry["name"].is_string(), "{line}");
    }
    assert_eq!(lines, opt("--canonicalize --select-plans --stats=json"));
    let table = opt("--canonicalize --select-plans --stats=text");
    let row = table.lines().find(|line| line.contains("search.priced")).expect(&table);
    assert!(row.starts_with("select-plans  "), "{row}");
    assert!(row.split_whitespace().last().unwrap().parse::<u32>().is_ok(), "{row}");
}
