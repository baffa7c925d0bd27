//! `--expand-plans`: a mapped program as an exchange program: buffers, transfers, kernel calls, host moves.
//!
//! Rules kept here: what an op makes its tiles do is what `mapped::calls::work` says, emitted as it stands; a value is
//! one buffer, as large as its largest shard, and a relabel has the buffer of its operand; a host input reaches every
//! tile that holds a copy of it, from an image of the distinct shards in shard order.

mod buffers;
mod steps;

use indexmap::IndexMap;
use ipu_dialects::diagnostics::Diagnostic;
use ipu_dialects::exchange::emit_program;
use ipu_dialects::ir::{InsertionPoint, Module, Name, OpId};

use crate::manager::{
    OptionError, Pass, PassContext, PassFailure, PassInfo, State, options, state::main_program,
};

/// Name of the pass in origins.
const NAME: Name = Name::of("expand-plans");

ipu_device::coded_enum! {
    /// Why a mapped program is not expanded.
    pub enum ExpandCode {
        /// The program has no body, or an op that tiles cannot execute.
        Unsupported = "P0701", "mapped program cannot be expanded",
    }
}

/// The pass as the manager knows it.
pub static INFO: PassInfo = PassInfo {
    name: "expand-plans",
    summary: "mapped to exchange: buffers, transfers, kernel calls, host loads and stores",
    requires: &[State::Mapped],
    provides: &[State::Exchange],
    options: &[],
    defaults: options::no_defaults,
    create,
};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct NoOptions {}

fn create(values: &IndexMap<String, String>) -> Result<Box<dyn Pass>, OptionError> {
    let NoOptions {} = options::read(values)?;
    Ok(Box::new(ExpandPlans))
}

struct ExpandPlans;

impl Pass for ExpandPlans {
    fn run(&self, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), PassFailure> {
        let function = main_program(module).unwrap_or_else(|| module.root());
        let program = steps::expand(module, function).map_err(|finding| context.cannot_compile(*finding))?;
        tracing::info!(
            logical_shards = program.buffers.iter().map(|buffer| buffer.tiles.len()).sum::<usize>(),
            exchange_phases = program.phases().count(),
            "graph lowered"
        );
        context.record("buffers", program.buffers.len());
        context.record("phases", program.phases().count());
        context.record("transfers", program.phases().map(|phase| phase.transfers.len()).sum::<usize>());
        context.record("runs", program.computes().map(|compute| compute.runs.len()).sum::<usize>());
        let made = emit_program(module, InsertionPoint::Before(function), &program, NAME);
        module.inherit(made, &[function]);
        module.erase(function);
        Ok(())
    }
}

/// That `op` cannot be expanded, and why.
fn refusal(module: &Module, op: OpId, message: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(ExpandCode::Unsupported, module.span(op), message))
}
