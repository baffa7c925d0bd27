//! What is chosen among equal programs.

use egg::Id;

use crate::canonicalize::element::Element;
use crate::canonicalize::expression::{Expression, Gemm, Graph, Permutation, Shape, TensorType, Typing};
use crate::canonicalize::saturate::{Limits, saturate};
use crate::canonicalize::select::{Cost, Selection, select};

use super::evaluator::evaluate;
use super::programs::Program;

const PLAIN: Gemm = Gemm {
    multiply: Element::F16,
    accumulate: Element::F16,
    result: Element::F16,
    transpose_left: false,
    transpose_right: false,
};

/// A program under construction.
struct Small {
    graph: Graph,
    given: Vec<(Id, Expression)>,
}

impl Small {
    fn new() -> Self {
        Self { graph: Graph::new(Typing::default()), given: Vec::new() }
    }

    fn leaf(&mut self, shape: &[u64], element: Element) -> Id {
        let node = self.graph.analysis.leaf(TensorType { shape: Shape::from_slice(shape), element });
        self.add(node)
    }

    fn add(&mut self, node: Expression) -> Id {
        let id = self.graph.add(node.clone());
        self.given.push((id, node));
        id
    }

    fn transpose(&mut self, axes: &[u32], input: Id) -> Id {
        self.add(Expression::Transpose(Permutation::new(axes.iter().copied()).unwrap(), input))
    }

    fn select(self, roots: &[Id]) -> (Graph, Selection) {
        let graph = saturate(self.graph, Limits::default()).graph;
        let selection = select(&graph, &self.given, roots);
        (graph, selection)
    }
}

/// The chosen program of `root` in one line.
fn text(graph: &Graph, selection: &Selection, root: Id) -> String {
    let input = |id: &Id| text(graph, selection, *id);
    match selection.node(graph.find(root)).unwrap() {
        Expression::Leaf(leaf) => format!("leaf{}", leaf.0),
        Expression::Reshape(shape, id) => format!("reshape({shape:?}, {})", input(id)),
        Expression::Transpose(order, id) => format!("transpose({:?}, {})", order.axes(), input(id)),
        Expression::Cast(element, id) => format!("cast({element:?}, {})", input(id)),
        Expression::Gemm(gemm, [left, right]) => {
            let flag = |set| if set { "T" } else { "" };
            let (left_flag, right_flag) = (flag(gemm.transpose_left), flag(gemm.transpose_right));
            format!("gemm({}{left_flag}, {}{right_flag})", input(left), input(right))
        }
    }
}

#[test]
fn a_program_that_nothing_improves_keeps_its_own_nodes() {
    let mut program = Small::new();
    let (a, b) = (program.leaf(&[4, 8], Element::F16), program.leaf(&[8, 2], Element::F16));
    let product = program.add(Expression::Gemm(PLAIN, [a, b]));
    let (graph, selection) = program.select(&[product]);
    assert_eq!(text(&graph, &selection, product), "gemm(leaf0, leaf1)");
    assert_eq!(selection.cost, selection.given_cost);
    assert_eq!(selection.cost, Cost { multiplications: 64, operations: 1, ..Cost::default() });
}

#[test]
fn transposes_of_operands_and_result_become_flags() {
    let mut program = Small::new();
    let (a, b) = (program.leaf(&[8, 4], Element::F16), program.leaf(&[8, 2], Element::F16));
    let turned = program.transpose(&[1, 0], a);
    let product = program.add(Expression::Gemm(PLAIN, [turned, b]));
    let back = program.transpose(&[1, 0], product);
    let (graph, selection) = program.select(&[back]);
    assert_eq!(text(&graph, &selection, back), "gemm(leaf1T, leaf0)");
    assert_eq!(selection.cost.moved_bytes, 0);
}

#[test]
fn a_product_that_is_needed_both_ways_is_computed_once() {
    let mut program = Small::new();
    let (a, b) = (program.leaf(&[4, 8], Element::F16), program.leaf(&[8, 2], Element::F16));
    let product = program.add(Expression::Gemm(PLAIN, [a, b]));
    let turned = program.transpose(&[1, 0], product);
    let (graph, selection) = program.select(&[product, turned]);
    assert_eq!(text(&graph, &selection, turned), "transpose([1, 0], gemm(leaf0, leaf1))");
}

#[test]
fn a_transpose_moves_to_the_narrower_side_of_a_cast() {
    let mut program = Small::new();
    let a = program.leaf(&[4, 8], Element::F32);
    let turned = program.transpose(&[1, 0], a);
    let narrow = program.add(Expression::Cast(Element::F16, turned));
    let wide = program.add(Expression::Cast(Element::F32, narrow));
    let (graph, selection) = program.select(&[wide]);
    assert_eq!(text(&graph, &selection, wide), "cast(F32, transpose([1, 0], cast(F16, leaf0)))");
}

#[test]
fn a_rounding_that_can_matter_stays() {
    let mut program = Small::new();
    let a = program.leaf(&[4, 8], Element::F32);
    let narrow = program.add(Expression::Cast(Element::F16, a));
    let wide = program.add(Expression::Cast(Element::F32, narrow));
    let (graph, selection) = program.select(&[wide]);
    assert_eq!(text(&graph, &selection, wide), "cast(F32, cast(F16, leaf0))");
}

#[test]
fn a_transpose_of_axes_of_length_one_is_a_free_reshape() {
    let mut program = Small::new();
    let a = program.leaf(&[1, 8, 1], Element::F16);
    let turned = program.transpose(&[1, 2, 0], a);
    let (graph, selection) = program.select(&[turned]);
    assert_eq!(text(&graph, &selection, turned), "reshape([8, 1, 1], leaf0)");
}

#[test]
fn a_long_chain_of_transposes_shrinks_without_recursion() {
    let mut program = Small::new();
    let mut value = program.leaf(&[4, 8], Element::F16);
    for _ in 0..2_001 {
        value = program.transpose(&[1, 0], value);
        value = program.add(Expression::Cast(Element::F16, value));
    }
    let (graph, selection) = program.select(&[value]);
    assert_eq!(text(&graph, &selection, value), "transpose([1, 0], leaf0)");
}

#[test]
fn selections_cost_no_more_than_the_program_and_compute_the_same() {
    for seed in 0..400 {
        let program = Program::random(seed);
        let roots: Vec<Id> = program.given.iter().rev().take(2).map(|(id, _)| *id).collect();
        let before = evaluate(&program.graph, &program.leaves).unwrap();
        let search = saturate(program.graph.clone(), Limits::default());
        let selection = select(&search.graph, &program.given, &roots);
        assert!(selection.cost <= selection.given_cost, "program {seed}");

        // Build what was chosen by itself and compute it.
        let mut rebuilt = Graph::new(program.graph.analysis.clone());
        for &root in &roots {
            let id = rebuild(&search.graph, &selection, root, &mut rebuilt);
            let value = &evaluate(&rebuilt, &program.leaves).unwrap()[&rebuilt.find(id)];
            assert!(value.same(&before[&program.graph.find(root)]), "program {seed}");
        }
    }
}

fn rebuild(graph: &Graph, selection: &Selection, class: Id, into: &mut Graph) -> Id {
    let node = selection.node(graph.find(class)).unwrap().clone();
    let node = egg::Language::map_children(node, |operand| rebuild(graph, selection, operand, into));
    into.add(node)
}

#[test]
fn the_same_program_gives_the_same_selection() {
    for seed in 0..50 {
        let run = || {
            let program = Program::random(seed);
            let search = saturate(program.graph, Limits::default());
            let root = program.given.last().unwrap().0;
            let selection = select(&search.graph, &program.given, &[root]);
            (text(&search.graph, &selection, root), search.iterations, search.nodes)
        };
        assert_eq!(run(), run());
    }
}
