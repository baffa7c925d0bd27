//! The family attributes: what each member of a copy, a run or a host move does.
//!
//! Inside op syntax the parts stand among the op's own words; these are their generic forms.

use std::sync::Arc;

use super::index::{Index, MemberSlice, parse_family, print_family};
use crate::declaration::Notation;
use crate::ipu::{Family, TileSet};
use crate::ir::DialectValue;
use crate::lexer::TokenKind;
use crate::parser::{ParseResult, Parser};
use crate::printer::Printer;

/// `#exchange.family<...>`: the members of an `exchange.copy`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CopyFamily {
    /// The members.
    pub family: Family,
    /// Bytes read.
    pub source: MemberSlice,
    /// Tile that sends.
    pub from: Index,
    /// Tiles that receive, at least one.
    pub to: Vec<Index>,
    /// Pieces of the destination in order of arrival, at least one; their lengths add up to the source's.
    pub into: Vec<MemberSlice>,
}

/// Where the members of an `exchange.run` are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RunTiles {
    /// A tile for each member of a family.
    Family(Family, Index),
    /// One member on each tile of a set.
    Set(TileSet),
}

/// `#exchange.runs<...>`: the members of an `exchange.run`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunFamily {
    /// The members and their tiles.
    pub tiles: RunTiles,
    /// Bytes of each operand; all of the buffer where it is `None`.
    pub slices: Vec<Option<MemberSlice>>,
}

/// `#exchange.moves<...>`: the members of an `exchange.load_host` or `exchange.store_host`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MoveFamily {
    /// The members.
    pub family: Family,
    /// Their tiles.
    pub on: Index,
    /// Bytes of the buffer; from its start where it is `None`.
    pub slice: Option<MemberSlice>,
    /// Bytes of the image.
    pub image: MemberSlice,
}

impl RunTiles {
    /// The ids that slices may use.
    #[must_use]
    pub fn ids(&self) -> &[Arc<str>] {
        match self {
            Self::Family(family, _) => &family.ids,
            Self::Set(_) => &[],
        }
    }
}

/// `, key =`
fn expect_key(parser: &mut Parser<'_>, key: &str) -> ParseResult<()> {
    parser.expect(TokenKind::Comma, "`,`")?;
    parser.expect_word(key)?;
    parser.expect(TokenKind::Equal, "`=`").map(|_| ())
}

pub(super) fn parse_indices(parser: &mut Parser<'_>, ids: &[Arc<str>]) -> ParseResult<Vec<Index>> {
    parser.parse_list(TokenKind::LeftSquare, TokenKind::RightSquare, |parser| Index::parse(parser, ids))
}

pub(super) fn print_indices(indices: &[Index], printer: &mut Printer<'_>, ids: &[Arc<str>]) {
    printer.text("[");
    printer.list(indices, ", ", |printer, index| index.print(printer, ids));
    printer.text("]");
}

impl DialectValue for CopyFamily {
    const NAME: &'static str = "exchange.family";

    fn parse(parser: &mut Parser<'_>) -> ParseResult<Self> {
        parser.expect(TokenKind::Less, "`<` and a family")?;
        let family = Family::parse(parser)?;
        let ids = &family.ids.clone();
        expect_key(parser, "source")?;
        let source = MemberSlice::parse(parser, ids)?;
        expect_key(parser, "from")?;
        let from = Index::parse(parser, ids)?;
        expect_key(parser, "to")?;
        let to = parse_indices(parser, ids)?;
        expect_key(parser, "into")?;
        let into = MemberSlice::parse_list(parser, ids)?;
        parser.expect(TokenKind::Greater, "`>`")?;
        Ok(Self { family, source, from, to, into })
    }

    fn print(&self, printer: &mut Printer<'_>) {
        let ids = &self.family.ids;
        printer.text("<");
        self.family.print(printer);
        printer.text(", source = ");
        self.source.print(printer, ids);
        printer.text(", from = ");
        self.from.print(printer, ids);
        printer.text(", to = ");
        print_indices(&self.to, printer, ids);
        printer.text(", into = ");
        MemberSlice::print_list(&self.into, printer, ids);
        printer.text(">");
    }
}

/// `whole` or `[start : +length]`
fn parse_part(parser: &mut Parser<'_>, ids: &[Arc<str>]) -> ParseResult<Option<MemberSlice>> {
    if parser.eat_word("whole") { Ok(None) } else { MemberSlice::parse(parser, ids).map(Some) }
}

fn print_part(part: Option<&MemberSlice>, printer: &mut Printer<'_>, ids: &[Arc<str>]) {
    match part {
        Some(slice) => slice.print(printer, ids),
        None => printer.text("whole"),
    }
}

impl RunTiles {
    /// `(m, q) in (2, 2) on 2*m + q` or `on [0:4]`
    pub(super) fn parse(parser: &mut Parser<'_>) -> ParseResult<Self> {
        let family = parse_family(parser)?;
        parser.expect_word("on")?;
        if family.ids.is_empty() && parser.at(TokenKind::LeftSquare) {
            return TileSet::parse_notation(parser).map(Self::Set);
        }
        let on = Index::parse(parser, &family.ids)?;
        Ok(Self::Family(family, on))
    }

    pub(super) fn print(&self, printer: &mut Printer<'_>) {
        match self {
            Self::Family(family, on) => {
                let named = print_family(family, printer);
                printer.text(if named { " on " } else { "on " });
                on.print(printer, &family.ids);
            }
            Self::Set(tiles) => {
                printer.text("on ");
                tiles.print_notation(printer);
            }
        }
    }
}

impl DialectValue for RunFamily {
    const NAME: &'static str = "exchange.runs";

    fn parse(parser: &mut Parser<'_>) -> ParseResult<Self> {
        parser.expect(TokenKind::Less, "`<` and tiles")?;
        let tiles = RunTiles::parse(parser)?;
        expect_key(parser, "slices")?;
        let slices = parser.parse_list(TokenKind::LeftSquare, TokenKind::RightSquare, |parser| {
            parse_part(parser, tiles.ids())
        })?;
        parser.expect(TokenKind::Greater, "`>`")?;
        Ok(Self { tiles, slices })
    }

    fn print(&self, printer: &mut Printer<'_>) {
        printer.text("<");
        self.tiles.print(printer);
        printer.text(", slices = [");
        printer
            .list(&self.slices, ", ", |printer, slice| print_part(slice.as_ref(), printer, self.tiles.ids()));
        printer.text("]>");
    }
}

impl DialectValue for MoveFamily {
    const NAME: &'static str = "exchange.moves";

    fn parse(parser: &mut Parser<'_>) -> ParseResult<Self> {
        parser.expect(TokenKind::Less, "`<` and a family")?;
        let family = Family::parse(parser)?;
        let ids = &family.ids.clone();
        expect_key(parser, "on")?;
        let on = Index::parse(parser, ids)?;
        expect_key(parser, "slice")?;
        let slice = parse_part(parser, ids)?;
        expect_key(parser, "image")?;
        let image = MemberSlice::parse(parser, ids)?;
        parser.expect(TokenKind::Greater, "`>`")?;
        Ok(Self { family, on, slice, image })
    }

    fn print(&self, printer: &mut Printer<'_>) {
        let ids = &self.family.ids;
        printer.text("<");
        self.family.print(printer);
        printer.text(", on = ");
        self.on.print(printer, ids);
        printer.text(", slice = ");
        print_part(self.slice.as_ref(), printer, ids);
        printer.text(", image = ");
        self.image.print(printer, ids);
        printer.text(">");
    }
}
