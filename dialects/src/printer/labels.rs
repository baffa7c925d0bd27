//! Names of values and blocks in a printed text: the names of the module, made to differ, and numbers for the rest.

use std::borrow::Cow;

use ipu_device::hash::{HashMap, HashSet};

use crate::declaration::Trait;
use crate::ir::{BlockId, Module, OpId, RegionId, ValueId};
use crate::name_table::{NameHash, NameTable};

/// What a value is called, without `%`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Label {
    /// It is not in the text.
    #[default]
    None,
    /// A number.
    Number(u32),
    /// The name it has in the module.
    Own,
    /// Another name, because its own is taken.
    Renamed,
    /// `#index` of the group that starts `index` values before it.
    Member(u32),
}

/// A [`Label`] in 4 bytes; there is one for each value of a module. A number stands for itself, a member has [`MEMBER`] too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PackedLabel(u32);

const MEMBER: u32 = 1 << 31;

impl PackedLabel {
    const NONE: Self = Self(u32::MAX);
    const OWN: Self = Self(u32::MAX - 1);
    const RENAMED: Self = Self(u32::MAX - 2);

    fn of(label: Label) -> Self {
        match label {
            Label::None => Self::NONE,
            Label::Own => Self::OWN,
            Label::Renamed => Self::RENAMED,
            Label::Number(number) => {
                assert!(number < MEMBER, "internal bug: a text with 2^31 values");
                Self(number)
            }
            Label::Member(index) => Self(MEMBER | index),
        }
    }

    fn get(self) -> Label {
        match self {
            Self::NONE => Label::None,
            Self::OWN => Label::Own,
            Self::RENAMED => Label::Renamed,
            Self(number) if number < MEMBER => Label::Number(number),
            Self(member) => Label::Member(member & !MEMBER),
        }
    }
}

/// Texts of values and blocks.
#[derive(Debug, Default)]
pub(super) struct Labels {
    values: Vec<PackedLabel>,
    renamed: HashMap<ValueId, Box<str>>,
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

struct Frame {
    isolated: bool,
    /// What it took, to be given back.
    names: Vec<(NameHash, ValueId)>,
    counter: u32,
}

/// What is in use below one op that is isolated from above.
#[derive(Default)]
struct Scope {
    /// Names.
    taken: NameTable,
    /// Values that are used and not yet defined.
    ahead: HashSet<ValueId>,
}

struct Builder<'m> {
    module: &'m Module,
    /// No names: numbers only.
    canonical: bool,
    labels: Labels,
    frames: Vec<Frame>,
    scopes: Vec<Scope>,
    counter: u32,
}

impl Labels {
    /// Labels of everything in `root`.
    pub(super) fn of(module: &Module, root: OpId, canonical: bool) -> Self {
        let values = vec![PackedLabel::NONE; module.value_capacity()];
        let mut builder = Builder {
            module,
            canonical,
            labels: Self { values, ..Self::default() },
            frames: Vec::new(),
            scopes: vec![Scope::default()],
            counter: 0,
        };
        builder.run(root);
        builder.labels
    }

    pub(super) fn value(&self, value: ValueId) -> Label {
        self.values.get(value.index()).map_or(Label::None, |label| label.get())
    }

    /// The name of a value that has one.
    pub(super) fn name<'m>(&'m self, module: &'m Module, value: ValueId) -> &'m str {
        let renamed = self.renamed.get(&value).map(|name| &**name);
        renamed.or_else(|| module.value_name(value)).unwrap_or("")
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
        self.frames.push(Frame { isolated, names: Vec::new(), counter: self.counter });
        if isolated {
            self.scopes.push(Scope::default());
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
        let Some(scope) = self.scopes.last_mut() else { return };
        let defined = |value: &ValueId| !matches!(self.labels.value(*value), Label::None);
        scope.ahead.extend(self.module.operands(op).iter().filter(|value| !defined(value)));
    }

    fn leave(&mut self) {
        let Some(mut frame) = self.frames.pop() else { return };
        if frame.isolated {
            self.scopes.pop();
        } else if let Some(scope) = self.scopes.last_mut() {
            if let Some(outer) = self.frames.last_mut().filter(|_| !scope.ahead.is_empty()) {
                // What is used above and defined below must not be called as something in here.
                return outer.names.append(&mut frame.names);
            }
            for &(hash, value) in &frame.names {
                scope.taken.remove(hash, value);
            }
        }
        self.counter = frame.counter;
    }

    fn set(&mut self, value: ValueId, label: Label) {
        if let Some(slot) = self.labels.values.get_mut(value.index()) {
            *slot = PackedLabel::of(label);
        }
        if let Some(scope) = self.scopes.last_mut().filter(|scope| !scope.ahead.is_empty()) {
            scope.ahead.remove(&value);
        }
    }

    /// A label that no visible value has.
    fn fresh(&mut self, value: ValueId) -> Label {
        let name = self.module.value_name(value).filter(|_| !self.canonical);
        let (Some(name), Some(scope)) = (name, self.scopes.last_mut()) else {
            self.counter += 1;
            return Label::Number(self.counter - 1);
        };
        let (labels, module) = (&self.labels, self.module);
        let mut label = Cow::Borrowed(name);
        let mut suffix = 0;
        let hash = loop {
            let hash = NameHash::of(&label);
            if scope.taken.add(hash, value, |other| labels.name(module, other) == label).is_none() {
                break hash;
            }
            label = Cow::Owned(format!("{name}_{suffix}"));
            suffix += 1;
        };
        if let Some(frame) = self.frames.last_mut().filter(|frame| !frame.isolated) {
            frame.names.push((hash, value));
        }
        match label {
            Cow::Borrowed(_) => Label::Own,
            Cow::Owned(text) => {
                self.labels.renamed.insert(value, text.into());
                Label::Renamed
            }
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
                self.set(result, Label::Member(index as u32 + 1));
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
