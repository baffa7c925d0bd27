//! The token cursor: look, take, expect, report.

use super::{ParseResult, Parser, Reported};
use crate::codes::ParseCode;
use crate::diagnostics::Diagnostic;
use crate::lexer::{Token, TokenKind, lex};
use crate::limits::MAX_NESTING;
use crate::source::Span;

impl<'s> Parser<'s> {
    /// The next token.
    #[must_use]
    pub fn peek(&self) -> Token {
        self.split.unwrap_or_else(|| self.token_at(self.position))
    }

    /// The token after the next one.
    #[must_use]
    pub fn peek_second(&self) -> Token {
        self.token_at(self.position + 1)
    }

    /// The token `ahead` places after the next one.
    pub(super) fn peek_ahead(&self, ahead: usize) -> Token {
        if ahead == 0 { self.peek() } else { self.token_at(self.position + ahead) }
    }

    pub(super) fn token_at(&self, position: usize) -> Token {
        let end = self.text.len() as u32;
        let last = Token { kind: TokenKind::End, start: end, end };
        self.tokens.get(position).copied().unwrap_or(last)
    }

    /// Text of a token.
    #[must_use]
    pub fn token_text(&self, token: Token) -> &'s str {
        self.text.get(token.start as usize..token.end as usize).unwrap_or("")
    }

    /// Text of the next token.
    #[must_use]
    pub fn peek_text(&self) -> &'s str {
        self.token_text(self.peek())
    }

    /// Place of the next token.
    #[must_use]
    pub fn span(&self) -> Span {
        let token = self.peek();
        Span::new(self.file, token.start, token.end)
    }

    /// Place of a token.
    pub(super) fn token_span(&self, token: Token) -> Span {
        Span::new(self.file, token.start, token.end)
    }

    /// From the start of `start` to the end of the last taken token.
    #[must_use]
    pub fn span_since(&self, start: Span) -> Span {
        Span::new(self.file, start.start, self.last_end.max(start.start))
    }

    /// Takes the next token.
    pub fn advance(&mut self) -> Token {
        let token = self.peek();
        self.last_end = token.end;
        self.split = None;
        if token.kind != TokenKind::End {
            self.position += 1;
        }
        token
    }

    /// Whether the next token is of that kind.
    #[must_use]
    pub fn at(&self, kind: TokenKind) -> bool {
        self.peek().kind == kind
    }

    /// Whether the next token is the word `word`.
    #[must_use]
    pub fn at_word(&self, word: &str) -> bool {
        self.at(TokenKind::Word) && self.peek_text() == word
    }

    /// Takes the next token if it is of that kind.
    pub fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.advance();
        }
        found
    }

    /// Takes the next token if it is the word `word`.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.advance();
        }
        found
    }

    /// Takes a token of that kind.
    ///
    /// # Errors
    /// Another token is next.
    pub fn expect(&mut self, kind: TokenKind, what: &str) -> ParseResult<Token> {
        if self.at(kind) { Ok(self.advance()) } else { self.unexpected(what) }
    }

    /// Takes the word `word`.
    ///
    /// # Errors
    /// Another token is next.
    pub fn expect_word(&mut self, word: &str) -> ParseResult<()> {
        if self.eat_word(word) { Ok(()) } else { self.unexpected(&format!("`{word}`")) }
    }

    /// Takes any word.
    ///
    /// # Errors
    /// Another token is next.
    pub fn parse_word(&mut self, what: &str) -> ParseResult<&'s str> {
        let token = self.expect(TokenKind::Word, what)?;
        Ok(self.token_text(token))
    }

    /// Takes one of `words` and gives its position.
    ///
    /// # Errors
    /// Another token is next.
    pub fn parse_one_of(&mut self, words: &[&str], what: &str) -> ParseResult<usize> {
        let found = self.peek_text();
        if let Some(index) = words.iter().position(|&word| word == found) {
            self.advance();
            return Ok(index);
        }
        let list = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        let mut error = Diagnostic::error(
            ParseCode::UnknownWord,
            self.span(),
            format!("{} is no {what}, expected one of {list}", self.describe_next()),
        );
        if let Some(near) = crate::spelling::nearest(found, words.iter().copied()) {
            error = error.fix(self.span(), near, format!("did you mean `{near}`?"));
        }
        self.report(error)
    }

    /// Takes the end of the text.
    ///
    /// # Errors
    /// More text follows.
    pub fn expect_end(&mut self) -> ParseResult<()> {
        if self.at(TokenKind::End) { Ok(()) } else { self.unexpected("the end of the text") }
    }

    /// Parses `open item, item close`; `close` may follow at once.
    ///
    /// # Errors
    /// A delimiter is missing, or `item` fails.
    pub fn parse_list<T>(
        &mut self,
        open: TokenKind,
        close: TokenKind,
        mut item: impl FnMut(&mut Self) -> ParseResult<T>,
    ) -> ParseResult<Vec<T>> {
        self.expect(open, token_name(open))?;
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat(close) {
                return Ok(items);
            }
            let expected = format!("`,` or {}", token_name(close));
            self.expect(TokenKind::Comma, &expected)?;
        }
    }

    /// Runs `rule` one level deeper.
    ///
    /// # Errors
    /// The nesting limit is reached, or `rule` fails.
    pub fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> ParseResult<T>) -> ParseResult<T> {
        if self.depth >= MAX_NESTING {
            let message = format!("nested more than {MAX_NESTING} deep");
            return self.error(ParseCode::TooDeep, self.span(), message);
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    /// Records a finding and fails.
    ///
    /// # Errors
    /// Always.
    pub fn report<T>(&mut self, diagnostic: Diagnostic) -> ParseResult<T> {
        self.diagnostics.push(diagnostic);
        Err(Reported)
    }

    /// Records an error and fails.
    ///
    /// # Errors
    /// Always.
    pub fn error<T>(
        &mut self,
        code: impl ipu_device::Coded,
        span: Span,
        message: impl Into<String>,
    ) -> ParseResult<T> {
        self.report(Diagnostic::error(code, span, message))
    }

    /// Reports that the next token is not `what`.
    ///
    /// # Errors
    /// Always.
    pub fn unexpected<T>(&mut self, what: &str) -> ParseResult<T> {
        let (token, span) = (self.peek(), self.span());
        let found = self.describe_next();
        let error = match token.kind {
            TokenKind::UnterminatedString => Diagnostic::error(
                ParseCode::UnterminatedString,
                span,
                "the string has no closing `\"` on its line",
            ),
            TokenKind::Error => {
                Diagnostic::error(ParseCode::BadToken, span, format!("{found} is no token, expected {what}"))
            }
            _ => {
                let place = if token.kind == TokenKind::End { self.end_span() } else { span };
                Diagnostic::error(ParseCode::Unexpected, place, format!("expected {what}, found {found}"))
            }
        };
        let error = self.explain_exponent(error);
        self.report(error)
    }

    /// `1e5` is a number and a word: says so.
    pub(super) fn explain_exponent(&self, error: Diagnostic) -> Diagnostic {
        let token = self.peek();
        let glued = token.start == self.last_end
            && token.kind == TokenKind::Word
            && self.position > 0
            && self.token_at(self.position - 1).kind == TokenKind::Decimal;
        if glued && self.peek_text().starts_with(['e', 'E']) {
            error.note("a float needs a point before its exponent, as in `1.0e5`")
        } else {
            error
        }
    }

    fn end_span(&self) -> Span {
        Span::new(self.file, self.last_end.saturating_sub(1), self.last_end)
    }

    fn describe_next(&self) -> String {
        match self.peek().kind {
            TokenKind::End => "the end of the text".to_owned(),
            _ => {
                let text = self.peek_text();
                let shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
                if text.chars().count() > 40 { format!("`{shown}...`") } else { format!("`{shown}`") }
            }
        }
    }

    /// Bytes of the text from the start of the next token.
    pub(super) fn rest(&self) -> &'s str {
        self.text.get(self.peek().start as usize..).unwrap_or("")
    }

    /// Goes on at byte `offset`, inside or at the start of a token at or after the next one.
    pub(super) fn seek(&mut self, offset: u32) {
        self.split = None;
        while self.peek().kind != TokenKind::End && self.peek().end <= offset {
            self.position += 1;
        }
        let token = self.peek();
        self.last_end = offset;
        if token.start < offset {
            let rest = self.text.get(offset as usize..token.end as usize).unwrap_or("");
            let kind = lex(rest).tokens.first().map_or(TokenKind::Error, |first| first.kind);
            self.split = Some(Token { kind, start: offset, end: token.end });
        }
    }
}

/// The token as messages write it.
fn token_name(kind: TokenKind) -> &'static str {
    match kind {
        TokenKind::LeftParen => "`(`",
        TokenKind::RightParen => "`)`",
        TokenKind::LeftSquare => "`[`",
        TokenKind::RightSquare => "`]`",
        TokenKind::LeftBrace => "`{`",
        TokenKind::RightBrace => "`}`",
        TokenKind::Less => "`<`",
        TokenKind::Greater => "`>`",
        _ => "a delimiter",
    }
}
