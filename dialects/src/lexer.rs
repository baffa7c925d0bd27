//! Tokens of the language, for all dialects.
//!
//! Values of numbers and strings, and context (`4x8xf16`), are the parser's business. The lexer never fails: what
//! is no token becomes [`TokenKind::Error`]. Comments leave the token stream and are kept in order beside it.

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

/// A comment and the token it stands before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comment {
    /// Index of the next token.
    pub before: u32,
    /// First byte, at `//`.
    pub start: u32,
    /// First byte past it.
    pub end: u32,
}

/// The tokens of a text, with [`TokenKind::End`] last, and its comments.
#[derive(Debug, Clone)]
pub struct Tokens {
    /// Tokens without comments.
    pub tokens: Vec<Token>,
    /// Comments in order.
    pub comments: Vec<Comment>,
}

/// The tokens of `text`, which is shorter than 4 GiB.
#[must_use]
pub fn lex(text: &str) -> Tokens {
    let mut tokens = Vec::with_capacity(text.len() / 4);
    let mut comments = Vec::new();
    for (kind, span) in TokenKind::lexer(text).spanned() {
        let (start, end) = (span.start as u32, span.end as u32);
        match kind.unwrap_or(TokenKind::Error) {
            TokenKind::Comment => comments.push(Comment { before: tokens.len() as u32, start, end }),
            kind => tokens.push(Token { kind, start, end }),
        }
    }
    let end = text.len() as u32;
    tokens.push(Token { kind: TokenKind::End, start: end, end });
    Tokens { tokens, comments }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(TokenKind, &str)> {
        let list = lex(text).tokens;
        list.iter().map(|token| (token.kind, &text[token.start as usize..token.end as usize])).collect()
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
    fn comments_stand_beside_the_tokens() {
        let lexed = lex("a // one\n// two\nb");
        assert_eq!(lexed.tokens.len(), 3);
        assert_eq!(lexed.comments.iter().map(|comment| comment.before).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn long_tokens_neither_overflow_nor_split() {
        let text = "a".repeat(1_000_000);
        assert_eq!(kinds(&text).len(), 2);
        let text = format!("\"{}\"", "b".repeat(1_000_000));
        assert_eq!(kinds(&text)[0].0, TokenKind::String);
    }
}
