//! Types: builtin ones by value, dialect ones behind [`AnyDialectValue`].
//!
//! A [`Type`] is a shared immutable node; equality is by structure and quick (pointer, then hash). Nodes nest no
//! deeper than [`crate::limits::MAX_NESTING`] when they come from text.

use rustc_hash::FxHasher;
use std::fmt;
use std::hash::{Hash, Hasher};
use triomphe::Arc;

use super::attribute::Attribute;
use super::dialect_value::{AnyDialectValue, DialectValue, Opaque};

/// A type; clones share.
#[derive(Clone)]
pub struct Type(Arc<Node>);

struct Node {
    hash: u64,
    kind: TypeKind,
}

/// Whether an integer type carries a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signedness {
    /// `i8`
    Signless,
    /// `si8`
    Signed,
    /// `ui8`
    Unsigned,
}

/// Builtin float formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FloatFormat {
    /// IEEE half precision.
    F16,
    /// bfloat16.
    Bf16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
}

impl FloatFormat {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::F16, Self::Bf16, Self::F32, Self::F64];

    /// The name in text.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Width.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::F16 | Self::Bf16 => 16,
            Self::F32 => 32,
            Self::F64 => 64,
        }
    }

    /// The format's code of `value`, rounded to nearest even.
    #[must_use]
    pub fn encode(self, value: f64) -> u64 {
        match self {
            Self::F16 => u64::from(half::f16::from_f64(value).to_bits()),
            Self::Bf16 => u64::from(half::bf16::from_f64(value).to_bits()),
            Self::F32 => u64::from((value as f32).to_bits()),
            Self::F64 => value.to_bits(),
        }
    }

    /// The value of a code; exact.
    #[must_use]
    pub fn decode(self, bits: u64) -> f64 {
        match self {
            Self::F16 => half::f16::from_bits(bits as u16).to_f64(),
            Self::Bf16 => half::bf16::from_bits(bits as u16).to_f64(),
            Self::F32 => f64::from(f32::from_bits(bits as u32)),
            Self::F64 => f64::from_bits(bits),
        }
    }
}

/// `tensor<4x8xf16, encoding>`
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// Length of each axis.
    pub shape: Vec<u64>,
    /// Element type.
    pub element: Type,
    /// Encoding: the layout, in `mapped`.
    pub encoding: Option<Attribute>,
}

impl TensorType {
    /// Number of elements; `None` past 64 bits.
    #[must_use]
    pub fn element_count(&self) -> Option<u64> {
        self.shape.iter().try_fold(1u64, |product, &length| product.checked_mul(length))
    }

    /// The encoding as a `T`, if it is one.
    #[must_use]
    pub fn encoding_as<T: DialectValue>(&self) -> Option<&T> {
        self.encoding.as_ref().and_then(Attribute::dialect_value)
    }

    /// The same shape and element with encoding `encoding`.
    #[must_use]
    pub fn with_encoding(&self, encoding: Option<Attribute>) -> Self {
        Self { encoding, ..self.clone() }
    }
}

/// `(a, b) -> c`
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FunctionType {
    /// Inputs.
    pub inputs: Vec<Type>,
    /// Results.
    pub results: Vec<Type>,
}

/// The kinds of type.
#[derive(Debug, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// `i8`, `si8`, `ui8`
    Integer {
        /// Bits, at least 1.
        width: u32,
        /// Sign.
        signedness: Signedness,
    },
    /// `index`
    Index,
    /// `f16`, `bf16`, `f32`, `f64`
    Float(FloatFormat),
    /// `none`
    None,
    /// `tensor<...>`
    Tensor(TensorType),
    /// `(...) -> ...`
    Function(FunctionType),
    /// `tuple<...>`
    Tuple(Vec<Type>),
    /// `!dialect.name...` of a declared type
    Dialect(Box<dyn AnyDialectValue>),
    /// `!dialect.name...` of an undeclared one
    Opaque(Opaque),
}

impl Type {
    /// A type of that kind.
    #[must_use]
    pub fn new(kind: TypeKind) -> Self {
        let mut hasher = FxHasher::default();
        kind.hash(&mut hasher);
        Self(Arc::new(Node { hash: hasher.finish(), kind }))
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> &TypeKind {
        &self.0.kind
    }

    /// `i<width>`
    #[must_use]
    pub fn integer(width: u32) -> Self {
        Self::new(TypeKind::Integer { width, signedness: Signedness::Signless })
    }

    /// `index`
    #[must_use]
    pub fn index() -> Self {
        Self::new(TypeKind::Index)
    }

    /// `f16` and so on.
    #[must_use]
    pub fn float(format: FloatFormat) -> Self {
        Self::new(TypeKind::Float(format))
    }

    /// `none`
    #[must_use]
    pub fn none() -> Self {
        Self::new(TypeKind::None)
    }

    /// `tensor<shape x element>`
    #[must_use]
    pub fn tensor(shape: impl Into<Vec<u64>>, element: Self, encoding: Option<Attribute>) -> Self {
        Self::new(TypeKind::Tensor(TensorType { shape: shape.into(), element, encoding }))
    }

    /// `(inputs) -> results`
    #[must_use]
    pub fn function(inputs: Vec<Self>, results: Vec<Self>) -> Self {
        Self::new(TypeKind::Function(FunctionType { inputs, results }))
    }

    /// A declared dialect type.
    #[must_use]
    pub fn dialect<T: DialectValue>(value: T) -> Self {
        Self::new(TypeKind::Dialect(Box::new(value)))
    }

    /// The Rust value of a declared dialect type, if this is a `T`.
    #[must_use]
    pub fn dialect_value<T: DialectValue>(&self) -> Option<&T> {
        match self.kind() {
            TypeKind::Dialect(value) => value.as_any().downcast_ref(),
            _ => None,
        }
    }

    /// The tensor, if it is one.
    #[must_use]
    pub fn as_tensor(&self) -> Option<&TensorType> {
        if let TypeKind::Tensor(tensor) = self.kind() { Some(tensor) } else { None }
    }

    /// The function type, if it is one.
    #[must_use]
    pub fn as_function(&self) -> Option<&FunctionType> {
        if let TypeKind::Function(function) = self.kind() { Some(function) } else { None }
    }

    /// The float format, if it is a builtin float.
    #[must_use]
    pub fn as_float(&self) -> Option<FloatFormat> {
        if let TypeKind::Float(format) = self.kind() { Some(*format) } else { None }
    }

    /// Width and sign, if it is an integer.
    #[must_use]
    pub fn as_integer(&self) -> Option<(u32, Signedness)> {
        if let TypeKind::Integer { width, signedness } = self.kind() {
            Some((*width, *signedness))
        } else {
            None
        }
    }

    /// Bits of a value as a tensor element; `None` for types that cannot be one.
    #[must_use]
    pub fn element_bits(&self) -> Option<u32> {
        match self.kind() {
            TypeKind::Integer { width, .. } => Some(*width),
            TypeKind::Index => Some(64),
            TypeKind::Float(format) => Some(format.bits()),
            TypeKind::Dialect(value) => value.bits(),
            _ => None,
        }
    }

    /// Identity of the shared node: equal only for clones of one another.
    pub(crate) fn node_address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.0.hash == other.0.hash && self.0.kind == other.0.kind)
    }
}

impl Eq for Type {}

impl Hash for Type {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash.hash(state);
    }
}

/// The type as text, for messages.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::printer::type_text(self))
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
