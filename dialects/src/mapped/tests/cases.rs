//! Whole cases: the recorded run, right and wrong, the example, odd sizes.

use ipu_device::numerics::decode_elements;

use super::samples::{module, parse};
use crate::case::{Case, NoResources, ResultVerdict};
use crate::ir::{Module, OpId};
use crate::mapped::meaning::{evaluate_logical, first_divergence};
use crate::tensor_data::TensorData;
use crate::verifier::{VerifyOptions, verify};

struct Outcome {
    storage: ResultVerdict,
    logical: ResultVerdict,
    actual: TensorData,
    diverges: Option<(OpId, Vec<u32>)>,
}

fn run(module: &Module) -> Outcome {
    let case = Case::read(module, &NoResources).map_err(|error| error.message).unwrap();
    let reference = case.reference(module).map_err(|error| error.message).unwrap();
    let actual = case.run(module).map_err(|error| error.message).unwrap();
    let logical =
        evaluate_logical(module, case.entry, &case.inputs()).map_err(|error| error.message).unwrap();
    let found = first_divergence(module, case.entry, &case.inputs()).map_err(|error| error.message).unwrap();
    Outcome {
        storage: case.verdicts(&reference, &actual).remove(0),
        logical: case.verdicts(&reference, &logical).remove(0),
        actual: actual.into_iter().next().unwrap(),
        diverges: found.map(|found| (found.op, found.coordinates)),
    }
}

#[test]
fn the_inputs_of_the_seed_have_the_recorded_hashes() {
    let module = module("seed/gemm_f8.ir");
    let case = Case::read(&module, &NoResources).unwrap();
    let hashes: Vec<(&str, String)> =
        case.arguments.iter().map(|argument| (argument.name.as_str(), argument.data.sha256())).collect();
    assert_eq!(
        hashes,
        [
            ("a", "859f743091fc52b0223c5ec80a16790142152225573513eb4e160e232f0b17d2".to_owned()),
            ("b", "558af4c59d3413890f0b55b7942acfc9bd629ee5afc940c368ed6b6bf89c9e78".to_owned()),
        ]
    );
}

#[test]
fn the_right_cast_passes_with_the_known_error() {
    let outcome = run(&module("seed/gemm_f8_8x4x2.ir"));
    let verdict = &outcome.storage.verdict;
    assert_eq!((verdict.elements, verdict.mismatches, outcome.storage.uncovered), (8192, 0, 0));
    assert_eq!(verdict.max_abs_error, 0.024_902_343_75);
    let element = outcome.actual.element;
    let row = decode_elements(element.element, element.scale, &outcome.actual.bytes[..16]).unwrap();
    let row: Vec<f64> = row.iter().map(|value| (value * 1e8).round_ties_even() / 1e8).collect();
    assert_eq!(
        row,
        [-0.04467773, 0.75097656, 0.01870728, 0.09332275, -0.0859375, -0.48876953, 0.22851562, -0.16088867]
    );
    assert_eq!(outcome.logical, outcome.storage);
    assert_eq!(outcome.diverges, None);
}

#[test]
fn the_flat_cast_gives_the_recorded_miscompile_and_names_the_relabel() {
    let module = module("repro/flat-cast.ir");
    let outcome = run(&module);
    let verdict = &outcome.storage.verdict;
    assert_eq!((verdict.elements, verdict.mismatches, outcome.storage.uncovered), (8192, 7565, 0));
    assert_eq!(verdict.max_abs_error, 1.436_035_156_25);
    let tuples: Vec<(usize, f32, f32, f32)> = verdict
        .first
        .iter()
        .map(|m| (m.index, m.reference as f32, m.actual as f32, m.error as f32))
        .collect();
    assert_eq!(tuples, RECORDED);
    assert_eq!(
        (outcome.logical.verdict.mismatches, outcome.logical.verdict.max_abs_error),
        (0, 0.024_902_343_75)
    );
    let (op, coordinates) = outcome.diverges.unwrap();
    assert_eq!(module.name(op).as_str(), "mapped.relabel");
    assert_eq!(coordinates, [0, 16]);
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

#[test]
fn the_lint_says_how_the_bytes_are_read() {
    let module = module("repro/flat-cast.ir");
    let (_, warnings) = verify(&module, VerifyOptions::default()).unwrap();
    let texts: Vec<&str> = warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(
        texts,
        [
            "the two layouts order the bytes differently: 16-wide panels where `@gemm_f143_f16` reads 32-wide ones; \
          element 16 of shard 0 is [1, 0] in the first and [0, 16] in the second"
        ]
    );
}

#[test]
fn the_example_passes_at_both_levels() {
    for file in ["example/gemm-graph.ir", "gemm/odd-f8.ir", "gemm/nan-infinity.ir"] {
        let module = module(file);
        let case = Case::read(&module, &NoResources).unwrap();
        let reference = case.reference(&module).unwrap();
        assert!(case.verdicts(&reference, &case.run(&module).unwrap())[0].passed(), "{file}");
    }
    let outcome = run(&module("example/gemm-mapped.ir"));
    assert!(outcome.storage.passed() && outcome.logical == outcome.storage);
    assert_eq!(outcome.diverges, None);
}

/// `C[37, 29] = A[37, 83] x B[83, 29]` in f16: rows 19 + 18, inner 48 + 35 with padding, columns 16 + 13 with padding.
fn odd(block: &str, staging: &str, owners: &str) -> String {
    format!(
        r#"#home = #mapped.layout<split = [5, 1], grain = [1, 16], tiles = (m, k) -> m, order = amp_left<16>, pad = zero, memory = standard>
#blk = #mapped.layout<split = [2, 2], grain = [1, 16], copies = 2, tiles = (m, k, c) -> 4*m + 2*c + k, order = amp_left<16>, pad = zero, memory = standard>
#wts = #mapped.layout<split = [2, 2], grain = [16, 16], copies = 2, tiles = (k, n, c) -> 4*c + 2*n + k, order = amp_right<16>, pad = zero, memory = standard>
#part = #mapped.layout<split = [2, 2], grain = [1, 16], partial = 2, tiles = (m, n, p) -> 4*m + 2*n + p, order = amp_left<16>, memory = interleaved>
#own = {owners}
mapped.func @main(%a: tensor<37x83xf16, #home> {{ipu.data = #ipu.normal<seed = 1, sigma = 0.25>}},
                  %b: tensor<83x29xf16, #wts> {{ipu.kind = "weight", ipu.data = #ipu.normal<seed = 2, sigma = 0.125>}}) -> tensor<37x29xf16, #own> {{
  %w = mapped.convert_layout %a : tensor<37x83xf16, #home> -> tensor<37x83xf16, #blk>
  %p = mapped.gemm %w, %b kernel @gemm_f16_f16 block {block} : tensor<37x83xf16, #blk>, tensor<83x29xf16, #wts> -> tensor<37x29xf16, #part>
  %c = mapped.reduce %p kernel @reduce_add_f16 staging {staging} : tensor<37x29xf16, #part> -> tensor<37x29xf16, #own>
  mapped.return %c : tensor<37x29xf16, #own>
}}
graph.func @reference(%a: tensor<37x83xf16>, %b: tensor<83x29xf16>) -> tensor<37x29xf16> {{
  %c = graph.gemm %a, %b : tensor<37x83xf16>, tensor<83x29xf16> -> tensor<37x29xf16>
  graph.return %c : tensor<37x29xf16>
}}
"#
    )
}

#[test]
fn odd_sizes_blocks_stagings_and_owners_all_pass_alike() {
    let rows = "#mapped.layout<split = [4, 2], grain = [1, 16], tiles = (m, n) -> 4*(m floordiv 2) + 2*n + m mod 2, order = amp_left<16>, memory = standard>";
    // Owners that hold no partial, and one owner of everything: parts that are not contiguous in a partial.
    let elsewhere = "#mapped.layout<split = [3, 1], grain = [1, 16], tiles = (m, n) -> 20 + m, order = amp_left<16>, memory = standard>";
    let single = "#mapped.layout<split = [1, 1], grain = [1, 16], tiles = (m, n) -> 0, order = amp_left<16>, memory = standard>";
    let mut first = None;
    for owners in [rows, elsewhere, single] {
        for block in ["[19, 16, 48]", "[19, 16, 16]"] {
            for staging in ["all", "one"] {
                let module = parse("odd.ir", &odd(block, staging, owners));
                let found = verify(&module, VerifyOptions::default());
                assert_eq!(
                    found.err().map(|found| found.render(&module.sources)),
                    None,
                    "{owners} {block} {staging}"
                );
                let outcome = run(&module);
                assert!(outcome.storage.passed(), "{owners} {block} {staging}: {:?}", outcome.storage);
                assert_eq!(outcome.diverges, None);
                let bytes = first.get_or_insert_with(|| outcome.actual.bytes.clone());
                assert_eq!(*bytes, outcome.actual.bytes, "{owners} {block} {staging}");
            }
        }
    }
}
