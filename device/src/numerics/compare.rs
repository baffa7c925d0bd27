//! Verdicts: how far a result is from its reference, and which elements are wrong.
//!
//! A NaN reference needs a NaN; an infinite one needs the same infinity; otherwise the result must be finite and
//! `|actual - reference| <= absolute + relative * |reference|`.

use half::f16;

use super::ElementType;

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
    let distance = || ulp_distance(ElementType::F16, a.to_bits().into(), b.to_bits().into());
    (!a.is_nan() && !b.is_nan()).then(distance)
}

/// Representable values between two f32, 0 for equal ones and for 0 and -0; `None` if either is NaN.
#[must_use]
pub fn ulp_distance_f32(a: f32, b: f32) -> Option<u64> {
    let distance = || u64::from(ulp_distance(ElementType::F32, a.to_bits(), b.to_bits()));
    (!a.is_nan() && !b.is_nan()).then(distance)
}

/// Representable values between two elements of type `element`, given as their bits; for floats 0 between 0 and -0. NaN counts
/// as the bits that it has.
#[must_use]
pub fn ulp_distance(element: ElementType, a: u32, b: u32) -> u32 {
    let bits = 8 * element.bytes();
    let place = |value: u32| {
        let value = i64::from(value);
        let sign = 1_i64 << (bits - 1);
        match element {
            ElementType::U32 | ElementType::U16 | ElementType::U8 => value,
            ElementType::I32 | ElementType::I16 | ElementType::I8 => (value ^ sign) - sign,
            _ if value & sign == 0 => value,
            _ => -(value & !sign),
        }
    };
    u32::try_from(place(a).abs_diff(place(b))).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOSE: Tolerance = Tolerance { absolute: 0.5, relative: 0.25 };

    #[test]
    fn non_finite_references_need_the_same_kind() {
        let (nan, infinite) = (f64::NAN, f64::INFINITY);
        for (reference, actual, accepted) in [
            (nan, nan, true),
            (nan, 0.0, false),
            (0.0, nan, false),
            (infinite, infinite, true),
            (infinite, -infinite, false),
            (infinite, 65_504.0, false),
            (65_504.0, infinite, false),
            (4.0, 5.5, true),
            (4.0, 5.6, false),
            (-4.0, -2.5, true),
        ] {
            assert_eq!(LOOSE.accepts(reference, actual), accepted, "{reference} {actual}");
        }
        assert!(Tolerance::EXACT.accepts(0.0, -0.0) && !Tolerance::EXACT.accepts(1.0, 1.0 + f64::EPSILON));
    }

    #[test]
    fn mismatches_come_in_the_order_asked_for() {
        let reference = [0.0, 1.0, 2.0, f64::NAN];
        let actual = [9.0, 1.25, 7.0, f64::NAN];
        let verdict = compare(&reference, &actual, LOOSE, [3, 2, 1, 0], 1);
        assert_eq!((verdict.elements, verdict.mismatches, verdict.passed()), (4, 2, false));
        assert_eq!(verdict.first, [Mismatch { index: 2, reference: 2.0, actual: 7.0, error: 5.0 }]);
        assert_eq!((verdict.max_abs_error, verdict.max_abs_error_index), (9.0, Some(0)));
        assert_eq!(verdict.mean_abs_error, (0.0 + 5.0 + 0.25 + 9.0) / 4.0);
    }

    #[test]
    fn a_missing_element_is_a_mismatch() {
        let verdict = compare(&[f64::NAN], &[], Tolerance::EXACT, [0, 1], 8);
        assert_eq!((verdict.mismatches, verdict.max_abs_error), (2, f64::INFINITY));
    }

    #[test]
    fn distances_count_representable_values() {
        assert_eq!(ulp_distance_f16(f16::from_bits(0x8000), f16::from_bits(0)), Some(0));
        assert_eq!(ulp_distance_f16(f16::from_bits(0x8001), f16::from_bits(2)), Some(3));
        assert_eq!(ulp_distance(ElementType::F16, 0x8001, 2), 3);
        assert_eq!(ulp_distance(ElementType::F143, 0x7f, 0x7e), 1);
        assert_eq!(ulp_distance(ElementType::I8, 0xff, 1), 2);
        assert_eq!(ulp_distance(ElementType::U8, 0xff, 1), 254);
        assert_eq!(ulp_distance_f16(f16::NAN, f16::ONE), None);
        assert_eq!(ulp_distance_f32(1.0, 1.0_f32.next_up()), Some(1));
        assert_eq!(ulp_distance_f32(-1.0, 1.0), Some(2 * u64::from(1.0_f32.to_bits())));
    }
}
