//! The op-less dialect `ipu`: types, attributes and notations that all levels share.

pub mod affine;

pub use affine::{AffineError, AffineExpr};
