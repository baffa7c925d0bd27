//! From a path to a parsed and verified module.

use ipu_dialects::diagnostics::Diagnostics;
use ipu_dialects::ir::Module;
use ipu_dialects::parser::{ParseOptions, parse_module};
use ipu_dialects::registry::Registry;
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
    let (name, mut text) = read_text(path)?;
    if options.rerun {
        text = without_first_lines(&text);
    }
    load_text(&name, &text, options)
}

/// Parses and verifies a text that is called `name` in messages.
///
/// # Errors
/// The text does not parse, or breaks a rule of its dialects.
pub fn load_text(name: &str, text: &str, options: LoadOptions) -> Result<(Module, Diagnostics), Failure> {
    let LoadOptions { allow_unregistered, .. } = options;
    let parse_options = ParseOptions { registry: Registry::standard(), allow_unregistered };
    let (module, mut diagnostics) =
        tracing::debug_span!("parse", name).in_scope(|| parse_module(name, text, parse_options));
    if diagnostics.has_errors() {
        return Err(Failure::of(Exit::Input, diagnostics, &module.sources));
    }
    let verified = tracing::debug_span!("verify", name)
        .in_scope(|| verify(&module, VerifyOptions { allow_unregistered }));
    match verified {
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
