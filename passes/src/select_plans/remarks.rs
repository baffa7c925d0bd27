//! Why plans were not chosen, for who asks with `--remarks`.

use ipu_dialects::diagnostics::Diagnostic;
use ipu_dialects::source::Span;

use super::{PlanOptions, Search};
use crate::manager::{PassContext, RemarkCode};

/// Says at `span` what became of the plans that are not number `chosen`.
pub(super) fn remark(
    found: &Search,
    chosen: usize,
    options: &PlanOptions,
    span: Span,
    context: &mut PassContext<'_>,
) {
    let Some(best) = found.finalists.get(chosen).filter(|_| context.wants_remarks()) else { return };
    for (index, other) in found.finalists.iter().enumerate().filter(|&(index, _)| index != chosen) {
        let more = i128::from(other.cost.cycles) - i128::from(best.cost.cycles);
        let (total, chosen_total) = (other.footprint.total, best.footprint.total);
        let message = format!("finalist {index} is not the program: {}", other.plan.decisions());
        let note = format!(
            "{more:+} cycles, {:+} bytes on the fullest tile; `finalist={index}` takes it",
            i64::from(total) - i64::from(chosen_total)
        );
        context.remark(|| Diagnostic::remark(RemarkCode::PlanNotChosen, span, message).note(note));
    }
    if let Some(remark) = rejected(found, options, span) {
        context.remark(|| remark);
    }
}

/// How many candidates were rejected for what, and the most promising one that does not fit.
fn rejected(found: &Search, options: &PlanOptions, span: Span) -> Option<Diagnostic> {
    let counts = &found.counts;
    let reasons = [
        (counts.too_large, "do not fit the tiles"),
        (counts.no_kernel, "have no kernel for a step"),
        (counts.bounded_out, "cannot be as fast by their lower bound"),
        (counts.too_slow, "are too slow"),
        (counts.dominated, "are no better than another in any measure"),
    ];
    let total: u32 = reasons.iter().map(|(count, _)| count).sum();
    if total == 0 && counts.grids_bounded_out == 0 {
        return None;
    }
    let message = format!(
        "{total} plans rejected before the {} finalists, and {} of {} grids by their lower bound",
        found.finalists.len(),
        counts.grids_bounded_out,
        counts.grids
    );
    let mut remark = Diagnostic::remark(RemarkCode::PlansRejected, span, message);
    for (count, reason) in reasons.into_iter().filter(|&(count, _)| count > 0) {
        remark = remark.note(format!("{count} {reason}"));
    }
    if let Some(plan) = &found.unfitting {
        let room = u64::from(options.standard_bytes) + u64::from(options.interleaved_bytes);
        remark = remark.note(format!(
            "of those that do not fit, the fastest takes {} cycles or more: {}; it needs {} bytes on a tile, {} of them \
             interleaved, of {room} and {}",
            plan.bound,
            plan.plan.decisions(),
            plan.footprint.total,
            plan.footprint.interleaved,
            options.interleaved_bytes
        ));
    }
    Some(remark)
}
