//! The words of a declaration: rules for operands, attributes and regions, and what their accessors give.

use std::marker::PhantomData;

use super::{Arity, AttributeConstraint, PartDeclaration, TypeConstraint};
use crate::ir::{Attribute, AttributeKind, DialectValue, Name, SymbolRef, Type, ValueId};
use crate::lexer::TokenKind;
use crate::parser::{ParseResult, Parser};
use crate::printer::Printer;

// Operands and results.

/// A rule for the type of a value.
pub trait TypeRule: 'static {
    /// What it must be, as in "a tensor".
    const DESCRIPTION: &'static str;
    /// The only type that obeys, if there is one.
    const ONLY: Option<fn() -> Type> = None;
    /// Whether a type obeys.
    fn accepts(ty: &Type) -> bool;
}

/// How an operand or result is declared: a rule, alone or in [`Optional`] or [`Variadic`].
pub trait PartSpec: 'static {
    /// What the accessor gives.
    type Access<'m>;
    /// The declaration.
    const ARITY: Arity;
    /// The rule.
    const CONSTRAINT: TypeConstraint;
    /// The accessor's value from the values of the part; `None` if their number is wrong.
    fn access(values: &[ValueId]) -> Option<Self::Access<'_>>;
}

const fn constraint<T: TypeRule>() -> TypeConstraint {
    TypeConstraint { description: T::DESCRIPTION, accepts: T::accepts, only: T::ONLY }
}

impl<T: TypeRule> PartSpec for T {
    type Access<'m> = ValueId;
    const ARITY: Arity = Arity::One;
    const CONSTRAINT: TypeConstraint = constraint::<T>();
    fn access(values: &[ValueId]) -> Option<ValueId> {
        values.first().copied()
    }
}

/// None or one value that obeys `T`.
#[derive(Debug)]
pub struct Optional<T>(PhantomData<T>);

impl<T: TypeRule> PartSpec for Optional<T> {
    type Access<'m> = Option<ValueId>;
    const ARITY: Arity = Arity::Optional;
    const CONSTRAINT: TypeConstraint = constraint::<T>();
    fn access(values: &[ValueId]) -> Option<Option<ValueId>> {
        Some(values.first().copied())
    }
}

/// Any number of values that obey `T`.
#[derive(Debug)]
pub struct Variadic<T>(PhantomData<T>);

impl<T: TypeRule> PartSpec for Variadic<T> {
    type Access<'m> = &'m [ValueId];
    const ARITY: Arity = Arity::Variadic;
    const CONSTRAINT: TypeConstraint = constraint::<T>();
    fn access(values: &[ValueId]) -> Option<&[ValueId]> {
        Some(values)
    }
}

/// The declaration of a part named `name` by `T`.
#[must_use]
pub const fn part<T: PartSpec>(name: &'static str) -> PartDeclaration {
    PartDeclaration { name, arity: T::ARITY, constraint: T::CONSTRAINT }
}

/// Any type.
#[derive(Debug)]
pub struct AnyType;

impl TypeRule for AnyType {
    const DESCRIPTION: &'static str = "any type";
    fn accepts(_: &Type) -> bool {
        true
    }
}

/// A ranked tensor.
#[derive(Debug)]
pub struct Tensor;

impl TypeRule for Tensor {
    const DESCRIPTION: &'static str = "a tensor";
    fn accepts(ty: &Type) -> bool {
        ty.as_tensor().is_some()
    }
}

/// The declared dialect type `T`, whatever its parameters.
#[derive(Debug)]
pub struct Value<T>(PhantomData<T>);

impl<T: DialectValue> TypeRule for Value<T> {
    const DESCRIPTION: &'static str = T::NAME;
    fn accepts(ty: &Type) -> bool {
        ty.dialect_value::<T>().is_some()
    }
}

// Regions.

/// How a region is declared.
pub trait RegionSpec {
    /// Whether it has exactly one block.
    const ONE_BLOCK: bool;
}

/// Exactly one block.
#[derive(Debug)]
pub struct OneBlock;

impl RegionSpec for OneBlock {
    const ONE_BLOCK: bool = true;
}

/// Any number of blocks.
#[derive(Debug)]
pub struct AnyRegion;

impl RegionSpec for AnyRegion {
    const ONE_BLOCK: bool = false;
}

// Attributes.

/// A rule for an attribute, with its notation in formats.
pub trait AttributeRule: 'static {
    /// What the accessor gives.
    type Access<'m>;
    /// What it must be, as in "an integer".
    const DESCRIPTION: &'static str;
    /// The strings that obey, where they can be listed.
    const WORDS: &'static [&'static str] = &[];
    /// The accessor's value; `None` if the attribute does not obey.
    fn value(attribute: &Attribute) -> Option<Self::Access<'_>>;
    /// Whether the notation may start here; matters only at the start of optional groups.
    fn starts(_: &Parser<'_>) -> bool {
        true
    }
    /// Parses the notation.
    ///
    /// # Errors
    /// The text is no such attribute.
    fn parse(parser: &mut Parser<'_>) -> ParseResult<Attribute> {
        parser.parse_attribute()
    }
    /// Prints the notation.
    fn print(printer: &mut Printer<'_>, attribute: &Attribute) {
        printer.attribute(attribute);
    }
}

/// How an attribute is declared: a rule, alone or in [`Maybe`], or [`Flag`].
pub trait AttributeSpec: 'static {
    /// What the accessor gives.
    type Access<'m>;
    /// Whether the op needs it.
    const REQUIRED: bool;
    /// The rule.
    const CONSTRAINT: AttributeConstraint;
    /// The accessor's value. The op has passed its checks.
    fn access<'m>(attribute: Option<&'m Attribute>, name: &'static str) -> Self::Access<'m>;
}

const fn rule<T: AttributeRule>() -> AttributeConstraint {
    AttributeConstraint {
        description: T::DESCRIPTION,
        accepts: |attribute| T::value(attribute).is_some(),
        starts: T::starts,
        parse: T::parse,
        print: T::print,
        words: T::WORDS,
    }
}

impl<T: AttributeRule> AttributeSpec for T {
    type Access<'m> = T::Access<'m>;
    const REQUIRED: bool = true;
    const CONSTRAINT: AttributeConstraint = rule::<T>();
    fn access<'m>(attribute: Option<&'m Attribute>, name: &'static str) -> T::Access<'m> {
        match attribute.and_then(T::value) {
            Some(value) => value,
            None => unreachable!("internal bug: accessor `{name}` of an op that did not pass its checks"),
        }
    }
}

/// An attribute that may be absent.
#[derive(Debug)]
pub struct Maybe<T>(PhantomData<T>);

impl<T: AttributeRule> AttributeSpec for Maybe<T> {
    type Access<'m> = Option<T::Access<'m>>;
    const REQUIRED: bool = false;
    const CONSTRAINT: AttributeConstraint = rule::<T>();
    fn access<'m>(attribute: Option<&'m Attribute>, _: &'static str) -> Self::Access<'m> {
        attribute.and_then(T::value)
    }
}

/// A unit attribute: present or not.
#[derive(Debug)]
pub struct Flag;

impl AttributeSpec for Flag {
    type Access<'m> = bool;
    const REQUIRED: bool = false;
    const CONSTRAINT: AttributeConstraint = AttributeConstraint {
        description: "a unit attribute",
        accepts: |attribute| matches!(attribute.kind(), AttributeKind::Unit),
        starts: |_| false,
        parse: |_| Ok(Attribute::unit()),
        print: |_, _| {},
        words: &[],
    };
    fn access(attribute: Option<&Attribute>, _: &'static str) -> bool {
        attribute.is_some()
    }
}

macro_rules! attribute_rule {
    ($(#[$meta:meta])* $name:ident, $access:ty, $description:literal, $value:expr) => {
        attribute_rule!($(#[$meta])* $name, $access, $description, $value,);
    };
    ($(#[$meta:meta])* $name:ident, $access:ty, $description:literal, $value:expr, $($rest:item)*) => {
        $(#[$meta])*
        #[derive(Debug)]
        pub struct $name;

        impl AttributeRule for $name {
            type Access<'m> = $access;
            const DESCRIPTION: &'static str = $description;
            fn value(attribute: &Attribute) -> Option<Self::Access<'_>> {
                let value: fn(&Attribute) -> Option<Self::Access<'_>> = $value;
                value(attribute)
            }
            $($rest)*
        }
    };
}

attribute_rule! {
    /// Any attribute.
    AnyAttribute, &'m Attribute, "any attribute", |attribute| Some(attribute)
}
attribute_rule! {
    /// An integer of 64 bits, written without type.
    Integer, i64, "an integer of 64 bits", |attribute| attribute.as_plain_i64(),
    fn parse(parser: &mut Parser<'_>) -> ParseResult<Attribute> {
        let literal = parser.parse_integer_literal()?;
        parser.integer_attribute(literal)
    }
    fn print(printer: &mut Printer<'_>, attribute: &Attribute) {
        printer.plain_integer(attribute);
    }
}
attribute_rule! {
    /// A float, written as an attribute.
    Number, f64, "a float", |attribute| attribute.as_f64()
}
attribute_rule! {
    /// A string.
    Text, &'m str, "a string", |attribute| attribute.as_str()
}
attribute_rule! {
    /// A type.
    TypeValue, &'m Type, "a type", |attribute| attribute.as_type(),
    fn parse(parser: &mut Parser<'_>) -> ParseResult<Attribute> {
        parser.parse_type().map(Attribute::ty)
    }
    fn print(printer: &mut Printer<'_>, attribute: &Attribute) {
        match attribute.as_type() {
            Some(ty) => printer.ty(ty),
            None => printer.attribute(attribute),
        }
    }
}
attribute_rule! {
    /// A symbol reference, `@a::@b`.
    Symbol, &'m SymbolRef, "a symbol reference", |attribute| attribute.as_symbol(),
    fn starts(parser: &Parser<'_>) -> bool {
        parser.at(TokenKind::At) || parser.at(TokenKind::AtString)
    }
    fn parse(parser: &mut Parser<'_>) -> ParseResult<Attribute> {
        Ok(Attribute::new(AttributeKind::Symbol(parser.parse_symbol_ref()?)))
    }
    fn print(printer: &mut Printer<'_>, attribute: &Attribute) {
        match attribute.as_symbol() {
            Some(path) => printer.symbol_ref(path),
            None => printer.attribute(attribute),
        }
    }
}
attribute_rule! {
    /// The name that a symbol op defines, written `@name`.
    SymbolName, &'m str, "a symbol name", |attribute| attribute.as_str(),
    fn starts(parser: &Parser<'_>) -> bool {
        parser.at(TokenKind::At) || parser.at(TokenKind::AtString)
    }
    fn parse(parser: &mut Parser<'_>) -> ParseResult<Attribute> {
        parser.parse_symbol_name().map(|name| Attribute::string(name.as_bytes()))
    }
    fn print(printer: &mut Printer<'_>, attribute: &Attribute) {
        printer.symbol_name(attribute.as_str().unwrap_or(""));
    }
}
attribute_rule! {
    /// Integers, written `[1, 2]`, held as `array<i64: 1, 2>`.
    Integers, &'m [i64], "an array of integers", |attribute| attribute.as_plain_i64_array(),
    fn parse(parser: &mut Parser<'_>) -> ParseResult<Attribute> {
        let item = |parser: &mut Parser<'_>| parser.parse_integer("an integer of 64 bits");
        parser.parse_list(TokenKind::LeftSquare, TokenKind::RightSquare, item).map(Attribute::i64_array)
    }
    fn print(printer: &mut Printer<'_>, attribute: &Attribute) {
        printer.integers(attribute.as_i64_array().unwrap_or(&[]));
    }
}
attribute_rule! {
    /// A dictionary.
    Dictionary, &'m [(Name, Attribute)], "a dictionary", |attribute| attribute.as_dictionary()
}

/// A set of words, for [`Keyword`].
pub trait KeywordSet: 'static {
    /// What a word of the set is, as in "memory class".
    const WHAT: &'static str;
    /// The words.
    const WORDS: &'static [&'static str];
}

/// One of the words of `K`, written bare, held as a string.
#[derive(Debug)]
pub struct Keyword<K>(PhantomData<K>);

impl<K: KeywordSet> AttributeRule for Keyword<K> {
    type Access<'m> = &'m str;
    const DESCRIPTION: &'static str = K::WHAT;
    const WORDS: &'static [&'static str] = K::WORDS;
    fn value(attribute: &Attribute) -> Option<&str> {
        attribute.as_str().filter(|word| K::WORDS.contains(word))
    }
    fn starts(parser: &Parser<'_>) -> bool {
        K::WORDS.contains(&parser.peek_text())
    }
    fn parse(parser: &mut Parser<'_>) -> ParseResult<Attribute> {
        let index = parser.parse_one_of(K::WORDS, K::WHAT)?;
        Ok(Attribute::string(K::WORDS[index]))
    }
    fn print(printer: &mut Printer<'_>, attribute: &Attribute) {
        printer.text(attribute.as_str().unwrap_or(""));
    }
}

/// The declared dialect attribute `T`, written in full (`#dialect.name...`).
impl<T: DialectValue> AttributeRule for Value<T> {
    type Access<'m> = &'m T;
    const DESCRIPTION: &'static str = T::NAME;
    fn value(attribute: &Attribute) -> Option<&T> {
        attribute.dialect_value()
    }
}

/// A dialect attribute with a notation of its own inside op syntax, such as `[0:4]` for `#ipu.tiles<[0:4]>`.
pub trait Notation: DialectValue {
    /// Parses the notation.
    ///
    /// # Errors
    /// The text is no such value.
    fn parse_notation(parser: &mut Parser<'_>) -> ParseResult<Self>;
    /// Prints the notation.
    fn print_notation(&self, printer: &mut Printer<'_>);
}

/// The declared dialect attribute `T`, written in its own [`Notation`].
#[derive(Debug)]
pub struct WithNotation<T>(PhantomData<T>);

impl<T: Notation> AttributeRule for WithNotation<T> {
    type Access<'m> = &'m T;
    const DESCRIPTION: &'static str = T::NAME;
    fn value(attribute: &Attribute) -> Option<&T> {
        attribute.dialect_value()
    }
    fn parse(parser: &mut Parser<'_>) -> ParseResult<Attribute> {
        if parser.at(TokenKind::Hash) {
            return parser.parse_attribute();
        }
        T::parse_notation(parser).map(Attribute::dialect)
    }
    fn print(printer: &mut Printer<'_>, attribute: &Attribute) {
        match attribute.dialect_value::<T>() {
            Some(value) => value.print_notation(printer),
            None => printer.attribute(attribute),
        }
    }
}
