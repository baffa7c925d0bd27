//! Fuzzing of what reads input: IR text, pipeline text, packages.
//!
//! | module | holds |
//! |---|---|
//! | `ir`, `pipeline`, `package` | a target each: what must hold of any bytes |
//! | `corpus` | what campaigns start from: saved files, programs of the repository, built packages |
//! | `dictionary`, `mutate` | words of the language, and damage done with them |
//! | `campaign`, `shrink` | many inputs, counts, and failing inputs made small and saved |
//!
//! Rules kept here: a target takes any bytes, never panics by itself, and says which property broke; the same seed and corpus give
//! the same inputs. `driver/fuzz` runs the same targets under libFuzzer.

mod campaign;
mod corpus;
mod dictionary;
pub mod ir;
mod mutate;
pub mod package;
pub mod pipeline;
mod shrink;

use std::collections::BTreeSet;

use ipu_dialects::diagnostics::Diagnostics;
use ipu_dialects::source::SourceMap;

use crate::exit::Failure;
use crate::render::{DiagnosticFormat, rendered};

pub use campaign::{Campaign, Report, run};
pub use corpus::seeds;

/// A reader that is fuzzed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// IR text: parser, verifier, printer, `ipu fmt`.
    Ir,
    /// Pipeline text.
    Pipeline,
    /// Packages: reader, writer, `ipu inspect`, `--lift-package`.
    Package,
}

impl Target {
    /// Its name in commands, files and folders.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ir => "ir",
            Self::Pipeline => "pipeline",
            Self::Package => "package",
        }
    }

    /// Reads `bytes` and everything that is made of them.
    ///
    /// # Errors
    /// A property broke.
    pub fn check(self, bytes: &[u8]) -> Result<Seen, Broken> {
        match self {
            Self::Ir => ir::check(bytes),
            Self::Pipeline => pipeline::check(bytes),
            Self::Package => package::check(bytes),
        }
    }
}

/// A property that does not hold of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The property; what broke the same one may have the same cause.
    pub property: &'static str,
    /// How it broke.
    pub how: String,
}

impl Broken {
    fn new(property: &'static str, how: impl Into<String>) -> Self {
        Self { property, how: how.into() }
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.property, self.how)
    }
}

/// What became of an input.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// Whether it was read.
    pub accepted: bool,
    /// Codes of all findings.
    pub codes: BTreeSet<&'static str>,
}

impl Seen {
    /// Takes note of findings and draws them in every form, so that drawing is fuzzed too.
    fn show(&mut self, findings: &Diagnostics, sources: &SourceMap) {
        self.codes.extend(findings.iter().map(|finding| finding.code));
        let _ = findings.render(sources);
        for format in [DiagnosticFormat::Text, DiagnosticFormat::Json] {
            let _ = rendered(findings, sources, format, false);
        }
    }

    fn refused(&mut self, failure: &Failure) {
        self.show(&failure.diagnostics, &failure.sources);
    }
}

/// The first line that differs, for messages.
fn difference(before: &str, after: &str) -> String {
    let (mut left, mut right) = (before.lines(), after.lines());
    loop {
        match (left.next(), right.next()) {
            (None, None) => return "the line ends differ".to_owned(),
            (one, other) if one != other => {
                return format!("`{}` became `{}`", one.unwrap_or("the end"), other.unwrap_or("the end"));
            }
            _ => {}
        }
    }
}
