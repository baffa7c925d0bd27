//! Diagnostics on the terminal, drawn by ariadne, or as JSON lines.
//!
//! Spans are clamped to the text and to character boundaries first, and a very long line is cut to a window
//! around the place, because ariadne draws whole lines.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::ops::Range;

use ariadne::{Cache, Color, Config, IndexType, Label, Report, ReportKind, Source};
use ipu_dialects::diagnostics::{Diagnostic, Diagnostics, Severity};
use ipu_dialects::source::{FileId, SourceMap, Span};
use serde_json::{Value, json};

use crate::explain::PAGES;

/// Longest text that is drawn: ariadne keeps a list of all lines. Findings in longer ones are plain text.
const LONGEST_DRAWN: usize = 4 << 20;
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
    let _ = std::io::stderr().write_all(&rendered(diagnostics, map, format, colour));
}

/// All findings as [`emit`] writes them.
#[must_use]
pub fn rendered(
    diagnostics: &Diagnostics,
    map: &SourceMap,
    format: DiagnosticFormat,
    colour: bool,
) -> Vec<u8> {
    let mut text = Vec::new();
    let mut texts = Texts::new(map);
    for diagnostic in diagnostics.iter() {
        match format {
            DiagnosticFormat::Text => draw(&mut text, diagnostic, &mut texts, colour),
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
    text
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
fn draw(out: &mut Vec<u8>, diagnostic: &Diagnostic, texts: &mut Texts<'_>, colour: bool) {
    let (kind, tint) = match diagnostic.severity {
        Severity::Error => (ReportKind::Error, Color::Red),
        Severity::Warning => (ReportKind::Warning, Color::Yellow),
        // A kind of our own would be drawn in its colour even where there is to be none.
        Severity::Remark => (ReportKind::Advice, Color::Cyan),
    };
    let primary = diagnostic.primary;
    if texts.map.get(primary.file).is_none() {
        let name = diagnostic.severity.name();
        let _ = writeln!(out, "{name}[{}]: {}", diagnostic.code, diagnostic.message);
        for note in &diagnostic.notes {
            let _ = writeln!(out, "  note: {note}");
        }
        return;
    }
    let spans = diagnostic.labels.iter().map(|label| label.span).chain([primary]);
    if spans.filter_map(|span| texts.map.get(span.file)).any(|file| file.text.len() > LONGEST_DRAWN) {
        out.extend_from_slice(diagnostic.render(texts.map).as_bytes());
        return;
    }
    // The place itself comes first: a long line that two places share is cut around the first of them.
    let mut marks = vec![(primary, "here", tint)];
    marks.extend(diagnostic.labels.iter().map(|label| (label.span, label.text.as_str(), Color::Blue)));
    texts.show(marks.iter().map(|(span, ..)| *span));
    let mut labels: Vec<_> = marks
        .into_iter()
        .filter_map(|(span, text, tint)| Some((span.file, texts.range(span)?, text, tint)))
        .collect();
    // Ariadne opens another box, headed with the place of the first, for a label that ends on an earlier line than
    // the label before it.
    labels.sort_by_key(|(file, range, ..)| (*file != primary.file, *file, range.end, range.start));
    let place = texts.range(primary).unwrap_or_default();
    let mut report = Report::build(kind, (primary.file, place))
        .with_config(Config::default().with_index_type(IndexType::Byte).with_color(colour))
        .with_code(diagnostic.code)
        .with_message(&diagnostic.message);
    for (file, range, text, tint) in labels {
        report = report.with_label(Label::new((file, range)).with_message(text).with_color(tint));
    }
    for note in &diagnostic.notes {
        report = report.with_note(note);
    }
    for fix in &diagnostic.fixits {
        report = report.with_help(&fix.title);
    }
    let mut drawn = Vec::new();
    if report.finish().write(texts, &mut drawn).is_ok() {
        out.extend(drawn);
    }
}

/// The source texts as ariadne reads them: each is split into lines once, and none is copied but to cut long lines.
struct Texts<'m> {
    map: &'m SourceMap,
    whole: BTreeMap<FileId, Source<Cow<'m, str>>>,
    /// The texts of the finding that is drawn whose long lines are cut.
    cut: BTreeMap<FileId, (Cuts, Source<Cow<'m, str>>)>,
}

impl<'m> Texts<'m> {
    fn new(map: &'m SourceMap) -> Self {
        Self { map, whole: BTreeMap::new(), cut: BTreeMap::new() }
    }

    /// Cuts the long lines of `spans` for the finding that is drawn next.
    fn show(&mut self, spans: impl Iterator<Item = Span>) {
        let mut cuts: BTreeMap<FileId, Cuts> = BTreeMap::new();
        for span in spans {
            if let Some(file) = self.map.get(span.file) {
                cuts.entry(span.file).or_default().cut_around(&file.text, &file.clamped(span));
            }
        }
        self.cut.clear();
        for (id, cuts) in cuts {
            let Some(file) = self.map.get(id) else { continue };
            if !cuts.0.is_empty() {
                let shown = Source::from(Cow::Owned(cuts.apply(&file.text)));
                self.cut.insert(id, (cuts, shown));
            } else {
                self.whole.entry(id).or_insert_with(|| Source::from(Cow::Borrowed(&*file.text)));
            }
        }
    }

    /// Where `span` is in the text that is shown; nothing if it is cut away.
    fn range(&self, span: Span) -> Option<Range<usize>> {
        let range = self.map.get(span.file)?.clamped(span);
        let Some((cuts, _)) = self.cut.get(&span.file) else { return Some(range) };
        cuts.show(&range).then(|| cuts.range(&range))
    }
}

impl<'m> Cache<FileId> for &mut Texts<'m> {
    type Storage = Cow<'m, str>;

    fn fetch(&mut self, id: &FileId) -> Result<&Source<Self::Storage>, impl std::fmt::Debug> {
        self.cut.get(id).map(|(_, source)| source).or_else(|| self.whole.get(id)).ok_or("no such text")
    }

    fn display<'a>(&self, id: &'a FileId) -> Option<impl std::fmt::Display + 'a> {
        self.map.get(*id).map(|file| file.name.to_string())
    }
}

/// What is removed of a text, in its bytes and in order, and what stands there instead.
#[derive(Default)]
struct Cuts(Vec<(Range<usize>, &'static str)>);

impl Cuts {
    /// Cuts the first line of `place` to a window, unless it is cut already.
    fn cut_around(&mut self, text: &str, place: &Range<usize>) {
        let start = text[..place.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[place.start..].find('\n').map_or(text.len(), |at| place.start + at);
        if self.0.iter().any(|(cut, _)| start <= cut.start && cut.end <= end) {
            return;
        }
        let from = boundary(text, place.start.saturating_sub(WINDOW));
        let to = boundary(text, place.end.min(place.start + WINDOW).saturating_add(WINDOW));
        if from > start + WINDOW {
            self.0.push((start..from, "... "));
        }
        if to + WINDOW < end {
            self.0.push((to..end, " ..."));
        }
        self.0.sort_by_key(|(cut, _)| cut.start);
    }

    fn apply(&self, text: &str) -> String {
        let mut shown = String::new();
        let mut at = 0;
        for (range, instead) in &self.0 {
            shown.push_str(&text[at..range.start]);
            shown.push_str(instead);
            at = range.end;
        }
        shown.push_str(&text[at..]);
        shown
    }

    /// Whether nothing of `range` is cut away.
    fn show(&self, range: &Range<usize>) -> bool {
        !self.0.iter().any(|(cut, _)| cut.start < range.end && range.start < cut.end)
    }

    fn range(&self, range: &Range<usize>) -> Range<usize> {
        let start = self.offset(range.start);
        start..self.offset(range.end).max(start)
    }

    fn offset(&self, at: usize) -> usize {
        let mut shift = 0isize;
        for (cut, instead) in &self.0 {
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
