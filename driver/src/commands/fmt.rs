//! `ipu fmt`: write IR files anew in the printer's pretty form.
//!
//! Rules kept here: comments, aliases, names, the base of integers and locations that the text gives stay, undeclared ops too; a
//! text that does not parse is left alone; nothing is written that does not read back as the same program with the same comments,
//! or that another `ipu fmt` would change again.

use std::path::Path;

use clap::Args;
use ipu_dialects::diagnostics::{Diagnostic, Diagnostics};
use ipu_dialects::ir::Module;
use ipu_dialects::lexer::{Lexer, TokenKind};
use ipu_dialects::parser::parse_module;
use ipu_dialects::printer::{print_generic, print_module};
use ipu_dialects::source::Span;

use crate::exit::{DriverCode, Exit, Failure};
use crate::files::{read_text, rewrite, write_standard_output};
use crate::load::LoadOptions;
use crate::render::{DiagnosticFormat, emit};

/// Formats IR files in place.
#[derive(Debug, Args)]
pub struct FmtArguments {
    /// IR files, or - for standard input, which goes to standard output.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// Write nothing; list the files that would change, each with its first line that differs.
    #[arg(long)]
    check: bool,
}

/// Runs the subcommand. Findings of one file do not keep others from being formatted.
///
/// # Errors
/// None but those of standard output; findings of files are shown here, each in `format`.
pub fn run(arguments: &FmtArguments, format: DiagnosticFormat) -> Result<Exit, Failure> {
    let mut exit = Exit::Ok;
    for path in &arguments.files {
        let done = format_file(path, arguments.check).unwrap_or_else(|failure| {
            emit(&failure.diagnostics, &failure.sources, format);
            (failure.exit, String::new())
        });
        write_standard_output(done.1.as_bytes())?;
        exit = exit.max(done.0);
    }
    Ok(exit)
}

/// Formats one file; gives what goes to standard output.
fn format_file(path: &str, check: bool) -> Result<(Exit, String), Failure> {
    let (name, text) = read_text(path)?;
    let formatted = formatted(&name, &text)?;
    if check {
        return Ok(match first_difference(&text, &formatted) {
            None => (Exit::Ok, String::new()),
            Some((line, is, wanted)) => (Exit::No, format!("{name}:{line}\n- {is}\n+ {wanted}\n")),
        });
    }
    if path == "-" {
        return Ok((Exit::Ok, formatted));
    }
    if formatted == *text {
        return Ok((Exit::Ok, String::new()));
    }
    rewrite(Path::new(path), formatted.as_bytes())?;
    Ok((Exit::Ok, format!("formatted {name}\n")))
}

/// The pretty form of a text that is called `name` in messages.
///
/// # Errors
/// The text does not parse. Or the printer is at fault: what it writes does not read back as what was read.
pub fn formatted(name: &str, text: &str) -> Result<String, Failure> {
    let (module, findings) = parse(name, text);
    if findings.has_errors() {
        return Err(Failure::of(Exit::Input, findings, &module.sources));
    }
    let formatted = print_module(&module);
    let fault = |what: String| {
        let message = format!("`{name}` is left alone, since formatting would change it: {what}");
        let finding = Diagnostic::error(DriverCode::Internal, Span::NONE, message)
            .note("this is a bug of `ipu fmt`; please report it with the file");
        let mut findings = Diagnostics::new();
        findings.push(finding);
        Failure::of(Exit::Internal, findings, &module.sources)
    };
    let (again, findings) = parse(name, &formatted);
    if let Some(finding) = findings.iter().next().filter(|_| findings.has_errors()) {
        return Err(fault(format!("it would not parse any more: {}", finding.message)));
    }
    if print_generic(&module, false) != print_generic(&again, false) {
        return Err(fault("it would be another program".to_owned()));
    }
    let (before, after) = (comments(text), comments(&formatted));
    if before != after {
        let lost = before.iter().find(|comment| after.binary_search(comment).is_err());
        let lost = lost.map_or_else(String::new, |comment| format!(", `// {comment}` among them"));
        return Err(fault(format!("{} comments would become {}{lost}", before.len(), after.len())));
    }
    if let Some((line, is, wanted)) = first_difference(&formatted, &print_module(&again)) {
        return Err(fault(format!("a second time would make line {line}, `{is}`, into `{wanted}`")));
    }
    Ok(formatted)
}

fn parse(name: &str, text: &str) -> (Module, Diagnostics) {
    let options = LoadOptions { allow_unregistered: true, ..LoadOptions::default() };
    parse_module(name, text, options.parse_options())
}

/// The comments of a text without `//` and the spaces around them, sorted.
fn comments(text: &str) -> Vec<&str> {
    let mut lexer = Lexer::new(text);
    let mut found = Vec::new();
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::End => break,
            TokenKind::Comment => {
                let comment = text.get(token.start as usize..token.end as usize).unwrap_or("");
                found.push(comment.strip_prefix("//").unwrap_or(comment).trim());
            }
            _ => {}
        }
    }
    found.sort_unstable();
    found
}

/// The first line that differs, counted from 1, as it is and as it should be; past the end of a text there is none.
fn first_difference<'t>(is: &'t str, wanted: &'t str) -> Option<(usize, &'t str, &'t str)> {
    if is == wanted {
        return None;
    }
    let (mut left, mut right) = (is.split('\n'), wanted.split('\n'));
    (1..).map(|line| (line, left.next(), right.next())).find_map(|(line, left, right)| {
        let differs = left != right || left.is_none();
        differs.then(|| (line, left.unwrap_or(""), right.unwrap_or("")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_names_aliases_bases_and_undeclared_ops_stay() {
        let text = "#a = 0x1F // trailing\n\n\n// leading\n\"my.op\"()   {at=#a} : () -> ()\n%name   = \"my.other\"() {b = 0x0F} : () -> f32\n// last";
        let formatted = formatted("text", text).unwrap();
        let expected = "#a = 0x1f  // trailing\n\n// leading\n\"my.op\"() {at = #a} : () -> ()\n%name = \"my.other\"() {b = 0xf} : () -> f32\n// last\n";
        assert_eq!(formatted, expected);
    }

    #[test]
    fn given_locations_stay_and_no_others_come() {
        let text = "\"my.op\"() : () -> () loc(\"a\":1:2)\n\"my.op\"() : () -> ()\n";
        assert_eq!(formatted("text", text).unwrap().matches("loc(").count(), 2, "its use and its table");
    }

    #[test]
    fn the_first_line_that_differs_is_found() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some((2, "b", "c")));
        assert_eq!(first_difference("a", "a\n"), Some((2, "", "")));
        assert_eq!(first_difference("a\r\n", "a\n"), Some((1, "a\r", "a")));
    }
}
