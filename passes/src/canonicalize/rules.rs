//! The rewrite rules. Each says that two expressions have the same value, bit for bit but for the payload of NaN.
//!
//! Rules kept here: a rule only adds an equality, it never decides that a form is better (that is `select`); no
//! rule removes a rounding that can change a value; both sides have the same type.

use egg::{Id, Language};

use super::expression::{Expression, Gemm, Graph, Permutation};

/// What a rule found equal to a node.
#[derive(Debug, Clone)]
pub(super) enum Equal {
    /// A class that is there.
    Class(Id),
    /// A node over classes that are there.
    Node(Expression),
    /// `outer` of `inner`; the one operand of `outer` is a placeholder.
    Nested { outer: Expression, inner: Expression },
}

/// A rewrite rule: a name, what it states, and the function that applies it to one node of a class.
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) statement: &'static str,
    pub(super) equals: fn(&Graph, &Expression) -> Vec<Equal>,
}

const RULES: &[Rule] = &[
    Rule {
        name: "compose-transposes",
        statement: "transpose(p, transpose(q, x)) = transpose(p after q, x)",
        equals: compose_transposes,
    },
    Rule { name: "drop-identity-transpose", statement: "transpose(identity, x) = x", equals: drop_identity },
    Rule {
        name: "transpose-as-reshape",
        statement: "transpose(p, x) = reshape(x) where axes longer than one keep their order",
        equals: transpose_as_reshape,
    },
    Rule {
        name: "compose-reshapes",
        statement: "reshape(s, reshape(t, x)) = reshape(s, x)",
        equals: compose_reshapes,
    },
    Rule {
        name: "drop-identity-reshape",
        statement: "reshape(s, x) = x where x has shape s",
        equals: drop_same_shape,
    },
    Rule {
        name: "drop-identity-cast",
        statement: "cast(t, x) = x where x has elements t",
        equals: drop_same_element,
    },
    Rule {
        name: "shorten-cast",
        statement: "cast(t, cast(u, x)) = cast(t, x) where u holds every value of x",
        equals: shorten_cast,
    },
    Rule {
        name: "cast-before-transpose",
        statement: "cast(t, transpose(p, x)) = transpose(p, cast(t, x))",
        equals: cast_before_move,
    },
    Rule {
        name: "cast-after-transpose",
        statement: "transpose(p, cast(t, x)) = cast(t, transpose(p, x))",
        equals: cast_after_move,
    },
    Rule {
        name: "transpose-into-gemm",
        statement: "gemm(transpose(x), y) = gemm(x transposed, y), and for the right operand",
        equals: transpose_into_gemm,
    },
    Rule {
        name: "transpose-of-gemm",
        statement: "transpose(gemm(x, y)) = gemm(y transposed, x transposed)",
        equals: transpose_of_gemm,
    },
];

/// Name and statement of every rule, in the order in which they are applied.
pub fn statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    RULES.iter().map(|rule| (rule.name, rule.statement))
}

/// All rules.
pub(super) fn all() -> &'static [Rule] {
    RULES
}

impl Equal {
    /// Puts the expression into `graph`.
    pub(super) fn add_to(self, graph: &mut Graph) -> Id {
        match self {
            Self::Class(id) => id,
            Self::Node(node) => graph.add(node),
            Self::Nested { mut outer, inner } => {
                let inner = graph.add(inner);
                outer.for_each_mut(|operand| *operand = inner);
                graph.add(outer)
            }
        }
    }
}

fn compose_transposes(graph: &Graph, node: &Expression) -> Vec<Equal> {
    let Expression::Transpose(outer, input) = node else { return Vec::new() };
    transposes(graph, *input)
        .filter_map(|(inner, source)| outer.after(inner).map(|composed| transposed(composed, source)))
        .collect()
}

fn drop_identity(_graph: &Graph, node: &Expression) -> Vec<Equal> {
    match node {
        Expression::Transpose(permutation, input) if permutation.is_identity() => vec![Equal::Class(*input)],
        _ => Vec::new(),
    }
}

fn transpose_as_reshape(graph: &Graph, node: &Expression) -> Vec<Equal> {
    let Expression::Transpose(permutation, input) = node else { return Vec::new() };
    let shape = &graph[*input].data.shape;
    match permutation.apply(shape) {
        Some(result) if permutation.keeps_element_order(shape) => {
            vec![Equal::Node(Expression::Reshape(result, *input))]
        }
        _ => Vec::new(),
    }
}

fn compose_reshapes(graph: &Graph, node: &Expression) -> Vec<Equal> {
    let Expression::Reshape(shape, input) = node else { return Vec::new() };
    let source = |inner: &Expression| match inner {
        Expression::Reshape(_, source) => Some(Equal::Node(Expression::Reshape(shape.clone(), *source))),
        _ => None,
    };
    graph[*input].iter().filter_map(source).collect()
}

fn drop_same_shape(graph: &Graph, node: &Expression) -> Vec<Equal> {
    match node {
        Expression::Reshape(shape, input) if *shape == graph[*input].data.shape => vec![Equal::Class(*input)],
        _ => Vec::new(),
    }
}

fn drop_same_element(graph: &Graph, node: &Expression) -> Vec<Equal> {
    match node {
        Expression::Cast(element, input) if *element == graph[*input].data.element => {
            vec![Equal::Class(*input)]
        }
        _ => Vec::new(),
    }
}

fn shorten_cast(graph: &Graph, node: &Expression) -> Vec<Equal> {
    let Expression::Cast(to, input) = node else { return Vec::new() };
    let shorter = |inner: &Expression| match inner {
        Expression::Cast(between, source) if graph[*source].data.element.widens_exactly_to(*between) => {
            Some(Equal::Node(Expression::Cast(*to, *source)))
        }
        _ => None,
    };
    graph[*input].iter().filter_map(shorter).collect()
}

fn cast_before_move(graph: &Graph, node: &Expression) -> Vec<Equal> {
    let Expression::Cast(to, input) = node else { return Vec::new() };
    let exchanged = |inner: &Expression| {
        let source = moved(inner)?;
        Some(Equal::Nested { outer: inner.clone(), inner: Expression::Cast(*to, source) })
    };
    graph[*input].iter().filter_map(exchanged).collect()
}

fn cast_after_move(graph: &Graph, node: &Expression) -> Vec<Equal> {
    let Some(input) = moved(node) else { return Vec::new() };
    let exchanged = |inner: &Expression| match inner {
        Expression::Cast(to, source) => {
            let mut moved = node.clone();
            moved.for_each_mut(|operand| *operand = *source);
            Some(Equal::Nested { outer: Expression::Cast(*to, input), inner: moved })
        }
        _ => None,
    };
    graph[input].iter().filter_map(exchanged).collect()
}

fn transpose_into_gemm(graph: &Graph, node: &Expression) -> Vec<Equal> {
    let Expression::Gemm(gemm, [left, right]) = node else { return Vec::new() };
    let exchanged = |operand| {
        transposes(graph, operand).filter(|(order, _)| order.exchanges_last_two()).map(|(_, source)| source)
    };
    let left_flag = Gemm { transpose_left: !gemm.transpose_left, ..*gemm };
    let right_flag = Gemm { transpose_right: !gemm.transpose_right, ..*gemm };
    let lefts = exchanged(*left).map(|source| Expression::Gemm(left_flag, [source, *right]));
    let rights = exchanged(*right).map(|source| Expression::Gemm(right_flag, [*left, source]));
    lefts.chain(rights).map(Equal::Node).collect()
}

fn transpose_of_gemm(graph: &Graph, node: &Expression) -> Vec<Equal> {
    let Expression::Transpose(order, input) = node else { return Vec::new() };
    if !order.exchanges_last_two() {
        return Vec::new();
    }
    // The transpose of an operand is its other flag, so no new transposes appear.
    let swapped = |inner: &Expression| match inner {
        Expression::Gemm(gemm, [left, right]) => {
            let flags = Gemm {
                transpose_left: !gemm.transpose_right,
                transpose_right: !gemm.transpose_left,
                ..*gemm
            };
            Some(Equal::Node(Expression::Gemm(flags, [*right, *left])))
        }
        _ => None,
    };
    graph[*input].iter().filter_map(swapped).collect()
}

/// The transposes that a class is equal to, each with its input.
fn transposes(graph: &Graph, class: Id) -> impl Iterator<Item = (&Permutation, Id)> {
    graph[class].iter().filter_map(|node| match node {
        Expression::Transpose(permutation, source) => Some((permutation, *source)),
        _ => None,
    })
}

fn transposed(permutation: Permutation, input: Id) -> Equal {
    if permutation.is_identity() {
        Equal::Class(input)
    } else {
        Equal::Node(Expression::Transpose(permutation, input))
    }
}

/// The input of a node that moves elements without changing them.
fn moved(node: &Expression) -> Option<Id> {
    match node {
        Expression::Transpose(_, input) | Expression::Reshape(_, input) => Some(*input),
        _ => None,
    }
}
