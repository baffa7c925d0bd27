//! Comments against findings.

use super::*;
use crate::exit::DriverCode;

/// What is wrong with the comments of `text` when `findings` are found, one line each.
fn check(text: &str, findings: impl FnOnce(FileId, FileId) -> Vec<Diagnostic>) -> Vec<String> {
    let mut sources = SourceMap::default();
    let file = sources.add("folder/this.ir", text);
    let other = sources.add("folder/other.ir", "one\ntwo\nthree\n");
    let mut found = Diagnostics::new();
    findings(file, other).into_iter().for_each(|finding| found.push(finding));
    let expectations = Expectations::read(&sources, file, 0..text.len());
    let disagreements = expectations.check(&sources, &found);
    let line = |finding: &Diagnostic| {
        let line = sources.locate(finding.primary).map_or(0, |(_, at)| at.line);
        format!("{line} {} {}", finding.code, finding.message)
    };
    disagreements.iter().map(line).collect()
}

/// An error at the start of line `line` of `file`, whose lines are `text`.
fn error(file: FileId, text: &str, line: usize, message: &str) -> Diagnostic {
    let start: usize = text.lines().take(line - 1).map(|line| line.len() + 1).sum();
    Diagnostic::error(DriverCode::Usage, Span::new(file, start as u32, start as u32 + 1), message)
}

#[test]
fn every_kind_of_place_is_found() {
    let text = "\
a // expected-error {{own line}}
// expected-error@+2 {{two down}}
// expected-error@below {{below}}
b
// expected-error@-1 {{one up}}
// expected-error@above {{above}}
// expected-error@unknown {{no place}}
// expected-error@other.ir:3 {{elsewhere}}
";
    let wrong = check(text, |file, other| {
        vec![
            error(file, text, 1, "an own line"),
            error(file, text, 4, "two down and below and one up and above"),
            Diagnostic::error(DriverCode::Usage, Span::NONE, "no place"),
            error(other, "one\ntwo\n", 3, "elsewhere"),
        ]
    });
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn kind_code_and_text_must_agree() {
    let text = "\
// expected-warning {{first}}
// expected-error[E0201] {{second}}
// expected-error[R0103] {{third}}
// expected-error-re {{[0]: {{[0-9]+}} bytes}}
";
    let wrong = check(text, |file, _| {
        let found = ["first", "second", "third", "[0]: 12 bytes"];
        let lines = found.iter().zip(1..);
        lines.map(|(message, line)| error(file, text, line, message)).collect()
    });
    let expected = [
        "1 R0302 unexpected error[R0103]: first",
        "1 R0301 expected warning is not reported: {{first}}",
        "2 R0302 unexpected error[R0103]: second",
        "2 R0301 expected error[E0201] is not reported: {{second}}",
    ];
    assert_eq!(wrong, expected);
}

#[test]
fn labels_and_notes_may_be_expected_and_need_not() {
    let text = "a // expected-error {{bad}} \n// expected-note@-1 {{because}}\nb\n";
    let found = |file| {
        let label = error(file, text, 3, "").primary;
        error(file, text, 1, "bad").note("because").label(label, "first here")
    };
    assert_eq!(check(text, |file, _| vec![found(file)]), Vec::<String>::new());
    let text = "a // expected-error {{bad}} \n\nb // expected-note {{first here}}\n";
    assert_eq!(check(text, |file, _| vec![found(file)]), Vec::<String>::new());
}

#[test]
fn a_comment_that_cannot_be_read_is_reported() {
    let text = "\
// expected-eror {{text}}
// expected-error@-9 {{text}}
// expected-error-re {{ {{(}} }}
// expected-error {{text}} and more
// In prose expected-error is a word.
";
    let lines = [1, 2, 3, 4].map(|line| format!("{line} R0303 malformed expectation"));
    let wrong = check(text, |_, _| Vec::new());
    assert_eq!(wrong.len(), lines.len(), "{wrong:?}");
    assert!(wrong.iter().zip(&lines).all(|(wrong, line)| wrong.starts_with(line)), "{wrong:?}");
}
