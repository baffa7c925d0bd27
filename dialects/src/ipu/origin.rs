//! `#ipu.origin<"main/c", ["select-plans"]>`: the origin of an op, as the metadata of a fused location.

use crate::ir::{DialectValue, Name, Origin};
use crate::lexer::TokenKind;
use crate::parser::{ParseResult, Parser};
use crate::printer::Printer;

/// An [`Origin`] as an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OriginAttribute(pub Origin);

impl DialectValue for OriginAttribute {
    const NAME: &'static str = "ipu.origin";

    fn parse(parser: &mut Parser<'_>) -> ParseResult<Self> {
        parser.expect(TokenKind::Less, "`<`")?;
        let path = parser.parse_string("the path of a graph op")?;
        parser.expect(TokenKind::Comma, "`,`")?;
        let passes = parser.parse_list(TokenKind::LeftSquare, TokenKind::RightSquare, |parser| {
            parser.parse_string("the name of a pass").map(|name| Name::intern(&name))
        })?;
        parser.expect(TokenKind::Greater, "`>`")?;
        Ok(Self(Origin::new(&path, passes)))
    }

    fn print(&self, printer: &mut Printer<'_>) {
        printer.text("<");
        printer.string(self.0.path().as_bytes());
        printer.text(", [");
        printer.list(self.0.passes(), ", ", |printer, name| printer.string(name.as_str().as_bytes()));
        printer.text("]>");
    }
}
