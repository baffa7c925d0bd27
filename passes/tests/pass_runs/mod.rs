//! Runs pipelines on text, for the tests of passes: every module that leaves here verified.

use ipu_dialects::ir::Module;
use ipu_dialects::parser::{ParseOptions, parse_module};
use ipu_dialects::printer::{PrintOptions, print_with};
use ipu_dialects::{Registry, VerifyOptions, verify};
use ipu_passes::manager::{Artifacts, ManagerOptions, Pipeline, ResolvedPipeline, Run, Silent};

/// The module of `text`, which must parse and verify.
pub(crate) fn parse(name: &str, text: &str) -> Module {
    let (module, diagnostics) = parse_module(name, text, ParseOptions::new(Registry::standard()));
    assert_eq!(diagnostics.render(&module.sources), "", "{name}");
    if let Err(found) = verify(&module, VerifyOptions::default()) {
        panic!("{}\n{text}", found.render(&module.sources));
    }
    module
}

/// Runs `pipeline`; a result that does not verify is an error in the diagnostics of the run.
pub(crate) fn run(module: &mut Module, pipeline: &str) -> Run {
    let pipeline = Pipeline::parse(pipeline).unwrap();
    let source = module.span(module.root());
    let resolved = ResolvedPipeline::new(&pipeline, |_| source);
    let resolved = resolved.unwrap_or_else(|found| panic!("{}", found.render(&module.sources)));
    resolved.run(module, &ManagerOptions::default(), Artifacts::default(), &mut Silent)
}

/// The module as text.
pub(crate) fn printed(module: &Module) -> String {
    print_with(module, PrintOptions::default())
}
