//! Notations of attributes and hooks of ops: numbers in base 16, tiles of an image, kernel calls.

use super::ops::{BindingOp, CallKernelOp, ImageOp};
use super::slices::SliceFamily;
use crate::codes::ParseCode;
use crate::declaration::{AttributeRule, Notation, Op, Symbol};
use crate::ipu::TileSet;
use crate::ir::{Attribute, Module, OpId};
use crate::lexer::TokenKind;
use crate::parser::{OpSyntax, ParseResult, Parser};
use crate::printer::Printer;

/// A number of 32 bits, written in base 16: an address or a word.
#[derive(Debug)]
pub struct HexNumber;

impl AttributeRule for HexNumber {
    type Access<'m> = u32;
    const DESCRIPTION: &'static str = "a number of 32 bits";

    fn value(attribute: &Attribute) -> Option<u32> {
        attribute.as_plain_i64().and_then(|value| u32::try_from(value).ok())
    }

    fn parse(parser: &mut Parser<'_>) -> ParseResult<Attribute> {
        parser.parse_integer::<u32>("a number of 32 bits").map(|value| Attribute::hexadecimal(value.into()))
    }

    fn print(printer: &mut Printer<'_>, attribute: &Attribute) {
        match Self::value(attribute) {
            Some(value) => printer.display(format_args!("0x{value:x}")),
            None => printer.attribute(attribute),
        }
    }
}

/// Words, written `[0x00000001, ...]`, held as `array<i64: ...>`.
#[derive(Debug)]
pub struct HexWords;

impl AttributeRule for HexWords {
    type Access<'m> = &'m [i64];
    const DESCRIPTION: &'static str = "an array of words";

    fn value(attribute: &Attribute) -> Option<&[i64]> {
        let words = attribute.as_plain_i64_array()?;
        words.iter().all(|&word| u32::try_from(word).is_ok()).then_some(words)
    }

    fn starts(parser: &Parser<'_>) -> bool {
        parser.at(TokenKind::LeftSquare)
    }

    fn parse(parser: &mut Parser<'_>) -> ParseResult<Attribute> {
        let item = |parser: &mut Parser<'_>| parser.parse_integer::<u32>("a word").map(i64::from);
        parser.parse_list(TokenKind::LeftSquare, TokenKind::RightSquare, item).map(Attribute::i64_array)
    }

    fn print(printer: &mut Printer<'_>, attribute: &Attribute) {
        printer.text("[");
        for (index, word) in Self::value(attribute).unwrap_or(&[]).iter().enumerate() {
            if index > 0 {
                printer.text(",");
                printer.wrap();
                printer.text(" ");
            }
            printer.display(format_args!("0x{word:08x}"));
        }
        printer.text("]");
    }
}

/// What data is for: `table`, `data`, `code`, or the bits of a segment's flags.
#[derive(Debug)]
pub struct FlagsWord;

/// Words for the flags of segments.
const FLAGS: [(&str, i64); 3] = [("table", 1), ("data", 3), ("code", 5)];

impl AttributeRule for FlagsWord {
    type Access<'m> = u32;
    const DESCRIPTION: &'static str = "flags of a segment";

    fn value(attribute: &Attribute) -> Option<u32> {
        attribute.as_plain_i64().and_then(|value| u32::try_from(value).ok())
    }

    fn parse(parser: &mut Parser<'_>) -> ParseResult<Attribute> {
        if parser.at(TokenKind::Word) {
            let words = FLAGS.map(|(word, _)| word);
            let index = parser.parse_one_of(&words, "kind of data")?;
            return Ok(Attribute::i64(FLAGS.get(index).map_or(0, |(_, flags)| *flags)));
        }
        let literal = parser.parse_integer_literal()?;
        parser.integer_attribute(literal)
    }

    fn print(printer: &mut Printer<'_>, attribute: &Attribute) {
        let value = attribute.as_i64();
        match FLAGS.iter().find(|(_, flags)| Some(*flags) == value) {
            Some((word, _)) => printer.text(word),
            None => printer.plain_integer(attribute),
        }
    }
}

// Bindings.

pub(super) fn parse_slices(parser: &mut Parser<'_>, op: &mut OpSyntax) -> ParseResult<()> {
    if parser.at(TokenKind::LeftParen) || parser.at_word("on") {
        let slices = SliceFamily::parse_words(parser)?;
        op.set_attribute("slices", Attribute::dialect(slices));
    }
    Ok(())
}

pub(super) fn print_slices(printer: &mut Printer<'_>, op: OpId) {
    if let Some(slices) = BindingOp::wrap(op).slices(printer.module()) {
        printer.space();
        slices.print_words(printer);
    }
}

// Images.

/// `on 0 physical 0` or `on [4:1472]`
pub(super) fn parse_tiles(parser: &mut Parser<'_>, op: &mut OpSyntax) -> ParseResult<()> {
    parser.expect_word("on")?;
    let tiles = if parser.at(TokenKind::LeftSquare) {
        TileSet::parse_notation(parser)?
    } else {
        let span = parser.span();
        let tile: u64 = parser.parse_integer("a tile or a set of tiles such as `[0:4]`")?;
        match ipu_device::LogicalTile::new(tile).and_then(|tile| TileSet::from_tiles([tile])) {
            Some(tiles) => tiles,
            None => {
                let message = format!("there is no tile {tile}, a device has tiles 0 to 1471");
                return parser.error(ParseCode::BadTileSet, span, message);
            }
        }
    };
    op.set_attribute("tiles", Attribute::dialect(tiles));
    if parser.eat_word("physical") {
        let physical = parser.parse_integer::<u16>("the id of a physical tile")?;
        op.set_attribute("physical", Attribute::i64(physical.into()));
    }
    Ok(())
}

/// The id of a physical tile is one that is read.
pub(super) fn says_tiles(module: &Module, op: OpId) -> bool {
    ImageOp::wrap(op).physical(module).is_none_or(|physical| u16::try_from(physical).is_ok())
}

pub(super) fn print_tiles(printer: &mut Printer<'_>, op: OpId) {
    let (module, image) = (printer.module(), ImageOp::wrap(op));
    let tiles = image.tiles(module);
    printer.word("on ");
    let mut members = tiles.iter();
    match (members.next(), members.next()) {
        (Some(tile), None) => printer.display(tile),
        _ => tiles.print_notation(printer),
    }
    if let Some(physical) = image.physical(module) {
        printer.display(format_args!(" physical {physical}"));
    }
}

// Kernel calls.

/// `@gemm(0x80000, 0x68000, 0x68220) {product_scale = -8}`
pub(super) fn parse_call(parser: &mut Parser<'_>, op: &mut OpSyntax) -> ParseResult<()> {
    if !Symbol::starts(parser) {
        return parser.unexpected("a kernel such as `@reduce_add_f16`");
    }
    op.set_attribute("kernel", Symbol::parse(parser)?);
    let address = |parser: &mut Parser<'_>| parser.parse_integer::<u32>("an address").map(i64::from);
    let addresses = parser.parse_list(TokenKind::LeftParen, TokenKind::RightParen, address)?;
    op.set_attribute("addresses", Attribute::i64_array(addresses));
    if parser.at(TokenKind::LeftBrace) {
        let scalars = parser.parse_attribute_dictionary()?;
        op.set_attribute("scalars", Attribute::dictionary(scalars));
    }
    Ok(())
}

pub(super) fn print_call(printer: &mut Printer<'_>, op: OpId) {
    let (module, call) = (printer.module(), CallKernelOp::wrap(op));
    printer.space();
    printer.symbol_ref(call.kernel(module));
    printer.text("(");
    printer.list(call.addresses(module), ", ", |printer, address| {
        printer.display(format_args!("0x{address:x}"));
    });
    printer.text(")");
    if let Some(scalars) = call.scalars(module) {
        printer.text(" ");
        printer.dictionary(scalars);
    }
}
