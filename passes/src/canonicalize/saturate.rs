//! Applies the rules until nothing new is equal, or a limit is reached.
//!
//! Limits are numbers of nodes and of iterations, never a time, so the same program gives the same e-graph on
//! every machine. egg's own runner is not used: it reads the clock, and its rules see classes that the rules
//! before them merged but that are not yet rebuilt, which makes long chains quadratic.

use serde::Serialize;

use super::expression::Graph;
use super::rules::{self, Rule};

/// How far a search goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Nodes that the rules may add to those of the program.
    pub nodes: usize,
    /// Rounds over all rules.
    pub iterations: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { nodes: 20_000, iterations: 64 }
    }
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// Every equality that the rules state is there.
    Saturated,
    /// The limit of iterations was reached; the result is the best of what was found.
    IterationLimit,
    /// The limit of nodes was reached; the result is the best of what was found.
    NodeLimit,
}

/// A searched e-graph and how the search went.
#[derive(Debug)]
pub struct Search {
    /// The e-graph, rebuilt.
    pub graph: Graph,
    /// Why the search ended.
    pub stop: Stop,
    /// Rounds over all rules; the last one of a saturated search finds nothing.
    pub iterations: usize,
    /// Nodes in the end.
    pub nodes: usize,
    /// How many classes each rule merged, in the order of the rules.
    pub merged: Vec<(&'static str, usize)>,
}

/// Applies all rules to `graph`.
#[must_use]
pub fn saturate(graph: Graph, limits: Limits) -> Search {
    saturate_with(graph, limits, rules::all())
}

/// Applies some rules to `graph`.
pub(super) fn saturate_with(mut graph: Graph, limits: Limits, rules: &[Rule]) -> Search {
    graph.rebuild();
    let most_nodes = graph.total_size().saturating_add(limits.nodes);
    let mut merged: Vec<(&'static str, usize)> = rules.iter().map(|rule| (rule.name, 0)).collect();
    let mut iterations = 0;
    let stop = loop {
        if iterations == limits.iterations {
            break Stop::IterationLimit;
        }
        iterations += 1;
        match round(&mut graph, most_nodes, rules, &mut merged) {
            Round::NothingNew => break Stop::Saturated,
            Round::Full => break Stop::NodeLimit,
            Round::Grown => {}
        }
    };
    let nodes = graph.total_number_of_nodes();
    Search { graph, stop, iterations, nodes, merged }
}

enum Round {
    NothingNew,
    Grown,
    Full,
}

/// Looks all rules up in the rebuilt graph, then adds what they state.
fn round(
    graph: &mut Graph,
    most_nodes: usize,
    rules: &[Rule],
    merged: &mut [(&'static str, usize)],
) -> Round {
    let mut found = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        for class in graph.classes() {
            let equals = class.iter().flat_map(|node| (rule.equals)(graph, node));
            found.extend(equals.map(|equal| (at, class.id, equal)));
        }
    }
    let size = graph.total_size();
    let mut changed = false;
    for (rule, class, equal) in found {
        let id = equal.add_to(graph);
        if graph.union(class, id) {
            changed = true;
            merged[rule].1 += 1;
        }
        if graph.total_size() > most_nodes {
            graph.rebuild();
            return Round::Full;
        }
    }
    changed |= graph.total_size() != size;
    graph.rebuild();
    if changed { Round::Grown } else { Round::NothingNew }
}
