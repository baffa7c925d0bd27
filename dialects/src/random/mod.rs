//! Random modules, for tests of what must hold of every module: over all declared ops, types and attributes, undeclared ones, and
//! everything that a text can hold beside them (names, comments, aliases, locations, resources).
//!
//! A module is drawn from a stream of numbers, [`Choices`]; a stream of zeros gives the least one, so a property test shrinks a
//! failure by shrinking its numbers. The modules have the parts of their declarations where one can be found by trying; they need not
//! obey the rules of their dialects.

mod notations;
mod ops;
mod values;

pub use notations::{NOTATIONS, Notation};

use crate::ir::Module;
use crate::registry::Registry;

/// A stream of numbers that decides everything; past its end all are zero.
pub struct Choices<'n> {
    numbers: &'n mut dyn FnMut() -> Option<u64>,
    /// Nesting of the value that is made, so that all end.
    depth: usize,
}

impl std::fmt::Debug for Choices<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Choices").field("depth", &self.depth).finish_non_exhaustive()
    }
}

impl<'n> Choices<'n> {
    /// The choices of `numbers`.
    pub fn new(numbers: &'n mut dyn FnMut() -> Option<u64>) -> Self {
        Self { numbers, depth: 0 }
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        (self.numbers)().unwrap_or(0)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    /// True in one of `n` cases; false for zeros.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// One of `items`, which are not empty.
    pub fn pick<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len())]
    }

    /// Up to `most` items.
    pub fn list<T>(&mut self, most: usize, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| item(self)).collect()
    }
}

/// A module drawn from `choices`.
#[must_use]
pub fn random_module(registry: &'static Registry, choices: &mut Choices<'_>) -> Module {
    ops::Maker::new(registry, choices).module()
}
