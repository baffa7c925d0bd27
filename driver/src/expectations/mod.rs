//! `--verify-diagnostics`: comments that say what is found in a text, as those of `mlir-opt`.
//!
//! `// expected-error@+1 {{text}}` wants an error on the next line whose message holds `text`; so do `warning`, `note` and `remark`.
//! The place is `@+N`, `@-N`, `@above` and `@below` (the nearest line without such a comment), `@unknown` (no place), `@other.ir:3`
//! (another file), or the comment's own line. `expected-error[E0201]` names the code too, and in `expected-error-re` parts of the text
//! in `{{..}}` are regular expressions.
//!
//! Every finding must be accepted by a comment, and every comment must accept something. Labels and notes of a finding are notes
//! that a comment may expect but none has to.

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::LazyLock;

use ipu_dialects::diagnostics::{Diagnostic, Diagnostics, Severity};
use ipu_dialects::limits::MAX_DIAGNOSTICS;
use ipu_dialects::source::{FileId, SourceMap, Span};
use regex::{Captures, Regex};

ipu_device::coded_enum! {
    /// How findings and the comments that expect them disagree.
    pub enum ExpectationCode {
        /// A comment expects what was not found.
        Unmet = "R0301", "expected finding is missing",
        /// No comment expects a finding.
        Unexpected = "R0302", "unexpected finding",
        /// A comment that starts as an expectation and is none.
        Malformed = "R0303", "malformed expectation",
    }
}

/// The expectations in a part of a text.
#[derive(Debug)]
pub struct Expectations {
    list: Vec<Expectation>,
    malformed: Diagnostics,
}

#[derive(Debug)]
struct Expectation {
    /// The comment, from `expected-` on.
    span: Span,
    kind: Kind,
    code: Option<String>,
    place: Place,
    text: Text,
    /// The text as written.
    shown: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Error,
    Warning,
    Note,
    Remark,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Line(FileId, i64),
    Unknown,
    Other(String, i64),
}

#[derive(Debug)]
enum Text {
    Part(String),
    Pattern(Regex),
}

/// Something that is found: a finding, or a label or note of one.
struct Found<'d> {
    /// Under which names a comment may expect it.
    kinds: &'static [Kind],
    code: &'static str,
    span: Span,
    text: &'d str,
}

/// Kind, `-re`, code, place, text.
static COMMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let place = r"[+-][0-9]+|above|below|unknown|[^\s{]+:[0-9]+";
    let form = format!(
        r"//.*?(expected-(error|warning|note|remark)(-re)?(?:\[([A-Z][0-9]{{4}})\])?(?: *@({place}))? *\{{\{{(.*)\}}\}})\s*$"
    );
    Regex::new(&form).ok()
});

/// A comment that can only be meant as an expectation.
static MEANT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"//\s*(expected-[a-z]+.*?)\s*$").ok());

impl Expectations {
    /// The expectations in the comments of bytes `part` of text `file`.
    #[must_use]
    pub fn read(sources: &SourceMap, file: FileId, part: Range<usize>) -> Self {
        let mut read = Self { list: Vec::new(), malformed: Diagnostics::new() };
        let (Some(source), Some(comment)) = (sources.get(file), COMMENT.as_ref()) else { return read };
        let text = source.text.get(part.clone()).unwrap_or("");
        let first = i64::from(source.line_column(part.start as u32).line);
        let mut at = part.start;
        let mut plain = first - 1;
        let mut waiting = Vec::new();
        for (line, content) in (first..).zip(text.split_inclusive('\n')) {
            let span =
                |range: Range<usize>| Span::new(file, (at + range.start) as u32, (at + range.end) as u32);
            if let Some(captures) = comment.captures(content) {
                let whole = captures.get(1).map_or(0..0, |whole| whole.range());
                match Expectation::new(&captures, span(whole), Place::Line(file, line), plain) {
                    Ok(expectation) => {
                        if captures.get(5).is_some_and(|place| place.as_str() == "below") {
                            waiting.push(read.list.len());
                        }
                        read.list.push(expectation);
                    }
                    Err(finding) => read.malformed.push(*finding),
                }
            } else {
                let meant = MEANT.as_ref().and_then(|meant| meant.captures(content)?.get(1));
                if let Some(meant) = meant {
                    read.malformed.push(malformed(span(meant.range()), "it is no expectation"));
                }
                plain = line;
                for index in waiting.drain(..) {
                    read.list[index].place = Place::Line(file, line);
                }
            }
            at += content.len();
        }
        read
    }

    /// Where the comments and `findings` disagree; nothing if all is as expected.
    #[must_use]
    pub fn check(&self, sources: &SourceMap, findings: &Diagnostics) -> Diagnostics {
        let mut disagreements = self.malformed.clone();
        for finding in findings.iter() {
            let found = Found::finding(finding);
            if !self.list.iter().any(|expectation| expectation.accepts(&found, sources)) {
                disagreements.push(unexpected(finding));
            }
        }
        let all: Vec<Found<'_>> = findings.iter().flat_map(Found::all).collect();
        for expectation in &self.list {
            if !all.iter().any(|found| expectation.accepts(found, sources)) {
                disagreements.push(expectation.unmet(&all, sources));
            }
        }
        if findings.dropped() > 0 {
            let message = format!(
                "{} findings after the first {MAX_DIAGNOSTICS} cannot be checked",
                findings.dropped()
            );
            disagreements.push(Diagnostic::error(ExpectationCode::Unexpected, Span::NONE, message));
        }
        disagreements.sort();
        disagreements
    }
}

impl Expectation {
    /// The expectation of a comment on line `own`, with `plain` the last line before it without one.
    fn new(captures: &Captures<'_>, span: Span, own: Place, plain: i64) -> Result<Self, Box<Diagnostic>> {
        let group = |index| captures.get(index).map_or("", |group| group.as_str());
        let kind = match group(2) {
            "error" => Kind::Error,
            "warning" => Kind::Warning,
            "note" => Kind::Note,
            _ => Kind::Remark,
        };
        let text = if group(3).is_empty() {
            Text::Part(group(6).to_owned())
        } else {
            let pattern = pattern(group(6)).map_err(|error| {
                let why = error.to_string().lines().last().unwrap_or_default().to_owned();
                Box::new(malformed(span, "its text is no regular expression").note(why))
            })?;
            Text::Pattern(pattern)
        };
        let place = place(group(5), own, plain)
            .ok_or_else(|| Box::new(malformed(span, &format!("there is no line `@{}`", group(5)))))?;
        let code = captures.get(4).map(|code| code.as_str().to_owned());
        Ok(Self { span, kind, code, place, text, shown: group(6).to_owned() })
    }

    fn accepts(&self, found: &Found<'_>, sources: &SourceMap) -> bool {
        found.kinds.contains(&self.kind)
            && self.code.as_deref().is_none_or(|code| code == found.code)
            && self.text.accepts(found.text)
            && self.place.holds(found.span, sources)
    }

    /// That nothing met it, with what comes near.
    fn unmet(&self, all: &[Found<'_>], sources: &SourceMap) -> Diagnostic {
        let code = self.code.as_deref().map_or_else(String::new, |code| format!("[{code}]"));
        let message = format!("expected {}{code} is not reported: {{{{{}}}}}", self.kind.name(), self.shown);
        let mut diagnostic = Diagnostic::error(ExpectationCode::Unmet, self.span, message);
        let near =
            |found: &&Found<'_>| self.text.accepts(found.text) || self.place.holds(found.span, sources);
        for found in all.iter().filter(near).take(3) {
            let place = sources
                .locate(found.span)
                .map_or_else(|| "no place".to_owned(), |(file, at)| format!("{}:{}", file.name, at.line));
            let kind = found.kinds.first().map_or("", |kind| kind.name());
            diagnostic =
                diagnostic.note(format!("there is {kind}[{}] at {place}: {}", found.code, found.text));
        }
        diagnostic
    }
}

/// The place that `written` means in a comment on line `own`.
fn place(written: &str, own: Place, plain: i64) -> Option<Place> {
    let Place::Line(file, line) = own else { return None };
    let target = match written {
        "" => line,
        // Known when that line is read; past the end nothing is found.
        "below" => i64::MAX,
        "above" => plain,
        "unknown" => return Some(Place::Unknown),
        _ if written.starts_with(['+', '-']) => line.checked_add(written.parse().ok()?)?,
        _ => {
            let (name, line) = written.rsplit_once(':')?;
            return Some(Place::Other(name.to_owned(), line.parse().ok()?));
        }
    };
    (target > 0).then_some(Place::Line(file, target))
}

/// `text` as a pattern: literal but for the parts in `{{..}}`.
fn pattern(text: &str) -> Result<Regex, regex::Error> {
    let mut pattern = String::new();
    let mut rest = text;
    while let Some((literal, after)) = rest.split_once("{{") {
        let Some((expression, after)) = after.split_once("}}") else { break };
        pattern.push_str(&format!("{}(?:{expression})", regex::escape(literal)));
        rest = after;
    }
    Regex::new(&(pattern + &regex::escape(rest)))
}

impl Place {
    fn holds(&self, span: Span, sources: &SourceMap) -> bool {
        let at = sources.locate(span);
        match (self, at) {
            (Self::Unknown, at) => at.is_none(),
            (Self::Line(file, line), Some((_, at))) => span.file == *file && i64::from(at.line) == *line,
            (Self::Other(name, line), Some((file, at))) => {
                let ends = file.name.strip_suffix(name.as_str());
                ends.is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
                    && i64::from(at.line) == *line
            }
            (_, None) => false,
        }
    }
}

impl Text {
    fn accepts(&self, text: &str) -> bool {
        match self {
            Self::Part(part) => text.contains(part.as_str()),
            Self::Pattern(pattern) => pattern.is_match(text),
        }
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
            Self::Remark => "remark",
        }
    }
}

impl<'d> Found<'d> {
    fn finding(finding: &'d Diagnostic) -> Self {
        let kinds: &[Kind] = match finding.severity {
            Severity::Error => &[Kind::Error],
            Severity::Warning => &[Kind::Warning],
            Severity::Remark => &[Kind::Remark, Kind::Note],
        };
        Self { kinds, code: finding.code, span: finding.primary, text: &finding.message }
    }

    /// The finding, its labels and its notes; a note stands where the finding stands.
    fn all(finding: &'d Diagnostic) -> Vec<Self> {
        let note = |span, text| Self { kinds: &[Kind::Note], code: finding.code, span, text };
        let mut all = vec![Self::finding(finding)];
        all.extend(finding.labels.iter().map(|label| note(label.span, &label.text)));
        all.extend(finding.notes.iter().map(|text| note(finding.primary, text)));
        all
    }
}

fn unexpected(finding: &Diagnostic) -> Diagnostic {
    let Diagnostic { severity, code, message, primary, .. } = finding;
    let message = format!("unexpected {}[{code}]: {message}", severity.name());
    Diagnostic::error(ExpectationCode::Unexpected, *primary, message)
}

fn malformed(span: Span, why: &str) -> Diagnostic {
    Diagnostic::error(ExpectationCode::Malformed, span, format!("malformed expectation: {why}"))
        .note("the form is `expected-error@+1 {{text}}` at the end of the line, with `warning`, `note` or `remark` for `error`")
}
