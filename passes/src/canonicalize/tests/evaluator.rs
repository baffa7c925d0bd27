//! Evaluates expressions on numbers, independently of the rules.
//!
//! A matrix product converts its operands to the multiply type and adds products one by one in order of `k`,
//! each sum rounded to the accumulate type: stricter than what a plan must do, so that no rule relies on slack.

use egg::{Id, Language};
use ipu_device::hash::HashMap;
use ipu_device::numerics::{ElementType, Overflow, decode_elements, encode_elements};

use crate::canonicalize::element::Element;
use crate::canonicalize::expression::{Expression, Graph, Shape};

use super::programs::Random;

/// The numbers of a tensor, row-major.
#[derive(Debug, Clone)]
pub(super) struct Numbers {
    shape: Shape,
    element: Element,
    values: Vec<f64>,
}

impl Numbers {
    /// Equal shapes, types and values; any NaN equals any NaN, and zeros have signs.
    pub(super) fn same(&self, other: &Self) -> bool {
        let same =
            |(one, other): (&f64, &f64)| one.to_bits() == other.to_bits() || (one.is_nan() && other.is_nan());
        self.shape == other.shape
            && self.element == other.element
            && self.values.len() == other.values.len()
            && self.values.iter().zip(&other.values).all(same)
    }

    /// Random codes of the type: NaN, infinities, subnormals and zeros of both signs among them.
    pub(super) fn random(shape: Shape, element: Element, random: &mut Random) -> Self {
        let (stored, scale) = stored(element);
        let count = shape.iter().product::<u64>() as usize;
        let bytes: Vec<u8> = (0..count * stored.bytes() as usize).map(|_| random.below(256) as u8).collect();
        Self { shape, element, values: decode_elements(stored, scale, &bytes).unwrap() }
    }

    fn strides(&self) -> Vec<usize> {
        let mut strides = vec![1; self.shape.len()];
        for axis in (1..self.shape.len()).rev() {
            strides[axis - 1] = strides[axis] * self.shape[axis] as usize;
        }
        strides
    }
}

/// The stored type and scale of an element type.
pub(super) fn stored(element: Element) -> (ElementType, i32) {
    match element {
        Element::F16 => (ElementType::F16, 0),
        Element::F32 => (ElementType::F32, 0),
        Element::Float8 { format, scale } => {
            let both = [ElementType::F143, ElementType::F152];
            (both.into_iter().find(|stored| stored.fp8() == Some(format)).unwrap(), scale)
        }
        Element::Other { .. } => panic!("the tests compute with floats only"),
    }
}

pub(super) fn round(values: &[f64], element: Element) -> Vec<f64> {
    let (stored, scale) = stored(element);
    let bytes = encode_elements(stored, scale, Overflow::Infinity, values.iter().copied()).unwrap();
    decode_elements(stored, scale, &bytes).unwrap()
}

/// The value of every class of `graph`, after checking that all nodes of a class have the same value.
pub(super) fn evaluate(graph: &Graph, leaves: &[Numbers]) -> Result<HashMap<Id, Numbers>, String> {
    let mut known: HashMap<Id, Numbers> = HashMap::default();
    loop {
        let before = known.len();
        for class in graph.classes() {
            let Some(node) = class.iter().find(|node| node.all(|operand| known.contains_key(&operand)))
            else {
                continue;
            };
            if !known.contains_key(&class.id) {
                let value = value_of(node, &known, leaves);
                known.insert(class.id, value);
            }
        }
        if known.len() == before {
            break;
        }
    }
    for class in graph.classes() {
        for node in class.iter() {
            let value = value_of(node, &known, leaves);
            if !value.same(&known[&class.id]) {
                return Err(format!("{node:?} gives {value:?}, its class {:?}", known[&class.id]));
            }
        }
    }
    Ok(known)
}

fn value_of(node: &Expression, known: &HashMap<Id, Numbers>, leaves: &[Numbers]) -> Numbers {
    match node {
        Expression::Leaf(leaf) => leaves[leaf.0 as usize].clone(),
        Expression::Reshape(shape, input) => Numbers { shape: shape.clone(), ..known[input].clone() },
        Expression::Cast(element, input) => {
            let input = &known[input];
            Numbers { element: *element, values: round(&input.values, *element), shape: input.shape.clone() }
        }
        Expression::Transpose(permutation, input) => transpose(permutation.axes(), &known[input]),
        Expression::Gemm(gemm, [left, right]) => {
            let exchanged = |operand: &Id, exchange: bool| {
                let operand = &known[operand];
                let rank = operand.shape.len() as u32;
                let mut axes: Vec<u32> = (0..rank).collect();
                if exchange {
                    axes.swap(rank as usize - 2, rank as usize - 1);
                }
                transpose(&axes, operand)
            };
            let left = exchanged(left, gemm.transpose_left);
            let right = exchanged(right, gemm.transpose_right);
            multiply(&left, &right, gemm.multiply, gemm.accumulate, gemm.result)
        }
    }
}

fn transpose(axes: &[u32], input: &Numbers) -> Numbers {
    let shape: Shape = axes.iter().map(|&axis| input.shape[axis as usize]).collect();
    let mut result = Numbers { shape, element: input.element, values: Vec::new() };
    let (strides, input_strides) = (result.strides(), input.strides());
    for index in 0..input.values.len() {
        let place = |(at, &axis): (usize, &u32)| {
            index / strides[at] % result.shape[at] as usize * input_strides[axis as usize]
        };
        result.values.push(input.values[axes.iter().enumerate().map(place).sum::<usize>()]);
    }
    result
}

fn multiply(left: &Numbers, right: &Numbers, product: Element, sum: Element, result: Element) -> Numbers {
    let rank = left.shape.len();
    let (rows, inner, columns) =
        (left.shape[rank - 2] as usize, left.shape[rank - 1] as usize, right.shape[rank - 1] as usize);
    let batches: usize = left.shape[..rank - 2].iter().product::<u64>() as usize;
    let (left_values, right_values) = (round(&left.values, product), round(&right.values, product));
    let mut values = Vec::new();
    for place in 0..batches * rows * columns {
        let (batch, row, column) = (place / columns / rows, place / columns % rows, place % columns);
        let total = (0..inner).fold(0.0, |total, k| {
            let one = left_values[(batch * rows + row) * inner + k];
            let other = right_values[(batch * inner + k) * columns + column];
            round(&[total + one * other], sum)[0]
        });
        values.push(total);
    }
    let mut shape = left.shape.clone();
    shape[rank - 1] = columns as u64;
    Numbers { shape, element: result, values: round(&values, result) }
}
