//! Types and attributes that a dialect defines: a Rust value behind one trait.
//!
//! A dialect implements [`DialectValue`] for its struct and declares it (see [`crate::declaration`]); equality,
//! hashing and downcasting follow. A value that no dialect declares is kept verbatim as an [`Opaque`].

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::parser::{ParseResult, Parser};
use crate::printer::Printer;

/// A Rust value that stands as `#dialect.name...` or `!dialect.name...` in the text.
pub trait DialectValue: fmt::Debug + Eq + Hash + Send + Sync + Sized + 'static {
    /// Full name, such as `mapped.layout`, without `#` or `!`.
    const NAME: &'static str;

    /// Parses what follows the name, brackets included.
    ///
    /// # Errors
    /// The text is not such a value; the parser has reported it.
    fn parse(parser: &mut Parser<'_>) -> ParseResult<Self>;

    /// Prints what follows the name, brackets included.
    fn print(&self, printer: &mut Printer<'_>);

    /// For a type that can be a tensor element: bits of one element.
    fn element_bits(&self) -> Option<u32> {
        None
    }
}

/// Object-safe face of [`DialectValue`]; implemented for all of them.
pub trait AnyDialectValue: fmt::Debug + Send + Sync {
    /// Full name, such as `mapped.layout`.
    fn name(&self) -> &'static str;
    /// Prints what follows the name.
    fn print_body(&self, printer: &mut Printer<'_>);
    /// Bits of one element, for element types.
    fn bits(&self) -> Option<u32>;
    /// Equality across kinds.
    fn equals(&self, other: &dyn AnyDialectValue) -> bool;
    /// A hash that agrees with [`equals`](Self::equals).
    fn hash_value(&self) -> u64;
    /// For downcasts.
    fn as_any(&self) -> &dyn Any;
}

impl<T: DialectValue> AnyDialectValue for T {
    fn name(&self) -> &'static str {
        T::NAME
    }
    fn print_body(&self, printer: &mut Printer<'_>) {
        self.print(printer);
    }
    fn bits(&self) -> Option<u32> {
        self.element_bits()
    }
    fn equals(&self, other: &dyn AnyDialectValue) -> bool {
        other.as_any().downcast_ref::<T>() == Some(self)
    }
    fn hash_value(&self) -> u64 {
        let mut hasher = FxHasher::default();
        T::NAME.hash(&mut hasher);
        self.hash(&mut hasher);
        hasher.finish()
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl PartialEq for dyn AnyDialectValue {
    fn eq(&self, other: &Self) -> bool {
        self.equals(other)
    }
}

impl Eq for dyn AnyDialectValue {}

impl Hash for dyn AnyDialectValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash_value().hash(state);
    }
}

/// A type or attribute of a dialect that is not declared, verbatim: `name` and the text after it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Opaque {
    /// Full name, such as `acme.widget`.
    pub name: Box<str>,
    /// The bracketed text after the name, brackets included; may be empty.
    pub body: Box<str>,
}
