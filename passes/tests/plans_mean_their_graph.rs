//! Every plan that the search keeps, written as `mapped` text, verifies, and its storage meaning gives what the graph
//! asks for: bit-equal to its logical meaning, within tolerance of the reference.

use ipu_device::numerics::ElementType;
use ipu_dialects::case::{Case, NoResources};
use ipu_dialects::ipu::ScaledElement;
use ipu_dialects::ir::{Attribute, Type};
use ipu_dialects::mapped::meaning::first_divergence;
use ipu_dialects::parser::{ParseOptions, parse_module};
use ipu_dialects::{Registry, VerifyOptions, verify};
use ipu_passes::select_plans::{
    GemmPlan, GemmProblem, MappedOpKind, MappedTensor, OperandType, PlanOptions, Source, search,
};

fn element(element: ElementType) -> Type {
    let scale = if element.fp8().is_some() { -4 } else { 0 };
    ScaledElement { element, scale }.ty().unwrap()
}

fn ty(tensor: &MappedTensor) -> Type {
    let layout = Attribute::dialect(tensor.layout.clone());
    Type::tensor(tensor.shape.map(u64::from), element(tensor.element), Some(layout))
}

/// The plan as text, with the graph as its reference.
fn text(plan: &GemmPlan) -> String {
    let (tensors, ops) = plan.mapped_ops().unwrap();
    let problem = &plan.problem;
    let kind = |source| if source == Source::Weight { "weight" } else { "input" };
    let argument = |index: usize, source, sigma| {
        format!(
            "%t{index}: {} {{ipu.kind = \"{}\", ipu.data = #ipu.normal<seed = {index}, sigma = {sigma}>}}",
            ty(&tensors[index]),
            kind(source)
        )
    };
    let result = ty(&tensors[tensors.len() - 1]);
    let mut text = format!(
        "mapped.func @main({}, {}) -> {result} {{\n",
        argument(0, problem.lhs.source, 0.25),
        argument(1, problem.rhs.source, 0.0625)
    );
    for op in &ops {
        let operands: Vec<String> = op.operands.iter().map(|operand| format!("%t{operand}")).collect();
        let operands = operands.join(", ");
        let spelled = match &op.kind {
            MappedOpKind::ConvertLayout => format!("convert_layout {operands}"),
            MappedOpKind::Cast { kernel } => format!("cast {operands} kernel @{kernel}"),
            MappedOpKind::Gemm { kernel, block } => {
                format!("gemm {operands} kernel @{kernel} block {block:?}")
            }
            MappedOpKind::Reduce { kernel } => format!("reduce {operands} kernel @{kernel} staging all"),
        };
        let types: Vec<String> =
            op.operands.iter().map(|&operand| ty(&tensors[operand]).to_string()).collect();
        let (types, result) = (types.join(", "), ty(&tensors[op.result]));
        text.push_str(&format!("  %t{} = mapped.{spelled} : {types} -> {result}\n", op.result));
    }
    let last = tensors.len() - 1;
    text.push_str(&format!("  mapped.return %t{last} : {result}\n}}\n"));
    let plain = |shape: [u32; 2], of| Type::tensor(shape.map(u64::from), element(of), None);
    let a = plain([problem.m, problem.k], problem.lhs.element);
    let b = plain([problem.k, problem.n], problem.rhs.element);
    let c = plain([problem.m, problem.n], problem.output);
    text.push_str(&format!(
        "graph.func @reference(%a: {a}, %b: {b}) -> {c} {{\n  %c = graph.gemm %a, %b : {a}, {b} -> {c}\n  \
         graph.return %c : {c}\n}}\n"
    ));
    text
}

fn check(plan: &GemmPlan) {
    let text = text(plan);
    let (module, diagnostics) = parse_module("plan.ir", &text, ParseOptions::new(Registry::standard()));
    assert_eq!(diagnostics.render(&module.sources), "", "{text}");
    let found = verify(&module, VerifyOptions::default());
    assert_eq!(found.err().map(|found| found.render(&module.sources)), None, "{text}");
    let case = Case::read(&module, &NoResources).unwrap();
    let fault = |error: Box<ipu_dialects::Diagnostic>| panic!("{}\n{text}", error.message);
    let actual = case.run(&module).unwrap_or_else(fault);
    let verdict = case.verdicts(&case.reference(&module).unwrap(), &actual).remove(0);
    assert!(verdict.passed(), "{verdict:?}\n{text}");
    assert_eq!(first_divergence(&module, case.entry, &case.inputs()).unwrap(), None, "{text}");
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
        let problem = problem(sizes, types, sources);
        let options = PlanOptions { tiles, ..PlanOptions::default() };
        let found = search(&problem, &options).unwrap();
        assert!(!found.finalists.is_empty());
        found.finalists.iter().for_each(|candidate| check(&candidate.plan));
    }
}
