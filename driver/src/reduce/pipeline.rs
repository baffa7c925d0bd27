//! Fewer passes.

use ipu_passes::manager::Pipeline;

use super::{Candidate, Specimen};

fn with(specimen: &Specimen, pipeline: Pipeline, edit: String) -> Candidate {
    Candidate::new(Specimen { module: specimen.module.clone(), pipeline }, edit)
}

/// The first passes alone, then all but one.
pub(super) fn fewer_passes(specimen: &Specimen) -> Vec<Candidate> {
    let entries = &specimen.pipeline.entries;
    let prefixes = (0..entries.len()).map(|count| {
        let pipeline = Pipeline { entries: entries[..count].to_vec() };
        with(specimen, pipeline, format!("keep {count} of {} passes", entries.len()))
    });
    let without = (0..entries.len()).map(|gone| {
        let mut pipeline = specimen.pipeline.clone();
        let entry = pipeline.entries.remove(gone);
        with(specimen, pipeline, format!("drop pass {}", entry.name))
    });
    prefixes.chain(without).collect()
}
