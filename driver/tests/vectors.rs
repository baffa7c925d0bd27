//! Products against oracles that no code of ours made: `gemm.json` holds exact sums, and bounds that any order of summation keeps.

use ipu_dialects::graph::meaning::{Precision, evaluate};
use ipu_dialects::tensor_data::TensorData;
use ipu_driver::commands::run::read_case;
use ipu_driver::load::{LoadOptions, load_text};
use ipu_driver::stages::Stages;
use ipu_passes::manager::{ManagerOptions, State, registry};
use serde_json::Value;

fn cases() -> Vec<Value> {
    let file: Value =
        serde_json::from_str(include_str!("../../device/tests/data/vectors/gemm.json")).unwrap();
    file["cases"].as_array().unwrap().clone()
}

/// The numbers of a matrix of 64-bit codes.
fn numbers(rows: &Value) -> Vec<f64> {
    let row = |row: &Value| -> Vec<f64> {
        let digits = row.as_str().unwrap().as_bytes().chunks(16);
        digits
            .map(|code| f64::from_bits(u64::from_str_radix(std::str::from_utf8(code).unwrap(), 16).unwrap()))
            .collect()
    };
    rows.as_array().unwrap().iter().flat_map(row).collect()
}

/// The elements of a matrix as the text of `dense` has them: little-endian bytes in base 16.
fn dense(rows: &Value, digits: usize) -> String {
    let element = |code: &[u8]| -> String {
        code.chunks(2).rev().map(|byte| std::str::from_utf8(byte).unwrap()).collect()
    };
    let row =
        |row: &Value| -> String { row.as_str().unwrap().as_bytes().chunks(digits).map(element).collect() };
    rows.as_array().unwrap().iter().map(row).collect()
}

/// The case as a file: `A` and `B` as they are, summed in `accumulate`, to a result of that type.
fn text(case: &Value, accumulate: &str) -> String {
    let size = |name: &str| case[name].as_u64().unwrap();
    let (m, k, n) = (size("M"), size("K"), size("N"));
    let element = |scale: &str| match case["type"].as_str().unwrap() {
        "f16" => "f16".to_owned(),
        name => format!("!ipu.{name}<{}>", case[scale].as_i64().unwrap()),
    };
    let (left, right) = (element("scale_a"), element("scale_b"));
    let digits = if left == "f16" { 4 } else { 2 };
    let (a, b) = (dense(&case["a_hex_rows"], digits), dense(&case["b_hex_rows"], digits));
    let (left, right) = (format!("tensor<{m}x{k}x{left}>"), format!("tensor<{k}x{n}x{right}>"));
    let result = format!("tensor<{m}x{n}x{accumulate}>");
    format!(
        "graph.func @main(%a: {left} {{ipu.data = dense<\"0x{a}\"> : {left}}}, %b: {right} {{ipu.kind = \"weight\", \
         ipu.data = dense<\"0x{b}\"> : {right}}}) -> {result} attributes {{ipu.tiles = 8}} {{\n  \
         %c = graph.gemm %a, %b accumulate({accumulate}) : {left}, {right} -> {result}\n  graph.return %c : {result}\n}}\n"
    )
}

/// Largest error as a part of what is allowed.
fn worst(found: &TensorData, exact: &[f64], allowed: impl Fn(usize) -> f64) -> f64 {
    let values = found.values();
    assert_eq!(values.len(), exact.len());
    let part = |(at, (value, exact)): (usize, (&f64, &f64))| (value - exact).abs() / allowed(at);
    values.iter().zip(exact).enumerate().map(part).fold(0.0, f64::max)
}

#[test]
fn graphs_are_the_exact_sums_rounded_once() {
    for case in cases() {
        let (module, _) = load_text("case.ir", text(&case, "f32"), LoadOptions::default()).unwrap();
        let read = read_case(&module).unwrap();
        let found = evaluate(&module, read.entry, &read.inputs(), Precision::Reference).unwrap();
        let exact = numbers(&case["c_f64_hex_rows"]);
        // Half a unit of the last place of f32, and what sums in f64 may add.
        let allowed = |at: usize| exact[at].abs() * 2f64.powi(-24) * (1.0 + 1e-6) + 2f64.powi(-149);
        let worst = worst(&found[0], &exact, allowed);
        assert!(worst <= 1.0, "{}: {worst} of the allowed error", case["name"]);
    }
}

#[test]
fn compiled_products_keep_the_bounds_at_every_stage() {
    let bounds = [
        ("f16", "bound_f16_partials_f64_hex_rows", 2f64.powi(-11)),
        ("f32", "bound_f32_acc_f64_hex_rows", 0.0),
    ];
    let mut ran = 0;
    for case in cases().iter().filter(|case| case["type"] == "f16") {
        for (accumulate, bound, rounding) in bounds {
            let text = text(case, accumulate);
            let (module, _) = load_text("case.ir", text.as_str(), LoadOptions::default()).unwrap();
            let pipeline = registry::default_pipeline(&module, State::Code);
            let stages = Stages::run(module, &pipeline, &ManagerOptions::default()).unwrap();
            let exact = numbers(&case["c_f64_hex_rows"]);
            let bound = numbers(&case[bound]);
            let allowed = |at: usize| bound[at] + rounding * exact[at].abs() + 2f64.powi(-25);
            assert_eq!(stages.list.len(), 12, "{} in {accumulate}", case["name"]);
            for stage in &stages.list {
                let execution = stage.execution().unwrap();
                let worst = worst(&execution.results[0], &exact, allowed);
                assert!(worst <= 1.0, "{} in {accumulate}, {}: {worst}", case["name"], stage.name());
            }
            ran += 1;
        }
    }
    assert_eq!(ran, 8);
}
