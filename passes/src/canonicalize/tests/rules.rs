//! Each rule, and all together, on random programs: every equality that the e-graph claims is true of numbers.

use crate::canonicalize::rules;
use crate::canonicalize::saturate::{Limits, Stop, saturate, saturate_with};

use super::evaluator::evaluate;
use super::programs::Program;

const PROGRAMS: u64 = 400;

#[test]
fn each_rule_alone_keeps_every_value() {
    for (at, rule) in rules::all().iter().enumerate() {
        let name = rule.name;
        let mut fired = 0;
        for seed in 0..PROGRAMS {
            let program = Program::random(seed);
            let before = (program.graph.total_number_of_nodes(), program.graph.number_of_classes());
            let search = saturate_with(program.graph, Limits::default(), &rules::all()[at..=at]);
            let after = (search.graph.total_number_of_nodes(), search.graph.number_of_classes());
            fired += u64::from(before != after);
            if let Err(difference) = evaluate(&search.graph, &program.leaves) {
                panic!("rule `{name}`, program {seed}: {difference}");
            }
        }
        assert!(
            fired >= PROGRAMS / 20,
            "rule `{name}` found its left side in {fired} of {PROGRAMS} programs only"
        );
    }
}

#[test]
fn all_rules_together_keep_every_value_and_saturate() {
    for seed in PROGRAMS..4 * PROGRAMS {
        let program = Program::random(seed);
        let search = saturate(program.graph, Limits::default());
        assert_eq!(search.stop, Stop::Saturated, "program {seed}");
        if let Err(difference) = evaluate(&search.graph, &program.leaves) {
            panic!("program {seed}: {difference}");
        }
    }
}

#[test]
fn limits_end_the_search_and_are_named() {
    let stop = |limits| saturate(deep_program().graph, limits).stop;
    assert_eq!(stop(Limits::default()), Stop::Saturated);
    assert_eq!(stop(Limits { iterations: 1, ..Limits::default() }), Stop::IterationLimit);
    assert_eq!(stop(Limits { nodes: 2, ..Limits::default() }), Stop::NodeLimit);
}

/// The first random program that the rules enlarge by more than twenty nodes.
fn deep_program() -> Program {
    (0..)
        .map(Program::random)
        .find(|program| {
            let search = saturate(program.graph.clone(), Limits::default());
            search.nodes > program.graph.total_number_of_nodes() + 20
        })
        .unwrap()
}
