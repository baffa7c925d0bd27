//! The same bytes every time: what every pass leaves of a case, and its package, for any number of threads and any order of hash
//! maps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The cases of the goldens of stages, and the example, whose graph has more than one op to plan.
const CASES: [&str; 8] = [
    "seed/gemm_f8.ir",
    "repro/flat-cast.ir",
    "gemm/k-split-4.ir",
    "gemm/odd-f8.ir",
    "gemm/two-tiles.ir",
    "gemm/nan-infinity.ir",
    "example/gemm-graph.ir",
    "example/gemm-exchange.ir",
];

/// Threads and hash seeds, each other than the first with everything that a first run left.
const PROCESSES: [(u32, u64); 7] =
    [(1, 0), (2, 0), (8, 0), (1, 1), (2, 0x9e37_79b9), (8, 7), (3, 0xffff_ffff_ffff_ffff)];

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../test-ir")
}

/// Every file that a compilation leaves, by name, and what it says.
fn compiled(case: &Path, threads: u32, seed: u64) -> BTreeMap<String, Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_ipu"))
        .args(["compile", "-o", "out.ipuexe", "--dump-dir", "dump"])
        .arg(case)
        .args(["--threads", &threads.to_string(), "--hash-seed", &seed.to_string()])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}: {said}", case.display());
    let mut files: BTreeMap<String, Vec<u8>> = std::fs::read_dir(folder.path().join("dump"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).unwrap()))
        .collect();
    files.insert("out.ipuexe".to_owned(), std::fs::read(folder.path().join("out.ipuexe")).unwrap());
    files.insert("standard error".to_owned(), said.into_bytes());
    files
}

#[test]
fn every_stage_is_the_same_for_any_number_of_threads_and_any_hash_seed() {
    for case in CASES {
        let path = samples().join(case);
        let [(threads, seed), others @ ..] = PROCESSES;
        let first = compiled(&path, threads, seed);
        assert!(first.len() > 4, "{case}: {:?}", first.keys());
        for (threads, seed) in others {
            let again = compiled(&path, threads, seed);
            assert!(first.keys().eq(again.keys()), "{case}: other files with --threads {threads}");
            for (name, bytes) in &first {
                let same = again[name] == *bytes;
                assert!(same, "{case}: {name} differs with --threads {threads} --hash-seed {seed}");
            }
        }
    }
}

#[test]
fn a_run_says_the_same_for_any_number_of_threads_and_any_hash_seed() {
    // Times and what the clock has to do with are in other keys than these.
    let keys = ["levels", "statistics", "input_sha256", "decomposition", "simulated_cycles", "plan"];
    let run = |case: &str, (threads, seed): (u32, u64)| {
        let output = Command::new(env!("CARGO_BIN_EXE_ipu"))
            .args(["run", "--json"])
            .arg(samples().join(case))
            .args([format!("--threads={threads}"), format!("--hash-seed={seed}")])
            .output()
            .unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        keys.map(|key| report.get(key).map(ToString::to_string))
    };
    for case in ["repro/flat-cast.ir", "gemm/k-split-4.ir"] {
        let first = run(case, PROCESSES[0]);
        assert!(first.iter().all(Option::is_some) || case.starts_with("repro"), "{case}: {first:?}");
        for process in &PROCESSES[1..] {
            assert_eq!(run(case, *process), first, "{case} {process:?}");
        }
    }
}
