//! Proofs by evaluation: an evaluator that knows no rule, random programs, and statements about selections.

mod elements;
mod evaluator;
mod programs;
mod rules;
mod selections;
