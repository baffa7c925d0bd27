//! The pass: a graph of one GEMM in, a mapped program out, the graph kept as `@reference`.

use indexmap::IndexMap;
use ipu_dialects::case::function_parts;
use ipu_dialects::diagnostics::Diagnostic;
use ipu_dialects::graph;
use ipu_dialects::ipu::ScaledElement;
use ipu_dialects::ir::{Attribute, BlockId, Module, OpId, Type};
use ipu_dialects::tensor_data::TensorData;
use serde::{Deserialize, Serialize};

use super::error::PlanCode;
use super::lower::lower;
use super::remarks;
use super::{
    FinalistRecord, GemmProblem, OperandType, Pin, PlanOptions, Prices, Search, Source, finalists_table,
    search,
};
use crate::manager::{
    OptionError, OptionInfo, Pass, PassContext, PassFailure, PassInfo, State, options, state::main_program,
};

/// The pass as the manager knows it.
pub static INFO: PassInfo = PassInfo {
    name: "select-plans",
    summary: "graph to mapped: chooses layouts, kernels and conversions; keeps the graph as @reference",
    requires: &[State::Graph],
    provides: &[State::Mapped],
    options: &[
        OptionInfo {
            name: "prices",
            form: "calibrated|recorded",
            help: "price list that plans are compared by",
        },
        OptionInfo {
            name: "tiles",
            form: "N",
            help: "tiles the plan may use; default: `ipu.tiles`, else all",
        },
        OptionInfo {
            name: "plan",
            form: "KEY=VALUE,...",
            help: "choices that must be kept, such as grid=8x4x2",
        },
        OptionInfo { name: "finalists", form: "N", help: "plans that are kept" },
        OptionInfo { name: "finalist", form: "INDEX", help: "which finalist becomes the program; default 0" },
        OptionInfo {
            name: "replicate-inputs",
            form: "true|false",
            help: "let the host write copies of inputs; no comparison may use it",
        },
    ],
    defaults: options::defaults::<Options>,
    create,
};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Options {
    prices: Prices,
    tiles: Option<u16>,
    plan: Option<String>,
    finalists: Option<u32>,
    finalist: usize,
    replicate_inputs: bool,
}

fn create(values: &IndexMap<String, String>) -> Result<Box<dyn Pass>, OptionError> {
    let given: Options = options::read(values)?;
    let pin = given.plan.as_deref().map(str::parse::<Pin>).transpose();
    let pin = pin.map_err(|error| OptionError(format!("option `plan`: {}", error.message)))?;
    Ok(Box::new(SelectPlans { given, pin }))
}

struct SelectPlans {
    given: Options,
    pin: Option<Pin>,
}

/// A graph program that this pass takes: one GEMM of two arguments.
pub(super) struct GemmProgram {
    /// The `graph.func @main`.
    pub(super) function: OpId,
    /// The `graph.gemm`.
    pub(super) gemm: OpId,
    /// Argument that is the left operand, argument that is the right one.
    pub(super) operands: [usize; 2],
    /// Scale of the type in which operands are multiplied.
    pub(super) multiply: ScaledElement,
}

impl Pass for SelectPlans {
    fn run(&self, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), PassFailure> {
        let (program, problem) = read_program(module)
            .map_err(|(op, message)| context.refuse(module, op, PlanCode::Unsupported, message))?;
        let options = self.plan_options(module, program.function);
        let found = search(&problem, &options).map_err(|error| {
            let span = module.span(program.gemm);
            context.cannot_compile(Diagnostic::error(error.code, span, error.message))
        })?;
        report(&found, context);
        let span = module.span(program.gemm);
        remarks::remark(&found, self.given.finalist, &options, span, context);
        let Some(chosen) = found.finalists.get(self.given.finalist) else {
            let (asked, count) = (self.given.finalist, found.finalists.len());
            let message = format!("finalist {asked} was asked for, there are {count}");
            return Err(context.refuse(module, program.gemm, PlanCode::BadOption, message));
        };
        context.record("plan", chosen.plan.decisions());
        context.record("decomposition", chosen.cost.to_string());
        lower(module, &program, &found.finalists, self.given.finalist).map_err(|error| {
            let span = module.span(program.gemm);
            context.cannot_compile(Diagnostic::error(error.code, span, error.message))
        })
    }
}

impl SelectPlans {
    /// The options of the search.
    fn plan_options(&self, module: &Module, function: OpId) -> PlanOptions {
        let defaults = PlanOptions::default();
        let tiles = self.given.tiles.or_else(|| declared_tiles(module, function));
        PlanOptions {
            tiles: tiles.unwrap_or(defaults.tiles),
            prices: self.given.prices,
            finalists: self.given.finalists.unwrap_or(defaults.finalists),
            pin: self.pin,
            replicate_inputs: self.given.replicate_inputs,
            ..defaults
        }
    }
}

/// `ipu.tiles` of the program, which the verifier keeps in the device.
pub(super) fn declared_tiles(module: &Module, function: OpId) -> Option<u16> {
    module
        .attribute(function, "ipu.tiles")
        .and_then(Attribute::as_i64)
        .and_then(|tiles| tiles.try_into().ok())
}

fn report(found: &Search, context: &mut PassContext<'_>) {
    let records: Vec<FinalistRecord> =
        (0u32..).zip(&found.finalists).map(|(index, candidate)| candidate.record(index)).collect();
    records.iter().for_each(retained);
    let records: Vec<_> =
        records.iter().map(|record| serde_json::to_value(record).unwrap_or_default()).collect();
    context.record("finalists", format!("\n{}", finalists_table(&found.finalists)));
    context.record("finalist_records", records);
    context.record("search", serde_json::to_value(found.counts).unwrap_or_default());
}

/// The event of a finalist; fields are those of its record.
fn retained(record: &FinalistRecord) {
    tracing::info!(
        index = record.index,
        values = record.values,
        operations = record.operations,
        estimated_cycles = record.estimated_cycles,
        estimated_exchange_cycles = record.estimated_exchange_cycles,
        exchange_row_bytes = record.exchange_row_bytes,
        peak_standard_bytes = record.peak_standard_bytes,
        peak_interleaved_bytes = record.peak_interleaved_bytes,
        peak_total_bytes = record.peak_total_bytes,
        largest_allocation_bytes = record.largest_allocation_bytes,
        active_tiles = ?record.active_tiles,
        padding_groups = ?record.padding_groups,
        converted_operations = record.converted_operations,
        "complete plan retained"
    );
}

/// The program and its problem, or the op that is not taken and why.
pub(super) fn read_program(module: &Module) -> Result<(GemmProgram, GemmProblem), (OpId, String)> {
    let function = main_program(module).unwrap_or_else(|| module.root());
    let block = module.entry_block(function, 0).ok_or((function, "`@main` has no body".to_owned()))?;
    let mut gemm = None;
    for op in module.ops_of(block) {
        match module.name(op).as_str() {
            "graph.return" => {}
            "graph.gemm" if gemm.is_none() => gemm = Some(op),
            name => {
                return Err((
                    op,
                    format!("`{name}` cannot be planned yet; a program of one `graph.gemm` can"),
                ));
            }
        }
    }
    let gemm = gemm.ok_or((function, "the program has no `graph.gemm` to plan".to_owned()))?;
    returns_product(module, block, gemm)?;
    let view = module.cast::<graph::Gemm>(gemm).ok_or((gemm, "not a `graph.gemm`".to_owned()))?;
    if view.transpose_left(module) || view.transpose_right(module) {
        return Err((
            gemm,
            "a `graph.gemm` of a transposed operand cannot be planned yet; store it transposed".to_owned(),
        ));
    }
    let arguments = module.arguments(block);
    let position = |value, side: &str| {
        let found = arguments.iter().position(|&argument| argument == value);
        found.ok_or((gemm, format!("the {side} operand of the `graph.gemm` is not an argument of `@main`")))
    };
    let operands = [position(view.left(module), "left")?, position(view.right(module), "right")?];
    if operands[0] == operands[1] || arguments.len() != 2 {
        return Err((
            gemm,
            "the operands of the `graph.gemm` must be the two arguments of `@main`".to_owned(),
        ));
    }
    let tensor = |value| {
        shape_and_type(module.value_type(value))
            .ok_or((gemm, "operands and result of the `graph.gemm` must be matrices of numbers".to_owned()))
    };
    let (left_shape, left) = tensor(view.left(module))?;
    let (right_shape, right) = tensor(view.right(module))?;
    let (_, output) = tensor(module.result(gemm, 0))?;
    let declared = |ty: Option<&Type>, default| ty.and_then(ScaledElement::of).unwrap_or(default);
    let multiply = declared(view.multiply(module), left);
    let accumulate = declared(view.accumulate(module), output);
    let (parts, _) = function_parts(module, function);
    let weight = |argument: usize| parts.get(argument).is_some_and(|part| part.weight);
    let source = |argument: usize| if weight(argument) { Source::Weight } else { Source::Input };
    let problem = GemmProblem {
        m: left_shape[0],
        k: left_shape[1],
        n: right_shape[1],
        lhs: OperandType { element: left.element, source: source(operands[0]) },
        rhs: OperandType { element: right.element, source: source(operands[1]) },
        multiply: multiply.element,
        accumulate: accumulate.element,
        output: output.element,
    };
    Ok((GemmProgram { function, gemm, operands, multiply }, problem))
}

/// Refuses a program whose result is anything but the product, once.
fn returns_product(module: &Module, block: BlockId, gemm: OpId) -> Result<(), (OpId, String)> {
    let returned = module.last_op(block).filter(|&op| module.is::<graph::Return>(op));
    let returned = returned.ok_or((gemm, "`@main` has no `graph.return`".to_owned()))?;
    match module.operands(returned) {
        [value] if *value == module.result(gemm, 0) => Ok(()),
        _ => Err((
            returned,
            "`graph.return` must return the result of the `graph.gemm` and no more".to_owned(),
        )),
    }
}

fn shape_and_type(ty: &Type) -> Option<([u32; 2], ScaledElement)> {
    let (shape, element) = TensorData::type_of(ty).ok()?;
    let shape: Option<Vec<u32>> = shape.into_iter().map(|side| u32::try_from(side).ok()).collect();
    Some((shape?.try_into().ok()?, element))
}
