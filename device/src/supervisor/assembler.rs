//! Lines of a program with symbols, and their words once addresses are known.
//!
//! Every symbol's address is below 2^20, so it fits one `setzi` or one branch: the size of a program never depends on
//! where it lies. Programs start on multiples of 8 bytes.

use std::borrow::Cow;
use std::fmt;

use indexmap::IndexMap;

use crate::isa::{EncodeError, Instruction, OperandKind, Register};
use crate::units::{Address, Bytes};

crate::coded_enum! {
    /// What can go wrong when a program gets its addresses.
    pub enum LinkCode {
        /// A symbol that nobody defines.
        UndefinedSymbol = "D0250", "undefined symbol",
        /// A symbol defined twice.
        DuplicateSymbol = "D0251", "symbol defined twice",
        /// An operand that does not fit.
        Operand = "D0252", "operand of a program does not fit its field",
        /// A program that does not start on 8 bytes.
        MisalignedProgram = "D0253", "program does not start on a multiple of 8 bytes",
    }
}

/// A name for an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Symbol {
    /// Visible to others.
    Named(Cow<'static, str>),
    /// Known in one program only.
    Local(u32),
}

impl Symbol {
    /// A symbol of a fixed name.
    #[must_use]
    pub const fn fixed(name: &'static str) -> Self {
        Self::Named(Cow::Borrowed(name))
    }
}

impl From<String> for Symbol {
    fn from(name: String) -> Self {
        Self::Named(Cow::Owned(name))
    }
}

impl From<&'static str> for Symbol {
    fn from(name: &'static str) -> Self {
        Self::fixed(name)
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::Local(number) => write!(f, ".{number}"),
        }
    }
}

/// One line of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// An instruction as it is.
    Instruction(Instruction),
    /// An instruction whose code address, or constant, is the address of a symbol.
    Reference {
        /// The instruction, with any value in that operand.
        instruction: Instruction,
        /// The symbol.
        symbol: Symbol,
    },
    /// A word of data.
    Word(u32),
    /// A word that holds the address of a symbol.
    AddressWord(Symbol),
    /// `nop` up to a multiple of 8 bytes.
    Align,
    /// Gives the address of the next line a name.
    Label(Symbol),
}

/// A program under construction.
#[derive(Debug, Clone, Default)]
pub struct Assembler {
    lines: Vec<Line>,
    locals: u32,
    /// Words of the stack that open repeats hold.
    pub(super) frame_words: u32,
}

/// A program with addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linked {
    /// The words from the start address on.
    pub words: Vec<u32>,
    /// Named symbols in order of definition.
    pub symbols: IndexMap<String, Address>,
}

/// A program that cannot have its addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkError {
    /// The kind of error.
    pub code: LinkCode,
    /// What is wrong and where.
    pub message: String,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LinkError {}

impl From<EncodeError> for LinkError {
    fn from(error: EncodeError) -> Self {
        Self { code: LinkCode::Operand, message: error.to_string() }
    }
}

impl Assembler {
    /// An empty program.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The lines so far.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// A symbol that no other line has.
    pub fn local(&mut self) -> Symbol {
        Symbol::Local(self.local_number())
    }

    pub(super) fn local_number(&mut self) -> u32 {
        self.locals += 1;
        self.locals
    }

    /// Names the next line's address.
    pub fn label(&mut self, symbol: impl Into<Symbol>) {
        self.lines.push(Line::Label(symbol.into()));
    }

    /// Appends an instruction.
    pub fn push(&mut self, instruction: Instruction) {
        self.lines.push(Line::Instruction(instruction));
    }

    /// Appends instructions.
    pub fn extend(&mut self, instructions: impl IntoIterator<Item = Instruction>) {
        self.lines.extend(instructions.into_iter().map(Line::Instruction));
    }

    /// Appends an instruction that refers to a symbol.
    pub fn reference(&mut self, instruction: Instruction, symbol: impl Into<Symbol>) {
        self.lines.push(Line::Reference { instruction, symbol: symbol.into() });
    }

    /// Appends a word of data.
    pub fn word(&mut self, word: u32) {
        self.lines.push(Line::Word(word));
    }

    /// Appends a word that holds a symbol's address.
    pub fn address_word(&mut self, symbol: impl Into<Symbol>) {
        self.lines.push(Line::AddressWord(symbol.into()));
    }

    /// Fills up to a multiple of 8 bytes.
    pub fn align(&mut self) {
        self.lines.push(Line::Align);
    }

    /// Sets a register: one instruction below 2^20, else three.
    pub fn set(&mut self, destination: Register, value: u32) {
        if value < 1 << 20 {
            self.push(Instruction::Setzi { destination, value });
            return;
        }
        self.push(Instruction::Setzi { destination, value: value >> 12 });
        self.push(Instruction::ShlImmediate { destination, source: destination, value: 12 });
        self.push(Instruction::AddImmediate {
            destination,
            source: destination,
            value: (value & 0xfff) as i32,
        });
    }

    /// Sets a register to a symbol's address.
    pub fn set_address(&mut self, destination: Register, symbol: impl Into<Symbol>) {
        self.reference(Instruction::Setzi { destination, value: 0 }, symbol);
    }

    /// Adds a constant in as many instructions as its size needs.
    pub fn add(&mut self, register: Register, mut value: i64) {
        while value != 0 {
            let part = value.clamp(i64::from(i16::MIN), i64::from(i16::MAX));
            self.push(Instruction::AddImmediate {
                destination: register,
                source: register,
                value: part as i32,
            });
            value -= part;
        }
    }

    /// Calls a symbol.
    pub fn call(&mut self, link: Register, symbol: impl Into<Symbol>) {
        self.reference(Instruction::Call { link, target: Address(0) }, symbol);
    }

    /// Size in bytes; the program starts on a multiple of 8.
    #[must_use]
    pub fn size(&self) -> Bytes {
        let words = self.lines.iter().fold(0_usize, |words, line| words + line_words(line, words));
        Bytes(u32::try_from(words * 4).unwrap_or(u32::MAX))
    }

    /// The words at `start`, a multiple of 8. `lookup` gives the addresses of symbols defined elsewhere.
    ///
    /// # Errors
    /// A symbol that nobody defines or that is defined twice, an operand that does not fit, a misaligned start.
    pub fn link(
        &self,
        start: Address,
        lookup: impl Fn(&str) -> Option<Address>,
    ) -> Result<Linked, LinkError> {
        if !start.is_aligned(Bytes(8)) {
            let message = format!("program starts at {start}, expected a multiple of 8");
            return Err(LinkError { code: LinkCode::MisalignedProgram, message });
        }
        let places = self.places(start)?;
        let resolve = |symbol: &Symbol| {
            let elsewhere = || match symbol {
                Symbol::Named(name) => lookup(name),
                Symbol::Local(_) => None,
            };
            places.get(symbol).copied().or_else(elsewhere).ok_or_else(|| LinkError {
                code: LinkCode::UndefinedSymbol,
                message: format!("undefined symbol `{symbol}`"),
            })
        };
        let mut words = Vec::new();
        for line in &self.lines {
            match line {
                Line::Instruction(instruction) => words.extend(instruction.encode()?),
                Line::Reference { instruction, symbol } => {
                    words.extend(with_address(*instruction, resolve(symbol)?).encode()?);
                }
                Line::Word(word) => words.push(*word),
                Line::AddressWord(symbol) => words.push(resolve(symbol)?.0),
                Line::Align => {
                    for _ in 0..line_words(line, words.len()) {
                        words.extend(Instruction::Nop {}.encode()?);
                    }
                }
                Line::Label(_) => {}
            }
        }
        let named = places.into_iter().filter_map(|(symbol, address)| match symbol {
            Symbol::Named(name) => Some((name.into_owned(), address)),
            Symbol::Local(_) => None,
        });
        Ok(Linked { words, symbols: named.collect() })
    }

    /// Addresses of all labels.
    fn places(&self, start: Address) -> Result<IndexMap<Symbol, Address>, LinkError> {
        let mut places = IndexMap::new();
        let mut words = 0;
        for line in &self.lines {
            if let Line::Label(symbol) = line {
                let address =
                    u32::try_from(words * 4).ok().and_then(|offset| start.checked_add(Bytes(offset)));
                if places.insert(symbol.clone(), address.unwrap_or(Address(u32::MAX))).is_some() {
                    let message = format!("symbol `{symbol}` is defined twice");
                    return Err(LinkError { code: LinkCode::DuplicateSymbol, message });
                }
            }
            words += line_words(line, words);
        }
        Ok(places)
    }
}

/// Words of a line that follows `before` words.
fn line_words(line: &Line, before: usize) -> usize {
    match line {
        Line::Instruction(instruction) | Line::Reference { instruction, .. } => instruction.word_count(),
        Line::Word(_) | Line::AddressWord(_) => 1,
        Line::Align => before % 2,
        Line::Label(_) => 0,
    }
}

/// The instruction with `address` in its code address, or else in its constant.
fn with_address(instruction: Instruction, address: Address) -> Instruction {
    let mut values = instruction.values();
    let operands = instruction.form().operands;
    let place = operands
        .iter()
        .position(|operand| operand.kind == OperandKind::CodeAddress)
        .or_else(|| operands.iter().position(|operand| operand.kind == OperandKind::Hexadecimal));
    if let Some(value) = place.and_then(|place| values.get_mut(place)) {
        *value = i64::from(address.0);
    }
    Instruction::from_values(instruction.opcode(), &values).unwrap_or(instruction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_known_before_addresses_and_holds_after() {
        let mut program = Assembler::new();
        let again = program.local();
        program.set(Register::M0, 0x1234_5678);
        program.label("body");
        program.label(again.clone());
        program.call(Register::M10, "elsewhere");
        program.align();
        program.reference(Instruction::Brnz { source: Register::M0, target: Address(0) }, again);
        program.align();
        program.address_word("body");
        let linked = program
            .link(Address(0x5c000), |name| (name == "elsewhere").then_some(Address(0x60000)))
            .expect("links");
        assert_eq!(linked.words.len() * 4, program.size().0 as usize);
        assert_eq!(
            linked.words,
            [0x1901_2345, 0x4200_a00c, 0x2200_0678, 0x18a1_8000, 0x1101_7003, 0x19e0_0000, 0x5c00c]
        );
        assert_eq!(linked.symbols.get("body"), Some(&Address(0x5c00c)));
        assert_eq!(linked.symbols.len(), 1, "local symbols stay inside");
    }

    #[test]
    fn programs_that_cannot_link_say_why() {
        let mut program = Assembler::new();
        program.call(Register::M10, "nowhere");
        let failed = |result: Result<Linked, LinkError>, code: LinkCode| {
            let error = result.expect_err("fails");
            assert_eq!(error.code, code);
            error.to_string()
        };
        let undefined = program.link(Address(0x5c000), |_| None);
        assert_eq!(failed(undefined, LinkCode::UndefinedSymbol), "undefined symbol `nowhere`");
        assert_eq!(
            failed(program.link(Address(0x5c004), |_| None), LinkCode::MisalignedProgram),
            "program starts at 0x5c004, expected a multiple of 8"
        );
        assert_eq!(
            failed(program.link(Address(0x5c000), |_| Some(Address(0x5c002))), LinkCode::Operand),
            "operand `target` of `call` is 376834, expected a multiple of 4"
        );
        program.label("twice");
        program.label("twice");
        let twice = program.link(Address(0x5c000), |_| None);
        assert_eq!(failed(twice, LinkCode::DuplicateSymbol), "symbol `twice` is defined twice");
    }

    #[test]
    fn large_constants_are_added_in_parts() {
        let mut program = Assembler::new();
        program.add(Register::M2, 40_000);
        program.add(Register::M2, -40_000);
        program.add(Register::M2, 0);
        let values: Vec<i64> = program
            .lines()
            .iter()
            .map(|line| match line {
                Line::Instruction(Instruction::AddImmediate { value, .. }) => i64::from(*value),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(values, [32_767, 7_233, -32_768, -7_232]);
    }
}
