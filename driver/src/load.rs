//! From a path to a parsed and verified module.

use ipu_dialects::diagnostics::Diagnostics;
use ipu_dialects::ir::Module;
use ipu_dialects::parser::{ParseOptions, parse_module};
use ipu_dialects::registry::Registry;
use ipu_dialects::source::SourceText;
use ipu_dialects::verifier::{VerifyOptions, verify};

use crate::exit::{Exit, Failure};
use crate::files::read_text;

/// What a reader accepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// Keep ops, types and attributes that no dialect declares.
    pub allow_unregistered: bool,
}

/// Reads, parses and verifies a file; warnings come back beside the module.
///
/// # Errors
/// The file is unreadable, does not parse, or breaks a rule of its dialects.
pub fn load(path: &str, options: LoadOptions) -> Result<(Module, Diagnostics), Failure> {
    let (name, text) = read_text(path)?;
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
    let LoadOptions { allow_unregistered } = options;
    let parse_options = ParseOptions { registry: Registry::standard(), allow_unregistered };
    let (module, mut diagnostics) = parse_module(name, text, parse_options);
    if diagnostics.has_errors() {
        return Err(Failure::of(Exit::Input, diagnostics, &module.sources));
    }
    match verify(&module, VerifyOptions { allow_unregistered }) {
        Ok((_, warnings)) => {
            diagnostics.append(warnings);
            Ok((module, diagnostics))
        }
        Err(findings) => {
            diagnostics.append(findings);
            Err(Failure::of(Exit::Input, diagnostics, &module.sources))
        }
    }
}
