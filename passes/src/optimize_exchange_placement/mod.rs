//! `--optimize-exchange-placement`: moves storage where that shortens phases.
//!
//! A placed schedule can be longer than one that may choose which buffers lie apart. For each phase both are made; the
//! pairs of buffers that the shorter one needs apart are added, largest gain first, as long as a placement keeps
//! them. The outcome is taken if the phases are shorter together; else the program stays as it is, to the byte.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use ipu_dialects::diagnostics::{Diagnostic, Diagnostics};
use ipu_dialects::exchange::program::{Program, Step, Transfers};
use ipu_dialects::exchange::{Buffer, Phase, rewrite_phase, set_addresses, set_phase_sends};
use ipu_dialects::ir::{Module, Name};
use rayon::prelude::*;

use crate::manager::{OptionError, Pass, PassContext, PassFailure, PassInfo, RemarkCode, State, options};
use crate::place_storage::buffers::{placed, problem_of, set_places};
use crate::place_storage::pass::code_reach;
use crate::place_storage::{PlaceOptions, place_storage, validate_placement};
use crate::schedule_exchanges::pass::{ScheduledPhase, finding, schedule};
use crate::schedule_exchanges::{ScheduleError, ScheduleOptions};

/// Name of the pass in origins.
const NAME: Name = Name::of("optimize-exchange-placement");

/// The pass as the manager knows it.
pub static INFO: PassInfo = PassInfo {
    name: "optimize-exchange-placement",
    summary: "exchange: moves storage where that shortens phases, and schedules them for it",
    requires: &[State::Exchange, State::Placed],
    provides: &[],
    options: &[],
    defaults: options::no_defaults,
    create,
};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct NoOptions {}

fn create(values: &IndexMap<String, String>) -> Result<Box<dyn Pass>, OptionError> {
    let NoOptions {} = options::read(values)?;
    Ok(Box::new(OptimizeExchangePlacement))
}

struct OptimizeExchangePlacement;

impl Pass for OptimizeExchangePlacement {
    fn run(&self, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), PassFailure> {
        let program = context.read_main(module, Program::read)?;
        let now = schedule_phases(&program).map_err(|(step, error)| {
            let phase = phase_at(&program, step);
            context.cannot_compile(phase.map_or_else(
                || Diagnostic::error(error.code, module.span(program.op), &error.message),
                |phase| finding(module, phase, &error),
            ))
        })?;
        let weights = weights(&program);
        let before = length(&now, &weights);
        let attempt = shorter(module, &program, &now, &weights);
        remark(module, &program, &attempt, before, context);
        let found = attempt.found.filter(|found| found.events < before).filter(|_| context.fuel.take());
        let events = found.as_ref().map_or(before, |found| found.events);
        let moved = found.as_ref().map_or(0, |found| moved(&program, &found.program));
        tracing::info!(events_before = before, events, moved_buffers = moved, "exchange placement optimized");
        context.record("events_before", before);
        context.record("events", events);
        context.record("moved_buffers", moved);
        match found {
            Some(found) => write(module, &found),
            None => context.leaves_module(),
        }
        Ok(())
    }
}

/// The phases by step.
type Schedules = Vec<(usize, ScheduledPhase)>;

fn phase_at(program: &Program, step: usize) -> Option<&Phase> {
    match program.steps.get(step) {
        Some(Step::Phase(phase)) => Some(phase),
        _ => None,
    }
}

/// All phases with times, those that they have where these hold.
fn schedule_phases(program: &Program) -> Result<Schedules, (usize, ScheduleError)> {
    let steps: Vec<usize> = (0..program.steps.len()).collect();
    let scheduled: Vec<_> = steps
        .par_iter()
        .filter_map(|&step| {
            let phase = phase_at(program, step)?;
            let scheduled = schedule(program, phase, &ScheduleOptions::default());
            Some(scheduled.map(|scheduled| (step, scheduled)).map_err(|error| (step, error)))
        })
        .collect();
    scheduled.into_iter().collect()
}

/// By step: how often it runs in a call.
fn weights(program: &Program) -> Vec<i64> {
    let mut weights = vec![1i64; program.steps.len()];
    for step in &program.steps {
        if let Step::Repeat { count, body, .. } = step {
            for weight in weights.get_mut(body.clone()).into_iter().flatten() {
                *weight = weight.saturating_mul(i64::from(*count));
            }
        }
    }
    weights
}

/// Events of all phases of a call.
fn length(schedules: &Schedules, weights: &[i64]) -> i64 {
    let weighted = |(step, scheduled): &(usize, ScheduledPhase)| {
        scheduled.events.saturating_mul(weights.get(*step).copied().unwrap_or(1))
    };
    schedules.iter().map(weighted).fold(0, i64::saturating_add)
}

/// A program that does the same in fewer events.
struct Found {
    /// Placed and scheduled; its ops are those of the program that it was made from.
    program: Program,
    /// Steps whose phases have other transfers than before.
    rewritten: BTreeSet<usize>,
    events: i64,
}

/// What came of the attempt to make phases shorter.
#[derive(Default)]
struct Attempt {
    found: Option<Found>,
    /// Phases that other addresses would make shorter, by step, with the gain in events of a call.
    gains: Vec<(usize, i64)>,
    /// Why a placement for some of them was given up, with the steps of the phases it was for.
    given_up: Vec<(Vec<usize>, String)>,
}

/// Says which phases could be shorter and why they are not.
fn remark(module: &Module, program: &Program, attempt: &Attempt, before: i64, context: &mut PassContext<'_>) {
    if attempt.gains.is_empty() {
        let message = format!("no phase is shorter at other addresses: {before} events are what they need");
        context.remark(|| Diagnostic::remark(RemarkCode::NothingToGain, module.span(program.op), message));
    }
    let name = |step: &usize| phase_at(program, *step).map_or("?", |phase| &phase.name);
    for (steps, reason) in &attempt.given_up {
        context.remark(|| {
            let names: Vec<String> = steps.iter().map(|step| format!("`{}`", name(step))).collect();
            let gain: i64 =
                attempt.gains.iter().filter(|(step, _)| steps.contains(step)).map(|(_, gain)| gain).sum();
            let at = steps.first().and_then(|&step| phase_at(program, step));
            let span = module.span(at.map_or(program.op, |phase| phase.op));
            let message = format!("storage does not move to shorten {} by {gain} events", names.join(", "));
            Diagnostic::remark(RemarkCode::NotReplaced, span, message).note(reason)
        });
    }
    if let Some(found) = attempt.found.as_ref().filter(|found| found.events >= before) {
        context.remark(|| {
            let message = format!("moved storage is not kept: {} events instead of {before}", found.events);
            Diagnostic::remark(RemarkCode::NotReplaced, module.span(program.op), message)
        });
    }
}

/// Moves buffers such that phases can be as short as they are without addresses, as far as a placement is found.
fn shorter(module: &Module, program: &Program, now: &Schedules, weights: &[i64]) -> Attempt {
    let mut free = program.clone();
    free.buffers.iter_mut().for_each(|buffer| buffer.at = None);
    for step in &mut free.steps {
        if let Step::Phase(phase) = step {
            phase.transfers.send.clear();
        }
    }
    let mut attempt = Attempt::default();
    let Ok(freely) = schedule_phases(&free) else { return attempt };
    let mut gains: Vec<(i64, usize)> = Vec::new();
    for (index, ((step, free), (_, now))) in freely.iter().zip(now).enumerate() {
        let weight = weights.get(*step).copied().unwrap_or(1);
        let gain = now.events.saturating_sub(free.events).saturating_mul(weight);
        if gain > 0 {
            gains.push((gain, index));
        }
    }
    gains.sort_unstable_by_key(|&(gain, index)| (std::cmp::Reverse(gain), index));
    let all: Vec<usize> = gains.iter().map(|&(_, index)| index).collect();
    attempt.gains = gains.iter().map(|&(gain, index)| (freely[index].0, gain)).collect();
    let mut give_up = |wanted: &[usize], reason: String| {
        attempt.given_up.push((wanted.iter().map(|&index| freely[index].0).collect(), reason));
    };
    if all.is_empty() {
        return attempt;
    }
    match move_apart(module, program, &freely, &all, weights) {
        Ok(found) => attempt.found = Some(found),
        Err(reason) if all.len() == 1 => give_up(&all, reason),
        Err(_) => {
            let mut wanted = Vec::new();
            for index in all {
                wanted.push(index);
                match move_apart(module, program, &freely, &wanted, weights) {
                    Ok(found) => attempt.found = Some(found),
                    Err(reason) => {
                        give_up(&[index], reason);
                        wanted.pop();
                    }
                }
            }
        }
    }
    attempt
}

/// The program with the pairs apart that the phases `wanted` of `freely` need, and scheduled for that.
///
/// # Errors
/// Why there is no such placement; that it lets code reach a buffer is one reason.
fn move_apart(
    module: &Module,
    program: &Program,
    freely: &Schedules,
    wanted: &[usize],
    weights: &[i64],
) -> Result<Found, String> {
    let mut moved = program.clone();
    let mut rewritten = BTreeSet::new();
    for (step, scheduled) in wanted.iter().filter_map(|&index| freely.get(index)) {
        moved.separate.extend(&scheduled.separate);
        if scheduled.rewritten {
            rewritten.insert(*step);
        }
        set_transfers(&mut moved, *step, &scheduled.transfers);
    }
    moved.buffers.iter_mut().for_each(|buffer| buffer.at = None);
    let no_code = |findings: Diagnostics| {
        let why = findings.iter().next().map_or("", |finding| &finding.message);
        format!("there is no code for them: {why}")
    };
    let ends = code_reach(module, &moved).map_err(no_code)?;
    let placement = place_storage(&problem_of(&moved, &ends), &PlaceOptions::default())
        .map_err(|error| format!("no placement keeps apart what they need: {}", error.message))?;
    set_places(&mut moved, &placement);
    let unscheduled = |(_, error): (usize, ScheduleError)| format!("no schedule there: {}", error.message);
    let schedules = schedule_phases(&moved).map_err(unscheduled)?;
    let events = length(&schedules, weights);
    for (step, scheduled) in schedules {
        if scheduled.rewritten {
            rewritten.insert(step);
        }
        set_transfers(&mut moved, step, &scheduled.transfers);
    }
    let ends = code_reach(module, &moved).map_err(no_code)?;
    match validate_placement(&problem_of(&moved, &ends), &placed(&moved)).first() {
        Some(violation) => Err(format!(
            "the new schedules break the placement on tile {}: {}",
            violation.tile, violation.message
        )),
        None => Ok(Found { program: moved, rewritten, events }),
    }
}

fn set_transfers(program: &mut Program, step: usize, transfers: &Transfers) {
    if let Some(Step::Phase(phase)) = program.steps.get_mut(step) {
        phase.transfers = transfers.clone();
    }
}

/// Buffers with another address on some tile.
fn moved(before: &Program, after: &Program) -> usize {
    let differs = |(one, other): &(&Buffer, &Buffer)| {
        one.tiles.iter().any(|&tile| one.address(tile) != other.address(tile))
    };
    before.buffers.iter().zip(&after.buffers).filter(differs).count()
}

fn write(module: &mut Module, found: &Found) {
    set_addresses(module, &found.program);
    for (step, phase) in found.program.steps.iter().enumerate() {
        match phase {
            Step::Phase(phase) if found.rewritten.contains(&step) => {
                rewrite_phase(module, &found.program, phase, NAME);
            }
            Step::Phase(phase) => set_phase_sends(module, &phase.transfers),
            _ => {}
        }
    }
}
