//! What must hold of a program beyond the tables of its ops.

use super::check::check_program;
use super::codes::TileCode;
use super::ops::ProgramOp;
use super::program::TileProgram;
use crate::declaration::is_well_formed;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::ir::{Module, OpId};

/// The hook of `tile.program`: reads the program as plain data and checks that.
pub(super) fn program(module: &Module, op: OpId, diagnostics: &mut Diagnostics) {
    // What is malformed is reported op by op; there is no program to check then.
    if !module.walk(op).all(|op| is_well_formed(module, op)) {
        return;
    }
    match TileProgram::read(module, op) {
        Ok(program) => diagnostics.append(check_program(module, &program)),
        Err(found) => diagnostics.append(found),
    }
}

/// The hook of all other ops: they stand in a `tile.program`, which checks what it holds.
pub(super) fn inside(module: &Module, op: OpId, diagnostics: &mut Diagnostics) {
    if !module.ancestors(op).any(|op| module.is::<ProgramOp>(op)) {
        let message = format!("`{}` stands outside of a `tile.program`", module.name(op));
        diagnostics.push(Diagnostic::error(TileCode::Misplaced, module.span(op), message));
    }
}
