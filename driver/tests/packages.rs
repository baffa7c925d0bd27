//! Packages on the command line: made, shown, refused when damaged, run one at a time.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ipu_device::runtime::DeviceLock;

const EXAMPLE: &str = "test-ir/example/gemm-exchange.ir";

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ipu"));
    command.args(arguments).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    command
}

fn ipu(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn text(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8(output.stdout.clone()).unwrap())
}

/// The example as a package in `folder`.
fn package(folder: &Path) -> PathBuf {
    let path = folder.join("example.ipuexe");
    let output = ipu(&["compile", EXAMPLE, "-o", path.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path
}

#[test]
fn a_package_says_what_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = package(folder.path());
    let path = path.to_str().unwrap();
    let (code, summary) = text(&ipu(&["inspect", path]));
    assert_eq!(code, Some(0));
    insta::assert_snapshot!("summary", summary);
    let (code, tile) = text(&ipu(&["inspect", path, "--tile", "2"]));
    assert_eq!(code, Some(0));
    let row = tile.find("row @gather").unwrap();
    let row: Vec<&str> = tile[row..].lines().take(9).collect();
    insta::assert_snapshot!("row", row.join("\n"));
    let (_, json) = text(&ipu(&["inspect", path, "--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["tiles"], &json["images"]), (&1472.into(), &5.into()));
}

#[test]
fn damaged_and_missing_packages_are_refused_with_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(package(folder.path())).unwrap();
    let path = folder.path().join("damaged.ipuexe");
    let mut flipped = whole.clone();
    flipped[4000] ^= 1;
    for bytes in [&whole[..whole.len() / 2], &flipped, b"", b"no package"] {
        std::fs::write(&path, bytes).unwrap();
        let output = ipu(&["inspect", path.to_str().unwrap()]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.starts_with("error[D0") && error.contains("damaged.ipuexe"), "{error}");
    }
    let output = ipu(&["inspect", folder.path().join("missing.ipuexe").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_package_runs_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = package(folder.path());
    let (code, report) = text(&ipu(&["run", path.to_str().unwrap(), "--json"]));
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(
        (code, &report["verdict"]),
        (Some(0), &"pass".into()),
        "data and reference come from the footer"
    );
}

#[test]
fn compiling_twice_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let first = std::fs::read(package(folder.path())).unwrap();
    assert!(first == std::fs::read(package(folder.path())).unwrap());
}

#[test]
fn a_run_waits_for_the_lock_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let held = DeviceLock::acquire(&path, |_| {}).unwrap();
    let mut waiting = command(&["run", EXAMPLE, "--at", "tile", "--lock", path.to_str().unwrap()])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = [0; 11];
    std::io::Read::read_exact(waiting.stderr.as_mut().unwrap(), &mut said).unwrap();
    assert_eq!(&said, b"waiting for");
    assert_eq!(waiting.try_wait().unwrap(), None, "it waits");
    drop(held);
    assert!(waiting.wait().unwrap().success());
}

#[test]
fn a_killed_run_leaves_nothing_locked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let mut run =
        command(&["run", "test-ir/gemm/all-tiles.ir", "--lock", path.to_str().unwrap(), "--log", "text"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
    // The log says when the lock is taken.
    let log = std::io::BufReader::new(run.stderr.take().unwrap());
    let taken =
        std::io::BufRead::lines(log).any(|line| line.unwrap().contains("acquired hardware ownership"));
    assert!(taken);
    run.kill().unwrap();
    run.wait().unwrap();
    DeviceLock::acquire(&path, |_| panic!("still locked")).unwrap();
}

#[test]
fn the_report_has_its_stable_keys() {
    let (code, report) = text(&ipu(&["run", "test-ir/seed/gemm_f8.ir", "--json"]));
    assert_eq!(code, Some(0));
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let keys = [
        "verdict",
        "mismatches",
        "elements",
        "max_abs_error",
        "final_cycles",
        "final_exchange_cycles",
        "exchange_phases",
        "tiles",
        "active_tiles",
        "simulated_cycles",
        "peak_standard_bytes",
        "peak_interleaved_bytes",
        "exchange_row_bytes",
        "stages",
        "input_sha256",
        "result_sha256",
        "plan",
        "prices",
    ];
    for key in keys {
        assert!(!report[key].is_null(), "{key}");
    }
    assert_eq!((&report["mismatches"], &report["elements"]), (&0.into(), &8192.into()));
    assert!(report["max_abs_error"].as_f64().unwrap() <= 0.0254);
    let a = "859f743091fc52b0223c5ec80a16790142152225573513eb4e160e232f0b17d2";
    assert_eq!(report["input_sha256"]["a"], a, "the recorded run's own input");
}

#[test]
fn ipu_opt_takes_packages_apart_and_puts_them_together_again() {
    let opt = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ipu-opt"));
        command
            .args(arguments)
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
            .output()
            .unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (compiled, lifted, built) = (package(folder.path()), path("lifted.ir"), path("built.ipuexe"));
    let compiled = compiled.to_str().unwrap();
    assert!(opt(&["--lift-package", compiled, "-o", &lifted]).status.success());
    assert!(opt(&["--build-package", &lifted, "-o", &built]).status.success());
    assert_eq!(std::fs::read(compiled).unwrap(), std::fs::read(&built).unwrap());
    let (code, report) = text(&ipu(&["run", &lifted]));
    assert_eq!(code, Some(0), "{report}");
    // A text is no package, a package is no text, and a foreign one needs the flag.
    assert_eq!(opt(&["--lift-package", &lifted]).status.code(), Some(2));
    assert_eq!(opt(&[compiled]).status.code(), Some(2));
    let bytes = std::fs::read(compiled).unwrap();
    let footer = bytes.windows(8).rposition(|window| window == b"IPUFOOT1").unwrap();
    std::fs::write(path("foreign.ipuexe"), &bytes[..footer]).unwrap();
    assert_eq!(opt(&["--lift-package", &path("foreign.ipuexe")]).status.code(), Some(2));
    let output = opt(&["--lift-package", "--foreign", &path("foreign.ipuexe")]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8(output.stdout).unwrap().contains("tile.code @code_5c130"));
}
