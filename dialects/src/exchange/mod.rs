//! Dialect `exchange`: buffers on tiles, kernel runs, transfers between tiles, host loads and stores.
//!
//! [`ops`] is the text, [`program`] the same as plain data: what passes, checks and interpreters work on. A pass reads
//! ([`Program::read`]), decides, and writes state back ([`write_back`]) or writes whole phases and programs ([`emit`]).

mod buffer_type;
pub mod check;
mod codes;
mod column;
pub mod emit;
pub mod families;
pub mod index;
pub mod lifetimes;
pub mod meaning;
pub mod members;
pub mod ops;
pub mod placed;
pub mod program;
mod read;
mod syntax;
mod verify;
pub mod write_back;

pub use buffer_type::{BufferType, BufferValue};
pub use check::{check_program, kernel_separations};
pub use codes::ExchangeCode;
pub use column::{Column, ColumnAccess, ColumnValues, column_attribute};
pub use emit::{emit_program, rewrite_phase};
pub use lifetimes::{Lifetime, Lifetimes};
pub use program::{Buffer, BufferId, Phase, Program, Run, Slice, Step, Transfers};
pub use write_back::{add_separations, remove_separations, set_addresses, set_at, set_phase_sends, set_send};

use crate::declaration::{Dialect, Op, ValueDeclaration};

/// The dialect.
pub static DIALECT: Dialect = Dialect {
    name: "exchange",
    summary: "the bulk-synchronous program: buffers on tiles, kernel runs, transfers, host loads and stores",
    description: "State is derived: a phase is scheduled when all its transfers have `send`, a program is placed when all \
                  its buffers have `at`; half a state is an error. An index is an expression in the ids of the family, or a \
                  table `[0, 3, 1]` with one number for each member.",
    ops: &[
        ops::ProgramOp::DECLARATION,
        ops::BindingOp::DECLARATION,
        ops::BufferOp::DECLARATION,
        ops::LoadHostOp::DECLARATION,
        ops::StoreHostOp::DECLARATION,
        ops::PhaseOp::DECLARATION,
        ops::CopyOp::DECLARATION,
        ops::CopiesOp::DECLARATION,
        ops::ComputeOp::DECLARATION,
        ops::RunOp::DECLARATION,
        ops::RepeatOp::DECLARATION,
        ops::SeparateOp::DECLARATION,
    ],
    types: &[ValueDeclaration::ty::<BufferType>("storage on tiles", "Never written in op syntax.", "")],
    attributes: &[
        ValueDeclaration::attribute::<members::CopyFamily>(
            "the members of an `exchange.copy`",
            "Inside op syntax the parts stand among the op's words.",
            "`<` family `,` `source` `=` slice `,` `from` `=` index `,` `to` `=` `[` index,* `]` `,` `into` `=` slices `>`",
        ),
        ValueDeclaration::attribute::<members::RunFamily>(
            "the members of an `exchange.run`",
            "A slice for each operand; `whole` is all of the buffer.",
            "`<` (family `on` index | `on` tile-set) `,` `slices` `=` `[` (`whole` | slice),* `]` `>`",
        ),
        ValueDeclaration::attribute::<members::MoveFamily>(
            "the members of an `exchange.load_host` or `exchange.store_host`",
            "`whole` is as many bytes as the image's slice from the start of the buffer.",
            "`<` family `,` `on` `=` index `,` `slice` `=` (`whole` | slice) `,` `image` `=` slice `>`",
        ),
    ],
};

#[cfg(test)]
mod tests;
