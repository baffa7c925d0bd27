//! `--lower-exchanges`: a scheduled and placed exchange program as the rows and steps of every tile.
//!
//! | module | holds |
//! |---|---|
//! | `bindings` | host moves as slices at addresses, and their order |
//! | `rows` | a phase as one row a tile: encoded, read back and compared with the schedule, clashes of memory elements |
//! | `layout` | where kernels and rows lie, and what must not lie there |
//! | `images` | rows and steps of each tile; like tiles share an image |
//! | `storage` | where buffers live and during which phases |
//! | `sizing` | how far the code of each tile reaches, before there are addresses |
//!
//! Rules kept here: every hazard is looked for again, whoever made the schedule and the placement; what a tile does in the
//! finished program is what the exchange program says, in its order. All 1,472 tiles take part in every barrier.

mod bindings;
mod images;
mod layout;
mod rows;
mod sizing;
mod storage;

use indexmap::IndexMap;
use ipu_device::exchange::RowEncoding;
use ipu_dialects::diagnostics::{Diagnostic, Diagnostics};
use ipu_dialects::exchange::Program;
use ipu_dialects::ir::{InsertionPoint, Module, Name, OpId};
use ipu_dialects::tile::TileProgram;
use serde::{Deserialize, Serialize};

use crate::manager::{OptionError, OptionInfo, Pass, PassContext, PassFailure, PassInfo, State, options};

pub use sizing::code_ends;

/// Name of the pass in origins.
const NAME: Name = Name::of("lower-exchanges");

ipu_device::coded_enum! {
    /// Why an exchange program has no tile program.
    pub enum LowerCode {
        /// A phase without times or a buffer without addresses.
        Unfinished = "P0801", "exchange program is not scheduled and placed",
        /// Host loads come before all steps, host stores after them.
        HostOrder = "P0802", "host move stands between steps",
        /// Code or its data does not fit in the memory that can be executed.
        NoRoom = "P0803", "code does not fit",
        /// A buffer lies where code or the runtime's own memory is.
        InTheWay = "P0804", "buffer lies in memory of the runtime or of code",
    }
}

/// Options of the pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LowerOptions {
    /// How rows are encoded.
    pub row_encoding: Encoding,
}

/// How rows are encoded; the events are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// As few words as we know.
    #[default]
    Compact,
    /// The words of the recorded encoder.
    Reference,
}

impl From<Encoding> for RowEncoding {
    fn from(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Compact => Self::Compact,
            Encoding::Reference => Self::Reference,
        }
    }
}

/// The pass as the manager knows it.
pub static INFO: PassInfo = PassInfo {
    name: "lower-exchanges",
    summary: "exchange to tile: hazards checked again, rows as instruction words, kernels and rows at addresses, steps",
    requires: &[State::Exchange, State::Scheduled, State::Placed],
    provides: &[State::Tile],
    options: &[OptionInfo {
        name: "row-encoding",
        form: "compact|reference",
        help: "as few words as we know (the default), or those of the recorded encoder; the events are the same",
    }],
    defaults: options::defaults::<LowerOptions>,
    create,
};

fn create(values: &IndexMap<String, String>) -> Result<Box<dyn Pass>, OptionError> {
    let options: LowerOptions = options::read(values)?;
    Ok(Box::new(LowerExchanges { options }))
}

struct LowerExchanges {
    options: LowerOptions,
}

impl Pass for LowerExchanges {
    fn run(&self, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), PassFailure> {
        let program = context.read_main(module, Program::read)?;
        let op = program.op;
        let program = lower(module, &program, self.options).map_err(|findings| {
            context.diagnostics.append(findings);
            PassFailure::Input
        })?;
        tracing::info!(
            images = program.images.len(),
            kernels = program.kernels.len(),
            exchange_row_bytes = images::row_bytes(&program),
            "exchanges lowered"
        );
        context.record("images", program.images.len());
        context.record("kernels", program.kernels.len());
        context.record("exchange_row_bytes", images::row_bytes(&program));
        let made = program.emit(module, InsertionPoint::Before(op), NAME);
        module.inherit(made, &[op]);
        module.erase(op);
        Ok(())
    }
}

/// The tile program of a scheduled and placed exchange program that was read from `module`: rows and steps, no code.
///
/// # Errors
/// Every hazard found: clashes of events, of memory elements, buffers in the way of code, host moves between steps.
pub fn lower(module: &Module, program: &Program, options: LowerOptions) -> Result<TileProgram, Diagnostics> {
    let lowering = Lowering { module, program };
    let mut findings = ipu_dialects::exchange::check_program(module, program);
    lowering.check_state(&mut findings);
    if findings.has_errors() {
        return Err(findings);
    }
    let phases = lowering.rows(options.row_encoding.into(), &mut findings);
    let bindings = lowering.bindings(&mut findings);
    if findings.has_errors() {
        return Err(findings);
    }
    let lowered = lowering.images(&phases, bindings);
    lowering.check_rows(&phases, &lowered, &mut findings);
    lowering.check_room(&lowered, &mut findings);
    if findings.has_errors() { Err(findings) } else { Ok(lowered) }
}

/// A program on its way down.
struct Lowering<'a> {
    module: &'a Module,
    program: &'a Program,
}

impl Lowering<'_> {
    fn error(&self, code: impl ipu_device::Coded, op: OpId, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.module.span(op), message)
    }

    /// Scheduled and placed, as the pass manager has already seen to for a pass.
    fn check_state(&self, findings: &mut Diagnostics) {
        if let Some(phase) = self.program.phases().find(|phase| !phase.transfers.is_scheduled()) {
            let message = format!("phase `@{}` has transfers without `send`", phase.name);
            let error = self.error(LowerCode::Unfinished, phase.op, message);
            findings.push(error.note("run `--schedule-exchanges` first"));
        }
        if let Some(buffer) = self.program.buffers.iter().find(|buffer| buffer.at.is_none()) {
            let error =
                self.error(LowerCode::Unfinished, buffer.op, format!("`{}` has no address", buffer.name));
            findings.push(error.note("run `--place-storage` first"));
        }
    }
}
