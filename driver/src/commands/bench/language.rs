//! `ipu bench language`: what it takes to read, check and print large texts.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use serde_json::{Map, Value, json};

use super::process::{Cost, cost};
use super::texts::{self, Kind};
use super::{failed, median};
use crate::exit::{DriverCode, Exit, Failure};
use crate::files::read_bytes;

/// Large generated files through `ipu-opt`, and through another program beside it.
///
/// Each measurement is a cold process with one thread that reads a file, verifies it and prints it to /dev/null. Files are one of
/// each level as it is written, and in generic form: `simple` and `rich` of an unknown dialect, `graph-generic` the graph file.
/// Each is measured at N and at N/4 ops: `time_ratio_per_op` is time for each op of the whole over that of the quarter, 1 where
/// time is linear. Times are in microseconds, medians of all rounds; `wall_ratio` and `peak_ratio` are ours over the other's.
#[derive(Debug, Args)]
pub(super) struct LanguageArguments {
    /// Ops of each file.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(4..=20_000_000))]
    ops: u64,
    /// Where random choices start.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How often.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// Measure this `mlir-opt` on the generic files too, taking turns.
    #[arg(long, value_name = "PROGRAM")]
    against: Option<PathBuf>,
    /// Leave the files in this folder, which is made if need be.
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
}

/// The files: name, what is in it, and whether it is in generic form.
const FILES: &[(&str, Kind, bool)] = &[
    ("graph.ir", Kind::Graph, false),
    ("mapped.ir", Kind::Mapped, false),
    ("exchange.ir", Kind::Exchange, false),
    ("tile.ir", Kind::Tile, false),
    ("simple.mlir", Kind::Simple, true),
    ("rich.mlir", Kind::Rich, true),
    ("graph-generic.mlir", Kind::Graph, true),
];

/// A file to measure.
struct Sample {
    path: PathBuf,
    ops: u64,
    bytes: u64,
}

/// A program and what it took, round by round.
struct Measured {
    rounds: Vec<Cost>,
    /// Times of phases, round by round; empty for other programs.
    phases: Vec<(&'static str, Vec<u64>)>,
}

const PHASES: [&str; 4] = ["read", "parse", "verify", "print"];

/// Measures all files.
///
/// # Errors
/// A file cannot be written, or a measured process fails.
pub(super) fn language(arguments: &LanguageArguments) -> Result<Value, Failure> {
    let own = std::env::current_exe().map_err(|error| failed(&error.to_string()))?.with_file_name("ipu-opt");
    let folder = tempfile::tempdir().map_err(|error| failed(&error.to_string()))?;
    let place = arguments.write.as_deref().unwrap_or(folder.path());
    std::fs::create_dir_all(place).map_err(|error| unwritable(place, &error))?;
    let mut samples = Vec::new();
    for &(name, kind, generic) in FILES {
        let bench = Bench { arguments, own: &own, kind, generic };
        let whole = bench.sample(&place.join(name), arguments.ops)?;
        let quarter = bench.sample(&place.join(format!("quarter-{name}")), arguments.ops / 4)?;
        samples.push((name, bench, whole, quarter));
    }
    let measured = samples.iter().map(|(name, bench, whole, quarter)| bench.measure(name, whole, quarter));
    let files: Vec<Value> = measured.collect::<Result<_, Failure>>()?;
    Ok(json!({
        "benchmark": "language",
        "ops": arguments.ops,
        "seed": arguments.seed,
        "count": arguments.count,
        "against": arguments.against,
        "output": "/dev/null",
        "files": files,
    }))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Input, DriverCode::Unwritable, format!("cannot write `{}`: {error}", path.display()))
}

/// The measurement of one kind of file.
struct Bench<'a> {
    arguments: &'a LanguageArguments,
    own: &'a Path,
    kind: Kind,
    generic: bool,
}

impl Bench<'_> {
    /// Writes the file.
    fn sample(&self, path: &Path, ops: u64) -> Result<Sample, Failure> {
        let failed = |error: std::io::Error| unwritable(path, &error);
        let mut out = BufWriter::new(File::create(path).map_err(failed)?);
        let ops = texts::write(self.kind, ops, self.arguments.seed, &mut out).map_err(failed)?;
        out.flush().map_err(failed)?;
        if self.generic && self.kind == Kind::Graph {
            // The generic form of our own ops is the printer's.
            let mut command = Command::new(self.own);
            command.arg("--print-generic").arg(path).arg("-o").arg(path);
            cost(command)?;
        }
        let bytes = std::fs::metadata(path).map_err(failed)?.len();
        Ok(Sample { path: path.to_owned(), ops, bytes })
    }

    fn measure(&self, name: &str, whole: &Sample, quarter: &Sample) -> Result<Value, Failure> {
        let against = self.arguments.against.as_deref().filter(|_| self.generic);
        let mut ours = [Measured::new(), Measured::new()];
        let mut theirs = [Measured::new(), Measured::new()];
        for _ in 0..self.arguments.count {
            for (place, sample) in [whole, quarter].into_iter().enumerate() {
                self.ours(sample, &mut ours[place])?;
                if let Some(program) = against {
                    theirs[place].rounds.push(cost(self.theirs(program, sample))?);
                }
            }
        }
        let [ours, ours_quarter] = ours;
        let mut entry = json!({
            "file": name,
            "form": if self.generic { "generic" } else { "own" },
            "ops": whole.ops,
            "bytes": whole.bytes,
            "ours": ours.figures(whole, &ours_quarter, quarter),
        });
        let [theirs, theirs_quarter] = theirs;
        if against.is_some() {
            entry["theirs"] = theirs.figures(whole, &theirs_quarter, quarter);
            entry["wall_ratio"] = ours.ratio(&theirs, |cost| cost.wall_us);
            entry["peak_ratio"] = ours.ratio(&theirs, |cost| cost.peak_bytes);
        }
        Ok(entry)
    }

    fn ours(&self, sample: &Sample, measured: &mut Measured) -> Result<(), Failure> {
        let times = tempfile::NamedTempFile::new().map_err(|error| failed(&error.to_string()))?;
        let mut command = Command::new(self.own);
        command.args(["--threads", "1", "-o", "/dev/null", "--timing=json", "--timing-output"]);
        command.arg(times.path()).arg(&sample.path);
        if self.generic {
            command.args(["--print-generic", "--allow-unregistered-dialect"]);
        }
        measured.rounds.push(cost(command)?);
        let report: Value = serde_json::from_slice(&read_bytes(times.path())?)
            .map_err(|error| failed(&format!("the times of `ipu-opt` are no JSON: {error}")))?;
        for (phase, times) in &mut measured.phases {
            times.push(phase_time(&report, phase));
        }
        Ok(())
    }

    fn theirs(&self, program: &Path, sample: &Sample) -> Command {
        let mut command = Command::new(program);
        command.args(["--allow-unregistered-dialect", "--mlir-print-op-generic", "--mlir-disable-threading"]);
        command.args(["-o", "/dev/null"]).arg(&sample.path);
        command
    }
}

/// Microseconds in the outermost spans of a kind: a span is called by its kind, and by the name of the file if it has one.
fn phase_time(report: &Value, phase: &str) -> u64 {
    let spans = report["spans"].as_array().into_iter().flatten();
    let of_phase = spans.filter(|span| {
        let path = span["path"].as_array().map_or(&[][..], Vec::as_slice);
        let [Value::String(label)] = path else { return false };
        label.split(' ').next() == Some(phase)
    });
    of_phase.filter_map(|span| span["us"].as_u64()).sum()
}

impl Measured {
    fn new() -> Self {
        Self { rounds: Vec::new(), phases: PHASES.iter().map(|&phase| (phase, Vec::new())).collect() }
    }

    fn median(&self, figure: impl Fn(&Cost) -> u64) -> u64 {
        median(self.rounds.iter().map(figure).collect())
    }

    fn figures(&self, whole: &Sample, quarter: &Self, of_quarter: &Sample) -> Value {
        let wall_us = self.median(|cost| cost.wall_us);
        let mut figures = json!({"wall_us": wall_us, "peak_bytes": self.median(|cost| cost.peak_bytes)});
        if self.phases.iter().any(|(_, times)| !times.is_empty()) {
            let phases = self.phases.iter();
            let phases: Map<String, Value> =
                phases.map(|(phase, times)| ((*phase).to_owned(), median(times.clone()).into())).collect();
            figures["phases_us"] = phases.into();
        }
        let per_op = |us: u64, sample: &Sample| us as f64 / sample.ops as f64;
        let of_the_quarter = per_op(quarter.median(|cost| cost.wall_us), of_quarter);
        figures["time_ratio_per_op"] = rounded(per_op(wall_us, whole) / of_the_quarter);
        figures
    }

    /// The median of the rounds' ratios.
    fn ratio(&self, other: &Self, figure: impl Fn(&Cost) -> u64) -> Value {
        let ratio = |(ours, theirs)| figure(ours) as f64 / figure(theirs) as f64;
        let mut ratios: Vec<f64> = self.rounds.iter().zip(&other.rounds).map(ratio).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).map_or(Value::Null, |&ratio| rounded(ratio))
    }
}

/// Three digits behind the point.
fn rounded(ratio: f64) -> Value {
    ((ratio * 1000.0).round() / 1000.0).into()
}
