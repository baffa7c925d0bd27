//! One cold process and what it took.

use std::io::{Read, Seek};
use std::process::{Command, Stdio};
use std::time::Instant;

use wait4::Wait4;

use super::{failed, micros};
use crate::exit::Failure;

/// What a process took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// From before it was started to after it ended, microseconds.
    pub(super) wall_us: u64,
    /// Most memory that was resident at a time, bytes. The kernel counts the process that starts it until it is replaced, so
    /// nothing is below what this process has: keep it small.
    pub(super) peak_bytes: u64,
}

/// Bytes of an error that are shown.
const SHOWN: u64 = 4096;

/// Runs `command` to its end; what it prints is dropped.
///
/// # Errors
/// It cannot be started, or fails: the message has the first lines of what it said.
pub(super) fn cost(mut command: Command) -> Result<Cost, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let io = |error: std::io::Error| failed(&format!("`{name}`: {error}"));
    // A file, not a pipe: nobody reads while it runs.
    let mut said = tempfile::tempfile().map_err(io)?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said.try_clone().map_err(io)?);
    let started = Instant::now();
    let used = command.spawn().map_err(io)?.wait4().map_err(io)?;
    let wall_us = micros(started.elapsed());
    if !used.status.success() {
        let mut text = Vec::new();
        said.rewind().and_then(|()| said.take(SHOWN).read_to_end(&mut text)).map_err(io)?;
        let text = String::from_utf8_lossy(&text);
        return Err(failed(&format!("`{name}` ended with {}: {}", used.status, text.trim_end())));
    }
    Ok(Cost { wall_us, peak_bytes: used.rusage.maxrss })
}
