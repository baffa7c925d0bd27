//! The pass: every phase of an exchange program gets start times, near a bound that is reported with them.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use ipu_dialects::diagnostics::Diagnostic;
use ipu_dialects::exchange::program::{Program, Transfers};
use ipu_dialects::exchange::{BufferId, Phase, add_separations, rewrite_phase, set_phase_sends};
use ipu_dialects::ir::{Module, Name, OpId};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::bound::{Bound, lower_bound};
use super::columns::Columns;
use super::problem::ScheduleError;
use super::schedule::{ScheduleOptions, schedule_phase};
use super::separate::separate_edges;
use super::validate::{phase_length, validate};
use crate::manager::{OptionError, Pass, PassContext, PassFailure, PassInfo, State, options};

/// Name of the pass in origins.
const NAME: Name = Name::of("schedule-exchanges");

/// The pass as the manager knows it.
pub static INFO: PassInfo = PassInfo {
    name: "schedule-exchanges",
    summary: "exchange: start times of all transfers, with the bound they are near; keeps a schedule that still holds",
    requires: &[State::Exchange],
    provides: &[State::Scheduled],
    options: &[],
    defaults: options::no_defaults,
    create,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoOptions {}

fn create(values: &IndexMap<String, String>) -> Result<Box<dyn Pass>, OptionError> {
    let NoOptions {} = options::read(values)?;
    Ok(Box::new(ScheduleExchanges))
}

struct ScheduleExchanges;

impl Pass for ScheduleExchanges {
    fn run(&self, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), PassFailure> {
        let program = context.read_main(module, Program::read)?;
        let phases: Vec<&Phase> = program.phases().collect();
        let schedules: Vec<_> =
            phases.par_iter().map(|phase| schedule(&program, phase, &ScheduleOptions::default())).collect();
        let mut scheduled = Vec::with_capacity(phases.len());
        for (phase, schedule) in phases.iter().zip(schedules) {
            let schedule =
                schedule.map_err(|error| context.cannot_compile(finding(module, phase, &error)))?;
            scheduled.push(schedule);
        }
        report(&phases, &scheduled, context);
        write(module, &program, &phases, scheduled, context);
        Ok(())
    }
}

/// A phase with start times.
#[derive(Debug, Clone)]
pub(crate) struct ScheduledPhase {
    /// The transfers with `send`; those of the phase, in order, unless `rewritten`.
    pub(crate) transfers: Transfers,
    /// Whether transfers were cut or sent more than once.
    pub(crate) rewritten: bool,
    /// Whether these are the start times that the phase had.
    kept: bool,
    /// Buffers that these times need in different elements, where that is not decided by addresses.
    pub(crate) separate: BTreeSet<(BufferId, BufferId)>,
    /// Last event of the longest row.
    pub(crate) events: i64,
    /// What no schedule beats.
    pub(crate) bound: Bound,
}

/// Schedules `phase`, or keeps its schedule where that breaks no rule.
pub(crate) fn schedule(
    program: &Program,
    phase: &Phase,
    options: &ScheduleOptions,
) -> Result<ScheduledPhase, ScheduleError> {
    let columns = Columns::of(program, phase)?;
    let sends = &phase.transfers.send;
    if phase.transfers.is_scheduled() && columns.problem.check().is_ok() {
        let holds = validate(&columns.problem, sends, options.rules).is_empty();
        if holds {
            let bound = lower_bound(&columns.problem);
            return Ok(ScheduledPhase {
                transfers: phase.transfers.clone(),
                rewritten: false,
                kept: true,
                separate: edges(&columns, separate_edges(&columns.problem, sends)),
                events: phase_length(&columns.problem, sends),
                bound,
            });
        }
    }
    let made = schedule_phase(&columns.problem, options)?;
    let rewritten = made.messages.transfers.len() != columns.problem.transfers.len();
    let mut transfers = if rewritten {
        let op = |message: usize| origin(phase, made.origins.get(message).copied());
        columns.transfers(&made.messages, op)
    } else {
        phase.transfers.clone()
    };
    transfers.send = made.sends;
    Ok(ScheduledPhase {
        transfers,
        rewritten,
        kept: false,
        separate: edges(&columns, made.separate),
        events: made.statistics.events,
        bound: made.statistics.bound,
    })
}

/// The copy op of transfer `row`.
fn origin(phase: &Phase, row: Option<u32>) -> OpId {
    row.and_then(|row| phase.transfers.op.get(row as usize)).copied().unwrap_or(phase.op)
}

/// Edges between storages as edges between buffers, and those of transfers that a tile sends to itself among others:
/// it reads and writes at once there, whatever the times.
fn edges(columns: &Columns, between: Vec<(u32, u32)>) -> BTreeSet<(BufferId, BufferId)> {
    let problem = &columns.problem;
    let loops = problem.transfers.iter().flat_map(|transfer| {
        let own = problem.receivers_of(transfer).iter().filter(|receiver| receiver.tile == transfer.source);
        own.map(|receiver| (transfer.storage, receiver.storage))
    });
    let unplaced = |storage: u32| {
        problem.storages.get(storage as usize).is_some_and(|storage| storage.address.is_none())
    };
    let loops = loops.filter(|&(from, to)| unplaced(from) || unplaced(to));
    let pair = |(one, other)| {
        let (one, other) = (columns.buffer(one)?, columns.buffer(other)?);
        Some((one.min(other), one.max(other)))
    };
    between.into_iter().chain(loops).filter_map(pair).collect()
}

/// Why a phase has no schedule, at the transfer at fault.
pub(crate) fn finding(module: &Module, phase: &Phase, error: &ScheduleError) -> Diagnostic {
    let span = module.span(origin(phase, error.transfer));
    let diagnostic = Diagnostic::error(error.code, span, &error.message);
    let member = error.transfer.and_then(|row| phase.transfers.member.get(row as usize));
    diagnostic.note(match member {
        Some(member) => format!("in phase `@{}`, member {member} of this op", phase.name),
        None => format!("in phase `@{}`", phase.name),
    })
}

/// Figures of one phase, as statistics have them.
#[derive(Serialize)]
struct PhaseFigures<'a> {
    phase: &'a str,
    transfers: usize,
    messages: usize,
    events: i64,
    bound: Bound,
    ratio: f64,
    kept: bool,
}

fn ratio(events: i64, bound: i64) -> f64 {
    if bound == 0 { 1.0 } else { events as f64 / bound as f64 }
}

fn report(phases: &[&Phase], scheduled: &[ScheduledPhase], context: &mut PassContext<'_>) {
    let mut figures = Vec::with_capacity(phases.len());
    for (phase, schedule) in phases.iter().zip(scheduled) {
        let row = PhaseFigures {
            phase: &phase.name,
            transfers: phase.transfers.len(),
            messages: schedule.transfers.len(),
            events: schedule.events,
            bound: schedule.bound,
            ratio: ratio(schedule.events, schedule.bound.events),
            kept: schedule.kept,
        };
        tracing::info!(
            phase = row.phase,
            transfers = row.transfers,
            messages = row.messages,
            events = row.events,
            bound = row.bound.events,
            critical_tile = row.bound.critical_tile.0,
            ratio = row.ratio,
            kept = row.kept,
            "exchange phase scheduled"
        );
        figures.push(serde_json::to_value(row).unwrap_or_default());
    }
    let events: i64 = scheduled.iter().map(|schedule| schedule.events).sum();
    let bound: i64 = scheduled.iter().map(|schedule| schedule.bound.events).sum();
    context.record("phases", figures);
    context.record("messages", scheduled.iter().map(|schedule| schedule.transfers.len()).sum::<usize>());
    context.record("events", events);
    context.record("bound", bound);
    context.record("ratio", ratio(events, bound));
}

fn write(
    module: &mut Module,
    program: &Program,
    phases: &[&Phase],
    scheduled: Vec<ScheduledPhase>,
    context: &mut PassContext<'_>,
) {
    let mut separate = BTreeSet::new();
    for (phase, mut schedule) in phases.iter().zip(scheduled) {
        separate.append(&mut schedule.separate);
        if schedule.rewritten {
            let phase = Phase { transfers: schedule.transfers, ..(*phase).clone() };
            rewrite_phase(module, program, &phase, NAME);
        } else if !schedule.kept {
            set_phase_sends(module, &schedule.transfers);
        }
    }
    let added = add_separations(module, program, &separate, NAME);
    context.record("separate_edges", separate.len());
    context.record("separate_edges_added", added);
}
