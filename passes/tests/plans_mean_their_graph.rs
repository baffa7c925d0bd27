//! Every plan that the search keeps, as the pass writes it, verifies, and its storage meaning gives what the graph
//! asks for: bit-equal to its logical meaning, within tolerance of the reference.

use crate::pass_runs::{parse, printed, run};
use ipu_device::numerics::ElementType;
use ipu_dialects::case::{Case, NoResources};
use ipu_dialects::ipu::ScaledElement;
use ipu_dialects::ir::{Module, Type};
use ipu_dialects::mapped::meaning::first_divergence;
use ipu_passes::manager::Run;
use ipu_passes::select_plans::{GemmProblem, OperandType, Source};

fn tensor(shape: [u32; 2], element: ElementType) -> Type {
    let scale = if element.fp8().is_some() { -4 } else { 0 };
    Type::tensor(shape.map(u64::from), ScaledElement { element, scale }.ty().unwrap(), None)
}

/// The graph of `problem`.
fn graph(problem: &GemmProblem, tiles: u16) -> String {
    let kind = |source| if source == Source::Weight { "weight" } else { "input" };
    let argument = |name, ty: &Type, source, seed, sigma| {
        format!(
            "%{name}: {ty} {{ipu.kind = \"{}\", ipu.data = #ipu.normal<seed = {seed}, sigma = {sigma}>}}",
            kind(source)
        )
    };
    let left = tensor([problem.m, problem.k], problem.lhs.element);
    let right = tensor([problem.k, problem.n], problem.rhs.element);
    let result = tensor([problem.m, problem.n], problem.output);
    let [multiply, accumulate] = [problem.multiply, problem.accumulate]
        .map(|element| tensor([1, 1], element).as_tensor().unwrap().element.clone());
    format!(
        "graph.func @main({}, {}) -> {result} attributes {{ipu.tiles = {tiles}}} {{\n  \
         %c = graph.gemm %a, %b multiply({multiply}) accumulate({accumulate}) : {left}, {right} -> {result}\n  \
         graph.return %c : {result}\n}}\n",
        argument("a", &left, problem.lhs.source, 0, 0.25),
        argument("b", &right, problem.rhs.source, 1, 0.0625)
    )
}

/// The program of finalist number `finalist`, and what the pass recorded.
fn planned(graph: &str, finalist: usize) -> (Module, Run) {
    let mut module = parse("plan.ir", graph);
    let done = run(&mut module, &format!("select-plans{{finalist={finalist}}}"));
    assert_eq!(done.diagnostics.render(&module.sources), "", "{graph}");
    (module, done)
}

fn check(module: &Module) {
    let text = printed(module);
    let case = Case::read(module, &NoResources).unwrap();
    let fault = |error: Box<ipu_dialects::Diagnostic>| panic!("{}\n{text}", error.message);
    let actual = case.run(module).unwrap_or_else(fault);
    let verdict = case.verdicts(&case.reference(module).unwrap(), &actual).remove(0);
    assert!(verdict.passed(), "{verdict:?}\n{text}");
    assert_eq!(first_divergence(module, case.entry, &case.inputs()).unwrap(), None, "{text}");
}

fn problem([m, k, n]: [u32; 3], types: [ElementType; 5], sources: [Source; 2]) -> GemmProblem {
    let [left, right, multiply, accumulate, output] = types;
    GemmProblem {
        m,
        k,
        n,
        lhs: OperandType { element: left, source: sources[0] },
        rhs: OperandType { element: right, source: sources[1] },
        multiply,
        accumulate,
        output,
    }
}

#[test]
fn every_finalist_gives_what_the_graph_asks_for() {
    use ElementType::{F16, F32, F143};
    let half = [F16; 5];
    let eight = [F16, F143, F143, F16, F16];
    let weight = [Source::Input, Source::Weight];
    let inputs = [Source::Input, Source::Input];
    for (sizes, types, sources, tiles) in [
        ([128, 128, 64], eight, weight, 64),
        ([32, 64, 16], eight, weight, 4),
        ([50, 75, 41], eight, weight, 24),
        ([37, 83, 29], half, weight, 16),
        ([32, 64, 48], half, inputs, 16),
        ([5, 64, 48], half, weight, 32),
        ([1, 256, 64], half, weight, 32),
        ([16, 512, 16], half, weight, 4),
        ([24, 48, 32], half, weight, 1),
        ([48, 64, 32], [F16, F143, F16, F16, F16], weight, 12),
        ([32, 64, 32], [F32; 5], weight, 8),
        ([33, 65, 31], [F16, F16, F16, F32, F16], inputs, 20),
    ] {
        let graph = graph(&problem(sizes, types, sources), tiles);
        let (module, done) = planned(&graph, 0);
        check(&module);
        let records = done.statistics.last("select-plans", "finalist_records").unwrap();
        for finalist in 1..records.as_array().unwrap().len() {
            check(&planned(&graph, finalist).0);
        }
    }
}
