//! Changes of a module: create, insert, move, replace, clone, erase.
//!
//! An op that replaces another goes through [`Module::replace`] or [`Module::inherit`], so names, comments, places
//! and origins survive. Use lists are kept exact in count and lazily in content.

use std::sync::Arc;

use ipu_device::hash::HashMap;
use smallvec::SmallVec;
use thin_vec::ThinVec;

use super::attribute::Attribute;
use super::attribute_list::{AttributeList, StoredAttributes};
use super::entity::{BlockId, OpId, RegionId, ValueId};
use super::location::{Location, Origin};
use super::module::{Alias, AliasValue, Module, OpKind, Trivia, TriviaLine, Use, ValueSource};
use super::name::Name;
use super::storage::{BlockData, NameId, OpData, OpExtra, PackedSource, RegionData, ResultRange, ValueData};
use super::types::Type;
use crate::declaration::Op;
use crate::source::Span;

/// Everything an op is made from.
#[derive(Debug, Clone)]
pub struct OpState {
    /// What it is.
    pub kind: OpKind,
    /// Operands.
    pub operands: SmallVec<[ValueId; 4]>,
    /// Types of the results.
    pub result_types: SmallVec<[Type; 2]>,
    /// Names of the first results, without `%`.
    pub result_names: Vec<Option<Arc<str>>>,
    /// Attributes in any order, each name once.
    pub attributes: AttributeList,
    /// Regions, not yet owned.
    pub regions: SmallVec<[RegionId; 2]>,
    /// Successors.
    pub successors: SmallVec<[BlockId; 2]>,
    /// Place in the text.
    pub span: Span,
    /// Explicit location.
    pub location: Option<Location>,
    /// Origin.
    pub origin: Option<Origin>,
}

impl OpState {
    /// The state of an op of that kind with nothing in it.
    #[must_use]
    pub fn new(kind: OpKind) -> Self {
        Self {
            kind,
            operands: SmallVec::new(),
            result_types: SmallVec::new(),
            result_names: Vec::new(),
            attributes: AttributeList::default(),
            regions: SmallVec::new(),
            successors: SmallVec::new(),
            span: Span::NONE,
            location: None,
            origin: None,
        }
    }

    /// The state of a `T` with nothing in it.
    #[must_use]
    pub fn of<T: Op>() -> Self {
        Self::new(OpKind::Declared(T::DECLARATION))
    }

    /// Adds an operand.
    #[must_use]
    pub fn operand(mut self, value: ValueId) -> Self {
        self.operands.push(value);
        self
    }

    /// Adds operands.
    #[must_use]
    pub fn operands(mut self, values: impl IntoIterator<Item = ValueId>) -> Self {
        self.operands.extend(values);
        self
    }

    /// Adds a result.
    #[must_use]
    pub fn result(mut self, ty: Type) -> Self {
        self.result_types.push(ty);
        self
    }

    /// Adds results.
    #[must_use]
    pub fn results(mut self, types: impl IntoIterator<Item = Type>) -> Self {
        self.result_types.extend(types);
        self
    }

    /// Names the last added result, without `%`.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.result_names.resize(self.result_types.len().saturating_sub(1), None);
        self.result_names.push(Some(name.into()));
        self
    }

    /// Sets an attribute.
    #[must_use]
    pub fn attribute(mut self, name: impl Into<Name>, value: Attribute) -> Self {
        self.attributes.push((name.into(), value));
        self
    }

    /// Sets an attribute if there is a value.
    #[must_use]
    pub fn maybe_attribute(self, name: impl Into<Name>, value: Option<Attribute>) -> Self {
        match value {
            Some(value) => self.attribute(name, value),
            None => self,
        }
    }

    /// Adds a region.
    #[must_use]
    pub fn region(mut self, region: RegionId) -> Self {
        self.regions.push(region);
        self
    }

    /// Adds a successor.
    #[must_use]
    pub fn successor(mut self, block: BlockId) -> Self {
        self.successors.push(block);
        self
    }
}

/// Where an op is inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InsertionPoint {
    /// Before that op.
    Before(OpId),
    /// After that op.
    After(OpId),
    /// At the start of that block.
    BlockStart(BlockId),
    /// At the end of that block.
    BlockEnd(BlockId),
}

impl Module {
    // Creation.

    /// An empty region that no op owns yet.
    pub fn create_region(&mut self) -> RegionId {
        self.regions.push(RegionData { owner: None, blocks: SmallVec::new() });
        RegionId::new(self.regions.len() - 1)
    }

    /// An empty block in no region.
    pub fn create_block(&mut self) -> BlockId {
        self.blocks.push(BlockData {
            region: None,
            arguments: ThinVec::new(),
            first: None,
            last: None,
            name: NameId::default(),
        });
        BlockId::new(self.blocks.len() - 1)
    }

    /// Makes `op`, a top-level `builtin.module`, the root that the text writes.
    pub(crate) fn adopt_root(&mut self, op: OpId) {
        let (old_root, old_body) = (self.root(), self.body());
        let lines = self.block_trivia.remove(&old_body).unwrap_or_default();
        self.detach(op);
        self.erase(old_root);
        self.set_root(op);
        let body = self.body();
        self.block_trivia.entry(body).or_default().extend(lines);
    }

    /// Puts a block that is in no region at the end of `region`.
    pub fn attach_block(&mut self, region: RegionId, block: BlockId) {
        self.blocks[block.index()].region = Some(region);
        self.regions[region.index()].blocks.push(block);
    }

    /// A new empty block at the end of `region`.
    pub fn append_block(&mut self, region: RegionId) -> BlockId {
        let block = self.create_block();
        self.attach_block(region, block);
        block
    }

    /// A new last argument of `block`.
    pub fn add_argument(&mut self, block: BlockId, ty: Type, name: Option<&str>) -> ValueId {
        let index = self.blocks[block.index()].arguments.len() as u32;
        let value = self.create_value(ty, ValueSource::Argument { block, index }, name);
        self.blocks[block.index()].arguments.push(value);
        value
    }

    /// Takes away argument `index` of `block`, which nothing uses.
    pub fn remove_argument(&mut self, block: BlockId, index: usize) {
        let arguments = &mut self.blocks[block.index()].arguments;
        let removed = arguments.remove(index);
        let later: Vec<ValueId> = arguments.iter().skip(index).copied().collect();
        debug_assert!(self.is_unused(removed));
        for (place, value) in (index as u32..).zip(later) {
            self.values[value.index()].source =
                PackedSource::of(ValueSource::Argument { block, index: place });
        }
    }

    pub(crate) fn create_value(&mut self, ty: Type, source: ValueSource, name: Option<&str>) -> ValueId {
        let value = ValueId::new(self.values.len());
        let name = self.names.add(name);
        let source = PackedSource::of(source);
        self.values.push(ValueData { ty, source, name, uses: SmallVec::new(), use_count: 0 });
        self.value_ids.push(value);
        value
    }

    /// An op that is in no block yet.
    pub fn create_op(&mut self, state: OpState) -> OpId {
        let op = OpId::new(self.ops.len());
        let results = ResultRange::new(self.values.len(), state.result_types.len());
        let mut names = state.result_names.iter();
        for (index, ty) in state.result_types.into_iter().enumerate() {
            let source = ValueSource::Result { op, index: index as u32 };
            self.create_value(ty, source, names.next().and_then(Option::as_deref));
        }
        for &region in &state.regions {
            self.regions[region.index()].owner = Some(op);
        }
        let rare = !state.regions.is_empty() || !state.successors.is_empty() || state.origin.is_some();
        let (regions, successors, origin) = (state.regions, state.successors, state.origin);
        self.ops.push(OpData {
            kind: state.kind,
            operands: state.operands,
            results,
            attributes: state.attributes.into_stored(),
            location: state.location,
            extra: rare
                .then(|| Box::new(OpExtra { regions, successors: successors.into_iter().collect(), origin })),
            parent: None,
            previous: None,
            next: None,
            span: state.span,
        });
        for index in 0..self.data(op).operands.len() {
            self.add_use(op, index);
        }
        op
    }

    /// Creates an op and inserts it.
    pub fn insert_new(&mut self, point: InsertionPoint, state: OpState) -> OpId {
        let op = self.create_op(state);
        self.insert(point, op);
        op
    }

    // Position.

    /// Inserts an op that is in no block.
    pub fn insert(&mut self, point: InsertionPoint, op: OpId) {
        let (block, previous, next) = match point {
            InsertionPoint::Before(at) => (self.data(at).parent, self.data(at).previous, Some(at)),
            InsertionPoint::After(at) => (self.data(at).parent, Some(at), self.data(at).next),
            InsertionPoint::BlockStart(block) => (Some(block), None, self.first_op(block)),
            InsertionPoint::BlockEnd(block) => (Some(block), self.last_op(block), None),
        };
        let Some(block) = block else {
            unreachable!("internal bug: insertion next to {point:?}, which is in no block")
        };
        let data = &mut self.ops[op.index()];
        (data.parent, data.previous, data.next) = (Some(block), previous, next);
        match previous {
            Some(previous) => self.ops[previous.index()].next = Some(op),
            None => self.blocks[block.index()].first = Some(op),
        }
        match next {
            Some(next) => self.ops[next.index()].previous = Some(op),
            None => self.blocks[block.index()].last = Some(op),
        }
    }

    /// Takes an op out of its block.
    pub fn detach(&mut self, op: OpId) {
        let data = &mut self.ops[op.index()];
        let (parent, previous, next) = (data.parent.take(), data.previous.take(), data.next.take());
        let Some(block) = parent else { return };
        match previous {
            Some(previous) => self.ops[previous.index()].next = next,
            None => self.blocks[block.index()].first = next,
        }
        match next {
            Some(next) => self.ops[next.index()].previous = previous,
            None => self.blocks[block.index()].last = previous,
        }
    }

    /// Moves an op to another place, its regions with it.
    pub fn move_op(&mut self, op: OpId, point: InsertionPoint) {
        self.detach(op);
        self.insert(point, op);
    }

    // Operands and uses.

    fn add_use(&mut self, op: OpId, index: usize) {
        let value = self.data(op).operands[index];
        let data = &mut self.values[value.index()];
        data.use_count += 1;
        data.uses.push(Use { op, index: index as u32 });
    }

    fn drop_use(&mut self, value: ValueId) {
        let data = &mut self.values[value.index()];
        data.use_count -= 1;
        if data.uses.len() > 8 && data.uses.len() as u32 > 2 * (data.use_count + 1) {
            let kept = self.uses(value);
            self.values[value.index()].uses = SmallVec::from_vec(kept);
        }
    }

    /// Sets operand number `index`.
    pub fn set_operand(&mut self, op: OpId, index: usize, value: ValueId) {
        let old = std::mem::replace(&mut self.ops[op.index()].operands[index], value);
        self.drop_use(old);
        self.add_use(op, index);
    }

    /// Sets all operands.
    pub fn set_operands(&mut self, op: OpId, values: &[ValueId]) {
        let old = std::mem::replace(&mut self.ops[op.index()].operands, SmallVec::from_slice(values));
        for value in old {
            self.drop_use(value);
        }
        for index in 0..values.len() {
            self.add_use(op, index);
        }
    }

    /// Makes every use of `old` a use of `new`.
    pub fn replace_all_uses(&mut self, old: ValueId, new: ValueId) {
        if old == new {
            return;
        }
        for use_ in self.uses(old) {
            self.set_operand(use_.op, use_.index as usize, new);
        }
    }

    /// Sets the type of a value.
    pub fn set_value_type(&mut self, value: ValueId, ty: Type) {
        self.values[value.index()].ty = ty;
    }

    /// Names a value, without `%`. The printer makes equal names differ.
    pub fn set_value_name(&mut self, value: ValueId, name: Option<&str>) {
        self.values[value.index()].name = self.names.add(name);
    }

    /// Names a block, without `^`.
    pub fn set_block_name(&mut self, block: BlockId, name: Option<&str>) {
        self.blocks[block.index()].name = self.names.add(name);
    }

    // Attributes, places, comments.

    /// Sets an attribute.
    pub fn set_attribute(&mut self, op: OpId, name: impl Into<Name>, value: Attribute) {
        let stored = &mut self.ops[op.index()].attributes;
        let mut list = AttributeList::from_stored(std::mem::take(stored));
        list.set(name.into(), value);
        *stored = list.into_stored();
    }

    /// Removes an attribute and gives it back.
    pub fn remove_attribute(&mut self, op: OpId, name: &str) -> Option<Attribute> {
        let removed = self.attribute(op, name).cloned()?;
        let left = self.attributes(op).iter().filter(|(key, _)| key.as_str() != name);
        let list: AttributeList = left.cloned().collect();
        self.ops[op.index()].attributes = list.into_stored();
        Some(removed)
    }

    /// Sets the explicit location.
    pub fn set_location(&mut self, op: OpId, location: Option<Location>) {
        self.ops[op.index()].location = location;
    }

    /// Sets the explicit location of a block argument.
    pub fn set_argument_location(&mut self, argument: ValueId, location: Option<Location>) {
        match location {
            Some(location) => self.argument_locations.insert(argument, location),
            None => self.argument_locations.remove(&argument),
        };
    }

    /// Gives every op its place in the text as an explicit location, so that the place survives when the module is
    /// printed to another text.
    pub fn make_locations_explicit(&mut self) {
        for op in self.walk(self.root()).collect::<Vec<_>>() {
            if self.explicit_location(op).is_none() && !self.span(op).is_none() {
                self.set_location(op, Some(self.location(op)));
            }
        }
    }

    /// Names an attribute `#name` in the text, unless it has a name already. The name must be new.
    pub fn add_attribute_alias(&mut self, name: &str, attribute: Attribute) {
        let known =
            |alias: &Alias| matches!(&alias.value, AliasValue::Attribute(value) if *value == attribute);
        if !self.aliases.iter().any(known) {
            let value = AliasValue::Attribute(attribute);
            self.aliases.push(Alias { name: name.into(), value, trivia: Trivia::default() });
        }
    }

    /// Sets the place in the text.
    pub fn set_span(&mut self, op: OpId, span: Span) {
        self.ops[op.index()].span = span;
    }

    /// Sets what the op was made for.
    pub fn set_origin(&mut self, op: OpId, origin: Option<Origin>) {
        let data = &mut self.ops[op.index()];
        if origin.is_some() || data.extra.is_some() {
            data.extra.get_or_insert_default().origin = origin;
        }
    }

    /// Sets the comments of an op.
    pub fn set_trivia(&mut self, op: OpId, trivia: Trivia) {
        if trivia == Trivia::default() {
            if !self.trivia.is_empty() {
                self.trivia.remove(&op);
            }
        } else {
            self.trivia.insert(op, Box::new(trivia));
        }
    }

    /// Sets the comments after the last op of a block.
    pub fn set_block_trivia(&mut self, block: BlockId, lines: Vec<TriviaLine>) {
        if lines.is_empty() {
            self.block_trivia.remove(&block);
        } else {
            self.block_trivia.insert(block, lines);
        }
    }

    /// Gives `op` the place, the fused location and the first origin of `sources`, where it has none.
    pub fn inherit(&mut self, op: OpId, sources: &[OpId]) {
        let span = sources.iter().map(|&source| self.span(source)).find(|span| !span.is_none());
        let origin = sources.iter().find_map(|&source| self.origin(source).cloned());
        let explicit =
            sources.len() > 1 || sources.iter().any(|&source| self.explicit_location(source).is_some());
        let location = explicit.then(|| Location::fused(sources.iter().map(|&source| self.location(source))));
        let data = &mut self.ops[op.index()];
        if data.span.is_none() {
            data.span = span.unwrap_or(Span::NONE);
        }
        if data.location.is_none() {
            data.location = location;
        }
        if let (Some(origin), true) = (origin, self.origin(op).is_none()) {
            self.set_origin(op, Some(origin));
        }
    }

    /// Replaces `old` by `values`, one for each result, and erases it. An op that defines a value and has no
    /// name, comments or place of its own inherits those of `old`.
    pub fn replace(&mut self, old: OpId, values: &[ValueId]) {
        let results: SmallVec<[ValueId; 4]> = SmallVec::from_slice(self.results(old));
        for (&result, &value) in results.iter().zip(values) {
            if self.value_name(value).is_none() {
                self.values[value.index()].name = self.values[result.index()].name;
            }
            self.replace_all_uses(result, value);
        }
        if let Some(new) = values.first().and_then(|&value| self.defining_op(value)) {
            self.inherit(new, &[old]);
            if let Some(trivia) = self.trivia.remove(&old) {
                self.trivia.entry(new).or_insert(trivia);
            }
        }
        self.erase(old);
    }

    // Cloning and erasing.

    /// Clones an op with its regions; the clone is in no block. Operands defined inside, and those `mapping`
    /// names, are mapped; `mapping` gains every cloned value.
    pub fn clone_op(&mut self, op: OpId, mapping: &mut HashMap<ValueId, ValueId>) -> OpId {
        let mut blocks: HashMap<BlockId, BlockId> = HashMap::default();
        let copy = self.clone_shallow(op, mapping, &mut blocks);
        let mut work = vec![(op, copy)];
        let mut clones = vec![copy];
        while let Some((from, to)) = work.pop() {
            let pairs: Vec<_> = self.regions(from).iter().copied().zip(self.regions(to).to_vec()).collect();
            for (old_region, new_region) in pairs {
                for (index, block) in self.blocks_of(old_region).to_vec().into_iter().enumerate() {
                    let new_block = self.blocks_of(new_region)[index];
                    for child in self.ops_of(block).collect::<Vec<_>>() {
                        let clone = self.clone_shallow(child, mapping, &mut blocks);
                        self.insert(InsertionPoint::BlockEnd(new_block), clone);
                        clones.push(clone);
                        work.push((child, clone));
                    }
                }
            }
        }
        self.remap(&clones, mapping, &blocks);
        copy
    }

    fn remap(
        &mut self,
        clones: &[OpId],
        mapping: &HashMap<ValueId, ValueId>,
        blocks: &HashMap<BlockId, BlockId>,
    ) {
        for &clone in clones {
            for index in 0..self.data(clone).operands.len() {
                if let Some(&value) = mapping.get(&self.data(clone).operands[index]) {
                    self.set_operand(clone, index, value);
                }
            }
            let extra = self.ops[clone.index()].extra.as_mut();
            for successor in extra.into_iter().flat_map(|extra| &mut extra.successors) {
                if let Some(&block) = blocks.get(successor) {
                    *successor = block;
                }
            }
        }
    }

    /// Clones an op, its regions, their blocks and arguments, without the ops in them.
    fn clone_shallow(
        &mut self,
        op: OpId,
        mapping: &mut HashMap<ValueId, ValueId>,
        blocks: &mut HashMap<BlockId, BlockId>,
    ) -> OpId {
        let mut regions = SmallVec::new();
        for old_region in self.regions(op).to_vec() {
            let region = self.create_region();
            for old_block in self.blocks_of(old_region).to_vec() {
                let block = self.append_block(region);
                self.blocks[block.index()].name = self.blocks[old_block.index()].name;
                blocks.insert(old_block, block);
                for argument in self.arguments(old_block).to_vec() {
                    let (ty, name) = (self.value_type(argument).clone(), self.values[argument.index()].name);
                    let copy = self.add_argument(block, ty, None);
                    self.values[copy.index()].name = name;
                    self.set_argument_location(copy, self.argument_location(argument).cloned());
                    mapping.insert(argument, copy);
                }
            }
            regions.push(region);
        }
        let data = self.data(op).clone();
        let extra = data.extra.map(|extra| *extra).unwrap_or_default();
        let results: SmallVec<[ValueId; 4]> = SmallVec::from_slice(self.results(op));
        let state = OpState {
            kind: data.kind,
            operands: data.operands,
            result_types: results.iter().map(|&result| self.value_type(result).clone()).collect(),
            result_names: Vec::new(),
            attributes: AttributeList::from_stored(data.attributes),
            regions,
            successors: extra.successors.into_iter().collect(),
            span: data.span,
            location: data.location,
            origin: extra.origin,
        };
        let copy = self.create_op(state);
        for (index, &result) in results.iter().enumerate() {
            let cloned = self.result(copy, index);
            self.values[cloned.index()].name = self.values[result.index()].name;
            mapping.insert(result, cloned);
        }
        copy
    }

    /// Erases an op with its regions. Uses of its results, if any are left, must be erased too before the module
    /// is verified or printed.
    pub fn erase(&mut self, op: OpId) {
        self.detach(op);
        let doomed = self.walk(op).collect::<Vec<_>>();
        for op in doomed {
            let operands = std::mem::take(&mut self.ops[op.index()].operands);
            for value in operands {
                self.drop_use(value);
            }
            let extra = self.ops[op.index()].extra.take();
            for region in extra.into_iter().flat_map(|extra| extra.regions) {
                for block in self.blocks_of(region).to_vec() {
                    self.block_trivia.remove(&block);
                }
            }
            let data = &mut self.ops[op.index()];
            data.results.erase();
            data.attributes = StoredAttributes::default();
            data.location = None;
            self.trivia.remove(&op);
        }
    }
}
