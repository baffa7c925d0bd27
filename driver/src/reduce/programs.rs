//! Fewer steps, transfers and receivers of exchange programs.

use ipu_dialects::exchange::program::Transfers;
use ipu_dialects::exchange::{Program, Step, emit_program};
use ipu_dialects::ir::{InsertionPoint, Name};
use ipu_passes::manager::state::main_program;

use super::{Candidate, Specimen};

/// Name in origins of what reduction writes.
const NAME: Name = Name::of("reduce");

fn read(specimen: &Specimen) -> Option<Program> {
    Program::read(&specimen.module, main_program(&specimen.module)?).ok()
}

fn with(specimen: &Specimen, program: &Program, edit: String) -> Candidate {
    let mut smaller = specimen.clone();
    let made = emit_program(&mut smaller.module, InsertionPoint::Before(program.op), program, NAME);
    smaller.module.inherit(made, &[program.op]);
    smaller.module.erase(program.op);
    Candidate::new(smaller, edit)
}

/// Ranges to leave out of `count` things: halves, quarters, ... single ones.
fn chunks(count: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let sizes = std::iter::successors(Some(count.div_ceil(2)), |&size| (size > 1).then(|| size.div_ceil(2)));
    sizes
        .filter(|&size| size > 0)
        .flat_map(move |size| (0..count).step_by(size).map(move |start| start..(start + size).min(count)))
}

/// Steps left out; programs with repeats keep theirs.
pub(super) fn fewer_steps(specimen: &Specimen) -> Vec<Candidate> {
    let Some(program) = read(specimen) else { return Vec::new() };
    if program.steps.iter().any(|step| matches!(step, Step::Repeat { .. })) {
        return Vec::new();
    }
    let without = |gone: std::ops::Range<usize>| {
        let mut smaller = program.clone();
        smaller.steps.drain(gone.clone());
        with(specimen, &smaller, format!("drop steps {gone:?}"))
    };
    chunks(program.steps.len()).map(without).collect()
}

/// Transfers left out of a phase.
pub(super) fn fewer_transfers(specimen: &Specimen) -> Vec<Candidate> {
    changed_phases(specimen, |transfers| {
        chunks(transfers.len())
            .map(|gone| {
                let kept = transfers.filtered(|row| !gone.contains(&row), |_, _| true);
                (kept, format!("drop transfers {gone:?}"))
            })
            .collect()
    })
}

/// A receiver left out of a transfer that has several.
pub(super) fn fewer_receivers(specimen: &Specimen) -> Vec<Candidate> {
    changed_phases(specimen, |transfers| {
        let several = (0..transfers.len()).filter(|&row| transfers.receivers(row).len() > 1);
        several
            .map(|row| {
                let kept = transfers.filtered(|_| true, |at, place| at != row || place == 0);
                (kept, format!("one receiver of transfer {row}"))
            })
            .collect()
    })
}

fn changed_phases(
    specimen: &Specimen,
    change: impl Fn(&Transfers) -> Vec<(Transfers, String)>,
) -> Vec<Candidate> {
    let Some(program) = read(specimen) else { return Vec::new() };
    let mut found = Vec::new();
    for (at, step) in program.steps.iter().enumerate() {
        let Step::Phase(phase) = step else { continue };
        for (transfers, edit) in change(&phase.transfers) {
            let mut smaller = program.clone();
            if let Some(Step::Phase(phase)) = smaller.steps.get_mut(at) {
                phase.transfers = transfers;
            }
            found.push(with(specimen, &smaller, format!("{edit} of @{}", phase.name)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::chunks;

    #[test]
    fn chunks_go_from_halves_to_single_things() {
        let all: Vec<_> = chunks(5).collect();
        assert_eq!(all, [0..3, 3..5, 0..2, 2..4, 4..5, 0..1, 1..2, 2..3, 3..4, 4..5]);
        assert!(chunks(1).eq([0..1, 1..1].into_iter().take(1)));
        assert_eq!(chunks(0).count(), 0);
    }
}
