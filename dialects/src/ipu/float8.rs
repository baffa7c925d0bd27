//! `!ipu.f143<scale>` and `!ipu.f152<scale>`: 8-bit floats with a power-of-two scale for the whole tensor.
//!
//! A code stands for its value times 2^scale. The formats themselves are `ipu_device`'s.

use crate::codes::ParseCode;
use crate::ir::{DialectValue, Type};
use crate::lexer::TokenKind;
use crate::parser::{ParseResult, Parser};
use crate::printer::Printer;

/// Least scale exponent.
pub const MIN_SCALE: i8 = -32;
/// Greatest scale exponent.
pub const MAX_SCALE: i8 = 31;

macro_rules! float8 {
    ($(#[$meta:meta])* $name:ident, $text:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name {
            /// Exponent of the tensor's scale, -32 to 31.
            pub scale: i8,
        }

        impl $name {
            /// The type with that scale; `None` out of range.
            #[must_use]
            pub fn new(scale: i8) -> Option<Self> {
                (MIN_SCALE..=MAX_SCALE).contains(&scale).then_some(Self { scale })
            }
        }

        impl DialectValue for $name {
            const NAME: &'static str = $text;

            fn parse(parser: &mut Parser<'_>) -> ParseResult<Self> {
                parse_scale(parser).map(|scale| Self { scale })
            }

            fn print(&self, printer: &mut Printer<'_>) {
                printer.display(format_args!("<{}>", self.scale));
            }

            fn element_bits(&self) -> Option<u32> {
                Some(8)
            }
        }
    };
}

float8! {
    /// FP8 with 4 exponent and 3 mantissa bits.
    F143, "ipu.f143"
}
float8! {
    /// FP8 with 5 exponent and 2 mantissa bits.
    F152, "ipu.f152"
}

fn parse_scale(parser: &mut Parser<'_>) -> ParseResult<i8> {
    parser.expect(TokenKind::Less, "`<` and the exponent of the scale")?;
    let start = parser.span();
    let scale: i64 = parser.parse_integer("the exponent of the scale")?;
    let in_range = (i64::from(MIN_SCALE)..=i64::from(MAX_SCALE)).contains(&scale);
    if !in_range {
        let span = parser.span_since(start);
        let message = format!("the exponent of the scale is {scale}, expected {MIN_SCALE} to {MAX_SCALE}");
        return parser.error(ParseCode::BadType, span, message);
    }
    parser.expect(TokenKind::Greater, "`>`")?;
    Ok(scale as i8)
}

/// Whether `ty` is a float that tensors compute with: a builtin float or an FP8 type.
#[must_use]
pub fn is_float(ty: &Type) -> bool {
    ty.as_float().is_some() || ty.dialect_value::<F143>().is_some() || ty.dialect_value::<F152>().is_some()
}
