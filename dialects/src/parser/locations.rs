//! Locations, and the origins in them.

use super::{ParseResult, Parser};
use crate::codes::ParseCode;
use crate::ipu::OriginAttribute;
use crate::ir::{AliasValue, AttributeKind, Location, LocationKind, Origin};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// `loc(...)`
    ///
    /// # Errors
    /// No location is next.
    pub fn parse_location(&mut self) -> ParseResult<Location> {
        self.expect_word("loc")?;
        self.expect(TokenKind::LeftParen, "`(`")?;
        let location = self.parse_location_body()?;
        self.expect(TokenKind::RightParen, "`)`")?;
        Ok(location)
    }

    /// `loc(...)`, if it follows.
    pub(super) fn parse_optional_location(&mut self) -> ParseResult<Option<Location>> {
        if self.at_word("loc") { self.parse_location().map(Some) } else { Ok(None) }
    }

    fn parse_location_body(&mut self) -> ParseResult<Location> {
        self.nested(|parser| match parser.peek().kind {
            TokenKind::String => parser.parse_named_location(),
            TokenKind::Hash => parser.parse_location_alias(),
            TokenKind::Word => {
                match parser.parse_one_of(&["unknown", "fused", "callsite", "loc"], "location")? {
                    0 => Ok(Location::unknown()),
                    1 => parser.parse_fused_location(),
                    2 => parser.parse_call_site(),
                    _ => {
                        parser.expect(TokenKind::LeftParen, "`(`")?;
                        let location = parser.parse_location_body()?;
                        parser.expect(TokenKind::RightParen, "`)`")?;
                        Ok(location)
                    }
                }
            }
            _ => parser.unexpected("a location"),
        })
    }

    fn parse_location_alias(&mut self) -> ParseResult<Location> {
        let (span, text) = (self.span(), self.peek_text());
        self.advance();
        let value = self.resolve_alias(text, span)?;
        if let AliasValue::Attribute(attribute) = &value
            && let AttributeKind::Location(location) = attribute.kind()
        {
            return Ok(location.clone());
        }
        self.error(ParseCode::BadAttribute, span, format!("`{text}` is no location"))
    }

    fn parse_named_location(&mut self) -> ParseResult<Location> {
        let name = self.parse_string("a file or name")?;
        if self.eat(TokenKind::Colon) {
            let line = self.parse_integer("a line number")?;
            self.expect(TokenKind::Colon, "`:`")?;
            let column = self.parse_integer("a column number")?;
            return Ok(Location::file(name.into(), line, column));
        }
        let mut child = None;
        if self.eat(TokenKind::LeftParen) {
            child = Some(self.parse_location_body()?);
            self.expect(TokenKind::RightParen, "`)`")?;
        }
        Ok(Location::new(LocationKind::Name { name: name.into(), child }))
    }

    fn parse_fused_location(&mut self) -> ParseResult<Location> {
        let mut metadata = None;
        if self.eat(TokenKind::Less) {
            metadata = Some(self.parse_attribute()?);
            self.expect(TokenKind::Greater, "`>`")?;
        }
        let locations =
            self.parse_list(TokenKind::LeftSquare, TokenKind::RightSquare, Self::parse_location_body)?;
        Ok(Location::new(LocationKind::Fused { metadata, locations }))
    }

    fn parse_call_site(&mut self) -> ParseResult<Location> {
        self.expect(TokenKind::LeftParen, "`(`")?;
        let callee = self.parse_location_body()?;
        self.expect_word("at")?;
        let caller = self.parse_location_body()?;
        self.expect(TokenKind::RightParen, "`)`")?;
        Ok(Location::new(LocationKind::CallSite { callee, caller }))
    }
}

/// Takes a location apart into the origin it carries and what is left of it.
pub(super) fn split_origin(location: Location) -> (Option<Location>, Option<Origin>) {
    let LocationKind::Fused { metadata: Some(metadata), locations } = location.kind() else {
        return (Some(location), None);
    };
    let Some(OriginAttribute(origin)) = metadata.dialect_value() else { return (Some(location), None) };
    let origin = origin.clone();
    let rest = match locations.as_slice() {
        [only] => Some(only.clone()),
        _ => Some(Location::new(LocationKind::Fused { metadata: None, locations: locations.clone() })),
    };
    (rest, Some(origin))
}
