//! Operands of instruction ops as they stand in the text: `m8, 0x2, @gather`.
//!
//! An operand is what the field table calls it: a register, or a number as stored (counts minus one, physical ids, item
//! addresses). In place of a code address, or of the constant of `setzi`, a symbol may stand; its address is the number.
//! How a number was written is kept for printing and takes no part in equality.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use smallvec::SmallVec;

use crate::ir::DialectValue;
use crate::lexer::TokenKind;
use crate::parser::{ParseResult, Parser};
use crate::printer::Printer;

/// One operand.
#[derive(Debug, Clone)]
pub enum OperandText {
    /// `m8`, a main register.
    Main(u8),
    /// `a3`, an arithmetic register.
    Float(u8),
    /// `a2:3`, a pair of arithmetic registers, by its even one.
    Pair(u8),
    /// A number as stored.
    Number {
        /// The number.
        value: i64,
        /// Written in base 16.
        hexadecimal: bool,
    },
    /// `@gather`: the address of a symbol.
    Symbol(Arc<str>),
}

impl OperandText {
    /// The same without what does not count for equality.
    fn key(&self) -> (u8, i64, &str) {
        match self {
            Self::Main(register) => (0, (*register).into(), ""),
            Self::Float(register) => (1, (*register).into(), ""),
            Self::Pair(register) => (2, (*register).into(), ""),
            Self::Number { value, .. } => (3, *value, ""),
            Self::Symbol(name) => (4, 0, name),
        }
    }

    fn print(&self, printer: &mut Printer<'_>) {
        match self {
            Self::Main(register) => printer.display(format_args!("m{register}")),
            Self::Float(register) => printer.display(format_args!("a{register}")),
            Self::Pair(register) => {
                printer.display(format_args!("a{register}:{}", register.saturating_add(1)));
            }
            Self::Number { value, hexadecimal: true } if *value >= 0 => {
                printer.display(format_args!("0x{value:x}"));
            }
            Self::Number { value, .. } => printer.display(value),
            Self::Symbol(name) => printer.symbol_name(name),
        }
    }
}

impl fmt::Display for OperandText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main(register) => write!(f, "m{register}"),
            Self::Float(register) => write!(f, "a{register}"),
            Self::Pair(register) => write!(f, "a{register}:{}", register.saturating_add(1)),
            Self::Number { value, hexadecimal: true } if *value >= 0 => write!(f, "0x{value:x}"),
            Self::Number { value, .. } => write!(f, "{value}"),
            Self::Symbol(name) => write!(f, "@{name}"),
        }
    }
}

impl PartialEq for OperandText {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for OperandText {}

impl Hash for OperandText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// `#tile.operands<m8, 0x2>`: the operands of an instruction op, in the order of the field table.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Operands(pub SmallVec<[OperandText; 4]>);

impl fmt::Display for Operands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, operand) in self.0.iter().enumerate() {
            write!(f, "{}{operand}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// The number of a register of that file, if `word` is one.
fn register(word: &str, file: char) -> Option<u8> {
    let digits = word.strip_prefix(file)?;
    let number: u8 = digits.parse().ok()?;
    // `m007` and `m+7` are no registers.
    (number < 16 && number.to_string() == digits).then_some(number)
}

/// Whether an operand is next.
fn at_operand(parser: &Parser<'_>) -> bool {
    match parser.peek().kind {
        TokenKind::Decimal | TokenKind::Hexadecimal | TokenKind::Minus => true,
        TokenKind::At | TokenKind::AtString => true,
        // Names of ops have a dot; anything else is meant as a register.
        TokenKind::Word => !parser.peek_text().contains('.') && !parser.at_word("loc"),
        _ => false,
    }
}

fn parse_operand(parser: &mut Parser<'_>) -> ParseResult<OperandText> {
    match parser.peek().kind {
        TokenKind::At | TokenKind::AtString => {
            parser.parse_symbol_name().map(|name| OperandText::Symbol(name.into()))
        }
        TokenKind::Word => {
            let word = parser.peek_text();
            if let Some(number) = register(word, 'm') {
                parser.advance();
                return Ok(OperandText::Main(number));
            }
            let Some(number) = register(word, 'a') else {
                return parser.unexpected("a register `m0` to `m15` or `a0` to `a15`, a number or a symbol");
            };
            parser.advance();
            if !parser.eat(TokenKind::Colon) {
                return Ok(OperandText::Float(number));
            }
            let (span, odd) = (parser.span(), parser.parse_integer::<u8>("the odd register of the pair")?);
            if number % 2 == 0 && odd == number + 1 {
                return Ok(OperandText::Pair(number));
            }
            let message = format!("`a{number}:{odd}` is no pair, expected an even register and the next one");
            parser.error(crate::codes::ParseCode::BadNumber, span, message)
        }
        _ => {
            let literal = parser.parse_integer_literal()?;
            match i64::try_from(literal.value) {
                Ok(value) => Ok(OperandText::Number { value, hexadecimal: literal.hexadecimal }),
                Err(_) => {
                    let message = format!("{} does not fit 64 bits", literal.value);
                    parser.error(crate::codes::ParseCode::BadNumber, parser.span(), message)
                }
            }
        }
    }
}

impl Operands {
    /// `m8, 0x2, @gather`, or nothing.
    ///
    /// # Errors
    /// What follows a comma is no operand.
    pub fn parse_list(parser: &mut Parser<'_>) -> ParseResult<Self> {
        let mut operands = SmallVec::new();
        if at_operand(parser) {
            operands.push(parse_operand(parser)?);
            while parser.eat(TokenKind::Comma) {
                operands.push(parse_operand(parser)?);
            }
        }
        Ok(Self(operands))
    }

    /// Prints the list.
    pub fn print_list(&self, printer: &mut Printer<'_>) {
        printer.list(&self.0, ", ", |printer, operand| operand.print(printer));
    }
}

impl DialectValue for Operands {
    const NAME: &'static str = "tile.operands";

    fn parse(parser: &mut Parser<'_>) -> ParseResult<Self> {
        parser.expect(TokenKind::Less, "`<` and operands")?;
        let operands = Self::parse_list(parser)?;
        parser.expect(TokenKind::Greater, "`>`")?;
        Ok(operands)
    }

    fn print(&self, printer: &mut Printer<'_>) {
        printer.text("<");
        self.print_list(printer);
        printer.text(">");
    }
}
