//! The tests of a crate are modules of one program, `tests/suite.rs`; a file that it does not name would never run.

use crate::tree::root;

#[test]
fn every_file_of_tests_runs() {
    let mut files = 0;
    for tests in ["device", "passes", "driver"].map(|name| root().join(name).join("tests")) {
        let suite = std::fs::read_to_string(tests.join("suite.rs")).unwrap();
        let manifest = std::fs::read_to_string(tests.join("../Cargo.toml")).unwrap();
        for path in std::fs::read_dir(&tests).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_stem().unwrap().to_string_lossy();
            if path.extension().is_some_and(|extension| extension == "rs") {
                let module = suite.lines().any(|line| line == format!("mod {name};"));
                let program = manifest.lines().any(|line| line == format!("name = \"{name}\""));
                assert!(module || program, "{} runs in no suite", path.display());
                files += 1;
            }
        }
    }
    assert!(files > 50, "{files} files of tests");
}
