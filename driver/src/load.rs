//! From a path to a parsed and verified module.

use std::ops::Range;

use ipu_dialects::diagnostics::Diagnostics;
use ipu_dialects::ir::Module;
use ipu_dialects::parser::{ParseOptions, parse_module, parse_part};
use ipu_dialects::registry::Registry;
use ipu_dialects::source::{FileId, SourceMap, SourceText};
use ipu_dialects::verifier::{VerifyOptions, verify};

use crate::exit::{Exit, Failure};
use crate::files::read_text;
use crate::rerun::without_first_lines;

/// What a reader accepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// Keep ops, types and attributes that no dialect declares.
    pub allow_unregistered: bool,
    /// Leave out the first lines if they say how the file came about.
    pub rerun: bool,
}

/// Reads, parses and verifies a file; warnings come back beside the module.
///
/// # Errors
/// The file is unreadable, does not parse, or breaks a rule of its dialects.
pub fn load(path: &str, options: LoadOptions) -> Result<(Module, Diagnostics), Failure> {
    let (name, mut text) = tracing::debug_span!("read", name = path).in_scope(|| read_text(path))?;
    if options.rerun {
        text = without_first_lines(&text).into();
    }
    load_text(&name, text, options)
}

/// Parses and verifies a text that is called `name` in messages.
///
/// # Errors
/// The text does not parse, or breaks a rule of its dialects.
pub fn load_text(
    name: &str,
    text: impl Into<SourceText>,
    options: LoadOptions,
) -> Result<(Module, Diagnostics), Failure> {
    loaded(name, options, |options| parse_module(name, text, options))
}

/// Parses and verifies the bytes `part` of text `file` as a module of its own, with places of the whole text.
///
/// # Errors
/// The part does not parse, or breaks a rule of its dialects.
pub fn load_part(
    sources: &SourceMap,
    file: FileId,
    part: Range<usize>,
    options: LoadOptions,
) -> Result<(Module, Diagnostics), Failure> {
    let name = sources.get(file).map_or("", |file| &*file.name);
    loaded(name, options, |options| parse_part(sources.clone(), file, part, options))
}

impl LoadOptions {
    /// What the parser is told.
    #[must_use]
    pub fn parse_options(self) -> ParseOptions<'static> {
        ParseOptions { registry: Registry::standard(), allow_unregistered: self.allow_unregistered }
    }
}

fn loaded(
    name: &str,
    options: LoadOptions,
    parse: impl FnOnce(ParseOptions<'static>) -> (Module, Diagnostics),
) -> Result<(Module, Diagnostics), Failure> {
    let (module, mut findings) =
        tracing::debug_span!("parse", name).in_scope(|| parse(options.parse_options()));
    if findings.has_errors() {
        return Err(Failure::of(Exit::Input, findings, &module.sources));
    }
    let options = VerifyOptions { allow_unregistered: options.allow_unregistered };
    let result = tracing::debug_span!("verify", name).in_scope(|| verify(&module, options));
    match result {
        Ok((_, warnings)) => {
            findings.append(warnings);
            Ok((module, findings))
        }
        Err(errors) => {
            findings.append(errors);
            Err(Failure::of(Exit::Input, findings, &module.sources))
        }
    }
}
