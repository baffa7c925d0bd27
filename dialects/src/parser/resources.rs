//! The section `{-# dialect_resources: {builtin: {key: "0x..."}} #-}` at the end of a text.

use std::sync::Arc;

use super::{ParseResult, Parser};
use crate::codes::ParseCode;
use crate::ir::Resource;
use crate::lexer::TokenKind;

impl Parser<'_> {
    pub(super) fn parse_resource_section(&mut self) -> ParseResult<()> {
        self.expect(TokenKind::SectionStart, "`{-#`")?;
        loop {
            self.expect_word("dialect_resources")?;
            self.expect(TokenKind::Colon, "`:`")?;
            self.parse_list(TokenKind::LeftBrace, TokenKind::RightBrace, |parser| {
                parser.expect_word("builtin")?;
                parser.expect(TokenKind::Colon, "`:`")?;
                parser.parse_list(TokenKind::LeftBrace, TokenKind::RightBrace, Self::parse_resource)
            })?;
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::SectionEnd, "`#-}`")?;
        Ok(())
    }

    fn parse_resource(&mut self) -> ParseResult<()> {
        let span = self.span();
        let name = match self.peek().kind {
            TokenKind::String => self.parse_string("a resource name")?,
            _ => self.parse_word("a resource name")?.into(),
        };
        self.expect(TokenKind::Colon, "`:`")?;
        let bytes = self.parse_hexadecimal_bytes()?;
        let Some((prefix, data)) = bytes.split_first_chunk::<4>() else {
            let message = "a resource starts with its alignment, four little-endian bytes";
            return self.error(ParseCode::BadAttribute, span, message);
        };
        let resource = Resource { alignment: u32::from_le_bytes(*prefix), data: Arc::from(data) };
        if self.module.resources.insert(Arc::from(&*name), resource).is_some() {
            return self.error(ParseCode::Redefinition, span, format!("resource `{name}` is defined twice"));
        }
        Ok(())
    }
}
