//! A number per member of a family: an index expression, or a table where no expression fits.

use std::sync::Arc;

use crate::ipu::family::parse_expr;
use crate::ipu::{AffineError, AffineExpr, Family};
use crate::lexer::TokenKind;
use crate::parser::{ParseResult, Parser};
use crate::printer::Printer;

/// A number for each member of a family.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Index {
    /// `2*m + q`
    Expression(AffineExpr),
    /// `[0, 3, 1]`: one for each member, in order.
    Table(Arc<[i64]>),
}

/// Why an index has no values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexError {
    /// The expression has no value for that member.
    Expression(usize, AffineError),
    /// The table has this many entries.
    TableLength(usize),
}

impl std::fmt::Display for IndexError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Expression(member, error) => write!(f, "member {member}: {error}"),
            Self::TableLength(found) => {
                write!(f, "the table has {found} entries, the family another number of members")
            }
        }
    }
}

impl Index {
    /// The literal `value` for all members.
    #[must_use]
    pub fn constant(value: i64) -> Self {
        Self::Expression(AffineExpr::constant(value))
    }

    /// The values for the members of `family`, in order.
    ///
    /// # Errors
    /// An expression overflows, or a table has another length than the family.
    pub fn values(&self, family: &Family) -> Result<Vec<i64>, IndexError> {
        let count = family.len();
        let expression = match self {
            Self::Table(table) if table.len() == count => return Ok(table.to_vec()),
            Self::Table(table) => return Err(IndexError::TableLength(table.len())),
            Self::Expression(expression) => expression,
        };
        if let Some(value) = expression.as_constant() {
            return Ok(vec![value; count]);
        }
        let mut values = Vec::with_capacity(count);
        let mut ids = vec![0i64; family.sizes.len()];
        let mut stack = Vec::with_capacity(8);
        for member in 0..count {
            let value = expression.evaluate_with(&ids, &mut stack);
            values.push(value.map_err(|error| IndexError::Expression(member, error))?);
            advance(&mut ids, &family.sizes);
        }
        Ok(values)
    }

    /// `2*m + q` or `[0, 3, 1]`
    ///
    /// # Errors
    /// The text is neither.
    pub fn parse(parser: &mut Parser<'_>, ids: &[Arc<str>]) -> ParseResult<Self> {
        if parser.at(TokenKind::LeftSquare) {
            let item = |parser: &mut Parser<'_>| parser.parse_integer("an integer of 64 bits");
            let table = parser.parse_list(TokenKind::LeftSquare, TokenKind::RightSquare, item)?;
            return Ok(Self::Table(table.into()));
        }
        parse_expr(parser, ids).map(Self::Expression)
    }

    /// Prints the index with the names of the family's ids.
    pub fn print(&self, printer: &mut Printer<'_>, ids: &[Arc<str>]) {
        match self {
            Self::Expression(expression) => printer.text(&expression.display(ids)),
            Self::Table(table) => printer.integers(table),
        }
    }
}

/// The ids of the next member: the last one is fastest.
fn advance(ids: &mut [i64], sizes: &[u32]) {
    for (id, &size) in ids.iter_mut().zip(sizes).rev() {
        *id += 1;
        if *id < i64::from(size) {
            return;
        }
        *id = 0;
    }
}

/// Bytes of a buffer or image: a start for each member, and one length.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MemberSlice {
    /// First byte.
    pub start: Index,
    /// Number of bytes.
    pub length: u32,
}

impl MemberSlice {
    /// `start : +length`, without brackets.
    fn parse_inner(parser: &mut Parser<'_>, ids: &[Arc<str>]) -> ParseResult<Self> {
        let start = Index::parse(parser, ids)?;
        parser.expect(TokenKind::Colon, "`:` and `+length`")?;
        parser.expect(TokenKind::Plus, "`+` and the length of the slice")?;
        let length = parser.parse_integer("a length in bytes")?;
        Ok(Self { start, length })
    }

    /// `[start : +length]`
    ///
    /// # Errors
    /// The text is no slice.
    pub fn parse(parser: &mut Parser<'_>, ids: &[Arc<str>]) -> ParseResult<Self> {
        parser.expect(TokenKind::LeftSquare, "`[` and a slice such as `0 : +256`")?;
        let slice = Self::parse_inner(parser, ids)?;
        parser.expect(TokenKind::RightSquare, "`]`")?;
        Ok(slice)
    }

    /// `[start : +length, ...]`, at least one.
    ///
    /// # Errors
    /// The text is no list of slices.
    pub fn parse_list(parser: &mut Parser<'_>, ids: &[Arc<str>]) -> ParseResult<Vec<Self>> {
        if parser.at(TokenKind::LeftSquare) && parser.peek_second().kind == TokenKind::RightSquare {
            return parser.unexpected("a slice such as `[0 : +256]`");
        }
        parser.parse_list(TokenKind::LeftSquare, TokenKind::RightSquare, |parser| {
            Self::parse_inner(parser, ids)
        })
    }

    /// Prints `[start : +length, ...]`.
    pub fn print_list(slices: &[Self], printer: &mut Printer<'_>, ids: &[Arc<str>]) {
        printer.text("[");
        printer.list(slices, ", ", |printer, slice| {
            slice.start.print(printer, ids);
            printer.display(format_args!(" : +{}", slice.length));
        });
        printer.text("]");
    }

    /// Prints `[start : +length]`.
    pub fn print(&self, printer: &mut Printer<'_>, ids: &[Arc<str>]) {
        Self::print_list(std::slice::from_ref(self), printer, ids);
    }
}

/// `(m, q) in (2, 2)` if it is next, else the family of one member without ids.
pub(crate) fn parse_family(parser: &mut Parser<'_>) -> ParseResult<Family> {
    if parser.at(TokenKind::LeftParen) { Family::parse(parser) } else { Ok(Family::single()) }
}

/// Prints `(m, q) in (2, 2)` unless the family has no ids; says whether it did.
pub(crate) fn print_family(family: &Family, printer: &mut Printer<'_>) -> bool {
    if family.ids.is_empty() {
        return false;
    }
    family.print(printer);
    true
}
