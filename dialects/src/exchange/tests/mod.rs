//! Behaviour of `exchange`: text, plain data, verifier, lifetimes, meaning.

mod emitting;
mod errors;
mod lifetimes;
mod meaning;
mod reading;
mod round_trip;
mod size;

use crate::ir::{Module, OpId};
use crate::parser::{ParseOptions, parse_module};
use crate::registry::Registry;
use crate::verifier::{VerifyOptions, verify};

/// The program of the worked example, scheduled and placed.
pub(super) const EXAMPLE: &str = include_str!("example.ir");

/// The module of a text without errors.
pub(super) fn module(text: &str) -> Module {
    let (module, diagnostics) = parse_module("t.ir", text, ParseOptions::new(Registry::standard()));
    assert_eq!(diagnostics.render(&module.sources), "", "in:\n{text}");
    module
}

/// The first op of a module.
pub(super) fn first(module: &Module) -> OpId {
    module.first_op(module.body()).expect("the text has an op")
}

/// What the verifier finds, as plain text.
pub(super) fn findings(text: &str) -> String {
    findings_of(&module(text))
}

/// What the verifier finds in a module, as plain text.
pub(super) fn findings_of(module: &Module) -> String {
    let found = match verify(module, VerifyOptions::default()) {
        Ok((_, warnings)) => warnings,
        Err(errors) => errors,
    };
    found.render(&module.sources)
}
