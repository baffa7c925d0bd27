//! Ops: results, generic form, dispatch to pretty forms, recovery.

use smallvec::SmallVec;

use super::cursor::Place;
use super::locations::split_origin;
use super::names::{UnresolvedOperand, WrittenName};
use super::shared::{Tail, TailHash};
use super::{ParseResult, Parser};
use crate::codes::ParseCode;
use crate::declaration::Trait;
use crate::diagnostics::Diagnostic;
use crate::ir::{InsertionPoint, Name, OpKind, OpState, RegionId, Trivia, Type};
use crate::lexer::{Lexer, TokenKind};
use crate::limits::MAX_RESULT_GROUP;
use crate::source::Span;

/// Bytes of the longest end of a line that is remembered.
const MOST_SHARED: usize = 256;

/// `%name` or `%name:count` before `=`.
struct ResultName {
    name: WrittenName,
    count: usize,
    span: Span,
}

/// The result names of an op.
type ResultNames = SmallVec<[ResultName; 2]>;

impl<'s> Parser<'s> {
    /// Parses one op into the current block. On error goes on to where the next op seems to start.
    pub(super) fn parse_op_or_recover(&mut self) {
        let start = self.place();
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
                self.poison(name.name);
            }
            self.recover(start);
        }
    }

    /// Skips from where an error was found to the next line that starts an op or ends the block, at the brace depth of `start`, where
    /// the failed op starts.
    fn recover(&mut self, start: Place) {
        let failed = self.peek().start;
        self.go_to(start);
        let mut depth = 0usize;
        while !self.at(TokenKind::End) {
            let token = self.peek();
            let passed = token.start >= failed && token.start > start.offset();
            if passed && depth == 0 && self.starts_op() {
                break;
            }
            match token.kind {
                TokenKind::LeftBrace => depth += 1,
                TokenKind::RightBrace if depth == 0 => break,
                TokenKind::RightBrace => depth -= 1,
                _ => {}
            }
            self.advance();
        }
        self.drop_comments();
    }

    /// Whether the next token stands first on its line and may start an op.
    fn starts_op(&self) -> bool {
        let token = self.peek();
        let between = self.text.get(self.last_end() as usize..token.start as usize).unwrap_or("");
        let starts = match token.kind {
            TokenKind::Percent | TokenKind::String | TokenKind::UnterminatedString | TokenKind::Caret => true,
            TokenKind::Hash | TokenKind::Bang => self.peek_second().kind == TokenKind::Equal,
            TokenKind::Word => self.token_text(token).contains('.'),
            _ => false,
        };
        starts && between.contains('\n')
    }

    /// Whether an operand is next, and not the names of the op in the next line: `%a =`, `%a, %b:2 =`.
    pub(super) fn at_operand(&self) -> bool {
        if !self.at(TokenKind::Percent) {
            return false;
        }
        let between = self.text.get(self.last_end() as usize..self.peek().start as usize).unwrap_or("");
        if !between.contains('\n') {
            return true;
        }
        let mut lexer = Lexer::new(self.text);
        lexer.seek(self.peek().end);
        loop {
            match lexer.next_token().kind {
                TokenKind::Equal => return false,
                TokenKind::Percent | TokenKind::Comma | TokenKind::Colon | TokenKind::Decimal => {}
                _ => return true,
            }
        }
    }

    fn parse_result_names(&mut self) -> ParseResult<ResultNames> {
        let mut names = ResultNames::new();
        if !self.at(TokenKind::Percent) {
            return Ok(names);
        }
        loop {
            let span = self.span();
            let name = self.parse_value_name("a result name such as `%x`")?;
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
        self.pending_trailing.clear();
        let mut state = match self.peek().kind {
            TokenKind::String => self.parse_generic_op()?,
            TokenKind::Word => self.parse_pretty_op()?,
            _ => return self.unexpected("an op"),
        };
        state.span = self.op_span(span_start, start);
        if let Some(location) = self.parse_optional_location()? {
            (state.location, state.origin) = split_origin(location);
        }
        self.check_result_names(names, &state, start)?;
        let op = self.module.create_op(state);
        if let Some(block) = self.current_block {
            self.module.insert(InsertionPoint::BlockEnd(block), op);
        }
        let mut trivia = Trivia { leading, trailing: None };
        for comment in std::mem::take(&mut self.pending_trailing) {
            trivia.add_trailing(comment);
        }
        self.take_trailing(&mut trivia);
        self.module.set_trivia(op, trivia);
        self.define_results(names, op)
    }

    fn define_results(&mut self, names: &[ResultName], op: crate::ir::OpId) -> ParseResult<()> {
        let mut first = 0;
        for name in names {
            let value = self.module.result(op, first);
            self.module.set_value_name(value, self.kept_name(name.name));
            self.define_values(name.name, value, name.count, name.span)?;
            first += name.count;
        }
        Ok(())
    }

    /// The op's first line: messages point there, not at its regions.
    fn op_span(&self, from: Span, start: Span) -> Span {
        let text = self.text_from(from.start);
        let Some(line) = memchr::memchr(b'\n', text.as_bytes()).map(|at| &text[..at]) else {
            return Span::new(self.file, from.start, self.last_end().max(start.end));
        };
        let comment = memchr::memchr_iter(b'/', line.as_bytes()).find(|&at| line[at..].starts_with("//"));
        let code = comment.map_or(line, |at| &line[..at]);
        let code = code.trim_end_matches([' ', '{', '\r']);
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
        if let Some(near) = self.diagnostics.nearest(name, self.registry.op_names()) {
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
        let kind = self.parse_generic_kind()?;
        let mut state = OpState::new(kind);
        let mut operands: SmallVec<[UnresolvedOperand; 4]> = SmallVec::new();
        self.parse_each(TokenKind::LeftParen, TokenKind::RightParen, |parser| {
            operands.push(parser.parse_operand()?);
            Ok(())
        })?;
        let (at, ty) = self.parse_tail(&mut state)?;
        let Some(function) = ty.as_function() else { return self.unexpected("a function type") };
        if function.inputs.len() != operands.len() {
            let message = format!("{} operands and {} operand types", operands.len(), function.inputs.len());
            return self.error(ParseCode::BadOp, at, message);
        }
        for (operand, ty) in operands.iter().zip(&function.inputs) {
            state.operands.push(self.resolve_operand(operand, Some(ty))?);
        }
        state.result_types.extend(function.results.iter().cloned());
        Ok(state)
    }

    /// `"name"`: the op it names.
    fn parse_generic_kind(&mut self) -> ParseResult<OpKind> {
        let (span, quoted) = (self.span(), self.peek_text());
        if let Some(known) = self.shared.op(quoted) {
            self.advance();
            return Ok(known);
        }
        let name = self.parse_string("an op name")?;
        let kind = match self.registry.op(&name) {
            Some(declaration) => OpKind::Declared(declaration),
            None => OpKind::Undeclared(Name::intern(&name)),
        };
        if matches!(kind, OpKind::Undeclared(_)) && !self.allow_unregistered {
            let error = self.unknown_op(&name, span);
            self.diagnostics.push(error.note("`--allow-unregistered-dialect` keeps undeclared ops"));
        } else {
            self.shared.set_op(quoted, kind);
        }
        Ok(kind)
    }

    /// What stands behind the operands of a generic op: all up to its type; and that, with its place. Mostly it goes to the end of the
    /// line, and a line that ended so was read before.
    fn parse_tail(&mut self, state: &mut OpState) -> ParseResult<(Span, Type)> {
        let start = self.peek().start;
        let line = self.rest_of_line();
        let line = line.map(|line| (line, TailHash::of(line)));
        if let Some((line, tail)) = line.and_then(|(line, hash)| Some((line, self.shared.tail(line, hash)?)))
        {
            let (at, end) = (start + tail.type_at, start + line.len() as u32);
            state.attributes = tail.attributes.clone();
            let ty = tail.ty.clone();
            self.seek(end);
            return Ok((Span::new(self.file, at, end), ty));
        }
        self.parse_successors_and_attributes(state)?;
        self.expect(TokenKind::Colon, "`:` and the type of the op")?;
        let at = self.span();
        let (ty, ends_line) = self.parse_op_type()?;
        let is_line = |line: &str| ends_line && start + line.len() as u32 == self.last_end();
        if let Some((line, hash)) = line.filter(|(line, _)| is_line(line))
            && state.regions.is_empty()
            && state.successors.is_empty()
        {
            let attributes = &state.attributes;
            let tail = || Tail { attributes: attributes.clone(), ty: ty.clone(), type_at: at.start - start };
            self.shared.add_tail(line, hash, tail);
        }
        Ok((at, ty))
    }

    /// `[^bb1] <{...}> ({...}) {...}`, all optional.
    fn parse_successors_and_attributes(&mut self, state: &mut OpState) -> ParseResult<()> {
        if self.at(TokenKind::LeftSquare) {
            let list =
                self.parse_list(TokenKind::LeftSquare, TokenKind::RightSquare, Self::parse_successor)?;
            state.successors = list.into();
        }
        if self.at(TokenKind::Less) && self.peek_second().kind == TokenKind::LeftBrace {
            self.advance();
            state.attributes = self.parse_attribute_list()?;
            self.expect(TokenKind::Greater, "`>`")?;
        }
        if self.at(TokenKind::LeftParen) {
            state.regions = self.parse_generic_regions(state.kind)?.into();
        }
        if self.at(TokenKind::LeftBrace) {
            let at = self.span();
            let more = self.parse_attribute_list()?;
            let twice = more.iter().find(|(name, _)| state.attributes.iter().any(|(known, _)| known == name));
            if let Some((name, _)) = twice {
                let message = format!("attribute `{name}` is given twice");
                return self.error(ParseCode::DuplicateAttribute, at, message);
            }
            if state.attributes.is_empty() {
                state.attributes = more;
            } else {
                state.attributes.extend(more.iter().cloned());
            }
        }
        Ok(())
    }

    /// The function type of a generic op, and whether it ends with its line, whatever follows. It mostly does, and is one that was
    /// read before.
    fn parse_op_type(&mut self) -> ParseResult<(Type, bool)> {
        let start = self.peek().start;
        let line = self.rest_of_line();
        if let Some((line, ty)) = line.and_then(|line| Some((line, self.shared.line_end(line)?))) {
            let ty = ty.clone();
            self.seek(start + line.len() as u32);
            return Ok((ty, true));
        }
        let ty = self.parse_function_type()?;
        // `!a.b` may go on in the next line.
        let ends = matches!(self.last_kind(), TokenKind::Greater | TokenKind::RightParen | TokenKind::Word);
        let line = line.filter(|line| ends && start + line.len() as u32 == self.last_end());
        if let Some(line) = line {
            self.shared.set_line_end(line, &ty);
        }
        Ok((ty, line.is_some()))
    }

    /// The text from the next token to the end of its line, unless that is far.
    fn rest_of_line(&self) -> Option<&'s str> {
        let rest = self.rest();
        let near = rest.as_bytes().get(..MOST_SHARED).unwrap_or(rest.as_bytes());
        let end = memchr::memchr(b'\n', near)?;
        rest.get(..end)
    }

    fn parse_generic_regions(&mut self, kind: OpKind) -> ParseResult<Vec<RegionId>> {
        let isolated = kind.declaration().is_some_and(|op| op.has_trait(Trait::IsolatedFromAbove));
        self.parse_list(TokenKind::LeftParen, TokenKind::RightParen, |parser| {
            if parser.at(TokenKind::LeftBrace) && parser.peek_second().kind == TokenKind::RightBrace {
                return Ok(parser.parse_no_blocks());
            }
            parser.parse_region(Vec::new(), isolated)
        })
    }
}
