//! One declaration per op, type and attribute: registration, accessors, checks, syntax, documentation.
//!
//! # An op
//!
//! [`operations!`](crate::operations) takes one entry per op, sections in this order, each optional:
//!
//! ```text
//! operations! {
//!     /// What it means, at length: the reference documentation.
//!     Gemm = "graph.gemm", "matrix product with declared precision" {
//!         operands { lhs: Tensor, rhs: Tensor }           // Tensor, AnyType, Variadic<Tensor>, Optional<Tensor>, or your rule
//!         results { result: Tensor }
//!         attributes { multiply: TypeValue, name: Maybe<Text>, transpose: Flag }
//!         regions { body: OneBlock }                      // OneBlock, AnyRegion
//!         successors { next }
//!         traits [Pure]
//!         format "$lhs `,` $rhs `multiply` `(` $multiply `)` (`transpose` $transpose^)? attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)"
//!         hooks { "Block": ["block"] parse_block, print_block }
//!         infer(infer_result_types)
//!         verify(verify_gemm)
//!     }
//! }
//! ```
//!
//! This gives `struct Gemm(OpId)` with `Gemm::DECLARATION`, `Gemm::state()` for building, and an accessor per part:
//! `gemm.lhs(module) -> ValueId`, `gemm.multiply(module) -> &Type`, `gemm.name(module) -> Option<&str>`,
//! `gemm.transpose(module) -> bool`, `gemm.body(module) -> RegionId`. Accessors are total on ops that pass
//! [`check_op`]; the verifier runs it before `verify` hooks, and the printer before pretty printing.
//!
//! # Format strings
//!
//! | element | meaning |
//! |---|---|
//! | `` `word` `` `` `,` `` | that word or punctuation; `` ` ` `` forces a space, ``` `` ``` forbids one |
//! | `$part` | an operand (variadic: a comma list), an attribute in its own notation, a region, a successor |
//! | `type($part)` | the type of an operand or result (variadic: a comma list) |
//! | `functional-type` | `(operand types) -> result types` |
//! | `attr-dict` | `{...}` of the attributes that the format names nowhere else; `attr-dict-with-keyword` writes `attributes` before it |
//! | `function-signature` | `@name(%a: T {attrs}, ...) -> (T {attrs})`; sets `sym_name`, `function_type`, `arg_attrs`, `res_attrs` and the arguments of the next region |
//! | `custom<Name>` | the hook of that name |
//! | `( ... )?` | optional; present if the element marked `^` is; starts with a literal, operand, region or symbol |
//! | `( ... ) : ( ... )?` | either |
//! | `wrap` | a place where a long line may break; `` `:` `` and `` `->` `` at top level are such places by themselves (`:` only) |
//!
//! An operand whose type stands nowhere in the format has the one type of its rule ([`TypeRule::ONLY`]), else the
//! type of the value, which must then be defined above. A result has the type in the format, else the one type of
//! its rule, else what `infer` says, else (trait [`Trait::SameType`]) the type of the first operand.
//!
//! # Custom hooks
//!
//! A hook is a name, the attributes it prints itself, and a pair of functions, with a third if it cannot say every op:
//!
//! ```text
//! fn parse_block(parser: &mut Parser<'_>, op: &mut OpSyntax) -> ParseResult<()> {
//!     parser.expect_word("block")?;
//!     let sizes = parser.parse_list(LeftSquare, RightSquare, |parser| parser.parse_integer::<i64>("a block size"))?;
//!     op.set_attribute("block", Attribute::i64_array(sizes));
//!     Ok(())
//! }
//! fn print_block(printer: &mut Printer<'_>, op: OpId) {
//!     printer.word("block");   // `word` puts a space before; `text` does not
//!     ...
//! }
//! ```
//!
//! `op.add_operand("name", parser.parse_operand()?)` adds to an operand group; `op.set_operand_types`,
//! `op.set_result_types`, `op.entry_arguments` do the rest.
//!
//! # A type or attribute
//!
//! Implement [`DialectValue`] for a struct and list
//! `ValueDeclaration::attribute::<Layout>("summary", "description", "syntax")` (or `::ty`) in the dialect.
//!
//! # A dialect
//!
//! A `pub static DIALECT: Dialect = Dialect { name, summary, description, ops: &[...], types: &[...], attributes: &[...] }`
//! in the dialect's `mod.rs`, and one line in [`crate::registry`].

mod check;
mod docs;
#[doc(hidden)]
pub mod format;
mod macros;
mod rules;

pub use check::{check_op, operand_access, region_access, result_access};
pub(crate) use check::{is_sayable, is_well_formed, operand_segments, segments};
pub use docs::{dialect_markdown, hover};
pub use rules::{
    AnyAttribute, AnyRegion, AnyType, AttributeRule, AttributeSpec, Dictionary, Flag, Integer, Integers,
    Keyword, KeywordSet, Maybe, Notation, Number, OneBlock, Optional, PartSpec, RegionSpec, Symbol,
    SymbolName, Tensor, Text, TypeRule, TypeValue, Value, Variadic, WithNotation, part,
};

use crate::diagnostics::Diagnostics;
use crate::ir::{Attribute, DialectValue, Module, OpId, OpState, Type};
use crate::parser::{OpSyntax, ParseResult, Parser};
use crate::printer::Printer;

/// A property of an op that the verifier and passes rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trait {
    /// Ends its block.
    Terminator,
    /// Names a symbol by its attribute `sym_name`.
    Symbol,
    /// Symbols directly inside are looked up here; their names differ.
    SymbolTable,
    /// Uses no value from outside.
    IsolatedFromAbove,
    /// Has no effect but its results.
    Pure,
    /// Its blocks need no terminator.
    NoTerminator,
    /// Results without a written type have the type of the first operand.
    SameType,
    /// Its symbol references name things outside the IR, such as kernels; its `verify` looks them up.
    ForeignSymbols,
    /// Its `verify` looks at its attributes and at the types of its operands and results, at nothing else: ops that
    /// agree in these are verified once.
    VerifiedBySignature,
    /// Has a signature: `function_type`, and a body whose entry arguments agree with it.
    FunctionLike,
}

/// How many values an operand or result stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arity {
    /// One.
    One,
    /// None or one.
    Optional,
    /// Any number.
    Variadic,
}

/// The rule that the type of an operand or result obeys.
#[derive(Debug, Clone, Copy)]
pub struct TypeConstraint {
    /// What it must be, as in "a tensor".
    pub description: &'static str,
    /// Whether a type obeys.
    pub accepts: fn(&Type) -> bool,
    /// The only type that obeys, which is then never written.
    pub only: Option<fn() -> Type>,
}

/// An operand or result of a declaration.
#[derive(Debug, Clone, Copy)]
pub struct PartDeclaration {
    /// Name.
    pub name: &'static str,
    /// How many values.
    pub arity: Arity,
    /// Their types.
    pub constraint: TypeConstraint,
}

/// The rule that an attribute obeys, and its notation in a format.
#[derive(Debug, Clone, Copy)]
pub struct AttributeConstraint {
    /// What it must be, as in "an integer".
    pub description: &'static str,
    /// Whether an attribute obeys.
    pub accepts: fn(&Attribute) -> bool,
    /// Whether the notation may start here.
    pub starts: fn(&Parser<'_>) -> bool,
    /// Parses the notation.
    pub parse: fn(&mut Parser<'_>) -> ParseResult<Attribute>,
    /// Prints the notation.
    pub print: fn(&mut Printer<'_>, &Attribute),
    /// The strings that obey, where they can be listed.
    pub words: &'static [&'static str],
}

/// An attribute of a declaration.
#[derive(Debug, Clone, Copy)]
pub struct AttributeDeclaration {
    /// Name.
    pub name: &'static str,
    /// Whether the op needs it.
    pub required: bool,
    /// Its rule.
    pub constraint: AttributeConstraint,
}

/// A region of a declaration.
#[derive(Debug, Clone, Copy)]
pub struct RegionDeclaration {
    /// Name.
    pub name: &'static str,
    /// Whether it has exactly one block.
    pub one_block: bool,
}

/// A pair of functions behind `custom<Name>`.
#[derive(Debug, Clone, Copy)]
pub struct Hook {
    /// Name in the format.
    pub name: &'static str,
    /// Attributes that it prints, so that `attr-dict` does not.
    pub attributes: &'static [&'static str],
    /// Parses.
    pub parse: fn(&mut Parser<'_>, &mut OpSyntax) -> ParseResult<()>,
    /// Prints.
    pub print: fn(&mut Printer<'_>, OpId),
    /// Whether what it prints says all there is to an op whose attributes obey their rules; unset, it always does.
    pub says: Option<fn(&Module, OpId) -> bool>,
}

/// Result types from the operand types and the attributes of an op that is being read; `None` if they say nothing.
pub type Infer = fn(&[Type], &[(crate::ir::Name, Attribute)]) -> Option<Vec<Type>>;

/// Everything there is to say about an op.
#[derive(Debug)]
pub struct OpDeclaration {
    /// Full name, such as `graph.gemm`.
    pub name: &'static str,
    /// One line, lower case, no full stop.
    pub summary: &'static str,
    /// Markdown.
    pub description: &'static str,
    /// Operands.
    pub operands: &'static [PartDeclaration],
    /// Results.
    pub results: &'static [PartDeclaration],
    /// Attributes.
    pub attributes: &'static [AttributeDeclaration],
    /// Regions.
    pub regions: &'static [RegionDeclaration],
    /// Names of the successors.
    pub successors: &'static [&'static str],
    /// Traits.
    pub traits: &'static [Trait],
    /// Pretty syntax; empty for generic form only.
    pub format: &'static str,
    /// Functions of `custom<...>`.
    pub hooks: &'static [Hook],
    /// Types of results that the syntax does not give.
    pub infer: Option<Infer>,
    /// Rules beyond the table.
    pub verify: Option<fn(&Module, OpId, &mut Diagnostics)>,
    #[doc(hidden)]
    pub compiled: fn() -> &'static format::Format,
}

impl OpDeclaration {
    /// Whether the op has trait `wanted`.
    #[must_use]
    pub fn has_trait(&self, wanted: Trait) -> bool {
        self.traits.contains(&wanted)
    }
}

/// A Rust wrapper of a declared op.
pub trait Op: Copy + 'static {
    /// The declaration.
    const DECLARATION: &'static OpDeclaration;

    /// The wrapper of `op`, which is a `Self`.
    fn wrap(op: OpId) -> Self;

    /// The op.
    fn id(self) -> OpId;

    /// A state to build one from.
    #[must_use]
    fn state() -> OpState {
        OpState::of::<Self>()
    }
}

/// A declared type or attribute.
#[derive(Debug, Clone, Copy)]
pub struct ValueDeclaration<T> {
    /// Full name, such as `mapped.layout`.
    pub name: &'static str,
    /// One line, lower case, no full stop.
    pub summary: &'static str,
    /// Markdown.
    pub description: &'static str,
    /// The grammar, for the reference.
    pub syntax: &'static str,
    /// Parses what follows the name.
    pub parse: fn(&mut Parser<'_>) -> ParseResult<T>,
}

impl ValueDeclaration<Attribute> {
    /// The declaration of attribute `V`.
    #[must_use]
    pub const fn attribute<V: DialectValue>(
        summary: &'static str,
        description: &'static str,
        syntax: &'static str,
    ) -> Self {
        Self { name: V::NAME, summary, description, syntax, parse: |p| V::parse(p).map(Attribute::dialect) }
    }
}

impl ValueDeclaration<Type> {
    /// The declaration of type `V`.
    #[must_use]
    pub const fn ty<V: DialectValue>(
        summary: &'static str,
        description: &'static str,
        syntax: &'static str,
    ) -> Self {
        Self { name: V::NAME, summary, description, syntax, parse: |p| V::parse(p).map(Type::dialect) }
    }
}

/// A dialect: its ops, types and attributes.
#[derive(Debug)]
pub struct Dialect {
    /// Name, the part before the dot.
    pub name: &'static str,
    /// One line, lower case, no full stop.
    pub summary: &'static str,
    /// Markdown.
    pub description: &'static str,
    /// Ops, in the order of the reference.
    pub ops: &'static [&'static OpDeclaration],
    /// Types.
    pub types: &'static [ValueDeclaration<Type>],
    /// Attributes.
    pub attributes: &'static [ValueDeclaration<Attribute>],
}
