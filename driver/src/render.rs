//! Diagnostics on the terminal, drawn by ariadne, or as JSON lines.
//!
//! Spans are clamped to the text and to character boundaries first, and a very long line is cut to a window
//! around the place, because ariadne draws whole lines.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::ops::Range;

use ariadne::{Color, Config, IndexType, Label, Report, ReportKind, sources};
use ipu_dialects::diagnostics::{Diagnostic, Diagnostics, Severity};
use ipu_dialects::source::{SourceFile, SourceMap, Span};
use serde_json::{Value, json};

use crate::explain::PAGES;

/// Bytes of a line that are shown before and after the place.
const WINDOW: usize = 100;

/// How diagnostics are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum DiagnosticFormat {
    /// Drawn beside the source, in colour on a terminal.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Writes all findings to standard error.
pub fn emit(diagnostics: &Diagnostics, map: &SourceMap, format: DiagnosticFormat) {
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let mut text = Vec::new();
    for diagnostic in diagnostics.iter() {
        match format {
            DiagnosticFormat::Text => draw(&mut text, diagnostic, map, colour),
            DiagnosticFormat::Json => {
                let _ = writeln!(text, "{}", as_json(diagnostic, map));
            }
        }
    }
    match format {
        DiagnosticFormat::Text => text.extend_from_slice(closing(diagnostics).as_bytes()),
        DiagnosticFormat::Json if diagnostics.dropped() > 0 => {
            let _ = writeln!(text, "{}", json!({"dropped": diagnostics.dropped()}));
        }
        DiagnosticFormat::Json => {}
    }
    let _ = std::io::stderr().write_all(&text);
}

/// What is said once, after all findings: how many were not shown, and where their codes are explained.
fn closing(diagnostics: &Diagnostics) -> String {
    let mut text = String::new();
    if diagnostics.dropped() > 0 {
        let _ = writeln!(text, "and {} more", diagnostics.dropped());
    }
    let explained = |code: &&str| PAGES.iter().any(|(known, _)| known == code);
    if let Some(code) = diagnostics.iter().map(|finding| finding.code).find(explained) {
        let _ = writeln!(text, "`ipu-opt --explain {code}` says more");
    }
    text
}

/// One finding as text; the same bytes everywhere when `colour` is off.
pub fn draw(out: &mut Vec<u8>, diagnostic: &Diagnostic, map: &SourceMap, colour: bool) {
    let (kind, tint) = match diagnostic.severity {
        Severity::Error => (ReportKind::Error, Color::Red),
        Severity::Warning => (ReportKind::Warning, Color::Yellow),
        // A kind of our own would be drawn in its colour even where there is to be none.
        Severity::Remark => (ReportKind::Advice, Color::Cyan),
    };
    let Some(file) = map.get(diagnostic.primary.file) else {
        let name = diagnostic.severity.name();
        let _ = writeln!(out, "{name}[{}]: {}", diagnostic.code, diagnostic.message);
        for note in &diagnostic.notes {
            let _ = writeln!(out, "  note: {note}");
        }
        return;
    };
    let excerpt = Excerpt::around(file, diagnostic.primary);
    let id = |span: Span| map.get(span.file).map(|file| file.name.to_string());
    let primary = excerpt.range(file.clamped(diagnostic.primary));
    let name = file.name.to_string();
    let mut report = Report::build(kind, (name.clone(), primary.clone()))
        .with_config(Config::default().with_index_type(IndexType::Byte).with_color(colour))
        .with_code(diagnostic.code)
        .with_message(&diagnostic.message)
        .with_label(Label::new((name.clone(), primary)).with_message("here").with_color(tint));
    let mut texts = vec![(name, excerpt.text.clone())];
    for label in &diagnostic.labels {
        let (Some(id), Some(labelled)) = (id(label.span), map.get(label.span.file)) else { continue };
        let range = labelled.clamped(label.span);
        let range = if label.span.file == diagnostic.primary.file {
            if !excerpt.shows(&range) {
                continue;
            }
            excerpt.range(range)
        } else {
            texts.push((id.clone(), labelled.text.to_string()));
            range
        };
        report = report.with_label(Label::new((id, range)).with_message(&label.text).with_color(Color::Blue));
    }
    for note in &diagnostic.notes {
        report = report.with_note(note);
    }
    for fix in &diagnostic.fixits {
        report = report.with_help(&fix.title);
    }
    let mut drawn = Vec::new();
    if report.finish().write(sources(texts), &mut drawn).is_ok() {
        out.extend(drawn);
    }
}

/// A source text with the line of one place cut to a window.
struct Excerpt {
    text: String,
    /// What was removed, in bytes of the full text, and what stands there instead.
    cuts: Vec<(Range<usize>, &'static str)>,
}

impl Excerpt {
    fn around(file: &SourceFile, span: Span) -> Self {
        let text: &str = &file.text;
        let place = file.clamped(span);
        let start = text[..place.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[place.start..].find('\n').map_or(text.len(), |at| place.start + at);
        let mut cuts = Vec::new();
        let from = boundary(text, place.start.saturating_sub(WINDOW));
        let to = boundary(text, place.end.min(place.start + WINDOW).saturating_add(WINDOW));
        if from > start + WINDOW {
            cuts.push((start..from, "... "));
        }
        if to + WINDOW < end {
            cuts.push((to..end, " ..."));
        }
        let mut shown = String::new();
        let mut at = 0;
        for (range, instead) in &cuts {
            shown.push_str(&text[at..range.start]);
            shown.push_str(instead);
            at = range.end;
        }
        shown.push_str(&text[at..]);
        Self { text: shown, cuts }
    }

    fn shows(&self, range: &Range<usize>) -> bool {
        !self.cuts.iter().any(|(cut, _)| cut.start < range.end && range.start < cut.end)
    }

    fn range(&self, range: Range<usize>) -> Range<usize> {
        let start = self.offset(range.start);
        start..self.offset(range.end).max(start)
    }

    fn offset(&self, at: usize) -> usize {
        let mut shift = 0isize;
        for (cut, instead) in &self.cuts {
            if at >= cut.end {
                shift += instead.len() as isize - cut.len() as isize;
            } else if at > cut.start {
                return (cut.start as isize + shift) as usize;
            }
        }
        (at as isize + shift) as usize
    }
}

fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// One finding as an object of stable keys.
#[must_use]
pub fn as_json(diagnostic: &Diagnostic, map: &SourceMap) -> Value {
    let place = |span: Span| {
        map.locate(span).map(|(file, at)| {
            let range = file.clamped(span);
            json!({"file": &*file.name, "line": at.line, "column": at.column,
                   "start": range.start, "end": range.end})
        })
    };
    json!({
        "code": diagnostic.code,
        "severity": diagnostic.severity.name(),
        "message": diagnostic.message,
        "place": place(diagnostic.primary),
        "labels": diagnostic.labels.iter()
            .map(|label| json!({"text": label.text, "place": place(label.span)})).collect::<Vec<_>>(),
        "notes": diagnostic.notes,
        "fixes": diagnostic.fixits.iter()
            .map(|fix| json!({"title": fix.title, "text": fix.text, "place": place(fix.span)}))
            .collect::<Vec<_>>(),
    })
}
