//! `#ipu.address<0x60000>`: where a buffer stands, on all its tiles or by groups of tiles.

use ipu_device::{Address, LogicalTile};

use super::tiles::TileSet;
use crate::declaration::Notation;
use crate::ir::DialectValue;
use crate::lexer::TokenKind;
use crate::parser::{ParseResult, Parser};
use crate::printer::Printer;

/// Addresses of a buffer: `0x60000`, or `{[0:2] = 0x60000, [2:4] = 0x64000}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Addresses {
    /// The same on all tiles.
    Same(Address),
    /// By groups of tiles, in the order written.
    ByTiles(Vec<(TileSet, Address)>),
}

impl Addresses {
    /// The address on `tile`; the first group that has the tile counts.
    #[must_use]
    pub fn on(&self, tile: LogicalTile) -> Option<Address> {
        match self {
            Self::Same(address) => Some(*address),
            Self::ByTiles(groups) => {
                groups.iter().find(|(tiles, _)| tiles.contains(tile)).map(|(_, address)| *address)
            }
        }
    }
}

fn parse_address(parser: &mut Parser<'_>) -> ParseResult<Address> {
    parser.parse_integer("an address of 32 bits").map(Address)
}

impl Notation for Addresses {
    fn parse_notation(parser: &mut Parser<'_>) -> ParseResult<Self> {
        if !parser.at(TokenKind::LeftBrace) {
            return parse_address(parser).map(Self::Same);
        }
        let groups = parser.parse_list(TokenKind::LeftBrace, TokenKind::RightBrace, |parser| {
            let tiles = TileSet::parse_notation(parser)?;
            parser.expect(TokenKind::Equal, "`=` and an address")?;
            Ok((tiles, parse_address(parser)?))
        })?;
        Ok(Self::ByTiles(groups))
    }

    fn print_notation(&self, printer: &mut Printer<'_>) {
        match self {
            Self::Same(address) => printer.display(address),
            Self::ByTiles(groups) => {
                printer.text("{");
                printer.list(groups, ", ", |printer, (tiles, address)| {
                    tiles.print_notation(printer);
                    printer.display(format_args!(" = {address}"));
                });
                printer.text("}");
            }
        }
    }
}

impl DialectValue for Addresses {
    const NAME: &'static str = "ipu.address";

    fn parse(parser: &mut Parser<'_>) -> ParseResult<Self> {
        parser.expect(TokenKind::Less, "`<` and an address")?;
        let addresses = Self::parse_notation(parser)?;
        parser.expect(TokenKind::Greater, "`>`")?;
        Ok(addresses)
    }

    fn print(&self, printer: &mut Printer<'_>) {
        printer.text("<");
        self.print_notation(printer);
        printer.text(">");
    }
}
