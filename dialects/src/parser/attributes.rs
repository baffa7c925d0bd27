//! Attributes.

use smallvec::SmallVec;

use super::{IntegerLiteral, ParseResult, Parser};
use crate::codes::ParseCode;
use crate::diagnostics::Diagnostic;
use crate::ir::{
    AliasValue, Attribute, AttributeKind, AttributeList, DenseArray, FloatFormat, IntegerValue, Name, Opaque,
    Type,
};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// An attribute.
    ///
    /// # Errors
    /// No attribute is next, or it is malformed.
    pub fn parse_attribute(&mut self) -> ParseResult<Attribute> {
        let start = self.peek().start;
        let attribute = self.nested(Self::parse_attribute_inner)?;
        Ok(self.shared.attribute(self.text_from(start), attribute))
    }

    pub(super) fn parse_attribute_inner(&mut self) -> ParseResult<Attribute> {
        match self.peek().kind {
            TokenKind::String => {
                let bytes = self.parse_string_bytes("a string")?;
                Ok(Attribute::string(bytes))
            }
            TokenKind::Decimal | TokenKind::Hexadecimal | TokenKind::Float | TokenKind::Minus => {
                self.parse_number_attribute()
            }
            TokenKind::At | TokenKind::AtString => {
                Ok(Attribute::new(AttributeKind::Symbol(self.parse_symbol_ref()?)))
            }
            TokenKind::LeftSquare => Ok(Attribute::array(self.parse_list(
                TokenKind::LeftSquare,
                TokenKind::RightSquare,
                Self::parse_attribute,
            )?)),
            TokenKind::LeftBrace => Ok(Attribute::dictionary(self.parse_attribute_dictionary()?)),
            TokenKind::Hash => self.parse_dialect_attribute(),
            TokenKind::Word => self.parse_word_attribute(),
            TokenKind::Bang | TokenKind::LeftParen => Ok(Attribute::ty(self.parse_type()?)),
            _ => self.unexpected("an attribute"),
        }
    }

    fn parse_word_attribute(&mut self) -> ParseResult<Attribute> {
        match self.peek_text() {
            "true" | "false" => {
                let value = self.token_text(self.peek()) == "true";
                self.advance();
                Ok(Attribute::bool(value))
            }
            "unit" => {
                self.advance();
                Ok(Attribute::unit())
            }
            "inf" | "nan" => self.parse_number_attribute(),
            "array" => self.parse_dense_array(),
            "dense" => self.parse_dense_elements(None),
            "dense_resource" => self.parse_dense_resource(),
            "loc" => {
                let location = self.parse_location()?;
                Ok(Attribute::new(AttributeKind::Location(location)))
            }
            _ if self.at_type() => Ok(Attribute::ty(self.parse_type()?)),
            word => {
                let error = Diagnostic::error(
                    ParseCode::UnknownAttribute,
                    self.span(),
                    format!("`{word}` is no attribute"),
                );
                let known =
                    ["true", "false", "unit", "array", "dense", "dense_resource", "f16", "f32", "tensor"];
                let error = match self.diagnostics.nearest(word, known) {
                    Some(near) => error.fix(self.span(), near, format!("did you mean `{near}`?")),
                    None => error.note(format!("write a string as `\"{word}\"`")),
                };
                self.report(error)
            }
        }
    }

    /// `{name = value, name, "any name" = value}`; a name without value is a unit attribute.
    ///
    /// # Errors
    /// No dictionary is next, or a name is given twice.
    pub fn parse_attribute_dictionary(&mut self) -> ParseResult<Vec<(Name, Attribute)>> {
        let entries = self.parse_entries()?;
        // Not `into_vec`, which takes room for four.
        let mut list = Vec::with_capacity(entries.len());
        list.extend(entries);
        Ok(list)
    }

    /// [`parse_attribute_dictionary`](Self::parse_attribute_dictionary) of an op.
    pub(super) fn parse_attribute_list(&mut self) -> ParseResult<AttributeList> {
        self.parse_entries().map(AttributeList::from_iter)
    }

    fn parse_entries(&mut self) -> ParseResult<SmallVec<[(Name, Attribute); 4]>> {
        let mut entries: SmallVec<[(Name, Attribute); 4]> = SmallVec::new();
        let mut seen = ipu_device::hash::HashSet::default();
        self.parse_each(TokenKind::LeftBrace, TokenKind::RightBrace, |parser| {
            let span = parser.span();
            let name = match parser.peek().kind {
                TokenKind::String => {
                    let name = parser.parse_string("an attribute name")?;
                    parser.shared.name(&name)
                }
                _ => {
                    let name = parser.parse_word("an attribute name")?;
                    parser.shared.name(name)
                }
            };
            let value =
                if parser.eat(TokenKind::Equal) { parser.parse_attribute()? } else { Attribute::unit() };
            // Few dictionaries are large enough for a set.
            let known = match entries.len() {
                0..16 => entries.iter().any(|(known, _)| *known == name),
                16 => {
                    seen.extend(entries.iter().map(|(known, _)| *known));
                    !seen.insert(name)
                }
                _ => !seen.insert(name),
            };
            if known {
                let message = format!("attribute `{name}` is given twice");
                return parser.error(ParseCode::DuplicateAttribute, span, message);
            }
            entries.push((name, value));
            Ok(())
        })?;
        Ok(entries)
    }

    fn parse_number_attribute(&mut self) -> ParseResult<Attribute> {
        let start = self.span();
        let number = if self.at(TokenKind::Minus) { self.peek_second() } else { self.peek() };
        let kind = number.kind;
        if matches!(kind, TokenKind::Float | TokenKind::Word) {
            let text = self.parse_float_text()?;
            let format = match self.parse_type_suffix()? {
                None => FloatFormat::F64,
                Some(ty) => match ty.as_float() {
                    Some(format) => format,
                    None => {
                        let span = self.span_since(start);
                        return self.error(ParseCode::BadAttribute, span, format!("`{ty}` is no float type"));
                    }
                },
            };
            let bits = self.float_code(&text, format, start)?;
            return Ok(Attribute::float_bits(bits, format));
        }
        let literal = self.parse_integer_literal()?;
        let ty = self.parse_type_suffix()?.unwrap_or_else(|| Type::integer(64));
        let span = self.span_since(start);
        if let Some(format) = ty.as_float() {
            let range = 0..1i128 << format.bits();
            let fits = literal.hexadecimal && !literal.beyond && range.contains(&literal.value);
            if !fits {
                let message =
                    format!("a float is written with a point, or as the hexadecimal code of a `{ty}`");
                return self.error(ParseCode::BadAttribute, span, message);
            }
            return Ok(Attribute::float_bits(literal.value as u64, format));
        }
        self.check_integer(literal, &ty, span)?;
        let hexadecimal = literal.hexadecimal;
        Ok(Attribute::new(AttributeKind::Integer(IntegerValue::new(literal.value, ty, hexadecimal))))
    }

    /// `: type`, if it follows.
    fn parse_type_suffix(&mut self) -> ParseResult<Option<Type>> {
        if self.eat(TokenKind::Colon) { self.parse_type().map(Some) } else { Ok(None) }
    }

    /// Checks that `value` is one of integer type `ty`, read as signed or unsigned for signless types.
    pub(super) fn check_integer(
        &mut self,
        literal: IntegerLiteral,
        ty: &Type,
        span: crate::source::Span,
    ) -> ParseResult<()> {
        use crate::ir::Signedness::{Signed, Unsigned};
        let IntegerLiteral { value, beyond, .. } = literal;
        let fits = match (ty.as_integer(), ty.kind()) {
            // Only 128 bits without sign hold what `i128` does not.
            (Some((width, signedness)), _) if beyond => width == 128 && signedness != Signed,
            (_, crate::ir::TypeKind::Index) if beyond => false,
            (Some((width, signedness)), _) if width < 127 => {
                let low = if signedness == Unsigned { 0 } else { -(1i128 << (width - 1)) };
                let high = if signedness == Signed { 1i128 << (width - 1) } else { 1i128 << width };
                (low..high).contains(&value)
            }
            (Some((127, signedness)), _) => {
                let low = if signedness == Unsigned { 0 } else { i128::MIN / 2 };
                let high = if signedness == Signed { i128::MAX / 2 } else { i128::MAX };
                (low..=high).contains(&value)
            }
            (Some((_, signedness)), _) => signedness != Unsigned || value >= 0,
            (None, crate::ir::TypeKind::Index) => i64::try_from(value).is_ok(),
            _ => {
                return self.error(ParseCode::BadAttribute, span, format!("`{ty}` is no integer type"));
            }
        };
        if fits {
            Ok(())
        } else {
            self.error(ParseCode::BadNumber, span, format!("{literal} does not fit `{ty}`"))
        }
    }

    /// The text of a float: `-1.5e3`, `inf`, `-inf`, `nan`, `nan(0x7e01)`.
    pub(super) fn parse_float_text(&mut self) -> ParseResult<String> {
        let sign = if self.eat(TokenKind::Minus) { "-" } else { "" };
        let text = self.peek_text();
        match self.peek().kind {
            TokenKind::Float => {
                self.advance();
                Ok(format!("{sign}{text}"))
            }
            TokenKind::Word if text == "inf" => {
                self.advance();
                Ok(format!("{sign}inf"))
            }
            TokenKind::Word if text == "nan" => {
                self.advance();
                if !self.eat(TokenKind::LeftParen) {
                    return Ok(format!("{sign}nan"));
                }
                let code = self.expect(TokenKind::Hexadecimal, "the hexadecimal code of a NaN")?;
                let code = self.token_text(code);
                self.expect(TokenKind::RightParen, "`)`")?;
                Ok(code.to_owned())
            }
            _ => self.unexpected("a float"),
        }
    }

    /// The code in `format` of a float text.
    pub(super) fn float_code(
        &mut self,
        text: &str,
        format: FloatFormat,
        start: crate::source::Span,
    ) -> ParseResult<u64> {
        let code = if let Some(digits) = text.strip_prefix("0x") {
            u64::from_str_radix(digits, 16).ok().filter(|&code| format.decode(code).is_nan())
        } else if format == FloatFormat::F32 {
            text.parse::<f32>().ok().map(|value| u64::from(value.to_bits()))
        } else {
            text.parse::<f64>().ok().map(|value| format.encode(value))
        };
        match code {
            Some(code) => Ok(code),
            None => {
                let span = self.span_since(start);
                self.error(ParseCode::BadNumber, span, format!("`{text}` is no `{}`", format.name()))
            }
        }
    }

    fn parse_dense_array(&mut self) -> ParseResult<Attribute> {
        self.advance();
        self.expect(TokenKind::Less, "`<`")?;
        let span = self.span();
        let element = self.parse_type()?;
        let usable = element.as_float().is_some() || matches!(element.as_integer(), Some((1..=64, _)));
        if !usable {
            return self.error(ParseCode::BadAttribute, span, format!("`{element}` cannot be in an `array`"));
        }
        let mut values = Vec::new();
        if self.eat(TokenKind::Colon) {
            loop {
                values.push(self.parse_element_code(&element)?);
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
        }
        self.expect(TokenKind::Greater, "`>`")?;
        Ok(Attribute::new(AttributeKind::DenseArray(DenseArray { element, values: values.into() })))
    }

    /// One number of type `ty`, as a code of up to 64 bits.
    pub(super) fn parse_element_code(&mut self, ty: &Type) -> ParseResult<i64> {
        let start = self.span();
        if ty.as_integer().is_some_and(|(width, _)| width == 1) && self.at(TokenKind::Word) {
            return Ok(self.parse_one_of(&["false", "true"], "truth value")? as i64);
        }
        if let Some(format) = ty.as_float() {
            if self.at(TokenKind::Hexadecimal) {
                let literal = self.parse_integer_literal()?;
                if !literal.beyond && literal.value >> format.bits() == 0 {
                    return Ok(literal.value as u64 as i64);
                }
                let span = self.span_since(start);
                return self.error(ParseCode::BadNumber, span, format!("the code does not fit `{ty}`"));
            }
            let text = self.parse_float_text()?;
            return Ok(self.float_code(&text, format, start)? as i64);
        }
        let literal = self.parse_integer_literal()?;
        let span = self.span_since(start);
        match ty.kind() {
            crate::ir::TypeKind::Dialect(_) => {
                let bits = ty.element_bits().unwrap_or(0).min(64);
                if literal.beyond || literal.value < 0 || literal.value >> bits != 0 {
                    return self.error(ParseCode::BadNumber, span, format!("the code does not fit `{ty}`"));
                }
            }
            _ => self.check_integer(literal, ty, span)?,
        }
        Ok(literal.value as i64)
    }

    fn parse_dense_resource(&mut self) -> ParseResult<Attribute> {
        self.advance();
        self.expect(TokenKind::Less, "`<`")?;
        let name = match self.peek().kind {
            TokenKind::String => self.parse_string("a resource name")?,
            _ => self.parse_word("a resource name")?.into(),
        };
        self.expect(TokenKind::Greater, "`>`")?;
        let ty = self.parse_type_suffix()?;
        Ok(Attribute::new(AttributeKind::DenseResource { name: name.into(), ty }))
    }

    fn parse_dialect_attribute(&mut self) -> ParseResult<Attribute> {
        let (span, text) = (self.span(), self.peek_text());
        let name = &text[1..];
        self.advance();
        if !name.contains('.') {
            return match self.resolve_alias(text, span)? {
                AliasValue::Attribute(attribute) => Ok(attribute),
                AliasValue::Type(_) => Err(super::Reported),
            };
        }
        if let Some(declaration) = self.registry.attribute(name) {
            return (declaration.parse)(self);
        }
        if self.allow_unregistered {
            let body = self.parse_opaque_body()?;
            let opaque = Opaque { name: name.into(), body: body.into() };
            return Ok(Attribute::new(AttributeKind::Opaque(Box::new(opaque))));
        }
        let message = format!("no dialect declares attribute `{text}`");
        let mut error = Diagnostic::error(ParseCode::UnknownAttribute, span, message);
        if let Some(near) = self.diagnostics.nearest(name, self.registry.attribute_names()) {
            error = error.fix(span, format!("#{near}"), format!("did you mean `#{near}`?"));
        }
        self.report(error)
    }
}
