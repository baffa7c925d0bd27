//! The pass: every buffer of an exchange program gets its address.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use ipu_device::Address;
use ipu_dialects::diagnostics::{Diagnostic, Diagnostics};
use ipu_dialects::exchange::program::{Program, Step};
use ipu_dialects::exchange::{remove_separations, set_addresses, set_phase_sends};
use ipu_dialects::ir::Module;

use super::buffers::{placed, problem_of, set_places};
use super::failure::{PlaceCode, PlaceError};
use super::search::{PlaceOptions, Placement, place_storage};
use super::statistics::{PlacementStatistics, measure};
use crate::lower_exchanges::code_ends;
use crate::manager::{OptionError, Pass, PassContext, PassFailure, PassInfo, State, options};
use crate::schedule_exchanges::ScheduleOptions;
use crate::schedule_exchanges::pass::{finding, schedule};

/// The pass as the manager knows it.
pub static INFO: PassInfo = PassInfo {
    name: "place-storage",
    summary: "exchange: addresses of all buffers, apart where kernels and schedules need it, beside all code",
    requires: &[State::Exchange],
    provides: &[State::Placed],
    options: &[],
    defaults: options::no_defaults,
    create,
};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct NoOptions {}

fn create(values: &IndexMap<String, String>) -> Result<Box<dyn Pass>, OptionError> {
    let NoOptions {} = options::read(values)?;
    Ok(Box::new(PlaceStorage))
}

struct PlaceStorage;

impl Pass for PlaceStorage {
    fn run(&self, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), PassFailure> {
        let mut program = context.read_main(module, Program::read)?;
        if program.is_placed() {
            let statistics = measure(&problem_of(&program, &[]), &placed(&program));
            report(&program, &statistics, true, context);
            return Ok(());
        }
        let ends = code_reach(module, &program).map_err(|findings| {
            context.diagnostics.append(findings);
            PassFailure::CannotCompile
        })?;
        let placement = match place_storage(&problem_of(&program, &ends), &PlaceOptions::default()) {
            Ok(placement) => placement,
            Err(error) => match place_without_times(module, &mut program, &ends, &error) {
                Some((placement, warning)) => {
                    context.diagnostics.push(warning);
                    placement
                }
                None => return Err(context.cannot_compile(diagnostic(module, &program, &error))),
            },
        };
        set_places(&mut program, &placement);
        set_addresses(module, &program);
        report(&program, &placement.statistics, false, context);
        Ok(())
    }
}

/// One past the last byte of code of each tile. Rows of phases without times are those of a schedule made for this.
pub(crate) fn code_reach(module: &Module, program: &Program) -> Result<Vec<Address>, Diagnostics> {
    if program.is_scheduled() {
        return code_ends(module, program);
    }
    let mut timed = program.clone();
    let mut findings = Diagnostics::new();
    for step in &mut timed.steps {
        let Step::Phase(phase) = step else { continue };
        match schedule(program, phase, &ScheduleOptions::default()) {
            Ok(scheduled) => phase.transfers = scheduled.transfers,
            Err(error) => findings.push(finding(module, phase, &error)),
        }
    }
    if findings.has_errors() { Err(findings) } else { code_ends(module, &timed) }
}

/// A placement for a program that has none with its start times, because these need too many buffers apart: the times go,
/// and so do the pairs that only they needed. `None` if that does not help either; then nothing changes.
fn place_without_times(
    module: &mut Module,
    program: &mut Program,
    ends: &[Address],
    error: &PlaceError,
) -> Option<(Placement, Diagnostic)> {
    let mut pairs = BTreeSet::new();
    for phase in program.phases().filter(|phase| phase.transfers.is_scheduled()) {
        pairs.extend(schedule(program, phase, &ScheduleOptions::default()).ok()?.separate);
    }
    let mut relaxed = program.clone();
    relaxed.separate.retain(|&(one, other)| !pairs.contains(&(one.min(other), one.max(other))));
    if relaxed.separate.len() == program.separate.len() {
        return None;
    }
    let placement = place_storage(&problem_of(&relaxed, ends), &PlaceOptions::default()).ok()?;
    let message = format!("start times dropped: with them, {}", error.message);
    let warning = Diagnostic::warning(PlaceCode::TimesDropped, module.span(program.op), message);
    let warning = error.notes.iter().fold(warning, |warning, note| warning.note(note));
    remove_separations(module, program, &pairs);
    for step in &mut relaxed.steps {
        if let Step::Phase(phase) = step {
            phase.transfers.send.clear();
            set_phase_sends(module, &phase.transfers);
        }
    }
    *program = relaxed;
    Some((placement, warning.note("`--schedule-exchanges` makes times for the addresses")))
}

/// Why there is no placement, at the buffer that found no place, with the buffers in its way.
fn diagnostic(module: &Module, program: &Program, error: &PlaceError) -> Diagnostic {
    let op = |buffer: &u32| program.buffers.get(*buffer as usize).map(|buffer| buffer.op);
    let first = error.buffers.first().and_then(op).unwrap_or(program.op);
    let diagnostic = Diagnostic::error(error.code, module.span(first), &error.message);
    let diagnostic = error.notes.iter().fold(diagnostic, |diagnostic, note| diagnostic.note(note));
    match &error.help {
        Some(help) => diagnostic.note(help),
        None => diagnostic,
    }
}

fn report(program: &Program, statistics: &PlacementStatistics, kept: bool, context: &mut PassContext<'_>) {
    let PlacementStatistics { footprint, liveness, split_buffers } = *statistics;
    tracing::info!(
        buffers = program.buffers.len(),
        peak_standard_bytes = footprint.standard,
        peak_interleaved_bytes = footprint.interleaved,
        peak_total_bytes = footprint.total,
        live_total_bytes = liveness.total,
        split_buffers,
        kept,
        "storage placed"
    );
    context.record("buffers", program.buffers.len());
    context.record("peak_standard_bytes", footprint.standard);
    context.record("peak_interleaved_bytes", footprint.interleaved);
    context.record("peak_total_bytes", footprint.total);
    context.record("live_total_bytes", liveness.total);
    context.record("split_buffers", split_buffers);
    context.record("kept", kept);
}
