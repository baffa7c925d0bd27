//! What must hold of a program beyond the tables of its ops.

use super::program::Program;
use crate::declaration::is_well_formed;
use crate::diagnostics::Diagnostics;
use crate::ir::{Module, OpId};

/// The hook of `exchange.program`: reads the program as plain data and checks that.
pub(super) fn program(module: &Module, op: OpId, diagnostics: &mut Diagnostics) {
    // What is malformed is reported op by op; there is no program to check then.
    if !module.walk(op).all(|op| is_well_formed(module, op)) {
        return;
    }
    if let Err(found) = Program::read(module, op) {
        diagnostics.append(found);
    }
}
