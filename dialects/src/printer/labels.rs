//! Names of values and blocks in a printed text: the names of the module, made to differ, and numbers for the rest.

use ipu_device::hash::{HashMap, HashSet};

use crate::declaration::Trait;
use crate::ir::{BlockId, Module, OpId, RegionId, ValueId};

/// Texts of values and blocks.
#[derive(Debug, Default)]
pub(super) struct Labels {
    /// By value: its text without `%`.
    values: Vec<Option<Box<str>>>,
    blocks: HashMap<BlockId, Box<str>>,
}

enum Step {
    Op(OpId),
    EnterRegion { region: RegionId, isolated: bool },
    LeaveRegion,
}

struct Frame {
    isolated: bool,
    names: Vec<String>,
    counter: u32,
}

struct Builder<'m> {
    module: &'m Module,
    /// No names: numbers only.
    canonical: bool,
    labels: Labels,
    frames: Vec<Frame>,
    taken: Vec<HashSet<String>>,
    counter: u32,
}

impl Labels {
    /// Labels of everything in `root`.
    pub(super) fn of(module: &Module, root: OpId, canonical: bool) -> Self {
        let labels = Self { values: vec![None; module.value_capacity()], blocks: HashMap::default() };
        let mut builder = Builder {
            module,
            canonical,
            labels,
            frames: Vec::new(),
            taken: vec![HashSet::default()],
            counter: 0,
        };
        builder.run(root);
        builder.labels
    }

    pub(super) fn value(&self, value: ValueId) -> Option<&str> {
        self.values.get(value.index()).and_then(Option::as_deref)
    }

    pub(super) fn block(&self, block: BlockId) -> Option<&str> {
        self.blocks.get(&block).map(|name| &**name)
    }
}

impl Builder<'_> {
    fn run(&mut self, root: OpId) {
        let mut stack = vec![Step::Op(root)];
        while let Some(step) = stack.pop() {
            match step {
                Step::Op(op) => {
                    if op != root {
                        stack.extend(self.module.next_op(op).map(Step::Op));
                    }
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
        self.frames.push(Frame { isolated, names: Vec::new(), counter: self.counter });
        if isolated {
            self.taken.push(HashSet::default());
            self.counter = 0;
        }
        let mut used: HashSet<String> = HashSet::default();
        for (index, &block) in self.module.blocks_of(region).iter().enumerate() {
            let wanted = self.module.block_name(block).filter(|_| !self.canonical);
            let base = wanted.map_or_else(|| format!("bb{index}"), str::to_owned);
            let mut name = base.clone();
            let mut suffix = 0;
            while !used.insert(name.clone()) {
                name = format!("{base}_{suffix}");
                suffix += 1;
            }
            self.labels.blocks.insert(block, name.into());
            for &argument in self.module.arguments(block) {
                let label = self.fresh(argument);
                self.set(argument, label);
            }
        }
    }

    fn leave(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        self.counter = frame.counter;
        if frame.isolated {
            self.taken.pop();
        } else if let Some(taken) = self.taken.last_mut() {
            for name in &frame.names {
                taken.remove(name);
            }
        }
    }

    fn set(&mut self, value: ValueId, label: String) {
        if let Some(slot) = self.labels.values.get_mut(value.index()) {
            *slot = Some(label.into());
        }
    }

    /// A label that no visible value has.
    fn fresh(&mut self, value: ValueId) -> String {
        let name = self.module.value_name(value).filter(|_| !self.canonical);
        let Some(name) = name else {
            self.counter += 1;
            return (self.counter - 1).to_string();
        };
        let mut label = name.to_owned();
        let mut suffix = 0;
        let Some(taken) = self.taken.last_mut() else { return label };
        while !taken.insert(label.clone()) {
            label = format!("{name}_{suffix}");
            suffix += 1;
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.names.push(label.clone());
        }
        label
    }

    fn name_results(&mut self, op: OpId) {
        let module = self.module;
        for group in result_groups(module, op, self.canonical) {
            let results = &module.results(op)[group];
            let Some(&first) = results.first() else { continue };
            let label = self.fresh(first);
            if results.len() == 1 {
                self.set(first, label);
                continue;
            }
            for (index, &result) in results.iter().enumerate() {
                let text = if index == 0 { format!("{label}#0") } else { format!("{label}#{index}") };
                self.set(result, text);
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
