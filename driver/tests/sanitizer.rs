//! What the sanitizer says of the programs of `test-ir/sanitizer`, and that without it their results look right.

use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    Command::new(env!("CARGO_BIN_EXE_ipu")).arg("run").args(arguments).current_dir(root).output().unwrap()
}

/// What a run that faults says.
fn fault(name: &str, arguments: &[&str]) -> String {
    let output = run(&[&[&*format!("test-ir/sanitizer/{name}.ir")], arguments].concat());
    assert_eq!(output.status.code(), Some(1), "{name}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn accesses_outside_of_live_buffers_are_faults_that_name_the_buffer() {
    for name in ["canary", "stale-read", "late-write"] {
        insta::assert_snapshot!(name, fault(name, &[]));
        let unchecked = run(&[&format!("test-ir/sanitizer/{name}.ir"), "--sanitize", "false"]);
        assert!(unchecked.status.success(), "{name}: {}", String::from_utf8_lossy(&unchecked.stderr));
    }
}

#[test]
fn padding_that_nobody_wrote_is_named_at_both_levels() {
    insta::assert_snapshot!("k-padding-exchange", fault("k-padding", &["--at", "exchange"]));
    insta::assert_snapshot!("k-padding-tile", fault("k-padding", &["--at", "tile"]));
}
