//! Names of values and blocks in a printed text: the names of the module, made to differ, and numbers for the rest.

use std::borrow::Cow;

use ipu_device::hash::{HashMap, HashSet};

use crate::declaration::Trait;
use crate::ir::{BlockId, Module, OpId, RegionId, ValueId};

/// What a value is called, without `%`.
#[derive(Debug, Clone, Default)]
pub(super) enum Label {
    /// It is not in the text.
    #[default]
    None,
    /// A number.
    Number(u32),
    /// The name it has in the module.
    Own,
    /// Another name, because its own is taken.
    Renamed(Box<str>),
    /// `#index` of the group that starts with the value.
    Member(ValueId, u32),
}

/// Texts of values and blocks.
#[derive(Debug, Default)]
pub(super) struct Labels {
    values: Vec<Label>,
    /// Blocks that a header or a successor may name, but for the only block of a region without arguments.
    blocks: HashMap<BlockId, Box<str>>,
    /// Blocks that are the successor of an op.
    targets: HashSet<BlockId>,
}

enum Step {
    Op(OpId),
    EnterRegion { region: RegionId, isolated: bool },
    LeaveRegion,
}

struct Frame<'m> {
    isolated: bool,
    names: Vec<Cow<'m, str>>,
    counter: u32,
    /// Values that are used before their definition.
    ahead: Vec<ValueId>,
}

struct Builder<'m> {
    module: &'m Module,
    /// No names: numbers only.
    canonical: bool,
    labels: Labels,
    frames: Vec<Frame<'m>>,
    taken: Vec<HashSet<Cow<'m, str>>>,
    counter: u32,
}

impl Labels {
    /// Labels of everything in `root`.
    pub(super) fn of(module: &Module, root: OpId, canonical: bool) -> Self {
        let values = vec![Label::None; module.value_capacity()];
        let mut builder = Builder {
            module,
            canonical,
            labels: Self { values, ..Self::default() },
            frames: Vec::new(),
            taken: vec![HashSet::default()],
            counter: 0,
        };
        builder.run(root);
        builder.labels
    }

    pub(super) fn value(&self, value: ValueId) -> &Label {
        self.values.get(value.index()).unwrap_or(&Label::None)
    }

    pub(super) fn block(&self, block: BlockId) -> &str {
        self.blocks.get(&block).map_or("bb0", |name| name)
    }
}

impl Labels {
    /// Whether an op goes on at `block`, so that a header must name it.
    pub(super) fn is_target(&self, block: BlockId) -> bool {
        self.targets.contains(&block)
    }
}

impl<'m> Builder<'m> {
    fn run(&mut self, root: OpId) {
        let mut stack = vec![Step::Op(root)];
        while let Some(step) = stack.pop() {
            match step {
                Step::Op(op) => {
                    if op != root {
                        stack.extend(self.module.next_op(op).map(Step::Op));
                    }
                    self.look_ahead(op);
                    self.name_results(op);
                    let isolated = self.module.has_trait(op, Trait::IsolatedFromAbove);
                    for &region in self.module.regions(op).iter().rev() {
                        stack.push(Step::LeaveRegion);
                        let blocks = self.module.blocks_of(region).iter().rev();
                        stack.extend(blocks.filter_map(|&block| self.module.first_op(block)).map(Step::Op));
                        stack.push(Step::EnterRegion { region, isolated });
                    }
                }
                Step::EnterRegion { region, isolated } => self.enter(region, isolated),
                Step::LeaveRegion => self.leave(),
            }
        }
    }

    fn enter(&mut self, region: RegionId, isolated: bool) {
        let (counter, ahead) = (self.counter, Vec::new());
        self.frames.push(Frame { isolated, names: Vec::new(), counter, ahead });
        if isolated {
            self.taken.push(HashSet::default());
            self.counter = 0;
        }
        let mut used: HashSet<String> = HashSet::default();
        for (index, &block) in self.module.blocks_of(region).iter().enumerate() {
            let wanted = self.module.block_name(block).filter(|_| !self.canonical);
            let arguments = self.module.arguments(block);
            if wanted.is_some() || !arguments.is_empty() || self.module.blocks_of(region).len() > 1 {
                let base = wanted.map_or_else(|| format!("bb{index}"), str::to_owned);
                let mut name = base.clone();
                let mut suffix = 0;
                while !used.insert(name.clone()) {
                    name = format!("{base}_{suffix}");
                    suffix += 1;
                }
                self.labels.blocks.insert(block, name.into());
            }
            for &argument in arguments {
                let label = self.fresh(argument);
                self.set(argument, label);
            }
        }
    }

    /// Takes note of operands that are defined further down, and of successors.
    fn look_ahead(&mut self, op: OpId) {
        self.labels.targets.extend(self.module.successors(op));
        let Some(frame) = self.frames.last_mut() else { return };
        let defined = |value: &ValueId| !matches!(self.labels.value(*value), Label::None);
        frame.ahead.extend(self.module.operands(op).iter().filter(|value| !defined(value)));
    }

    fn leave(&mut self) {
        let Some(mut frame) = self.frames.pop() else { return };
        frame.ahead.retain(|&value| matches!(self.labels.value(value), Label::None));
        if let Some(outer) = self.frames.last_mut().filter(|_| !frame.isolated && !frame.ahead.is_empty()) {
            // What is used in here and defined out there must not be called as something in here.
            outer.ahead.append(&mut frame.ahead);
            return outer.names.append(&mut frame.names);
        }
        self.counter = frame.counter;
        if frame.isolated {
            self.taken.pop();
        } else if let Some(taken) = self.taken.last_mut() {
            for name in &frame.names {
                taken.remove(name);
            }
        }
    }

    fn set(&mut self, value: ValueId, label: Label) {
        if let Some(slot) = self.labels.values.get_mut(value.index()) {
            *slot = label;
        }
    }

    /// A label that no visible value has.
    fn fresh(&mut self, value: ValueId) -> Label {
        let name = self.module.value_name(value).filter(|_| !self.canonical);
        let (Some(name), Some(taken)) = (name, self.taken.last_mut()) else {
            self.counter += 1;
            return Label::Number(self.counter - 1);
        };
        let mut label = Cow::Borrowed(name);
        let mut suffix = 0;
        while !taken.insert(label.clone()) {
            label = Cow::Owned(format!("{name}_{suffix}"));
            suffix += 1;
        }
        if let Some(frame) = self.frames.last_mut().filter(|frame| !frame.isolated) {
            frame.names.push(label.clone());
        }
        match label {
            Cow::Borrowed(_) => Label::Own,
            Cow::Owned(text) => Label::Renamed(text.into()),
        }
    }

    fn name_results(&mut self, op: OpId) {
        let module = self.module;
        if let &[only] = module.results(op) {
            let label = self.fresh(only);
            return self.set(only, label);
        }
        for group in result_groups(module, op, self.canonical) {
            let results = &module.results(op)[group];
            let Some((&first, others)) = results.split_first() else { continue };
            let label = self.fresh(first);
            self.set(first, label);
            for (index, &result) in others.iter().enumerate() {
                self.set(result, Label::Member(first, index as u32 + 1));
            }
        }
    }
}

/// The results of an op in groups that share a name: a result without name joins the one before it.
pub(super) fn result_groups(module: &Module, op: OpId, canonical: bool) -> Vec<std::ops::Range<usize>> {
    let results = module.results(op);
    let mut groups: Vec<std::ops::Range<usize>> = Vec::new();
    for (index, &result) in results.iter().enumerate() {
        let starts = index == 0 || (!canonical && module.value_name(result).is_some());
        match groups.last_mut() {
            Some(last) if !starts => last.end = index + 1,
            _ => groups.push(index..index + 1),
        }
    }
    groups
}
