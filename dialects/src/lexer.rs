//! Tokens of the language, for all dialects.
//!
//! Values of numbers and strings, and context (`4x8xf16`), are the parser's business. The lexer never fails: what
//! is no token becomes [`TokenKind::Error`]. It reads as it is asked and can start anywhere, so a text is never held as tokens; no
//! token and no comment has a line break in it.

use logos::Logos;

/// Kinds of token.
#[derive(Logos, Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[logos(skip r"[ \t\r\n\f]+")]
pub enum TokenKind {
    /// `name`, `dialect.name`
    #[regex(r"[A-Za-z_][A-Za-z0-9_$.]*")]
    Word,
    /// `%name`, `%0`
    #[regex(r"%([0-9]+|[A-Za-z_$.\-][A-Za-z0-9_$.\-]*)")]
    Percent,
    /// `^name`
    #[regex(r"\^([0-9]+|[A-Za-z_$.\-][A-Za-z0-9_$.\-]*)")]
    Caret,
    /// `@name`
    #[regex(r"@[A-Za-z_$.0-9\-]+")]
    At,
    /// `@"name"`
    #[regex(r#"@"([^"\\\n]|\\[^\n])*""#)]
    AtString,
    /// `#name`, `#dialect.name`, `#0`
    #[regex(r"#([0-9]+|[A-Za-z_$.\-][A-Za-z0-9_$.\-]*)")]
    Hash,
    /// `!name`, `!dialect.name`
    #[regex(r"![A-Za-z_$.\-][A-Za-z0-9_$.\-]*")]
    Bang,
    /// `12`
    #[regex(r"[0-9]+")]
    Decimal,
    /// `0x1f`
    #[regex(r"0x[0-9A-Fa-f]+")]
    Hexadecimal,
    /// `1.5`, `1.5e-3`
    #[regex(r"[0-9]+\.[0-9]*([eE][+\-]?[0-9]+)?")]
    Float,
    /// `"text"`
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    String,
    /// `"text` without end
    #[regex(r#""([^"\\\n]|\\[^\n])*\\?"#)]
    UnterminatedString,
    /// `(`
    #[token("(")]
    LeftParen,
    /// `)`
    #[token(")")]
    RightParen,
    /// `[`
    #[token("[")]
    LeftSquare,
    /// `]`
    #[token("]")]
    RightSquare,
    /// `{`
    #[token("{")]
    LeftBrace,
    /// `}`
    #[token("}")]
    RightBrace,
    /// `<`
    #[token("<")]
    Less,
    /// `>`
    #[token(">")]
    Greater,
    /// `,`
    #[token(",")]
    Comma,
    /// `:`
    #[token(":")]
    Colon,
    /// `::`
    #[token("::")]
    ColonColon,
    /// `=`
    #[token("=")]
    Equal,
    /// `->`
    #[token("->")]
    Arrow,
    /// `+`
    #[token("+")]
    Plus,
    /// `-`
    #[token("-")]
    Minus,
    /// `*`
    #[token("*")]
    Star,
    /// `?`
    #[token("?")]
    Question,
    /// `/`
    #[token("/")]
    Slash,
    /// `|`
    #[token("|")]
    Bar,
    /// `;`
    #[token(";")]
    Semicolon,
    /// `{-#`
    #[token("{-#")]
    SectionStart,
    /// `#-}`
    #[token("#-}")]
    SectionEnd,
    /// `// ...`
    #[regex(r"//[^\n]*", allow_greedy = true)]
    Comment,
    /// What is no token.
    Error,
    /// The end of the text.
    End,
}

/// A token: its kind and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// Kind.
    pub kind: TokenKind,
    /// First byte.
    pub start: u32,
    /// First byte past it.
    pub end: u32,
}

/// The tokens of a text, one at a time; [`TokenKind::End`] forever after the last.
#[derive(Debug, Clone)]
pub struct Lexer<'s> {
    text: &'s str,
    inner: logos::Lexer<'s, TokenKind>,
    base: u32,
}

impl<'s> Lexer<'s> {
    /// The tokens of `text`, which is shorter than 4 GiB.
    #[must_use]
    pub fn new(text: &'s str) -> Self {
        Self { text, inner: TokenKind::lexer(text), base: 0 }
    }

    /// Goes on at byte `offset`.
    pub fn seek(&mut self, offset: u32) {
        self.base = offset;
        self.inner = TokenKind::lexer(self.text.get(offset as usize..).unwrap_or(""));
    }

    /// The next token, comments included.
    #[inline]
    pub fn next_token(&mut self) -> Token {
        let Some(kind) = self.inner.next() else {
            let end = self.text.len() as u32;
            return Token { kind: TokenKind::End, start: end, end };
        };
        let span = self.inner.span();
        let (start, end) = (self.base + span.start as u32, self.base + span.end as u32);
        Token { kind: kind.unwrap_or(TokenKind::Error), start, end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(TokenKind, &str)> {
        let mut lexer = Lexer::new(text);
        let mut list = Vec::new();
        loop {
            let token = lexer.next_token();
            list.push((token.kind, &text[token.start as usize..token.end as usize]));
            if token.kind == TokenKind::End {
                return list;
            }
        }
    }

    #[test]
    fn tokens_take_the_longest_match() {
        use TokenKind::{Arrow, At, Comma, Decimal, End, Float, Hexadecimal, Minus, Percent, Word};
        let tokens = kinds("graph.gemm %a16,@main.exchange 0x1f 12 1.5e-3 -> -4x8");
        let expected = vec![
            (Word, "graph.gemm"),
            (Percent, "%a16"),
            (Comma, ","),
            (At, "@main.exchange"),
            (Hexadecimal, "0x1f"),
            (Decimal, "12"),
            (Float, "1.5e-3"),
            (Arrow, "->"),
            (Minus, "-"),
            (Decimal, "4"),
            (Word, "x8"),
            (End, ""),
        ];
        assert_eq!(tokens, expected);
    }

    #[test]
    fn what_is_no_token_is_kept_as_one() {
        assert_eq!(kinds("`")[0].0, TokenKind::Error);
        assert_eq!(kinds("\"abc")[0], (TokenKind::UnterminatedString, "\"abc"));
        assert_eq!(kinds(r#""a\"b""#)[0], (TokenKind::String, r#""a\"b""#));
        assert_eq!(kinds("\"abc\\")[0].0, TokenKind::UnterminatedString);
    }

    #[test]
    fn the_lexer_starts_anywhere() {
        let text = "4x8xf16 // shape";
        let mut lexer = Lexer::new(text);
        lexer.seek(4);
        assert_eq!(lexer.next_token(), Token { kind: TokenKind::Word, start: 4, end: 7 });
        assert_eq!(lexer.next_token().kind, TokenKind::Comment);
        assert_eq!(lexer.next_token().kind, TokenKind::End);
    }

    #[test]
    fn long_tokens_neither_overflow_nor_split() {
        let text = "a".repeat(1_000_000);
        assert_eq!(kinds(&text).len(), 2);
        let text = format!("\"{}\"", "b".repeat(1_000_000));
        assert_eq!(kinds(&text)[0].0, TokenKind::String);
    }
}
