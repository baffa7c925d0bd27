//! `ipu bench run`: a whole run of one file.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use clap::Args;
use indexmap::IndexMap;
use serde_json::{Value, json};

use super::{failed, median, micros};
use crate::exit::Failure;

/// `ipu run FILE --json --log off` as a cold process: wall time, stages, simulator speed.
#[derive(Debug, Args)]
pub(super) struct RunsArguments {
    /// IR file.
    #[arg(default_value = "test-ir/seed/gemm_f8.ir")]
    file: String,
    /// How often; medians are over these.
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
}

/// Runs the file again and again.
///
/// # Errors
/// A measured run fails.
pub(super) fn cold_runs(arguments: &RunsArguments) -> Result<Value, Failure> {
    let RunsArguments { file, count } = arguments;
    let count = *count;
    let program = std::env::current_exe().map_err(|error| failed(&error.to_string()))?;
    let mut walls = Vec::new();
    let mut stages: IndexMap<String, Vec<u64>> = IndexMap::new();
    let (mut device, mut tile_cycles) = (Vec::new(), 0);
    for _ in 0..count {
        let (wall, report) = cold_run(&program, file)?;
        walls.push(micros(wall));
        for stage in report["stages"].as_array().into_iter().flatten() {
            // A pass that runs twice counts as one.
            let name = stage["name"].as_str().unwrap_or_default().to_owned();
            stages.entry(name).or_default().push(stage["elapsed_us"].as_u64().unwrap_or(0));
        }
        device.extend(report["device_us"].as_u64());
        tile_cycles = report["simulated_tile_cycles"].as_u64().unwrap_or(0);
    }
    let stages: serde_json::Map<String, Value> = stages
        .into_iter()
        .map(|(name, times)| {
            let rounds = times.len() as u64 / u64::from(count);
            (name, (median(times) * rounds.max(1)).into())
        })
        .collect();
    let device_us = (!device.is_empty()).then(|| median(device));
    let speed = device_us.map(|us| tile_cycles as f64 / (us.max(1) as f64 * 1e-6));
    let least = walls.iter().min().copied();
    Ok(json!({
        "benchmark": "run",
        "file": file,
        "count": count,
        "wall_us_median": median(walls),
        "wall_us_least": least,
        "stage_us_median": stages,
        "device_us_median": device_us,
        "simulated_tile_cycles": tile_cycles,
        "tile_cycles_per_second": speed,
    }))
}

fn cold_run(program: &PathBuf, file: &str) -> Result<(Duration, Value), Failure> {
    let started = Instant::now();
    let output = Command::new(program)
        .args(["run", file, "--json", "--log", "off"])
        .output()
        .map_err(|error| failed(&error.to_string()))?;
    let wall = started.elapsed();
    let report = serde_json::from_slice(&output.stdout)
        .map_err(|_| failed(String::from_utf8_lossy(&output.stderr).trim_end()))?;
    Ok((wall, report))
}
