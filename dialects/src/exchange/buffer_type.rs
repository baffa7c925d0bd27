//! The type of a buffer.

use crate::declaration::TypeRule;
use crate::ir::{DialectValue, Type};
use crate::parser::{ParseResult, Parser};
use crate::printer::Printer;

/// `!exchange.buffer`: storage on tiles; the op that makes it says how much and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BufferType;

impl DialectValue for BufferType {
    const NAME: &'static str = "exchange.buffer";

    fn parse(_: &mut Parser<'_>) -> ParseResult<Self> {
        Ok(Self)
    }

    fn print(&self, _: &mut Printer<'_>) {}
}

/// A value that is a buffer; its type is never written.
#[derive(Debug)]
pub struct BufferValue;

impl TypeRule for BufferValue {
    const DESCRIPTION: &'static str = "a buffer";
    const ONLY: Option<fn() -> Type> = Some(|| Type::dialect(BufferType));

    fn accepts(ty: &Type) -> bool {
        ty.dialect_value::<BufferType>().is_some()
    }
}
