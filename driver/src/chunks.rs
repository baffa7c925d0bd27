//! `--split-input-file` and `--verify-diagnostics`: a text as several modules, each read, verified and run alone.
//!
//! The chunks are parts of one source text, so every finding has its place in the whole file. A chunk that fails does not stop
//! the next one; what chunk `i` prints is part `i` of the output.

use std::ops::Range;

use ipu_dialects::diagnostics::Diagnostics;
use ipu_dialects::ir::Module;
use ipu_dialects::limits::MAX_SOURCE_BYTES;
use ipu_dialects::source::{FileId, SourceMap};

use crate::exit::{Exit, Failure};
use crate::expectations::Expectations;
use crate::files::read_text;
use crate::load::{LoadOptions, load_part, load_text};

/// The line between chunks, in the input and in the output.
pub const MARKER: &str = "// -----";

/// How a text is taken.
#[derive(Debug, Clone, Copy)]
pub struct ChunkOptions {
    /// As several modules, not as one.
    pub split: bool,
    /// Findings must be those that comments expect; nothing is printed.
    pub verify_diagnostics: bool,
    /// What the reader accepts.
    pub load: LoadOptions,
}

/// What became of a text.
#[derive(Debug)]
pub struct Chunks {
    /// The worst of the chunks.
    pub exit: Exit,
    /// The findings of all chunks; with `verify_diagnostics`, where they and the comments disagree.
    pub diagnostics: Diagnostics,
    /// The text.
    pub sources: SourceMap,
    /// What the chunks printed, joined by [`MARKER`].
    pub output: String,
}

/// One of several modules of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Its number, from 0.
    pub number: usize,
    /// Its bytes of the text.
    pub part: Range<usize>,
}

/// What a chunk is put through after it was verified: its module, the findings so far, and which it is; gives the findings in the
/// end and what is printed.
pub type Transform<'t> = dyn FnMut(Module, Diagnostics, Chunk) -> Result<(Diagnostics, String), Failure> + 't;

/// Reads the file at `path` and puts every chunk of it through `transform`.
///
/// # Errors
/// The file cannot be read; what is wrong in a chunk is part of the result.
pub fn run_chunks(
    path: &str,
    options: ChunkOptions,
    transform: &mut Transform<'_>,
) -> Result<Chunks, Failure> {
    let (name, text) = read_text(path)?;
    if text.len() > MAX_SOURCE_BYTES {
        // Refused with the finding of any text that is too long; places in it would not fit.
        load_text(&name, text.clone(), options.load)?;
    }
    let whole = 0..text.len();
    let parts = if options.split { split(&text) } else { vec![whole] };
    let mut sources = SourceMap::default();
    let file = sources.add(&name, text);
    let mut all = Chunks { exit: Exit::Ok, diagnostics: Diagnostics::new(), sources, output: String::new() };
    for (number, part) in parts.into_iter().enumerate() {
        if number > 0 {
            all.output.push_str(MARKER);
            all.output.push('\n');
        }
        all.add(file, Chunk { number, part }, options, transform);
    }
    if options.verify_diagnostics {
        all.output.clear();
    }
    Ok(all)
}

impl Chunks {
    fn add(&mut self, file: FileId, chunk: Chunk, options: ChunkOptions, transform: &mut Transform<'_>) {
        let part = chunk.part.clone();
        let result = load_part(&self.sources, file, part.clone(), options.load)
            .and_then(|(module, findings)| transform(module, findings, chunk));
        let (exit, findings) = match result {
            Ok((findings, printed)) => {
                self.output.push_str(&printed);
                (Exit::Ok, findings)
            }
            Err(failure) => (failure.exit, failure.diagnostics),
        };
        if !options.verify_diagnostics {
            self.exit = self.exit.max(exit);
            self.diagnostics.append(findings);
            return;
        }
        let disagreements = Expectations::read(&self.sources, file, part).check(&self.sources, &findings);
        if !disagreements.is_empty() {
            self.exit = Exit::No;
            self.diagnostics.append(disagreements);
        }
    }
}

/// The bytes of each chunk of `text`: what stands between lines that are [`MARKER`].
#[must_use]
pub fn split(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        let next = at + line.len();
        if line.trim_end() == MARKER {
            parts.push(start..at);
            start = next;
        }
        at = next;
    }
    parts.push(start..at);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_line_of_its_own_is_a_marker() {
        let text = "a // -----\n// -----\r\nb\n// ----- IR after x -----\n// -----\n// -----";
        let parts: Vec<&str> = split(text).into_iter().map(|part| &text[part]).collect();
        assert_eq!(parts, ["a // -----\n", "b\n// ----- IR after x -----\n", "", ""]);
        assert_eq!(split("").len(), 1);
    }
}
