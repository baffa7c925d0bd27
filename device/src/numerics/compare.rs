//! Verdicts: how far a result is from its reference, and which elements are wrong.
//!
//! A NaN reference needs a NaN; an infinite one needs the same infinity; otherwise the result must be finite and
//! `|actual - reference| <= absolute + relative * |reference|`.

use half::f16;

/// How far a result may be from its reference.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Tolerance {
    /// Allowed absolute error.
    pub absolute: f64,
    /// Allowed error relative to the magnitude of the reference, added to the absolute one.
    pub relative: f64,
}

impl Tolerance {
    /// Bit equality, any NaN equal to any NaN and 0 equal to -0.
    pub const EXACT: Self = Self { absolute: 0.0, relative: 0.0 };

    /// Whether `actual` is acceptable for `reference`.
    #[must_use]
    pub fn accepts(&self, reference: f64, actual: f64) -> bool {
        if reference.is_nan() {
            return actual.is_nan();
        }
        if reference.is_infinite() {
            return actual == reference;
        }
        actual.is_finite() && (actual - reference).abs() <= self.absolute + self.relative * reference.abs()
    }
}

/// One element outside tolerance.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Mismatch {
    /// Index of the element in the compared slices.
    pub index: usize,
    /// What was wanted.
    pub reference: f64,
    /// What came.
    pub actual: f64,
    /// `|actual - reference|`; infinite where exactly one of the two is finite, or two non-finite values differ.
    pub error: f64,
}

/// The outcome of a comparison.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Verdict {
    /// Elements compared.
    pub elements: usize,
    /// Elements outside tolerance.
    pub mismatches: usize,
    /// Largest error over all elements, within tolerance or not; infinite if a non-finite value mismatches.
    pub max_abs_error: f64,
    /// Index of the first element that has it, in the order of comparison.
    pub max_abs_error_index: Option<usize>,
    /// Mean error over elements that are finite in both.
    pub mean_abs_error: f64,
    /// The first mismatches, in the order of comparison.
    pub first: Vec<Mismatch>,
}

impl Verdict {
    /// Whether every element is within tolerance.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.mismatches == 0
    }
}

/// Compares `actual` with `reference` at the indices that `order` yields, each once, keeping the first `keep`
/// mismatches. An index past either slice is a mismatch of a missing value (NaN against NaN never hides it).
#[must_use]
pub fn compare(
    reference: &[f64],
    actual: &[f64],
    tolerance: Tolerance,
    order: impl IntoIterator<Item = usize>,
    keep: usize,
) -> Verdict {
    let mut verdict = Verdict {
        elements: 0,
        mismatches: 0,
        max_abs_error: 0.0,
        max_abs_error_index: None,
        mean_abs_error: 0.0,
        first: Vec::new(),
    };
    let (mut sum, mut finite) = (0.0, 0_usize);
    for index in order {
        verdict.elements += 1;
        let pair = reference.get(index).copied().zip(actual.get(index).copied());
        let (wanted, came) = pair.unwrap_or((f64::NAN, f64::NAN));
        let error = error_between(wanted, came, pair.is_some());
        if error.is_finite() {
            sum += error;
            finite += 1;
        }
        if error > verdict.max_abs_error {
            verdict.max_abs_error = error;
            verdict.max_abs_error_index = Some(index);
        }
        if pair.is_some() && tolerance.accepts(wanted, came) {
            continue;
        }
        verdict.mismatches += 1;
        if verdict.first.len() < keep {
            verdict.first.push(Mismatch { index, reference: wanted, actual: came, error });
        }
    }
    verdict.mean_abs_error = if finite == 0 { 0.0 } else { sum / finite as f64 };
    verdict
}

fn error_between(reference: f64, actual: f64, present: bool) -> f64 {
    if present && (reference == actual || (reference.is_nan() && actual.is_nan())) {
        return 0.0;
    }
    let error = (actual - reference).abs();
    if present && error.is_finite() { error } else { f64::INFINITY }
}

/// Representable values between two f16, 0 for equal ones and for 0 and -0; `None` if either is NaN.
#[must_use]
pub fn ulp_distance_f16(a: f16, b: f16) -> Option<u32> {
    let place = |value: f16| {
        let magnitude = i32::from(value.to_bits() & 0x7fff);
        if value.to_bits() & 0x8000 == 0 { magnitude } else { -magnitude }
    };
    (!a.is_nan() && !b.is_nan()).then(|| place(a).abs_diff(place(b)))
}

/// Representable values between two f32, 0 for equal ones and for 0 and -0; `None` if either is NaN.
#[must_use]
pub fn ulp_distance_f32(a: f32, b: f32) -> Option<u64> {
    let place = |value: f32| {
        let magnitude = i64::from(value.to_bits() & 0x7fff_ffff);
        if value.to_bits() >> 31 == 0 { magnitude } else { -magnitude }
    };
    (!a.is_nan() && !b.is_nan()).then(|| place(a).abs_diff(place(b)))
}
