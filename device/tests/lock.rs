//! One run at a time: a second waits and says so, and a killed one leaves nothing locked.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;

use ipu_device::runtime::DeviceLock;

/// Set in a child process to the lock file that it holds until it is killed.
const HOLD: &str = "IPU_DEVICE_TEST_HOLD_LOCK";

/// Waits if need be: a process that another test starts at this moment holds copies of all open files until its program runs.
fn acquire(path: &Path) -> DeviceLock {
    DeviceLock::acquire(path, |_| ()).unwrap()
}

fn acquire_at_once(path: &Path) -> DeviceLock {
    DeviceLock::acquire(path, |_| panic!("the lock is held")).unwrap()
}

#[test]
fn a_second_run_waits_until_the_first_has_ended() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("device.lock");
    let first = acquire_at_once(&path);
    let (waiting, waits) = mpsc::channel();
    let second = {
        let path = path.clone();
        std::thread::spawn(move || {
            let mut told = None;
            let lock = DeviceLock::acquire(&path, |held| {
                told = Some(held.to_owned());
                waiting.send(()).unwrap();
            });
            (lock.unwrap().path().to_owned(), told)
        })
    };
    waits.recv().unwrap();
    assert!(!second.is_finished());
    drop(first);
    assert_eq!(second.join().unwrap(), (path.clone(), Some(path.clone())));
    acquire(&path);
}

#[test]
fn the_lock_file_is_created_and_its_contents_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("device.lock");
    drop(acquire_at_once(&path));
    std::fs::write(&path, "owner").unwrap();
    drop(acquire(&path));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "owner");
    let missing = DeviceLock::acquire(&directory.path().join("no/device.lock"), |_| ()).unwrap_err();
    assert_eq!(missing.code(), "D0350");
}

#[test]
fn a_killed_run_leaves_nothing_locked() {
    if let Some(path) = std::env::var_os(HOLD) {
        let _lock = acquire_at_once(Path::new(&path));
        eprintln!("held");
        loop {
            std::thread::park();
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("device.lock");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_killed_run_leaves_nothing_locked", "--nocapture"])
        .env(HOLD, &path)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "held"));

    let (waiting, waits) = mpsc::channel();
    let second =
        std::thread::spawn(move || DeviceLock::acquire(&path, |_| waiting.send(()).unwrap()).map(|_| ()));
    waits.recv().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    second.join().unwrap().unwrap();
}
