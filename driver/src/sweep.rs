//! A differential test of the compiler over its own search space: plans of a case, each compiled, run on the simulated device
//! and compared with its mapped program, with the reference, and with the other plans.

use std::collections::BTreeMap;
use std::time::Instant;

use ipu_dialects::ir::Module;
use ipu_dialects::tensor_data::TensorData;
use ipu_dialects::verifier::{VerifyOptions, verify};
use ipu_passes::manager::{Artifacts, ManagerOptions, RunFailure, Silent, State, registry};
use ipu_passes::select_plans::PlanSpace;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;
use rayon::prelude::*;
use serde::Serialize;

use crate::commands::run::read_case;
use crate::execute::{execute, execute_package, failure};
use crate::exit::{Exit, Failure};
use crate::opt::resolve_text;
use crate::simulated::DeviceUse;

/// Which plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// At most this many, chosen at random; nothing for all.
    pub sample: Option<usize>,
    /// Where random choices start.
    pub seed: u64,
    /// This part of them: those whose position leaves remainder `.0` divided by `.1`.
    pub shard: (usize, usize),
}

/// How one plan ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The device computes the bits of the mapped program, within tolerance of the reference.
    Agrees,
    /// The same bits, further from the reference than the tolerance.
    OutsideTolerance,
    /// The compiler says that it cannot compile the plan.
    Refused,
    /// The device computes other bits than the mapped program.
    Diverges,
    /// A pass or the device failed.
    Fails,
}

/// What became of one plan.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// The file.
    pub file: String,
    /// Number of the plan in the space.
    pub index: usize,
    /// The plan.
    pub plan: String,
    /// Inner blocks: plans with equal ones of at most two add the same numbers in the same order.
    pub inner_blocks: u32,
    /// How it ended.
    pub ending: Ending,
    /// What was said, if it did not end well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// Elements outside tolerance.
    pub mismatches: u64,
    /// Largest distance from the reference.
    pub max_abs_error: f64,
    /// SHA-256 of each result.
    pub sha256: Vec<String>,
    /// Cycles by calibrated prices.
    pub cycles: u64,
    /// Cycles between host inputs and outputs that the simulator counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated_cycles: Option<u64>,
    /// Time that it took here.
    pub elapsed_ms: u64,
}

/// All outcomes of one file.
#[derive(Debug, Clone, Serialize)]
pub struct Sweep {
    /// Plans in the space.
    pub plans: usize,
    /// Plans of the choice.
    pub outcomes: Vec<Outcome>,
    /// Different results among plans that add the same numbers in the same order, by number of inner blocks.
    pub different: BTreeMap<u32, usize>,
}

impl Sweep {
    /// Outcomes that ended so.
    #[must_use]
    pub fn count(&self, ending: Ending) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.ending == ending).count()
    }

    /// Whether no plan diverges, fails or is outside tolerance, and plans that must agree do.
    #[must_use]
    pub fn passed(&self) -> bool {
        let bad = [Ending::Diverges, Ending::Fails, Ending::OutsideTolerance];
        bad.iter().all(|&ending| self.count(ending) == 0)
            && self.different.values().all(|&results| results <= 1)
    }
}

/// Sweeps over the plans of `module`, a graph program that was read from `file`.
///
/// # Errors
/// The program has no data, no reference, or is not one that the planner takes.
pub fn sweep(file: &str, mut module: Module, choice: Choice) -> Result<Sweep, Failure> {
    let case = read_case(&module)?;
    let reference = case.reference(&module).map_err(|finding| failure(Exit::Input, *finding, &module))?;
    let (_, canonicalize) = resolve_text("<sweep>", "canonicalize")?;
    let run = canonicalize.run(&mut module, &ManagerOptions::default(), Artifacts::default(), &mut Silent);
    if let Some(failed) = run.failure {
        return Err(Failure::of(crate::opt::exit_of(failed), run.diagnostics, &module.sources));
    }
    let space = PlanSpace::of(&module).map_err(|finding| failure(Exit::Input, *finding, &module))?;
    let chosen = choose(space.candidates.len(), choice);
    let outcomes: Vec<Outcome> =
        chosen.par_iter().map(|&index| one(file, &module, &space, index, &reference)).collect();
    let mut results: BTreeMap<u32, Vec<&[String]>> = BTreeMap::new();
    for outcome in outcomes.iter().filter(|outcome| !outcome.sha256.is_empty() && outcome.inner_blocks <= 2) {
        let known = results.entry(outcome.inner_blocks).or_default();
        if !known.contains(&outcome.sha256.as_slice()) {
            known.push(&outcome.sha256);
        }
    }
    let different = results.into_iter().map(|(blocks, results)| (blocks, results.len())).collect();
    Ok(Sweep { plans: space.candidates.len(), outcomes, different })
}

/// Numbers of the plans chosen out of `count`, ascending.
#[must_use]
pub fn choose(count: usize, choice: Choice) -> Vec<usize> {
    let mut all: Vec<usize> = (0..count).collect();
    if let Some(sample) = choice.sample.filter(|&sample| sample < count) {
        let mut random = SplitMix64::seed_from_u64(choice.seed);
        for place in 0..sample {
            all.swap(place, random.random_range(place..count));
        }
        all.truncate(sample);
        all.sort_unstable();
    }
    let (part, parts) = choice.shard;
    all.into_iter()
        .enumerate()
        .filter(|(place, _)| place % parts.max(1) == part)
        .map(|(_, plan)| plan)
        .collect()
}

fn one(file: &str, module: &Module, space: &PlanSpace, index: usize, reference: &[TensorData]) -> Outcome {
    let started = Instant::now();
    let candidate = &space.candidates[index];
    let mut outcome = Outcome {
        file: file.to_owned(),
        index,
        plan: candidate.plan.decisions(),
        inner_blocks: candidate.plan.grid.k,
        ending: Ending::Agrees,
        said: None,
        mismatches: 0,
        max_abs_error: 0.0,
        sha256: Vec::new(),
        cycles: candidate.cost.cycles,
        simulated_cycles: None,
        elapsed_ms: 0,
    };
    let mut module = module.clone();
    if let Err((ending, said)) = compile_and_run(&mut module, space, index, reference, &mut outcome) {
        outcome.ending = ending;
        outcome.said = Some(said);
    }
    outcome.elapsed_ms = started.elapsed().as_millis() as u64;
    outcome
}

fn compile_and_run(
    module: &mut Module,
    space: &PlanSpace,
    index: usize,
    reference: &[TensorData],
    outcome: &mut Outcome,
) -> Result<(), (Ending, String)> {
    let failed = |failure: Failure| (Ending::Fails, failure.diagnostics.render(&failure.sources));
    space.lower(module, index).map_err(|error| (Ending::Refused, error.message))?;
    if let Err(findings) = verify(module, VerifyOptions::default()) {
        return Err((Ending::Fails, findings.render(&module.sources)));
    }
    let case = read_case(module).map_err(failed)?;
    let above = execute(module, &case, reference, DeviceUse::default()).map_err(failed)?;
    let pipeline = registry::default_pipeline(module, State::Code).to_string();
    let (_, resolved) = resolve_text("<sweep>", &pipeline).map_err(failed)?;
    let run = resolved.run(module, &ManagerOptions::default(), Artifacts::default(), &mut Silent);
    match run.failure {
        Some(RunFailure::CannotCompile) => {
            return Err((Ending::Refused, run.diagnostics.render(&module.sources)));
        }
        Some(_) => return Err((Ending::Fails, run.diagnostics.render(&module.sources))),
        None => {}
    }
    let package = run.artifacts.package.ok_or((Ending::Fails, "the pipeline made no package".to_owned()))?;
    let case = read_case(module).map_err(failed)?;
    let below = execute_package(module, &case, &package, reference, DeviceUse::default()).map_err(failed)?;
    outcome.sha256 = below.results.iter().map(TensorData::sha256).collect();
    outcome.simulated_cycles = below.device.as_ref().map(|(counts, _)| counts.body);
    outcome.mismatches = below.verdicts.iter().map(|result| result.verdict.mismatches as u64).sum();
    outcome.max_abs_error =
        below.verdicts.iter().map(|result| result.verdict.max_abs_error).fold(0.0, f64::max);
    if above.results != below.results {
        return Err((Ending::Diverges, "the device computes other bits than the mapped program".to_owned()));
    }
    if !below.passed() {
        outcome.ending = Ending::OutsideTolerance;
    }
    Ok(())
}
