//! Simplifies a graph program by equality saturation: transposes, casts and reshapes.
//!
//! The parts, each of which knows only those above it:
//! - `element`: element types and which conversions are exact;
//! - `expression`: the language of the e-graph and its types;
//! - `rules`: what equals what;
//! - `saturate`: applies the rules within limits that no clock moves;
//! - `select`: the cheapest program among the equal ones.

pub mod element;
pub mod expression;
pub mod rules;
pub mod saturate;
pub mod select;

#[cfg(test)]
mod tests;

pub use saturate::{Limits, Stop};
