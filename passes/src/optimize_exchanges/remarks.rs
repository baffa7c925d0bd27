//! Why phases and transfers stay apart, for who asks with `--remarks`.

use ipu_dialects::diagnostics::Diagnostic;
use ipu_dialects::exchange::program::Program;
use ipu_dialects::exchange::{BufferId, Phase};
use ipu_dialects::ir::Module;
use ipu_dialects::source::Span;

use super::fuse::{Conflict, conflict};
use super::pass::Work;
use crate::manager::RemarkCode;
use crate::schedule_exchanges::problem::MAX_MESSAGE_WORDS;
use crate::schedule_exchanges::{Problem, Transfer};

/// Why `second` does not become a part of `work`, which runs before it.
pub(super) fn not_fused(
    module: &Module,
    program: &Program,
    work: &Work<'_>,
    second: (&Phase, &Problem),
) -> Option<Diagnostic> {
    let (phase, problem) = second;
    let last = work.phases.last()?;
    let span = module.span(phase.op);
    let message = format!("phase `{}` stays apart from `{}` before it", phase.name, last.name);
    let remark = Diagnostic::remark(RemarkCode::PhasesApart, span, message);
    let next = module.next_op(last.op).filter(|&op| op != phase.op);
    if let Some(op) = next {
        let reason = format!("`{}` stands between them", module.name(op));
        return Some(remark.label(module.span(op), "this one").note(reason));
    }
    let Conflict { what, tile, storage, begin, end } = conflict(&work.columns.problem, problem)?;
    let buffer = program.buffers.get(storage as usize).map_or("?", |buffer| &buffer.name);
    Some(remark.note(format!("on tile {tile} it {what}: bytes {begin} to {end} of `{buffer}`")))
}

/// A rewriting that was found and given up.
#[derive(Debug, Clone, Copy)]
pub(super) struct GivenUp {
    /// Events and transfers with the rewriting; `i64::MAX` events if it cannot be scheduled.
    pub(super) rewritten: (i64, usize),
    /// Events and transfers without.
    pub(super) given: (i64, usize),
}

/// That the rewriting of a phase was not kept.
pub(super) fn not_kept(module: &Module, work: &Work<'_>) -> Option<Diagnostic> {
    let phase = work.phases.first()?;
    work.given_up.map(|given_up| kept_as_it_was(module.span(phase.op), &phase.name, given_up))
}

fn kept_as_it_was(span: Span, phase: &str, GivenUp { rewritten, given }: GivenUp) -> Diagnostic {
    let message = format!("phase `{phase}` keeps its {} transfers", given.1);
    let remark = Diagnostic::remark(RemarkCode::RewriteGivenUp, span, message);
    match rewritten {
        (i64::MAX, transfers) => {
            remark.note(format!("{transfers} would do the same, but cannot be scheduled"))
        }
        (events, transfers) => {
            remark.note(format!("{transfers} would do the same in {events} events, these need {}", given.0))
        }
    }
}

/// Transfers of one phase that could be one by what they read, and why they are not.
pub(super) fn not_merged(module: &Module, program: &Program, work: &Work<'_>) -> Vec<Diagnostic> {
    let problem = &work.columns.problem;
    let mut order: Vec<usize> = (0..problem.transfers.len()).collect();
    order.sort_by_key(|&index| {
        let transfer = &problem.transfers[index];
        (transfer.source, transfer.storage, transfer.offset, transfer.words, index)
    });
    let remark = |pair: &[usize]| {
        let &[first, second] = pair else { return None };
        let [one, other] = [first, second].map(|index| &problem.transfers[index]);
        let (what, reason) = apart(problem, one, other, work.given_up.is_some())?;
        let buffer = work.columns.buffer(one.storage).map_or("?", |id: BufferId| &program.buffer(id).name);
        let message = format!(
            "two transfers {what} of `{buffer}` on tile {} from byte {} stay two",
            one.source, one.offset
        );
        let (at, before) = (module.span(*work.ops.get(second)?), module.span(*work.ops.get(first)?));
        let remark = Diagnostic::remark(RemarkCode::TransfersApart, at, message).note(reason);
        Some(if at == before { remark } else { remark.label(before, "the other one") })
    };
    order.windows(2).filter_map(remark).collect()
}

/// What two transfers that are next to each other in their source have in common, and what keeps them apart.
fn apart(
    problem: &Problem,
    one: &Transfer,
    other: &Transfer,
    given_up: bool,
) -> Option<(&'static str, String)> {
    if (one.source, one.storage, one.width) != (other.source, other.storage, other.width) {
        return None;
    }
    let longer = "as one the phase is longer, or no shorter with fewer".to_owned();
    let tiles =
        |transfer: &Transfer| problem.receivers_of(transfer).iter().map(|to| to.tile).collect::<Vec<_>>();
    let (ours, theirs) = (tiles(one), tiles(other));
    if (one.offset, one.words) == (other.offset, other.words) {
        let twice = ours.iter().find(|tile| theirs.contains(tile));
        let reason = twice.map(|tile| format!("tile {tile} receives both; a multicast reaches a tile once"));
        return Some(("of the same words", reason.or(given_up.then_some(longer))?));
    }
    let follows = u64::from(one.offset) + 4 * u64::from(one.words) == u64::from(other.offset);
    if !follows || ours != theirs {
        return None;
    }
    let words = u64::from(one.words) + u64::from(other.words);
    let too_long = (words > u64::from(MAX_MESSAGE_WORDS))
        .then(|| format!("together {words} words; a message has at most {MAX_MESSAGE_WORDS}"));
    Some(("of words that follow each other", too_long.or(given_up.then_some(longer))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rewriting_that_gains_nothing_is_not_kept() {
        let remark = |rewritten| kept_as_it_was(Span::NONE, "gather", GivenUp { rewritten, given: (90, 4) });
        let longer = remark((95, 2));
        assert_eq!((longer.code, longer.message.as_str()), ("P1203", "phase `gather` keeps its 4 transfers"));
        assert_eq!(longer.notes, ["2 would do the same in 95 events, these need 90"]);
        assert_eq!(remark((i64::MAX, 2)).notes, ["2 would do the same, but cannot be scheduled"]);
    }
}
