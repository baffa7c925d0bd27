//! What `graph` means: functions on whole tensors.
//!
//! Two evaluations: [`Precision::Reference`] takes operands as they are stored, computes in f64 and rounds once to the
//! type of each result; [`Precision::Declared`] first rounds the operands of a product to its `multiply` type and
//! rounds its sums to `accumulate` before the result. Both round past the largest value as the device does.

use ipu_device::assumptions::F16_OVERFLOW;
use ipu_device::hash::HashMap;
use ipu_device::numerics::{decode_elements, encode_elements};
use rayon::prelude::*;

use super::ops::{Cast, Constant, Gemm, Reshape, Return, Transpose};
use crate::diagnostics::Diagnostic;
use crate::ipu::ScaledElement;
use crate::ir::{Attribute, AttributeKind, Module, OpId, Type, ValueId};
use crate::tensor_data::TensorData;

ipu_device::coded_enum! {
    /// Why a graph has no value.
    pub enum MeaningCode {
        /// Arguments do not suit the function.
        Arguments = "V0701", "arguments do not suit the function",
        /// An op without meaning here.
        NoMeaning = "V0702", "op without a meaning",
        /// Data that cannot be had, or not of the type.
        Data = "V0703", "no data for a tensor",
    }
}

/// How products are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Operands as stored, f64, one rounding.
    Reference,
    /// With the rounding that `multiply` and `accumulate` declare.
    Declared,
}

/// The results of the `graph.func` `function` for `arguments`.
///
/// # Errors
/// The arguments do not have the types of the function, or an op has no meaning.
pub fn evaluate(
    module: &Module,
    function: OpId,
    arguments: &[TensorData],
    precision: Precision,
) -> Result<Vec<TensorData>, Box<Diagnostic>> {
    let values = evaluate_values(module, function, arguments, precision)?;
    let Some(block) = module.entry_block(function, 0) else { return Ok(Vec::new()) };
    let end = module.ops_of(block).find_map(|op| module.cast::<Return>(op).map(|end| (op, end)));
    let Some((op, end)) = end else { return Ok(Vec::new()) };
    end.values(module).iter().map(|&value| operand(module, op, &values, value).cloned()).collect()
}

/// All values of the `graph.func` `function` for `arguments`.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_values(
    module: &Module,
    function: OpId,
    arguments: &[TensorData],
    precision: Precision,
) -> Result<Values, Box<Diagnostic>> {
    let mut values = bind_arguments(module, function, arguments)?;
    let Some(block) = module.entry_block(function, 0) else { return Ok(values) };
    for op in module.ops_of(block).take_while(|&op| !module.is::<Return>(op)) {
        let result = evaluate_op(module, op, &values, precision)?;
        values.insert(module.result(op, 0), result);
    }
    Ok(values)
}

/// Tensors by value.
pub type Values = HashMap<ValueId, TensorData>;

fn error(module: &Module, op: OpId, code: MeaningCode, message: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(code, module.span(op), message))
}

fn bind_arguments(
    module: &Module,
    function: OpId,
    arguments: &[TensorData],
) -> Result<Values, Box<Diagnostic>> {
    let formal = module.entry_block(function, 0).map_or(&[][..], |block| module.arguments(block));
    if formal.len() != arguments.len() {
        let message = format!("{} arguments given, the function takes {}", arguments.len(), formal.len());
        return Err(error(module, function, MeaningCode::Arguments, message));
    }
    let mut values = Values::default();
    for (&value, given) in formal.iter().zip(arguments) {
        let (shape, element) = type_of(module, function, module.value_type(value))?;
        if shape != given.shape || element != given.element || !given.is_whole() {
            let message = format!(
                "argument `{}` is a `{}`, given are {:?} of `{}`",
                module.value_text(value),
                module.value_type(value),
                given.shape,
                given.element.element
            );
            return Err(error(module, function, MeaningCode::Arguments, message));
        }
        values.insert(value, given.clone());
    }
    Ok(values)
}

fn type_of(module: &Module, op: OpId, ty: &Type) -> Result<(Vec<u64>, ScaledElement), Box<Diagnostic>> {
    TensorData::type_of(ty).map_err(|message| error(module, op, MeaningCode::Data, message))
}

fn operand<'v>(
    module: &Module,
    op: OpId,
    values: &'v Values,
    value: ValueId,
) -> Result<&'v TensorData, Box<Diagnostic>> {
    values.get(&value).ok_or_else(|| {
        let message = format!("`{}` has no value here", module.value_text(value));
        error(module, op, MeaningCode::NoMeaning, message)
    })
}

fn evaluate_op(
    module: &Module,
    op: OpId,
    values: &Values,
    precision: Precision,
) -> Result<TensorData, Box<Diagnostic>> {
    let get = |value| operand(module, op, values, value);
    let Some(&result) = module.results(op).first() else {
        let message = format!("`{}` has no meaning in a graph", module.name(op));
        return Err(error(module, op, MeaningCode::NoMeaning, message));
    };
    let (shape, element) = type_of(module, op, module.value_type(result))?;
    if let Some(constant) = module.cast::<Constant>(op) {
        return data_of(module, constant.value(module), module.value_type(result))
            .map_err(|message| error(module, op, MeaningCode::Data, message));
    }
    if let Some(cast) = module.cast::<Cast>(op) {
        return Ok(TensorData::from_values(shape, element, get(cast.input(module))?.values()));
    }
    if let Some(reshape) = module.cast::<Reshape>(op) {
        let bytes = get(reshape.input(module))?.bytes.clone();
        return Ok(TensorData { shape, element, bytes });
    }
    if let Some(transpose) = module.cast::<Transpose>(op) {
        return Ok(transposed(get(transpose.input(module))?, transpose.permutation(module)));
    }
    if let Some(gemm) = module.cast::<Gemm>(op) {
        let (left, right) = (get(gemm.left(module))?, get(gemm.right(module))?);
        return Ok(Product::of(module, gemm, precision).multiply(left, right, shape, element));
    }
    let message = format!("`{}` has no meaning in a graph", module.name(op));
    Err(error(module, op, MeaningCode::NoMeaning, message))
}

/// The tensor that a `dense` or `dense_resource` attribute holds, for type `ty`.
///
/// # Errors
/// The attribute is something else, or does not have the elements of the type.
pub fn data_of(module: &Module, attribute: &Attribute, ty: &Type) -> Result<TensorData, String> {
    let (shape, element) = TensorData::type_of(ty)?;
    let count = usize::try_from(shape.iter().product::<u64>()).unwrap_or(usize::MAX);
    if let AttributeKind::DenseElements(elements) = attribute.kind()
        && TensorData::type_of(&elements.ty).as_ref() != Ok(&(shape.clone(), element))
    {
        return Err(format!("elements of a `{}` are not those of a `{ty}`", elements.ty));
    }
    let bytes = match attribute.kind() {
        AttributeKind::DenseElements(dense) if dense.splat => dense.data.repeat(count),
        AttributeKind::DenseElements(dense) => dense.data.clone(),
        AttributeKind::DenseResource { name, .. } => match module.resources.get(name) {
            Some(resource) => resource.data.to_vec(),
            None => return Err(format!("the file has no resource `{name}`")),
        },
        _ => return Err(format!("`{attribute}` holds no elements")),
    };
    let data = TensorData { shape, element, bytes };
    if data.is_whole() {
        return Ok(data);
    }
    Err(format!("{} bytes are not the elements of a `{ty}`", data.bytes.len()))
}

fn transposed(input: &TensorData, permutation: &[i64]) -> TensorData {
    let width = input.element.element.bytes() as usize;
    let axes: Vec<usize> = permutation.iter().filter_map(|&axis| usize::try_from(axis).ok()).collect();
    let shape: Vec<u64> = axes.iter().filter_map(|&axis| input.shape.get(axis)).copied().collect();
    let mut strides = vec![1usize; input.shape.len()];
    for axis in (1..input.shape.len()).rev() {
        strides[axis - 1] = strides[axis] * input.shape[axis] as usize;
    }
    let mut bytes = Vec::with_capacity(input.bytes.len());
    for index in 0..shape.iter().product::<u64>() {
        let (mut rest, mut source) = (index, 0);
        for (&axis, &extent) in axes.iter().zip(&shape).rev() {
            source += (rest % extent) as usize * strides.get(axis).copied().unwrap_or(0);
            rest /= extent;
        }
        bytes.extend_from_slice(input.bytes.get(source * width..(source + 1) * width).unwrap_or_default());
    }
    TensorData { shape, element: input.element, bytes }
}

/// A `graph.gemm` as numbers.
struct Product {
    transpose_left: bool,
    transpose_right: bool,
    multiply: Option<ScaledElement>,
    accumulate: Option<ScaledElement>,
}

impl Product {
    fn of(module: &Module, gemm: Gemm, precision: Precision) -> Self {
        let declared = |ty: Option<&Type>| ty.and_then(ScaledElement::of);
        let rounded = precision == Precision::Declared;
        Self {
            transpose_left: gemm.transpose_left(module),
            transpose_right: gemm.transpose_right(module),
            multiply: declared(gemm.multiply(module)).filter(|_| rounded),
            accumulate: declared(gemm.accumulate(module)).filter(|_| rounded),
        }
    }

    fn multiply(
        &self,
        left: &TensorData,
        right: &TensorData,
        shape: Vec<u64>,
        element: ScaledElement,
    ) -> TensorData {
        let size = |from_end: usize| -> usize {
            shape
                .len()
                .checked_sub(from_end)
                .and_then(|axis| shape.get(axis))
                .map_or(0, |&size| size as usize)
        };
        let (rows, columns) = (size(2), size(1));
        let inner_axis = left.shape.len().saturating_sub(if self.transpose_left { 2 } else { 1 });
        let inner = left.shape.get(inner_axis).map_or(0, |&size| size as usize);
        let (left, right) = (self.operand(left), self.operand(right));
        let row = |index: usize| -> Vec<f64> {
            let (batch, row) = (index / rows, index % rows);
            let mut sums = vec![0.0; columns];
            for k in 0..inner {
                let at = if self.transpose_left { k * rows + row } else { row * inner + k };
                let factor = left.get(batch * rows * inner + at).copied().unwrap_or(f64::NAN);
                for (column, sum) in sums.iter_mut().enumerate() {
                    let at = if self.transpose_right { column * inner + k } else { k * columns + column };
                    *sum += factor * right.get(batch * inner * columns + at).copied().unwrap_or(f64::NAN);
                }
            }
            sums
        };
        let count = (shape.iter().product::<u64>() as usize).checked_div(columns).unwrap_or(0);
        let sums: Vec<f64> = (0..count).into_par_iter().flat_map_iter(row).collect();
        let sums = match self.accumulate {
            Some(accumulate) => rounded(sums, accumulate),
            None => sums,
        };
        TensorData::from_values(shape, element, sums)
    }

    fn operand(&self, tensor: &TensorData) -> Vec<f64> {
        match self.multiply {
            Some(multiply) if multiply != tensor.element => rounded(tensor.values(), multiply),
            _ => tensor.values(),
        }
    }
}

/// The values as `element` holds them.
fn rounded(values: Vec<f64>, ScaledElement { element, scale }: ScaledElement) -> Vec<f64> {
    encode_elements(element, scale, F16_OVERFLOW, values)
        .and_then(|bytes| decode_elements(element, scale, &bytes))
        .unwrap_or_default()
}
