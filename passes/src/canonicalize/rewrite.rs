//! Makes a block compute what was selected, changing as little of it as that takes.
//!
//! Rules kept here: an op that was selected stays, with its name, comments and place; a new op that takes the place
//! of others inherits those of the first of them; other new ops have the place of the op that needs them; ops stand
//! in the order of the block, new ones right before the first that needs them.

use egg::{Id, Language};
use ipu_device::hash::HashMap;
use ipu_dialects::graph;
use ipu_dialects::ir::{Attribute, Builder, InsertionPoint, Module, Name, OpId, OpState, ValueId};

use super::expression::{Expression, Graph};
use super::read::Body;
use super::select::Selection;

/// A block, what it should compute, and how far that is.
pub(super) struct Rewriter<'a> {
    pass: Name,
    body: &'a Body,
    graph: &'a Graph,
    selection: &'a Selection,
    /// The first op of each class.
    first: HashMap<Id, OpId>,
    /// The op of each class that is what was selected.
    kept: HashMap<Id, OpId>,
    /// Place of each op in the block as given.
    places: HashMap<OpId, usize>,
    /// The value of each class that has one by now.
    values: HashMap<Id, ValueId>,
    /// Number of ops made.
    pub(super) created: usize,
}

impl<'a> Rewriter<'a> {
    pub(super) fn new(pass: Name, body: &'a Body, graph: &'a Graph, selection: &'a Selection) -> Self {
        let mut first = HashMap::default();
        let mut kept = HashMap::default();
        let nodes: HashMap<Id, &Expression> = body.given.iter().map(|(class, node)| (*class, node)).collect();
        for &(op, class) in &body.ops {
            let canonical = graph.find(class);
            first.entry(canonical).or_insert(op);
            let node =
                nodes.get(&class).map(|&node| node.clone().map_children(|operand| graph.find(operand)));
            if node.is_some() && node.as_ref() == selection.node(canonical) {
                kept.entry(canonical).or_insert(op);
            }
        }
        let values = body.leaves.iter().map(|&(class, value)| (graph.find(class), value)).collect();
        let places = body.ops.iter().enumerate().map(|(place, &(op, _))| (op, place)).collect();
        Self { pass, body, graph, selection, first, kept, places, values, created: 0 }
    }

    fn is_kept(&self, op: OpId, class: Id) -> bool {
        self.kept.get(&class) == Some(&op)
    }

    /// Whether the block has an op that does not stay.
    pub(super) fn changes(&self) -> bool {
        self.body.ops.iter().any(|&(op, class)| !self.is_kept(op, self.graph.find(class)))
    }

    /// Changes the block; the number of ops removed.
    pub(super) fn run(&mut self, module: &mut Module) -> usize {
        let mut removed = Vec::new();
        for &(op, class) in &self.body.ops {
            let class = self.graph.find(class);
            if self.selection.node(class).is_some() {
                self.make(module, class, op);
            }
            if self.is_kept(op, class) {
                continue;
            }
            if let Some(&value) = self.values.get(&class) {
                let result = module.result(op, 0);
                module.replace_all_uses(result, value);
            }
            removed.push(op);
        }
        for &op in removed.iter().rev() {
            module.erase(op);
        }
        removed.len()
    }

    /// Gives `class` a value before `user`, and first the classes that it needs.
    fn make(&mut self, module: &mut Module, class: Id, user: OpId) {
        let selection = self.selection;
        let mut work = vec![class];
        while let Some(&class) = work.last() {
            let Some(node) = selection.node(class).filter(|_| !self.values.contains_key(&class)) else {
                work.pop();
                continue;
            };
            let missing = work.len();
            work.extend(node.children().iter().filter(|operand| !self.values.contains_key(operand)));
            if work.len() == missing {
                work.pop();
                let value = self.value(module, class, node, user);
                self.values.insert(class, value);
            }
        }
    }

    /// The value of a class whose operands have values.
    fn value(&mut self, module: &mut Module, class: Id, node: &Expression, user: OpId) -> ValueId {
        if let Some(&op) = self.kept.get(&class) {
            if self.places.get(&op) > self.places.get(&user) {
                module.move_op(op, InsertionPoint::Before(user));
            }
            return module.result(op, 0);
        }
        let operands = node.children().iter().filter_map(|operand| self.values.get(operand)).copied();
        let mut state = self.state(class, node).operands(operands);
        let replaced = self.first.get(&class).copied();
        if let Some(name) = replaced.and_then(|op| module.value_name(module.result(op, 0))) {
            state = state.named(name);
        }
        let mut builder = Builder::replacing(module, replaced.unwrap_or(user), self.pass);
        builder.point = InsertionPoint::Before(user);
        let op = builder.build(state);
        if let Some(comments) = replaced.and_then(|op| module.trivia(op).cloned()) {
            module.set_trivia(op, comments);
        }
        self.created += 1;
        module.result(op, 0)
    }

    /// The op that a node stands for, without operands.
    fn state(&self, class: Id, node: &Expression) -> OpState {
        let types = &self.body.types;
        let state = match node {
            Expression::Leaf(leaf) => unreachable!("internal bug: opaque value {leaf:?} has no value"),
            Expression::Reshape(..) => OpState::of::<graph::Reshape>(),
            Expression::Cast(..) => OpState::of::<graph::Cast>(),
            Expression::Transpose(permutation, _) => {
                let axes = permutation.axes().iter().map(|&axis| i64::from(axis)).collect();
                OpState::of::<graph::Transpose>().attribute("permutation", Attribute::i64_array(axes))
            }
            Expression::Gemm(gemm, _) => {
                let flag = |set: bool| set.then(Attribute::unit);
                OpState::of::<graph::Gemm>()
                    .maybe_attribute("multiply", types.ir_element(gemm.multiply).map(Attribute::ty))
                    .maybe_attribute("accumulate", types.ir_element(gemm.accumulate).map(Attribute::ty))
                    .maybe_attribute("transpose_left", flag(gemm.transpose_left))
                    .maybe_attribute("transpose_right", flag(gemm.transpose_right))
            }
        };
        match types.ir_tensor(&self.graph[class].data) {
            Some(ty) => state.result(ty),
            None => unreachable!("internal bug: {node:?} has a type that the program does not have"),
        }
    }
}
