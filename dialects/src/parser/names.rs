//! Names of values, blocks and aliases while parsing.

use indexmap::IndexMap;
use ipu_device::hash::HashMap;
use smallvec::SmallVec;

use super::{ParseResult, Parser, Reported, UnresolvedOperand};
use crate::codes::ParseCode;
use crate::diagnostics::Diagnostic;
use crate::ir::{Alias, AliasValue, BlockId, Trivia, Type, ValueId, ValueSource};
use crate::lexer::TokenKind;
use crate::source::Span;

/// The names of one region, or of one isolated op.
#[derive(Debug, Default)]
pub(super) struct Scope {
    isolated: bool,
    values: HashMap<Box<str>, ValueEntry>,
    /// Values used and not yet defined; only in isolated scopes.
    forward: IndexMap<(Box<str>, u32), (ValueId, Span)>,
}

#[derive(Debug)]
enum ValueEntry {
    Defined {
        values: SmallVec<[ValueId; 1]>,
        span: Span,
    },
    /// Its definition failed and was reported.
    Poisoned,
}

impl Scope {
    pub(super) fn isolated() -> Self {
        Self { isolated: true, ..Self::default() }
    }
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
    position: usize,
    state: AliasState,
}

#[derive(Debug, Clone)]
enum AliasState {
    Unread,
    Reading,
    Read { value: AliasValue, end: usize, last_end: u32 },
    Failed,
}

impl Parser<'_> {
    // Values.

    pub(super) fn push_scope(&mut self, isolated: bool) {
        self.scopes.push(Scope { isolated, ..Scope::default() });
    }

    /// Leaves a scope; what is still undefined in an isolated one is an error.
    pub(super) fn pop_scope(&mut self) {
        let Some(scope) = self.scopes.pop() else { return };
        for ((name, index), (_, span)) in &scope.forward {
            if matches!(scope.values.get(name), Some(ValueEntry::Poisoned)) {
                continue;
            }
            let text = if *index == 0 { format!("%{name}") } else { format!("%{name}#{index}") };
            let mut error =
                Diagnostic::error(ParseCode::UndefinedValue, *span, format!("value `{text}` is not defined"));
            if let Some(near) = crate::spelling::nearest(name, scope.values.keys().map(|name| &**name)) {
                error = error.fix(*span, format!("%{near}"), format!("did you mean `%{near}`?"));
            }
            self.diagnostics.push(error);
        }
    }

    fn isolated_scope(&mut self) -> Option<&mut Scope> {
        self.scopes.iter_mut().rev().find(|scope| scope.isolated)
    }

    /// Visible scopes, innermost first.
    fn visible(&self) -> impl Iterator<Item = &Scope> {
        let isolated = self.scopes.iter().rposition(|scope| scope.isolated).unwrap_or(0);
        self.scopes.get(isolated..).unwrap_or(&[]).iter().rev()
    }

    fn find_value(&self, name: &str) -> Option<&ValueEntry> {
        self.visible().find_map(|scope| scope.values.get(name))
    }

    /// Gives `name` (without `%`) to `values`.
    pub(super) fn define_values(&mut self, name: &str, values: &[ValueId], span: Span) -> ParseResult<()> {
        if let Some(entry) = self.find_value(name) {
            let error =
                Diagnostic::error(ParseCode::Redefinition, span, format!("value `%{name}` is defined twice"));
            let error = match entry {
                ValueEntry::Defined { span, .. } => error.label(*span, "the first definition"),
                ValueEntry::Poisoned => error,
            };
            return self.report(error);
        }
        let entry = ValueEntry::Defined { values: SmallVec::from_slice(values), span };
        if let Some(scope) = self.scopes.last_mut() {
            scope.values.insert(name.into(), entry);
        }
        self.resolve_forward(name, values, span)
    }

    fn resolve_forward(&mut self, name: &str, values: &[ValueId], span: Span) -> ParseResult<()> {
        let pending = match self.isolated_scope() {
            Some(scope) if !scope.forward.is_empty() => &mut scope.forward,
            _ => return Ok(()),
        };
        let mut found = Vec::new();
        for (index, &value) in values.iter().enumerate() {
            if let Some((forward, used)) = pending.shift_remove(&(name.into(), index as u32)) {
                found.push((forward, used, value));
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
    pub(super) fn poison(&mut self, name: &str) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.values.entry(name.into()).or_insert(ValueEntry::Poisoned);
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
        let UnresolvedOperand { name, index, span } = operand;
        match self.find_value(name) {
            Some(ValueEntry::Poisoned) => Err(Reported),
            Some(ValueEntry::Defined { values, span: defined }) => {
                let (count, defined) = (values.len(), *defined);
                let Some(&value) = values.get(*index as usize) else {
                    let message = format!("`%{name}` has {count} values, there is no `#{index}`");
                    let error = Diagnostic::error(ParseCode::UndefinedValue, *span, message);
                    return self.report(error.label(defined, "defined here"));
                };
                let actual = self.module.value_type(value);
                match ty {
                    Some(ty) if ty != actual => {
                        let message = format!("`%{name}` is used as `{ty}`, but it is `{actual}`");
                        let error = Diagnostic::error(ParseCode::TypeMismatch, *span, message);
                        self.report(error.label(defined, "defined here"))
                    }
                    _ => Ok(value),
                }
            }
            None => self.forward_value(operand, ty),
        }
    }

    fn forward_value(&mut self, operand: &UnresolvedOperand, ty: Option<&Type>) -> ParseResult<ValueId> {
        let UnresolvedOperand { name, index, span } = operand;
        let Some(ty) = ty else {
            let near = {
                let names = self.visible().flat_map(|scope| scope.values.keys().map(|name| &**name));
                crate::spelling::nearest(name, names).map(str::to_owned)
            };
            let mut error = Diagnostic::error(
                ParseCode::UndefinedValue,
                *span,
                format!("value `%{name}` is not defined"),
            );
            if let Some(near) = near {
                error = error.fix(*span, format!("%{near}"), format!("did you mean `%{near}`?"));
            }
            return self.report(error);
        };
        let key = (name.clone(), *index);
        let known = self.isolated_scope().and_then(|scope| scope.forward.get(&key)).map(|&(value, _)| value);
        if let Some(value) = known {
            let actual = self.module.value_type(value);
            if actual != ty {
                let message = format!("`%{name}` is used as `{ty}` here and as `{actual}` above");
                return self.error(ParseCode::TypeMismatch, *span, message);
            }
            return Ok(value);
        }
        let value = self.module.create_value(ty.clone(), ValueSource::Forward, Some((&**name).into()));
        if let Some(scope) = self.isolated_scope() {
            scope.forward.insert(key, (value, *span));
        }
        Ok(value)
    }

    // Blocks.

    /// The block `name` (without `^`) of the current region, which may be defined later.
    pub(super) fn block_named(&mut self, name: &str, span: Span) -> BlockId {
        let known = self.blocks.last().and_then(|blocks| blocks.get(name)).map(|entry| entry.block);
        known.unwrap_or_else(|| {
            let block = self.module.create_block();
            if let Some(blocks) = self.blocks.last_mut() {
                blocks.insert(name.into(), BlockEntry { block, defined: false, span });
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

    /// Finds all alias definitions, so that an alias may be used above its definition.
    pub(super) fn find_aliases(&mut self) {
        for position in 0..self.tokens.len() {
            let token = self.token_at(position);
            let defines = matches!(token.kind, TokenKind::Hash | TokenKind::Bang)
                && self.token_at(position + 1).kind == TokenKind::Equal;
            if !defines {
                continue;
            }
            let name = self.token_text(token);
            if name.contains('.') {
                continue;
            }
            let entry = AliasEntry { position, state: AliasState::Unread };
            self.aliases.entry(name.into()).or_insert(entry);
        }
    }

    /// The value of alias `name` (with its `#` or `!`).
    pub(super) fn resolve_alias(&mut self, name: &str, span: Span) -> ParseResult<AliasValue> {
        let Some(entry) = self.aliases.get_mut(name) else {
            let near =
                crate::spelling::nearest(name, self.aliases.keys().map(|name| &**name)).map(str::to_owned);
            let message = format!("alias `{name}` is not defined");
            let mut error = Diagnostic::error(ParseCode::UnknownAlias, span, message);
            if let Some(near) = near {
                error = error.fix(span, near.clone(), format!("did you mean `{near}`?"));
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
                return if let AliasState::Read { value, .. } = state { Ok(value) } else { Err(Reported) };
            }
        }
        let position = entry.position;
        let saved = (self.position, self.split, self.last_end);
        (self.position, self.split) = (position + 2, None);
        let result = if name.starts_with('#') {
            self.parse_attribute().map(AliasValue::Attribute)
        } else {
            self.parse_type().map(AliasValue::Type)
        };
        let state = match &result {
            Ok(value) => {
                AliasState::Read { value: value.clone(), end: self.position, last_end: self.last_end }
            }
            Err(Reported) => AliasState::Failed,
        };
        (self.position, self.split, self.last_end) = saved;
        if let Some(entry) = self.aliases.get_mut(name) {
            entry.state = state;
        }
        result
    }

    /// The definition of an alias at top level.
    pub(super) fn parse_alias_definition(&mut self, leading: Trivia) -> ParseResult<()> {
        let (span, name, position) = (self.span(), self.peek_text(), self.position);
        if self.aliases.get(name).is_none_or(|entry| entry.position != position) {
            return self.error(ParseCode::BadAlias, span, format!("alias `{name}` is defined twice"));
        }
        let value = self.resolve_alias(name, span)?;
        if let Some(AliasEntry { state: AliasState::Read { end, last_end, .. }, .. }) = self.aliases.get(name)
        {
            (self.position, self.split, self.last_end) = (*end, None, *last_end);
        }
        let mut trivia = leading;
        self.take_trailing(&mut trivia);
        // The printer makes the table of locations anew.
        if let AliasValue::Attribute(attribute) = &value
            && matches!(attribute.kind(), crate::ir::AttributeKind::Location(_))
        {
            return Ok(());
        }
        self.module.aliases.push(Alias { name: name[1..].into(), value, trivia });
        Ok(())
    }
}
