//! Attributes: constants attached to ops.
//!
//! An [`Attribute`] is a shared immutable node like [`Type`]; equality is by value. How a number was written (its
//! base) is kept for printing and takes no part in equality.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;

use super::dialect_value::{AnyDialectValue, DialectValue, Opaque};
use super::location::Location;
use super::name::Name;
use super::types::{FloatFormat, Type};

/// An attribute; clones share.
#[derive(Clone)]
pub struct Attribute(triomphe::Arc<Node>);

struct Node {
    hash: u64,
    kind: AttributeKind,
}

/// `5 : i32`
#[derive(Clone)]
pub struct IntegerValue {
    /// The value in halves: an `i128` would have every attribute aligned to 16 bytes.
    high: i64,
    low: u64,
    /// Integer or index type.
    pub ty: Type,
    /// Print in base 16. No part of equality.
    pub hexadecimal: bool,
}

impl IntegerValue {
    /// `value : ty`
    #[must_use]
    pub fn new(value: i128, ty: Type, hexadecimal: bool) -> Self {
        Self { high: (value >> 64) as i64, low: value as u64, ty, hexadecimal }
    }

    /// The value.
    #[must_use]
    pub fn value(&self) -> i128 {
        i128::from(self.high) << 64 | i128::from(self.low)
    }
}

impl fmt::Debug for IntegerValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} : {}", self.value(), self.ty)
    }
}

impl PartialEq for IntegerValue {
    fn eq(&self, other: &Self) -> bool {
        (self.high, self.low) == (other.high, other.low) && self.ty == other.ty
    }
}

impl Eq for IntegerValue {}

impl Hash for IntegerValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.high, self.low).hash(state);
        self.ty.hash(state);
    }
}

/// A path of symbols, `@a::@b`: never empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SymbolRef(Vec<Arc<str>>);

impl SymbolRef {
    /// `@name`
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(vec![name.into()])
    }

    /// `@root::@nested...`
    #[must_use]
    pub fn nested(root: &str, rest: impl IntoIterator<Item = Arc<str>>) -> Self {
        Self(std::iter::once(Arc::from(root)).chain(rest).collect())
    }

    /// The first name.
    #[must_use]
    pub fn root(&self) -> &str {
        self.0.first().map_or("", |name| name)
    }

    /// The last name.
    #[must_use]
    pub fn leaf(&self) -> &str {
        self.0.last().map_or("", |name| name)
    }

    /// All names.
    #[must_use]
    pub fn path(&self) -> &[Arc<str>] {
        &self.0
    }
}

/// `array<i64: 1, 2>`; floats are held as their codes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DenseArray {
    /// Element type.
    pub element: Type,
    /// Values, or codes of floats.
    pub values: Box<[i64]>,
}

/// `dense<...> : tensor<...>`
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DenseElements {
    /// Type.
    pub ty: Type,
    /// Little-endian elements, each of a whole number of bytes: all in row-major order, or one for all.
    pub data: Vec<u8>,
    /// Whether `data` is one element for all.
    pub splat: bool,
}

/// Entries of a dictionary, in the order they were written. Equality ignores the order.
#[derive(Debug, Clone)]
pub struct Entries(Vec<(Name, Attribute)>);

impl Entries {
    fn sorted(&self) -> Vec<&(Name, Attribute)> {
        let mut sorted: Vec<_> = self.0.iter().collect();
        sorted.sort_by_key(|(name, _)| *name);
        sorted
    }
}

impl std::ops::Deref for Entries {
    type Target = [(Name, Attribute)];
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl PartialEq for Entries {
    fn eq(&self, other: &Self) -> bool {
        self.sorted() == other.sorted()
    }
}

impl Eq for Entries {}

impl Hash for Entries {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.sorted().hash(state);
    }
}

/// The kinds of attribute.
#[derive(Debug, PartialEq, Eq, Hash)]
pub enum AttributeKind {
    /// `unit`
    Unit,
    /// `true`, `false`
    Bool(bool),
    /// `5 : i32`
    Integer(IntegerValue),
    /// `0.5 : f32`, as a code of its type
    Float {
        /// The code.
        bits: u64,
        /// Format.
        format: FloatFormat,
    },
    /// `"text"`, any bytes
    String(Box<[u8]>),
    /// A type
    Type(Type),
    /// `[...]`
    Array(Vec<Attribute>),
    /// `{...}`
    Dictionary(Entries),
    /// `@a::@b`
    Symbol(SymbolRef),
    /// `array<i64: ...>`
    DenseArray(DenseArray),
    /// `dense<...> : tensor<...>`
    DenseElements(Box<DenseElements>),
    /// `dense_resource<name> : tensor<...>`; no type where a rule of ours gives the meaning
    DenseResource {
        /// Key in the resource section.
        name: Arc<str>,
        /// Type.
        ty: Option<Type>,
    },
    /// `loc(...)`
    Location(Location),
    /// `#dialect.name...` of a declared attribute
    Dialect(Box<dyn AnyDialectValue>),
    /// `#dialect.name...` of an undeclared one
    Opaque(Box<Opaque>),
}

impl Attribute {
    /// An attribute of that kind.
    #[must_use]
    pub fn new(kind: AttributeKind) -> Self {
        let mut hasher = FxHasher::default();
        kind.hash(&mut hasher);
        Self(triomphe::Arc::new(Node { hash: hasher.finish(), kind }))
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> &AttributeKind {
        &self.0.kind
    }

    /// `unit`
    #[must_use]
    pub fn unit() -> Self {
        Self::new(AttributeKind::Unit)
    }

    /// `true` or `false`
    #[must_use]
    pub fn bool(value: bool) -> Self {
        Self::new(AttributeKind::Bool(value))
    }

    /// `value` as an `i64`.
    #[must_use]
    pub fn i64(value: i64) -> Self {
        Self::integer(value.into(), Type::integer(64))
    }

    /// `value : ty`
    #[must_use]
    pub fn integer(value: i128, ty: Type) -> Self {
        Self::new(AttributeKind::Integer(IntegerValue::new(value, ty, false)))
    }

    /// `value` as an `i64`, printed in base 16.
    #[must_use]
    pub fn hexadecimal(value: i64) -> Self {
        let ty = Type::integer(64);
        Self::new(AttributeKind::Integer(IntegerValue::new(value.into(), ty, true)))
    }

    /// `value : f64`
    #[must_use]
    pub fn f64(value: f64) -> Self {
        Self::float_bits(value.to_bits(), FloatFormat::F64)
    }

    /// The float of that format with code `bits`.
    #[must_use]
    pub fn float_bits(bits: u64, format: FloatFormat) -> Self {
        Self::new(AttributeKind::Float { bits, format })
    }

    /// `"text"`
    #[must_use]
    pub fn string(text: impl AsRef<[u8]>) -> Self {
        Self::new(AttributeKind::String(text.as_ref().into()))
    }

    /// The type `ty` as an attribute.
    #[must_use]
    pub fn ty(ty: Type) -> Self {
        Self::new(AttributeKind::Type(ty))
    }

    /// `[...]`
    #[must_use]
    pub fn array(elements: Vec<Self>) -> Self {
        Self::new(AttributeKind::Array(elements))
    }

    /// `{...}`
    #[must_use]
    pub fn dictionary(entries: Vec<(Name, Self)>) -> Self {
        Self::new(AttributeKind::Dictionary(Entries(entries)))
    }

    /// `@name`
    #[must_use]
    pub fn symbol(name: &str) -> Self {
        Self::new(AttributeKind::Symbol(SymbolRef::new(name)))
    }

    /// `array<i64: ...>`
    #[must_use]
    pub fn i64_array(values: Vec<i64>) -> Self {
        Self::new(AttributeKind::DenseArray(DenseArray { element: Type::integer(64), values: values.into() }))
    }

    /// A declared dialect attribute.
    #[must_use]
    pub fn dialect<T: DialectValue>(value: T) -> Self {
        Self::new(AttributeKind::Dialect(Box::new(value)))
    }

    /// The Rust value of a declared dialect attribute, if this is a `T`.
    #[must_use]
    pub fn dialect_value<T: DialectValue>(&self) -> Option<&T> {
        match self.kind() {
            AttributeKind::Dialect(value) => value.as_any().downcast_ref(),
            _ => None,
        }
    }

    /// The integer, if it is one.
    #[must_use]
    pub fn as_integer(&self) -> Option<i128> {
        if let AttributeKind::Integer(integer) = self.kind() { Some(integer.value()) } else { None }
    }

    /// The integer, if it is one that fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.as_integer().and_then(|value| i64::try_from(value).ok())
    }

    /// The integer, if it is one of type `i64`: what is written without a type.
    #[must_use]
    pub fn as_plain_i64(&self) -> Option<i64> {
        match self.kind() {
            AttributeKind::Integer(integer) if integer.ty == Type::integer(64) => self.as_i64(),
            _ => None,
        }
    }

    /// The values, if it is an `array<i64: ...>`: what is written as a list of numbers.
    #[must_use]
    pub fn as_plain_i64_array(&self) -> Option<&[i64]> {
        match self.kind() {
            AttributeKind::DenseArray(array) if array.element == Type::integer(64) => Some(&array.values),
            _ => None,
        }
    }

    /// The integer, if it is one that fits.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.as_integer().and_then(|value| u64::try_from(value).ok())
    }

    /// The truth value, if it is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if let AttributeKind::Bool(value) = self.kind() { Some(*value) } else { None }
    }

    /// The float, exact in an `f64`, if it is one.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        if let AttributeKind::Float { bits, format } = self.kind() {
            Some(format.decode(*bits))
        } else {
            None
        }
    }

    /// The text, if it is a string of valid UTF-8.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let AttributeKind::String(bytes) = self.kind() { std::str::from_utf8(bytes).ok() } else { None }
    }

    /// The type, if it is one.
    #[must_use]
    pub fn as_type(&self) -> Option<&Type> {
        if let AttributeKind::Type(ty) = self.kind() { Some(ty) } else { None }
    }

    /// The elements, if it is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Self]> {
        if let AttributeKind::Array(elements) = self.kind() { Some(elements) } else { None }
    }

    /// The entries in the order written, if it is a dictionary.
    #[must_use]
    pub fn as_dictionary(&self) -> Option<&[(Name, Self)]> {
        if let AttributeKind::Dictionary(entries) = self.kind() { Some(entries) } else { None }
    }

    /// The entry `name`, if it is a dictionary that has it.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<&Self> {
        self.as_dictionary()?.iter().find(|(key, _)| key.as_str() == name).map(|(_, value)| value)
    }

    /// The path, if it is a symbol reference.
    #[must_use]
    pub fn as_symbol(&self) -> Option<&SymbolRef> {
        if let AttributeKind::Symbol(path) = self.kind() { Some(path) } else { None }
    }

    /// The values, if it is a dense array of integers.
    #[must_use]
    pub fn as_i64_array(&self) -> Option<&[i64]> {
        match self.kind() {
            AttributeKind::DenseArray(array) if array.element.as_integer().is_some() => Some(&array.values),
            _ => None,
        }
    }

    /// Identity of the shared node: equal only for clones of one another.
    pub(crate) fn node_address(&self) -> usize {
        triomphe::Arc::as_ptr(&self.0) as usize
    }
}

impl PartialEq for Attribute {
    fn eq(&self, other: &Self) -> bool {
        triomphe::Arc::ptr_eq(&self.0, &other.0)
            || (self.0.hash == other.0.hash && self.0.kind == other.0.kind)
    }
}

impl Eq for Attribute {}

impl Hash for Attribute {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash.hash(state);
    }
}

/// The attribute as text, for messages.
impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::printer::attribute_text(self))
    }
}

impl fmt::Debug for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
