//! Instruction to words and back, read off the field table.

use std::fmt;
use std::sync::LazyLock;

use smallvec::{SmallVec, smallvec};

use super::form::{Context, Form, Operand};
use super::operand::Misfit;
use super::table::{FORMS, Instruction};

crate::coded_enum! {
    /// What can be wrong with instructions and their words.
    pub enum IsaCode {
        /// An operand does not fit its bit field.
        OperandOutOfRange = "D0201", "operand does not fit its field",
        /// A word is no instruction that the table knows.
        UnknownWord = "D0202", "word is not a known instruction",
        /// An instruction's second word is missing.
        TruncatedInstruction = "D0203", "second word of an instruction is missing",
        /// A text is not an instruction.
        UnreadableText = "D0204", "text is not an instruction",
    }
}

/// The words of one instruction.
pub type Words = SmallVec<[u32; 2]>;

/// An operand that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodeError {
    /// The instruction.
    pub instruction: Instruction,
    /// Name of the operand.
    pub operand: &'static str,
    /// Its value.
    pub value: i64,
    misfit: Misfit,
}

impl EncodeError {
    /// The kind of error.
    #[must_use]
    pub fn code(&self) -> IsaCode {
        IsaCode::OperandOutOfRange
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { instruction, operand, value, misfit } = self;
        write!(f, "operand `{operand}` of `{}` is {value}, expected ", instruction.form().mnemonic)?;
        match misfit {
            Misfit::NotMultiple(unit) => write!(f, "a multiple of {unit}"),
            Misfit::OutOfRange(least, most) => write!(f, "{least} to {most}"),
        }
    }
}

impl std::error::Error for EncodeError {}

/// Words that are no instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeError {
    /// The kind of error.
    pub code: IsaCode,
    /// The first word.
    pub word: u32,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            IsaCode::TruncatedInstruction => {
                write!(
                    f,
                    "word `0x{:08x}` starts an instruction of two words, the second is missing",
                    self.word
                )
            }
            _ => write!(f, "word `0x{:08x}` is not a known instruction", self.word),
        }
    }
}

impl std::error::Error for DecodeError {}

impl Instruction {
    /// The words of this instruction.
    ///
    /// # Errors
    /// When an operand does not fit its field; nothing is ever masked off.
    pub fn encode(&self) -> Result<Words, EncodeError> {
        let form = self.form();
        let mut bits = form.fixed_value;
        for (operand, &value) in form.operands.iter().zip(self.values().iter()) {
            let stored = operand.kind.to_bits(value, operand.width()).map_err(|misfit| EncodeError {
                instruction: *self,
                operand: operand.name,
                value,
                misfit,
            })?;
            bits |= scatter(operand, stored);
        }
        let first = bits as u32;
        Ok(if form.word_count == 1 { smallvec![first] } else { smallvec![first, (bits >> 32) as u32] })
    }
}

/// Puts an operand's bits where its fields are.
fn scatter(operand: &Operand, mut stored: u64) -> u64 {
    let mut bits = 0;
    for field in operand.fields {
        bits |= (stored & ((1 << field.width) - 1)) << field.lsb;
        stored >>= field.width;
    }
    bits
}

/// Collects an operand's bits from its fields.
fn gather(operand: &Operand, bits: u64) -> u64 {
    let (mut stored, mut position) = (0, 0);
    for field in operand.fields {
        stored |= ((bits >> field.lsb) & ((1 << field.width) - 1)) << position;
        position += field.width;
    }
    stored
}

/// Forms by the top byte of the first word, the most specific first.
static FORMS_BY_TOP_BYTE: LazyLock<Vec<SmallVec<[&'static Form; 4]>>> = LazyLock::new(|| {
    (0..=255_u64)
        .map(|top| {
            let mut forms: SmallVec<[&Form; 4]> = FORMS
                .iter()
                .filter(|form| (top << 24) & form.fixed_mask == form.fixed_value & 0xff00_0000)
                .collect();
            forms.sort_by_key(|form| std::cmp::Reverse(form.fixed_mask.count_ones()));
            forms
        })
        .collect()
});

/// The instruction at the start of `words`.
///
/// # Errors
/// When the word is no known instruction of `context`, or its second word is missing.
pub fn decode(context: Context, words: &[u32]) -> Result<Instruction, DecodeError> {
    let Some(&first) = words.first() else {
        return Err(DecodeError { code: IsaCode::TruncatedInstruction, word: 0 });
    };
    let unknown = DecodeError { code: IsaCode::UnknownWord, word: first };
    let low = u64::from(first);
    let form = FORMS_BY_TOP_BYTE[(first >> 24) as usize]
        .iter()
        .find(|form| form.contexts.includes(context) && low & form.fixed_mask == form.fixed_value)
        .ok_or(unknown)?;
    let second = match (form.word_count, words.get(1)) {
        (1, _) => 0,
        (_, Some(&second)) => u64::from(second),
        (_, None) => return Err(DecodeError { code: IsaCode::TruncatedInstruction, word: first }),
    };
    let bits = low | second << 32;
    let values: SmallVec<[i64; 8]> = form
        .operands
        .iter()
        .map(|operand| operand.kind.number_of_bits(gather(operand, bits), operand.width()))
        .collect();
    Instruction::from_values(form.opcode, &values).ok_or(unknown)
}

/// All instructions of a program with the index of their first word.
///
/// # Errors
/// The index of the first word that is no known instruction, and why.
pub fn decode_all(
    context: Context,
    words: &[u32],
) -> Result<Vec<(usize, Instruction)>, (usize, DecodeError)> {
    let mut instructions = Vec::with_capacity(words.len());
    let mut rest = words;
    while !rest.is_empty() {
        let index = words.len() - rest.len();
        let instruction = decode(context, rest).map_err(|error| (index, error))?;
        instructions.push((index, instruction));
        rest = rest.get(instruction.word_count()..).unwrap_or_default();
    }
    Ok(instructions)
}

/// The words of a program.
///
/// # Errors
/// When an operand does not fit its field.
pub fn encode_all<'a>(
    instructions: impl IntoIterator<Item = &'a Instruction>,
) -> Result<Vec<u32>, EncodeError> {
    let mut words = Vec::new();
    for instruction in instructions {
        words.extend(instruction.encode()?);
    }
    Ok(words)
}
