//! `#ipu.tiles<[0:4, 8, 10:20:2]>`: an ordered set of logical tiles.
//!
//! An item is one tile, or a half-open range with an optional step. The order of items is the order of tiles; no
//! tile is listed twice.

use ipu_device::LogicalTile;
use ipu_device::topology::TILE_COUNT;

use crate::codes::ParseCode;
use crate::declaration::Notation;
use crate::ir::DialectValue;
use crate::lexer::TokenKind;
use crate::parser::{ParseResult, Parser};
use crate::printer::Printer;

/// `start:end:step`, not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct TileRange {
    start: u16,
    end: u16,
    step: u16,
}

impl TileRange {
    fn tiles(self) -> impl Iterator<Item = LogicalTile> {
        (self.start..self.end).step_by(usize::from(self.step).max(1)).map(LogicalTile)
    }
}

/// An ordered set of logical tiles.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TileSet {
    items: Vec<TileRange>,
}

impl TileSet {
    /// Tiles `0..count`; `None` if there are not so many.
    #[must_use]
    pub fn first(count: u16) -> Option<Self> {
        let item = TileRange { start: 0, end: count, step: 1 };
        (1..=TILE_COUNT).contains(&count).then(|| Self { items: vec![item] })
    }

    /// The tiles in the given order, as few items as consecutive runs allow. `None` if a tile comes twice.
    #[must_use]
    pub fn from_tiles(tiles: impl IntoIterator<Item = LogicalTile>) -> Option<Self> {
        let mut seen = [false; TILE_COUNT as usize];
        let mut items: Vec<TileRange> = Vec::new();
        for LogicalTile(tile) in tiles {
            if std::mem::replace(seen.get_mut(usize::from(tile))?, true) {
                return None;
            }
            match items.last_mut() {
                Some(last) if last.end == tile => last.end += 1,
                _ => items.push(TileRange { start: tile, end: tile + 1, step: 1 }),
            }
        }
        Some(Self { items })
    }

    /// The tiles in order.
    pub fn iter(&self) -> impl Iterator<Item = LogicalTile> + '_ {
        self.items.iter().flat_map(|item| item.tiles())
    }

    /// Number of tiles.
    #[must_use]
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there is no tile.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether `tile` is in the set.
    #[must_use]
    pub fn contains(&self, tile: LogicalTile) -> bool {
        self.items.iter().any(|item| {
            (item.start..item.end).contains(&tile.0) && (tile.0 - item.start).is_multiple_of(item.step.max(1))
        })
    }

    /// Position of `tile` in the order.
    #[must_use]
    pub fn position(&self, tile: LogicalTile) -> Option<usize> {
        self.iter().position(|known| known == tile)
    }

    fn parse_item(parser: &mut Parser<'_>) -> ParseResult<TileRange> {
        let span = parser.span();
        let start: i64 = parser.parse_integer("a tile")?;
        let (mut end, mut step) = (start.saturating_add(1), 1);
        if parser.eat(TokenKind::Colon) {
            end = parser.parse_integer("the tile after the last one")?;
            if parser.eat(TokenKind::Colon) {
                step = parser.parse_integer("a step")?;
            }
        }
        let legal = 0 <= start && start < end && end <= i64::from(TILE_COUNT) && step > 0 && step <= end;
        if !legal {
            let message = format!(
                "`{start}:{end}:{step}` is no range of tiles, expected 0 <= start < end <= {TILE_COUNT} and a positive step"
            );
            let span = parser.span_since(span);
            return parser.error(ParseCode::BadTileSet, span, message);
        }
        Ok(TileRange { start: start as u16, end: end as u16, step: step as u16 })
    }
}

impl Notation for TileSet {
    fn parse_notation(parser: &mut Parser<'_>) -> ParseResult<Self> {
        let span = parser.span();
        let items = parser.parse_list(TokenKind::LeftSquare, TokenKind::RightSquare, Self::parse_item)?;
        let set = Self { items };
        let mut seen = [false; TILE_COUNT as usize];
        let twice = set.iter().find(|tile| std::mem::replace(&mut seen[usize::from(tile.0)], true));
        if let Some(tile) = twice {
            let span = parser.span_since(span);
            return parser.error(ParseCode::BadTileSet, span, format!("tile {tile} is listed twice"));
        }
        if set.is_empty() {
            let span = parser.span_since(span);
            return parser.error(ParseCode::BadTileSet, span, "a tile set needs a tile, as in `[0:4]`");
        }
        Ok(set)
    }

    fn print_notation(&self, printer: &mut Printer<'_>) {
        printer.text("[");
        printer.list(&self.items, ", ", |printer, item| match *item {
            TileRange { start, end, step: 1 } if end == start + 1 => printer.display(start),
            TileRange { start, end, step: 1 } => printer.display(format_args!("{start}:{end}")),
            TileRange { start, end, step } => printer.display(format_args!("{start}:{end}:{step}")),
        });
        printer.text("]");
    }
}

impl DialectValue for TileSet {
    const NAME: &'static str = "ipu.tiles";

    fn parse(parser: &mut Parser<'_>) -> ParseResult<Self> {
        parser.expect(TokenKind::Less, "`<` and a tile set")?;
        let set = Self::parse_notation(parser)?;
        parser.expect(TokenKind::Greater, "`>`")?;
        Ok(set)
    }

    fn print(&self, printer: &mut Printer<'_>) {
        printer.text("<");
        self.print_notation(printer);
        printer.text(">");
    }
}
