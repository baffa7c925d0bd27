//! The pass: fewer and longer transfers in every phase of an exchange program, and fewer phases.

use indexmap::IndexMap;
use ipu_dialects::exchange::program::{Program, Step, Transfers};
use ipu_dialects::exchange::{Phase, rewrite_phase};
use ipu_dialects::ir::{Module, Name, OpId};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::reads::{ProgramReads, Ranges, sources};
use super::remarks::{self, GivenUp};
use super::{OptimizeOptions, OptimizeStatistics, Reads, append_phase, may_fuse, optimize_transfers};
use crate::manager::{OptionError, OptionInfo, Pass, PassContext, PassFailure, PassInfo, State, options};
use crate::schedule_exchanges::columns::Columns;
use crate::schedule_exchanges::pass::finding;
use crate::schedule_exchanges::problem::MAX_MESSAGE_WORDS;
use crate::schedule_exchanges::{Problem, ScheduleOptions, schedule_phase};

/// Name of the pass in origins.
const NAME: Name = Name::of("optimize-exchanges");

/// The pass as the manager knows it.
pub static INFO: PassInfo = PassInfo {
    name: "optimize-exchanges",
    summary: "exchange: drops dead and duplicate transfers, merges multicasts, joins runs, fuses phases",
    requires: &[State::Exchange],
    provides: &[],
    options: &[OptionInfo {
        name: "fuse",
        form: "true|false",
        help: "whether phases that follow each other become one (default true)",
    }],
    defaults: options::defaults::<Options>,
    create,
};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Options {
    fuse: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { fuse: true }
    }
}

fn create(values: &IndexMap<String, String>) -> Result<Box<dyn Pass>, OptionError> {
    let options: Options = options::read(values)?;
    Ok(Box::new(OptimizeExchanges { options }))
}

struct OptimizeExchanges {
    options: Options,
}

/// A phase, or phases that become one, on its way through the pass.
pub(super) struct Work<'p> {
    /// Positions of the phases in the program's steps.
    steps: Vec<usize>,
    pub(super) phases: Vec<&'p Phase>,
    pub(super) columns: Columns,
    /// By transfer: the copy op it comes from.
    pub(super) ops: Vec<OpId>,
    changed: bool,
    done: OptimizeStatistics,
    /// What would do the same with fewer transfers, but is no better.
    pub(super) given_up: Option<GivenUp>,
}

impl Pass for OptimizeExchanges {
    fn run(&self, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), PassFailure> {
        let program = context.read_main(module, Program::read)?;
        // Phases of a placed program stay apart: buffers that live in one each may share addresses.
        let fuse = self.options.fuse && !program.is_placed();
        let mut works = gather(module, &program, fuse, context)?;
        let mut reads = ProgramReads::of(&program);
        let mut rewritten: Vec<Transfers> = Vec::with_capacity(works.len());
        let (mut phases, mut transfers, mut total) = (0, 0, OptimizeStatistics::default());
        for work in works.iter_mut().rev() {
            let last = work.steps.last().copied().unwrap_or(0);
            match improve(work, &reads.after(last)) {
                Improvement::Kept(improved) if context.fuel.take() => work.take(improved),
                Improvement::GivenUp(given_up) => work.given_up = Some(given_up),
                Improvement::None | Improvement::Kept(_) => {}
            }
            let rows = work.columns.transfers(&work.columns.problem, |row| work.ops[row]);
            work.steps.iter().for_each(|&step| reads.replace(step, Ranges::default()));
            reads.replace(last, sources(&rows));
            phases += usize::from(!rows.is_empty());
            transfers += rows.len();
            total.add(work.done);
            rewritten.push(rows);
        }
        remark(module, &program, &works, context);
        for (work, rows) in works.iter().rev().zip(rewritten).filter(|(work, _)| work.changed) {
            report(work);
            write(module, &program, work, rows);
        }
        if !works.iter().any(|work| work.changed) {
            context.leaves_module();
        }
        context.record("phases_before", program.phases().count());
        context.record("phases", phases);
        let before: usize = program.phases().map(|phase| phase.transfers.len()).sum();
        context.record("transfers_before", before);
        context.record("transfers", transfers);
        context.record("rewrites", serde_json::to_value(total).unwrap_or_default());
        Ok(())
    }
}

/// Says what stays apart and why, before the module changes.
fn remark(module: &Module, program: &Program, works: &[Work<'_>], context: &mut PassContext<'_>) {
    if !context.wants_remarks() {
        return;
    }
    for work in works {
        let found = remarks::not_kept(module, work).into_iter();
        for remark in found.chain(remarks::not_merged(module, program, work)) {
            context.remark(|| remark);
        }
    }
}

/// The phases in order; with `fuse`, those that follow each other and do not meet as one.
fn gather<'p>(
    module: &Module,
    program: &'p Program,
    fuse: bool,
    context: &mut PassContext<'_>,
) -> Result<Vec<Work<'p>>, PassFailure> {
    let mut works: Vec<Work<'p>> = Vec::new();
    for (step, phase) in program.steps.iter().enumerate() {
        let Step::Phase(phase) = phase else { continue };
        let columns = Columns::by_buffer(program, phase)
            .map_err(|error| context.cannot_compile(finding(module, phase, &error)))?;
        let follows = |work: &&mut Work<'_>| {
            let last = work.phases.last().map(|last| last.op);
            last.and_then(|last| module.next_op(last)) == Some(phase.op)
                && may_fuse(&work.columns.problem, &columns.problem)
        };
        let before = works.last_mut().filter(|_| fuse).filter(follows);
        if let Some(work) = before.filter(|_| context.fuel.take()) {
            append_phase(&mut work.columns.problem, &columns.problem);
            work.ops.extend(&phase.transfers.op);
            work.steps.push(step);
            work.phases.push(phase);
            work.changed = true;
            continue;
        }
        if let Some(work) = works.last().filter(|_| fuse && context.wants_remarks()) {
            let remark = remarks::not_fused(module, program, work, (phase, &columns.problem));
            remark.into_iter().for_each(|remark| context.remark(|| remark));
        }
        works.push(Work {
            steps: vec![step],
            phases: vec![phase],
            columns,
            ops: phase.transfers.op.clone(),
            changed: false,
            done: OptimizeStatistics::default(),
            given_up: None,
        });
    }
    Ok(works)
}

/// Transfers that do what those of a phase did.
struct Improved {
    problem: Problem,
    /// By transfer: the first transfer of the phase that it stands for.
    origins: Vec<u32>,
    done: OptimizeStatistics,
}

impl Work<'_> {
    fn take(&mut self, improved: Improved) {
        self.ops = improved.origins.iter().map(|&origin| self.ops[origin as usize]).collect();
        self.columns.problem = improved.problem;
        self.done = improved.done;
        self.changed = true;
    }
}

/// What may be rewritten, from most to least; less can schedule better, because long messages are hard to fit.
const EFFORTS: [OptimizeOptions; 3] = [
    OptimizeOptions { merge_multicasts: true, join_scattered: true, longest: MAX_MESSAGE_WORDS },
    OptimizeOptions { merge_multicasts: true, join_scattered: false, longest: MAX_MESSAGE_WORDS },
    OptimizeOptions { merge_multicasts: false, join_scattered: false, longest: MAX_MESSAGE_WORDS },
];

/// Transfers above which the first effort is taken unmeasured: scheduling a phase of that size takes seconds.
const LARGE_PHASE: usize = 100_000;

/// Rounds of rewriting, at most; a second one finds something only where joined runs equal others.
const ROUNDS: usize = 8;

/// What became of the search for fewer transfers.
enum Improvement {
    /// There are none.
    None,
    /// There are, in more events.
    GivenUp(GivenUp),
    /// There are, and the phase is shorter, or as short.
    Kept(Improved),
}

/// The rewriting that gives the shortest phase, with the fewest transfers among equals, if it is shorter or as short with
/// fewer transfers.
fn improve(work: &Work<'_>, reads: &Reads) -> Improvement {
    let given = &work.columns.problem;
    let mut found: Vec<Improved> = Vec::new();
    for effort in &EFFORTS {
        let improved = rewrite(given, reads, effort);
        let new = improved.done != OptimizeStatistics::default()
            && !found.iter().any(|known| known.problem == improved.problem);
        if new {
            found.push(improved);
        }
    }
    if found.is_empty() || given.transfers.len() > LARGE_PHASE {
        return found.into_iter().next().map_or(Improvement::None, Improvement::Kept);
    }
    let score = |problem: &Problem| {
        let events = schedule_phase(problem, &ScheduleOptions::default());
        (events.map_or(i64::MAX, |schedule| schedule.statistics.events), problem.transfers.len())
    };
    let scores: Vec<_> = found.par_iter().map(|improved| score(&improved.problem)).collect();
    let best = scores.into_iter().zip(found).min_by_key(|&(score, _)| score);
    let given = score(given);
    match best {
        Some((score, improved)) if score < given => Improvement::Kept(improved),
        Some((rewritten, _)) => Improvement::GivenUp(GivenUp { rewritten, given }),
        None => Improvement::None,
    }
}

/// Rewrites until nothing changes: runs that were joined may be sent together, and the other way round.
fn rewrite(given: &Problem, reads: &Reads, options: &OptimizeOptions) -> Improved {
    let mut improved = Improved {
        problem: given.clone(),
        origins: (0..given.transfers.len() as u32).collect(),
        done: OptimizeStatistics::default(),
    };
    for _ in 0..ROUNDS {
        let next = optimize_transfers(&improved.problem, Some(reads), options);
        if next.statistics == OptimizeStatistics::default() {
            break;
        }
        let first = |origins: &Vec<u32>| origins.first().map(|&origin| improved.origins[origin as usize]);
        improved.origins = next.origins.iter().filter_map(first).collect();
        improved.problem = next.problem;
        improved.done.add(next.statistics);
    }
    improved
}

fn report(work: &Work<'_>) {
    tracing::info!(
        phase = work.phases.first().map_or("", |phase| &phase.name),
        fused = work.phases.len(),
        transfers_before = work.phases.iter().map(|phase| phase.transfers.len()).sum::<usize>(),
        transfers = work.columns.problem.transfers.len(),
        dead = work.done.dead,
        duplicate = work.done.duplicate,
        merged = work.done.merged,
        coalesced = work.done.coalesced,
        "exchange phase optimized"
    );
}

/// Puts the transfers in the first phase and removes the others; the first too where nothing is left to move.
fn write(module: &mut Module, program: &Program, work: &Work<'_>, transfers: Transfers) {
    let Some((&first, others)) = work.phases.split_first() else { return };
    let phase = Phase { op: first.op, name: first.name.clone(), base: first.base.clone(), transfers };
    if phase.transfers.is_empty() {
        module.erase(first.op);
    } else {
        rewrite_phase(module, program, &phase, NAME);
        let fused: Vec<OpId> = work.phases.iter().map(|phase| phase.op).collect();
        if !others.is_empty() {
            module.inherit(first.op, &fused);
        }
    }
    for other in others {
        module.erase(other.op);
    }
}
