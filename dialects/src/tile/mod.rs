//! Dialect `tile`: the finished program of each tile, word by word.
//!
//! [`ops`] and [`instructions`] are the text, [`program`] the same as plain data: what passes build, check and turn into a
//! package. A pass reads ([`TileProgram::read`]), decides, and writes a new program ([`TileProgram::emit`]);
//! [`Section::assembled`] makes sections from the device's assembler.

pub mod assemble;
mod check;
mod codes;
mod emit;
pub mod instructions;
mod operands;
pub mod ops;
pub mod program;
mod read;
mod slices;
mod syntax;
mod verify;

use std::sync::LazyLock;

pub use assemble::Assembled;
pub use check::check_program;
pub use codes::TileCode;
pub use operands::{OperandText, Operands};
pub use program::{
    Binding, Body, Code, Data, HostPart, Image, KernelCode, KernelImage, Line, Section, Slice, Step,
    StepKind, Storage, TileProgram,
};
pub use slices::{SliceAddresses, SliceFamily};
pub use syntax::{FlagsWord, HexNumber, HexWords};

use crate::declaration::{Dialect, Op, OpDeclaration, ValueDeclaration};
use crate::ir::Attribute;

/// Ops around instructions, in the order of the reference.
const OPS: [&OpDeclaration; 16] = [
    ops::ProgramOp::DECLARATION,
    ops::BindingOp::DECLARATION,
    ops::HostPagesOp::DECLARATION,
    ops::HostCallOp::DECLARATION,
    ops::KernelOp::DECLARATION,
    ops::StorageOp::DECLARATION,
    ops::ImageOp::DECLARATION,
    ops::RowOp::DECLARATION,
    ops::CodeOp::DECLARATION,
    ops::DataOp::DECLARATION,
    ops::WordOp::DECLARATION,
    ops::StepsOp::DECLARATION,
    ops::ExchangeHostOp::DECLARATION,
    ops::ExchangeOp::DECLARATION,
    ops::CallKernelOp::DECLARATION,
    ops::RepeatOp::DECLARATION,
];

/// Attributes.
static ATTRIBUTES: [ValueDeclaration<Attribute>; 2] = [
    ValueDeclaration::attribute::<Operands>(
        "the operands of an instruction",
        "Inside op syntax the brackets are not written.",
        "`<` (`m`int | `a`int | `a`int`:`int | int | symbol),* `>`",
    ),
    ValueDeclaration::attribute::<SliceFamily>(
        "where the bytes of a binding live",
        "A slice for each member. Inside op syntax the brackets are not written.",
        "`<` family `on` index `at` (int | `[` int,* `]`) `image` index `bytes` index `>`",
    ),
];

/// The dialect. Its instruction ops are made from the device's field table at first use.
pub static DIALECT: LazyLock<Dialect> = LazyLock::new(|| Dialect {
    name: "tile",
    summary: "the finished program of each tile: instructions, exchange rows, data, bindings",
    description: "One-to-one with the package. Operands of instructions are the fields as stored: counts minus one, \
                  physical tiles, word addresses; a symbol stands for its address. `on` is logical. Tiles with equal \
                  contents share an image. A program has steps (`tile.steps` in every image) until emit-tile-code turns \
                  them into code; half a state is an error.",
    ops: Vec::leak(OPS.into_iter().chain(instructions::declarations()).collect()),
    types: &[],
    attributes: &ATTRIBUTES,
});

#[cfg(test)]
mod tests;
