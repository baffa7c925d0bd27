//! Columns of integers: one value for all rows, an array, or a resource of little-endian 64-bit integers.

use crate::declaration::AttributeRule;
use crate::ir::{Attribute, AttributeKind, Module};
use crate::lexer::TokenKind;
use crate::parser::{ParseResult, Parser};
use crate::printer::Printer;

/// The rule of an attribute that is a column, written `5`, `[5, 6]` or `dense_resource<name>`.
#[derive(Debug)]
pub struct Column;

/// What a column is.
#[derive(Debug, Clone, Copy)]
pub enum ColumnAccess<'m> {
    /// The same for all rows.
    Same(i64),
    /// One for each row.
    Each(&'m [i64]),
    /// The name of a resource.
    Resource(&'m str),
}

/// The values of a column.
#[derive(Debug, Clone)]
pub enum ColumnValues<'m> {
    /// The same for all rows.
    Same(i64),
    /// One for each row.
    Each(std::borrow::Cow<'m, [i64]>),
}

impl AttributeRule for Column {
    type Access<'m> = ColumnAccess<'m>;
    const DESCRIPTION: &'static str = "an integer, an array of integers or a resource of integers";

    fn value(attribute: &Attribute) -> Option<ColumnAccess<'_>> {
        match attribute.kind() {
            AttributeKind::Integer(_) => attribute.as_plain_i64().map(ColumnAccess::Same),
            AttributeKind::DenseArray(_) => attribute.as_plain_i64_array().map(ColumnAccess::Each),
            AttributeKind::DenseResource { name, .. } => Some(ColumnAccess::Resource(name)),
            _ => None,
        }
    }

    fn parse(parser: &mut Parser<'_>) -> ParseResult<Attribute> {
        if parser.at(TokenKind::LeftSquare) {
            let item = |parser: &mut Parser<'_>| parser.parse_integer("an integer of 64 bits");
            let list = parser.parse_list(TokenKind::LeftSquare, TokenKind::RightSquare, item)?;
            return Ok(Attribute::i64_array(list));
        }
        if parser.at_word("dense_resource") || parser.at(TokenKind::Hash) {
            return parser.parse_attribute();
        }
        let literal = parser.parse_integer_literal()?;
        parser.integer_attribute(literal)
    }

    fn print(printer: &mut Printer<'_>, attribute: &Attribute) {
        match Self::value(attribute) {
            Some(ColumnAccess::Each(values)) => printer.integers(values),
            Some(ColumnAccess::Same(_)) => printer.plain_integer(attribute),
            _ => printer.attribute(attribute),
        }
    }
}

impl<'m> ColumnAccess<'m> {
    /// The values; `None` if the module does not have the resource, or its length is no multiple of 8.
    #[must_use]
    pub fn values(self, module: &'m Module) -> Option<ColumnValues<'m>> {
        match self {
            Self::Same(value) => Some(ColumnValues::Same(value)),
            Self::Each(values) => Some(ColumnValues::Each(values.into())),
            Self::Resource(name) => {
                let (words, rest) = module.resources.get(name)?.data.as_chunks::<8>();
                let values: Vec<i64> = words.iter().map(|&word| i64::from_le_bytes(word)).collect();
                rest.is_empty().then_some(ColumnValues::Each(values.into()))
            }
        }
    }
}

impl ColumnValues<'_> {
    /// The value of row `index`, if there is one.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<i64> {
        match self {
            Self::Same(value) => Some(*value),
            Self::Each(values) => values.get(index).copied(),
        }
    }

    /// Number of rows, if the column tells.
    #[must_use]
    pub fn rows(&self) -> Option<usize> {
        match self {
            Self::Same(_) => None,
            Self::Each(values) => Some(values.len()),
        }
    }
}

/// The shortest attribute that gives `values` to as many rows.
#[must_use]
pub fn column_attribute(values: Vec<i64>) -> Attribute {
    match values.split_first() {
        Some((first, rest)) if rest.iter().all(|value| value == first) => Attribute::i64(*first),
        _ => Attribute::i64_array(values),
    }
}
