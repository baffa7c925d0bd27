//! Pretty forms: follows the format of a declaration.

use super::{ParseResult, Parser, UnresolvedOperand, WrittenName};
use crate::codes::ParseCode;
use crate::declaration::format::{Element, SEGMENT_SIZES};
use crate::declaration::{Arity, OpDeclaration, Trait};
use crate::ir::{
    Attribute, AttributeKind, BlockId, DenseArray, Location, Name, OpKind, OpState, RegionId, Type, ValueId,
};
use crate::lexer::TokenKind;
use crate::source::Span;

/// An argument of the entry block of a region, given by the syntax of the op.
#[derive(Debug, Clone)]
pub struct EntryArgument {
    /// Name.
    pub name: WrittenName,
    /// Place of the name.
    pub span: Span,
    /// Type.
    pub ty: Type,
    /// Explicit location.
    pub location: Option<Location>,
}

/// What the syntax of an op has given so far.
#[derive(Debug)]
pub struct OpSyntax {
    declaration: &'static OpDeclaration,
    span: Span,
    operands: Vec<Vec<UnresolvedOperand>>,
    operand_types: Vec<Option<Vec<Type>>>,
    result_types: Vec<Option<Vec<Type>>>,
    all_types: Option<(Vec<Type>, Vec<Type>)>,
    attributes: Vec<(Name, Attribute)>,
    regions: Vec<Option<RegionId>>,
    successors: Vec<BlockId>,
    /// Arguments of the entry block of the next region of the format.
    pub entry_arguments: Vec<EntryArgument>,
}

impl OpSyntax {
    fn new(declaration: &'static OpDeclaration, span: Span) -> Self {
        Self {
            declaration,
            span,
            operands: vec![Vec::new(); declaration.operands.len()],
            operand_types: vec![None; declaration.operands.len()],
            result_types: vec![None; declaration.results.len()],
            all_types: None,
            attributes: Vec::new(),
            regions: vec![None; declaration.regions.len()],
            successors: Vec::new(),
            entry_arguments: Vec::new(),
        }
    }

    /// Place of the op's name.
    #[must_use]
    pub fn span(&self) -> Span {
        self.span
    }

    fn operand_index(&self, part: &str) -> usize {
        let found = self.declaration.operands.iter().position(|operand| operand.name == part);
        found.unwrap_or_else(|| {
            unreachable!("internal bug: `{}` has no operand `{part}`", self.declaration.name)
        })
    }

    fn result_index(&self, part: &str) -> usize {
        let found = self.declaration.results.iter().position(|result| result.name == part);
        found.unwrap_or_else(|| {
            unreachable!("internal bug: `{}` has no result `{part}`", self.declaration.name)
        })
    }

    /// Adds a value to operand `part`.
    pub fn add_operand(&mut self, part: &str, operand: UnresolvedOperand) {
        let index = self.operand_index(part);
        self.operands[index].push(operand);
    }

    /// Gives the types of operand `part`.
    pub fn set_operand_types(&mut self, part: &str, types: Vec<Type>) {
        let index = self.operand_index(part);
        self.operand_types[index] = Some(types);
    }

    /// Gives the types of result `part`.
    pub fn set_result_types(&mut self, part: &str, types: Vec<Type>) {
        let index = self.result_index(part);
        self.result_types[index] = Some(types);
    }

    /// Sets an attribute; the last value counts.
    pub fn set_attribute(&mut self, name: impl Into<Name>, value: Attribute) {
        let name = name.into();
        self.attributes.retain(|(known, _)| *known != name);
        self.attributes.push((name, value));
    }

    /// An attribute set so far.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|(known, _)| known.as_str() == name).map(|(_, value)| value)
    }

    /// Gives the region `part`.
    pub fn set_region(&mut self, part: &str, region: RegionId) {
        let found = self.declaration.regions.iter().position(|known| known.name == part);
        if let Some(slot) = found.and_then(|index| self.regions.get_mut(index)) {
            *slot = Some(region);
        }
    }
}

impl Parser<'_> {
    /// The rest of a pretty op after its name.
    pub(super) fn parse_declared(
        &mut self,
        declaration: &'static OpDeclaration,
        span: Span,
    ) -> ParseResult<OpState> {
        let mut op = OpSyntax::new(declaration, span);
        let format = (declaration.compiled)();
        for element in &format.elements {
            self.parse_element(element, &mut op)?;
        }
        self.build(op)
    }

    fn parse_element(&mut self, element: &Element, op: &mut OpSyntax) -> ParseResult<()> {
        let declaration = op.declaration;
        match element {
            Element::Space | Element::NoSpace | Element::Wrap => {}
            Element::Literal(text) => {
                if !self.eat_literal(text) {
                    return self.unexpected(&format!("`{text}`"));
                }
            }
            Element::Operand(index) => self.parse_operand_part(*index, op)?,
            Element::Attribute(index) => self.parse_attribute_part(*index, op)?,
            Element::Region(index) => {
                let isolated = declaration.has_trait(Trait::IsolatedFromAbove);
                let entry = std::mem::take(&mut op.entry_arguments);
                op.regions[*index] = Some(self.parse_region(entry, isolated)?);
            }
            Element::Successor(_) => op.successors.push(self.parse_successor()?),
            Element::OperandType(index) => {
                op.operand_types[*index] = Some(self.parse_types(declaration.operands[*index].arity)?);
            }
            Element::ResultType(index) => {
                op.result_types[*index] = Some(self.parse_types(declaration.results[*index].arity)?);
            }
            Element::FunctionalType => {
                let ty = self.parse_function_type()?;
                if let Some(function) = ty.as_function() {
                    op.all_types = Some((function.inputs.clone(), function.results.clone()));
                }
            }
            Element::AttributeDictionary(keyword) => self.parse_rest_of_attributes(*keyword, op)?,
            Element::FunctionSignature => self.parse_signature(op)?,
            Element::Custom(index) => (declaration.hooks[*index].parse)(self, op)?,
            Element::Group { then, otherwise, anchor } => {
                let taken = then.first().is_some_and(|first| self.starts_with(first, declaration));
                for element in if taken { then } else { otherwise } {
                    self.parse_element(element, op)?;
                }
                if let (true, Some(Element::Attribute(index))) = (taken, then.get(*anchor)) {
                    self.set_flag(*index, op);
                }
            }
        }
        Ok(())
    }

    /// A flag has no notation of its own: its group says that it is set.
    fn set_flag(&mut self, index: usize, op: &mut OpSyntax) {
        let attribute = &op.declaration.attributes[index];
        if op.attribute(attribute.name).is_none() {
            op.set_attribute(attribute.name, Attribute::unit());
        }
    }

    fn starts_with(&self, element: &Element, declaration: &OpDeclaration) -> bool {
        match element {
            Element::Literal(text) => self.at_literal(text),
            Element::Operand(_) => self.at_operand(),
            Element::Region(_) => self.at(TokenKind::LeftBrace),
            Element::Attribute(index) => (declaration.attributes[*index].constraint.starts)(self),
            _ => true,
        }
    }

    fn at_literal(&self, text: &str) -> bool {
        self.peek().kind != TokenKind::String && self.peek_text() == text
    }

    fn eat_literal(&mut self, text: &str) -> bool {
        let found = self.at_literal(text);
        if found {
            self.advance();
        }
        found
    }

    fn parse_operand_part(&mut self, index: usize, op: &mut OpSyntax) -> ParseResult<()> {
        let arity = op.declaration.operands[index].arity;
        if arity != Arity::One && !self.at_operand() {
            return Ok(());
        }
        loop {
            let operand = self.parse_operand()?;
            op.operands[index].push(operand);
            let more = arity == Arity::Variadic
                && self.at(TokenKind::Comma)
                && self.peek_second().kind == TokenKind::Percent;
            if !more {
                return Ok(());
            }
            self.advance();
        }
    }

    fn parse_attribute_part(&mut self, index: usize, op: &mut OpSyntax) -> ParseResult<()> {
        let attribute = &op.declaration.attributes[index];
        let value = (attribute.constraint.parse)(self)?;
        op.set_attribute(attribute.name, value);
        Ok(())
    }

    fn parse_types(&mut self, arity: Arity) -> ParseResult<Vec<Type>> {
        if arity != Arity::One && !self.at_type() && !self.at(TokenKind::Word) {
            return Ok(Vec::new());
        }
        let mut types = vec![self.parse_type()?];
        while arity == Arity::Variadic && self.eat(TokenKind::Comma) {
            types.push(self.parse_type()?);
        }
        Ok(types)
    }

    fn parse_rest_of_attributes(&mut self, keyword: bool, op: &mut OpSyntax) -> ParseResult<()> {
        let wanted = if keyword { self.eat_word("attributes") } else { self.at(TokenKind::LeftBrace) };
        if !wanted {
            return Ok(());
        }
        let span = self.span();
        for (name, value) in self.parse_attribute_dictionary()? {
            if op.attribute(name.as_str()).is_some() {
                let message = format!("attribute `{name}` is given twice");
                return self.error(ParseCode::DuplicateAttribute, span, message);
            }
            op.attributes.push((name, value));
        }
        Ok(())
    }

    // Signatures.

    /// `@name(%a: T {attrs}, ...) -> (T {attrs}, ...)`
    fn parse_signature(&mut self, op: &mut OpSyntax) -> ParseResult<()> {
        let name = self.parse_symbol_name()?;
        op.set_attribute("sym_name", Attribute::string(name.as_bytes()));
        let arguments = self.parse_list(TokenKind::LeftParen, TokenKind::RightParen, |parser| {
            let operand = parser.parse_operand()?;
            parser.expect(TokenKind::Colon, "`:` and a type")?;
            let ty = parser.parse_type()?;
            let attributes = parser.parse_optional_dictionary()?;
            let location = parser.parse_optional_location()?;
            Ok((EntryArgument { name: operand.name, span: operand.span, ty, location }, attributes))
        })?;
        let results = if self.eat(TokenKind::Arrow) { self.parse_signature_results()? } else { Vec::new() };
        let inputs = arguments.iter().map(|(argument, _)| argument.ty.clone()).collect();
        let (entry, argument_attributes): (Vec<_>, Vec<_>) = arguments.into_iter().unzip();
        let (outputs, result_attributes): (Vec<_>, Vec<_>) = results.into_iter().unzip();
        op.entry_arguments = entry;
        op.set_attribute("function_type", Attribute::ty(Type::function(inputs, outputs)));
        set_dictionaries(op, "arg_attrs", argument_attributes);
        set_dictionaries(op, "res_attrs", result_attributes);
        Ok(())
    }

    fn parse_optional_dictionary(&mut self) -> ParseResult<Attribute> {
        let entries =
            if self.at(TokenKind::LeftBrace) { self.parse_attribute_dictionary()? } else { Vec::new() };
        Ok(Attribute::dictionary(entries))
    }

    fn parse_signature_results(&mut self) -> ParseResult<Vec<(Type, Attribute)>> {
        if !self.at(TokenKind::LeftParen) {
            let ty = self.parse_type()?;
            return Ok(vec![(ty, Attribute::dictionary(Vec::new()))]);
        }
        self.parse_list(TokenKind::LeftParen, TokenKind::RightParen, |parser| {
            let ty = parser.parse_type()?;
            Ok((ty, parser.parse_optional_dictionary()?))
        })
    }

    // The op.

    fn build(&mut self, mut op: OpSyntax) -> ParseResult<OpState> {
        let declaration = op.declaration;
        let mut state = OpState::new(OpKind::Declared(declaration));
        if let Some((inputs, results)) = op.all_types.take() {
            self.distribute_types(&mut op, inputs, results)?;
        }
        for index in 0..op.operands.len() {
            let values = self.resolve_part(&op, index)?;
            state.operands.extend(values);
        }
        let varying = declaration.operands.iter().filter(|part| part.arity != Arity::One).count();
        if varying > 1 {
            let values = op.operands.iter().map(|part| part.len() as i64).collect();
            let sizes = AttributeKind::DenseArray(DenseArray { element: Type::integer(32), values });
            op.set_attribute(SEGMENT_SIZES, Attribute::new(sizes));
        }
        state.result_types = self.result_types(&op, &state.operands)?.into();
        for (slot, region) in op.regions.iter().zip(declaration.regions) {
            let region_id = match slot {
                Some(id) => *id,
                None => self.empty_region(region.one_block),
            };
            state.regions.push(region_id);
        }
        state.attributes = op.attributes.into();
        state.successors = op.successors.into();
        Ok(state)
    }

    fn empty_region(&mut self, with_block: bool) -> RegionId {
        let region = self.module.create_region();
        if with_block {
            self.module.append_block(region);
        }
        region
    }

    fn distribute_types(
        &mut self,
        op: &mut OpSyntax,
        inputs: Vec<Type>,
        results: Vec<Type>,
    ) -> ParseResult<()> {
        let given: usize = op.operands.iter().map(Vec::len).sum();
        if given != inputs.len() {
            let message = format!("{given} operands and {} operand types", inputs.len());
            return self.error(ParseCode::BadOp, op.span, message);
        }
        let mut rest = inputs.into_iter();
        for (index, part) in op.operands.iter().enumerate() {
            op.operand_types[index] = Some(rest.by_ref().take(part.len()).collect());
        }
        match crate::declaration::segments(op.declaration.results, results.len(), None) {
            Some(ranges) => {
                for (index, range) in ranges.into_iter().enumerate() {
                    op.result_types[index] = Some(results[range].to_vec());
                }
                Ok(())
            }
            None => {
                let message = format!("`{}` does not have {} results", op.declaration.name, results.len());
                self.error(ParseCode::BadOp, op.span, message)
            }
        }
    }

    fn resolve_part(&mut self, op: &OpSyntax, index: usize) -> ParseResult<Vec<ValueId>> {
        let (part, operands) = (&op.declaration.operands[index], &op.operands[index]);
        let types = match (&op.operand_types[index], part.constraint.only) {
            (Some(types), _) => types.iter().cloned().map(Some).collect::<Vec<_>>(),
            (None, Some(only)) => vec![Some(only()); operands.len()],
            (None, None) => vec![None; operands.len()],
        };
        if types.len() != operands.len() {
            let message =
                format!("operand `{}` has {} values and {} types", part.name, operands.len(), types.len());
            return self.error(ParseCode::BadOp, op.span, message);
        }
        operands.iter().zip(types).map(|(operand, ty)| self.resolve_operand(operand, ty.as_ref())).collect()
    }

    fn result_types(&mut self, op: &OpSyntax, operands: &[ValueId]) -> ParseResult<Vec<Type>> {
        let declaration = op.declaration;
        let written = declaration.results.iter().zip(&op.result_types);
        let known: Vec<Option<Vec<Type>>> = written
            .map(|(part, types)| types.clone().or_else(|| part.constraint.only.map(|only| vec![only()])))
            .collect();
        if known.iter().all(Option::is_some) {
            return Ok(known.into_iter().flatten().flatten().collect());
        }
        let types: Vec<Type> = operands.iter().map(|&value| self.module.value_type(value).clone()).collect();
        let inferred = declaration.infer.and_then(|infer| infer(&types, &op.attributes));
        if let Some(types) = inferred {
            return Ok(types);
        }
        match types.first() {
            Some(first) if declaration.has_trait(Trait::SameType) => Ok(vec![first.clone(); known.len()]),
            _ => {
                let message =
                    format!("the result types of `{}` do not follow from its operands", declaration.name);
                self.error(ParseCode::BadOp, op.span, message)
            }
        }
    }

    /// The integer attribute of a literal, which keeps its base.
    ///
    /// # Errors
    /// The literal does not fit 64 bits.
    pub fn integer_attribute(&mut self, literal: super::IntegerLiteral) -> ParseResult<Attribute> {
        if literal.beyond || i64::try_from(literal.value).is_err() {
            let message = format!("{literal} does not fit 64 bits");
            return self.error(ParseCode::BadNumber, self.span(), message);
        }
        Ok(Attribute::new(AttributeKind::Integer(crate::ir::IntegerValue::new(
            literal.value,
            Type::integer(64),
            literal.hexadecimal,
        ))))
    }
}

/// Sets `name` to the array of `dictionaries` unless all are empty.
fn set_dictionaries(op: &mut OpSyntax, name: &'static str, dictionaries: Vec<Attribute>) {
    let empty = |attribute: &Attribute| attribute.as_dictionary().is_none_or(<[_]>::is_empty);
    if !dictionaries.iter().all(empty) {
        op.set_attribute(name, Attribute::array(dictionaries));
    }
}
