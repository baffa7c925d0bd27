//! Exactness of conversions, against the codes of the formats.

use ipu_device::numerics::{ElementType, Fp8, decode_elements};

use crate::canonicalize::element::Element;

use super::evaluator::{round, stored};

/// All values of a type; for f32 those that narrower types cannot hold.
fn values(element: Element) -> Vec<f64> {
    let (stored, scale) = stored(element);
    let bytes: Vec<u8> = match stored {
        ElementType::F32 => [f32::MAX, f32::MIN_POSITIVE, 1.0 + f32::EPSILON, f32::INFINITY]
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect(),
        ElementType::F16 => (0..=u16::MAX).flat_map(u16::to_le_bytes).collect(),
        _ => (0..=u8::MAX).collect(),
    };
    decode_elements(stored, scale, &bytes).unwrap()
}

fn all_types() -> Vec<Element> {
    let scaled = |format| (-32..=31).map(move |scale| Element::Float8 { format, scale });
    let wide = [Element::F16, Element::F32];
    wide.into_iter().chain(scaled(Fp8::F143)).chain(scaled(Fp8::F152)).collect()
}

#[test]
fn a_conversion_is_exact_where_every_code_says_so() {
    let types = all_types();
    let mut exact_pairs = 0;
    for &from in &types {
        let values = values(from);
        for &to in &types {
            let same = |(one, other): (&f64, &f64)| {
                one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan()
            };
            let exact = values.iter().zip(&round(&values, to)).all(same);
            assert_eq!(from.widens_exactly_to(to), exact, "{from:?} to {to:?}");
            exact_pairs += u32::from(exact);
        }
    }
    // Every type to itself; f16 to f32; 128 scaled types to f32; F143 at -14..=8 and F152 at -7..=0 to f16.
    assert_eq!(exact_pairs, 130 + 1 + 128 + 23 + 8);
}

#[test]
fn an_unknown_type_converts_exactly_to_itself_only() {
    let other = |number| Element::Other { number, bits: 32 };
    assert!(other(0).widens_exactly_to(other(0)));
    assert!(!other(0).widens_exactly_to(other(1)));
    assert!(!other(0).widens_exactly_to(Element::F32));
    assert!(!Element::F16.widens_exactly_to(other(0)));
}
