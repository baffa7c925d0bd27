//! `#ipu.tolerance<absolute = A, relative = R>`: how far a result may be from its reference.

use ipu_device::numerics::Tolerance;

use crate::codes::ParseCode;
use crate::ir::{Attribute, DialectValue};
use crate::lexer::TokenKind;
use crate::parser::{ParseResult, Parser};
use crate::printer::Printer;

/// The tolerance of a result without the attribute.
pub const DEFAULT_TOLERANCE: Tolerance = Tolerance { absolute: 0.03, relative: 0.03 };

/// How far a result may be from its reference: `|actual - reference| <= absolute + relative * |reference|`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ToleranceAttribute {
    /// Codes of the two bounds as `f64`: finite, not negative.
    absolute_bits: u64,
    relative_bits: u64,
}

impl ToleranceAttribute {
    /// The attribute of that tolerance; `None` unless both bounds are finite and not negative.
    #[must_use]
    pub fn new(tolerance: Tolerance) -> Option<Self> {
        let Tolerance { absolute, relative } = tolerance;
        let valid = [absolute, relative].iter().all(|bound| bound.is_finite() && *bound >= 0.0);
        valid.then_some(Self { absolute_bits: absolute.to_bits(), relative_bits: relative.to_bits() })
    }

    /// The tolerance.
    #[must_use]
    pub fn tolerance(&self) -> Tolerance {
        Tolerance {
            absolute: f64::from_bits(self.absolute_bits),
            relative: f64::from_bits(self.relative_bits),
        }
    }
}

impl DialectValue for ToleranceAttribute {
    const NAME: &'static str = "ipu.tolerance";

    fn parse(parser: &mut Parser<'_>) -> ParseResult<Self> {
        let start = parser.span();
        parser.expect(TokenKind::Less, "`<absolute = ..., relative = ...>`")?;
        let absolute = bound(parser, "absolute")?;
        parser.expect(TokenKind::Comma, "`,`")?;
        let relative = bound(parser, "relative")?;
        let tolerance = absolute.zip(relative);
        let tolerance =
            tolerance.and_then(|(absolute, relative)| Self::new(Tolerance { absolute, relative }));
        let Some(tolerance) = tolerance else {
            let span = parser.span_since(start);
            return parser.error(
                ParseCode::BadAttribute,
                span,
                "bounds must be finite floats of at least 0.0",
            );
        };
        parser.expect(TokenKind::Greater, "`>`")?;
        Ok(tolerance)
    }

    fn print(&self, printer: &mut Printer<'_>) {
        let Tolerance { absolute, relative } = self.tolerance();
        printer.text("<absolute = ");
        printer.attribute(&Attribute::f64(absolute));
        printer.text(", relative = ");
        printer.attribute(&Attribute::f64(relative));
        printer.text(">");
    }
}

fn bound(parser: &mut Parser<'_>, name: &str) -> ParseResult<Option<f64>> {
    parser.expect_word(name)?;
    parser.expect(TokenKind::Equal, "`=`")?;
    Ok(parser.parse_attribute()?.as_f64())
}
