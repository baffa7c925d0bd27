//! Prices counted on the expanded program against the planner's closed form, and the recorded run's own count.

use crate::pass_runs::{parse, run};
use ipu_dialects::exchange::Program;
use ipu_passes::manager::state::main_program;
use ipu_passes::price_program::{Part, ProgramPrice, price_program};
use ipu_passes::select_plans::Prices;
use serde_json::Value;

const SEED: &str = include_str!("../../test-ir/seed/gemm_f8.ir");

/// The closed form's total and exchange of the plan chosen for `text`, and the price of the expanded program.
fn both(text: &str, options: &str, prices: Prices) -> ((u64, u64), ProgramPrice) {
    let mut module = parse("case.ir", text);
    let done = run(&mut module, &format!("select-plans{{{options}}},expand-plans"));
    assert_eq!(done.diagnostics.render(&module.sources), "");
    let records = done.statistics.iter().find(|entry| entry.name == "finalist_records").expect("records");
    let field = |name: &str| records.value[0][name].as_u64().expect("a number");
    let closed = (field("estimated_cycles"), field("estimated_exchange_cycles"));
    let program = Program::read(&module, main_program(&module).expect("a program")).expect("reads");
    (closed, price_program(&program, prices).expect("priced"))
}

#[test]
fn the_recorded_plan_costs_what_the_recorded_run_counted() {
    let (closed, price) = both(SEED, "plan=grid=8x4x2 prices=recorded", Prices::Recorded);
    assert_eq!((price.cycles, price.exchange), (3274, 1840));
    assert_eq!(closed, (3274, 1840));
    insta::assert_snapshot!(price);
}

#[test]
fn the_recorded_rule_gives_the_same_on_the_program_as_in_closed_form() {
    let cases = [
        (SEED, "prices=recorded"),
        (SEED, "plan=grid=4x4x2 prices=recorded"),
        (SEED, "plan=grid=8x4x1 prices=recorded"),
        (SEED, "plan=grid=4x2x4 prices=recorded"),
        (include_str!("../../test-ir/gemm/k-split-4.ir"), "plan=grid=1x1x4 prices=recorded"),
        (include_str!("../../test-ir/gemm/odd-f8.ir"), "prices=recorded"),
        (include_str!("../../test-ir/gemm/f16-only.ir"), "prices=recorded"),
        (include_str!("../../test-ir/gemm/two-tiles.ir"), "prices=recorded"),
    ];
    for (text, options) in cases {
        let (closed, price) = both(text, options, Prices::Recorded);
        assert_eq!((price.cycles, price.exchange), closed, "{options}\n{price}");
    }
}

#[test]
fn traffic_counts_no_slice_that_stays_where_it_is() {
    let (_, price) = both(SEED, "plan=grid=8x4x2 prices=recorded", Prices::Recorded);
    let phases: Vec<(u64, u64)> = price
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Phase { consumed, received, .. } => Some((*consumed, *received)),
            Part::Work { .. } => None,
        })
        .collect();
    // A block of 16 x 64 in f16 of which 256 bytes are at home; two partials of 256 bytes, one of them at home.
    assert_eq!(phases, [(2048, 1792), (512, 256)]);
    assert_eq!(price.moved_bytes, 64 * (1792 + 256));
    let json = serde_json::to_value(&price).expect("serializes");
    assert_eq!(json["parts"][0]["part"], Value::from("phase"));
}
