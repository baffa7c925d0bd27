//! `ipu run` on the files of `test-ir/exchange-cases`: what arrives, by event and on the simulated device.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn ipu_run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ipu")).arg("run").args(arguments).current_dir(root()).output().unwrap()
}

/// Files of the folder, mistimed ones or the others.
fn files(mistimed: bool) -> Vec<String> {
    let folder = "test-ir/exchange-cases";
    let names = std::fs::read_dir(root().join(folder)).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut files: Vec<String> = names
        .filter(|name| name.starts_with("mistimed-") == mistimed)
        .map(|name| format!("{folder}/{name}"))
        .collect();
    files.sort();
    files
}

/// Checks that the run exits 0, which is a verdict on every word: the tolerances of the files are 0.
fn passes(arguments: &[&str]) {
    let output = ipu_run(arguments);
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains(" pass "), "{arguments:?}\n{text}");
}

#[test]
fn every_word_arrives_where_the_file_says() {
    let files = files(false);
    assert_eq!(files.len(), 18);
    for file in &files {
        passes(&[file, "--at", "exchange"]);
        for encoding in ["reference", "compact"] {
            let pipeline = format!("lower-exchanges{{row-encoding={encoding}}},emit-tile-code,build-package");
            passes(&[file, "--pass-pipeline", &pipeline]);
        }
    }
}

/// The files expect the predicted memory: words lost, shifted, in the wrong buffer. One prediction writes through a
/// pointer that nothing has set; on the device that is a fault with the predicted event and address.
#[test]
fn mistimed_rows_leave_the_predicted_memory() {
    let files = files(true);
    assert_eq!(files.len(), 8);
    for file in &files {
        if !file.ends_with("receiver-pic-one-late.ir") {
            passes(&[file]);
            continue;
        }
        let output = ipu_run(&[file]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("through a pointer to 0x0") && text.contains("[event 55]"), "{text}");
    }
}
