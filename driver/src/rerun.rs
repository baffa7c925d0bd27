//! `--rerun`: the first line of a file is the command that made what the file shows, and running it again takes the flags from there.
//!
//! Dumps, reproducers and reduced files begin with one format, `// PROGRAM FLAG... FILE`, in which every flag is `--name` or
//! `--name=value`, quoted as a shell reads it. A reproducer goes on with who made it and which files it reads:
//!
//! ```text
//! // ipu run --pass-pipeline='expand-plans,optimize-exchanges' --at=exchange repro.ir
//! // made by ipu 0.1.0
//! // reads weights.npy with sha256 9f86d081884c7d65...
//! ```
//!
//! Only flags that change what is computed are taken from a file; those on the command line win.

use std::ffi::OsString;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use ipu_dialects::tensor_data::sha256;

use crate::exit::{DriverCode, Exit, Failure};
use crate::files::{quoted, read_bytes, read_text, single_quoted};

/// Flags that decide what a program makes of a file; one that does not take them cannot rerun the file.
const DECISIVE: [&str; 8] = [
    "allow-unregistered-dialect",
    "fuel",
    "mutate",
    "pass-pipeline",
    "plant-crash",
    "stop-after",
    "verify-each",
    "with-prerequisites",
];

/// Flags about what is shown or executed besides; another program does without them.
const OF_ITS_PROGRAM: [&str; 8] =
    ["at", "hash-seed", "no-locations", "prices", "print-generic", "print-locations", "sanitize", "threads"];

/// Starts the second line of a reproducer.
const MADE_BY: &str = "// made by ipu ";
/// Starts a line about a file that a reproducer reads.
const READS: &str = "// reads ";

/// A flag as a word of a command line.
#[must_use]
pub fn flag(name: &str, value: &str) -> String {
    format!("--{name}={}", quoted(value))
}

/// The flag for these passes.
#[must_use]
pub fn pipeline_flag(pipeline: &impl ToString) -> String {
    format!("--pass-pipeline={}", single_quoted(&pipeline.to_string()))
}

/// The first line of a file called `file` on which `program` runs with `flags`.
#[must_use]
pub fn first_line(program: &str, flags: &[String], file: &str) -> String {
    format!("// {program} {} {}\n", flags.join(" "), quoted(file))
}

/// The lines of a reproducer after the first: who made it, and the data files that it reads, each with its hash.
#[must_use]
pub fn further_lines<'p>(data: impl Iterator<Item = &'p str>) -> String {
    let made_by = format!("{MADE_BY}{}\n", env!("CARGO_PKG_VERSION"));
    let reads = data.map(|path| match read_bytes(Path::new(path)) {
        Ok(bytes) => format!("{READS}{} with sha256 {}\n", quoted(path), sha256(&bytes)),
        Err(_) => format!("{READS}{}, which cannot be read\n", quoted(path)),
    });
    made_by + &reads.collect::<String>()
}

/// What the first lines of a file say.
#[derive(Debug, PartialEq, Eq)]
struct Noted {
    /// The program with its subcommand.
    program: String,
    /// Names and values of the flags.
    flags: Vec<(String, Option<String>)>,
    /// Files with their hashes.
    data: Vec<(String, String)>,
    /// Lines that are no part of the program.
    lines: usize,
}

impl Noted {
    /// Reads the first lines of `text`; nothing if they are no command of ours.
    fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let words = shell_words(lines.next()?.strip_prefix("//")?);
        let is_flag = |word: &&String| word.starts_with("--");
        let program: Vec<&str> = words.iter().take_while(|word| !is_flag(word)).map(String::as_str).collect();
        let flags = words[program.len()..].iter().take_while(is_flag);
        let split = |word: &String| match word[2..].split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (word[2..].to_owned(), None),
        };
        let mut noted = Self {
            program: program.join(" "),
            flags: flags.map(split).collect(),
            data: Vec::new(),
            lines: 1,
        };
        let is_ours = matches!(program.first(), Some(&("ipu" | "ipu-opt")))
            && noted.flags.iter().any(|(name, _)| name == "pass-pipeline");
        if lines.next().is_some_and(|line| line.starts_with(MADE_BY)) {
            let reads = lines.map_while(|line| line.strip_prefix(READS));
            let words: Vec<Vec<String>> = reads.map(shell_words).collect();
            noted.lines += 1 + words.len();
            let with_hash = words.into_iter().filter_map(|words| <[String; 4]>::try_from(words).ok());
            noted.data = with_hash.map(|[path, _, _, hash]| (path, hash)).collect();
        }
        is_ours.then_some(noted)
    }

    /// Refuses if a file that is read is another one than it was.
    fn check_data(&self) -> Result<(), Failure> {
        for (path, expected) in &self.data {
            let found = sha256(&read_bytes(Path::new(path))?);
            if found != *expected {
                let message = format!("`{path}` has sha256 {found}, the first lines say {expected}");
                return Err(Failure::new(Exit::Input, DriverCode::Unreadable, message));
            }
        }
        Ok(())
    }
}

/// `text` with empty lines for those that say how it came about, so that places in it stay as they are.
#[must_use]
pub fn without_first_lines(text: &str) -> String {
    let lines = Noted::read(text).map_or(0, |noted| noted.lines);
    let rest = text.split_inclusive('\n').skip(lines);
    std::iter::repeat_n("\n", lines).chain(rest).collect()
}

/// The words of the process's command line; with `--rerun`, also the flags that the file notes and the command line does not give.
///
/// # Errors
/// The file cannot be read, names no passes, reads data that has changed, or needs a flag that this program does not take.
pub fn arguments(mut command: Command, words: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    command.build();
    // What is wrong with the command line is said by who parses it next.
    let Ok(matches) = command.clone().try_get_matches_from(&words) else { return Ok(words) };
    let (mut command, mut matches) = (&command, &matches);
    let mut program = vec![command.get_name().to_owned()];
    while let Some((name, below)) = matches.subcommand() {
        let Some(subcommand) = command.find_subcommand(name) else { break };
        program.push(name.to_owned());
        (command, matches) = (subcommand, below);
    }
    let asks = matches.try_get_one::<bool>("rerun").ok().flatten() == Some(&true);
    let file = ["file", "input"].iter().find_map(|id| matches.try_get_one::<String>(id).ok().flatten());
    let Some(file) = file.filter(|_| asks) else { return Ok(words) };
    let (_, text) = read_text(file)?;
    let noted = Noted::read(&text).ok_or_else(|| {
        let message = "the first line of the file names no passes; `--rerun` takes files that start with \
                       `// ipu-opt --pass-pipeline='...' FILE`, as dumps, reproducers and reduced files do";
        Failure::new(Exit::Input, DriverCode::Usage, message)
    })?;
    noted.check_data()?;
    let flags = flags_to_add(&noted, &program.join(" "), command, matches)?;
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (given, trailing) = words.split_at(end);
    Ok(given.iter().cloned().chain(flags.into_iter().map(OsString::from)).chain(trailing.to_vec()).collect())
}

/// The noted flags that `program` takes and that are not given already.
fn flags_to_add(
    noted: &Noted,
    program: &str,
    command: &Command,
    matches: &ArgMatches,
) -> Result<Vec<String>, Failure> {
    let refuse =
        |message: String| Failure::new(Exit::Input, DriverCode::Usage, format!("the first line {message}"));
    let mut flags = Vec::new();
    for (name, value) in &noted.flags {
        let may_be_absent = OF_ITS_PROGRAM.contains(&name.as_str());
        if !may_be_absent && !DECISIVE.contains(&name.as_str()) {
            return Err(refuse(format!("gives `--{name}`, which `--rerun` takes from no file")));
        }
        let Some(argument) = command.get_arguments().find(|argument| argument.get_long() == Some(name))
        else {
            if may_be_absent && noted.program != program {
                continue;
            }
            return Err(refuse(format!("gives `--{name}`, which `{program}` does not take")));
        };
        if matches.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine) {
            continue;
        }
        let value = value.as_ref().map_or_else(String::new, |value| format!("={value}"));
        flags.push(format!("--{name}{value}"));
    }
    Ok(flags)
}

/// Splits a line as a shell does, as far as [`quoted`] needs it: spaces, single quotes, backslashes.
fn shell_words(line: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let (mut quote, mut characters) = (false, line.chars());
    while let Some(character) = characters.next() {
        match character {
            '\'' => {
                quote = !quote;
                word.get_or_insert_default();
            }
            '\\' if !quote => word.get_or_insert_default().extend(characters.next()),
            ' ' if !quote => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_line_reads_back() {
        let flags =
            [pipeline_flag(&"a{b=\"it's\"}"), flag("at", "exchange"), "--verify-each=false".to_owned()];
        let text = first_line("ipu run", &flags, "a file.ir") + &further_lines(std::iter::empty()) + "op\n";
        let noted = Noted::read(&text).unwrap();
        assert_eq!(noted.program, "ipu run");
        let value = |text: &str| Some(text.to_owned());
        assert_eq!(
            noted.flags,
            [
                ("pass-pipeline".to_owned(), value("a{b=\"it's\"}")),
                ("at".to_owned(), value("exchange")),
                ("verify-each".to_owned(), value("false")),
            ]
        );
        assert_eq!(without_first_lines(&text), "\n\nop\n");
    }

    #[test]
    fn other_comments_are_no_commands() {
        for text in
            ["", "// ", "// ipu run a.ir", "// A case.\n", "// rm --pass-pipeline= x", "op --pass-pipeline="]
        {
            assert_eq!(Noted::read(text), None, "{text}");
            assert_eq!(without_first_lines(text), text);
        }
    }
}
