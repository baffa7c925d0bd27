//! Reproducers hold all that a run depends on: rerunning one gives the same bytes, and so does its own reproducer; a crash leaves one
//! and ends with where it is.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const OPT: &str = env!("CARGO_BIN_EXE_ipu-opt");
const IPU: &str = env!("CARGO_BIN_EXE_ipu");

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../test-ir")
}

/// A folder with two folders in it, so that files of the same name can be compared, and a file `in.ir`.
fn folder(sample: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    std::fs::copy(samples().join(sample), folder.path().join("in.ir")).unwrap();
    folder
}

fn run(program: &str, folder: &Path, line: &str) -> Output {
    let mut command = Command::new(program);
    command.args(line.split(' ')).current_dir(folder).env("IPU_REPRO_DIR", folder.join("crashes"));
    command.output().unwrap()
}

fn read(folder: &Path, name: &str) -> String {
    String::from_utf8(std::fs::read(folder.join(name)).unwrap()).unwrap()
}

#[test]
fn the_reproducer_of_a_reproducer_is_the_same_bytes_and_does_the_same() {
    let lines = [
        "--canonicalize --select-plans --prices recorded --fuel 7 --verify-each=false",
        "--expand-plans --with-prerequisites --stop-after expand-plans --print-generic",
        "--pass-pipeline=canonicalize,select-plans{plan=grid=2x1x1} --no-locations --threads 2",
        "",
    ];
    for line in lines {
        let folder = folder("gemm/two-tiles.ir");
        let once = format!("in.ir -o one.ir --repro a/repro.ir {line}");
        let once = run(OPT, folder.path(), once.trim_end());
        assert!(once.status.success(), "{line}: {}", String::from_utf8_lossy(&once.stderr));
        let again = run(OPT, folder.path(), "--rerun a/repro.ir -o two.ir --repro b/repro.ir");
        assert!(again.status.success(), "{line}: {}", String::from_utf8_lossy(&again.stderr));
        assert_eq!(read(folder.path(), "a/repro.ir"), read(folder.path(), "b/repro.ir"), "{line}");
        // Without passes locations stay as they were written.
        if !line.is_empty() {
            assert_eq!(read(folder.path(), "one.ir"), read(folder.path(), "two.ir"), "{line}");
        }
    }
}

#[test]
fn its_first_line_is_a_command_that_runs() {
    let folder = folder("gemm/two-tiles.ir");
    run(OPT, folder.path(), "in.ir -o one.ir --canonicalize --fuel 3 --repro repro.ir");
    let first = read(folder.path(), "repro.ir").lines().next().unwrap().to_owned();
    assert_eq!(first, "// ipu-opt --pass-pipeline='canonicalize' --fuel=3 repro.ir");
    let words = first.replace('\'', "");
    let output = run(OPT, folder.path(), words.strip_prefix("// ipu-opt ").unwrap());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_package_comes_out_the_same() {
    let folder = folder("gemm/k-split-4.ir");
    let passes = "--build-package --with-prerequisites";
    run(OPT, folder.path(), &format!("in.ir {passes} -o one.ipuexe --repro a/repro.ir"));
    run(OPT, folder.path(), "--rerun a/repro.ir -o two.ipuexe");
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert!(bytes("one.ipuexe") == bytes("two.ipuexe"));
}

#[test]
fn a_run_is_repeated_at_its_level_with_its_data() {
    let folder = folder("repro/flat-cast.ir");
    let lines = |output: &Output| -> Vec<String> {
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        text.lines().filter(|line| !line.starts_with("pass ")).map(str::to_owned).collect()
    };
    let once = run(IPU, folder.path(), "run in.ir --at exchange --prices recorded --repro a/repro.ir");
    let again = run(IPU, folder.path(), "run --rerun a/repro.ir --repro b/repro.ir");
    assert_eq!((once.status.code(), again.status.code()), (Some(1), Some(1)));
    assert_eq!(lines(&once), lines(&again));
    assert_eq!(read(folder.path(), "a/repro.ir"), read(folder.path(), "b/repro.ir"));
    // The tools of the hunt take it too.
    assert_eq!(run(IPU, folder.path(), "check --rerun a/repro.ir").status.code(), Some(1));
}

/// A NumPy array of 16-bit floats that are all `bits`.
fn npy(shape: &str, count: usize, bits: u16) -> Vec<u8> {
    let header = format!("{{'descr': '<f2', 'fortran_order': False, 'shape': ({shape}), }}");
    let header = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.into_bytes());
    (0..count).for_each(|_| bytes.extend(bits.to_le_bytes()));
    bytes
}

#[test]
fn data_files_are_named_with_their_hash_and_a_changed_one_is_refused() {
    let folder = folder("gemm/two-tiles.ir");
    let text = read(folder.path(), "in.ir");
    let text = text.replace("#ipu.normal<seed = 1, sigma = 0.25>", "#ipu.npy<\"a.npy\">");
    std::fs::write(folder.path().join("in.ir"), text).unwrap();
    let write = |bits| std::fs::write(folder.path().join("a.npy"), npy("32, 64", 32 * 64, bits)).unwrap();
    write(0x3c00);
    let once = run(IPU, folder.path(), "run in.ir --repro repro.ir");
    assert!(once.status.success(), "{}", String::from_utf8_lossy(&once.stderr));
    let noted = read(folder.path(), "repro.ir");
    assert!(noted.lines().nth(2).unwrap().starts_with("// reads a.npy with sha256 "), "{noted}");
    assert_eq!(run(IPU, folder.path(), "run --rerun repro.ir").status.code(), Some(0));
    write(0x4000);
    let refused = run(IPU, folder.path(), "run --rerun repro.ir");
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{error}");
    assert!(error.contains("`a.npy` has sha256 "), "{error}");
}

/// The last two lines of a crash: the path of the reproducer and the command that reruns it.
fn last_lines(output: &Output) -> (String, String) {
    let error = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(4), "{error}");
    let mut lines = error.lines().rev();
    let rerun = lines.next().and_then(|line| line.strip_prefix("rerun: ")).expect(&error).to_owned();
    let path = lines.next().and_then(|line| line.strip_prefix("reproducer: ")).expect(&error).to_owned();
    (path, rerun)
}

#[test]
fn a_crash_leaves_a_reproducer_that_crashes_again() {
    let crashes = [
        (OPT, "in.ir --canonicalize --select-plans --plant-crash=panic:select-plans"),
        (OPT, "in.ir --canonicalize --select-plans --plant-crash=invalid:canonicalize"),
        (IPU, "run in.ir --plant-crash=panic:schedule-exchanges"),
        (IPU, "compile in.ir -o out.ipuexe --plant-crash=invalid:lower-exchanges"),
        (IPU, "compile in.ir -o out.ipuexe --plant-crash=panic:expand-plans --repro asked.ir"),
    ];
    for (program, line) in crashes {
        let folder = folder("gemm/two-tiles.ir");
        let (path, rerun) = last_lines(&self::run(program, folder.path(), line));
        let asked = line.contains("--repro");
        let folder_of_crashes = folder.path().join("crashes");
        assert!(
            if asked { path == "asked.ir" } else { Path::new(&path).starts_with(&folder_of_crashes) },
            "{path}"
        );
        let again = run(program, folder.path(), rerun.split_once(' ').unwrap().1);
        let (path_again, rerun_again) = last_lines(&again);
        if !asked {
            // The reproducer is named by what is in it.
            assert_eq!((path, rerun), (path_again, rerun_again), "{line}");
        }
    }
}

#[test]
fn each_part_of_a_split_file_has_a_reproducer_of_its_own() {
    let folder = folder("gemm/two-tiles.ir");
    let text = read(folder.path(), "in.ir");
    let second = text.replace("@main", "@other");
    assert_ne!(text, second);
    std::fs::write(folder.path().join("both.ir"), format!("{text}// -----\n{second}")).unwrap();
    let once = run(OPT, folder.path(), "both.ir --split-input-file --repro parts.ir");
    assert!(once.status.success(), "{}", String::from_utf8_lossy(&once.stderr));
    for (name, function) in [("parts.0.ir", "@main"), ("parts.1.ir", "@other")] {
        let again = run(OPT, folder.path(), &format!("--rerun {name}"));
        assert!(again.status.success(), "{name}: {}", String::from_utf8_lossy(&again.stderr));
        let printed = String::from_utf8(again.stdout).unwrap();
        assert_eq!(printed.matches("graph.func").count(), 1, "{printed}");
        assert!(printed.contains(&format!("graph.func {function}(")), "{printed}");
    }
}

#[test]
fn what_came_through_a_pipe_is_not_lost() {
    let folder = folder("gemm/two-tiles.ir");
    let mut child = Command::new(OPT)
        .args(["--canonicalize", "--plant-crash=panic:canonicalize"])
        .current_dir(folder.path())
        .env("IPU_REPRO_DIR", folder.path())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let text = read(folder.path(), "in.ir");
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let (path, _) = last_lines(&child.wait_with_output().unwrap());
    assert!(read(folder.path(), &path).contains("graph.gemm %a, %b"), "{path}");
}

#[test]
fn only_flags_that_change_a_result_are_taken_from_a_file() {
    let folder = folder("gemm/two-tiles.ir");
    let text = read(folder.path(), "in.ir");
    let refused = |first: &str, line: &str| {
        std::fs::write(folder.path().join("noted.ir"), format!("{first}\n{text}")).unwrap();
        let output = run(if line.starts_with("check") { IPU } else { OPT }, folder.path(), line);
        assert_eq!(output.status.code(), Some(2), "{first}");
        String::from_utf8(output.stderr).unwrap()
    };
    let said = refused("// ipu-opt --pass-pipeline='' --output=in.ir noted.ir", "--rerun noted.ir");
    assert!(said.contains("gives `--output`, which `--rerun` takes from no file"), "{said}");
    let said = refused("// ipu-opt --pass-pipeline='' --fuel=1 noted.ir", "check --rerun noted.ir");
    assert!(said.contains("gives `--fuel`, which `ipu check` does not take"), "{said}");
    let said = refused("// A case.", "--rerun noted.ir");
    assert!(said.contains("the first line of the file names no passes"), "{said}");
    assert_eq!(read(folder.path(), "in.ir"), text);
}

#[test]
fn a_package_has_no_other_reproducer_than_itself() {
    let folder = folder("gemm/two-tiles.ir");
    run(IPU, folder.path(), "compile in.ir -o in.ipuexe");
    for (program, line) in
        [(IPU, "run in.ipuexe --repro r.ir"), (OPT, "--lift-package in.ipuexe --repro r.ir")]
    {
        let output = run(program, folder.path(), line);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("its own bytes are the reproducer"), "{error}");
    }
}
