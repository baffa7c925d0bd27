//! The floating-point steps that kernels are made of, each exact but for one stated rounding.
//!
//! - An AMP accumulator is f32. Each AMP instruction adds the exact dot product of 4 f16, 8 FP8 or 1 f32 inputs to
//!   it with one rounding ([`assumptions::AMP_INNER_ROUNDING`](crate::assumptions)).
//! - A drain to f16 rounds once; a finite value past the largest f16 follows
//!   [`F16_OVERFLOW`](crate::assumptions::F16_OVERFLOW). Infinite and NaN operands follow IEEE 754; NaN is canonical.
//! - f32 subnormals are flushed where [`F32_FLUSHES_SUBNORMALS`](crate::assumptions::F32_FLUSHES_SUBNORMALS) says.

use half::f16;
use smallvec::SmallVec;

use crate::assumptions::{F16_OVERFLOW, F32_FLUSHES_SUBNORMALS};
use crate::numerics::{CANONICAL_NAN, f16_from_f64};

/// A result as f16: one rounding, the canonical NaN.
pub(super) fn to_f16(value: f64) -> f16 {
    if value.is_nan() { CANONICAL_NAN } else { f16_from_f64(value, F16_OVERFLOW) }
}

/// A result rounded to f16, as the f32 of that value.
pub(super) fn round_to_f16(value: f32) -> f32 {
    /// The f32 bits of 2^-14, the smallest normal f16.
    const LEAST: u32 = 0x3880_0000;
    /// The f32 bits of 65,520, the least value that rounds past the largest f16.
    const END: u32 = 0x477f_f000;
    /// Fraction bits that f32 has and f16 has not.
    const DROPPED: u32 = 13;
    let bits = value.to_bits();
    if !(LEAST..END).contains(&(bits & 0x7fff_ffff)) {
        return to_f16(f64::from(value)).to_f32();
    }
    let ties_to_even = (1 << (DROPPED - 1)) - 1 + ((bits >> DROPPED) & 1);
    f32::from_bits((bits + ties_to_even) & !((1 << DROPPED) - 1))
}

/// A result as f32: one rounding, the canonical NaN, subnormals flushed.
pub(super) fn to_f32(value: f64) -> f32 {
    if value.is_nan() { f32::NAN } else { flush(value as f32) }
}

/// Zero of the same sign in place of a subnormal.
pub(super) fn flush(value: f32) -> f32 {
    if F32_FLUSHES_SUBNORMALS && value.is_subnormal() { 0.0_f32.copysign(value) } else { value }
}

/// `accumulator + term` rounded once to f32; `term` is exact.
pub(super) fn add_to_f32(accumulator: f32, term: f64) -> f32 {
    let start = f64::from(accumulator);
    let (sum, error) = two_sum(start, term);
    to_f32(if error == 0.0 || !sum.is_finite() { sum } else { round_to_odd(sum, error) })
}

/// `accumulator` plus all `terms` rounded once to f32, whatever their exponents. A zero sum is positive, as the sum
/// of a zero dot product is.
pub(super) fn sum_to_f32(accumulator: f32, terms: &[f64]) -> f32 {
    let plain = terms.iter().fold(f64::from(accumulator), |sum, term| sum + term);
    if !plain.is_finite() {
        return to_f32(plain);
    }
    // Shewchuk's growing expansion: `parts` sum exactly to the sum so far, in growing magnitude, without overlap.
    let mut parts = SmallVec::<[f64; 16]>::new();
    for &term in std::iter::once(&f64::from(accumulator)).chain(terms) {
        let mut carry = term;
        let mut kept = SmallVec::<[f64; 16]>::new();
        for &part in &parts {
            let (sum, error) = two_sum(carry, part);
            if error != 0.0 {
                kept.push(error);
            }
            carry = sum;
        }
        kept.push(carry);
        parts = kept;
    }
    // From the largest part down: the first inexact addition has the whole rest on one side of it.
    let mut sum = 0.0;
    while let Some(part) = parts.pop() {
        let (next, error) = two_sum(sum, part);
        sum = next;
        if error != 0.0 {
            return to_f32(round_to_odd(sum, error));
        }
    }
    to_f32(sum + 0.0)
}

/// `a + b` rounded to f64, and the error of that rounding, exact for finite sums.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

/// The f64 next to the exact `sum + error` that has an odd last bit, so that rounding it to f32 rounds the exact
/// value. `sum` is that value rounded to nearest, `error` a non-zero number with the sign of what is left.
fn round_to_odd(sum: f64, error: f64) -> f64 {
    if sum.to_bits() & 1 == 1 {
        return sum;
    }
    if error > 0.0 { sum.next_up() } else { sum.next_down() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_in_place_equals_rounding_to_f16() {
        for bits in
            (0..=u32::MAX).step_by(0x1003).chain(0x477f_e000..0x4780_1000).chain(0x387f_f000..0x3880_1000)
        {
            let value = f32::from_bits(bits);
            let (place, half) = (round_to_f16(value), to_f16(f64::from(value)).to_f32());
            assert!(place.to_bits() == half.to_bits() || place.is_nan() && half.is_nan(), "{bits:08x}");
        }
    }

    #[test]
    fn a_sum_is_rounded_once_however_far_apart_its_terms_are() {
        let tiny = 2.0_f64.powi(-80);
        let half_ulp = 2.0_f64.powi(-24);
        assert_eq!(sum_to_f32(1.0, &[half_ulp]), 1.0, "a tie goes to even");
        assert_eq!(sum_to_f32(1.0, &[half_ulp, tiny]), 1.0_f32.next_up());
        assert_eq!(sum_to_f32(1.0, &[tiny, half_ulp, -tiny]), 1.0);
        assert_eq!(
            sum_to_f32(1.0, &[2.0_f64.powi(70), tiny, -2.0_f64.powi(70), half_ulp]),
            1.0_f32.next_up()
        );
        assert_eq!(add_to_f32(1.0_f32.next_up(), half_ulp), 1.0_f32.next_up().next_up());
        assert_eq!(sum_to_f32(-0.0, &[-0.0]).to_bits(), 0);
        assert!(sum_to_f32(0.0, &[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
    }

    #[test]
    fn subnormal_f32_results_are_flushed() {
        assert_eq!(add_to_f32(0.0, f64::from(f32::MIN_POSITIVE) / 2.0), 0.0);
        assert_eq!(add_to_f32(0.0, f64::from(f32::MIN_POSITIVE)), f32::MIN_POSITIVE);
    }
}
