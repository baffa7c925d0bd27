//! Ops, blocks, regions and the text as a whole.

use super::labels::{Label, result_groups};
use super::{Printer, is_bare_word};
use crate::declaration::format::Element;
use crate::declaration::{Arity, OpDeclaration, is_sayable, is_well_formed, operand_segments, segments};
use crate::ir::{AliasValue, Attribute, BlockId, Module, OpId, RegionId, Trivia, TriviaLine, ValueId};

impl<'m> Printer<'m> {
    pub(super) fn print_file(&mut self, module: &'m Module) {
        if self.options.generic {
            self.print_op(module.root());
            self.resource_section();
            return;
        }
        self.print_aliases(module);
        if module.explicit_root {
            self.print_op(module.root());
        } else {
            let body = module.body();
            self.print_block_ops(body);
            self.print_lines(module.block_trivia(body), true);
        }
        self.location_table();
        self.resource_section();
    }

    fn print_aliases(&mut self, module: &'m Module) {
        for alias in &module.aliases {
            self.print_lines(&alias.trivia.leading, self.at_start);
            match &alias.value {
                AliasValue::Attribute(attribute) => {
                    self.display(format_args!("#{} = ", alias.name));
                    self.attribute_in_full(attribute);
                }
                AliasValue::Type(ty) => {
                    self.display(format_args!("!{} = ", alias.name));
                    self.type_in_full(ty);
                }
            }
            self.print_trailing(alias.trivia.trailing.as_deref());
            self.out.push('\n');
            self.at_start = false;
        }
        self.collect_aliases();
        if !module.aliases.is_empty() {
            let first = module.first_op(module.body()).filter(|_| !module.explicit_root);
            let first = first.or(Some(module.root()));
            let blank = first.and_then(|op| module.trivia(op)).is_some_and(starts_blank);
            if !blank {
                self.out.push('\n');
            }
        }
    }

    /// Comment lines and blank lines, each on its own line.
    fn print_lines(&mut self, lines: &[TriviaLine], first: bool) {
        for (index, line) in lines.iter().enumerate() {
            match line {
                TriviaLine::Blank if first && index == 0 => {}
                TriviaLine::Blank => self.out.push('\n'),
                TriviaLine::Comment(text) => {
                    self.out.extend(std::iter::repeat_n(' ', self.indent));
                    self.out.push_str("//");
                    if !text.is_empty() {
                        self.out.push(' ');
                    }
                    self.out.push_str(text);
                    self.out.push('\n');
                }
            }
        }
    }

    fn print_trailing(&mut self, text: Option<&str>) {
        if let Some(text) = text {
            self.out.push_str(if text.is_empty() { "  //" } else { "  // " });
            self.out.push_str(text);
        }
    }

    /// An op on lines of its own.
    pub(super) fn print_op(&mut self, op: OpId) {
        let module = self.module();
        let trivia = module.trivia(op).filter(|_| !self.options.generic);
        if let Some(trivia) = trivia {
            self.print_lines(&trivia.leading, self.at_start);
        }
        self.at_start = false;
        self.trailing = trivia.and_then(|trivia| trivia.trailing.clone());
        self.start_line();
        self.print_results(op);
        let declaration = module.declaration(op).filter(|declaration| {
            !self.options.generic
                && !declaration.format.is_empty()
                && is_well_formed(module, op)
                && is_sayable(module, op, declaration)
                && !self.goes_back_to_signature(op, declaration)
                && says_attributes(module, op, declaration)
        });
        match declaration {
            Some(declaration) => self.print_pretty(op, declaration),
            None => self.print_generic_op(op),
        }
        self.op_location(op);
        self.fit_line();
        let trailing = self.trailing.take();
        self.print_trailing(trailing.as_deref());
        self.out.push('\n');
        self.pass_on();
    }

    /// Whether an op goes on at the first block of a function, whose arguments leave no place for a header.
    fn goes_back_to_signature(&self, op: OpId, declaration: &OpDeclaration) -> bool {
        let module = self.module();
        let is_target = |entry: BlockId| !module.arguments(entry).is_empty() && self.labels.is_target(entry);
        (declaration.compiled)().has_signature && module.entry_block(op, 0).is_some_and(is_target)
    }

    fn print_results(&mut self, op: OpId) {
        let module = self.module();
        match *module.results(op) {
            [] => return,
            [only] => self.value_label(only),
            _ => self.list(result_groups(module, op, self.options.generic), ", ", |printer, group| {
                let count = group.len();
                printer.value_label(module.results(op)[group.start]);
                if count > 1 {
                    printer.display(format_args!(":{count}"));
                }
            }),
        }
        self.text(" = ");
    }

    /// `%name` of a value or of the group it starts.
    fn value_label(&mut self, value: ValueId) {
        let label = self.labels.value(value);
        if let Label::Member(index) = label {
            return self.value_label(ValueId::new(value.index() - index as usize));
        }
        self.text("%");
        match label {
            Label::None | Label::Member(_) => self.display(format_args!("undefined_{}", value.index())),
            Label::Number(number) => self.number(number),
            Label::Own | Label::Renamed => {
                self.out.push_str(self.labels.name(self.module(), value));
                self.glue = false;
            }
        }
    }

    /// `%name`
    pub fn operand(&mut self, value: ValueId) {
        self.value_label(value);
        if let Label::Member(index) = self.labels.value(value) {
            return self.display(format_args!("#{index}"));
        }
        if self.starts_group(value) {
            self.text("#0");
        }
    }

    /// Whether the value is the first of several that share its name.
    fn starts_group(&self, value: ValueId) -> bool {
        matches!(self.labels.value(ValueId::new(value.index() + 1)), Label::Member(1))
    }

    /// `%a, %b`
    pub fn operands(&mut self, values: &[ValueId]) {
        self.list(values, ", ", |printer, &value| printer.operand(value));
    }

    /// `^name`
    pub fn successor(&mut self, block: BlockId) {
        let name = format!("^{}", self.labels.block(block));
        self.text(&name);
    }

    fn value_types(&mut self, values: &[ValueId]) {
        let module = self.module();
        self.list(values, ", ", |printer, &value| printer.ty(module.value_type(value)));
    }

    // Generic form.

    fn print_generic_op(&mut self, op: OpId) {
        let module = self.module();
        self.quoted(module.name(op).as_str());
        self.text("(");
        self.operands(module.operands(op));
        self.text(")");
        if !module.successors(op).is_empty() {
            self.text("[");
            self.list(module.successors(op), ", ", |printer, &block| printer.successor(block));
            self.text("]");
        }
        if !module.regions(op).is_empty() {
            self.text(" (");
            self.list(module.regions(op), ", ", |printer, &region| {
                printer.print_region(region, RegionForm::Generic);
            });
            self.text(")");
        }
        let attributes = module.attributes(op);
        if !attributes.is_empty() {
            self.text(" ");
            self.dictionary(attributes);
        }
        self.text(" : ");
        let types = |values: &'m [ValueId]| values.iter().map(|&value| module.value_type(value));
        self.function_type(types(module.operands(op)), types(module.results(op)));
    }

    // Regions.

    /// `{ ... }`, on lines of its own.
    pub(super) fn print_region(&mut self, region: RegionId, form: RegionForm) {
        let module = self.module();
        self.fit_line();
        self.out.push('{');
        let trailing = self.trailing.take();
        self.print_trailing(trailing.as_deref());
        self.out.push('\n');
        self.indent += 2;
        let blocks = module.blocks_of(region);
        for (index, &block) in blocks.iter().enumerate() {
            let arguments = !module.arguments(block).is_empty();
            let known = index == 0 && form == RegionForm::ArgumentsKnown;
            let named = module.block_name(block).is_some() && !self.options.generic && !known;
            // Without a header, braces of an op in generic form hold no block at all.
            let empty = module.first_op(block).is_none() && (form == RegionForm::Generic || blocks.len() > 1);
            let header = index > 0 || arguments || named || empty || self.labels.is_target(block);
            if header && !(known && arguments) {
                self.print_block_header(block);
            }
            self.at_start = true;
            self.print_block_ops(block);
            if !self.options.generic {
                self.print_lines(module.block_trivia(block), false);
            }
        }
        self.indent -= 2;
        self.start_line();
        self.out.push('}');
        self.line_start = self.out.rfind('\n').map_or(0, |at| at + 1);
    }

    fn print_block_ops(&mut self, block: BlockId) {
        let mut next = self.module().first_op(block);
        while let Some(op) = next {
            if self.omitted != Some(op) {
                self.print_op(op);
            }
            next = self.module().next_op(op);
        }
    }

    fn print_block_header(&mut self, block: BlockId) {
        let module = self.module();
        self.out.extend(std::iter::repeat_n(' ', self.indent - 2));
        self.successor(block);
        if !module.arguments(block).is_empty() {
            self.text("(");
            self.list(module.arguments(block), ", ", |printer, &argument| {
                printer.operand(argument);
                printer.text(": ");
                printer.ty(module.value_type(argument));
                printer.argument_location(argument);
            });
            self.text(")");
        }
        self.out.push_str(":\n");
    }

    // Pretty form.

    fn print_pretty(&mut self, op: OpId, declaration: &'static OpDeclaration) {
        self.text(declaration.name);
        let format = (declaration.compiled)();
        self.print_elements(&format.elements, op, declaration);
    }

    fn print_elements(&mut self, elements: &[Element], op: OpId, declaration: &'static OpDeclaration) {
        let mut after_word = false;
        for element in elements {
            self.print_element(element, op, declaration, after_word);
            after_word = matches!(element, Element::Literal(text) if is_bare_word(text));
        }
    }

    fn print_element(
        &mut self,
        element: &Element,
        op: OpId,
        declaration: &'static OpDeclaration,
        after_word: bool,
    ) {
        let module = self.module();
        match element {
            Element::Literal(text) => self.literal(text, after_word),
            Element::Space => {
                self.out.push(' ');
                self.glue = false;
            }
            Element::NoSpace => self.glue = true,
            Element::Wrap => self.wrap(),
            Element::Operand(index) => {
                let values = part_values(module, op, declaration, *index);
                if !values.is_empty() {
                    self.space();
                    self.operands(values);
                }
            }
            Element::Attribute(index) => {
                let attribute = &declaration.attributes[*index];
                if let Some(value) = module.attribute(op, attribute.name) {
                    let flag = matches!(value.kind(), crate::ir::AttributeKind::Unit);
                    if !flag {
                        self.space();
                    }
                    (attribute.constraint.print)(self, value);
                }
            }
            Element::Region(index) => {
                self.space();
                let known = std::mem::take(&mut self.entry_arguments_printed);
                let form = if known { RegionForm::ArgumentsKnown } else { RegionForm::Pretty };
                self.print_region(module.regions(op)[*index], form);
            }
            Element::Successor(index) => {
                self.space();
                self.successor(module.successors(op)[*index]);
            }
            Element::OperandType(index) => {
                let values = part_values(module, op, declaration, *index);
                if !values.is_empty() {
                    self.space();
                    self.value_types(values);
                }
            }
            Element::ResultType(index) => {
                let values = result_values(module, op, declaration, *index);
                if !values.is_empty() {
                    self.space();
                    self.value_types(values);
                }
            }
            Element::FunctionalType => {
                self.space();
                let types = |values: &'m [ValueId]| values.iter().map(|&value| module.value_type(value));
                self.function_type(types(module.operands(op)), types(module.results(op)));
            }
            Element::AttributeDictionary(keyword) => self.rest_of_attributes(op, declaration, *keyword),
            Element::FunctionSignature => self.signature(op),
            Element::Custom(index) => (declaration.hooks[*index].print)(self, op),
            Element::Group { then, otherwise, anchor } => {
                let present =
                    then.get(*anchor).is_some_and(|anchor| is_present(module, op, declaration, anchor));
                self.print_elements(if present { then } else { otherwise }, op, declaration);
            }
        }
    }

    fn literal(&mut self, text: &str, after_word: bool) {
        match text {
            "," | ")" | "]" | ">" | "::" => self.text(text),
            "(" | "<" if after_word => self.text(text),
            _ => self.word(text),
        }
    }

    fn rest_of_attributes(&mut self, op: OpId, declaration: &'static OpDeclaration, keyword: bool) {
        let elided = &(declaration.compiled)().elided;
        let module = self.module();
        let rest: Vec<_> =
            module.attributes(op).iter().filter(|(name, _)| !elided.contains(&name.as_str())).collect();
        if rest.is_empty() {
            return;
        }
        self.wrap();
        if keyword {
            self.word("attributes");
        }
        self.space();
        self.dictionary(rest);
    }

    // Signatures.

    fn signature(&mut self, op: OpId) {
        let module = self.module();
        self.space();
        self.symbol_name(module.symbol_name(op).unwrap_or(""));
        self.text("(");
        let column = self.out.len() - self.line_start;
        let dictionaries =
            |name: &str| module.attribute(op, name).and_then(Attribute::as_array).unwrap_or(&[]);
        let (argument_attributes, result_attributes) = (dictionaries("arg_attrs"), dictionaries("res_attrs"));
        let arguments = module.entry_block(op, 0).map_or(&[][..], |block| module.arguments(block));
        for (index, &argument) in arguments.iter().enumerate() {
            if index > 0 {
                self.text(",");
                self.wrap_at_column(column);
                self.text(" ");
            }
            self.operand(argument);
            self.text(": ");
            self.ty(module.value_type(argument));
            self.signature_attributes(argument_attributes.get(index));
            self.argument_location(argument);
        }
        self.text(")");
        self.entry_arguments_printed = true;
        let ty = module.attribute(op, "function_type").and_then(Attribute::as_type);
        let Some(function) =
            ty.and_then(|ty| ty.as_function()).filter(|function| !function.results.is_empty())
        else {
            return;
        };
        self.text(" -> ");
        let plain = result_attributes.is_empty() && function.results.len() == 1;
        self.text(if plain { "" } else { "(" });
        for (index, ty) in function.results.iter().enumerate() {
            if index > 0 {
                self.text(", ");
            }
            self.ty(ty);
            self.signature_attributes(result_attributes.get(index));
        }
        self.text(if plain { "" } else { ")" });
    }

    fn signature_attributes(&mut self, dictionary: Option<&Attribute>) {
        if let Some(entries) =
            dictionary.and_then(Attribute::as_dictionary).filter(|entries| !entries.is_empty())
        {
            self.text(" ");
            self.dictionary(entries);
        }
    }
}

/// How a region is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RegionForm {
    /// As part of an op in generic form.
    Generic,
    /// As part of a pretty form.
    Pretty,
    /// The same, and the op's syntax gave the arguments of the entry block.
    ArgumentsKnown,
}

fn starts_blank(trivia: &Trivia) -> bool {
    trivia.leading.first() == Some(&TriviaLine::Blank)
}

fn part_values<'m>(module: &'m Module, op: OpId, declaration: &OpDeclaration, index: usize) -> &'m [ValueId] {
    let range = operand_segments(module, op, declaration).and_then(|ranges| ranges.get(index).cloned());
    range.and_then(|range| module.operands(op).get(range)).unwrap_or(&[])
}

fn result_values<'m>(
    module: &'m Module,
    op: OpId,
    declaration: &OpDeclaration,
    index: usize,
) -> &'m [ValueId] {
    let ranges = segments(declaration.results, module.results(op).len(), None);
    let range = ranges.and_then(|ranges| ranges.get(index).cloned());
    range.and_then(|range| module.results(op).get(range)).unwrap_or(&[])
}

/// Whether the format writes just those of its attributes that the op has: an optional group is written or not by its anchor alone.
fn says_attributes(module: &Module, op: OpId, declaration: &OpDeclaration) -> bool {
    let format = (declaration.compiled)();
    if !format.has_attributes {
        return true;
    }
    let (mut written, mut left_out) = (Vec::new(), Vec::new());
    let mut stack: Vec<(&Element, bool)> = format.elements.iter().map(|element| (element, true)).collect();
    while let Some((element, is_written)) = stack.pop() {
        match element {
            Element::Attribute(index) if is_written => written.push(*index),
            Element::Attribute(index) => left_out.push(*index),
            Element::Group { then, otherwise, anchor } => {
                let present =
                    then.get(*anchor).is_some_and(|anchor| is_present(module, op, declaration, anchor));
                stack.extend(then.iter().map(|element| (element, is_written && present)));
                stack.extend(otherwise.iter().map(|element| (element, is_written && !present)));
            }
            _ => {}
        }
    }
    let has = |index: &usize| module.attribute(op, declaration.attributes[*index].name).is_some();
    written.iter().all(has) && left_out.iter().all(|index| written.contains(index) || !has(index))
}

fn is_present(module: &Module, op: OpId, declaration: &OpDeclaration, anchor: &Element) -> bool {
    match anchor {
        Element::Operand(index) | Element::OperandType(index) => {
            declaration.operands[*index].arity == Arity::One
                || !part_values(module, op, declaration, *index).is_empty()
        }
        Element::ResultType(index) => !result_values(module, op, declaration, *index).is_empty(),
        Element::Attribute(index) => module.attribute(op, declaration.attributes[*index].name).is_some(),
        Element::Region(index) => {
            let region = module.regions(op)[*index];
            module.blocks_of(region).iter().any(|&block| module.first_op(block).is_some())
        }
        Element::Custom(index) => {
            declaration.hooks[*index].attributes.iter().any(|name| module.attribute(op, name).is_some())
        }
        _ => true,
    }
}
