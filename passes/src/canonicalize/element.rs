//! Element types of expressions, and which conversions between them are exact.

use ipu_device::numerics::{ElementType, Fp8};

/// The element type of a value of the expression graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Element {
    /// IEEE binary16.
    F16,
    /// IEEE binary32.
    F32,
    /// An 8-bit float whose codes stand for `value * 2^scale`.
    Float8 {
        /// Format of the codes.
        format: Fp8,
        /// Scale exponent of the tensor, -32..31.
        scale: i32,
    },
    /// A type that no rule converts exactly; equal numbers are equal types. The width counts in costs only.
    Other {
        /// Which type, as numbered by whoever builds the expressions.
        number: u32,
        /// Width of an element.
        bits: u32,
    },
}

/// What a binary float format holds: every multiple of `2^smallest` with at most `precision` significant bits
/// below `2^(largest + 1)`.
struct Range {
    /// Significant bits, the leading one included.
    precision: u32,
    /// Exponent of the smallest subnormal value.
    smallest: i32,
    /// Exponent of the largest binade.
    largest: i32,
}

impl Element {
    /// Width of an element.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::F16 => ElementType::F16.bits(),
            Self::F32 => ElementType::F32.bits(),
            Self::Float8 { .. } => ElementType::F143.bits(),
            Self::Other { bits, .. } => bits,
        }
    }

    /// Whether a cast to `to` keeps every value: finite ones exactly, signed zeros, infinities as infinities, NaN
    /// as NaN. Which NaN it is does not count.
    ///
    /// A scaled 8-bit format fits another float format only where the scale keeps both its smallest and its
    /// largest value inside the other's range.
    #[must_use]
    pub fn widens_exactly_to(self, to: Self) -> bool {
        if self == to {
            return true;
        }
        // An 8-bit format at another scale loses one end of its range, and it has neither infinities nor a
        // negative zero for those of wider types.
        if matches!(to, Self::Float8 { .. }) {
            return false;
        }
        match (self.range(), to.range()) {
            (Some(from), Some(to)) => {
                from.precision <= to.precision && from.smallest >= to.smallest && from.largest <= to.largest
            }
            _ => false,
        }
    }

    fn range(self) -> Option<Range> {
        match self {
            Self::F16 => Some(Range { precision: 11, smallest: -24, largest: 15 }),
            Self::F32 => Some(Range { precision: 24, smallest: -149, largest: 127 }),
            Self::Float8 { format, scale } => {
                let fraction = format.fraction_bits() as i32;
                Some(Range {
                    precision: format.fraction_bits() + 1,
                    smallest: (1 - format.bias() - fraction).saturating_add(scale),
                    // The exponent field has 2 * bias values, all of them of finite numbers.
                    largest: (format.bias() - 1).saturating_add(scale),
                })
            }
            Self::Other { .. } => None,
        }
    }
}
