//! Kernel costs against the measurements and worked figures of the hardware notes.

use ipu_device::kernels::{Kernel, ScalarValues};
use ipu_device::memory_map::MemoryClass::{self, Interleaved, Standard};

fn call(symbol: &str, scalars: &[(&str, i64)]) -> (Kernel, ScalarValues) {
    let kernel = Kernel::parse(symbol).expect("known symbol");
    let scalars = ScalarValues::from_named(kernel.entry(), scalars.iter().copied()).expect("valid scalars");
    (kernel, scalars)
}

fn cycles(symbol: &str, scalars: &[(&str, i64)], classes: &[MemoryClass]) -> u64 {
    let (kernel, scalars) = call(symbol, scalars);
    kernel.cycles(&scalars, classes).expect("valid call").0
}

fn recorded(symbol: &str, scalars: &[(&str, i64)]) -> u64 {
    let (kernel, scalars) = call(symbol, scalars);
    kernel.recorded_cycles(&scalars).expect("valid call").0
}

fn assert_near(predicted: u64, measured: u64, percent: u64, what: &str) {
    let error = predicted.abs_diff(measured) * 100;
    assert!(error <= measured * percent, "{what}: predicted {predicted}, measured {measured}");
}

#[test]
fn f16_gemm_is_within_two_percent_of_the_measurements() {
    for (rows, inner, columns, measured) in [
        (184, 288, 48, 48_654),
        (182, 288, 48, 48_180),
        (184, 288, 32, 32_538),
        (146, 576, 32, 53_718),
        (120, 80, 272, 55_344),
    ] {
        let symbol = format!("gemm_f16_f16_k{inner}_c{columns}_r{rows}");
        assert_near(cycles(&symbol, &[], &[Interleaved, Standard, Interleaved]), measured, 2, &symbol);
    }
}

#[test]
fn fp8_gemm_costs_what_the_worked_cases_say() {
    let seed = "gemm_f143_f16_k64_c16_r16";
    let scale = [("product_scale", -8)];
    assert_eq!(cycles(seed, &scale, &[Interleaved, Standard, Interleaved]), 742);
    assert_eq!(cycles(seed, &scale, &[Interleaved, Standard, Standard]), 954);
    assert_eq!(cycles(seed, &scale, &[]), 954, "memory counts as standard where it is not given");
    assert_eq!(cycles("gemm_f143_f16_k32_c16_r16", &scale, &[]), 624);
    assert_eq!(recorded(seed, &scale), 139);
    assert_eq!(recorded("gemm_f143_f16_k32_c16_r16", &scale), 75);
    assert_eq!(recorded("gemm_f16_f16_k64_c16_r16", &[]), 267);
}

#[test]
fn f32_gemm_counts_rows_fourfold_and_coefficients_twice() {
    // 294 + G * (C * 4R / 4 + H * 2126 / 4) with G = 2 groups of 16 inner elements, H = 1.
    assert_eq!(cycles("gemm_f32_f32_k32_c16_r12", &[], &[]), 294 + 2 * (16 * 12 + 532));
}

#[test]
fn casts_cost_what_the_worked_cases_say() {
    let panels = |elements, rows| {
        cycles("cast_f16_f143_panels", &[("elements", elements), ("panel_rows", rows), ("scale", -4)], &[])
    };
    assert_eq!(panels(512, 16), 702);
    assert_eq!(panels(1024, 16), 1_074);
    // Six panels of at most 32 rows: a whole panel a worker.
    assert_eq!(panels(6 * 32 * 16, 16), 330 + 120 + 84 * 16);
    assert_eq!(panels(6 * 32 * 33, 33), 330 + 6 * (120 + 84 * 6));
    let flat = [("elements", 8_320), ("scale", 0)];
    assert_near(cycles("cast_f16_f143_flat", &flat, &[]), 4_638, 4, "flat cast of 8,320 elements");
    assert_eq!(cycles("cast_f32_f16", &[("elements", 25)], &[]), 330 + 48 * 3);
    assert_eq!(cycles("cast_f143_f32", &[("elements", 64), ("scale", 0)], &[]), 11 + 64 * 5 / 8);
    assert_eq!(recorded("cast_f16_f143_flat", &[("elements", 1_024), ("scale", -4)]), 139);
    assert_eq!(recorded("cast_f16_f143_panels", &[("elements", 512), ("panel_rows", 16), ("scale", -4)]), 75);
}

#[test]
fn reductions_cost_exactly_what_was_measured() {
    for (elements, partials, measured) in [
        (8, 2, 360),
        (56, 2, 438),
        (1_472, 2, 2_700),
        (2_208, 4, 4_974),
        (576, 15, 3_090),
        (2_208, 28, 18_222),
        (128, 2, 516),
    ] {
        let scalars = [("remotes", partials - 1), ("elements", elements)];
        assert_eq!(cycles("reduce_add_f16", &scalars, &[]), measured);
        assert_eq!(recorded("reduce_add_f16", &scalars), measured);
    }
}

#[test]
fn copies_fill_and_rearrangements_cost_what_the_notes_say() {
    assert_eq!(cycles("copy_u64", &[("dwords", 32)], &[]), 320);
    let strided = [("row_dwords", 32), ("rows", 2), ("source_stride", 32), ("destination_stride", 64)];
    assert_eq!(cycles("copy_strided_u64", &strided, &[]), 352);
    assert_eq!(cycles("fill_zero_u64", &[("dwords_per_worker", 8), ("remainder_workers", 0)], &[]), 11 + 8);
    let matrix = |rows, columns| {
        [("rows", rows), ("columns", columns), ("padded_rows", rows), ("padded_columns", columns)]
    };
    assert_near(cycles("pack_amp_left_f16", &matrix(40, 16), &[]), 2_364, 9, "640 elements to amp_left");
    assert_eq!(cycles("pack_amp_right_f16", &matrix(16, 16), &[]), 11 + 3 * 256);
    assert_eq!(cycles("pack_block_major_f16_k64_c16", &matrix(64, 16), &[]), 300 + 6 * 6 * 60);
    assert_eq!(cycles("pack_block_major_f16_k64_c16", &matrix(64, 48), &[]), 300 + 6 * 6 * (12 + 3 * 140));
    assert_eq!(cycles("unpack_amp_left_f16", &matrix(24, 32), &[]), 300 + 2 * (100 + 90 * 16));
}

#[test]
fn calls_larger_than_tile_memory_are_refused() {
    for entry in ipu_device::kernels::entries() {
        let constants: Vec<u32> = entry.constants.iter().map(|_| 0xf_ffe0).collect();
        let kernel = Kernel::new(entry, &constants).expect("constants in range");
        let largest = entry.scalars.iter().map(|spec| {
            let most = i64::from(spec.most);
            most - most % i64::from(spec.multiple_of)
        });
        let scalars = ScalarValues::from_values(entry, &largest.collect::<Vec<_>>()).expect("in range");
        assert!(kernel.extents(&scalars).is_err(), "{kernel}({scalars:?})");
        assert!(kernel.cycles(&scalars, &[]).is_err() && kernel.recorded_cycles(&scalars).is_err());
    }
}
