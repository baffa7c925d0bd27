//! Types.

use std::borrow::Cow;

use super::{ParseResult, Parser, Reported};
use crate::codes::ParseCode;
use crate::diagnostics::Diagnostic;
use crate::ir::{FloatFormat, Opaque, Signedness, Type, TypeKind};
use crate::lexer::{Lexer, TokenKind};
use crate::limits::MAX_RANK;

/// Widest integer type, as in MLIR.
const MAX_INTEGER_WIDTH: u32 = (1 << 24) - 1;

impl<'s> Parser<'s> {
    /// Whether a type may start here.
    #[must_use]
    pub fn at_type(&self) -> bool {
        match self.peek().kind {
            TokenKind::Bang | TokenKind::LeftParen => true,
            TokenKind::Word => {
                let word = self.peek_text();
                matches!(word, "tensor" | "tuple") || scalar(word).is_some()
            }
            _ => false,
        }
    }

    /// A type. Equal texts give one shared type.
    ///
    /// # Errors
    /// No type is next, or it is malformed.
    pub fn parse_type(&mut self) -> ParseResult<Type> {
        let first = self.peek();
        if first.kind == TokenKind::Word
            && let Some(ty) = self.shared.word(self.token_text(first))
        {
            let ty = ty.clone();
            self.advance();
            return Ok(ty);
        }
        let ty = self.nested(Self::parse_type_inner)?;
        let ty = self.shared.ty(self.text_from(first.start), ty);
        if first.kind == TokenKind::Word && first.end == self.last_end() {
            self.shared.set_word(self.token_text(first), &ty);
        }
        Ok(ty)
    }

    pub(super) fn parse_type_inner(&mut self) -> ParseResult<Type> {
        match self.peek().kind {
            TokenKind::Bang => self.parse_dialect_type(),
            TokenKind::LeftParen => self.parse_function_type(),
            TokenKind::Word => self.parse_builtin_type(),
            _ => self.unexpected("a type"),
        }
    }

    fn parse_builtin_type(&mut self) -> ParseResult<Type> {
        let (word, span) = (self.peek_text(), self.span());
        match word {
            "tensor" => return self.parse_tensor(),
            "tuple" => {
                self.advance();
                let parts = self.parse_list(TokenKind::Less, TokenKind::Greater, Self::parse_type)?;
                return Ok(Type::new(TypeKind::Tuple(parts)));
            }
            _ => {}
        }
        if let Some(ty) = scalar(word) {
            self.advance();
            return Ok(ty);
        }
        let known = ["f16", "bf16", "f32", "f64", "index", "none", "tensor", "tuple", "i32", "i64"];
        let mut error = Diagnostic::error(ParseCode::UnknownType, span, format!("unknown type `{word}`"));
        if let Some(near) = self.diagnostics.nearest(word, known) {
            error = error.fix(span, near, format!("did you mean `{near}`?"));
        }
        self.report(error)
    }

    fn parse_tensor(&mut self) -> ParseResult<Type> {
        self.advance();
        self.expect(TokenKind::Less, "`<`")?;
        let shape = self.parse_dimensions()?;
        let span = self.span();
        let element = self.parse_type()?;
        if element.element_bits().is_none() && !matches!(element.kind(), TypeKind::Opaque(_)) {
            return self.error(ParseCode::BadType, span, format!("`{element}` cannot be a tensor element"));
        }
        let encoding = if self.eat(TokenKind::Comma) { Some(self.parse_attribute()?) } else { None };
        self.expect(TokenKind::Greater, "`>`")?;
        Ok(Type::tensor(shape, element, encoding))
    }

    /// `4x8x` before an element type. Words such as `x8xf16` are taken apart.
    fn parse_dimensions(&mut self) -> ParseResult<Vec<u64>> {
        let mut shape = Vec::new();
        loop {
            if self.at(TokenKind::Question) {
                return self.error(ParseCode::BadType, self.span(), "dynamic dimensions are not supported");
            }
            let rest = self.rest();
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if digits == 0 {
                return Ok(shape);
            }
            let span = self.span();
            let Ok(length) = rest[..digits].parse::<u64>() else {
                return self.error(ParseCode::BadNumber, span, "the dimension does not fit 64 bits");
            };
            if rest.as_bytes().get(digits) != Some(&b'x') {
                self.seek(span.start + digits as u32);
                return self.unexpected("`x` right behind a dimension, as in `4x8xf16`");
            }
            shape.push(length);
            if shape.len() > MAX_RANK {
                let message = format!("a tensor has at most {MAX_RANK} dimensions");
                return self.error(ParseCode::TooLarge, span, message);
            }
            self.seek(span.start + digits as u32 + 1);
        }
    }

    /// `(a, b) -> c` or `(a) -> (b, c)`
    ///
    /// # Errors
    /// No function type is next.
    pub fn parse_function_type(&mut self) -> ParseResult<Type> {
        let inputs = self.parse_list(TokenKind::LeftParen, TokenKind::RightParen, Self::parse_type)?;
        self.expect(TokenKind::Arrow, "`->`")?;
        let results = self.parse_type_or_list()?;
        Ok(Type::function(inputs, results))
    }

    /// `T` or `(T, U)`
    ///
    /// # Errors
    /// Neither is next.
    pub fn parse_type_or_list(&mut self) -> ParseResult<Vec<Type>> {
        if self.at(TokenKind::LeftParen) {
            return self.parse_list(TokenKind::LeftParen, TokenKind::RightParen, Self::parse_type);
        }
        Ok(vec![self.parse_type()?])
    }

    fn parse_dialect_type(&mut self) -> ParseResult<Type> {
        let (span, text) = (self.span(), self.peek_text());
        let name = &text[1..];
        if !name.contains('.') {
            self.advance();
            return match self.resolve_alias(text, span)? {
                crate::ir::AliasValue::Type(ty) => Ok(ty),
                crate::ir::AliasValue::Attribute(_) => Err(Reported),
            };
        }
        self.advance();
        if let Some(declaration) = self.registry.ty(name) {
            return (declaration.parse)(self);
        }
        if self.allow_unregistered {
            let body = self.parse_opaque_body()?;
            return Ok(Type::new(TypeKind::Opaque(Opaque { name: name.into(), body: body.into() })));
        }
        let mut error =
            Diagnostic::error(ParseCode::UnknownType, span, format!("no dialect declares type `{text}`"));
        if let Some(near) = self.diagnostics.nearest(name, self.registry.type_names()) {
            error = error.fix(span, format!("!{near}"), format!("did you mean `!{near}`?"));
        }
        self.report(error)
    }

    /// `<...>` with balanced brackets, verbatim but for comments; nothing if no `<` follows.
    pub(super) fn parse_opaque_body(&mut self) -> ParseResult<Cow<'s, str>> {
        let start = self.peek().start as usize;
        if !self.at(TokenKind::Less) {
            return Ok("".into());
        }
        let open = self.span();
        let mut closers = Vec::new();
        loop {
            let token = self.peek();
            match token.kind {
                TokenKind::Less => closers.push(TokenKind::Greater),
                TokenKind::LeftParen => closers.push(TokenKind::RightParen),
                TokenKind::LeftSquare => closers.push(TokenKind::RightSquare),
                TokenKind::LeftBrace => closers.push(TokenKind::RightBrace),
                TokenKind::Greater
                | TokenKind::RightParen
                | TokenKind::RightSquare
                | TokenKind::RightBrace
                    if closers.pop() != Some(token.kind) =>
                {
                    return self.error(ParseCode::BadAttribute, self.span(), "unbalanced bracket");
                }
                TokenKind::End => return self.error(ParseCode::BadAttribute, open, "bracket without end"),
                _ => {}
            }
            self.advance();
            if closers.is_empty() {
                return Ok(without_comments(self.text.get(start..self.last_end() as usize).unwrap_or("")));
            }
        }
    }
}

/// A text with a space where it has comments, which stand beside the op.
fn without_comments(text: &str) -> Cow<'_, str> {
    if !text.contains("//") {
        return text.into();
    }
    let mut lexer = Lexer::new(text);
    let (mut kept, mut end, mut cut) = (String::new(), 0, false);
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::End => return kept.into(),
            TokenKind::Comment => cut = true,
            _ => {
                let gap = if cut { " " } else { text.get(end..token.start as usize).unwrap_or("") };
                kept.push_str(gap);
                kept.push_str(text.get(token.start as usize..token.end as usize).unwrap_or(""));
                (end, cut) = (token.end as usize, false);
            }
        }
    }
}

/// A type that is one word.
fn scalar(word: &str) -> Option<Type> {
    match word {
        "index" => return Some(Type::index()),
        "none" => return Some(Type::none()),
        _ => {}
    }
    if let Some(format) = FloatFormat::ALL.into_iter().find(|format| format.name() == word) {
        return Some(Type::float(format));
    }
    let (signedness, digits) = if let Some(digits) = word.strip_prefix("si") {
        (Signedness::Signed, digits)
    } else if let Some(digits) = word.strip_prefix("ui") {
        (Signedness::Unsigned, digits)
    } else {
        (Signedness::Signless, word.strip_prefix('i')?)
    };
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) || digits.starts_with('0') {
        return None;
    }
    let width = digits.parse().ok().filter(|&width| width <= MAX_INTEGER_WIDTH)?;
    Some(Type::new(TypeKind::Integer { width, signedness }))
}
