//! The pass as the manager knows it.

use indexmap::IndexMap;
use ipu_dialects::ir::Module;
use serde::{Deserialize, Serialize};

use super::{Limits, canonicalize};
use crate::manager::{OptionError, OptionInfo, Pass, PassContext, PassFailure, PassInfo, State, options};

/// The pass as the manager knows it.
pub static INFO: PassInfo = PassInfo {
    name: "canonicalize",
    summary: "graph to graph: simplifies transposes, casts and reshapes by equality saturation",
    requires: &[State::Graph],
    provides: &[],
    options: &[
        OptionInfo {
            name: "node-limit",
            form: "N",
            help: "nodes that the search may add to a block's e-graph",
        },
        OptionInfo { name: "iteration-limit", form: "N", help: "rounds over all rules for a block" },
    ],
    defaults: options::defaults::<Options>,
    create,
};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Options {
    node_limit: u32,
    iteration_limit: u32,
}

impl Default for Options {
    fn default() -> Self {
        let Limits { nodes, iterations } = Limits::default();
        Self { node_limit: nodes as u32, iteration_limit: iterations as u32 }
    }
}

struct Canonicalize(Limits);

fn create(values: &IndexMap<String, String>) -> Result<Box<dyn Pass>, OptionError> {
    let Options { node_limit, iteration_limit } = options::read(values)?;
    Ok(Box::new(Canonicalize(Limits { nodes: node_limit as usize, iterations: iteration_limit as usize })))
}

impl Pass for Canonicalize {
    fn run(&self, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), PassFailure> {
        let report = canonicalize(module, self.0, || context.fuel.take());
        context.record("canonicalized", serde_json::to_value(report).unwrap_or_default());
        Ok(())
    }
}
