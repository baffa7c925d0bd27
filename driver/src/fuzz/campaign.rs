//! A campaign: the seeds as they are, then damaged ones, until there are enough. An input whose findings have codes that no other
//! had together is damaged further.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, Instant};

use indexmap::IndexMap;
use ipu_dialects::printer::{print_generic, print_module};
use ipu_dialects::random::{Choices, random_module};
use ipu_dialects::registry::Registry;
use ipu_dialects::tensor_data::sha256;
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;
use serde::Serialize;

use super::{Broken, Seen, Target, dictionary, mutate, shrink};
use crate::exit::Failure;
use crate::files::{quoted, write_whole};
use crate::repro::panic_message;

/// An input that takes longer, twice, is a finding.
const SLOW: Duration = Duration::from_secs(1);
/// An input that makes the process grow by more is a finding, in KiB.
const LARGE: u64 = 1 << 20;
/// Inputs that are kept because of what was found in them.
const KEPT: usize = 4096;
/// Failures of a kind that are made small and saved.
const SAVED: u32 = 3;

/// What a campaign does.
#[derive(Debug, Clone)]
pub struct Campaign {
    /// What reads the inputs.
    pub target: Target,
    /// Inputs to try; none: until the time is over.
    pub count: Option<u64>,
    /// When to stop.
    pub time: Option<Duration>,
    /// Where the random choices start.
    pub seed: u64,
    /// Where failing inputs go, and the one that is being read, for what ends the process.
    pub save: Option<PathBuf>,
}

/// What a campaign found; its keys are stable.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// The reader.
    pub target: &'static str,
    /// Inputs tried, seeds among them.
    pub inputs: u64,
    /// Inputs that were read.
    pub parsed: u64,
    /// Inputs that were refused with a code.
    pub refused: u64,
    /// How many codes findings had.
    pub distinct_codes: usize,
    /// The codes.
    pub codes: BTreeSet<&'static str>,
    /// Inputs that made the program panic.
    pub panics: u64,
    /// Inputs of which a property did not hold.
    pub broken: u64,
    /// Inputs that took more than a second twice, or a gibibyte.
    pub slow: u64,
    /// The longest time that an input took, in milliseconds.
    pub slowest_ms: u64,
    /// Seconds that the campaign took.
    pub seconds: u64,
    /// Where the random choices started.
    pub seed: u64,
    /// What failed, the first few of a kind.
    pub failures: Vec<Failed>,
}

/// An input that failed.
#[derive(Debug, Clone, Serialize)]
pub struct Failed {
    /// Number in the campaign.
    pub index: u64,
    /// What happened.
    pub what: String,
    /// The command that does it again, if the input was saved.
    pub rerun: Option<String>,
}

/// How an input failed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fault {
    Panic(String),
    Broken(Broken),
    Slow(String),
}

impl Fault {
    /// What faults of the same cause have in common.
    fn kind(&self) -> String {
        match self {
            Self::Panic(text) => text.chars().filter(|c| !c.is_ascii_digit()).take(80).collect(),
            Self::Broken(broken) => broken.property.to_owned(),
            Self::Slow(_) => "slow".to_owned(),
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Panic(text) => write!(f, "panic: {text}"),
            Self::Broken(broken) => broken.fmt(f),
            Self::Slow(text) => f.write_str(text),
        }
    }
}

/// Runs a campaign over `seeds`; `progress` is called now and then.
///
/// # Errors
/// A failing input cannot be saved.
pub fn run(
    campaign: &Campaign,
    seeds: &[(String, Vec<u8>)],
    progress: &mut dyn FnMut(&Report),
) -> Result<Report, Failure> {
    let target = campaign.target;
    let start = Instant::now();
    let mut state = State {
        campaign,
        report: Report { target: target.name(), seed: campaign.seed, ..Report::default() },
        seen: BTreeSet::new(),
        failed: IndexMap::new(),
    };
    let words = dictionary::words(target);
    let mut pool: Vec<Vec<u8>> = Vec::new();
    for index in 0.. {
        state.report.seconds = start.elapsed().as_secs();
        let over = campaign.time.is_some_and(|time| start.elapsed() >= time);
        if over || campaign.count.is_some_and(|count| index >= count) {
            break;
        }
        progress(&state.report);
        let seed = usize::try_from(index).ok().and_then(|index| seeds.get(index));
        let input = match seed {
            Some((_, bytes)) => bytes.clone(),
            None => {
                let mut random = SplitMix64::seed_from_u64(campaign.seed.wrapping_add(index));
                damaged(target, &pool, &words, &mut random)
            }
        };
        let new = state.try_one(&input)?;
        if seed.is_some() || new && pool.len() < KEPT + seeds.len() {
            pool.push(input);
        }
    }
    state.forget_current();
    state.report.distinct_codes = state.report.codes.len();
    Ok(state.report)
}

/// A campaign on its way.
struct State<'c> {
    campaign: &'c Campaign,
    report: Report,
    /// What inputs showed.
    seen: BTreeSet<Seen>,
    /// How often each kind of fault was met.
    failed: IndexMap<String, u32>,
}

impl State<'_> {
    /// Whether the input showed something new.
    fn try_one(&mut self, input: &[u8]) -> Result<bool, Failure> {
        if let Some(folder) = &self.campaign.save {
            write_input(&current(folder, self.campaign.target), input);
        }
        let report = &mut self.report;
        let (result, time) = observed(self.campaign.target, input);
        report.inputs += 1;
        report.slowest_ms = report.slowest_ms.max(time.as_millis() as u64);
        match result {
            Ok(seen) => {
                report.parsed += u64::from(seen.accepted);
                report.refused += u64::from(!seen.accepted);
                report.codes.extend(&seen.codes);
                Ok(self.seen.insert(seen))
            }
            Err(fault) => {
                match fault {
                    Fault::Panic(_) => report.panics += 1,
                    Fault::Broken(_) => report.broken += 1,
                    Fault::Slow(_) => report.slow += 1,
                }
                self.fail(input, &fault)?;
                Ok(false)
            }
        }
    }

    fn fail(&mut self, input: &[u8], fault: &Fault) -> Result<(), Failure> {
        let target = self.campaign.target;
        let kind = fault.kind();
        let times = self.failed.entry(kind.clone()).or_default();
        *times += 1;
        if *times > SAVED {
            return Ok(());
        }
        let same = |bytes: &[u8]| observed(target, bytes).0.err().is_some_and(|other| other.kind() == kind);
        let small = if let Fault::Slow(_) = fault { input.to_vec() } else { shrink::shrink(input, same) };
        let what = observed(target, &small).0.err().unwrap_or_else(|| fault.clone()).to_string();
        let mut rerun = None;
        if let Some(folder) = &self.campaign.save {
            let path = folder.join(format!("{}-{}", target.name(), &sha256(&small)[..12]));
            write_whole(&path, &small)?;
            let path = quoted(&path.display().to_string());
            rerun = Some(format!("ipu selftest fuzz-{} --input {path}", target.name()));
        }
        self.report.failures.push(Failed { index: self.report.inputs - 1, what, rerun });
        Ok(())
    }

    fn forget_current(&self) {
        if let Some(folder) = &self.campaign.save {
            let _ = std::fs::remove_file(current(folder, self.campaign.target));
        }
    }
}

/// Where the input is that is being read.
fn current(folder: &Path, target: Target) -> PathBuf {
    folder.join(format!("{}-current", target.name()))
}

/// Keeps the input for what ends the process; a full disk is no reason to stop.
fn write_input(path: &Path, input: &[u8]) {
    if std::fs::write(path, input).is_err() {
        let _ = path.parent().map(std::fs::create_dir_all);
        let _ = std::fs::write(path, input);
    }
}

/// An input made of those in `pool`, or of a random module.
fn damaged(target: Target, pool: &[Vec<u8>], words: &[String], random: &mut SplitMix64) -> Vec<u8> {
    if target == Target::Ir && random.random_range(0..8) == 0 {
        let mut numbers: Vec<u64> = (0..random.random_range(0..400)).map(|_| random.next_u64()).collect();
        let mut next = || numbers.pop();
        let module = random_module(Registry::standard(), &mut Choices::new(&mut next));
        let generic = random.random_range(0..2) == 0;
        let text = if generic { print_generic(&module, true) } else { print_module(&module) };
        return mutate::mutate(target, text.as_bytes(), picked(pool, random), words, random);
    }
    mutate::mutate(target, picked(pool, random), picked(pool, random), words, random)
}

/// One of `pool`, rather a short one, because more of them can be tried.
fn picked<'p>(pool: &'p [Vec<u8>], random: &mut SplitMix64) -> &'p [u8] {
    let mut pick = || pool.get(random.random_range(0..pool.len().max(1))).map_or(&[][..], Vec::as_slice);
    let (one, other) = (pick(), pick());
    if other.len() < one.len() && random.random_range(0..4) > 0 { other } else { one }
}

/// What the target says of `input`, and how long it took.
fn observed(target: Target, input: &[u8]) -> (Result<Seen, Fault>, Duration) {
    let before = peak_memory();
    let (result, time) = caught(target, input);
    let grown = peak_memory().saturating_sub(before);
    if result.is_ok() && grown > LARGE {
        return (Err(Fault::Slow(format!("the process grew by {grown} KiB"))), time);
    }
    if result.is_ok() && time > SLOW {
        // Others may have had the machine.
        let again = caught(target, input).1.min(time);
        if again > SLOW {
            return (Err(Fault::Slow(format!("it took {} ms", again.as_millis()))), again);
        }
        return (result, again);
    }
    (result, time)
}

/// The most memory that the process had so far, in KiB; 0 where nobody says.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

thread_local! {
    /// Set while a target runs: where it panicked, if it did.
    static PANICKED_AT: Cell<Option<String>> = const { Cell::new(None) };
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

fn caught(target: Target, input: &[u8]) -> (Result<Seen, Fault>, Duration) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if QUIET.get() {
                PANICKED_AT.set(info.location().map(ToString::to_string));
            } else {
                usual(info);
            }
        }));
    });
    QUIET.set(true);
    let start = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(|| target.check(input)));
    let time = start.elapsed();
    QUIET.set(false);
    let result = match result {
        Ok(result) => result.map_err(Fault::Broken),
        Err(payload) => {
            let place = PANICKED_AT.take().unwrap_or_default();
            Err(Fault::Panic(format!("{place}: {}", panic_message(payload.as_ref()))))
        }
    };
    (result, time)
}
