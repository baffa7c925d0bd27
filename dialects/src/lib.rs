//! Textual IR at four levels, and what each op means.

pub mod ipu;
pub mod mapped;
