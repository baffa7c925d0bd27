//! The language of the e-graph: tensor expressions with one result, and the type of each.
//!
//! Rules kept here: an expression says everything that its value depends on; what the language has no node for is
//! an opaque [`Expression::Leaf`]; types are computed by [`Expression::result_type`] and nowhere else.

use std::mem::{Discriminant, discriminant};

use egg::{Analysis, DidMerge, EGraph, Id, Language};
use smallvec::SmallVec;

use super::element::Element;

/// Length of each axis.
pub type Shape = SmallVec<[u64; 4]>;

/// The e-graph of tensor expressions.
pub type Graph = EGraph<Expression, Typing>;

/// A tensor's shape and element type.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorType {
    /// Length of each axis.
    pub shape: Shape,
    /// Type of an element.
    pub element: Element,
}

impl TensorType {
    /// Number of elements, saturated at 64 bits.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.shape.iter().fold(1, |product: u64, &length| product.saturating_mul(length))
    }

    /// Size of the elements in bytes, saturated at 64 bits.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.elements().saturating_mul(u64::from(self.element.bits())).div_ceil(8)
    }
}

/// An order of axes: axis `i` of the result is axis `permutation[i]` of the input.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Permutation(SmallVec<[u32; 4]>);

impl Permutation {
    /// The permutation of those axes; `None` unless each of `0..axes.len()` stands there once.
    #[must_use]
    pub fn new(axes: impl IntoIterator<Item = u32>) -> Option<Self> {
        let axes: SmallVec<[u32; 4]> = axes.into_iter().collect();
        let mut seen: SmallVec<[bool; 4]> = SmallVec::from_elem(false, axes.len());
        for &axis in &axes {
            let slot = seen.get_mut(axis as usize)?;
            if std::mem::replace(slot, true) {
                return None;
            }
        }
        Some(Self(axes))
    }

    /// The input axis of each result axis.
    #[must_use]
    pub fn axes(&self) -> &[u32] {
        &self.0
    }

    /// The items of `input` in the order of the result; `None` unless there is one item per axis.
    #[must_use]
    pub fn apply<T: Copy>(&self, input: &[T]) -> Option<SmallVec<[T; 4]>>
    where
        [T; 4]: smallvec::Array<Item = T>,
    {
        if input.len() != self.0.len() {
            return None;
        }
        self.0.iter().map(|&axis| input.get(axis as usize).copied()).collect()
    }

    /// This permutation of the result of `first`, as one permutation of the input of `first`.
    #[must_use]
    pub fn after(&self, first: &Self) -> Option<Self> {
        self.apply(&first.0).map(Self)
    }

    /// Whether nothing moves.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.0.iter().zip(0..).all(|(&axis, place)| axis == place)
    }

    /// Whether exactly the last two axes are exchanged.
    #[must_use]
    pub fn exchanges_last_two(&self) -> bool {
        let [leading @ .., before, last] = self.0.as_slice() else { return false };
        let rank = self.0.len() as u32;
        *before + 1 == rank
            && *last + 2 == rank
            && leading.iter().zip(0..).all(|(&axis, place)| axis == place)
    }

    /// Whether axes longer than one keep their order: then the row-major sequence of elements stays as it is.
    #[must_use]
    pub fn keeps_element_order(&self, input: &[u64]) -> bool {
        let long = |axis: &&u32| input.get(**axis as usize).is_some_and(|&length| length != 1);
        self.0.iter().filter(long).is_sorted()
    }
}

/// What a matrix product says besides its operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gemm {
    /// The type to which operands are converted before they are multiplied.
    pub multiply: Element,
    /// The type of partial sums.
    pub accumulate: Element,
    /// The type of the result.
    pub result: Element,
    /// Whether the last two axes of the left operand are exchanged first.
    pub transpose_left: bool,
    /// Whether the last two axes of the right operand are exchanged first.
    pub transpose_right: bool,
}

/// An opaque value: an argument, or the result of an op that the language has no node for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LeafId(pub u32);

/// A node of the e-graph.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Expression {
    /// An opaque value; its type stands in [`Typing`].
    Leaf(LeafId),
    /// The same elements in row-major order under that shape.
    Reshape(Shape, Id),
    /// Axes in another order.
    Transpose(Permutation, Id),
    /// Each element in another type, rounded once to nearest, ties to even.
    Cast(Element, Id),
    /// The matrix product over the last two axes, batched over equal leading ones.
    Gemm(Gemm, [Id; 2]),
}

impl Language for Expression {
    type Discriminant = Discriminant<Self>;

    fn discriminant(&self) -> Self::Discriminant {
        discriminant(self)
    }

    fn matches(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Leaf(one), Self::Leaf(other)) => one == other,
            (Self::Reshape(one, _), Self::Reshape(other, _)) => one == other,
            (Self::Transpose(one, _), Self::Transpose(other, _)) => one == other,
            (Self::Cast(one, _), Self::Cast(other, _)) => one == other,
            (Self::Gemm(one, _), Self::Gemm(other, _)) => one == other,
            _ => false,
        }
    }

    fn children(&self) -> &[Id] {
        match self {
            Self::Leaf(_) => &[],
            Self::Reshape(_, input) | Self::Transpose(_, input) | Self::Cast(_, input) => {
                std::slice::from_ref(input)
            }
            Self::Gemm(_, operands) => operands,
        }
    }

    fn children_mut(&mut self) -> &mut [Id] {
        match self {
            Self::Leaf(_) => &mut [],
            Self::Reshape(_, input) | Self::Transpose(_, input) | Self::Cast(_, input) => {
                std::slice::from_mut(input)
            }
            Self::Gemm(_, operands) => operands,
        }
    }
}

impl Expression {
    /// The type of the result in `graph`; `None` for an expression that is not well formed.
    #[must_use]
    pub fn result_type(&self, graph: &Graph) -> Option<TensorType> {
        let operand = |id: Id| &graph[id].data;
        match self {
            Self::Leaf(leaf) => graph.analysis.leaves.get(leaf.0 as usize).cloned(),
            Self::Reshape(shape, input) => {
                let input = operand(*input);
                let result = TensorType { shape: shape.clone(), element: input.element };
                (result.elements() == input.elements()).then_some(result)
            }
            Self::Transpose(permutation, input) => {
                let input = operand(*input);
                Some(TensorType { shape: permutation.apply(&input.shape)?, element: input.element })
            }
            Self::Cast(element, input) => {
                Some(TensorType { shape: operand(*input).shape.clone(), element: *element })
            }
            Self::Gemm(gemm, [left, right]) => {
                let (batch, rows, inner) = matrix(operand(*left), gemm.transpose_left)?;
                let (right_batch, right_inner, columns) = matrix(operand(*right), gemm.transpose_right)?;
                if batch != right_batch || inner != right_inner {
                    return None;
                }
                let shape = batch.iter().copied().chain([rows, columns]).collect();
                Some(TensorType { shape, element: gemm.result })
            }
        }
    }
}

/// Batch axes, rows and columns of an operand, after the exchange of the last two axes where `transposed`.
pub(super) fn matrix(operand: &TensorType, transposed: bool) -> Option<(&[u64], u64, u64)> {
    let [batch @ .., rows, columns] = operand.shape.as_slice() else { return None };
    Some(if transposed { (batch, *columns, *rows) } else { (batch, *rows, *columns) })
}

/// The analysis of the e-graph: every class has one type.
#[derive(Debug, Clone, Default)]
pub struct Typing {
    leaves: Vec<TensorType>,
}

impl Typing {
    /// A new opaque value of that type.
    pub fn leaf(&mut self, ty: TensorType) -> Expression {
        let leaf = LeafId(self.leaves.len() as u32);
        self.leaves.push(ty);
        Expression::Leaf(leaf)
    }
}

impl Analysis<Expression> for Typing {
    type Data = TensorType;

    fn make(graph: &mut Graph, node: &Expression, _id: Id) -> TensorType {
        match node.result_type(graph) {
            Some(ty) => ty,
            None => unreachable!("internal bug: ill-formed expression {node:?} in the e-graph"),
        }
    }

    fn merge(&mut self, one: &mut TensorType, other: TensorType) -> DidMerge {
        assert!(*one == other, "internal bug: a rule made {one:?} equal {other:?}");
        DidMerge(false, false)
    }
}
