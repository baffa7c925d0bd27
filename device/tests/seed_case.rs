//! The recorded FP8 GEMM, emulated on kernels and element orders alone: the right cast gives the known errors, the
//! flat cast the recorded miscompile, to the last digit.
//!
//! C[128, 64] = A[128, 128] x B[128, 64] on a grid of 8 x 4 x 2: blocks of 16 rows, 16 columns, 64 inner elements.

use ipu_device::generators::normal;
use ipu_device::kernels::{BufferMemory, Kernel, KernelEntry, ScalarValues, ShardLayout};
use ipu_device::numerics::{
    ElementType, Overflow, Tolerance, Verdict, compare, decode_elements, encode_elements, f16_from_f32,
};
use ipu_device::orders::{ElementOrder, MatrixShape};
use sha2::{Digest, Sha256};

const SEED: u64 = 0x4449_4147_4e4f_5354;
const M: usize = 128;
const K: usize = 128;
const N: usize = 64;
const SCALE: i32 = -4;
const BLOCK: MatrixShape = MatrixShape::new(16, 64);

/// A as f16 and B as F143 at scale -4, both row-major.
fn inputs() -> (Vec<u8>, Vec<u8>) {
    let sigma_b = 1.0 / (K as f32).sqrt();
    let a = normal(SEED, 0.25, (M * K) as u64).map(f64::from);
    let b = normal(SEED ^ 1, sigma_b, (K * N) as u64).map(f64::from);
    (
        encode_elements(ElementType::F16, 0, Overflow::Saturate, a).expect("no scale"),
        encode_elements(ElementType::F143, SCALE, Overflow::Saturate, b).expect("scale in range"),
    )
}

/// f32 product of A as f16 and B decoded, rounded to f16.
fn reference(a: &[u8], b: &[u8]) -> Vec<f64> {
    let a = decode_elements(ElementType::F16, 0, a).expect("whole");
    let b = decode_elements(ElementType::F143, SCALE, b).expect("whole");
    let mut c = Vec::with_capacity(M * N);
    for row in 0..M {
        for column in 0..N {
            let sum = (0..K).fold(0.0_f32, |sum, k| sum + a[row * K + k] as f32 * b[k * N + column] as f32);
            c.push(f16_from_f32(sum, Overflow::Infinity).to_f64());
        }
    }
    c
}

/// The part of a row-major matrix of `columns` columns at a place, in an element order.
fn shard(
    matrix: &[u8],
    element: ElementType,
    columns: usize,
    at: (usize, usize),
    shape: MatrixShape,
    order: ElementOrder,
) -> Vec<u8> {
    let width = element.bytes() as usize;
    let map = order.map(shape).expect("the shard fits its order");
    map.coordinates()
        .flat_map(|(row, column)| {
            let index = (at.0 + row as usize) * columns + at.1 + column as usize;
            matrix[index * width..(index + 1) * width].to_vec()
        })
        .collect()
}

fn run(kernel: &Kernel, scalars: &ScalarValues, mut operands: Vec<Vec<u8>>) -> Vec<u8> {
    let bytes = kernel.extents(scalars).expect("valid call")[0].bytes.0 as usize;
    operands.insert(0, vec![0xff; bytes]);
    let mut memory = BufferMemory::new(operands);
    kernel.run(scalars, &mut memory).expect("operands are whole");
    memory.operands.swap_remove(0)
}

fn bind(entry: &str, operands: &[ShardLayout]) -> (Kernel, ScalarValues) {
    Kernel::bind(KernelEntry::find(entry).expect("known"), operands).expect("layouts fit")
}

/// The whole case; `cast` is the bound cast of one 16 x 64 block of A.
fn result(a: &[u8], b: &[u8], cast: &(Kernel, ScalarValues)) -> Vec<f64> {
    let left16 = ElementOrder::AmpLeft { inner: 16 };
    let left32 = ElementOrder::AmpLeft { inner: 32 };
    let right = ElementOrder::AmpRight { inner: 32 };
    let part = MatrixShape::new(16, 16);
    let partial = ShardLayout::new(ElementType::F16, left16, part);
    let (gemm, gemm_scalars) = bind(
        "gemm_f143_f16",
        &[
            partial,
            ShardLayout::new(ElementType::F143, left32, BLOCK).scaled(SCALE),
            ShardLayout::new(ElementType::F143, right, BLOCK.transposed()).scaled(SCALE),
        ],
    );
    assert_eq!(gemm.symbol(), "gemm_f143_f16_k64_c16_r16");
    assert_eq!(gemm_scalars.values(), [2 * SCALE]);
    let (reduce, reduce_scalars) = bind("reduce_add_f16", &[partial, partial, partial]);
    let out = left16.map(part).expect("fits");

    let mut c = vec![0.0; M * N];
    for (row, column) in
        (0..M).step_by(16).flat_map(|row| (0..N).step_by(16).map(move |column| (row, column)))
    {
        let mut partials = [0, 64].into_iter().map(|k| {
            let wide = shard(a, ElementType::F16, K, (row, k), BLOCK, left16);
            let narrow = run(&cast.0, &cast.1, vec![wide]);
            let weights = shard(b, ElementType::F143, N, (k, column), BLOCK.transposed(), right);
            run(&gemm, &gemm_scalars, vec![narrow, weights])
        });
        let halves = vec![partials.next().expect("two"), partials.next().expect("two")];
        let sum =
            decode_elements(ElementType::F16, 0, &run(&reduce, &reduce_scalars, halves)).expect("whole");
        for ((r, k), value) in out.coordinates().zip(sum) {
            c[(row + r as usize) * N + column + k as usize] = value;
        }
    }
    c
}

/// Element indices in the order of physical storage: a tile owns 8 rows x 16 columns, column tiles before row tiles.
fn storage_order() -> impl Iterator<Item = usize> {
    (0..M).step_by(16).flat_map(|row| {
        (0..N)
            .step_by(16)
            .flat_map(move |column| (0..256_usize).map(move |i| (row + i / 16) * N + column + i % 16))
    })
}

fn verdict(c: &[f64], reference: &[f64]) -> Verdict {
    compare(reference, c, Tolerance { absolute: 0.03, relative: 0.03 }, storage_order(), 16)
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_inputs_have_the_recorded_hashes_and_first_values() {
    let (a, b) = inputs();
    assert_eq!(sha256(&a), "859f743091fc52b0223c5ec80a16790142152225573513eb4e160e232f0b17d2");
    assert_eq!(sha256(&b), "558af4c59d3413890f0b55b7942acfc9bd629ee5afc940c368ed6b6bf89c9e78");
    let first =
        |element, scale, bytes: &[u8]| decode_elements(element, scale, &bytes[..6 * bytes.len() / (M * K)]);
    assert_eq!(
        first(ElementType::F16, 0, &a).expect("whole").iter().map(|v| *v as f32).collect::<Vec<_>>(),
        [0.17041016, 0.37402344, -0.18640137, -0.34814453, -0.15673828, -0.2199707]
    );
    let b = decode_elements(ElementType::F143, SCALE, &b[..6]).expect("whole");
    assert_eq!(b, [0.125, 0.05859375, -0.125, -0.0625, -0.078125, -0.0546875]);
}

#[test]
fn regrouping_panels_while_casting_gives_the_known_errors() {
    let (a, b) = inputs();
    let cast = bind(
        "cast_f16_f143_panels",
        &[
            ShardLayout::new(ElementType::F143, ElementOrder::AmpLeft { inner: 32 }, BLOCK).scaled(SCALE),
            ShardLayout::new(ElementType::F16, ElementOrder::AmpLeft { inner: 16 }, BLOCK),
        ],
    );
    let c = result(&a, &b, &cast);
    let verdict = verdict(&c, &reference(&a, &b));
    assert_eq!((verdict.elements, verdict.mismatches), (8192, 0));
    assert_eq!(verdict.max_abs_error, 0.024_902_343_75);
    assert_eq!((verdict.mean_abs_error * 1e7).round(), 52_888.0);
    // Printed with eight decimals.
    let row: Vec<f64> = c[..8].iter().map(|value| (value * 1e8).round_ties_even() / 1e8).collect();
    assert_eq!(
        row,
        [-0.04467773, 0.75097656, 0.01870728, 0.09332275, -0.0859375, -0.48876953, 0.22851562, -0.16088867]
    );
}

#[test]
fn a_flat_cast_read_as_wider_panels_gives_the_recorded_miscompile() {
    let (a, b) = inputs();
    let order = ElementOrder::AmpLeft { inner: 16 };
    let cast = bind(
        "cast_f16_f143_flat",
        &[
            ShardLayout::new(ElementType::F143, order, BLOCK).scaled(SCALE),
            ShardLayout::new(ElementType::F16, order, BLOCK),
        ],
    );
    let reference = reference(&a, &b);
    let c = result(&a, &b, &cast);
    let verdict = verdict(&c, &reference);
    assert_eq!((verdict.elements, verdict.mismatches), (8192, 7565));
    assert_eq!(verdict.max_abs_error, 1.436_035_156_25);
    assert_eq!(verdict.max_abs_error_index, Some(27 * N + 54));
    let tuples: Vec<(usize, f32, f32, f32)> = verdict
        .first
        .iter()
        .map(|m| (m.index, m.reference as f32, m.actual as f32, m.error as f32))
        .collect();
    assert_eq!(tuples, RECORDED);

    let per_block: Vec<usize> = (0..M)
        .step_by(16)
        .map(|row| {
            let range = row * N..(row + 16) * N;
            compare(&reference, &c, Tolerance { absolute: 0.03, relative: 0.03 }, range, 0).mismatches
        })
        .collect();
    assert_eq!(per_block, [930, 948, 954, 956, 943, 942, 947, 945]);
}

/// Index, reference, actual, error as the recorded run printed them.
#[expect(clippy::excessive_precision, reason = "printed digits stay as printed")]
const RECORDED: [(usize, f32, f32, f32); 16] = [
    (0, -0.056854248, -0.0032958984, 0.05355835),
    (1, 0.74902344, 0.3996582, 0.34936523),
    (2, 0.030899048, -0.31469727, 0.3455963),
    (3, 0.096191406, 0.18823242, 0.092041016),
    (4, -0.07989502, 0.03488159, 0.11477661),
    (5, -0.49267578, -0.13781738, 0.3548584),
    (6, 0.22216797, 0.068359375, 0.15380859),
    (7, -0.15075684, -0.42871094, 0.2779541),
    (9, -0.22265625, -0.51416016, 0.2915039),
    (10, -0.3059082, -0.2265625, 0.0793457),
    (11, 0.037506104, 0.24768066, 0.21017456),
    (12, -0.30639648, -0.124572754, 0.18182373),
    (14, 0.29174805, 0.49316406, 0.20141602),
    (15, -0.3828125, -0.05908203, 0.32373047),
    (64, 0.014060974, -0.20581055, 0.21987152),
    (65, 0.35009766, 0.11621094, 0.23388672),
];
