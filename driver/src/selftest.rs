//! Campaigns of random programs, each checked against something independent of what is tested.
//!
//! `gemm`: a random product is planned, its mapped program executed shard by shard, then compiled to a package and run on the
//! simulated device. The two results must be equal bit for bit: everything between them (expansion, schedules, placement,
//! rows, code, host exchange, simulation) moves bytes and computes nothing of its own.

use ipu_dialects::case::{Case, NoResources};
use ipu_dialects::ir::Module;
use ipu_passes::manager::{Artifacts, ManagerOptions, RunFailure, Silent, State, registry};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;
use serde::Serialize;

use crate::execute::{execute, execute_package};
use crate::exit::{Exit, Failure};
use crate::load::{LoadOptions, load_text};
use crate::opt::{exit_of, resolve_text};
use crate::simulated::DeviceUse;

/// What a campaign found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Findings {
    /// Programs tried.
    pub tried: u32,
    /// Programs that ran and agreed.
    pub agreed: u32,
    /// Programs that have no plan or no placement, as the compiler said.
    pub refused: u32,
    /// Agreed, but further from the reference than the default tolerance: coarse arithmetic, not an error.
    pub outside_tolerance: u32,
    /// Programs that disagreed or failed: their text and what happened.
    pub failures: Vec<Finding>,
}

/// A program that failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Number in the campaign.
    pub index: u32,
    /// What happened.
    pub what: String,
    /// The program.
    pub text: String,
}

/// How one program ended.
enum Outcome {
    Agreed { within_tolerance: bool },
    Refused,
}

/// Runs `count` random products. The same seed gives the same programs.
#[must_use]
pub fn gemm(count: u32, seed: u64, progress: &mut dyn FnMut(u32)) -> Findings {
    let mut findings = Findings::default();
    for index in 0..count {
        progress(index);
        let mut random = SplitMix64::seed_from_u64(seed.wrapping_add(u64::from(index)));
        let (text, choice) = random_gemm(&mut random);
        findings.tried += 1;
        match check(&text, &choice) {
            Ok(Outcome::Agreed { within_tolerance }) => {
                findings.agreed += 1;
                findings.outside_tolerance += u32::from(!within_tolerance);
            }
            Ok(Outcome::Refused) => findings.refused += 1,
            Err(what) => findings.failures.push(Finding { index, what, text }),
        }
    }
    findings
}

fn pick<T: Copy>(random: &mut SplitMix64, choices: &[T]) -> T {
    choices[random.random_range(0..choices.len())]
}

/// A product of random sizes, types and tiles, and which of its plans to take: one of the best, or one on a grid of no merit.
fn random_gemm(random: &mut SplitMix64) -> (String, String) {
    let tiles = pick(random, &[1, 2, 3, 4, 7, 8, 16, 30, 64, 200, 1472]);
    let [m, k, n] = [96, 192, 96].map(|most| random.random_range(1..=most));
    let (left, right, multiply, accumulate) = pick(
        random,
        &[
            ("f16", "!ipu.f143<-4>", "!ipu.f143<-4>", "f16"),
            ("f16", "f16", "f16", "f16"),
            ("!ipu.f143<-4>", "!ipu.f143<-4>", "!ipu.f143<-4>", "f16"),
            ("f32", "f32", "f32", "f32"),
        ],
    );
    let kind = pick(random, &["weight", "input"]);
    let (left, right) = (format!("tensor<{m}x{k}x{left}>"), format!("tensor<{k}x{n}x{right}>"));
    let result = format!("tensor<{m}x{n}x{accumulate}>");
    let text = format!(
        "graph.func @main(%a: {left} {{ipu.name = \"a\", ipu.kind = \"input\", ipu.data = #ipu.normal<seed = 1, sigma = 0.25>}}, \
         %b: {right} {{ipu.name = \"b\", ipu.kind = \"{kind}\", ipu.data = #ipu.normal<seed = 2, sigma = 0.125>}}) -> \
         ({result} {{ipu.name = \"c\"}}) attributes {{ipu.tiles = {tiles}}} {{\n  \
         %c = graph.gemm %a, %b multiply({multiply}) accumulate({accumulate}) : {left}, {right} -> {result}\n  \
         graph.return %c : {result}\n}}\n"
    );
    let [rows, columns, inner] = [8, 6, 6].map(|most| random.random_range(1..=most));
    let choice = match random.random_range(0..4) {
        0 => format!("plan=grid={rows}x{columns}x{inner}"),
        1 => format!("plan=grid={rows}x1x{inner}"),
        finalist => format!("finalist={}", finalist - 2),
    };
    (text, choice)
}

fn check(text: &str, choice: &str) -> Result<Outcome, String> {
    let said = |failure: Failure| failure.diagnostics.render(&failure.sources);
    let (mut module, _) = load_text("random.ir", text, LoadOptions::default()).map_err(said)?;
    let reference = Case::read(&module, &NoResources).and_then(|case| case.reference(&module));
    let reference = reference.map_err(|finding| finding.message)?;
    // Not every product has that plan; the best one is always there.
    let planned = [choice, "finalist=0"].into_iter().find_map(|choice| {
        let mut planned = module.clone();
        let pipeline = format!("canonicalize,select-plans{{{choice}}}");
        passes(&mut planned, &pipeline).ok().flatten().map(|_| planned)
    });
    match planned {
        Some(planned) => module = planned,
        None => return Ok(Outcome::Refused),
    }
    let mapped = Case::read(&module, &NoResources).map_err(|finding| finding.message)?;
    let above = execute(&module, &mapped, &reference, DeviceUse::default()).map_err(said)?;
    let pipeline = registry::default_pipeline(&module, State::Code).to_string();
    let Some(artifacts) = passes(&mut module, &pipeline)? else { return Ok(Outcome::Refused) };
    let package = artifacts.package.ok_or("the pipeline made no package")?;
    let case = Case::read(&module, &NoResources).map_err(|finding| finding.message)?;
    let below = execute_package(&module, &case, &package, &reference, DeviceUse::default()).map_err(said)?;
    let digests = |results: &[ipu_dialects::tensor_data::TensorData]| -> Vec<String> {
        results.iter().map(ipu_dialects::tensor_data::TensorData::sha256).collect()
    };
    if digests(&above.results) != digests(&below.results) {
        return Err("the device computes other bits than the mapped program".to_owned());
    }
    Ok(Outcome::Agreed { within_tolerance: below.passed() })
}

/// Runs a pipeline; `None` if the program cannot be compiled.
pub(crate) fn passes(module: &mut Module, pipeline: &str) -> Result<Option<Artifacts>, String> {
    let said = |failure: Failure| failure.diagnostics.render(&failure.sources);
    let (_, resolved) = resolve_text("<selftest>", pipeline).map_err(said)?;
    let run = resolved.run(module, &ManagerOptions::default(), Artifacts::default(), &mut Silent);
    match run.failure {
        None => Ok(Some(run.artifacts)),
        Some(RunFailure::CannotCompile) => Ok(None),
        Some(failure) => {
            debug_assert_ne!(exit_of(failure), Exit::Ok);
            Err(run.diagnostics.render(&module.sources))
        }
    }
}
