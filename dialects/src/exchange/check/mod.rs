//! What must hold between the ops of a program: checked on plain data, for hand-written files as for passes.
//!
//! | module | rules |
//! |---|---|
//! | `phases` | no byte is written twice, or read and written, in a phase; whole words; a remote receiver |
//! | `paired` | 64-bit transfers go to pairs of tiles; the incoming base of a phase |
//! | `calls` | operands are as large, aligned and placed as the kernel wants, and do not overlap where they must not |
//! | `host` | host moves are whole words, on the tiles that the layout of the binding says |
//! | `storage` | addresses are aligned and in the wanted memory; what lives at the same time is apart |
//!
//! Each kind of finding is reported once an op and names the first tile concerned.

mod calls;
mod host;
mod paired;
mod phases;
mod storage;

pub use calls::kernel_separations;

use super::codes::ExchangeCode;
use super::lifetimes::Lifetimes;
use super::program::{BufferId, Program, Step};
use super::read::tile_text;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::ir::{Module, OpId};

/// Checks a program that was read from `module`.
#[must_use]
pub fn check_program(module: &Module, program: &Program) -> Diagnostics {
    let mut checker = Checker { module, program, diagnostics: Diagnostics::new() };
    for step in &program.steps {
        match step {
            Step::Phase(phase) => checker.phase(phase),
            Step::Compute(compute) => checker.compute(compute),
            Step::LoadHost(moves) | Step::StoreHost(moves) => checker.host_move(moves),
            Step::Repeat { .. } => {}
        }
    }
    if program.is_placed() {
        checker.storage(&Lifetimes::of(program));
    }
    checker.diagnostics
}

struct Checker<'a> {
    module: &'a Module,
    program: &'a Program,
    diagnostics: Diagnostics,
}

impl Checker<'_> {
    fn error(&self, code: ExchangeCode, op: OpId, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.module.span(op), message)
    }

    fn report(&mut self, code: ExchangeCode, op: OpId, message: impl Into<String>) {
        let error = self.error(code, op, message);
        self.diagnostics.push(error);
    }

    fn name(&self, buffer: BufferId) -> &str {
        &self.program.buffer(buffer).name
    }
}
