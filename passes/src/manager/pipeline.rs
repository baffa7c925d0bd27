//! Pipelines as text: parsed with a pest grammar, printed back to themselves.
//!
//! Errors carry the byte range of the pipeline text that is wrong; the driver shows it as it shows a place in
//! an IR file.

use std::fmt;
use std::ops::Range;

use indexmap::IndexMap;
use pest::Parser;
use pest::error::{InputLocation, LineColLocation};

/// The grammar's parser; the rules are those of `pipeline.pest`.
mod grammar {
    #![allow(missing_docs)]
    #[derive(pest_derive::Parser)]
    #[grammar = "manager/pipeline.pest"]
    pub(super) struct PipelineParser;
}
use grammar::{PipelineParser, Rule};

/// Longest pipeline text that is parsed.
pub const MAXIMUM_PIPELINE_BYTES: usize = 1 << 20;

/// One pass of a pipeline with its options as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelineEntry {
    /// The pass's name, without dashes in front.
    pub name: String,
    /// Option values by key, in order of writing; an option without `=` holds `true`.
    pub options: IndexMap<String, String>,
    /// Where the entry stands in the text.
    pub range: Range<usize>,
}

/// A sequence of passes with options.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pipeline {
    /// The passes in the order in which they run.
    pub entries: Vec<PipelineEntry>,
}

/// Why a pipeline's text does not parse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelineError {
    /// What is wrong, in one line.
    pub message: String,
    /// The bytes of the text that are wrong.
    pub range: Range<usize>,
}

impl Pipeline {
    /// Parses the text of a pipeline.
    ///
    /// # Errors
    /// The text does not match the grammar, an option is given twice, or the text is longer than
    /// [`MAXIMUM_PIPELINE_BYTES`].
    pub fn parse(text: &str) -> Result<Self, PipelineError> {
        if text.len() > MAXIMUM_PIPELINE_BYTES {
            return Err(PipelineError {
                message: format!(
                    "pipeline text of {} bytes; the limit is {MAXIMUM_PIPELINE_BYTES}",
                    text.len()
                ),
                range: 0..0,
            });
        }
        let parsed = PipelineParser::parse(Rule::pipeline, text).map_err(|error| explain(text, &error))?;
        let mut entries = Vec::new();
        for pair in parsed.flatten().filter(|pair| pair.as_rule() == Rule::pass) {
            entries.push(entry(pair)?);
        }
        Ok(Self { entries })
    }

    /// The names of the passes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }
}

fn entry(pair: pest::iterators::Pair<'_, Rule>) -> Result<PipelineEntry, PipelineError> {
    let span = pair.as_span();
    let mut result =
        PipelineEntry { name: String::new(), options: IndexMap::new(), range: span.start()..span.end() };
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::pass_name => result.name = part.as_str().to_owned(),
            Rule::option => {
                let span = part.as_span();
                let mut inner = part.into_inner();
                let key = inner.next().map(|key| key.as_str().to_owned()).unwrap_or_default();
                let value = inner.next().map_or_else(|| "true".to_owned(), option_value);
                if result.options.contains_key(&key) {
                    return Err(PipelineError {
                        message: format!("option `{key}` of pass `{}` is given twice", result.name),
                        range: span.start()..span.end(),
                    });
                }
                result.options.insert(key, value);
            }
            _ => {}
        }
    }
    Ok(result)
}

fn option_value(pair: pest::iterators::Pair<'_, Rule>) -> String {
    let text = pair.as_str();
    if pair.as_rule() != Rule::quoted {
        return text.to_owned();
    }
    let mut value = String::with_capacity(text.len());
    let mut characters = text[1..text.len() - 1].chars();
    while let Some(character) = characters.next() {
        value.extend(if character == '\\' { characters.next() } else { Some(character) });
    }
    value
}

fn explain(text: &str, error: &pest::error::Error<Rule>) -> PipelineError {
    let at = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    };
    let (LineColLocation::Pos((_, column)) | LineColLocation::Span((_, column), _)) = error.line_col;
    let found = text[at..].chars().next();
    let message = match found {
        None => format!("pipeline ends at column {column}, expected {}", expectation(text, at)),
        Some(character) => {
            format!("unexpected `{character}` at column {column}, expected {}", expectation(text, at))
        }
    };
    PipelineError { message, range: at..found.map_or(at, |character| at + character.len_utf8()) }
}

/// What may stand at `at`: inside braces an option or the closing brace, outside a pass name.
fn expectation(text: &str, at: usize) -> &'static str {
    let before = &text[..at];
    let inside = before.matches('{').count() > before.matches('}').count();
    match (inside, before.trim_end().chars().next_back()) {
        (true, Some('=')) => "a value",
        (true, _) => "an option `key=value` or `}`",
        (false, None | Some(',' | '(')) => "a pass name",
        (false, _) if before.contains('(') && !before.contains(')') => "`,` and a pass name, or `)`",
        (false, _) => "`,` and a pass name, or the end",
    }
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, entry) in self.entries.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            write!(f, "{entry}")?;
        }
        Ok(())
    }
}

impl fmt::Display for PipelineEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for (index, (key, value)) in self.options.iter().enumerate() {
            f.write_str(if index == 0 { "{" } else { " " })?;
            write!(f, "{key}={}", Quoted(value))?;
        }
        if !self.options.is_empty() {
            f.write_str("}")?;
        }
        Ok(())
    }
}

/// A value in quotes where the grammar needs them.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let special = |c: char| c.is_ascii_whitespace() || matches!(c, '{' | '}' | '"' | ',');
        if !self.0.is_empty() && !self.0.contains(special) {
            return f.write_str(self.0);
        }
        f.write_str("\"")?;
        for character in self.0.chars() {
            if matches!(character, '"' | '\\') {
                f.write_str("\\")?;
            }
            write!(f, "{character}")?;
        }
        f.write_str("\"")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(text: &str) -> String {
        match Pipeline::parse(text) {
            Ok(pipeline) => format!("parsed as `{pipeline}`"),
            Err(error) => format!("{} [{:?}]", error.message, error.range),
        }
    }

    #[test]
    fn a_pipeline_prints_back_to_itself() {
        for text in [
            "",
            "canonicalize",
            "canonicalize,select-plans{grid=8x4x2 prices=recorded},expand-plans",
            r#"select-plans{pin="a b" note="q\"\\"}"#,
        ] {
            assert_eq!(message(text), format!("parsed as `{text}`"));
        }
        assert_eq!(
            message(" builtin.module( canonicalize , lower-exchanges { verbose } ) "),
            "parsed as `canonicalize,lower-exchanges{verbose=true}`"
        );
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        insta::assert_snapshot!(
            ["canonicalize,", "canonicalize{", "a{x=}", "a{x=1 x=2}", "a b", "builtin.module(a", "1st", "a}"]
                .map(|text| format!("{text:20} {}", message(text)))
                .join("\n")
        );
    }

    proptest! {
        #[test]
        fn any_option_value_survives(value in "\\PC*", key in "[a-z][a-z-]{0,8}") {
            let options = IndexMap::from([(key, value)]);
            let pipeline =
                Pipeline { entries: vec![PipelineEntry { name: "pass".into(), options, range: 0..0 }] };
            let mut parsed = Pipeline::parse(&pipeline.to_string()).unwrap();
            parsed.entries[0].range = 0..0;
            prop_assert_eq!(parsed, pipeline);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            let _ = Pipeline::parse(&text);
        }
    }
}
