//! Random ops, with regions, names, comments and places.

use std::sync::Arc;

use super::Choices;
use crate::declaration::format::SEGMENT_SIZES;
use crate::declaration::{
    Arity, AttributeDeclaration, OpDeclaration, PartDeclaration, Trait, TypeConstraint,
};
use crate::ir::{
    Alias, AliasValue, Attribute, AttributeKind, BlockId, DenseArray, InsertionPoint, Module, Name, OpKind,
    OpState, Origin, RegionId, Resource, Trivia, TriviaLine, Type, ValueId,
};
use crate::registry::Registry;

/// Nesting of regions.
const DEPTH: usize = 3;

/// Tries to find a type or attribute that a rule accepts.
const TRIES: usize = 24;

/// Names of values; the printer makes equal ones differ.
const VALUE_NAMES: &[&str] = &["a", "b", "a_0", "x.y", "_", "$1", "a-b"];

pub(super) struct Maker<'c, 'n> {
    registry: &'static Registry,
    choices: &'c mut Choices<'n>,
    module: Module,
    /// Values that may be used, innermost region last.
    visible: Vec<ValueId>,
    depth: usize,
}

impl<'c, 'n> Maker<'c, 'n> {
    pub(super) fn new(registry: &'static Registry, choices: &'c mut Choices<'n>) -> Self {
        Self { registry, choices, module: Module::new(), visible: Vec::new(), depth: 0 }
    }

    pub(super) fn module(mut self) -> Module {
        let data: Arc<[u8]> = Arc::from([1, 2, 3].as_slice());
        self.module.resources.insert("blob".into(), Resource { alignment: 8, data });
        for name in ["one", "two"] {
            if self.choices.one_in(2) {
                let value = match self.choices.one_in(2) {
                    true => AliasValue::Attribute(self.choices.attribute(self.registry)),
                    false => AliasValue::Type(self.choices.ty(self.registry)),
                };
                // The table of locations is made anew by the printer.
                let is_location = matches!(&value, AliasValue::Attribute(attribute)
                    if matches!(attribute.kind(), AttributeKind::Location(_)));
                if !is_location {
                    self.module.aliases.push(Alias { name: name.into(), value, trivia: Trivia::default() });
                }
            }
        }
        let body = self.module.body();
        self.ops(body, 6);
        self.module
    }

    fn ops(&mut self, block: BlockId, most: usize) {
        for _ in 0..self.choices.below(most + 1) {
            self.op(block);
        }
    }

    fn op(&mut self, block: BlockId) {
        let names: Vec<&str> = self.registry.op_names().filter(|name| *name != "builtin.module").collect();
        let name = *self.choices.pick(&names);
        // What a hook says of random attributes is rarely all there is: such ops are few, so that most modules have none.
        let declaration = self.registry.op(name).filter(|_| !self.choices.one_in(4));
        let declaration = declaration.filter(|op| op.hooks.is_empty() || self.choices.one_in(8));
        let state = match declaration {
            Some(declaration) => self.declared(block, declaration),
            None => Some(self.undeclared()),
        };
        let Some(mut state) = state else { return };
        if self.choices.one_in(3) {
            state.location = Some(self.choices.location());
        }
        if self.choices.one_in(4) {
            let path = ["main/c", "main"][self.choices.below(2)];
            state.origin = Some(Origin::new(path, vec![Name::of("expand-plans")]));
        }
        self.insert(block, state);
    }

    fn insert(&mut self, block: BlockId, state: OpState) {
        let op = self.module.insert_new(InsertionPoint::BlockEnd(block), state);
        for &result in &self.module.results(op).to_vec() {
            if self.choices.one_in(2) {
                let name = *self.choices.pick(VALUE_NAMES);
                self.module.set_value_name(result, Some(name));
            }
            self.visible.push(result);
        }
        if self.choices.one_in(3) {
            let lines = self.choices.list(2, |choices| match choices.one_in(3) {
                true => TriviaLine::Blank,
                false => TriviaLine::Comment((*choices.pick(&["why", "", "a // b", "%x = {"])).into()),
            });
            let trailing = self.choices.one_in(2).then(|| Arc::from("beside"));
            let leading = one_blank_at_a_time(lines);
            self.module.set_trivia(op, Trivia { leading, trailing });
        }
    }

    fn undeclared(&mut self) -> OpState {
        let name = *self.choices.pick(&["acme.op", "acme.\"quoted\"", "plain", "acme.ü"]);
        let mut state = OpState::new(OpKind::Undeclared(Name::of(name)));
        if !self.visible.is_empty() {
            let visible = self.visible.clone();
            state.operands.extend(self.choices.list(3, |choices| *choices.pick(&visible)));
        }
        let registry = self.registry;
        state.result_types.extend(self.choices.list(3, |choices| choices.ty(registry)));
        state.attributes = self.choices.dictionary(registry).into();
        for _ in 0..self.choices.below(3) {
            state.regions.extend(self.region(false, false));
        }
        state
    }

    /// An op with the parts of its declaration; `None` if no value or attribute was found that a rule accepts.
    fn declared(&mut self, block: BlockId, declaration: &'static OpDeclaration) -> Option<OpState> {
        let mut state = OpState::new(OpKind::Declared(declaration));
        let mut sizes = Vec::new();
        for part in declaration.operands {
            let count = self.count(part);
            sizes.push(count as i64);
            for _ in 0..count {
                let value = self.value(block, &part.constraint)?;
                state.operands.push(value);
            }
        }
        let varying = declaration.operands.iter().filter(|part| part.arity != Arity::One).count();
        if varying > 1 {
            let sizes = DenseArray { element: Type::integer(32), values: sizes.into() };
            state
                .attributes
                .push((Name::of(SEGMENT_SIZES), Attribute::new(AttributeKind::DenseArray(sizes))));
        }
        let infer = declaration.infer;
        for attribute in declaration.attributes {
            if attribute.required || self.choices.one_in(2) {
                state.attributes.push((Name::of(attribute.name), self.accepted(attribute)?));
            }
        }
        let operand_types: Vec<Type> =
            state.operands.iter().map(|&value| self.module.value_type(value).clone()).collect();
        match infer.and_then(|infer| infer(&operand_types, &state.attributes)) {
            Some(types) if !self.choices.one_in(8) => state.result_types.extend(types),
            _ => {
                for part in declaration.results {
                    for _ in 0..self.count(part) {
                        let ty = self.result_type(part, declaration, &operand_types)?;
                        state.result_types.push(ty);
                    }
                }
            }
        }
        let isolated = declaration.has_trait(Trait::IsolatedFromAbove);
        for region in declaration.regions {
            state.regions.push(self.region(region.one_block, isolated)?);
        }
        if declaration.has_trait(Trait::FunctionLike) {
            self.sign(&mut state);
        }
        for (name, value) in self.choices.dictionary(self.registry) {
            let free =
                name.as_str().contains('.') && state.attributes.iter().all(|(known, _)| *known != name);
            if free {
                state.attributes.push((name, value));
            }
        }
        let blocks = self.module.block_region(block).map_or(&[][..], |region| self.module.blocks_of(region));
        let blocks = blocks.to_vec();
        for _ in declaration.successors {
            state.successors.push(*self.choices.pick(&blocks));
        }
        Some(state)
    }

    fn count(&mut self, part: &PartDeclaration) -> usize {
        match part.arity {
            Arity::One => 1,
            Arity::Optional => self.choices.below(2),
            Arity::Variadic => self.choices.below(4),
        }
    }

    /// A visible value that the rule accepts, else a new one.
    fn value(&mut self, block: BlockId, rule: &TypeConstraint) -> Option<ValueId> {
        let fitting: Vec<ValueId> = self
            .visible
            .iter()
            .copied()
            .filter(|&value| (rule.accepts)(self.module.value_type(value)))
            .collect();
        if !fitting.is_empty() && !self.choices.one_in(8) {
            return Some(*self.choices.pick(&fitting));
        }
        let ty = self.accepted_type(rule)?;
        let mut state = OpState::new(OpKind::Undeclared(Name::of("acme.make")));
        state.result_types.push(ty);
        self.insert(block, state);
        self.visible.last().copied()
    }

    fn accepted_type(&mut self, rule: &TypeConstraint) -> Option<Type> {
        if let Some(only) = rule.only {
            return Some(only());
        }
        let candidates =
            [Type::tensor([4, 8], Type::float(crate::ir::FloatFormat::F16), None), Type::index()];
        let random = (0..TRIES).map(|_| self.choices.ty(self.registry)).find(|ty| (rule.accepts)(ty));
        random.or_else(|| candidates.into_iter().find(|ty| (rule.accepts)(ty)))
    }

    fn result_type(
        &mut self,
        part: &PartDeclaration,
        declaration: &OpDeclaration,
        operands: &[Type],
    ) -> Option<Type> {
        let same = declaration.has_trait(Trait::SameType) && !self.choices.one_in(8);
        let first = operands.first().filter(|ty| same && (part.constraint.accepts)(ty));
        first.cloned().or_else(|| self.accepted_type(&part.constraint))
    }

    fn accepted(&mut self, declaration: &AttributeDeclaration) -> Option<Attribute> {
        let constraint = &declaration.constraint;
        if !constraint.words.is_empty() {
            return Some(Attribute::string(self.choices.pick(constraint.words)));
        }
        let plain = [
            Attribute::i64(self.choices.below(100) as i64),
            Attribute::string("s"),
            Attribute::symbol("main"),
            Attribute::i64_array(vec![1, 2]),
            Attribute::ty(Type::float(crate::ir::FloatFormat::F16)),
        ];
        let registry = self.registry;
        let random =
            (0..TRIES).map(|_| self.choices.attribute(registry)).find(|value| (constraint.accepts)(value));
        let notations = super::NOTATIONS.iter().filter(|(name, _)| name.starts_with('#'));
        random.or_else(|| plain.into_iter().find(|value| (constraint.accepts)(value))).or_else(|| {
            notations
                .filter_map(|(_, make)| {
                    let options = crate::parser::ParseOptions::new(registry);
                    crate::parser::parse_attribute(&make(self.choices), options).ok()
                })
                .find(|value| (constraint.accepts)(value))
        })
    }

    /// A region; `None` if regions are nested too deeply.
    fn region(&mut self, one_block: bool, isolated: bool) -> Option<RegionId> {
        if self.depth >= DEPTH {
            return None;
        }
        self.depth += 1;
        let outer = if isolated { std::mem::take(&mut self.visible) } else { self.visible.clone() };
        let region = self.module.create_region();
        let count = if one_block { 1 } else { self.choices.below(3) };
        let blocks: Vec<BlockId> = (0..count).map(|_| self.module.append_block(region)).collect();
        for block in blocks {
            for _ in 0..self.choices.below(3) {
                let ty = self.choices.ty(self.registry);
                let name = self.choices.one_in(2).then(|| *self.choices.pick(VALUE_NAMES));
                let argument = self.module.add_argument(block, ty, name);
                self.visible.push(argument);
            }
            self.ops(block, 3);
        }
        self.visible = outer;
        self.depth -= 1;
        Some(region)
    }

    /// The signature that the body has, mostly.
    fn sign(&mut self, state: &mut OpState) {
        let entry = state.regions.first().and_then(|&region| self.module.blocks_of(region).first().copied());
        let arguments = entry.map_or(&[][..], |block| self.module.arguments(block)).to_vec();
        let inputs: Vec<Type> =
            arguments.iter().map(|&value| self.module.value_type(value).clone()).collect();
        let registry = self.registry;
        let results = self.choices.list(2, |choices| choices.ty(registry));
        let mut set = |name: &'static str, value: Attribute| {
            state.attributes.retain(|(known, _)| known.as_str() != name);
            state.attributes.push((Name::of(name), value));
        };
        for (name, count) in [("arg_attrs", inputs.len()), ("res_attrs", results.len())] {
            let dictionaries: Vec<Attribute> =
                (0..count).map(|_| Attribute::dictionary(self.choices.dictionary(registry))).collect();
            let empty = dictionaries.iter().all(|entry| entry.as_dictionary().is_none_or(<[_]>::is_empty));
            if !empty {
                set(name, Attribute::array(dictionaries));
            }
        }
        set("function_type", Attribute::ty(Type::function(inputs, results)));
    }
}

/// The parser keeps one of several blank lines.
fn one_blank_at_a_time(mut lines: Vec<TriviaLine>) -> Vec<TriviaLine> {
    lines.dedup_by(|a, b| *a == TriviaLine::Blank && *b == TriviaLine::Blank);
    lines
}
