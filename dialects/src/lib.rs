//! Textual IR at four levels, and what each op means.
//!
//! [`ir`] is the storage, [`parser`] and [`printer`] are the two directions of the text, [`declaration`] is how a
//! dialect says what its ops are (its module page shows how to write one), [`registry`] lists the dialects.

pub mod builtin;
pub mod case;
pub mod codes;
pub mod declaration;
pub mod diagnostics;
pub mod exchange;
pub mod graph;
pub mod ipu;
pub mod ir;
pub mod lexer;
pub mod limits;
pub mod mapped;
mod name_table;
pub mod npy;
pub mod parser;
pub mod printer;
pub mod random;
pub mod registry;
pub mod source;
pub mod spelling;
pub mod tensor_data;
pub mod tile;
pub mod verifier;

pub use diagnostics::{Diagnostic, Diagnostics, Severity};
pub use ir::Module;
pub use registry::Registry;
pub use tensor_data::TensorData;
pub use verifier::{Verified, VerifyOptions, verify};

#[cfg(test)]
#[allow(unreachable_pub)]
mod tests;
