//! `--select-plans` on programs: what it writes, and what it refuses.

use std::fs;
use std::path::Path;

use crate::pass_runs::{parse, printed, run};
use ipu_passes::manager::RunFailure;

fn sample(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../test-ir").join(path)).unwrap()
}

/// The program that `pipeline` makes of `text`; it prints to itself.
fn planned(text: &str, pipeline: &str) -> String {
    let mut module = parse("main.ir", text);
    let done = run(&mut module, pipeline);
    assert_eq!(done.diagnostics.render(&module.sources), "");
    let text = printed(&module);
    assert_eq!(printed(&parse("main.ir", &text)), text);
    text
}

/// How the run fails, and the refusal.
fn refused(text: &str, pipeline: &str) -> (RunFailure, String) {
    let mut module = parse("main.ir", text);
    let before = printed(&module);
    let done = run(&mut module, pipeline);
    let failure = done.failure.unwrap_or_else(|| panic!("taken:\n{}", printed(&module)));
    assert_eq!(printed(&module), before, "a refused program stays as it is");
    (failure, done.diagnostics.render(&module.sources))
}

#[test]
fn the_seed_case_with_the_recorded_plan() {
    let pipeline = "select-plans{plan=grid=8x4x2 prices=recorded}";
    insta::assert_snapshot!(planned(&sample("seed/gemm_f8.ir"), pipeline));
}

#[test]
fn the_seed_case_as_the_search_plans_it() {
    insta::assert_snapshot!(planned(&sample("seed/gemm_f8.ir"), "select-plans"));
}

#[test]
fn a_split_inner_axis_ends_in_a_reduction() {
    insta::assert_snapshot!(planned(&sample("gemm/k-split-4.ir"), "select-plans{plan=grid=1x1x4}"));
}

#[test]
fn odd_sizes_in_fp8() {
    insta::assert_snapshot!(planned(&sample("gemm/odd-f8.ir"), "select-plans"));
}

#[test]
fn taking_another_finalist_leaves_the_first_as_a_record() {
    let text = planned(&sample("seed/gemm_f8.ir"), "select-plans{finalist=1}");
    let indices: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("mapped.finalist ")?.split(' ').next()).collect();
    assert_eq!(indices, ["0", "2", "3"]);
}

/// A program of 32x32 tensors `%a`, `%b` on four tiles.
fn program(body: &str, results: &str) -> String {
    let tensor = "tensor<32x32xf16>";
    format!(
        "graph.func @main(%a: {tensor} {{ipu.kind = \"input\"}}, %b: {tensor} {{ipu.kind = \"weight\"}}) -> {results} \
         attributes {{ipu.tiles = 4}} {{\n{}\n}}\n",
        body.replace("TENSOR", tensor)
    )
}

#[test]
fn programs_that_are_not_one_product_are_refused_by_name() {
    let product = "  %c = graph.gemm %a, %b : TENSOR, TENSOR -> TENSOR\n";
    let one = "tensor<32x32xf16>";
    let cases = [
        ("returns an argument", program(&format!("{product}  graph.return %a : TENSOR"), one)),
        (
            "returns the product twice",
            program(&format!("{product}  graph.return %c, %c : TENSOR, TENSOR"), &format!("({one}, {one})")),
        ),
        ("no product", program("  graph.return %a : TENSOR", one)),
        (
            "two products",
            program(
                &format!(
                    "{product}  %d = graph.gemm %a, %c : TENSOR, TENSOR -> TENSOR\n  graph.return %d : TENSOR"
                ),
                one,
            ),
        ),
        (
            "one argument twice",
            program("  %c = graph.gemm %a, %a : TENSOR, TENSOR -> TENSOR\n  graph.return %c : TENSOR", one),
        ),
    ];
    let mut text = String::new();
    for (name, program) in &cases {
        let (failure, refusal) = refused(program, "select-plans");
        assert_eq!(failure, RunFailure::Input, "{name}");
        text.push_str(&format!("{name}\n{refusal}\n"));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_product_without_a_plan_cannot_be_compiled() {
    let seed = sample("seed/gemm_f8.ir");
    let (failure, refusal) = refused(&seed, "select-plans{plan=grid=9x9x9}");
    assert_eq!(failure, RunFailure::CannotCompile);
    insta::assert_snapshot!(refusal);
}

#[test]
fn a_finalist_that_there_is_not_is_refused() {
    let (failure, refusal) = refused(&sample("seed/gemm_f8.ir"), "select-plans{finalist=99}");
    assert_eq!(failure, RunFailure::Input);
    insta::assert_snapshot!(refusal);
}
