//! Every snapshot file belongs to a test that is still there, told by names alone.
//!
//! A snapshot says in its `source:` line which file reads it. `crate__module__name-2.snap` is read by function `name` of that
//! file, or by a call with the literal `"name"`. Other names are made at run time: of such a file the test must set a snapshot
//! folder, and the name must be that of an IR file beside the snapshot, of a pass, or of a file in `test-ir`. `.ci/goldens`
//! knows exactly, because it runs the tests.

use crate::tree::{files_below, root};
use ipu_passes::manager::registry;

/// Why no test reads a snapshot named `stem`, of which `source` is the text of the file that did; nothing if one does.
fn unread(stem: &str, source: &str, samples: &[String]) -> Option<String> {
    let name = stem.rsplit("__").next().unwrap_or(stem);
    let (base, number) = name.rsplit_once('-').unwrap_or((name, ""));
    let base = if number.parse::<u32>().is_ok() { base } else { name };
    let called =
        |name: &str| source.contains(&format!("fn {name}(")) || source.contains(&format!("\"{name}\""));
    if called(name) || called(base) {
        return None;
    }
    let made = source.contains("assert_snapshot!(name,");
    if made && (registry::find(base).is_some() || samples.iter().any(|sample| sample == base)) {
        return None;
    }
    Some(format!("no function, name or sample `{base}`"))
}

#[test]
fn every_snapshot_is_read_by_a_test() {
    let root = root();
    let samples: Vec<String> = files_below(&root.join("test-ir"), "ir")
        .iter()
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    let snapshots = files_below(&root, "snap");
    assert!(snapshots.len() > 100);
    let mut dead = Vec::new();
    for path in snapshots {
        let text = std::fs::read_to_string(&path).unwrap();
        let named = text.lines().take(4).find_map(|line| line.strip_prefix("source: "));
        let source = named.and_then(|named| std::fs::read_to_string(root.join(named)).ok());
        let stem = path.file_stem().unwrap().to_string_lossy();
        let why = match source {
            Some(source) => unread(&stem, &source, &samples),
            None => Some(format!("its source {} is gone", named.unwrap_or("is not named and"))),
        };
        dead.extend(why.map(|why| format!("{}: {why}", path.strip_prefix(&root).unwrap().display())));
    }
    assert!(dead.is_empty(), "snapshots that no test reads:\n{}", dead.join("\n"));
}

#[test]
fn a_snapshot_without_its_test_is_found() {
    let source = "fn sizes_agree() { insta::assert_snapshot!(a); insta::assert_snapshot!(\"row\", b); }";
    assert_eq!(unread("ipu__tests__sizes_agree-2", source, &[]), None);
    assert_eq!(unread("packages__row", source, &[]), None);
    assert!(unread("ipu__tests__sizes_differ", source, &[]).is_some());
    assert!(unread("canonicalize", source, &[]).is_some());
    let named = "insta::assert_snapshot!(name, text)";
    assert_eq!(unread("schedule-exchanges-2", named, &[]), None);
    assert!(unread("schedule-everything", named, &[]).is_some());
}
