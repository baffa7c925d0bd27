//! The dialect `graph`: what is computed. Shaped values, nothing of tiles.

pub mod meaning;
mod ops;
mod verify;

pub use ops::{Cast, Constant, Func, Gemm, Reshape, Return, Transpose};

use crate::declaration::{Dialect, Op};

/// The dialect.
pub static DIALECT: Dialect = Dialect {
    name: "graph",
    summary: "what is computed: shaped values, nothing of tiles",
    description: "",
    ops: &[
        Func::DECLARATION,
        Return::DECLARATION,
        Constant::DECLARATION,
        Gemm::DECLARATION,
        Cast::DECLARATION,
        Transpose::DECLARATION,
        Reshape::DECLARATION,
    ],
    types: &[],
    attributes: &[],
};

#[cfg(test)]
mod tests;
