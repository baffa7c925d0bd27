//! What enters and what leaves a program, as the text says it: names, kinds, types, and the data that attributes stand for.

use ipu_device::generators;

use super::{Argument, ArgumentKind, CaseResult, Level, Resources};
use crate::graph::meaning::data_of;
use crate::ipu::{Cycle, DEFAULT_TOLERANCE, Edges, Iota, Normal, Npy, ScaledElement, ToleranceAttribute};
use crate::ir::{Attribute, Module, OpId, Type};
use crate::npy::NpyArray;
use crate::tensor_data::TensorData;

/// Name, attributes and type of an argument or result before its data is made.
#[derive(Debug, Clone)]
pub struct Part<'m> {
    /// `ipu.name`, else `arg0`, `arg1`, ... or `result0`, `result1`, ...
    pub name: String,
    /// Whether it enters once, before all calls.
    pub weight: bool,
    /// Type, layout included.
    pub ty: &'m Type,
    /// Everything the text says of it, name and kind among it.
    pub attributes: &'m [(crate::ir::Name, Attribute)],
}

impl Part<'_> {
    /// What is entered as `data`.
    pub(super) fn argument(self, data: TensorData) -> Argument {
        let kind = if self.weight { ArgumentKind::Weight } else { ArgumentKind::Input };
        Argument { name: self.name, kind, ty: self.ty.clone(), data }
    }

    /// What leaves and must be `expected`, as far as the text says.
    pub(super) fn result(self, expected: Option<TensorData>) -> CaseResult {
        let tolerance = self.attribute("ipu.tolerance").and_then(Attribute::dialect_value);
        let tolerance = tolerance.map_or(DEFAULT_TOLERANCE, ToleranceAttribute::tolerance);
        CaseResult { name: self.name, ty: self.ty.clone(), tolerance, expected }
    }

    /// What the text says of it under `name`.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|(key, _)| key.as_str() == name).map(|(_, value)| value)
    }
}

/// The level of a function or program, what enters and what leaves.
pub(super) type Parts<'m> = (Level, Vec<Part<'m>>, Vec<Part<'m>>);

/// The parts of `entry`; nothing if it is neither a function of graph or mapped nor a program.
pub(super) fn parts_of(module: &Module, entry: OpId) -> Option<Parts<'_>> {
    let level = Level::of(module, entry)?;
    let (inputs, outputs) = match level {
        Level::Graph | Level::Mapped => function_parts(module, entry),
        Level::Exchange | Level::Tile => program_parts(module, entry),
    };
    Some((level, inputs, outputs))
}

/// What enters and what leaves a function of graph or mapped: the one reading of names and kinds.
#[must_use]
pub fn function_parts(module: &Module, function: OpId) -> (Vec<Part<'_>>, Vec<Part<'_>>) {
    let signature = module.attribute(function, "function_type").and_then(Attribute::as_type);
    let Some(signature) = signature.and_then(Type::as_function) else { return (Vec::new(), Vec::new()) };
    (
        signature_parts(module, function, &signature.inputs, ("arg_attrs", "arg")),
        signature_parts(module, function, &signature.results, ("res_attrs", "result")),
    )
}

fn signature_parts<'m>(
    module: &'m Module,
    function: OpId,
    types: &'m [Type],
    (list, prefix): (&str, &str),
) -> Vec<Part<'m>> {
    let dictionaries = module.attribute(function, list).and_then(Attribute::as_array).unwrap_or(&[]);
    let part = |(index, ty): (usize, &'m Type)| {
        let attributes = dictionaries.get(index).and_then(Attribute::as_dictionary).unwrap_or(&[]);
        let mut part = Part { name: format!("{prefix}{index}"), weight: false, ty, attributes };
        if let Some(name) = part.attribute("ipu.name").and_then(Attribute::as_str) {
            part.name = name.to_owned();
        }
        part.weight = part.attribute("ipu.kind").and_then(Attribute::as_str) == Some("weight");
        part
    };
    types.iter().enumerate().map(part).collect()
}

/// The bindings of a program, which have one form at both levels.
fn program_parts(module: &Module, program: OpId) -> (Vec<Part<'_>>, Vec<Part<'_>>) {
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for op in module.direct_children(program) {
        if !matches!(module.name(op).as_str(), "exchange.binding" | "tile.binding") {
            continue;
        }
        let text = |name: &str| module.attribute(op, name).and_then(Attribute::as_str);
        let ty = module.attribute(op, "tensor").and_then(Attribute::as_type);
        let (Some(name), Some(kind), Some(ty)) = (text("sym_name"), text("kind"), ty) else { continue };
        let weight = kind == "weight";
        let part = Part { name: name.to_owned(), weight, ty, attributes: module.attributes(op) };
        if kind == "output" { outputs.push(part) } else { inputs.push(part) }
    }
    (inputs, outputs)
}

/// The elements that the attribute `ipu.data` stands for.
pub(super) fn argument_data(
    module: &Module,
    part: &Part<'_>,
    resources: &dyn Resources,
) -> Result<TensorData, String> {
    let Some(data) = part.attribute("ipu.data") else {
        return Err("no data; give it `ipu.data = #ipu.normal<seed = 1, sigma = 1.0>` or another".to_owned());
    };
    part_data(module, part, data, resources)
}

/// The elements of `part` that `data` stands for: a generator, a file, or the elements themselves.
pub(super) fn part_data(
    module: &Module,
    part: &Part<'_>,
    data: &Attribute,
    resources: &dyn Resources,
) -> Result<TensorData, String> {
    let (shape, element) = TensorData::type_of(part.ty)?;
    let count = shape.iter().product::<u64>();
    if let Some(normal) = data.dialect_value::<Normal>() {
        let values = generators::normal(normal.seed, normal.sigma() as f32, count).map(f64::from);
        return Ok(TensorData::from_values(shape, element, values));
    }
    if let Some(iota) = data.dialect_value::<Iota>() {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let values = (0..count).map(|index| iota.start.saturating_add(index) as f64);
        return Ok(TensorData::from_values(shape, element, values));
    }
    if let Some(cycle) = data.dialect_value::<Cycle>() {
        let values: Vec<f64> = cycle.values().collect();
        let values = values.into_iter().cycle().take(usize::try_from(count).unwrap_or(0));
        return Ok(TensorData::from_values(shape, element, values));
    }
    if data.dialect_value::<Edges>().is_some() {
        return Ok(TensorData { shape, element, bytes: Edges::bytes(element.element, count) });
    }
    if let Some(npy) = data.dialect_value::<Npy>() {
        let array = NpyArray::read(&resources.file(&npy.path)?)
            .map_err(|message| format!("`{}`: {message}", npy.path))?;
        return array_data(&npy.path, array, shape, element);
    }
    data_of(module, data, part.ty)
}

/// Numbers of an array rounded to the type, or its bytes as the codes of an FP8 tensor.
fn array_data(
    path: &str,
    array: NpyArray,
    shape: Vec<u64>,
    element: ScaledElement,
) -> Result<TensorData, String> {
    if array.shape != shape {
        return Err(format!("`{path}` has shape {:?}, expected {shape:?}", array.shape));
    }
    if element.element.fp8().is_some() && array.is_bytes() {
        return Ok(TensorData { shape, element, bytes: array.bytes });
    }
    match array.values() {
        Some(values) => Ok(TensorData::from_values(shape, element, values)),
        None => Err(format!("`{path}` holds bytes, which only FP8 tensors take as codes")),
    }
}
