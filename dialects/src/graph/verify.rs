//! Rules of `graph` ops beyond their table.

use super::ops::{Cast, Constant, Func, Gemm, Reshape, Return, Transpose};
use crate::codes::VerifyCode;
use crate::declaration::Op;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::ipu::float8::is_float;
use crate::ir::{Attribute, AttributeKind, Module, Name, OpId, TensorType, Type, ValueId};

fn rule(module: &Module, op: OpId, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(VerifyCode::OpRule, module.span(op), message)
}

/// The tensor type of an operand or result that its declaration says is one.
fn tensor(module: &Module, value: ValueId) -> Option<&TensorType> {
    module.value_type(value).as_tensor()
}

pub(super) fn returned(module: &Module, op: OpId, diagnostics: &mut Diagnostics) {
    let Some(function) = module.parent_op(op).and_then(|parent| module.cast::<Func>(parent)) else {
        diagnostics.push(rule(module, op, "`graph.return` must stand in a `graph.func`"));
        return;
    };
    let Some(ty) = function.function_type(module).as_function() else { return };
    let values = Return::wrap(op).values(module);
    let types: Vec<&Type> = values.iter().map(|&value| module.value_type(value)).collect();
    if types.len() != ty.results.len() {
        let message =
            format!("{} values are returned, the function has {} results", types.len(), ty.results.len());
        let span = module.span(function.id());
        diagnostics.push(rule(module, op, message).label(span, "the function"));
        return;
    }
    for (&value, wanted) in values.iter().zip(&ty.results) {
        let found = module.value_type(value);
        if found != wanted {
            let message = format!(
                "`{}` is returned as `{found}`, the function says `{wanted}`",
                module.value_text(value)
            );
            diagnostics.push(rule(module, op, message).label(module.span(function.id()), "the function"));
        }
    }
}

/// The type that the value of a constant carries.
fn type_of_value(value: &Attribute) -> Option<&Type> {
    match value.kind() {
        AttributeKind::DenseElements(elements) => Some(&elements.ty),
        AttributeKind::DenseResource { ty, .. } => ty.as_ref(),
        _ => None,
    }
}

pub(super) fn constant_type(_: &[Type], attributes: &[(Name, Attribute)]) -> Option<Vec<Type>> {
    let value = attributes.iter().find(|(name, _)| name.as_str() == "value");
    value.and_then(|(_, value)| type_of_value(value)).map(|ty| vec![ty.clone()])
}

pub(super) fn constant(module: &Module, op: OpId, diagnostics: &mut Diagnostics) {
    let constant = Constant::wrap(op);
    let ty = module.value_type(constant.result(module));
    let given = type_of_value(constant.value(module));
    match given {
        Some(given) if given != ty => {
            let message = format!("the value is a `{given}`, the result a `{ty}`");
            diagnostics.push(rule(module, op, message));
        }
        Some(_) => {}
        None => {
            let message =
                "the value must be `dense<...>` or `dense_resource<...>` with the type of the result";
            diagnostics.push(rule(module, op, message));
        }
    }
}

pub(super) fn gemm(module: &Module, op: OpId, diagnostics: &mut Diagnostics) {
    let gemm = Gemm::wrap(op);
    for (name, ty) in [("multiply", gemm.multiply(module)), ("accumulate", gemm.accumulate(module))] {
        if let Some(ty) = ty.filter(|ty| !is_float(ty)) {
            diagnostics.push(rule(module, op, format!("`{name}` must be a float type, not `{ty}`")));
        }
    }
    let operands = (tensor(module, gemm.left(module)), tensor(module, gemm.right(module)));
    let (Some(left), Some(right), Some(result)) =
        (operands.0, operands.1, tensor(module, gemm.result(module)))
    else {
        return;
    };
    let (left_shape, right_shape) =
        (matrix(left, gemm.transpose_left(module)), matrix(right, gemm.transpose_right(module)));
    let (Some((left_batch, m, k)), Some((right_batch, right_k, n))) = (left_shape, right_shape) else {
        diagnostics.push(rule(module, op, "operands of `graph.gemm` need at least two axes"));
        return;
    };
    if k != right_k {
        let message = format!("the left operand has {k} columns, the right one {right_k} rows");
        diagnostics.push(rule(module, op, message));
    }
    if left_batch != right_batch {
        let message = format!("batch axes {left_batch:?} and {right_batch:?} differ");
        diagnostics.push(rule(module, op, message));
    }
    let wanted: Vec<u64> = left_batch.iter().copied().chain([m, n]).collect();
    if result.shape != wanted {
        let message = format!("the result has shape {:?}, expected {wanted:?}", result.shape);
        diagnostics.push(rule(module, op, message));
    }
}

/// Batch axes, rows and columns, after the transpose.
fn matrix(tensor: &TensorType, transposed: bool) -> Option<(&[u64], u64, u64)> {
    let (batch, last) = tensor.shape.split_at(tensor.shape.len().checked_sub(2)?);
    let (rows, columns) = (*last.first()?, *last.get(1)?);
    Some(if transposed { (batch, columns, rows) } else { (batch, rows, columns) })
}

pub(super) fn cast(module: &Module, op: OpId, diagnostics: &mut Diagnostics) {
    let cast = Cast::wrap(op);
    let types = (tensor(module, cast.input(module)), tensor(module, cast.result(module)));
    if let (Some(input), Some(result)) = types
        && input.shape != result.shape
    {
        let message = format!("a cast keeps the shape, {:?} is not {:?}", result.shape, input.shape);
        diagnostics.push(rule(module, op, message));
    }
}

pub(super) fn transpose(module: &Module, op: OpId, diagnostics: &mut Diagnostics) {
    let transpose = Transpose::wrap(op);
    let types = (tensor(module, transpose.input(module)), tensor(module, transpose.result(module)));
    let (Some(input), Some(result)) = types else { return };
    let permutation = transpose.permutation(module);
    let mut sorted = permutation.to_vec();
    sorted.sort_unstable();
    let is_permutation = sorted.iter().copied().eq(0..input.shape.len() as i64);
    if !is_permutation {
        let message = format!("{permutation:?} is no permutation of the {} axes", input.shape.len());
        diagnostics.push(rule(module, op, message));
        return;
    }
    let axis = |&axis: &i64| usize::try_from(axis).ok().and_then(|axis| input.shape.get(axis)).copied();
    let wanted: Vec<u64> = permutation.iter().filter_map(axis).collect();
    if result.shape != wanted || result.element != input.element {
        let message = format!("the result must have shape {wanted:?} and element `{}`", input.element);
        diagnostics.push(rule(module, op, message));
    }
}

pub(super) fn reshape(module: &Module, op: OpId, diagnostics: &mut Diagnostics) {
    let reshape = Reshape::wrap(op);
    let types = (tensor(module, reshape.input(module)), tensor(module, reshape.result(module)));
    let (Some(input), Some(result)) = types else { return };
    if input.element_count() != result.element_count() || input.element != result.element {
        let message = format!(
            "a reshape keeps number and type of elements, {:?} of `{}` are not {:?} of `{}`",
            result.shape, result.element, input.shape, input.element
        );
        diagnostics.push(rule(module, op, message));
    }
}
