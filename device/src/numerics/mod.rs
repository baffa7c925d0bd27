//! Numbers as the chip stores them: element types, f16 and FP8 conversion, distances, verdicts.
//!
//! Rules this folder keeps:
//! - conversions are decided by bits and round once, to nearest with ties to even;
//! - what happens past the largest value is an argument ([`Overflow`]), never a hidden default;
//! - any NaN equals any NaN; a NaN that arithmetic makes is the canonical quiet one.

mod compare;
mod element;
mod fp8;
mod half_precision;

pub use compare::{Mismatch, Tolerance, Verdict, compare, ulp_distance, ulp_distance_f16, ulp_distance_f32};
pub use element::{ElementType, NumericsCode, NumericsError, decode_elements, encode_elements};
pub use fp8::{FP8_SCALE_MAX, FP8_SCALE_MIN, Fp8, power_of_two};
pub use half::f16;
pub use half_precision::{CANONICAL_NAN, f16_from_f32, f16_from_f64};

/// What a conversion to a narrower format does with a finite value that rounds past the largest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// The largest finite value of that sign. An infinite input stays infinite where the format has infinities
    /// and becomes NaN where it has none.
    Saturate,
    /// Infinity, as IEEE 754 says; NaN in a format without infinities.
    Infinity,
    /// NaN.
    Nan,
}
