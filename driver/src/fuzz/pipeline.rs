//! Pipeline text: what parses prints back to itself, and what does not resolve is said.

use ipu_passes::manager::{Pipeline, PipelineEntry};

use super::{Broken, Seen, difference};
use crate::files::decoded;
use crate::opt::resolve_text;

/// Name of the input in messages.
const NAME: &str = "--pass-pipeline";

/// Reads `bytes` as a pipeline.
///
/// # Errors
/// A property broke.
pub fn check(bytes: &[u8]) -> Result<Seen, Broken> {
    let mut seen = Seen::default();
    let text = match decoded(NAME, bytes.to_vec()) {
        Ok(text) => text,
        Err(failure) => {
            seen.refused(&failure);
            return Ok(seen);
        }
    };
    if let Err(failure) = resolve_text(NAME, &text) {
        seen.refused(&failure);
    }
    if let Ok(pipeline) = Pipeline::parse(&text) {
        seen.accepted = true;
        prints_back(&pipeline)?;
    }
    Ok(seen)
}

fn prints_back(pipeline: &Pipeline) -> Result<(), Broken> {
    const PROPERTY: &str = "a pipeline prints back to itself";
    let printed = pipeline.to_string();
    let again = Pipeline::parse(&printed)
        .map_err(|error| Broken::new(PROPERTY, format!("`{printed}`: {}", error.message)))?;
    let parts = |pipeline: &Pipeline| {
        let part = |entry: &PipelineEntry| (entry.name.clone(), entry.options.clone().into_iter().collect());
        pipeline.entries.iter().map(part).collect::<Vec<(String, Vec<(String, String)>)>>()
    };
    if parts(pipeline) != parts(&again) {
        return Err(Broken::new(PROPERTY, format!("`{printed}` is another pipeline")));
    }
    let second = again.to_string();
    if second == printed { Ok(()) } else { Err(Broken::new(PROPERTY, difference(&printed, &second))) }
}
