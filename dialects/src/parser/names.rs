//! Names of values, blocks and aliases while parsing.

use ipu_device::hash::{HashMap, HashSet};

use super::{ParseResult, Parser, Reported};
use crate::codes::ParseCode;
use crate::diagnostics::Diagnostic;
use crate::ir::{Alias, AliasValue, BlockId, Trivia, TriviaLine, Type, ValueId, ValueSource};
use crate::lexer::{Lexer, Token, TokenKind};
use crate::name_table::{NameKey, ScopeTable};
use crate::source::Span;

/// A name in the text, without the `%` before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenName {
    start: u32,
    end: u32,
}

/// `%name` or `%name#index`, not yet looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnresolvedOperand {
    /// The name.
    pub name: WrittenName,
    /// Number after `#`, else 0.
    pub index: u32,
    /// Place.
    pub span: Span,
}

/// The names of one region, or of one isolated op.
#[derive(Debug, Default)]
pub(super) struct Scope<'s> {
    isolated: bool,
    values: ScopeTable,
    /// Names whose definition failed and was reported.
    poisoned: HashSet<&'s str>,
    /// Values used and not yet defined; only in isolated scopes.
    forward: HashMap<(&'s str, u32), (ValueId, Span)>,
}

#[derive(Debug, Clone, Copy)]
enum Found {
    Value(ValueId),
    /// Its definition failed and was reported.
    Poisoned,
}

impl Scope<'_> {
    pub(super) fn isolated() -> Self {
        Self { isolated: true, ..Self::default() }
    }
}

/// Where the text defines each value.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    /// By value: the first byte of its name; `u32::MAX` if the text does not name it.
    starts: Vec<u32>,
    /// Number of values of a name that has several, by the first.
    groups: HashMap<ValueId, u32>,
}

impl Definitions {
    fn set(&mut self, value: ValueId, start: u32) {
        if self.starts.len() <= value.index() {
            self.starts.resize(value.index() + 1, u32::MAX);
        }
        self.starts[value.index()] = start;
    }

    /// The text from the name of `value` on.
    fn text_from<'s>(&self, text: &'s str, value: ValueId) -> &'s str {
        let start = self.starts.get(value.index()).copied().unwrap_or(u32::MAX);
        text.get(start as usize..).unwrap_or("")
    }

    fn name<'s>(&self, text: &'s str, value: ValueId) -> &'s str {
        let rest = self.text_from(text, value);
        let end = rest.bytes().position(|byte| !is_name_byte(byte)).unwrap_or(rest.len());
        rest.get(..end).unwrap_or("")
    }

    fn is_named(&self, text: &str, value: ValueId, name: &str) -> bool {
        let rest = self.text_from(text, value).as_bytes();
        rest.starts_with(name.as_bytes()) && !rest.get(name.len()).copied().is_some_and(is_name_byte)
    }

    fn group(&self, first: ValueId) -> u32 {
        self.groups.get(&first).copied().unwrap_or(1)
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.' | b'-')
}

#[derive(Debug)]
pub(super) struct BlockEntry {
    pub(super) block: BlockId,
    pub(super) defined: bool,
    pub(super) span: Span,
}

/// An alias: where its definition stands, and its value once read.
#[derive(Debug)]
pub(super) struct AliasEntry {
    /// First byte of the name.
    start: u32,
    state: AliasState,
}

#[derive(Debug, Clone)]
enum AliasState {
    Unread,
    Reading,
    Read(AliasValue),
    Failed,
}

impl<'s> Parser<'s> {
    // Values.

    /// The text of a name.
    #[must_use]
    pub fn name_text(&self, name: WrittenName) -> &'s str {
        self.text.get(name.start as usize..name.end as usize).unwrap_or("")
    }

    /// The name that the module keeps: numbers are given anew when it is printed.
    pub(super) fn kept_name(&self, name: WrittenName) -> Option<&'s str> {
        Some(self.name_text(name)).filter(|text| !text.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// `%name`: takes it.
    pub(super) fn parse_value_name(&mut self, what: &str) -> ParseResult<WrittenName> {
        let token = self.expect(TokenKind::Percent, what)?;
        Ok(WrittenName { start: token.start + 1, end: token.end })
    }

    /// `%name` or `%name#index`
    ///
    /// # Errors
    /// No value is next.
    pub fn parse_operand(&mut self) -> ParseResult<UnresolvedOperand> {
        let span = self.span();
        let name = self.parse_value_name("a value such as `%x`")?;
        let next = self.peek();
        let mut index = 0;
        if next.kind == TokenKind::Hash && next.start == name.end {
            let text = &self.token_text(next)[1..];
            let Ok(number) = text.parse() else {
                return self.unexpected("a result number such as `#1`");
            };
            self.advance();
            index = number;
        }
        Ok(UnresolvedOperand { name, index, span: self.span_since(span) })
    }

    pub(super) fn push_scope(&mut self, isolated: bool) {
        self.scopes.push(Scope { isolated, ..Scope::default() });
    }

    /// Leaves a scope; what is still undefined in an isolated one is an error.
    pub(super) fn pop_scope(&mut self) {
        let Some(scope) = self.scopes.pop() else { return };
        let mut missing: Vec<(&str, u32, Span)> =
            scope.forward.iter().map(|(&(name, index), &(_, span))| (name, index, span)).collect();
        missing.retain(|(name, ..)| !scope.poisoned.contains(name));
        missing.sort_by_key(|&(_, _, span)| span.start);
        for (name, index, span) in missing {
            let text = if index == 0 { format!("%{name}") } else { format!("%{name}#{index}") };
            let mut error =
                Diagnostic::error(ParseCode::UndefinedValue, span, format!("value `{text}` is not defined"));
            if let Some(near) = self.diagnostics.nearest(name, self.names_of(&scope)) {
                error = error.fix(span, format!("%{near}"), format!("did you mean `%{near}`?"));
            }
            self.diagnostics.push(error);
        }
    }

    fn names_of(&self, scope: &Scope<'s>) -> impl Iterator<Item = &'s str> {
        // Of more than are compared no name is said, so the first found will do.
        let values = || scope.values.values(crate::spelling::MOST_KNOWN + 1);
        // Not looked up before somebody asks.
        std::iter::once_with(values).flatten().map(|value| self.definitions.name(self.text, value))
    }

    fn isolated_scope(&mut self) -> Option<&mut Scope<'s>> {
        self.scopes.iter_mut().rev().find(|scope| scope.isolated)
    }

    /// Visible scopes, innermost first.
    fn visible(&self) -> impl Iterator<Item = &Scope<'s>> {
        let isolated = self.scopes.iter().rposition(|scope| scope.isolated).unwrap_or(0);
        self.scopes.get(isolated..).unwrap_or(&[]).iter().rev()
    }

    fn find_value(&self, name: &str, key: NameKey) -> Option<Found> {
        self.visible().find_map(|scope| self.find_in(scope, name, key))
    }

    fn find_in(&self, scope: &Scope<'s>, name: &str, key: NameKey) -> Option<Found> {
        let found = scope.values.find(key, |value| self.definitions.is_named(self.text, value, name));
        match found {
            Some(value) => Some(Found::Value(value)),
            None => scope.poisoned.contains(name).then_some(Found::Poisoned),
        }
    }

    fn definition_span(&self, value: ValueId) -> Span {
        let name = self.definitions.name(self.text, value);
        let start = self.definitions.starts.get(value.index()).copied().unwrap_or(1);
        Span::new(self.file, start.saturating_sub(1), start.saturating_add(name.len() as u32))
    }

    /// Gives `name` to the `count` values from `first` on.
    pub(super) fn define_values(
        &mut self,
        name: WrittenName,
        first: ValueId,
        count: usize,
        span: Span,
    ) -> ParseResult<()> {
        let text = self.name_text(name);
        let key = NameKey::of(text);
        let outer = self.visible().skip(1).find_map(|scope| self.find_in(scope, text, key));
        if let Some(found) = outer.or_else(|| self.add_name(text, key, first)) {
            let error =
                Diagnostic::error(ParseCode::Redefinition, span, format!("value `%{text}` is defined twice"));
            let error = match found {
                Found::Value(value) => error.label(self.definition_span(value), "the first definition"),
                Found::Poisoned => error,
            };
            return self.report(error);
        }
        self.definitions.set(first, name.start);
        if count > 1 {
            self.definitions.groups.insert(first, count as u32);
        }
        self.resolve_forward(text, first, count, span)
    }

    /// Adds `value` to the innermost scope as `name`, unless that is taken: by what is returned.
    fn add_name(&mut self, name: &str, key: NameKey, value: ValueId) -> Option<Found> {
        let Self { scopes, definitions, text, .. } = self;
        let scope = scopes.last_mut()?;
        if scope.poisoned.contains(name) {
            return Some(Found::Poisoned);
        }
        let known = scope.values.add(key, value, |known| definitions.is_named(text, known, name));
        known.map(Found::Value)
    }

    fn resolve_forward(
        &mut self,
        name: &'s str,
        first: ValueId,
        count: usize,
        span: Span,
    ) -> ParseResult<()> {
        let pending = match self.isolated_scope() {
            Some(scope) if !scope.forward.is_empty() => &mut scope.forward,
            _ => return Ok(()),
        };
        let mut found = Vec::new();
        for index in 0..count {
            if let Some((forward, used)) = pending.remove(&(name, index as u32)) {
                found.push((forward, used, ValueId::new(first.index() + index)));
            }
        }
        for (forward, used, value) in found {
            let (wanted, actual) =
                (self.module.value_type(forward).clone(), self.module.value_type(value).clone());
            if wanted != actual {
                let message = format!("`%{name}` is used as `{wanted}`, but it is `{actual}`");
                let error = Diagnostic::error(ParseCode::TypeMismatch, used, message);
                return self.report(error.label(span, "defined here"));
            }
            self.module.replace_all_uses(forward, value);
        }
        Ok(())
    }

    /// Marks `name` as one whose definition failed.
    pub(super) fn poison(&mut self, name: WrittenName) {
        let text = self.name_text(name);
        let known = self.scopes.last().and_then(|scope| self.find_in(scope, text, NameKey::of(text)));
        if let (None, Some(scope)) = (known, self.scopes.last_mut()) {
            scope.poisoned.insert(text);
        }
    }

    /// The value of an operand, which must have type `ty` if that is given.
    ///
    /// # Errors
    /// The value has another type, or is not defined above and `ty` is not given.
    pub fn resolve_operand(
        &mut self,
        operand: &UnresolvedOperand,
        ty: Option<&Type>,
    ) -> ParseResult<ValueId> {
        let &UnresolvedOperand { name, index, span } = operand;
        let name = self.name_text(name);
        match self.find_value(name, NameKey::of(name)) {
            Some(Found::Poisoned) => Err(Reported),
            Some(Found::Value(first)) => {
                let count = self.definitions.group(first);
                if index >= count {
                    let message = format!("`%{name}` has {count} values, there is no `#{index}`");
                    let error = Diagnostic::error(ParseCode::UndefinedValue, span, message);
                    return self.report(error.label(self.definition_span(first), "defined here"));
                }
                let value = ValueId::new(first.index() + index as usize);
                let actual = self.module.value_type(value);
                match ty {
                    Some(ty) if ty != actual => {
                        let message = format!("`%{name}` is used as `{ty}`, but it is `{actual}`");
                        let error = Diagnostic::error(ParseCode::TypeMismatch, span, message);
                        self.report(error.label(self.definition_span(first), "defined here"))
                    }
                    _ => Ok(value),
                }
            }
            None => self.forward_value(name, index, span, ty),
        }
    }

    fn forward_value(
        &mut self,
        name: &'s str,
        index: u32,
        span: Span,
        ty: Option<&Type>,
    ) -> ParseResult<ValueId> {
        let Some(ty) = ty else {
            let message = format!("value `%{name}` is not defined");
            let mut error = Diagnostic::error(ParseCode::UndefinedValue, span, message);
            let names = self.visible().flat_map(|scope| self.names_of(scope));
            if let Some(near) = self.diagnostics.nearest(name, names) {
                error = error.fix(span, format!("%{near}"), format!("did you mean `%{near}`?"));
            }
            return self.report(error);
        };
        let key = (name, index);
        let known = self.isolated_scope().and_then(|scope| scope.forward.get(&key)).map(|&(value, _)| value);
        if let Some(value) = known {
            let actual = self.module.value_type(value);
            if actual != ty {
                let message = format!("`%{name}` is used as `{ty}` here and as `{actual}` above");
                return self.error(ParseCode::TypeMismatch, span, message);
            }
            return Ok(value);
        }
        let value = self.module.create_value(ty.clone(), ValueSource::Forward, Some(name));
        if let Some(scope) = self.isolated_scope() {
            scope.forward.insert(key, (value, span));
        }
        Ok(value)
    }

    // Blocks.

    /// The block `name` (without `^`) of the current region, which may be defined later.
    pub(super) fn block_named(&mut self, name: &'s str, span: Span) -> BlockId {
        let known = self.blocks.last().and_then(|blocks| blocks.get(name)).map(|entry| entry.block);
        known.unwrap_or_else(|| {
            let block = self.module.create_block();
            if let Some(blocks) = self.blocks.last_mut() {
                blocks.insert(name, BlockEntry { block, defined: false, span });
            }
            block
        })
    }

    /// `^name`: a successor.
    ///
    /// # Errors
    /// No block name is next.
    pub fn parse_successor(&mut self) -> ParseResult<BlockId> {
        let span = self.span();
        let token = self.expect(TokenKind::Caret, "a block such as `^bb1`")?;
        let name = &self.token_text(token)[1..];
        Ok(self.block_named(name, span))
    }

    // Aliases.

    /// Finds all alias definitions from byte `from` on, so that an alias may be used above its definition: `#name =` or `!name =`, not
    /// in a string or comment. Tokens and comments end with their line, so the line before such a place tells.
    pub(super) fn find_aliases(&mut self, from: usize) {
        let bytes = self.text.as_bytes();
        let mut lexer = Lexer::new(self.text);
        lexer.seek(from as u32);
        let (mut token, mut checked) = (None::<Token>, from);
        for start in memchr::memchr2_iter(b'#', b'!', bytes.get(from..).unwrap_or(&[])).map(|at| from + at) {
            let rest = &self.text[start + 1..];
            let length = rest.bytes().position(|byte| !is_name_byte(byte)).unwrap_or(rest.len());
            let name = &self.text[start..start + 1 + length];
            let defines = rest[length..].trim_start().starts_with('=');
            if length == 0 || !defines || name.contains('.') {
                continue;
            }
            if let Some(at) = memchr::memrchr(b'\n', &bytes[checked..start]) {
                lexer.seek((checked + at + 1) as u32);
                token = None;
            }
            checked = start;
            // The tokens of a line are read once, however many such places it has.
            while token.is_none_or(|token| (token.start as usize) < start) {
                token = Some(lexer.next_token());
            }
            if token.is_some_and(|token| token.start as usize == start) {
                let entry = AliasEntry { start: start as u32, state: AliasState::Unread };
                self.aliases.entry(name).or_insert(entry);
            }
        }
    }

    /// The value of alias `name` (with its `#` or `!`).
    pub(super) fn resolve_alias(&mut self, name: &'s str, span: Span) -> ParseResult<AliasValue> {
        let Some(entry) = self.aliases.get_mut(name) else {
            let near = self.diagnostics.nearest(name, self.aliases.keys().copied());
            let message = format!("alias `{name}` is not defined");
            let mut error = Diagnostic::error(ParseCode::UnknownAlias, span, message);
            if let Some(near) = near {
                error = error.fix(span, near, format!("did you mean `{near}`?"));
            }
            return self.report(error);
        };
        match std::mem::replace(&mut entry.state, AliasState::Reading) {
            AliasState::Unread => {}
            AliasState::Reading => {
                return self.error(ParseCode::BadAlias, span, format!("alias `{name}` is defined by itself"));
            }
            state => {
                entry.state = state.clone();
                return if let AliasState::Read(value) = state { Ok(value) } else { Err(Reported) };
            }
        }
        let start = entry.start;
        let saved = self.place();
        let keeps_comments = std::mem::replace(&mut self.cursor.keeps_comments, false);
        self.seek(start);
        let result = self.parse_alias_value(name);
        self.cursor.keeps_comments = keeps_comments;
        self.go_to(saved);
        self.set_alias(name, &result);
        result
    }

    /// `#name = attribute` or `!name = type`: the value.
    fn parse_alias_value(&mut self, name: &str) -> ParseResult<AliasValue> {
        self.advance();
        self.expect(TokenKind::Equal, "`=`")?;
        // Not shared with equal texts: two aliases of one value stay two.
        if name.starts_with('#') {
            self.nested(Self::parse_attribute_inner).map(AliasValue::Attribute)
        } else {
            self.nested(Self::parse_type_inner).map(AliasValue::Type)
        }
    }

    fn set_alias(&mut self, name: &str, value: &ParseResult<AliasValue>) {
        if let Some(entry) = self.aliases.get_mut(name) {
            entry.state = match value {
                Ok(value) => AliasState::Read(value.clone()),
                Err(Reported) => AliasState::Failed,
            };
        }
    }

    /// The definition of an alias at top level.
    pub(super) fn parse_alias_definition(&mut self, leading: Trivia) -> ParseResult<()> {
        let (span, name) = (self.span(), self.peek_text());
        let state = match self.aliases.get_mut(name) {
            Some(entry) if entry.start == span.start => {
                std::mem::replace(&mut entry.state, AliasState::Reading)
            }
            _ => {
                return self.error(ParseCode::BadAlias, span, format!("alias `{name}` is defined twice"));
            }
        };
        let value = match state {
            AliasState::Failed | AliasState::Reading => Err(Reported),
            // Read above, for a use; here again, for what follows it.
            AliasState::Read(value) => self.parse_alias_value(name).map(|_| value),
            AliasState::Unread => self.parse_alias_value(name),
        };
        self.set_alias(name, &value);
        let value = value?;
        let mut trivia = leading;
        self.take_trailing(&mut trivia);
        // The printer makes the table of locations anew; comments at it go on to what follows.
        if let AliasValue::Attribute(attribute) = &value
            && matches!(attribute.kind(), crate::ir::AttributeKind::Location(_))
        {
            self.carried_comments = trivia.leading;
            self.carried_comments.extend(trivia.trailing.map(TriviaLine::Comment));
            return Ok(());
        }
        self.module.aliases.push(Alias { name: name[1..].into(), value, trivia });
        Ok(())
    }
}
