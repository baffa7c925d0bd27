//! The search against the recorded run, against brute force, and against itself.

mod brute_force;

use ipu_device::memory_map::MemoryClass;
use ipu_device::numerics::ElementType;
use ipu_device::orders::ElementOrder;
use ipu_dialects::ipu::AffineExpr;
use ipu_dialects::mapped::layout::{Layout, Padding, Replicas, TileMap};
use proptest::prelude::*;

use super::evaluate::{evaluate, evaluate_every_tile};
use super::prices::PriceBook;
use super::*;

const LISTS: [Prices; 2] = [Prices::Recorded, Prices::Calibrated];

/// The recorded case: C[128, 64] = A[128, 128] x B[128, 64], A an f16 input, B an FP8 weight.
fn seed() -> GemmProblem {
    GemmProblem {
        m: 128,
        k: 128,
        n: 64,
        lhs: OperandType { element: ElementType::F16, source: Source::Input },
        rhs: OperandType { element: ElementType::F143, source: Source::Weight },
        multiply: ElementType::F143,
        accumulate: ElementType::F16,
        output: ElementType::F16,
    }
}

fn half(m: u32, k: u32, n: u32) -> GemmProblem {
    let element = ElementType::F16;
    GemmProblem {
        m,
        k,
        n,
        lhs: OperandType { element, source: Source::Input },
        rhs: OperandType { element, source: Source::Weight },
        multiply: element,
        accumulate: element,
        output: element,
    }
}

fn options(tiles: u16, prices: Prices) -> PlanOptions {
    PlanOptions { tiles, prices, ..PlanOptions::default() }
}

fn pinned(text: &str, prices: Prices) -> PlanOptions {
    PlanOptions { pin: Some(text.parse().expect("a pin")), ..options(64, prices) }
}

#[test]
fn the_recorded_plan_costs_what_was_recorded() {
    let found = search(&seed(), &pinned("grid=8x4x2", Prices::Recorded)).expect("possible");
    let cost = found.finalists[0].cost;
    assert_eq!((cost.cycles, cost.exchange), (3274, 1840));
    let phase = |phase: Option<PhaseCost>| phase.map(|phase| (phase.cycles, phase.consumed));
    assert_eq!(phase(cost.gather), Some((600 + 512, 2048)));
    assert_eq!(phase(cost.scatter), Some((600 + 128, 512)));
    let calls = |stretch: usize| cost.work[stretch].calls().collect::<Vec<_>>();
    assert_eq!(calls(0), []);
    assert_eq!(calls(1), [("copy own slice", 320), ("cast block", 139), ("gemm", 139)]);
    assert_eq!(calls(2), [("copy own partial", 320), ("reduce", 516)]);
}

#[test]
fn an_unsplit_inner_axis_on_32_tiles_costs_what_the_notes_say() {
    // Homes on all 64 tiles, as in the recorded run: 512 of the 4,096 operand bytes are the tile's own.
    let mut plan =
        search(&seed(), &pinned("grid=8x4x1", Prices::Recorded)).expect("possible").finalists[0].plan;
    plan.lhs.home = Home::Spread { first: 64, second: 1, shift: 0, tiles: 64 };
    let cost = plan.cost(Prices::Recorded).expect("kernels");
    assert_eq!((cost.cycles, cost.exchange), (2574 - 64, 1624));
}

#[test]
fn the_own_choice_beats_the_recorded_run_with_fair_inputs() {
    for prices in LISTS {
        let pin = search(&seed(), &pinned("grid=8x4x2", prices)).expect("possible").finalists[0];
        let own = search(&seed(), &options(64, prices)).expect("possible").finalists[0];
        assert!(own.cost.cycles < pin.cost.cycles && own.cost.exchange < pin.cost.exchange, "{prices:?}");
        assert_eq!(own.plan.home_layout(Side::Left, ElementType::F16).replicas.count(), 1);
    }
}

#[test]
fn finalists_of_the_recorded_case() {
    let mut text = String::new();
    for (prices, pin) in [(Prices::Recorded, None), (Prices::Calibrated, None)]
        .into_iter()
        .chain(LISTS.map(|prices| (prices, Some("grid=8x4x2"))))
    {
        let options = pin.map_or_else(|| options(64, prices), |pin| pinned(pin, prices));
        let found = search(&seed(), &options).expect("possible");
        text.push_str(&format!("{} {}\n", prices.name(), pin.unwrap_or("free choice")));
        text.push_str(&finalists_table(&found.finalists));
        text.push_str(&format!("{}\n\n", found.finalists[0].cost));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn the_record_has_the_fields_of_the_event() {
    let found = search(&half(100, 72, 40), &options(32, Prices::Calibrated)).expect("possible");
    let record = found.finalists[0].record(0);
    assert_eq!(record.padding_groups, [[72, 80], [40, 48]]);
    let (tensors, ops) = found.finalists[0].plan.mapped_ops().expect("kernels");
    assert_eq!((record.values as usize, record.operations as usize), (tensors.len(), ops.len()));
    assert_eq!(record.estimated_cycles, record.cost.cycles);
}

#[test]
fn odd_cases_have_plans() {
    let free = |problem: GemmProblem, tiles| search(&problem, &options(tiles, Prices::Calibrated));
    for (problem, tiles) in [
        (half(1, 1, 1), 1),
        (half(1, 1, 1), 1472),
        (half(3, 200, 16), 64),
        (half(127, 129, 65), 64),
        (half(128, 128, 64), 1),
        (GemmProblem { multiply: ElementType::F32, accumulate: ElementType::F32, ..half(40, 40, 40) }, 16),
        (GemmProblem { output: ElementType::F32, ..half(40, 40, 40) }, 16),
        (seed(), 2),
    ] {
        let found = free(problem, tiles).unwrap_or_else(|error| panic!("{problem:?} on {tiles}: {error}"));
        assert!(found.finalists.iter().all(|candidate| candidate.plan.grid.tiles() <= u64::from(tiles)));
    }
    let inputs = GemmProblem { rhs: half(1, 1, 1).lhs, ..seed() };
    let found = free(inputs, 64).expect("both operands may be inputs");
    assert!(found.finalists[0].plan.rhs.home != Home::Resident);
}

#[test]
fn a_plan_whose_layouts_contradict_each_other_is_an_error_of_the_compiler() {
    let layout = Layout {
        split: vec![1],
        grain: vec![1],
        replicas: Replicas::One,
        tiles: TileMap::new(&["m"], AffineExpr::constant(0)),
        order: ElementOrder::RowMajor,
        pad: Padding::Zero,
        memory: MemoryClass::Standard,
    };
    let error = PlanError::from(layout.place(&[4, 4], 2).expect_err("another rank"));
    assert_eq!(error.code, PlanCode::Inconsistent);
}

#[test]
fn what_cannot_be_planned_is_refused_with_a_reason() {
    let code =
        |problem: GemmProblem, options: &PlanOptions| search(&problem, options).expect_err("refused").code;
    let free = options(64, Prices::Calibrated);
    assert_eq!(code(half(0, 4, 4), &free), PlanCode::BadProblem);
    assert_eq!(code(half(u32::MAX, u32::MAX, 4), &free), PlanCode::BadProblem);
    assert_eq!(code(half(4096, 4096, 4096), &options(4, Prices::Calibrated)), PlanCode::DoesNotFit);
    assert_eq!(code(half(4, 4, 4), &options(0, Prices::Calibrated)), PlanCode::BadOption);
    assert_eq!(code(half(4, 4, 4), &pinned("grid=8x1x1", Prices::Calibrated)), PlanCode::BadPin);
    assert_eq!(code(half(400, 40, 40), &pinned("grid=80x1x1", Prices::Calibrated)), PlanCode::BadPin);
    let odd = GemmProblem { accumulate: ElementType::F143, ..half(4, 4, 4) };
    assert_eq!(code(odd, &free), PlanCode::NoKernel);
    for text in
        ["", "grid", "grid=8x4", "grid=0x1x1", "home=rows", "grid=1x1x1,cast=never", "grid=1x1x1,tile=3"]
    {
        assert_eq!(text.parse::<Pin>().expect_err(text).code, PlanCode::BadPin);
    }
}

#[test]
fn pins_print_what_they_read() {
    let pin: Pin = "grid=8x4x2,cast=home,weights=interleaved,home=any".parse().expect("a pin");
    assert_eq!(pin.to_string().parse::<Pin>().expect("printed pins read"), pin);
    let json = serde_json::to_string(&pinned("grid=8x4x2", Prices::Recorded)).expect("options are JSON");
    assert_eq!(
        serde_json::from_str::<PlanOptions>(&json).expect("reads"),
        pinned("grid=8x4x2", Prices::Recorded)
    );
    assert!(serde_json::from_str::<PlanOptions>(r#"{"tilez": 3}"#).is_err());
}

#[test]
fn replicated_inputs_are_never_gathered() {
    let replicated = PlanOptions { replicate_inputs: true, ..options(64, Prices::Calibrated) };
    let found = search(&seed(), &replicated).expect("possible");
    assert!(found.finalists.iter().all(|candidate| candidate.cost.gather.is_none()));
}

fn operand() -> impl Strategy<Value = OperandType> {
    let element = prop_oneof![
        Just(ElementType::F16),
        Just(ElementType::F16),
        Just(ElementType::F143),
        Just(ElementType::F32)
    ];
    (element, prop_oneof![Just(Source::Input), Just(Source::Weight)])
        .prop_map(|(element, source)| OperandType { element, source })
}

fn problem() -> impl Strategy<Value = GemmProblem> {
    let types = prop_oneof![
        Just((ElementType::F143, ElementType::F16)),
        Just((ElementType::F16, ElementType::F16)),
        Just((ElementType::F16, ElementType::F32)),
        Just((ElementType::F32, ElementType::F32)),
    ];
    let output = prop_oneof![Just(ElementType::F16), Just(ElementType::F32)];
    (1u32..90, 1u32..140, 1u32..90, operand(), operand(), types, output).prop_map(
        |(m, k, n, lhs, rhs, (multiply, accumulate), output)| GemmProblem {
            m,
            k,
            n,
            lhs,
            rhs,
            multiply,
            accumulate,
            output,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Every plan of a random grid, or a sample of them.
    #[test]
    fn the_closed_form_equals_the_expansion(problem in problem(), m in 1u32..9, n in 1u32..6, k in 1u32..5,
                                            tiles in 1u16..150, pick in 0usize..1000) {
        let grid = Grid {
            m: m.min(problem.m),
            n: n.min(problem.n.div_ceil(problem.column_grain())),
            k: k.min(problem.k.div_ceil(problem.inner_grain())),
        };
        let tiles = tiles.max(grid.tiles() as u16);
        for prices in LISTS {
            let options = options(tiles, prices);
            let Ok(mut book) = PriceBook::new(prices, problem.multiply, problem.accumulate) else { continue };
            let plans = candidates::plans(&problem, &options, grid, &book);
            let step = (plans.len() / 12).max(1);
            for plan in plans.iter().skip(pick % step).step_by(step) {
                let Some(cost) = evaluate(plan, &mut book) else { continue };
                let expanded = brute_force::expand(plan, prices);
                let found = brute_force::Expanded {
                    cycles: cost.cycles,
                    exchange: cost.exchange,
                    gather: cost.gather,
                    scatter: cost.scatter,
                };
                prop_assert_eq!(found, expanded, "{} {:?}", plan.decisions(), prices);
                let every_tile = evaluate_every_tile(plan, &mut book).expect("priced before");
                prop_assert_eq!(every_tile.cycles, cost.cycles);
                let bound = candidates::plan_bound(plan, &mut book).expect("priced before");
                prop_assert!(bound <= cost.cycles, "bound {} of {} {:?}", bound, plan.decisions(), cost);
            }
        }
    }

    #[test]
    fn no_plan_undercuts_the_bound_of_its_grid(problem in problem(), tiles in 1u16..40) {
        for prices in LISTS {
            let options = options(tiles, prices);
            let Ok(mut book) = PriceBook::new(prices, problem.multiply, problem.accumulate) else { continue };
            let grids = candidates::grids(&problem, &options, &mut book).expect("no pin").bounded;
            let step = (grids.len() / 8).max(1);
            for bounded in grids.iter().step_by(step) {
                for plan in candidates::plans(&problem, &options, bounded.grid, &book) {
                    if let Some(cost) = evaluate(&plan, &mut book) {
                        prop_assert!(bounded.bound <= cost.cycles, "{:?} {}", bounded, plan.decisions());
                    }
                }
            }
        }
    }

    #[test]
    fn the_search_finds_the_cheapest_of_all_plans(problem in problem(), tiles in 1u16..20) {
        for prices in LISTS {
            let options = options(tiles, prices);
            let Ok(mut book) = PriceBook::new(prices, problem.multiply, problem.accumulate) else { continue };
            let grids = candidates::grids(&problem, &options, &mut book).expect("no pin").bounded;
            let mut cheapest = None;
            for bounded in grids {
                for plan in candidates::plans(&problem, &options, bounded.grid, &book) {
                    let cycles = evaluate(&plan, &mut book).map(|cost| cost.cycles);
                    cheapest = cycles.into_iter().chain(cheapest).min();
                }
            }
            let found = search(&problem, &options).ok().map(|found| found.finalists[0].cost.cycles);
            prop_assert_eq!(found, cheapest);
        }
    }
}

#[test]
fn weights_in_interleaved_memory_are_the_faster_choice() {
    let found = search(&seed(), &options(64, Prices::Calibrated)).expect("possible");
    assert_eq!(found.finalists[0].plan.rhs.memory, MemoryClass::Interleaved);
}
