//! Behaviour of the language as a whole, on a dialect `test` that uses every feature of formats.

mod dialect;
mod errors;
mod generic;
mod limits;
mod round_trip;
mod storage;
mod verify;

use std::sync::OnceLock;

use crate::diagnostics::Diagnostics;
use crate::ir::Module;
use crate::parser::{ParseOptions, parse_module};
use crate::registry::Registry;

pub(super) fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let dialects =
            [&crate::builtin::DIALECT, &crate::ipu::DIALECT, &crate::graph::DIALECT, &dialect::DIALECT];
        Registry::new(&dialects)
    })
}

pub(super) fn read(text: &str) -> (Module, Diagnostics) {
    parse_module("t.ir", text, ParseOptions::new(registry()))
}

/// The module of a text without errors.
pub(super) fn module(text: &str) -> Module {
    let (module, diagnostics) = read(text);
    assert_eq!(diagnostics.render(&module.sources), "", "in:\n{text}");
    module
}

/// The findings of a text, as plain text.
pub(super) fn findings(text: &str) -> String {
    let (module, diagnostics) = read(text);
    diagnostics.render(&module.sources)
}
