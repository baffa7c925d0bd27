//! The dialects there are, and lookup of their declarations by name.

use std::sync::OnceLock;

use ipu_device::hash::HashMap;

use crate::declaration::{Dialect, OpDeclaration, ValueDeclaration};
use crate::ir::{Attribute, Type};

/// Dialects by name, and everything they declare.
#[derive(Debug, Default)]
pub struct Registry {
    dialects: Vec<&'static Dialect>,
    ops: HashMap<&'static str, &'static OpDeclaration>,
    types: HashMap<&'static str, &'static ValueDeclaration<Type>>,
    attributes: HashMap<&'static str, &'static ValueDeclaration<Attribute>>,
}

impl Registry {
    /// A registry of these dialects.
    #[must_use]
    pub fn new(dialects: &[&'static Dialect]) -> Self {
        let mut registry = Self::default();
        for &dialect in dialects {
            registry.dialects.push(dialect);
            registry.ops.extend(dialect.ops.iter().map(|op| (op.name, *op)));
            registry.types.extend(dialect.types.iter().map(|ty| (ty.name, ty)));
            registry
                .attributes
                .extend(dialect.attributes.iter().map(|attribute| (attribute.name, attribute)));
        }
        registry
    }

    /// All dialects of the compiler.
    #[must_use]
    pub fn standard() -> &'static Self {
        static STANDARD: OnceLock<Registry> = OnceLock::new();
        STANDARD.get_or_init(|| {
            Self::new(&[
                &crate::builtin::DIALECT,
                &crate::ipu::DIALECT,
                &crate::graph::DIALECT,
                &crate::mapped::DIALECT,
                &crate::exchange::DIALECT,
                &crate::tile::DIALECT,
            ])
        })
    }

    /// The dialects, in order of the reference.
    #[must_use]
    pub fn dialects(&self) -> &[&'static Dialect] {
        &self.dialects
    }

    /// The dialect `name`.
    #[must_use]
    pub fn dialect(&self, name: &str) -> Option<&'static Dialect> {
        self.dialects.iter().copied().find(|dialect| dialect.name == name)
    }

    /// The op `name`.
    #[must_use]
    pub fn op(&self, name: &str) -> Option<&'static OpDeclaration> {
        self.ops.get(name).copied()
    }

    /// The type `name`, without `!`.
    #[must_use]
    pub fn ty(&self, name: &str) -> Option<&'static ValueDeclaration<Type>> {
        self.types.get(name).copied()
    }

    /// The attribute `name`, without `#`.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&'static ValueDeclaration<Attribute>> {
        self.attributes.get(name).copied()
    }

    /// Names of all ops, in order of declaration.
    pub fn op_names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.dialects.iter().flat_map(|dialect| dialect.ops).map(|op| op.name)
    }

    /// Names of all types, in order of declaration.
    pub fn type_names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.dialects.iter().flat_map(|dialect| dialect.types).map(|ty| ty.name)
    }

    /// Names of all attributes, in order of declaration.
    pub fn attribute_names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.dialects.iter().flat_map(|dialect| dialect.attributes).map(|attribute| attribute.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declaration::{dialect_markdown, hover};

    #[test]
    fn every_declaration_compiles_and_is_documented() {
        let registry = Registry::standard();
        for dialect in registry.dialects() {
            assert!(dialect_markdown(dialect).starts_with(&format!("# Dialect `{}`", dialect.name)));
            for op in dialect.ops {
                assert_eq!(op.name.split('.').next(), Some(dialect.name));
                assert_eq!((op.compiled)().elements.is_empty(), op.format.is_empty(), "{}", op.name);
                assert!(hover(op).contains(op.summary));
            }
        }
    }
}
