//! Simplifies a graph program by equality saturation: transposes, casts and reshapes.
//!
//! Rules kept here: every value stays what it was, bit for bit but for the payload of NaN; a program that cannot
//! become cheaper stays as it is, to the byte; `@reference` is never touched.
//!
//! The parts, each of which knows only those above it:
//! - `element`: element types and which conversions are exact;
//! - `expression`: the language of the e-graph and its types;
//! - `rules`: what equals what;
//! - `saturate`: applies the rules within limits that no clock moves;
//! - `select`: the cheapest program among the equal ones;
//! - `read` and `rewrite`: a block of ops into an e-graph, and the selection back into the block.

pub mod element;
pub mod expression;
mod pass;
mod read;
mod rewrite;
pub mod rules;
pub mod saturate;
pub mod select;

#[cfg(test)]
mod tests;

use ipu_dialects::declaration::Trait;
use ipu_dialects::graph;
use ipu_dialects::ir::{BlockId, Module, Name, OpId};
use serde::Serialize;

pub use pass::INFO;
pub use saturate::{Limits, Stop};
pub use select::Cost;

/// Name of the pass, as in origins and on the command line.
pub const NAME: Name = Name::of("canonicalize");

/// The function that says what a lower level must compute; it stays as its author wrote it.
const REFERENCE: &str = "reference";

/// What the pass did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Canonicalized {
    /// Ops of all functions before; terminators and functions do not count.
    pub operations_before: usize,
    /// Ops of all functions after.
    pub operations_after: usize,
    /// Ops that the pass made.
    pub created: usize,
    /// Ops that the pass removed, those without use among them.
    pub removed: usize,
    /// Bytes that transposes and casts read and write, before.
    pub moved_bytes_before: u64,
    /// Bytes that transposes and casts read and write, after.
    pub moved_bytes_after: u64,
    /// Rounds over all rules, of all blocks.
    pub iterations: usize,
    /// Nodes of all e-graphs.
    pub nodes: usize,
    /// Why the search ended; of several blocks the reason that says most.
    pub stop: Option<Stop>,
    /// How many values each rule found equal to others, of all blocks.
    pub rules: Vec<(&'static str, usize)>,
}

/// Simplifies every `graph.func` of `module` but `@reference`.
///
/// Before a block is changed `may_change` is asked; dead ops go in any case.
pub fn canonicalize(
    module: &mut Module,
    limits: Limits,
    mut may_change: impl FnMut() -> bool,
) -> Canonicalized {
    let mut report = Canonicalized::default();
    for block in blocks(module) {
        report.operations_before += count(module, block);
        report.removed += remove_dead(module, block);
        simplify(module, block, limits, &mut may_change, &mut report);
        report.operations_after += count(module, block);
    }
    report
}

/// The blocks of all functions, those of inner regions first.
fn blocks(module: &Module) -> Vec<BlockId> {
    let functions = module
        .direct_children(module.root())
        .filter(|&op| module.is::<graph::Func>(op) && module.symbol_name(op) != Some(REFERENCE));
    let ops = functions.flat_map(|function| module.walk_post_order(function));
    ops.flat_map(|op| module.regions(op)).flat_map(|&region| module.blocks_of(region)).copied().collect()
}

fn count(module: &Module, block: BlockId) -> usize {
    module.ops_of(block).filter(|&op| !module.has_trait(op, Trait::Terminator)).count()
}

/// Removes ops without effect whose results nothing uses, users first; how many.
fn remove_dead(module: &mut Module, block: BlockId) -> usize {
    let is_dead = |module: &Module, op: OpId| {
        let results = module.results(op);
        module.has_trait(op, Trait::Pure)
            && !module.has_trait(op, Trait::Terminator)
            && !results.is_empty()
            && results.iter().all(|&result| module.is_unused(result))
    };
    let mut removed = 0;
    let mut next = module.last_op(block);
    while let Some(op) = next {
        next = module.previous_op(op);
        if is_dead(module, op) {
            module.erase(op);
            removed += 1;
        }
    }
    removed
}

fn simplify(
    module: &mut Module,
    block: BlockId,
    limits: Limits,
    may_change: &mut impl FnMut() -> bool,
    report: &mut Canonicalized,
) {
    let body = read::read(module, block);
    let search = saturate::saturate(body.graph.clone(), limits);
    let selection = select::select(&search.graph, &body.given, &body.roots);
    report.search(&search);
    report.moved_bytes_before += selection.given_cost.moved_bytes;
    let mut rewriter = rewrite::Rewriter::new(NAME, &body, &search.graph, &selection);
    if !rewriter.changes() || !may_change() {
        report.moved_bytes_after += selection.given_cost.moved_bytes;
        return;
    }
    report.moved_bytes_after += selection.cost.moved_bytes;
    report.removed += rewriter.run(module);
    report.created += rewriter.created;
}

impl Canonicalized {
    fn search(&mut self, search: &saturate::Search) {
        self.iterations += search.iterations;
        self.nodes += search.nodes;
        self.stop = self.stop.max(Some(search.stop));
        for &(rule, merged) in &search.merged {
            match self.rules.iter_mut().find(|(known, _)| *known == rule) {
                Some((_, total)) => *total += merged,
                None => self.rules.push((rule, merged)),
            }
        }
    }
}
