//! A chosen plan as a `mapped` program.

use ipu_dialects::declaration::Op;
use ipu_dialects::graph;
use ipu_dialects::ipu::ScaledElement;
use ipu_dialects::ir::{Attribute, InsertionPoint, Module, Name, OpId, Origin, Type, ValueId};
use ipu_dialects::mapped::{self, layout::Layout};

use super::error::{PlanCode, PlanError};
use super::pass::GemmProgram;
use super::{Candidate, MappedOp, MappedOpKind, MappedTensor};

/// Name of the pass in origins.
const PASS: Name = Name::of("select-plans");

/// Replaces the graph program by the mapped program of finalist `chosen`; the graph stays as `@reference`, the other
/// finalists as records.
pub(super) fn lower(
    module: &mut Module,
    program: &GemmProgram,
    finalists: &[Candidate],
    chosen: usize,
) -> Result<(), PlanError> {
    let Some(candidate) = finalists.get(chosen) else { return Ok(()) };
    let (tensors, ops) = candidate.plan.mapped_ops()?;
    let types = tensor_types(module, program, &tensors)?;
    let function = emit_function(module, program, &tensors, &types, &ops);
    let mut last = function;
    for (index, other) in finalists.iter().enumerate().filter(|&(index, _)| index != chosen) {
        last = record_finalist(module, function, last, index, other, candidate.cost.cycles);
    }
    keep_reference(module, program.function);
    Ok(())
}

/// The type of every tensor; layouts get an alias each, equal ones one.
fn tensor_types(
    module: &mut Module,
    program: &GemmProgram,
    tensors: &[MappedTensor],
) -> Result<Vec<Type>, PlanError> {
    let mut layouts: Vec<(Layout, Attribute)> = Vec::new();
    let last = tensors.len().saturating_sub(1);
    let mut types = Vec::new();
    for (index, tensor) in tensors.iter().enumerate() {
        let known =
            layouts.iter().find(|(layout, _)| *layout == tensor.layout).map(|(_, known)| known.clone());
        let encoding = known.unwrap_or_else(|| {
            let attribute = Attribute::dialect(tensor.layout.clone());
            module.add_attribute_alias(&tensor.name.replace('.', "_"), attribute.clone());
            layouts.push((tensor.layout.clone(), attribute.clone()));
            attribute
        });
        let gemm = program.gemm;
        let declared = match index {
            0 | 1 => module.operands(gemm).get(index).map(|&value| module.value_type(value).clone()),
            _ if index == last => Some(module.value_type(module.result(gemm, 0)).clone()),
            _ => None,
        };
        let declared = declared.as_ref().and_then(Type::as_tensor).map(|tensor| tensor.element.clone());
        let scale = if tensor.element.fp8().is_some() { program.multiply.scale } else { 0 };
        let inner = ScaledElement { element: tensor.element, scale }.ty();
        let element = declared.or(inner).ok_or_else(|| {
            let message = format!("`{}` elements have no type in the text", tensor.element.name());
            PlanError::new(PlanCode::BadProblem, message)
        })?;
        types.push(Type::tensor(tensor.shape.map(u64::from), element, Some(encoding)));
    }
    Ok(types)
}

fn emit_function(
    module: &mut Module,
    program: &GemmProgram,
    tensors: &[MappedTensor],
    types: &[Type],
    ops: &[MappedOp],
) -> OpId {
    let old = program.function;
    let mut inputs = vec![types[0].clone(); 2];
    inputs[program.operands[0]] = types[0].clone();
    inputs[program.operands[1]] = types[1].clone();
    let result_type = types[types.len() - 1].clone();
    let region = module.create_region();
    let block = module.append_block(region);
    let old_arguments: Vec<ValueId> =
        module.entry_block(old, 0).map(|block| module.arguments(block).to_vec()).unwrap_or_default();
    let arguments: Vec<ValueId> = old_arguments
        .iter()
        .zip(&inputs)
        .map(|(&value, ty)| {
            let name = module.value_name(value).map(str::to_owned);
            module.add_argument(block, ty.clone(), name.as_deref())
        })
        .collect();
    let mut state = mapped::Func::state().region(region);
    for (name, value) in module.attributes(old) {
        let value = match name.as_str() {
            "function_type" => Attribute::ty(Type::function(inputs.clone(), vec![result_type.clone()])),
            _ => value.clone(),
        };
        state = state.attribute(*name, value);
    }
    let function = module.insert_new(InsertionPoint::Before(old), state);
    module.inherit(function, &[old]);
    let mut values: Vec<Option<ValueId>> = vec![None; tensors.len()];
    values[0] = Some(arguments[program.operands[0]]);
    values[1] = Some(arguments[program.operands[1]]);
    let result_name = module.value_name(module.result(program.gemm, 0)).map(str::to_owned);
    for op in ops {
        let operands: Vec<ValueId> = op.operands.iter().filter_map(|&operand| values[operand]).collect();
        let last = op.result + 1 == tensors.len();
        let name = match (&result_name, last) {
            (Some(name), true) => name.clone(),
            _ => tensors[op.result].name.replace('.', "_"),
        };
        let state = op_state(&op.kind).operands(operands).result(types[op.result].clone()).named(&name);
        let made = module.insert_new(InsertionPoint::BlockEnd(block), state);
        module.inherit(made, &[program.gemm]);
        let path = format!("main/{}", result_name.as_deref().unwrap_or("gemm"));
        module.set_origin(made, Some(Origin::new(&path, vec![PASS])));
        values[op.result] = Some(module.result(made, 0));
    }
    let result = values.last().copied().flatten();
    let made = module.insert_new(InsertionPoint::BlockEnd(block), mapped::Return::state().operands(result));
    if let Some(returned) = module.entry_block(old, 0).and_then(|block| module.last_op(block)) {
        module.inherit(made, &[returned]);
    }
    function
}

fn op_state(kind: &MappedOpKind) -> ipu_dialects::ir::OpState {
    match kind {
        MappedOpKind::ConvertLayout => mapped::ConvertLayout::state(),
        MappedOpKind::Cast { kernel } => mapped::Cast::state().attribute("kernel", Attribute::symbol(kernel)),
        MappedOpKind::Gemm { kernel, block } => {
            mapped::Gemm::state().attribute("kernel", Attribute::symbol(kernel)).attribute(
                "block",
                Attribute::i64_array(block.iter().map(|&size| i64::from(size)).collect::<Vec<_>>()),
            )
        }
        MappedOpKind::Reduce { kernel } => mapped::Reduce::state()
            .attribute("kernel", Attribute::symbol(kernel))
            .attribute("staging", Attribute::string("all")),
    }
}

/// The record of a finalist that was not taken, after `last`; `chosen` is what the taken one costs.
fn record_finalist(
    module: &mut Module,
    function: OpId,
    last: OpId,
    index: usize,
    other: &Candidate,
    chosen: u64,
) -> OpId {
    let why = format!("{} cycles against {chosen}", other.cost.cycles);
    let state = mapped::Finalist::state()
        .attribute("index", Attribute::i64(index as i64))
        .attribute("cycles", Attribute::i64(other.cost.cycles as i64))
        .attribute("exchange_cycles", Attribute::i64(other.cost.exchange as i64))
        .attribute("plan", Attribute::string(other.plan.decisions()))
        .attribute("why", Attribute::string(why));
    let made = module.insert_new(InsertionPoint::After(last), state);
    module.inherit(made, &[function]);
    made
}

/// The graph becomes `@reference`, unless the file has one.
fn keep_reference(module: &mut Module, function: OpId) {
    let named = |op: OpId| module.is::<graph::Func>(op) && module.symbol_name(op) == Some("reference");
    if module.direct_children(module.root()).any(named) {
        module.erase(function);
        return;
    }
    let extra: Vec<Name> = module
        .attributes(function)
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !["sym_name", "function_type"].contains(&name.as_str()))
        .collect();
    for name in extra {
        module.remove_attribute(function, name.as_str());
    }
    module.set_attribute(function, "sym_name", Attribute::string("reference"));
    module.set_trivia(function, ipu_dialects::ir::Trivia::default());
}
