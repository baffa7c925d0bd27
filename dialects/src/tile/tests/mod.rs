//! Behaviour of `tile`: text, plain data, verifier, sections from the assembler.

mod assembling;
mod errors;
mod instructions;
mod round_trip;

use super::TileProgram;
use crate::ir::{Module, OpId};
use crate::parser::{ParseOptions, parse_module};
use crate::registry::Registry;
use crate::verifier::{VerifyOptions, verify};

/// Two tiles of the worked example with code.
const EXAMPLE: &str = include_str!("example.ir");
/// A program with steps; every op and optional part that the example does not have.
const STEPS: &str = include_str!("steps.ir");

/// The module of a text without errors.
fn module(text: &str) -> Module {
    let (module, diagnostics) = parse_module("t.ir", text, ParseOptions::new(Registry::standard()));
    assert_eq!(diagnostics.render(&module.sources), "", "in:\n{text}");
    module
}

/// The first op of a module.
fn first(module: &Module) -> OpId {
    module.first_op(module.body()).expect("the text has an op")
}

/// The program of a text.
fn program(text: &str) -> TileProgram {
    let module = module(text);
    TileProgram::read(&module, first(&module))
        .unwrap_or_else(|found| panic!("{}", found.render(&module.sources)))
}

/// What the verifier finds, as plain text.
fn findings(text: &str) -> String {
    let module = module(text);
    let found = match verify(&module, VerifyOptions::default()) {
        Ok((_, warnings)) => warnings,
        Err(errors) => errors,
    };
    found.render(&module.sources)
}
