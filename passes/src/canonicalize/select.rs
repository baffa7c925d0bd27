//! Chooses one node for each class of a searched e-graph, so that the whole program is cheapest.
//!
//! Rules kept here: the cost counts a shared value once; the order of selections is total, so ties never depend on
//! how the e-graph was built; where nothing is cheaper the program's own nodes are kept; a selection has no cycle.
//!
//! The best selection of a shared graph is NP-hard to find. Two selections, the program as it is and the one that
//! is best for each value by itself, are improved one class at a time until no single change helps; the
//! cheaper one wins. So the result is never worse than the program, and bounded in work by
//! `SELECTION_VISITS`.

use std::ops::AddAssign;

use egg::{Id, Language};
use ipu_device::hash::HashMap;

use super::expression::{Expression, Graph, matrix};

/// Visits of nodes after which improvement ends: some seconds of work, reached only by large, tangled graphs.
const SELECTION_VISITS: u64 = 200_000_000;

/// What a selection costs, compared in order of declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Cost {
    /// Multiplications of all matrix products: never more of them to save movement.
    pub multiplications: u64,
    /// Bytes that casts and transposes read and write. Reshapes are free until storage is chosen.
    pub moved_bytes: u64,
    /// Number of ops.
    pub operations: u64,
    /// Operands that a matrix product takes transposed.
    pub transposed_operands: u64,
    /// Ops that are not in the program as given.
    pub new_operations: u64,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        let add = |one: &mut u64, other: u64| *one = one.saturating_add(other);
        add(&mut self.multiplications, other.multiplications);
        add(&mut self.moved_bytes, other.moved_bytes);
        add(&mut self.operations, other.operations);
        add(&mut self.transposed_operands, other.transposed_operands);
        add(&mut self.new_operations, other.new_operations);
    }
}

/// The cost of a node by itself, new or not.
fn own_cost(graph: &Graph, node: &Expression, is_new: bool) -> Cost {
    let bytes = |id: Id| graph[id].data.bytes();
    let mut cost = Cost { operations: 1, new_operations: u64::from(is_new), ..Cost::default() };
    match node {
        Expression::Leaf(_) => return Cost::default(),
        Expression::Reshape(..) => {}
        Expression::Transpose(_, input) => cost.moved_bytes = bytes(*input).saturating_mul(2),
        Expression::Cast(element, input) => {
            let written = graph[*input].data.elements().saturating_mul(u64::from(element.bits())).div_ceil(8);
            cost.moved_bytes = bytes(*input).saturating_add(written);
        }
        Expression::Gemm(gemm, [left, right]) => {
            let columns =
                matrix(&graph[*right].data, gemm.transpose_right).map_or(1, |(_, _, columns)| columns);
            cost.multiplications = graph[*left].data.elements().saturating_mul(columns);
            cost.transposed_operands = u64::from(gemm.transpose_left) + u64::from(gemm.transpose_right);
        }
    }
    cost
}

/// A node that a class can be made by.
#[derive(Debug, Clone)]
struct Candidate {
    node: Expression,
    /// Positions of the operands' classes.
    operands: Vec<usize>,
    cost: Cost,
}

/// A class with its candidates, those of the program first, in program order.
#[derive(Debug)]
struct Class {
    id: Id,
    candidates: Vec<Candidate>,
}

/// One node for each class that the roots need.
#[derive(Debug)]
pub struct Selection {
    nodes: HashMap<Id, Expression>,
    /// What it costs.
    pub cost: Cost,
    /// What the program as given costs.
    pub given_cost: Cost,
}

impl Selection {
    /// The node chosen for a class, its operands canonical; `None` if the roots do not need it.
    #[must_use]
    pub fn node(&self, class: Id) -> Option<&Expression> {
        self.nodes.get(&class)
    }
}

/// Selects nodes for `roots` and all they need.
///
/// `given` are the nodes of the program in program order, with the class of each: together they are a selection.
#[must_use]
pub fn select(graph: &Graph, given: &[(Id, Expression)], roots: &[Id]) -> Selection {
    let selector = Selector::new(graph, given, roots);
    let as_given = vec![0; selector.classes.len()];
    let greedy = selector.greedy();
    let given_cost = selector.cost(&as_given).unwrap_or_default();
    let mut visits = 0;
    // Classes that are not in the program have no given node: there the greedy choice stands in.
    let start = selector.classes.iter().zip(&greedy).map(|(class, &best)| {
        let is_given = class.candidates.first().is_some_and(|first| first.cost.new_operations == 0);
        if is_given { 0 } else { best }
    });
    let mut best: Option<(Cost, Vec<usize>)> = None;
    for choice in [start.collect::<Vec<usize>>(), greedy.clone()] {
        let Some(improved) = selector.improve(choice, &mut visits) else { continue };
        if best.as_ref().is_none_or(|(cost, _)| improved.0 < *cost) {
            best = Some(improved);
        }
    }
    let (cost, choice) = best.unwrap_or((given_cost, as_given));
    let nodes = selector.reachable(&choice).unwrap_or_default().into_iter().filter_map(|at| {
        let class = selector.classes.get(at)?;
        let candidate = class.candidates.get(*choice.get(at)?)?;
        Some((class.id, candidate.node.clone()))
    });
    Selection { nodes: nodes.collect(), cost, given_cost }
}

struct Selector {
    classes: Vec<Class>,
    roots: Vec<usize>,
}

impl Selector {
    fn new(graph: &Graph, given: &[(Id, Expression)], roots: &[Id]) -> Self {
        let mut ids: Vec<Id> = graph.classes().map(|class| class.id).collect();
        ids.sort_unstable();
        let places: HashMap<Id, usize> = ids.iter().enumerate().map(|(at, &id)| (id, at)).collect();
        let place = |id: Id| places.get(&graph.find(id)).copied().unwrap_or(usize::MAX);
        let mut program: HashMap<Id, Vec<Expression>> = HashMap::default();
        for (class, node) in given {
            let nodes = program.entry(graph.find(*class)).or_default();
            let node = node.clone().map_children(|operand| graph.find(operand));
            if !nodes.contains(&node) {
                nodes.push(node);
            }
        }
        let classes = ids.iter().map(|&id| {
            let first = program.remove(&id).unwrap_or_default();
            let mut others: Vec<Expression> = graph[id].nodes.clone();
            others.retain(|node| !first.contains(node));
            others.sort_unstable();
            let known = first.len();
            let candidate = |(at, node): (usize, Expression)| Candidate {
                operands: node.children().iter().map(|&operand| place(operand)).collect(),
                cost: own_cost(graph, &node, at >= known && !node.is_leaf()),
                node,
            };
            Class { id, candidates: first.into_iter().chain(others).enumerate().map(candidate).collect() }
        });
        let classes = classes.collect();
        Self { classes, roots: roots.iter().map(|&root| place(root)).collect() }
    }

    fn candidate(&self, choice: &[usize], class: usize) -> Option<&Candidate> {
        self.classes.get(class)?.candidates.get(*choice.get(class)?)
    }

    /// The best candidate of each class if nothing were shared.
    fn greedy(&self) -> Vec<usize> {
        let mut costs: Vec<Option<Cost>> = vec![None; self.classes.len()];
        let mut choice = vec![0; self.classes.len()];
        // Each round gives at least one class a lower cost; a path of distinct classes settles in as many rounds.
        for _ in 0..=self.classes.len() {
            let mut changed = false;
            for (at, class) in self.classes.iter().enumerate() {
                for (index, candidate) in class.candidates.iter().enumerate() {
                    let Some(cost) = tree_cost(candidate, &costs) else { continue };
                    if costs[at].is_none_or(|best| cost < best) {
                        (costs[at], choice[at], changed) = (Some(cost), index, true);
                    }
                }
            }
            if !changed {
                break;
            }
        }
        choice
    }

    /// The classes that the roots need under `choice`, operands first; `None` if they need one another in a ring.
    fn reachable(&self, choice: &[usize]) -> Option<Vec<usize>> {
        const OPEN: u8 = 1;
        const DONE: u8 = 2;
        let mut state = vec![0; self.classes.len()];
        let mut order = Vec::new();
        let mut work: Vec<usize> = self.roots.iter().rev().copied().collect();
        while let Some(&class) = work.last() {
            match state.get(class).copied()? {
                DONE => {
                    work.pop();
                }
                OPEN => {
                    work.pop();
                    state[class] = DONE;
                    order.push(class);
                }
                _ => {
                    state[class] = OPEN;
                    for &operand in self.candidate(choice, class)?.operands.iter().rev() {
                        match state.get(operand).copied()? {
                            OPEN => return None,
                            DONE => {}
                            _ => work.push(operand),
                        }
                    }
                }
            }
        }
        Some(order)
    }

    fn cost_of(&self, choice: &[usize], order: &[usize]) -> Cost {
        let mut total = Cost::default();
        for candidate in order.iter().filter_map(|&class| self.candidate(choice, class)) {
            total += candidate.cost;
        }
        total
    }

    fn cost(&self, choice: &[usize]) -> Option<Cost> {
        self.reachable(choice).map(|order| self.cost_of(choice, &order))
    }

    /// Changes one class at a time while that lowers the cost; `None` for a start with a ring.
    fn improve(&self, mut choice: Vec<usize>, visits: &mut u64) -> Option<(Cost, Vec<usize>)> {
        let mut order = self.reachable(&choice)?;
        let mut best = self.cost_of(&choice, &order);
        loop {
            let before = best;
            for class in order.clone() {
                for index in 0..self.classes[class].candidates.len() {
                    let kept = std::mem::replace(&mut choice[class], index);
                    let found = (kept != index).then(|| self.reachable(&choice)).flatten();
                    *visits = visits.saturating_add(found.as_ref().map_or(1, Vec::len) as u64);
                    match found {
                        Some(found) if self.cost_of(&choice, &found) < best => {
                            best = self.cost_of(&choice, &found);
                            order = found;
                        }
                        _ => choice[class] = kept,
                    }
                }
                if *visits > SELECTION_VISITS {
                    return Some((best, choice));
                }
            }
            if best == before {
                return Some((best, choice));
            }
        }
    }
}

fn tree_cost(candidate: &Candidate, costs: &[Option<Cost>]) -> Option<Cost> {
    let mut total = candidate.cost;
    for &operand in &candidate.operands {
        total += (*costs.get(operand)?)?;
    }
    Some(total)
}
