//! What holds for the whole process: its threads, the seed of its hash maps, its clock and its log. None of them changes a byte of
//! any result.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::Args;
use ipu_dialects::tensor_data::sha256;

use crate::exit::{DriverCode, Exit, Failure};
use crate::files::{kept_standard_input, quoted, write_whole};
use crate::log::{self, LogFormat};
use crate::render::{DiagnosticFormat, emit};
use crate::repro::panic_message;
use crate::timing::{Timing, TimingFormat};

/// Options of the process.
#[derive(Debug, Clone, Default, Args)]
pub struct ProcessOptions {
    /// Threads to work with; by default one for each core.
    #[arg(long, value_name = "N", global = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Test mode: another order of all hash maps, which must not show.
    #[arg(long, value_name = "N", global = true, hide_short_help = true)]
    hash_seed: Option<u64>,
    /// Say where the time went, at the end on standard error.
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        global = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "text"
    )]
    timing: Option<TimingFormat>,
    /// Write the times to this file.
    #[arg(long, value_name = "FILE", global = true)]
    timing_output: Option<PathBuf>,
}

impl ProcessOptions {
    /// Takes effect for everything that follows; call it before any work, and write the report of the times that it returns
    /// after all of it.
    #[must_use]
    pub fn start(&self, format: LogFormat) -> Option<Timing> {
        let asked = self.timing.or(self.timing_output.is_some().then_some(TimingFormat::Text));
        let timing = asked.map(|format| Timing::new(format, self.timing_output.clone()));
        log::start(format, "info", timing.as_ref().map(Timing::spans));
        // A second start, as in tests, keeps the first options.
        let _ = GIVEN.set(self.clone());
        if let Some(seed) = self.hash_seed {
            ipu_device::hash::set_seed(seed);
        }
        if let Some(threads) = self.threads {
            // A second call, as in tests, keeps the first pool.
            let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
        }
        timing
    }

    /// The flags that ask for the same, as words of a command line.
    #[must_use]
    fn flags(&self) -> Vec<String> {
        let threads = self.threads.map(|threads| format!("--threads={threads}"));
        threads.into_iter().chain(self.hash_seed.map(|seed| format!("--hash-seed={seed}"))).collect()
    }
}

/// Ends a program: shows why it failed, then the times.
pub fn finish(result: Result<Exit, Failure>, timing: Option<&Timing>, format: DiagnosticFormat) -> ExitCode {
    let timed = timing.map_or(Ok(()), Timing::report);
    let result = result.and_then(|exit| timed.map(|()| exit));
    match result {
        Ok(exit) => exit,
        Err(failure) => {
            emit(&failure.diagnostics, &failure.sources, format);
            eprint!("{}", failure.last_words);
            failure.exit
        }
    }
    .into()
}

/// Does the work of a program; a panic in it becomes an internal error.
///
/// # Errors
/// The work fails or panics.
pub fn guarded(work: impl FnOnce() -> Result<Exit, Failure>) -> Result<Exit, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let message = format!("the program panicked: {}", panic_message(payload.as_ref()));
        let failure = Failure::new(Exit::Internal, DriverCode::Internal, message);
        Err(failure.with_last_words(save_standard_input() + "rerun: " + &whole_command_line() + "\n"))
    })
}

/// Keeps what came through a pipe, which would else be lost.
fn save_standard_input() -> String {
    let Some(bytes) = kept_standard_input() else { return String::new() };
    let path = std::env::temp_dir().join(format!("ipu-input-{}.ir", &sha256(bytes.as_bytes())[..12]));
    match write_whole(&path, bytes.as_bytes()) {
        Ok(()) => format!("standard input: {}\n", path.display()),
        Err(_) => String::new(),
    }
}

/// The command line of this process, as a shell reads it.
#[must_use]
pub fn whole_command_line() -> String {
    let mut words = std::env::args();
    let program = words.next().unwrap_or_default();
    let program = Path::new(&program).file_name().map(|name| name.to_string_lossy().into_owned());
    let words = words.map(|word| if word.starts_with('-') { word } else { quoted(&word) });
    program.into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

/// The flags of the process's options as they were given, as words of a command line.
#[must_use]
pub fn flags() -> Vec<String> {
    GIVEN.get().map(ProcessOptions::flags).unwrap_or_default()
}

static GIVEN: OnceLock<ProcessOptions> = OnceLock::new();

/// The words of this process's command line after the program's name, without those that change no result.
#[must_use]
pub fn command_line() -> Vec<String> {
    without_process_options(std::env::args().skip(1))
}

fn without_process_options(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut words = words.peekable();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        if !matches!(name, "--threads" | "--hash-seed") {
            kept.push(word);
        } else if name == word {
            words.next();
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_internal_error_that_says_how_to_get_it_again() {
        let failure = guarded(|| panic!("a bug")).unwrap_err();
        assert_eq!(failure.exit, Exit::Internal);
        let text = format!("{failure:?}");
        assert!(text.contains("R0108") && text.contains("a bug") && text.contains("rerun: "), "{text}");
    }

    #[test]
    fn the_command_in_a_package_is_the_same_for_any_number_of_threads() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let line = words("compile --threads 2 a.ir --hash-seed=3 --plan grid=1x1x1");
        assert_eq!(without_process_options(line.into_iter()), words("compile a.ir --plan grid=1x1x1"));
    }
}
