//! Fewer passes, fewer options.

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

/// All but one option. The text of a pipeline is not part of the size, so an option weighs nothing by itself; it goes with the
/// pass, or here where it can.
pub(super) fn fewer_options(specimen: &Specimen) -> Vec<Candidate> {
    let entries = specimen.pipeline.entries.iter().enumerate();
    let options = entries.flat_map(|(at, entry)| entry.options.keys().map(move |key| (at, key.clone())));
    options
        .map(|(at, key)| {
            let mut pipeline = specimen.pipeline.clone();
            pipeline.entries[at].options.shift_remove(&key);
            with(specimen, pipeline, format!("drop option {key}"))
        })
        .collect()
}
