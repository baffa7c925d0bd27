//! `dense<...> : tensor<...>`: a splat, nested lists, or a hexadecimal string of little-endian elements.

use super::cursor::Place;
use super::{ParseResult, Parser};
use crate::codes::ParseCode;
use crate::ir::{Attribute, AttributeKind, DenseElements, TensorType, Type};
use crate::lexer::TokenKind;
use crate::limits::MAX_DENSE_ELEMENTS;
use crate::source::Span;

/// What stands between `dense<` and `>`. The element type comes later, so numbers are revisited by position.
struct Body {
    span: Span,
    first: Place,
    end: u32,
}

impl Parser<'_> {
    /// An attribute of type `ty`, which `dense<...>` need not write.
    ///
    /// # Errors
    /// No attribute is next, or it is malformed.
    pub fn parse_attribute_of(&mut self, ty: &Type) -> ParseResult<Attribute> {
        if self.at_word("dense") { self.parse_dense_elements(Some(ty)) } else { self.parse_attribute() }
    }

    /// `dense<...> : type`, of type `implied` where none is written.
    pub(super) fn parse_dense_elements(&mut self, implied: Option<&Type>) -> ParseResult<Attribute> {
        let start = self.span();
        self.advance();
        self.expect(TokenKind::Less, "`<`")?;
        let body = self.skip_dense_body()?;
        let ty = match implied {
            Some(ty) if !self.at(TokenKind::Colon) => ty.clone(),
            _ => {
                self.expect(TokenKind::Colon, "`:` and the type of the elements")?;
                self.parse_type()?
            }
        };
        let span = self.span_since(start);
        let Some(tensor) = ty.as_tensor() else {
            return self.error(
                ParseCode::BadAttribute,
                span,
                format!("`dense` needs a tensor type, not `{ty}`"),
            );
        };
        let Some(bits @ 1..=64) = tensor.element.element_bits() else {
            let message = format!("`dense` elements cannot be `{}`", tensor.element);
            return self.error(ParseCode::BadAttribute, span, message);
        };
        let count = match tensor.element_count() {
            Some(count) if count <= MAX_DENSE_ELEMENTS => count as usize,
            _ => {
                let message = format!("more than {MAX_DENSE_ELEMENTS} elements; use `dense_resource`");
                return self.error(ParseCode::TooLarge, span, message);
            }
        };
        let after = self.place();
        self.go_to(body.first);
        let result = self.parse_dense_body(&body, tensor, count, bits.div_ceil(8) as usize);
        self.go_to(after);
        let (data, splat) = result?;
        Ok(Attribute::new(AttributeKind::DenseElements(Box::new(DenseElements { ty, data, splat }))))
    }

    fn skip_dense_body(&mut self) -> ParseResult<Body> {
        let (span, first) = (self.span(), self.place());
        while !self.at(TokenKind::Greater) {
            if self.at(TokenKind::End) {
                return self.unexpected("`>`");
            }
            self.advance();
        }
        let body = Body { span: self.span_since(span), first, end: self.peek().start };
        self.advance();
        Ok(body)
    }

    fn parse_dense_body(
        &mut self,
        body: &Body,
        tensor: &TensorType,
        count: usize,
        width: usize,
    ) -> ParseResult<(Vec<u8>, bool)> {
        if body.first.offset() == body.end {
            return match count {
                0 => Ok((Vec::new(), false)),
                _ => self.error(ParseCode::BadAttribute, body.span, format!("expected {count} elements")),
            };
        }
        if self.at(TokenKind::String) {
            let bytes = self.parse_hexadecimal_bytes()?;
            return match bytes.len() {
                length if length == count * width => Ok((bytes, false)),
                length if length == width => Ok((bytes, true)),
                length => {
                    let message = format!("{length} bytes given, {} expected", count * width);
                    self.error(ParseCode::BadAttribute, body.span, message)
                }
            };
        }
        if !self.at(TokenKind::LeftSquare) {
            let code = self.parse_element_code(&tensor.element)?;
            return Ok((code.to_le_bytes()[..width].to_vec(), true));
        }
        self.parse_dense_lists(body, tensor, width).map(|data| (data, false))
    }

    /// Nested lists, by iteration over the tokens.
    fn parse_dense_lists(&mut self, body: &Body, tensor: &TensorType, width: usize) -> ParseResult<Vec<u8>> {
        let (mut data, mut counts): (Vec<u8>, Vec<u64>) = (Vec::new(), Vec::new());
        let mismatch = "the lists do not have the shape of the tensor";
        while self.peek().start < body.end {
            if self.eat(TokenKind::LeftSquare) {
                if counts.len() >= tensor.shape.len() {
                    return self.error(ParseCode::BadAttribute, body.span, mismatch);
                }
                counts.push(0);
                if !self.at(TokenKind::RightSquare) {
                    continue;
                }
            } else {
                if counts.len() != tensor.shape.len() {
                    return self.error(ParseCode::BadAttribute, body.span, mismatch);
                }
                let code = self.parse_element_code(&tensor.element)?;
                data.extend_from_slice(&code.to_le_bytes()[..width]);
                bump(&mut counts);
            }
            while self.at(TokenKind::RightSquare) {
                let axis = counts.len().saturating_sub(1);
                let (Some(found), Some(&wanted)) = (counts.pop(), tensor.shape.get(axis)) else {
                    return self.error(ParseCode::BadAttribute, self.span(), mismatch);
                };
                if found != wanted {
                    let message =
                        format!("this list has length {found}, but axis {axis} of the tensor has {wanted}");
                    return self.error(ParseCode::BadAttribute, self.span(), message);
                }
                self.advance();
                bump(&mut counts);
            }
            if self.peek().start < body.end {
                self.expect(TokenKind::Comma, "`,` or `]`")?;
            }
        }
        if counts.is_empty() { Ok(data) } else { self.error(ParseCode::BadAttribute, body.span, mismatch) }
    }

    /// A string `"0x..."`: its bytes.
    pub(super) fn parse_hexadecimal_bytes(&mut self) -> ParseResult<Vec<u8>> {
        let span = self.span();
        let text = self.parse_string("a hexadecimal string")?;
        let bytes = text.strip_prefix("0x").and_then(hexadecimal_bytes);
        match bytes {
            Some(bytes) => Ok(bytes),
            None => {
                let message = "expected `\"0x` and an even number of hexadecimal digits";
                self.error(ParseCode::BadAttribute, span, message)
            }
        }
    }
}

fn bump(counts: &mut [u64]) {
    if let Some(last) = counts.last_mut() {
        *last += 1;
    }
}

fn hexadecimal_bytes(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits.as_bytes().chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}
