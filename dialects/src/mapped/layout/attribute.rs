//! `#mapped.layout<...>`: a [`Layout`] in text.

use std::sync::Arc;

use ipu_device::memory_map::MemoryClass;
use ipu_device::orders::ElementOrder;

use super::{Layout, Padding, Replicas, TileMap};
use crate::codes::ParseCode;
use crate::ipu::{AffineExpr, parse_expr, parse_ids};
use crate::ir::DialectValue;
use crate::lexer::TokenKind;
use crate::parser::{ParseResult, Parser};
use crate::printer::Printer;

/// The grammar, for the reference.
pub(in crate::mapped) const SYNTAX: &str = "`<` `split` `=` `[` int,* `]` (`,` `grain` `=` `[` int,* `]`)? \
(`,` `copies` `=` int | `,` `partial` `=` int)? `,` `tiles` `=` `(` id,* `)` `->` expr (`,` `through` `=` `[` int,* `]`)? \
`,` `order` `=` order (`,` `pad` `=` (`zero` | `finite` | `none`))? `,` `memory` `=` (`standard` | `interleaved`) `>`";

const KEYS: &[&str] = &["split", "grain", "copies", "partial", "tiles", "through", "order", "pad", "memory"];

impl DialectValue for Layout {
    const NAME: &'static str = "mapped.layout";

    fn parse(parser: &mut Parser<'_>) -> ParseResult<Self> {
        let start = parser.span();
        let mut fields = Fields::default();
        parser.expect(TokenKind::Less, "`<split = ..., tiles = ..., order = ..., memory = ...>`")?;
        loop {
            fields.parse_one(parser)?;
            if parser.eat(TokenKind::Greater) {
                break;
            }
            parser.expect(TokenKind::Comma, "`,` or `>`")?;
        }
        let Fields { split, grain, replicas, tiles, through, order, pad, memory, .. } = fields;
        let (Some(split), Some((ids, expression)), Some(order), Some(memory)) = (split, tiles, order, memory)
        else {
            let span = parser.span_since(start);
            let message = "a layout needs `split`, `tiles`, `order` and `memory`";
            return parser.error(ParseCode::BadAttribute, span, message);
        };
        let ids = ids.iter().map(|id| id.to_string()).collect();
        Ok(Self {
            split,
            grain: grain.unwrap_or_default(),
            replicas,
            tiles: TileMap { ids, expression, through },
            order,
            pad,
            memory,
        })
    }

    fn print(&self, printer: &mut Printer<'_>) {
        let text = self.to_string();
        printer.text(text.strip_prefix("#mapped.layout").unwrap_or(&text));
    }
}

#[derive(Default)]
struct Fields {
    seen: Vec<usize>,
    split: Option<Vec<u32>>,
    grain: Option<Vec<u32>>,
    replicas: Replicas,
    tiles: Option<(Vec<Arc<str>>, AffineExpr)>,
    through: Option<Vec<u16>>,
    order: Option<ElementOrder>,
    pad: Padding,
    memory: Option<MemoryClass>,
}

impl Fields {
    /// `key = value`
    fn parse_one(&mut self, parser: &mut Parser<'_>) -> ParseResult<()> {
        let span = parser.span();
        let key = parser.parse_one_of(KEYS, "part of a layout")?;
        if self.seen.contains(&key) {
            let message = format!("`{}` is given twice", KEYS[key]);
            return parser.error(ParseCode::DuplicateAttribute, span, message);
        }
        self.seen.push(key);
        parser.expect(TokenKind::Equal, "`=`")?;
        match KEYS[key] {
            "split" => self.split = Some(parse_integers(parser, "a number of parts")?),
            "grain" => self.grain = Some(parse_integers(parser, "a number of elements")?),
            "copies" => self.set_replicas(parser, Replicas::Copies)?,
            "partial" => self.set_replicas(parser, Replicas::Partial)?,
            "tiles" => {
                let ids = parse_ids(parser)?;
                parser.expect(TokenKind::Arrow, "`->`")?;
                let expression = parse_expr(parser, &ids)?;
                self.tiles = Some((ids, expression));
            }
            "through" => self.through = Some(parse_integers(parser, "a tile")?),
            "order" => self.order = Some(parse_order(parser)?),
            "pad" => {
                let words = ["none", "zero", "finite"];
                let word = words[parser.parse_one_of(&words, "padding")?];
                self.pad = Padding::from_name(word).unwrap_or_default();
            }
            _ => {
                let classes = [MemoryClass::Standard, MemoryClass::Interleaved];
                let index = parser.parse_one_of(&classes.map(MemoryClass::name), "memory class")?;
                self.memory = classes.get(index).copied();
            }
        }
        Ok(())
    }

    fn set_replicas(&mut self, parser: &mut Parser<'_>, kind: fn(u32) -> Replicas) -> ParseResult<()> {
        let span = parser.span();
        if self.replicas != Replicas::One {
            let message = "a layout has `copies` or `partial`, not both";
            return parser.error(ParseCode::BadAttribute, span, message);
        }
        self.replicas = kind(parser.parse_integer("a number of shards")?);
        Ok(())
    }
}

fn parse_integers<T: TryFrom<i128>>(parser: &mut Parser<'_>, what: &str) -> ParseResult<Vec<T>> {
    parser.parse_list(TokenKind::LeftSquare, TokenKind::RightSquare, |parser| parser.parse_integer(what))
}

/// `amp_left<16>`
fn parse_order(parser: &mut Parser<'_>) -> ParseResult<ElementOrder> {
    let start = parser.span();
    let names: Vec<&str> = ElementOrder::kind_names().collect();
    let name = names[parser.parse_one_of(&names, "element order")?];
    let mut parameters = Vec::new();
    if parser.at(TokenKind::Less) {
        parameters = parser.parse_list(TokenKind::Less, TokenKind::Greater, |parser| {
            parser.parse_integer("a parameter of the order")
        })?;
    }
    match ElementOrder::from_parts(name, &parameters) {
        Ok(order) => Ok(order),
        Err(error) => {
            let span = parser.span_since(start);
            parser.error(error.code, span, error.message)
        }
    }
}
