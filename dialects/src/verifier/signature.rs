//! What ops have in common that differ in nothing but where they stand and whose values they take.

use smallvec::SmallVec;

use crate::ir::{Attribute, Module, Name, OpId, Type};

/// All of an op but its place, its values and its regions.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Signature<'m> {
    name: Name,
    attributes: &'m [(Name, Attribute)],
    operands: usize,
    /// Types of operands, then of results.
    types: SmallVec<[&'m Type; 4]>,
}

impl<'m> Signature<'m> {
    pub(super) fn of(module: &'m Module, op: OpId) -> Self {
        let (operands, results) = (module.operands(op), module.results(op));
        Self {
            name: module.name(op),
            attributes: module.attributes(op),
            operands: operands.len(),
            types: operands.iter().chain(results).map(|&value| module.value_type(value)).collect(),
        }
    }
}
