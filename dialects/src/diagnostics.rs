//! Diagnostics as values: code, severity, span, labels, notes, fix-its.
//!
//! Nothing here draws colours or exits: the driver does. [`Diagnostics::render`] is the plain text that
//! snapshot tests read. A sink keeps at most [`MAX_DIAGNOSTICS`] entries and counts the rest.

use std::fmt::Write as _;

use ipu_device::Coded;

use crate::limits::MAX_DIAGNOSTICS;
use crate::source::{SourceMap, Span};
use crate::spelling;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The input is refused.
    Error,
    /// Legal, and probably not meant.
    Warning,
    /// What was not done and why, for who asks.
    Remark,
}

impl Severity {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Remark => "remark",
        }
    }
}

/// A text beside a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What is there.
    pub text: String,
}

/// A change of the source that repairs the error: replace `span` by `text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixIt {
    /// What to replace; an empty span inserts.
    pub span: Span,
    /// The new text.
    pub text: String,
    /// What the change does, as in "write `f16`".
    pub title: String,
}

/// One finding.
#[derive(Debug, Clone)]
pub struct Diagnostic {
    /// Stable code, such as `E0101`.
    pub code: &'static str,
    /// Title of the code, for tables.
    pub title: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong and what was expected; lower case, names in backticks, no full stop.
    pub message: String,
    /// Where.
    pub primary: Span,
    /// Other places that matter.
    pub labels: Vec<Label>,
    /// Facts and hints.
    pub notes: Vec<String>,
    /// Changes that repair it.
    pub fixits: Vec<FixIt>,
}

impl Diagnostic {
    /// An error of kind `code`.
    pub fn error(code: impl Coded, primary: Span, message: impl Into<String>) -> Self {
        Self {
            code: code.code(),
            title: code.title(),
            severity: Severity::Error,
            message: message.into(),
            primary,
            labels: Vec::new(),
            notes: Vec::new(),
            fixits: Vec::new(),
        }
    }

    /// A warning of kind `code`.
    pub fn warning(code: impl Coded, primary: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, primary, message) }
    }

    /// A remark of kind `code`.
    pub fn remark(code: impl Coded, primary: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Remark, ..Self::error(code, primary, message) }
    }

    /// Adds a text beside `span`.
    #[must_use]
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Adds a fact or hint.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Adds a repair.
    #[must_use]
    pub fn fix(mut self, span: Span, text: impl Into<String>, title: impl Into<String>) -> Self {
        self.fixits.push(FixIt { span, text: text.into(), title: title.into() });
        self
    }
}

/// A sink of findings, in order of report.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    errors: usize,
    dropped: usize,
}

impl Diagnostics {
    /// An empty sink.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a finding; past the cap it is only counted.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.errors += usize::from(diagnostic.severity == Severity::Error);
        if self.list.len() < MAX_DIAGNOSTICS {
            self.list.push(diagnostic);
        } else {
            self.dropped += 1;
        }
    }

    /// Moves all findings of `other` here.
    pub fn append(&mut self, other: Self) {
        self.dropped += other.dropped;
        for diagnostic in other.list {
            self.push(diagnostic);
        }
    }

    /// Orders findings by file and place; equal places keep their order.
    pub fn sort(&mut self) {
        self.list.sort_by_key(|diagnostic| (diagnostic.primary.file, diagnostic.primary.start));
    }

    /// Whether an error was recorded.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Whether further findings are only counted.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.list.len() >= MAX_DIAGNOSTICS
    }

    /// The word of `known` that may be meant by `word`; none where a finding would only be counted, which needs no advice.
    pub(crate) fn nearest<'a>(
        &self,
        word: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Option<&'a str> {
        if self.is_full() { None } else { spelling::nearest(word, known) }
    }

    /// Number of errors, those past the cap included.
    #[must_use]
    pub fn error_count(&self) -> usize {
        self.errors
    }

    /// Findings that the cap dropped.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Number of findings, those past the cap included.
    #[must_use]
    pub fn count(&self) -> usize {
        self.list.len() + self.dropped
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The findings.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// The findings as plain text: `file:line:column: error[E0101]: message`, the line with carets unless it is
    /// long, labels, notes.
    #[must_use]
    pub fn render(&self, sources: &SourceMap) -> String {
        let mut out = String::new();
        for diagnostic in &self.list {
            render_one(&mut out, diagnostic, sources);
        }
        if self.dropped > 0 {
            let _ = writeln!(out, "and {} more", self.dropped);
        }
        out
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

fn place(sources: &SourceMap, span: Span) -> String {
    sources.locate(span).map_or_else(
        || "<generated>".to_owned(),
        |(file, at)| format!("{}:{}:{}", file.name, at.line, at.column),
    )
}

/// Longest stretch of a source line that is shown.
const LINE_WINDOW: usize = 160;

impl Diagnostic {
    /// The finding as plain text, as in [`Diagnostics::render`].
    #[must_use]
    pub fn render(&self, sources: &SourceMap) -> String {
        let mut out = String::new();
        render_one(&mut out, self, sources);
        out
    }
}

fn render_one(out: &mut String, diagnostic: &Diagnostic, sources: &SourceMap) {
    let Diagnostic { code, severity, message, primary, .. } = diagnostic;
    let _ = writeln!(out, "{}: {}[{code}]: {message}", place(sources, *primary), severity.name());
    if let Some((file, at)) = sources.locate(*primary) {
        let range = file.clamped(*primary);
        if let Some(line) = file.short_line(range.start + 1 - at.column as usize, LINE_WINDOW) {
            let before = (at.column as usize - 1).min(line.len());
            let carets = range.len().clamp(1, (line.len() - before).max(1));
            let pad: String = line.get(..before).unwrap_or("").chars().map(|_| ' ').collect();
            let marked = line.get(before..before + carets).map_or(1, |text| text.chars().count().max(1));
            let _ = writeln!(out, "  | {line}\n  | {pad}{}", "^".repeat(marked));
        }
    }
    for label in &diagnostic.labels {
        let _ = writeln!(out, "  = {}: {}", place(sources, label.span), label.text);
    }
    for note in &diagnostic.notes {
        let _ = writeln!(out, "  = note: {note}");
    }
    for fix in &diagnostic.fixits {
        let _ = writeln!(out, "  = fix: {} (`{}` at {})", fix.title, fix.text, place(sources, fix.span));
    }
}
