//! Families `(m, q) in (2, 2)` and index expressions in their ids.
//!
//! Members are in row-major order, the last id fastest; member `i` of a family is `NAME#i` in messages.

use std::sync::Arc;

use super::affine::AffineExpr;
use crate::codes::ParseCode;
use crate::lexer::TokenKind;
use crate::limits::MAX_FAMILY_MEMBERS;
use crate::parser::{ParseResult, Parser};
use crate::printer::Printer;

/// Ids and how many values each has.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Family {
    /// Names of the ids, each once.
    pub ids: Vec<Arc<str>>,
    /// Number of values of each id, at least 1. The product is at most [`MAX_FAMILY_MEMBERS`].
    pub sizes: Vec<u32>,
}

impl Family {
    /// The family without ids, of one member.
    #[must_use]
    pub fn single() -> Self {
        Self::default()
    }

    /// Number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sizes.iter().map(|&size| size as usize).product()
    }

    /// Never: a family has a member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Values of the ids for member `index`, which must be less than [`len`](Self::len).
    #[must_use]
    pub fn member(&self, index: usize) -> Vec<i64> {
        let mut rest = index as u64;
        let mut values = vec![0; self.sizes.len()];
        for (value, &size) in values.iter_mut().zip(&self.sizes).rev() {
            let size = u64::from(size.max(1));
            *value = (rest % size) as i64;
            rest /= size;
        }
        values
    }

    /// Values of the ids for each member, in order.
    pub fn members(&self) -> impl ExactSizeIterator<Item = Vec<i64>> + '_ {
        (0..self.len()).map(|index| self.member(index))
    }

    /// `(m, q) in (2, 2)`
    ///
    /// # Errors
    /// The text is no family, or it has too many members.
    pub fn parse(parser: &mut Parser<'_>) -> ParseResult<Self> {
        let span = parser.span();
        let ids: Vec<Arc<str>> = parse_ids(parser)?;
        parser.expect_word("in")?;
        let sizes = parser.parse_list(TokenKind::LeftParen, TokenKind::RightParen, |parser| {
            parser.parse_integer::<u32>("a number of values")
        })?;
        let span = parser.span_since(span);
        if ids.len() != sizes.len() {
            let message = format!("{} ids and {} sizes", ids.len(), sizes.len());
            return parser.error(ParseCode::BadExpression, span, message);
        }
        let members = sizes.iter().try_fold(1u64, |product, &size| product.checked_mul(size.into()));
        match members {
            Some(1..=MAX_FAMILY_MEMBERS) => Ok(Self { ids, sizes }),
            _ => {
                let message = format!("a family has 1 to {MAX_FAMILY_MEMBERS} members");
                parser.error(ParseCode::TooLarge, span, message)
            }
        }
    }

    /// Prints `(m, q) in (2, 2)`.
    pub fn print(&self, printer: &mut Printer<'_>) {
        print_ids(printer, &self.ids);
        printer.text(" in (");
        printer.list(&self.sizes, ", ", |printer, size| printer.display(size));
        printer.text(")");
    }
}

/// `(m, q)`: names, each once.
///
/// # Errors
/// The text is no list of names, or a name comes twice.
pub fn parse_ids(parser: &mut Parser<'_>) -> ParseResult<Vec<Arc<str>>> {
    let mut ids: Vec<Arc<str>> = Vec::new();
    parser.parse_list(TokenKind::LeftParen, TokenKind::RightParen, |parser| {
        let span = parser.span();
        let name: Arc<str> = parser.parse_word("an id such as `m`")?.into();
        if ids.contains(&name) {
            return parser.error(ParseCode::Redefinition, span, format!("id `{name}` is given twice"));
        }
        ids.push(name);
        Ok(())
    })?;
    Ok(ids)
}

/// Prints `(m, q)`.
pub fn print_ids(printer: &mut Printer<'_>, ids: &[Arc<str>]) {
    printer.text("(");
    printer.list(ids, ", ", |printer, id| printer.text(id));
    printer.text(")");
}

/// An index expression in `ids`: `+`, `-`, `*`, `floordiv` and `mod` by a literal, parentheses.
///
/// # Errors
/// The text is no such expression.
pub fn parse_expr(parser: &mut Parser<'_>, ids: &[Arc<str>]) -> ParseResult<AffineExpr> {
    parser.nested(|parser| {
        let mut sum = parse_product(parser, ids)?;
        loop {
            if parser.eat(TokenKind::Plus) {
                sum = sum.plus(&parse_product(parser, ids)?);
            } else if parser.eat(TokenKind::Minus) {
                sum = sum.minus(&parse_product(parser, ids)?);
            } else {
                return Ok(sum);
            }
        }
    })
}

fn parse_product(parser: &mut Parser<'_>, ids: &[Arc<str>]) -> ParseResult<AffineExpr> {
    let mut product = parse_atom(parser, ids)?;
    loop {
        if parser.eat(TokenKind::Star) {
            product = product.times(&parse_atom(parser, ids)?);
            continue;
        }
        let floor = parser.at_word("floordiv");
        if !floor && !parser.at_word("mod") {
            return Ok(product);
        }
        parser.advance();
        let span = parser.span();
        let divisor: i64 = parser.parse_integer("a positive literal")?;
        let divided = if floor { product.floor_divided_by(divisor) } else { product.modulo(divisor) };
        product = match divided {
            Some(divided) => divided,
            None => {
                let message = format!("the divisor must be a positive literal, not {divisor}");
                return parser.error(ParseCode::BadExpression, span, message);
            }
        };
    }
}

fn parse_atom(parser: &mut Parser<'_>, ids: &[Arc<str>]) -> ParseResult<AffineExpr> {
    let span = parser.span();
    match parser.peek().kind {
        TokenKind::LeftParen => {
            parser.advance();
            let inner = parse_expr(parser, ids)?;
            parser.expect(TokenKind::RightParen, "`)`")?;
            Ok(inner)
        }
        TokenKind::Minus if matches!(parser.peek_second().kind, TokenKind::Word | TokenKind::LeftParen) => {
            parser.advance();
            let operand = parser.nested(|parser| parse_atom(parser, ids))?;
            Ok(AffineExpr::constant(-1).times(&operand))
        }
        TokenKind::Word => {
            let name = parser.peek_text();
            let Some(index) = ids.iter().position(|id| **id == *name) else {
                let known = ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
                let message = format!("`{name}` is no id of the family, expected one of {known}");
                return parser.error(ParseCode::BadExpression, span, message);
            };
            parser.advance();
            Ok(AffineExpr::id(u16::try_from(index).unwrap_or(u16::MAX)))
        }
        _ => parser.parse_integer("a number, an id or `(`").map(AffineExpr::constant),
    }
}
