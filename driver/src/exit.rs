//! How a program ends: exit codes, and the failures that lead to them.

use std::fmt;
use std::process::ExitCode;

use ipu_device::Coded;
use ipu_dialects::diagnostics::{Diagnostic, Diagnostics};
use ipu_dialects::source::{SourceMap, Span};

/// The exit codes of `ipu` and `ipu-opt`, from good to bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// All well.
    Ok = 0,
    /// The answer is no: a mismatch, a fault of the simulated program, a difference, findings.
    No = 1,
    /// Usage or input: a flag, a parse or verifier error, an unreadable file, a damaged package.
    Input = 2,
    /// Cannot be compiled: no plan, no placement.
    CannotCompile = 3,
    /// An internal error; a reproducer was written.
    Internal = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Findings that end the program, the texts they point into, and the exit code.
#[derive(Debug)]
pub struct Failure {
    /// How the program ends.
    pub exit: Exit,
    /// What is shown.
    pub diagnostics: Diagnostics,
    /// The texts.
    pub sources: SourceMap,
    /// What is said after all else: where the reproducer of a crash is.
    pub last_words: String,
}

impl Failure {
    /// A failure of one finding without a place in a text.
    pub fn new(exit: Exit, code: impl Coded, message: impl fmt::Display) -> Self {
        let mut diagnostics = Diagnostics::new();
        diagnostics.push(Diagnostic::error(code, Span::NONE, message.to_string()));
        Self { exit, diagnostics, sources: SourceMap::default(), last_words: String::new() }
    }

    /// A failure of findings in `sources`.
    #[must_use]
    pub fn of(exit: Exit, diagnostics: Diagnostics, sources: &SourceMap) -> Self {
        Self { exit, diagnostics, sources: sources.clone(), last_words: String::new() }
    }

    /// The failure after what was found before it in the same texts.
    #[must_use]
    pub fn after(mut self, mut findings: Diagnostics) -> Self {
        findings.append(std::mem::take(&mut self.diagnostics));
        Self { diagnostics: findings, ..self }
    }

    /// The failure with that at the end.
    #[must_use]
    pub fn with_last_words(self, last_words: String) -> Self {
        Self { last_words, ..self }
    }
}

ipu_device::coded_enum! {
    /// What the programs themselves refuse.
    pub enum DriverCode {
        /// A file cannot be read.
        Unreadable = "R0101", "unreadable file",
        /// A file cannot be written.
        Unwritable = "R0102", "unwritable file",
        /// A flag or its value.
        Usage = "R0103", "bad usage",
        /// A text is not UTF-8.
        NotUtf8 = "R0104", "text is not UTF-8",
        /// The file holds nothing that can be run.
        NothingToRun = "R0105", "nothing to run",
        /// The simulated program computed something else than the reference.
        Mismatch = "R0106", "result differs from the reference",
        /// The simulated program faulted.
        Fault = "R0107", "fault of the simulated program",
        /// The program failed in itself.
        Internal = "R0108", "internal error",
        /// Finite numbers became an infinity or NaN.
        NonFinite = "R0109", "value that is not finite",
        /// A device or its simulator could not be driven.
        Device = "R0110", "device failure",
        /// A `// run:` line says something else than the program gives.
        RunLine = "R0111", "run line does not hold",
    }
}
