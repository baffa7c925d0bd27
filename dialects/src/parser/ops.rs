//! Ops: results, generic form, dispatch to pretty forms, recovery.

use std::sync::Arc;

use super::locations::split_origin;
use super::{ParseResult, Parser};
use crate::codes::ParseCode;
use crate::declaration::Trait;
use crate::diagnostics::Diagnostic;
use crate::ir::{InsertionPoint, Name, OpKind, OpState, RegionId, Trivia, Type};
use crate::lexer::TokenKind;
use crate::limits::MAX_RESULT_GROUP;
use crate::source::Span;

/// `%name` or `%name#index`, not yet looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnresolvedOperand {
    /// Name without `%`.
    pub name: Box<str>,
    /// Number after `#`, else 0.
    pub index: u32,
    /// Place.
    pub span: Span,
}

/// `%name` or `%name:count` before `=`.
struct ResultName {
    name: Box<str>,
    count: usize,
    span: Span,
}

impl Parser<'_> {
    /// `%name` or `%name#index`
    ///
    /// # Errors
    /// No value is next.
    pub fn parse_operand(&mut self) -> ParseResult<UnresolvedOperand> {
        let span = self.span();
        let token = self.expect(TokenKind::Percent, "a value such as `%x`")?;
        let name = Box::from(&self.token_text(token)[1..]);
        let next = self.peek();
        let mut index = 0;
        if next.kind == TokenKind::Hash && next.start == token.end {
            let text = &self.token_text(next)[1..];
            let Ok(number) = text.parse() else {
                return self.unexpected("a result number such as `#1`");
            };
            self.advance();
            index = number;
        }
        Ok(UnresolvedOperand { name, index, span: self.span_since(span) })
    }

    /// Parses one op into the current block. On error goes on to where the next op seems to start.
    pub(super) fn parse_op_or_recover(&mut self) {
        let start = self.position;
        let leading = self.take_leading();
        let scopes = (self.scopes.len(), self.blocks.len(), self.current_block);
        let (depth, region_depth) = (self.depth, self.region_depth);
        let names = match self.parse_result_names() {
            Ok(names) => names,
            Err(_) => return self.recover(start),
        };
        if self.parse_op_after_names(&names, leading).is_err() {
            self.scopes.truncate(scopes.0);
            self.blocks.truncate(scopes.1);
            self.current_block = scopes.2;
            (self.depth, self.region_depth) = (depth, region_depth);
            for name in &names {
                self.poison(&name.name);
            }
            self.recover(start);
        }
    }

    /// Skips to the next line that starts an op or ends the block, at the brace depth of token `start`.
    fn recover(&mut self, start: usize) {
        if self.brace_depths.is_empty() {
            self.brace_depths = brace_depths(&self.tokens);
        }
        self.split = None;
        let depth_at = |position: usize| self.brace_depths.get(position).copied().unwrap_or(0);
        let depth = depth_at(start);
        let mut position = self.position.max(start + 1);
        loop {
            let token = self.token_at(position);
            let here = depth_at(position);
            let closes = token.kind == TokenKind::RightBrace && here < depth;
            if token.kind == TokenKind::End || here < depth || closes {
                break;
            }
            let previous = self.token_at(position - 1);
            let between = self.text.get(previous.end as usize..token.start as usize).unwrap_or("");
            let starts = match token.kind {
                TokenKind::Percent | TokenKind::String | TokenKind::UnterminatedString | TokenKind::Caret => {
                    true
                }
                TokenKind::Hash | TokenKind::Bang => self.token_at(position + 1).kind == TokenKind::Equal,
                TokenKind::Word => self.token_text(token).contains('.'),
                _ => false,
            };
            if starts && here == depth && between.contains('\n') {
                break;
            }
            position += 1;
        }
        self.last_end = self.token_at(position - 1).end;
        self.position = position;
        while self.comments.get(self.next_comment).is_some_and(|comment| (comment.before as usize) < position)
        {
            self.next_comment += 1;
        }
    }

    fn parse_result_names(&mut self) -> ParseResult<Vec<ResultName>> {
        let mut names = Vec::new();
        if !self.at(TokenKind::Percent) {
            return Ok(names);
        }
        loop {
            let span = self.span();
            let token = self.expect(TokenKind::Percent, "a result name such as `%x`")?;
            let name = Box::from(&self.token_text(token)[1..]);
            let mut count = 1;
            if self.eat(TokenKind::Colon) {
                let at = self.span();
                count = self.parse_integer::<u64>("a number of results")?;
                if count == 0 || count > MAX_RESULT_GROUP {
                    let message = format!("a group has 1 to {MAX_RESULT_GROUP} results");
                    return self.error(ParseCode::TooLarge, at, message);
                }
            }
            names.push(ResultName { name, count: count as usize, span });
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::Equal, "`=`")?;
        Ok(names)
    }

    fn parse_op_after_names(
        &mut self,
        names: &[ResultName],
        leading: Vec<crate::ir::TriviaLine>,
    ) -> ParseResult<()> {
        let start = self.span();
        let span_start = names.first().map_or(start, |name| name.span);
        self.pending_trailing = None;
        let mut state = match self.peek().kind {
            TokenKind::String => self.parse_generic_op()?,
            TokenKind::Word => self.parse_pretty_op()?,
            _ => return self.unexpected("an op"),
        };
        state.span = self.op_span(span_start, start);
        if self.at_word("loc") {
            let location = self.parse_location()?;
            (state.location, state.origin) = split_origin(location);
        }
        self.check_result_names(names, &state, start)?;
        for name in names {
            let kept = !name.name.bytes().all(|byte| byte.is_ascii_digit());
            state.result_names.push(kept.then(|| Arc::from(&*name.name)));
            state.result_names.extend(std::iter::repeat_n(None, name.count - 1));
        }
        let op = self.module.create_op(state);
        if let Some(block) = self.current_block {
            self.module.insert(InsertionPoint::BlockEnd(block), op);
        }
        let mut trivia = Trivia { leading, trailing: self.pending_trailing.take() };
        self.take_trailing(&mut trivia);
        self.module.set_trivia(op, trivia);
        self.define_results(names, op)
    }

    fn define_results(&mut self, names: &[ResultName], op: crate::ir::OpId) -> ParseResult<()> {
        let mut first = 0;
        for name in names {
            let values = self.module.results(op).get(first..first + name.count).unwrap_or(&[]).to_vec();
            self.define_values(&name.name, &values, name.span)?;
            first += name.count;
        }
        Ok(())
    }

    /// The op's first line: messages point there, not at its regions.
    fn op_span(&self, from: Span, start: Span) -> Span {
        let text = self.text.get(from.start as usize..self.last_end as usize).unwrap_or("");
        let line = text.find('\n').map_or(self.last_end, |at| from.start + at as u32);
        let code = self.text.get(from.start as usize..line as usize).unwrap_or("");
        let code = code.find("//").map_or(code, |at| &code[..at]).trim_end_matches([' ', '{', '\r']);
        Span::new(self.file, from.start, (from.start + code.len() as u32).max(start.end))
    }

    fn check_result_names(&mut self, names: &[ResultName], state: &OpState, start: Span) -> ParseResult<()> {
        let named: usize = names.iter().map(|name| name.count).sum();
        let found = state.result_types.len();
        if names.is_empty() || named == found {
            return Ok(());
        }
        let op = state.kind.name();
        let span = names.first().map_or(start, |name| name.span);
        self.error(ParseCode::ResultCount, span, format!("{named} results are named, `{op}` has {found}"))
    }

    fn parse_pretty_op(&mut self) -> ParseResult<OpState> {
        let (span, word) = (self.span(), self.peek_text());
        let full = if word == "module" { "builtin.module" } else { word };
        if let Some(declaration) = self.registry.op(full) {
            if declaration.format.is_empty() {
                let message = format!("`{full}` has no pretty form; write `\"{full}\"(...)`");
                return self.error(ParseCode::Unexpected, span, message);
            }
            self.advance();
            return self.parse_declared(declaration, span);
        }
        let mut error = self.explain_exponent(self.unknown_op(word, span));
        if self.allow_unregistered {
            error = error.note(format!("an undeclared op is written in generic form, `\"{word}\"(...)`"));
        }
        self.report(error)
    }

    fn unknown_op(&self, name: &str, span: Span) -> Diagnostic {
        let error = Diagnostic::error(ParseCode::UnknownOp, span, format!("unknown op `{name}`"));
        if let Some(near) = crate::spelling::nearest(name, self.registry.op_names()) {
            return error.fix(span, near, format!("did you mean `{near}`?"));
        }
        match name.split_once('.').map(|(dialect, _)| dialect) {
            Some(dialect) if self.registry.dialect(dialect).is_none() => {
                error.note(format!("there is no dialect `{dialect}`"))
            }
            _ => error,
        }
    }

    /// `"name"(%a)[^bb1] <{...}> ({...}) {...} : (T) -> T`
    fn parse_generic_op(&mut self) -> ParseResult<OpState> {
        let span = self.span();
        let name = self.parse_string("an op name")?;
        let kind = match self.registry.op(&name) {
            Some(declaration) => OpKind::Declared(declaration),
            None if self.allow_unregistered => OpKind::Undeclared(Name::intern(&name)),
            None => {
                let error = self.unknown_op(&name, span);
                self.diagnostics.push(error.note("`--allow-unregistered-dialect` keeps undeclared ops"));
                OpKind::Undeclared(Name::intern(&name))
            }
        };
        let mut state = OpState::new(kind);
        let operands = self.parse_list(TokenKind::LeftParen, TokenKind::RightParen, Self::parse_operand)?;
        if self.at(TokenKind::LeftSquare) {
            state.successors =
                self.parse_list(TokenKind::LeftSquare, TokenKind::RightSquare, Self::parse_successor)?;
        }
        if self.at(TokenKind::Less) && self.peek_second().kind == TokenKind::LeftBrace {
            self.advance();
            state.attributes = self.parse_attribute_dictionary()?;
            self.expect(TokenKind::Greater, "`>`")?;
        }
        if self.at(TokenKind::LeftParen) {
            state.regions = self.parse_generic_regions(kind)?;
        }
        if self.at(TokenKind::LeftBrace) {
            let at = self.span();
            let more = self.parse_attribute_dictionary()?;
            for (name, value) in more {
                if state.attributes.iter().any(|(known, _)| *known == name) {
                    let message = format!("attribute `{name}` is given twice");
                    return self.error(ParseCode::DuplicateAttribute, at, message);
                }
                state.attributes.push((name, value));
            }
        }
        self.expect(TokenKind::Colon, "`:` and the type of the op")?;
        let at = self.span();
        let ty = self.parse_function_type()?;
        let Some(function) = ty.as_function() else { return self.unexpected("a function type") };
        if function.inputs.len() != operands.len() {
            let message = format!("{} operands and {} operand types", operands.len(), function.inputs.len());
            return self.error(ParseCode::BadOp, at, message);
        }
        state.operands = self.resolve_all(&operands, &function.inputs)?;
        state.result_types.clone_from(&function.results);
        Ok(state)
    }

    fn resolve_all(
        &mut self,
        operands: &[UnresolvedOperand],
        types: &[Type],
    ) -> ParseResult<Vec<crate::ir::ValueId>> {
        operands.iter().zip(types).map(|(operand, ty)| self.resolve_operand(operand, Some(ty))).collect()
    }

    fn parse_generic_regions(&mut self, kind: OpKind) -> ParseResult<Vec<RegionId>> {
        let isolated = kind.declaration().is_some_and(|op| op.has_trait(Trait::IsolatedFromAbove));
        self.parse_list(TokenKind::LeftParen, TokenKind::RightParen, |parser| {
            parser.parse_region(Vec::new(), isolated)
        })
    }
}

/// For each token the number of open braces before it.
fn brace_depths(tokens: &[crate::lexer::Token]) -> Vec<u32> {
    let mut depth = 0u32;
    let step = |token: &crate::lexer::Token| {
        match token.kind {
            TokenKind::RightBrace => depth = depth.saturating_sub(1),
            TokenKind::LeftBrace => {
                depth += 1;
                return depth - 1;
            }
            _ => {}
        }
        depth
    };
    tokens.iter().map(step).collect()
}
