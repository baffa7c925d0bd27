//! The token cursor: look, take, expect, report.

use super::{ParseResult, Parser, Reported};
use crate::codes::ParseCode;
use crate::diagnostics::Diagnostic;
use crate::lexer::{Lexer, Token, TokenKind};
use crate::limits::MAX_NESTING;
use crate::source::Span;

/// A comment that nobody took yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Comment {
    /// First byte, at `//`.
    pub(super) start: u32,
    /// First byte past it.
    pub(super) end: u32,
}

/// The token ahead, and the comments passed on the way to it.
#[derive(Debug)]
pub(super) struct Cursor<'s> {
    /// Behind `current`: the token after it is rarely asked for, and read again then.
    lexer: Lexer<'s>,
    current: Token,
    last_kind: TokenKind,
    last_end: u32,
    /// Comments of the text up to `current`.
    comments: Vec<Comment>,
    next_comment: usize,
    /// Comments before this byte have been seen.
    seen: u32,
    /// Whether comments are kept; not while an alias is read out of its turn.
    pub(super) keeps_comments: bool,
}

/// Where a parser stands, to come back to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    current: Token,
    last_end: u32,
}

impl Place {
    /// First byte of the next token.
    pub(super) fn offset(self) -> u32 {
        self.current.start
    }
}

impl<'s> Cursor<'s> {
    /// The tokens of `text` from byte `start` on.
    pub(super) fn new(text: &'s str, start: u32) -> Self {
        let none = Token { kind: TokenKind::End, start: 0, end: 0 };
        let mut cursor = Self {
            lexer: Lexer::new(text),
            current: none,
            last_kind: TokenKind::End,
            last_end: 0,
            comments: Vec::new(),
            next_comment: 0,
            seen: 0,
            keeps_comments: true,
        };
        cursor.seek(start);
        cursor
    }

    #[inline]
    fn lex(&mut self) -> Token {
        loop {
            let token = self.lexer.next_token();
            if token.kind != TokenKind::Comment {
                return token;
            }
            if self.keeps_comments && token.start >= self.seen {
                self.comments.push(Comment { start: token.start, end: token.end });
                self.seen = token.end;
            }
        }
    }

    #[inline]
    fn advance(&mut self) -> Token {
        let token = self.current;
        (self.last_kind, self.last_end) = (token.kind, token.end);
        if token.kind != TokenKind::End {
            self.current = self.lex();
        }
        token
    }

    fn place(&self) -> Place {
        Place { current: self.current, last_end: self.last_end }
    }

    fn go_to(&mut self, place: Place) {
        (self.current, self.last_end) = (place.current, place.last_end);
        self.lexer.seek(place.current.end);
    }

    /// Goes on at byte `offset`, which may be inside a token.
    fn seek(&mut self, offset: u32) {
        self.last_end = offset;
        self.lexer.seek(offset);
        self.current = self.lex();
    }

    /// The token after the current one, read anew.
    fn second(&self) -> Token {
        let mut lexer = self.lexer.clone();
        loop {
            let token = lexer.next_token();
            if token.kind != TokenKind::Comment {
                return token;
            }
        }
    }

    /// The first comment nobody took, if it starts before byte `limit`.
    pub(super) fn comment_before(&self, limit: u32) -> Option<Comment> {
        self.comments.get(self.next_comment).copied().filter(|comment| comment.start < limit)
    }

    /// Takes the first comment nobody took.
    pub(super) fn take_comment(&mut self) {
        self.next_comment += 1;
        if self.next_comment == self.comments.len() {
            self.comments.clear();
            self.next_comment = 0;
        }
    }
}

impl<'s> Parser<'s> {
    /// The next token.
    #[must_use]
    pub fn peek(&self) -> Token {
        self.cursor.current
    }

    /// The token after the next one.
    #[must_use]
    pub fn peek_second(&self) -> Token {
        self.cursor.second()
    }

    /// Where the last taken token ended.
    pub(super) fn last_end(&self) -> u32 {
        self.cursor.last_end
    }

    /// What the last taken token was.
    pub(super) fn last_kind(&self) -> TokenKind {
        self.cursor.last_kind
    }

    pub(super) fn place(&self) -> Place {
        self.cursor.place()
    }

    pub(super) fn go_to(&mut self, place: Place) {
        self.cursor.go_to(place);
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

    /// The text from byte `start` to the end of the last taken token.
    pub(super) fn text_from(&self, start: u32) -> &'s str {
        self.text.get(start as usize..self.last_end() as usize).unwrap_or("")
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
        Span::new(self.file, start.start, self.last_end().max(start.start))
    }

    /// Takes the next token.
    #[inline]
    pub fn advance(&mut self) -> Token {
        self.cursor.advance()
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
        if let Some(near) = self.diagnostics.nearest(found, words.iter().copied()) {
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
        let mut items = Vec::new();
        self.parse_each(open, close, |parser| {
            items.push(item(parser)?);
            Ok(())
        })?;
        Ok(items)
    }

    /// [`parse_list`](Self::parse_list) of items that `item` keeps itself.
    pub(super) fn parse_each(
        &mut self,
        open: TokenKind,
        close: TokenKind,
        mut item: impl FnMut(&mut Self) -> ParseResult<()>,
    ) -> ParseResult<()> {
        self.expect(open, token_name(open))?;
        if self.eat(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            if self.eat(close) {
                return Ok(());
            }
            if !self.eat(TokenKind::Comma) {
                return self.unexpected(&format!("`,` or {}", token_name(close)));
            }
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
        let is_binary = token.kind == TokenKind::Error && self.token_text(token).contains('\0');
        self.report(if is_binary {
            error.note("a NUL byte: is this a binary file, or a text in UTF-16?")
        } else {
            error
        })
    }

    /// `1e5` is a number and a word: says so.
    pub(super) fn explain_exponent(&self, error: Diagnostic) -> Diagnostic {
        let token = self.peek();
        let glued = token.start == self.last_end()
            && token.kind == TokenKind::Word
            && self.cursor.last_kind == TokenKind::Decimal;
        if glued && self.peek_text().starts_with(['e', 'E']) {
            error.note("a float needs a point before its exponent, as in `1.0e5`")
        } else {
            error
        }
    }

    fn end_span(&self) -> Span {
        Span::new(self.file, self.last_end().saturating_sub(1), self.last_end())
    }

    fn describe_next(&self) -> String {
        match self.peek().kind {
            TokenKind::End => "the end of the text".to_owned(),
            _ => {
                let text = self.peek_text();
                let mut shown = String::new();
                for letter in text.chars().take(40) {
                    match letter {
                        '\'' | '"' | '\\' => shown.push(letter),
                        _ => shown.extend(letter.escape_debug()),
                    }
                }
                if text.chars().nth(40).is_some() { format!("`{shown}...`") } else { format!("`{shown}`") }
            }
        }
    }

    /// Bytes of the text from the start of the next token.
    pub(super) fn rest(&self) -> &'s str {
        self.text.get(self.peek().start as usize..).unwrap_or("")
    }

    /// Goes on at byte `offset`, inside or at the start of a token at or after the next one.
    pub(super) fn seek(&mut self, offset: u32) {
        self.cursor.seek(offset);
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
