//! f16 and FP8 conversion against the vector files: all codes of both FP8 formats, all f16 into both, f32 into f16.

use ipu_device::numerics::{
    ElementType, Fp8, NumericsCode, Overflow, decode_elements, encode_elements, f16, f16_from_f32,
    f16_from_f64,
};

fn rows(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

fn hex(text: &str) -> u32 {
    u32::from_str_radix(text, 16).expect("hexadecimal column")
}

fn format_of(name: &str) -> Fp8 {
    ElementType::from_name(name).and_then(ElementType::fp8).expect("an FP8 format")
}

#[test]
fn every_fp8_code_decodes_as_tabled() {
    for (format, table) in [
        (Fp8::F143, include_str!("data/vectors/f143_decode.tsv")),
        (Fp8::F152, include_str!("data/vectors/f152_decode.tsv")),
    ] {
        let mut codes = 0;
        for row in rows(table) {
            let (code, wanted) = (hex(row[0]) as u8, f32::from_bits(hex(row[1])));
            let value = format.decode(code, 0) as f32;
            assert!(
                value == wanted && value.is_sign_negative() == wanted.is_sign_negative()
                    || value.is_nan() && wanted.is_nan()
            );
            assert_eq!(format.values()[usize::from(code)].is_nan(), wanted.is_nan());
            codes += 1;
        }
        assert_eq!(codes, 256);
    }
}

#[test]
fn every_f16_converts_to_both_formats_as_tabled() {
    for (format, overflow, table) in [
        (Fp8::F143, Overflow::Saturate, include_bytes!("data/vectors/f16_to_f143_sat.bin")),
        (Fp8::F143, Overflow::Nan, include_bytes!("data/vectors/f16_to_f143_nanoo.bin")),
        (Fp8::F152, Overflow::Saturate, include_bytes!("data/vectors/f16_to_f152_sat.bin")),
        (Fp8::F152, Overflow::Nan, include_bytes!("data/vectors/f16_to_f152_nanoo.bin")),
    ] {
        assert_eq!(table.len(), 65_536);
        for (bits, &wanted) in (0..=u16::MAX).zip(table) {
            let code = format.encode(f16::from_bits(bits).to_f64(), 0, overflow);
            assert_eq!(code, wanted, "{format:?} {overflow:?} of f16 {bits:04x}");
        }
    }
}

#[test]
fn scaled_conversion_rounds_once() {
    let mut cases = 0;
    for row in rows(include_str!("data/vectors/f16_to_f8_scaled.tsv")) {
        let (format, scale) = (format_of(row[0]), row[1].parse().expect("a scale"));
        let code = format.encode(f16::from_bits(hex(row[2]) as u16).to_f64(), scale, Overflow::Saturate);
        assert_eq!(u32::from(code), hex(row[3]), "{row:?}");
        let (value, wanted) = (format.decode(code, scale), f64::from(f32::from_bits(hex(row[4]))));
        assert!(value == wanted || value.is_nan() && wanted.is_nan(), "{row:?}");
        cases += 1;
    }
    assert_eq!(cases, 2000);
}

#[test]
fn f32_narrows_to_f16_as_tabled() {
    let mut cases = 0;
    for row in rows(include_str!("data/vectors/f32_to_f16_rne.tsv")) {
        let half = f16_from_f32(f32::from_bits(hex(row[0])), Overflow::Infinity);
        assert_eq!(u32::from(half.to_bits()), hex(row[1]), "{row:?}");
        cases += 1;
    }
    assert_eq!(cases, 4000);
}

#[test]
fn every_f16_survives_widening_and_narrowing() {
    for bits in 0..=u16::MAX {
        let half = f16::from_bits(bits);
        let back = f16_from_f64(half.to_f64(), Overflow::Saturate);
        assert!(back.to_bits() == bits || half.is_nan() && back.is_nan(), "{bits:04x}");
    }
}

#[test]
fn narrowing_picks_the_nearest_f16_and_the_even_one_of_a_tie() {
    // Between each two neighbours: just below the middle, the middle, just above.
    for bits in 0..0x7bff_u16 {
        let (low, high) = (f16::from_bits(bits).to_f64(), f16::from_bits(bits + 1).to_f64());
        let middle = f64::midpoint(low, high);
        let narrow = |value| f16_from_f64(value, Overflow::Infinity).to_bits();
        assert_eq!(narrow(middle.next_down()), bits);
        assert_eq!(narrow(middle), bits + (bits & 1));
        assert_eq!(narrow(middle.next_up()), bits + 1);
        assert_eq!(narrow(-middle), 0x8000 | (bits + (bits & 1)));
    }
}

#[test]
fn past_the_largest_f16_the_policy_decides() {
    let tie = 65_520.0_f64;
    for overflow in [Overflow::Saturate, Overflow::Infinity, Overflow::Nan] {
        assert_eq!(f16_from_f64(tie.next_down(), overflow), f16::MAX);
        assert_eq!(f16_from_f64(f64::INFINITY, overflow), f16::INFINITY);
    }
    for value in [tie, 1e9, f64::MAX] {
        assert_eq!(f16_from_f64(value, Overflow::Saturate), f16::MAX);
        assert_eq!(f16_from_f64(-value, Overflow::Saturate), f16::MIN);
        assert_eq!(f16_from_f64(-value, Overflow::Infinity), f16::NEG_INFINITY);
        assert!(f16_from_f64(value, Overflow::Nan).is_nan());
    }
}

#[test]
fn buffers_of_every_type_round_trip() {
    for &element in ElementType::ALL {
        let scale = if element.fp8().is_some() { -3 } else { 0 };
        let values = [0.0, 1.0, 2.0, 3.0, 12.0];
        let bytes = encode_elements(element, scale, Overflow::Saturate, values).expect("valid scale");
        assert_eq!(bytes.len(), values.len() * element.bytes() as usize);
        assert_eq!(decode_elements(element, scale, &bytes).expect("whole elements"), values, "{element}");
        assert_eq!(ElementType::from_name(element.name()), Some(element));
    }
}

#[test]
fn buffers_end_with_an_element_and_scales_are_those_of_the_type() {
    let code = |element, scale, bytes: &[u8]| decode_elements(element, scale, bytes).unwrap_err().code;
    assert_eq!(code(ElementType::F16, 0, &[0; 3]), NumericsCode::PartialElement);
    assert_eq!(code(ElementType::F16, 1, &[0; 2]), NumericsCode::BadScale);
    assert_eq!(code(ElementType::F143, 32, &[0; 2]), NumericsCode::BadScale);
}
