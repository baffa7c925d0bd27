//! `ipu fmt` on the files of the repository and on files of its own.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::tree::{files_below, root};
use ipu_driver::commands::fmt::formatted;

fn fmt(arguments: &[&str], folder: &Path, input: &str) -> (Option<i32>, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ipu"))
        .arg("fmt")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// What follows `//` on each line, sorted. No file of ours has `//` in a string.
fn comments(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> =
        text.lines().filter_map(|line| Some(line.split_once("//")?.1.trim())).collect();
    found.sort_unstable();
    found
}

#[test]
fn files_are_stable_and_lose_no_comment() {
    let files = ["test-ir", "lit"].map(|folder| files_below(&root().join(folder), "ir")).concat();
    assert!(files.len() > 80);
    let mut refused = Vec::new();
    for path in &files {
        let text = std::fs::read_to_string(path).unwrap();
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let Ok(once) = formatted(&name, &text) else {
            refused.push(name);
            continue;
        };
        assert_eq!(formatted(&name, &once).unwrap(), once, "{name}");
        assert_eq!(comments(&once), comments(&text), "{name}");
    }
    // Files of chunks, some of which do not parse.
    refused.sort();
    assert_eq!(
        refused,
        ["lit/diagnostics/chunks.ir", "lit/diagnostics/places.ir", "test-ir/diagnostics/language.ir"]
    );
}

const UGLY: &str = "// One.\n%a   = \"my.op\"() {at = 0x1F} : () -> f32 // two\n";
const PRETTY: &str = "// One.\n%a = \"my.op\"() {at = 0x1f} : () -> f32  // two\n";

#[test]
fn a_file_is_formatted_in_place_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ir");
    std::fs::write(&path, UGLY).unwrap();
    let (code, out, _) = fmt(&["--check", "a.ir"], folder.path(), "");
    let change = "a.ir:2\n- %a   = \"my.op\"() {at = 0x1F} : () -> f32 // two\n+ %a = \"my.op\"() {at = 0x1f} : () -> f32  // two\n";
    assert_eq!((code, &*out), (Some(1), change));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), UGLY);
    assert_eq!(fmt(&["a.ir"], folder.path(), ""), (Some(0), "formatted a.ir\n".into(), String::new()));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), PRETTY);
    for arguments in [&["a.ir"][..], &["--check", "a.ir"]] {
        assert_eq!(fmt(arguments, folder.path(), ""), (Some(0), String::new(), String::new()));
    }
}

#[test]
fn standard_input_goes_to_standard_output() {
    assert_eq!(fmt(&["-"], &root(), UGLY), (Some(0), PRETTY.into(), String::new()));
    let (code, out, _) = fmt(&["--check", "-"], &root(), UGLY);
    assert_eq!((code, out.lines().next()), (Some(1), Some("<stdin>:2")));
}

#[test]
fn a_file_that_does_not_parse_is_left_alone_and_the_others_are_formatted() {
    let folder = tempfile::tempdir().unwrap();
    let broken = "graph.return   %a\n";
    std::fs::write(folder.path().join("broken.ir"), broken).unwrap();
    std::fs::write(folder.path().join("a.ir"), UGLY).unwrap();
    let (code, out, error) = fmt(&["broken.ir", "missing.ir", "a.ir"], folder.path(), "");
    assert_eq!((code, &*out), (Some(2), "formatted a.ir\n"));
    assert!(error.contains("broken.ir:2:1") || error.contains("broken.ir:1:"), "{error}");
    assert!(error.contains("cannot read `missing.ir`"), "{error}");
    assert_eq!(std::fs::read_to_string(folder.path().join("broken.ir")).unwrap(), broken);
    assert_eq!(std::fs::read_to_string(folder.path().join("a.ir")).unwrap(), PRETTY);
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("a.ir"), folder.path().join("link.ir"));
    std::fs::write(&path, UGLY).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert_eq!(fmt(&["link.ir"], folder.path(), "").0, Some(0));
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), PRETTY);
}
