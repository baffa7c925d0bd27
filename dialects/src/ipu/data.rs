//! Test data of inputs and weights: `#ipu.normal<...>`, `#ipu.iota`, `#ipu.npy<"a.npy">`.
//!
//! The attribute names the data; what it means is the business of whoever generates or loads it.

use ipu_device::numerics::ElementType;

use crate::codes::ParseCode;
use crate::ir::{Attribute, DialectValue};
use crate::lexer::TokenKind;
use crate::parser::{ParseResult, Parser};
use crate::printer::Printer;

/// Normally distributed values of mean 0, the same for the same seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Normal {
    /// Seed of the generator.
    pub seed: u64,
    /// Code of the standard deviation as an `f64`: finite, not negative.
    sigma_bits: u64,
}

impl Normal {
    /// The data with that seed and standard deviation; `None` unless it is finite and not negative.
    #[must_use]
    pub fn new(seed: u64, sigma: f64) -> Option<Self> {
        (sigma.is_finite() && sigma >= 0.0).then_some(Self { seed, sigma_bits: sigma.to_bits() })
    }

    /// Standard deviation.
    #[must_use]
    pub fn sigma(&self) -> f64 {
        f64::from_bits(self.sigma_bits)
    }
}

impl DialectValue for Normal {
    const NAME: &'static str = "ipu.normal";

    fn parse(parser: &mut Parser<'_>) -> ParseResult<Self> {
        parser.expect(TokenKind::Less, "`<seed = ..., sigma = ...>`")?;
        parser.expect_word("seed")?;
        parser.expect(TokenKind::Equal, "`=`")?;
        let seed = parser.parse_integer("a seed")?;
        parser.expect(TokenKind::Comma, "`,`")?;
        parser.expect_word("sigma")?;
        parser.expect(TokenKind::Equal, "`=`")?;
        let span = parser.span();
        let sigma = parser.parse_attribute()?.as_f64().and_then(|sigma| Self::new(seed, sigma));
        let Some(normal) = sigma else {
            return parser.error(
                ParseCode::BadAttribute,
                span,
                "`sigma` must be a finite float of at least 0.0",
            );
        };
        parser.expect(TokenKind::Greater, "`>`")?;
        Ok(normal)
    }

    fn print(&self, printer: &mut Printer<'_>) {
        // Seeds past 32 bits are bit patterns.
        if self.seed > u64::from(u32::MAX) {
            printer.display(format_args!("<seed = {:#x}, sigma = ", self.seed));
        } else {
            printer.display(format_args!("<seed = {}, sigma = ", self.seed));
        }
        printer.attribute(&Attribute::f64(self.sigma()));
        printer.text(">");
    }
}

/// 0, 1, 2, ... in row-major order, or counted from `start`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Iota {
    /// The first element.
    pub start: i64,
}

impl DialectValue for Iota {
    const NAME: &'static str = "ipu.iota";

    fn parse(parser: &mut Parser<'_>) -> ParseResult<Self> {
        if !parser.eat(TokenKind::Less) {
            return Ok(Self { start: 0 });
        }
        parser.expect_word("start")?;
        parser.expect(TokenKind::Equal, "`=` and the first element")?;
        let start = parser.parse_integer("an integer of 64 bits")?;
        parser.expect(TokenKind::Greater, "`>`")?;
        Ok(Self { start })
    }

    fn print(&self, printer: &mut Printer<'_>) {
        match self.start {
            0 => {}
            start if start > 0xffff => printer.display(format_args!("<start = {start:#x}>")),
            start => printer.display(format_args!("<start = {start}>")),
        }
    }
}

/// The contents of a NumPy file, by path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Npy {
    /// Path, as written.
    pub path: String,
}

impl DialectValue for Npy {
    const NAME: &'static str = "ipu.npy";

    fn parse(parser: &mut Parser<'_>) -> ParseResult<Self> {
        parser.expect(TokenKind::Less, "`<` and the path of a file")?;
        let path = parser.parse_string("the path of a file")?;
        parser.expect(TokenKind::Greater, "`>`")?;
        Ok(Self { path: path.into_owned() })
    }

    fn print(&self, printer: &mut Printer<'_>) {
        printer.text("<");
        printer.string(self.path.as_bytes());
        printer.text(">");
    }
}

/// The same values over and over: element `i` in row-major order is value `i` modulo their number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cycle {
    /// The values, at least one, all numbers.
    values: Vec<Attribute>,
}

impl Cycle {
    /// The values.
    pub fn values(&self) -> impl ExactSizeIterator<Item = f64> + '_ {
        self.values.iter().map(|value| number(value).unwrap_or(f64::NAN))
    }
}

fn number(attribute: &Attribute) -> Option<f64> {
    attribute.as_f64().or_else(|| attribute.as_i64().map(|value| value as f64))
}

impl DialectValue for Cycle {
    const NAME: &'static str = "ipu.cycle";

    fn parse(parser: &mut Parser<'_>) -> ParseResult<Self> {
        parser.expect(TokenKind::Less, "`<[` and values")?;
        let span = parser.span();
        let values = parser
            .parse_list(TokenKind::LeftSquare, TokenKind::RightSquare, |parser| parser.parse_attribute())?;
        if values.is_empty() || values.iter().any(|value| number(value).is_none()) {
            let span = parser.span_since(span);
            return parser.error(ParseCode::BadAttribute, span, "a cycle is made of numbers, at least one");
        }
        parser.expect(TokenKind::Greater, "`>`")?;
        Ok(Self { values })
    }

    fn print(&self, printer: &mut Printer<'_>) {
        printer.text("<[");
        printer.list(&self.values, ", ", |printer, value| printer.attribute(value));
        printer.text("]>");
    }
}

/// The values at the edges of the tensor's type, over and over: zeros, subnormals, the largest, infinities, NaN, and values
/// halfway between two of the next narrower type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Edges;

impl Edges {
    /// The codes, in the order in which they come.
    #[must_use]
    pub fn codes(element: ElementType) -> &'static [u32] {
        match element {
            // 0, -0, 1, -1; least and largest subnormal; least normal; largest, its negative; infinities, NaN; ties for f16:
            // 1 + 2^-11 to even below, 1 + 3 * 2^-11 to even above.
            ElementType::F32 => &[
                0,
                0x8000_0000,
                0x3f80_0000,
                0xbf80_0000,
                1,
                0x007f_ffff,
                0x0080_0000,
                0x7f7f_ffff,
                0xff7f_ffff,
                0x7f80_0000,
                0xff80_0000,
                0x7fc0_0000,
                0x3f80_1000,
                0x3f80_3000,
            ],
            // The same, ties for 3 bits of mantissa: 1 + 2^-4 and 1 + 3 * 2^-4.
            ElementType::F16 => &[
                0, 0x8000, 0x3c00, 0xbc00, 1, 0x03ff, 0x0400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x3c40,
                0x3cc0,
            ],
            // 0, NaN, least, largest subnormal, least normal, 1 at scale 0, largest and their negatives.
            ElementType::F143 => &[0, 0x80, 0x01, 0x07, 0x08, 0x40, 0x7f, 0x81, 0x87, 0x88, 0xc0, 0xff],
            ElementType::F152 => &[0, 0x80, 0x01, 0x03, 0x04, 0x40, 0x7f, 0x81, 0x83, 0x84, 0xc0, 0xff],
            ElementType::I32 => &[0, 1, 0xffff_ffff, 0x7fff_ffff, 0x8000_0000],
            ElementType::U32 => &[0, 1, 0xffff_ffff, 0x8000_0000],
            ElementType::I16 => &[0, 1, 0xffff, 0x7fff, 0x8000],
            ElementType::U16 => &[0, 1, 0xffff, 0x8000],
            ElementType::I8 => &[0, 1, 0xff, 0x7f, 0x80],
            ElementType::U8 => &[0, 1, 0xff, 0x80],
        }
    }

    /// The bytes of `count` elements.
    #[must_use]
    pub fn bytes(element: ElementType, count: u64) -> Vec<u8> {
        let width = element.bytes() as usize;
        let codes = Self::codes(element).iter().cycle().take(usize::try_from(count).unwrap_or(0));
        codes.flat_map(|code| code.to_le_bytes().into_iter().take(width)).collect()
    }
}

impl DialectValue for Edges {
    const NAME: &'static str = "ipu.edges";

    fn parse(_parser: &mut Parser<'_>) -> ParseResult<Self> {
        Ok(Self)
    }

    fn print(&self, _printer: &mut Printer<'_>) {}
}
