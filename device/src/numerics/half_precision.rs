//! Conversion to f16, decided by bits: one rounding from f64, to nearest with ties to even.
//!
//! `half` stores f16 and widens it; its narrowing from f64 goes through f32 on some machines, so narrowing is here.

use half::f16;

use super::Overflow;

/// The NaN that arithmetic makes.
pub const CANONICAL_NAN: f16 = f16::from_bits(0x7e00);

/// Fraction bits of an f64.
const F64_FRACTION_BITS: u32 = 52;
/// Fraction bits of an f16.
const F16_FRACTION_BITS: u32 = 10;
/// Exponent of the smallest normal f16 value, 2^-14.
const F16_MIN_EXPONENT: i32 = -14;
/// Exponent of the largest f16 binade, up to 65,504.
const F16_MAX_EXPONENT: i32 = 15;

/// `value` rounded once to f16. NaN becomes the canonical NaN with the sign of `value`.
#[must_use]
pub fn f16_from_f64(value: f64, overflow: Overflow) -> f16 {
    let bits = value.to_bits();
    let sign = ((bits >> 48) & 0x8000) as u16;
    if value.is_nan() {
        return f16::from_bits(sign | CANONICAL_NAN.to_bits());
    }
    if value.is_infinite() {
        return f16::from_bits(sign | 0x7c00);
    }
    let biased = ((bits >> F64_FRACTION_BITS) & 0x7ff) as i32;
    if biased == 0 {
        // Zero, or an f64 subnormal: far below half of the smallest f16.
        return f16::from_bits(sign);
    }
    let exponent = biased - 1023;
    if exponent > F16_MAX_EXPONENT {
        return overflowed(sign, overflow);
    }
    let significand = (bits & ((1 << F64_FRACTION_BITS) - 1)) | (1 << F64_FRACTION_BITS);
    let below_normal = (F16_MIN_EXPONENT - exponent).max(0) as u32;
    let rounded = round_shift(significand, F64_FRACTION_BITS - F16_FRACTION_BITS + below_normal);
    // The leading bit of a normal significand adds one to the exponent field, and so does a carry out of rounding.
    let field = if below_normal == 0 { (exponent - F16_MIN_EXPONENT) as u64 } else { 0 };
    let magnitude = (field << F16_FRACTION_BITS) + rounded;
    if magnitude >= 0x7c00 {
        return overflowed(sign, overflow);
    }
    f16::from_bits(sign | magnitude as u16)
}

/// `value` rounded once to f16.
#[must_use]
pub fn f16_from_f32(value: f32, overflow: Overflow) -> f16 {
    f16_from_f64(f64::from(value), overflow)
}

/// `significand / 2^shift` to nearest, ties to even.
pub(super) fn round_shift(significand: u64, shift: u32) -> u64 {
    if shift == 0 {
        return significand;
    }
    if shift > 63 {
        return 0;
    }
    let kept = significand >> shift;
    let rest = significand & ((1 << shift) - 1);
    let half = 1 << (shift - 1);
    kept + u64::from(rest > half || (rest == half && kept & 1 == 1))
}

fn overflowed(sign: u16, overflow: Overflow) -> f16 {
    f16::from_bits(match overflow {
        Overflow::Saturate => sign | 0x7bff,
        Overflow::Infinity => sign | 0x7c00,
        Overflow::Nan => CANONICAL_NAN.to_bits(),
    })
}
