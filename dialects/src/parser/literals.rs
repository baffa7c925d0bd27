//! Numbers, strings and symbol names.

use std::borrow::Cow;

use super::{ParseResult, Parser};
use crate::codes::ParseCode;
use crate::ir::SymbolRef;
use crate::lexer::{Token, TokenKind};

/// An integer and how it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntegerLiteral {
    /// The value; of one [beyond](Self::beyond) `i128` its 128 bits.
    pub value: i128,
    /// The value is at least 2^127.
    pub beyond: bool,
    /// Written in base 16.
    pub hexadecimal: bool,
}

impl std::fmt::Display for IntegerLiteral {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.beyond { write!(f, "{}", self.value as u128) } else { write!(f, "{}", self.value) }
    }
}

impl<'s> Parser<'s> {
    /// An integer, with an optional minus, in base 10 or 16.
    ///
    /// # Errors
    /// No integer is next, or it does not fit.
    pub fn parse_integer_literal(&mut self) -> ParseResult<IntegerLiteral> {
        let start = self.span();
        let negative = self.eat(TokenKind::Minus);
        let token = self.peek();
        if !matches!(token.kind, TokenKind::Decimal | TokenKind::Hexadecimal) {
            return self.unexpected("an integer");
        }
        self.advance();
        let text = self.token_text(token);
        let hexadecimal = token.kind == TokenKind::Hexadecimal;
        let digits = if hexadecimal { &text[2..] } else { text };
        let radix = if hexadecimal { 16 } else { 10 };
        // Most are short, and 128 bits are slow.
        let bits = match digits.len() {
            ..16 => u64::from_str_radix(digits, radix).map(u128::from),
            _ => u128::from_str_radix(digits, radix),
        };
        match bits {
            Ok(bits) if !negative || bits <= i128::MIN.unsigned_abs() => {
                let value = if negative { (bits as i128).wrapping_neg() } else { bits as i128 };
                let beyond = !negative && i128::try_from(bits).is_err();
                Ok(IntegerLiteral { value, beyond, hexadecimal })
            }
            _ => {
                let span = self.span_since(start);
                self.error(ParseCode::BadNumber, span, "the integer does not fit 128 bits")
            }
        }
    }

    /// An integer of the wanted Rust type.
    ///
    /// # Errors
    /// No integer is next, or it does not fit.
    pub fn parse_integer<T: TryFrom<i128>>(&mut self, what: &str) -> ParseResult<T> {
        let start = self.span();
        let at_number =
            matches!(self.peek().kind, TokenKind::Decimal | TokenKind::Hexadecimal | TokenKind::Minus);
        if !at_number {
            return self.unexpected(what);
        }
        let literal = self.parse_integer_literal()?;
        match T::try_from(literal.value).ok().filter(|_| !literal.beyond) {
            Some(value) => Ok(value),
            None => {
                let span = self.span_since(start);
                self.error(ParseCode::BadNumber, span, format!("{literal} is out of range for {what}"))
            }
        }
    }

    /// A string: its bytes.
    ///
    /// # Errors
    /// No string is next, or it has a bad escape.
    pub fn parse_string_bytes(&mut self, what: &str) -> ParseResult<Cow<'s, [u8]>> {
        let token = self.expect(TokenKind::String, what)?;
        self.unescape(token, 1)
    }

    /// A string of valid UTF-8.
    ///
    /// # Errors
    /// No such string is next.
    pub fn parse_string(&mut self, what: &str) -> ParseResult<Cow<'s, str>> {
        let (span, text) = (self.span(), self.peek_text());
        let bytes = self.parse_string_bytes(what)?;
        if let (Cow::Borrowed(_), Some(text)) = (&bytes, text.get(1..text.len().saturating_sub(1))) {
            return Ok(Cow::Borrowed(text));
        }
        match text_of(bytes) {
            Some(text) => Ok(text),
            None => self.error(ParseCode::BadEscape, span, format!("{what} must be valid UTF-8")),
        }
    }

    /// Bytes of a string token: after `prefix` bytes, without the closing quote, escapes resolved.
    fn unescape(&mut self, token: Token, prefix: usize) -> ParseResult<Cow<'s, [u8]>> {
        let text = self.token_text(token);
        let inner = text.get(prefix..text.len().saturating_sub(1)).unwrap_or("").as_bytes();
        if memchr::memchr(b'\\', inner).is_none() {
            return Ok(Cow::Borrowed(inner));
        }
        let mut bytes = Vec::with_capacity(inner.len());
        let mut at = 0;
        while let Some(&byte) = inner.get(at) {
            if byte != b'\\' {
                bytes.push(byte);
                at += 1;
                continue;
            }
            let Some((value, length)) = escape(inner.get(at + 1..).unwrap_or(&[])) else {
                let from = token.start + (prefix + at) as u32;
                let span = crate::source::Span::new(self.file, from, from + 2);
                let message = "escapes are `\\\\`, `\\\"`, `\\n`, `\\t` and a backslash with two hex digits";
                return self.error(ParseCode::BadEscape, span, message);
            };
            bytes.push(value);
            at += 1 + length;
        }
        Ok(Cow::Owned(bytes))
    }

    /// `@name` or `@"name"`: the name.
    ///
    /// # Errors
    /// No symbol name is next.
    pub fn parse_symbol_name(&mut self) -> ParseResult<Cow<'s, str>> {
        let token = self.peek();
        match token.kind {
            TokenKind::At => {
                self.advance();
                Ok(Cow::Borrowed(&self.token_text(token)[1..]))
            }
            TokenKind::AtString => {
                self.advance();
                let bytes = self.unescape(token, 2)?;
                match text_of(bytes) {
                    Some(name) => Ok(name),
                    None => {
                        let span = self.token_span(token);
                        self.error(ParseCode::BadEscape, span, "a symbol name must be valid UTF-8")
                    }
                }
            }
            _ => self.unexpected("a symbol such as `@name`"),
        }
    }

    /// `@a::@b`
    ///
    /// # Errors
    /// No symbol reference is next.
    pub fn parse_symbol_ref(&mut self) -> ParseResult<SymbolRef> {
        let root = self.parse_symbol_name()?;
        let mut rest = Vec::new();
        while self.eat(TokenKind::ColonColon) {
            rest.push(self.parse_symbol_name()?.into_owned().into());
        }
        Ok(SymbolRef::nested(&root, rest))
    }
}

/// The bytes as text, if they are valid UTF-8.
fn text_of(bytes: Cow<'_, [u8]>) -> Option<Cow<'_, str>> {
    match bytes {
        Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
    }
}

/// The byte that an escape stands for and the length of the escape after its backslash.
fn escape(rest: &[u8]) -> Option<(u8, usize)> {
    match *rest.first()? {
        b'\\' => Some((b'\\', 1)),
        b'"' => Some((b'"', 1)),
        b'n' => Some((b'\n', 1)),
        b't' => Some((b'\t', 1)),
        _ => {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            let hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            hexadecimal.then(|| u8::from_str_radix(digits, 16).ok()).flatten().map(|value| (value, 2))
        }
    }
}
