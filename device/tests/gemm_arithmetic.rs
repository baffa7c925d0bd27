//! GEMM arithmetic against a second implementation in exact integers over coordinates, and against the error bounds
//! of the GEMM vectors.

use ipu_device::kernels::{BufferMemory, Kernel, KernelEntry, ShardLayout};
use ipu_device::numerics::{ElementType, Overflow, decode_elements, encode_elements, f16};
use ipu_device::orders::{ElementOrder, MatrixShape};
use proptest::prelude::*;

/// A GEMM on row-major matrices of stored elements.
#[derive(Debug)]
struct Case {
    operand: ElementType,
    partial: ElementType,
    scales: (i32, i32),
    /// Rows, inner elements, columns; inner and columns already padded.
    size: (u32, u32, u32),
    a: Vec<u8>,
    b: Vec<u8>,
    /// What to accumulate into, where the call accumulates.
    start: Option<Vec<u8>>,
}

fn reorder(
    bytes: &[u8],
    element: ElementType,
    shape: MatrixShape,
    from: ElementOrder,
    to: ElementOrder,
) -> Vec<u8> {
    let (from, to) = (from.map(shape).expect("fits"), to.map(shape).expect("fits"));
    from.gather_map(&to).apply_bytes(bytes, element.bytes() as usize)
}

impl Case {
    /// The kernel's result, row-major.
    fn run(&self) -> Vec<u8> {
        let (rows, inner, columns) = self.size;
        let step = self.operand.amp_inner().expect("an AMP type");
        let left = (ElementOrder::AmpLeft { inner: step }, MatrixShape::new(rows, inner));
        let right = (ElementOrder::AmpRight { inner: step }, MatrixShape::new(inner, columns));
        let width = self.partial.amp_inner().expect("an AMP type");
        let output = (ElementOrder::AmpLeft { inner: width }, MatrixShape::new(rows, columns));
        let name = format!(
            "gemm_{}_{}{}",
            self.operand,
            self.partial,
            if self.start.is_some() { "_acc" } else { "" }
        );
        let entry = KernelEntry::find(&name).expect("known");
        let (kernel, scalars) = Kernel::bind(
            entry,
            &[
                ShardLayout::new(self.partial, output.0, output.1),
                ShardLayout::new(self.operand, left.0, left.1).scaled(self.scales.0),
                ShardLayout::new(self.operand, right.0, right.1).scaled(self.scales.1),
            ],
        )
        .expect("layouts fit");
        let size = output.1.elements() as usize * self.partial.bytes() as usize;
        let start = self.start.clone().unwrap_or_else(|| vec![0xff; size]);
        let plain = ElementOrder::RowMajor;
        let mut memory = BufferMemory::new(vec![
            reorder(&start, self.partial, output.1, plain, output.0),
            reorder(&self.a, self.operand, left.1, plain, left.0),
            reorder(&self.b, self.operand, right.1, plain, right.0),
        ]);
        kernel.run(&scalars, &mut memory).expect("whole operands");
        reorder(&memory.operands[0], self.partial, output.1, output.0, plain)
    }

    /// The result in exact integers of unit 2^-60: 24-bit rounding after each 8 bytes of inputs, f16 rounding after
    /// each 32. Finite operands only.
    fn in_integers(&self) -> Vec<f64> {
        let (rows, inner, columns) = (self.size.0 as usize, self.size.1 as usize, self.size.2 as usize);
        let a = fixed(self.operand, &self.a);
        let b = fixed(self.operand, &self.b);
        let start = self.start.as_ref().map(|bytes| decode_elements(self.partial, 0, bytes).expect("whole"));
        // Operands have unit 2^-24 (f16), 2^-10 (F143), 2^-17 (F152); the scale moves the product.
        let shift = 60 - 2 * operand_unit(self.operand) + self.scales.0 + self.scales.1;
        let bytes = self.operand.bytes() as usize;
        let mut results = Vec::new();
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            let first = start.as_ref().map_or(0.0, |start| start[row * columns + column]);
            let mut sum = (first * 2.0_f64.powi(60)) as i128;
            for k in 0..inner {
                sum += (a[row * inner + k] * b[k * columns + column]) << shift;
                if ((k + 1) * bytes).is_multiple_of(8) {
                    sum = nearest(sum, 24, 0);
                }
                if ((k + 1) * bytes).is_multiple_of(32) && self.partial == ElementType::F16 {
                    sum = nearest(sum, 11, 36).clamp(-(65_504 << 60), 65_504 << 60);
                }
            }
            results.push(sum as f64 / 2.0_f64.powi(60));
        }
        results
    }
}

fn operand_unit(element: ElementType) -> i32 {
    match element {
        ElementType::F143 => 10,
        ElementType::F152 => 17,
        _ => 24,
    }
}

/// Finite operands as integers of their smallest unit.
fn fixed(element: ElementType, bytes: &[u8]) -> Vec<i128> {
    let unit = 2.0_f64.powi(operand_unit(element));
    decode_elements(element, 0, bytes)
        .expect("whole")
        .into_iter()
        .map(|value| (value * unit) as i128)
        .collect()
}

/// `value` to `bits` significant bits and a multiple of `2^least`, to nearest even.
fn nearest(value: i128, bits: u32, least: u32) -> i128 {
    let length = 128 - value.unsigned_abs().leading_zeros();
    let unit = 1_i128 << length.saturating_sub(bits).max(least);
    let (low, rest) = (value.div_euclid(unit), value.rem_euclid(unit));
    let up = 2 * rest > unit || (2 * rest == unit && low % 2 != 0);
    (low + i128::from(up)) * unit
}

/// f16 from any finite bits: exponents as far apart as they come.
fn wild_f16() -> impl Strategy<Value = [u8; 2]> {
    any::<u16>().prop_map(|bits| (if bits & 0x7c00 == 0x7c00 { bits & !0x4000 } else { bits }).to_le_bytes())
}

/// f16 of like magnitude, as data has them.
fn tame_f16() -> impl Strategy<Value = [u8; 2]> {
    (-4.0..4.0_f32).prop_map(|value| f16::from_f32(value).to_le_bytes())
}

fn halves(element: impl Strategy<Value = [u8; 2]>, count: u32) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(element, count as usize).prop_map(|halves| halves.concat())
}

fn codes(count: u32) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>().prop_filter("finite", |&code| code != 0x80), count as usize)
}

fn f16_case(wild: bool, accumulate: bool) -> impl Strategy<Value = Case> {
    let element = move || if wild { wild_f16().boxed() } else { tame_f16().boxed() };
    (1..5_u32, 1..4_u32, 1..3_u32, any::<bool>()).prop_flat_map(move |(rows, steps, groups, wide)| {
        let size = (rows, 16 * steps, 16 * groups);
        let partial = if wide { ElementType::F32 } else { ElementType::F16 };
        let operands = (halves(element(), size.0 * size.1), halves(element(), size.1 * size.2));
        (operands, halves(element(), size.0 * size.2)).prop_map(move |((a, b), start)| {
            let widened = decode_elements(ElementType::F16, 0, &start).expect("whole");
            let start = encode_elements(partial, 0, Overflow::Saturate, widened).expect("no scale");
            let start = accumulate.then_some(start);
            Case { operand: ElementType::F16, partial, scales: (0, 0), size, a, b, start }
        })
    })
}

fn fp8_case() -> impl Strategy<Value = Case> {
    let shape = (1..5_u32, 1..4_u32, 1..3_u32, any::<bool>(), -4..5_i32, -4..5_i32);
    shape.prop_flat_map(|(rows, steps, groups, narrow, first, second)| {
        let size = (rows, 32 * steps, 16 * groups);
        let operand = if narrow { ElementType::F143 } else { ElementType::F152 };
        (codes(size.0 * size.1), codes(size.1 * size.2)).prop_map(move |(a, b)| Case {
            operand,
            partial: ElementType::F16,
            scales: (first, second),
            size,
            a,
            b,
            start: None,
        })
    })
}

fn values(case: &Case) -> Vec<f64> {
    decode_elements(case.partial, 0, &case.run()).expect("whole")
}

proptest! {
    #[test]
    fn f16_products_of_any_magnitude_equal_the_integers(case in f16_case(true, false)) {
        prop_assert_eq!(values(&case), case.in_integers());
    }

    #[test]
    fn f16_products_of_like_magnitude_equal_the_integers(case in f16_case(false, false)) {
        prop_assert_eq!(values(&case), case.in_integers());
    }

    #[test]
    fn accumulating_starts_from_the_output(case in f16_case(true, true)) {
        prop_assert_eq!(values(&case), case.in_integers());
    }

    #[test]
    fn fp8_products_equal_the_integers(case in fp8_case()) {
        prop_assert_eq!(values(&case), case.in_integers());
    }

    #[test]
    fn f32_products_are_fused_steps(
        a in prop::collection::vec(-1e10..1e10_f32, 3 * 16),
        b in prop::collection::vec(-1e-3..1e-3_f32, 16 * 16),
    ) {
        let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        let case = Case {
            operand: ElementType::F32,
            partial: ElementType::F32,
            scales: (0, 0),
            size: (3, 16, 16),
            a: bytes(&a),
            b: bytes(&b),
            start: None,
        };
        let fused = |row: usize, column: usize| {
            (0..16).fold(0.0_f32, |sum, k| a[row * 16 + k].mul_add(b[k * 16 + column], sum))
        };
        let wanted: Vec<f64> =
            (0..3).flat_map(|row| (0..16).map(move |column| f64::from(fused(row, column)))).collect();
        prop_assert_eq!(values(&case), wanted);
    }
}

/// One row of f16 inputs against columns that all hold `weights`.
fn one_row(inputs: [f32; 16], weights: [f32; 16], partial: ElementType) -> f64 {
    let bytes =
        |values: &[f32]| values.iter().flat_map(|&value| f16::from_f32(value).to_le_bytes()).collect();
    let b: Vec<f32> = weights.iter().flat_map(|&weight| [weight; 16]).collect();
    let case = Case {
        operand: ElementType::F16,
        partial,
        scales: (0, 0),
        size: (1, 16, 16),
        a: bytes(&inputs),
        b: bytes(&b),
        start: None,
    };
    let results = values(&case);
    assert!(results.iter().all(|value| value.to_bits() == results[0].to_bits()));
    results[0]
}

#[test]
fn infinities_follow_ieee_and_overflow_saturates() {
    let infinite = f32::INFINITY;
    let with = |place: usize, value: f32| std::array::from_fn(|k| if k == place { value } else { 1.0 });
    let (ones, f16_partial) = ([1.0; 16], ElementType::F16);
    assert_eq!(one_row(with(3, infinite), ones, f16_partial), f64::INFINITY);
    assert_eq!(one_row(with(9, -infinite), ones, f16_partial), f64::NEG_INFINITY);
    assert!(one_row(with(9, infinite), with(9, 0.0), f16_partial).is_nan(), "infinity times zero");
    assert!(
        one_row(with(0, infinite), std::array::from_fn(|k| [1.0, -infinite][k % 2]), f16_partial).is_nan()
    );
    assert!(one_row(with(15, f32::NAN), ones, f16_partial).is_nan());
    assert_eq!(one_row([60_000.0; 16], ones, f16_partial), 65_504.0);
    assert_eq!(one_row([-60_000.0; 16], ones, f16_partial), -65_504.0);
    assert_eq!(one_row([60_000.0; 16], ones, ElementType::F32), 960_000.0);
}

#[test]
fn a_nan_code_poisons_its_row_alone() {
    let mut a = vec![0x40; 2 * 32];
    a[5] = 0x80;
    let case = Case {
        operand: ElementType::F143,
        partial: ElementType::F16,
        scales: (0, 0),
        size: (2, 32, 16),
        a,
        b: vec![0x40; 32 * 16],
        start: None,
    };
    let results = case.run();
    let (first, second) = results.split_at(32);
    assert!(first.as_chunks::<2>().0.iter().all(|half| u16::from_le_bytes(*half) == 0x7e00));
    assert!(second.as_chunks::<2>().0.iter().all(|half| f16::from_le_bytes(*half) == f16::from_f32(32.0)));
}

fn matrix(rows: &serde_json::Value, digits: usize) -> Vec<Vec<u64>> {
    let parse = |digits: &[u8]| {
        u64::from_str_radix(std::str::from_utf8(digits).expect("ASCII"), 16).expect("hexadecimal")
    };
    let row =
        |row: &serde_json::Value| row.as_str().expect("a row").as_bytes().chunks(digits).map(parse).collect();
    rows.as_array().expect("rows").iter().map(row).collect()
}

/// A row-major matrix of stored elements, padded with zero.
fn padded(matrix: &[Vec<u64>], element: ElementType, columns: usize, rows: usize) -> Vec<u8> {
    let width = element.bytes() as usize;
    let mut bytes = vec![0; rows * columns * width];
    for (row, values) in matrix.iter().enumerate() {
        for (column, value) in values.iter().enumerate() {
            let at = (row * columns + column) * width;
            bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
        }
    }
    bytes
}

#[test]
fn the_gemm_vectors_are_met_within_a_quarter_of_their_bounds() {
    let file: serde_json::Value =
        serde_json::from_str(include_str!("data/vectors/gemm.json")).expect("the vectors are JSON");
    let mut cases = 0;
    for case in file["cases"].as_array().expect("cases") {
        let operand = ElementType::from_name(case["type"].as_str().expect("a type")).expect("known");
        let step = operand.amp_inner().expect("an AMP type");
        let (a, b) = (&case["a_hex_rows"], &case["b_hex_rows"]);
        let digits = 2 * operand.bytes() as usize;
        let (a, b) = (matrix(a, digits), matrix(b, digits));
        let size = (
            a.len() as u32,
            (b.len() as u32).next_multiple_of(step),
            (b[0].len() as u32).next_multiple_of(16),
        );
        let exact = matrix(&case["c_f64_hex_rows"], 16);
        let scale = |name: &str| case[name].as_i64().expect("a scale") as i32;
        let is_f16 = operand == ElementType::F16;
        for partial in [ElementType::F16, ElementType::F32] {
            if partial == ElementType::F32 && !is_f16 {
                continue;
            }
            let bound = if partial == ElementType::F16 {
                "bound_f16_partials_f64_hex_rows"
            } else {
                "bound_f32_acc_f64_hex_rows"
            };
            let bound = matrix(&case[bound], 16);
            let run = Case {
                operand,
                partial,
                scales: (scale("scale_a"), scale("scale_b")),
                size,
                a: padded(&a, operand, size.1 as usize, a.len()),
                b: padded(&b, operand, size.2 as usize, size.1 as usize),
                start: None,
            };
            let results = values(&run);
            for (row, (exact, bound)) in exact.iter().zip(&bound).enumerate() {
                for (column, (exact, bound)) in exact.iter().zip(bound).enumerate() {
                    let error = (results[row * size.2 as usize + column] - f64::from_bits(*exact)).abs();
                    assert!(
                        error <= f64::from_bits(*bound) / 4.0,
                        "{} ({row}, {column}): {error}",
                        case["name"]
                    );
                    assert!(case["name"] != "f16_exact_ints" || error == 0.0);
                }
            }
            cases += 1;
        }
    }
    assert_eq!(cases, 10, "four f16 cases with both partials, two FP8 ones");
}
