//! The storage of a program: arenas of ops, blocks, regions and values, all owned by one [`Module`].
//!
//! Rules kept here: ids are never reused; an erased entity is dead and owns nothing; ops of a block are a linked
//! list; nothing recurses, drop included. What an entity stores is in `storage`. Changes are in `edit`, traversal in `walk`, symbols in `symbol`.
//! Functions take ids of live entities of this module; anything else is an internal bug and panics.

use std::sync::Arc;

use super::attribute::Attribute;
use super::entity::{BlockId, OpId, RegionId, ValueId};
use super::location::{Location, Origin};
use super::name::Name;
use super::storage::{BlockData, NamePool, OpData, RegionData, ValueData};
use super::types::Type;
use crate::builtin;
use crate::declaration::{Op, OpDeclaration, Trait};
use crate::source::{SourceMap, Span};
use indexmap::IndexMap;
use ipu_device::hash::HashMap;

/// What an op is: declared, or a name nobody declared.
#[derive(Debug, Clone, Copy)]
pub enum OpKind {
    /// A declared op.
    Declared(&'static OpDeclaration),
    /// An undeclared op, kept in generic form.
    Undeclared(Name),
}

impl OpKind {
    /// Full name.
    #[must_use]
    pub fn name(self) -> Name {
        match self {
            Self::Declared(declaration) => Name::of(declaration.name),
            Self::Undeclared(name) => name,
        }
    }

    /// The declaration, if there is one.
    #[must_use]
    pub fn declaration(self) -> Option<&'static OpDeclaration> {
        match self {
            Self::Declared(declaration) => Some(declaration),
            Self::Undeclared(_) => None,
        }
    }
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueSource {
    /// Result number `index` of `op`.
    Result {
        /// The op.
        op: OpId,
        /// Position among its results.
        index: u32,
    },
    /// Argument number `index` of `block`.
    Argument {
        /// The block.
        block: BlockId,
        /// Position among its arguments.
        index: u32,
    },
    /// Used and not yet defined; exists only while parsing.
    Forward,
}

/// One use of a value: operand number `index` of `op`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Use {
    /// The user.
    pub op: OpId,
    /// Position among its operands.
    pub index: u32,
}

/// The comments and blank lines of an op.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trivia {
    /// Lines before the op.
    pub leading: Vec<TriviaLine>,
    /// Comment at the end of the op's first line, without `//`.
    pub trailing: Option<Arc<str>>,
}

impl Trivia {
    /// Adds a comment beside the op: there is room for one, others go above.
    pub(crate) fn add_trailing(&mut self, text: Arc<str>) {
        match self.trailing {
            None => self.trailing = Some(text),
            Some(_) => self.leading.push(TriviaLine::Comment(text)),
        }
    }
}

/// A line between ops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TriviaLine {
    /// An empty line.
    Blank,
    /// A comment, without its `//`.
    Comment(Arc<str>),
}

/// What an alias stands for.
#[derive(Debug, Clone)]
pub enum AliasValue {
    /// `#name = ...`
    Attribute(Attribute),
    /// `!name = ...`
    Type(Type),
}

/// `#name = value` or `!name = value` of the text.
#[derive(Debug, Clone)]
pub struct Alias {
    /// Name without `#` or `!`.
    pub name: Arc<str>,
    /// Value.
    pub value: AliasValue,
    /// Comments of the definition.
    pub trivia: Trivia,
}

/// A program: the root op `builtin.module` and everything in it, with its source texts, aliases and resources.
#[derive(Debug, Clone)]
pub struct Module {
    pub(super) ops: Vec<OpData>,
    pub(super) blocks: Vec<BlockData>,
    pub(super) regions: Vec<RegionData>,
    pub(super) values: Vec<ValueData>,
    /// All ids of values in order: the results of an op are a stretch of it.
    pub(super) value_ids: Vec<ValueId>,
    pub(super) names: NamePool,
    pub(super) trivia: HashMap<OpId, Box<Trivia>>,
    pub(super) block_trivia: HashMap<BlockId, Vec<TriviaLine>>,
    pub(super) argument_locations: HashMap<ValueId, Location>,
    root: OpId,
    /// The texts that spans point into.
    pub sources: SourceMap,
    /// Aliases, in order of definition.
    pub aliases: Vec<Alias>,
    /// Contents of `dense_resource` attributes by key, alignment prefix stripped.
    pub resources: IndexMap<Arc<str>, Resource>,
    /// Whether the text writes the outermost `builtin.module`.
    pub explicit_root: bool,
}

/// The contents of a `dense_resource`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Alignment that the text asks for, in bytes.
    pub alignment: u32,
    /// The bytes.
    pub data: Arc<[u8]>,
}

impl Default for Module {
    fn default() -> Self {
        Self::new()
    }
}

impl Module {
    /// An empty module: a `builtin.module` with one empty block.
    #[must_use]
    pub fn new() -> Self {
        let mut module = Self {
            ops: Vec::new(),
            blocks: Vec::new(),
            regions: Vec::new(),
            values: Vec::new(),
            value_ids: Vec::new(),
            names: NamePool::default(),
            trivia: HashMap::default(),
            block_trivia: HashMap::default(),
            argument_locations: HashMap::default(),
            root: OpId::new(0),
            sources: SourceMap::default(),
            aliases: Vec::new(),
            resources: IndexMap::new(),
            explicit_root: false,
        };
        let region = module.create_region();
        module.append_block(region);
        module.root = module.create_op(super::edit::OpState::of::<builtin::ModuleOp>().region(region));
        module
    }

    /// Makes room for `count` more ops, with a result each.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.ops.reserve(count);
        self.values.reserve(count);
        self.value_ids.reserve(count);
    }

    pub(super) fn data(&self, op: OpId) -> &OpData {
        &self.ops[op.index()]
    }

    /// The outermost `builtin.module`.
    #[must_use]
    pub fn root(&self) -> OpId {
        self.root
    }

    pub(super) fn set_root(&mut self, op: OpId) {
        self.root = op;
        self.explicit_root = true;
    }

    /// The block of top-level ops.
    #[must_use]
    pub fn body(&self) -> BlockId {
        self.blocks_of(self.regions(self.root)[0])[0]
    }

    /// Whether `op` is not erased.
    #[must_use]
    pub fn is_live(&self, op: OpId) -> bool {
        self.ops.get(op.index()).is_some_and(|data| !data.results.is_erased())
    }

    /// Number of op ids given out, for side tables indexed by [`OpId::index`].
    #[must_use]
    pub fn op_capacity(&self) -> usize {
        self.ops.len()
    }

    /// Number of value ids given out, for side tables indexed by [`ValueId::index`].
    #[must_use]
    pub fn value_capacity(&self) -> usize {
        self.values.len()
    }

    // Ops.

    /// What the op is.
    #[must_use]
    pub fn kind(&self, op: OpId) -> OpKind {
        self.data(op).kind
    }

    /// Full name, such as `graph.gemm`.
    #[must_use]
    pub fn name(&self, op: OpId) -> Name {
        self.data(op).kind.name()
    }

    /// The declaration, if the op is declared.
    #[must_use]
    pub fn declaration(&self, op: OpId) -> Option<&'static OpDeclaration> {
        self.data(op).kind.declaration()
    }

    /// Whether the op is a `T`.
    #[must_use]
    pub fn is<T: Op>(&self, op: OpId) -> bool {
        self.declaration(op).is_some_and(|declaration| std::ptr::eq(declaration, T::DECLARATION))
    }

    /// The op as a `T`, if it is one.
    #[must_use]
    pub fn cast<T: Op>(&self, op: OpId) -> Option<T> {
        self.is::<T>(op).then(|| T::wrap(op))
    }

    /// Whether the op is declared with trait `wanted`.
    #[must_use]
    pub fn has_trait(&self, op: OpId, wanted: Trait) -> bool {
        self.declaration(op).is_some_and(|declaration| declaration.traits.contains(&wanted))
    }

    /// Operands in order.
    #[must_use]
    pub fn operands(&self, op: OpId) -> &[ValueId] {
        &self.data(op).operands
    }

    /// Results in order.
    #[must_use]
    pub fn results(&self, op: OpId) -> &[ValueId] {
        &self.value_ids[self.data(op).results.get()]
    }

    /// Result number `index`.
    #[must_use]
    pub fn result(&self, op: OpId, index: usize) -> ValueId {
        self.results(op)[index]
    }

    /// Attributes in the order they were written or set. The generic form sorts them.
    #[must_use]
    pub fn attributes(&self, op: OpId) -> &[(Name, Attribute)] {
        &self.data(op).attributes
    }

    /// The attribute `name`.
    #[must_use]
    pub fn attribute(&self, op: OpId, name: &str) -> Option<&Attribute> {
        self.attributes(op).iter().find(|(key, _)| key.as_str() == name).map(|(_, value)| value)
    }

    /// Regions in order.
    #[must_use]
    pub fn regions(&self, op: OpId) -> &[RegionId] {
        self.data(op).extra.as_ref().map_or(&[], |extra| &extra.regions)
    }

    /// Blocks that a terminator leads to.
    #[must_use]
    pub fn successors(&self, op: OpId) -> &[BlockId] {
        self.data(op).extra.as_ref().map_or(&[], |extra| &extra.successors)
    }

    /// The block that holds the op; `None` for the root and detached ops.
    #[must_use]
    pub fn parent_block(&self, op: OpId) -> Option<BlockId> {
        self.data(op).parent
    }

    /// The op whose region holds the op.
    #[must_use]
    pub fn parent_op(&self, op: OpId) -> Option<OpId> {
        self.parent_block(op).and_then(|block| self.block_owner(block))
    }

    /// The op after this one in its block.
    #[must_use]
    pub fn next_op(&self, op: OpId) -> Option<OpId> {
        self.data(op).next
    }

    /// The op before this one in its block.
    #[must_use]
    pub fn previous_op(&self, op: OpId) -> Option<OpId> {
        self.data(op).previous
    }

    /// Ops from `op` up through the ops around it.
    pub fn ancestors(&self, op: OpId) -> impl Iterator<Item = OpId> + '_ {
        std::iter::successors(Some(op), |&op| self.parent_op(op))
    }

    // Blocks and regions.

    /// Blocks of a region in order; the first is its entry.
    #[must_use]
    pub fn blocks_of(&self, region: RegionId) -> &[BlockId] {
        &self.regions[region.index()].blocks
    }

    /// The op that a region belongs to.
    #[must_use]
    pub fn region_owner(&self, region: RegionId) -> Option<OpId> {
        self.regions[region.index()].owner
    }

    /// Entry block of region `index` of `op`, if there is one.
    #[must_use]
    pub fn entry_block(&self, op: OpId, index: usize) -> Option<BlockId> {
        self.regions(op).get(index).and_then(|&region| self.blocks_of(region).first().copied())
    }

    /// The region that holds a block.
    #[must_use]
    pub fn block_region(&self, block: BlockId) -> Option<RegionId> {
        self.blocks[block.index()].region
    }

    /// The op around a block.
    #[must_use]
    pub fn block_owner(&self, block: BlockId) -> Option<OpId> {
        self.block_region(block).and_then(|region| self.region_owner(region))
    }

    /// Arguments of a block.
    #[must_use]
    pub fn arguments(&self, block: BlockId) -> &[ValueId] {
        &self.blocks[block.index()].arguments
    }

    /// Name of a block in the text, without `^`.
    #[must_use]
    pub fn block_name(&self, block: BlockId) -> Option<&str> {
        self.names.get(self.blocks[block.index()].name)
    }

    /// Ops of a block in order.
    pub fn ops_of(&self, block: BlockId) -> impl Iterator<Item = OpId> + '_ {
        std::iter::successors(self.blocks[block.index()].first, |&op| self.next_op(op))
    }

    /// First op of a block.
    #[must_use]
    pub fn first_op(&self, block: BlockId) -> Option<OpId> {
        self.blocks[block.index()].first
    }

    /// Last op of a block: its terminator, where it has one.
    #[must_use]
    pub fn last_op(&self, block: BlockId) -> Option<OpId> {
        self.blocks[block.index()].last
    }

    // Values.

    /// Type of a value.
    #[must_use]
    pub fn value_type(&self, value: ValueId) -> &Type {
        &self.values[value.index()].ty
    }

    /// Where a value comes from.
    #[must_use]
    pub fn value_source(&self, value: ValueId) -> ValueSource {
        self.values[value.index()].source.get()
    }

    /// The op whose result the value is; `None` for block arguments.
    #[must_use]
    pub fn defining_op(&self, value: ValueId) -> Option<OpId> {
        match self.value_source(value) {
            ValueSource::Result { op, .. } => Some(op),
            _ => None,
        }
    }

    /// The op that defines the value, if it is a `T`.
    #[must_use]
    pub fn defined_by<T: Op>(&self, value: ValueId) -> Option<T> {
        self.defining_op(value).and_then(|op| self.cast(op))
    }

    /// Name of a value in the text, without `%`.
    #[must_use]
    pub fn value_name(&self, value: ValueId) -> Option<&str> {
        self.names.get(self.values[value.index()].name)
    }

    /// The value as messages write it: `%name`, or `%` and the number of its id.
    #[must_use]
    pub fn value_text(&self, value: ValueId) -> String {
        self.value_name(value).map_or_else(|| value.to_string(), |name| format!("%{name}"))
    }

    /// Number of uses.
    #[must_use]
    pub fn use_count(&self, value: ValueId) -> usize {
        self.values[value.index()].use_count as usize
    }

    /// Whether nothing uses the value.
    #[must_use]
    pub fn is_unused(&self, value: ValueId) -> bool {
        self.use_count(value) == 0
    }

    /// All uses, ordered by user id and operand position.
    #[must_use]
    pub fn uses(&self, value: ValueId) -> Vec<Use> {
        let mut uses: Vec<Use> = self.values[value.index()].uses.to_vec();
        uses.retain(|&use_| self.is_use(value, use_));
        uses.sort_unstable();
        uses.dedup();
        uses
    }

    pub(super) fn is_use(&self, value: ValueId, use_: Use) -> bool {
        let data = self.data(use_.op);
        !data.results.is_erased() && data.operands.get(use_.index as usize) == Some(&value)
    }

    // Places and comments.

    /// Place in the text the op was parsed from, or of what it was made from.
    #[must_use]
    pub fn span(&self, op: OpId) -> Span {
        self.data(op).span
    }

    /// Place of the definition of a value.
    #[must_use]
    pub fn value_span(&self, value: ValueId) -> Span {
        match self.value_source(value) {
            ValueSource::Result { op, .. } => self.span(op),
            ValueSource::Argument { block, .. } => {
                self.block_owner(block).map_or(Span::NONE, |op| self.span(op))
            }
            ValueSource::Forward => Span::NONE,
        }
    }

    /// The explicit location, if one was written or set.
    #[must_use]
    pub fn explicit_location(&self, op: OpId) -> Option<&Location> {
        self.data(op).location.as_ref()
    }

    /// The explicit location, or the place in the text, or unknown.
    #[must_use]
    pub fn location(&self, op: OpId) -> Location {
        if let Some(location) = &self.data(op).location {
            return location.clone();
        }
        self.sources.locate(self.span(op)).map_or_else(Location::unknown, |(file, at)| {
            Location::file(file.name.clone(), at.line, at.column)
        })
    }

    /// The explicit location of a block argument, if one was written.
    #[must_use]
    pub fn argument_location(&self, argument: ValueId) -> Option<&Location> {
        self.argument_locations.get(&argument)
    }

    /// What the op was made for.
    #[must_use]
    pub fn origin(&self, op: OpId) -> Option<&Origin> {
        self.data(op).extra.as_ref().and_then(|extra| extra.origin.as_ref())
    }

    /// Comments of the op.
    #[must_use]
    pub fn trivia(&self, op: OpId) -> Option<&Trivia> {
        self.trivia.get(&op).map(|trivia| &**trivia)
    }

    /// Comments after the last op of a block.
    #[must_use]
    pub fn block_trivia(&self, block: BlockId) -> &[TriviaLine] {
        self.block_trivia.get(&block).map_or(&[], Vec::as_slice)
    }
}
