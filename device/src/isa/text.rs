//! Instructions as text: the vendor's spelling, `delayxpic 112, 0, 0x640`, and its reader.
//!
//! Operands are shown as stored: counts minus one, physical ids, item addresses. A double control shows its second
//! word's fields after the first's. The reader also takes registers without `$`, control registers by number, and
//! the aliases `mov` and `zero`.

use std::fmt;

use smallvec::SmallVec;

use super::control_register::ControlRegister;
use super::encoding::IsaCode;
use super::form::{Context, Contexts, Form, Operand};
use super::operand::OperandKind;
use super::table::{FORMS, Instruction};

/// A text that is no instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextError(String);

impl TextError {
    /// The kind of error.
    #[must_use]
    pub fn code(&self) -> IsaCode {
        IsaCode::UnreadableText
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TextError {}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = self.form();
        f.write_str(form.mnemonic)?;
        let context = if form.contexts == Contexts::Worker { Context::Worker } else { Context::Supervisor };
        for (index, (operand, &value)) in form.operands.iter().zip(self.values().iter()).enumerate() {
            f.write_str(if index == 0 { " " } else { ", " })?;
            write_operand(f, operand.kind, value, context)?;
        }
        Ok(())
    }
}

fn write_operand(f: &mut fmt::Formatter<'_>, kind: OperandKind, value: i64, context: Context) -> fmt::Result {
    match kind {
        OperandKind::Register => write!(f, "$m{value}"),
        OperandKind::FloatRegister => write!(f, "$a{value}"),
        OperandKind::FloatPair => write!(f, "$a{value}:{}", value + 1),
        OperandKind::ControlRegister => {
            let name = u8::try_from(value).ok().and_then(|number| ControlRegister(number).name(context));
            match name {
                Some(name) => write!(f, "${name}"),
                None => write!(f, "0x{value:x}"),
            }
        }
        OperandKind::CountMinusOne | OperandKind::Unsigned | OperandKind::Signed => write!(f, "{value}"),
        OperandKind::Hexadecimal | OperandKind::CodeAddress | OperandKind::High20 => write!(f, "0x{value:x}"),
    }
}

impl std::str::FromStr for Instruction {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let text = text.trim();
        let (mnemonic, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let operands: SmallVec<[&str; 8]> =
            operands.split(',').map(str::trim).filter(|text| !text.is_empty()).collect();
        match (mnemonic, operands.as_slice()) {
            ("mov", &[destination, source]) => read("or", &[destination, source, "0"]),
            ("zero", &[destination]) => read("or", &[destination, "$m15", "$m15"]),
            (mnemonic, operands) => read(mnemonic, operands),
        }
    }
}

/// The first form of that mnemonic that takes these operands.
fn read(mnemonic: &str, operands: &[&str]) -> Result<Instruction, TextError> {
    let mut forms = FORMS.iter().filter(|form| form.mnemonic == mnemonic).peekable();
    if forms.peek().is_none() {
        return Err(TextError(format!("unknown instruction `{mnemonic}`")));
    }
    let mut misfit = None;
    for form in forms {
        match read_form(form, operands) {
            Some(Ok(instruction)) => return Ok(instruction),
            Some(Err(error)) => misfit = Some(error),
            None => {}
        }
    }
    Err(misfit.unwrap_or_else(|| {
        TextError(format!("`{mnemonic}` does not take the operands `{}`", operands.join(", ")))
    }))
}

/// `None` when the operands are of other kinds than the form's.
fn read_form(form: &Form, operands: &[&str]) -> Option<Result<Instruction, TextError>> {
    if operands.len() != form.operands.len() {
        return None;
    }
    let values: Option<SmallVec<[i64; 8]>> =
        form.operands.iter().zip(operands).map(|(operand, text)| read_operand(operand, text)).collect();
    let instruction = Instruction::from_values(form.opcode, &values?)?;
    Some(instruction.encode().map(|_| instruction).map_err(|error| TextError(error.to_string())))
}

fn read_operand(operand: &Operand, text: &str) -> Option<i64> {
    match operand.kind {
        OperandKind::Register => read_register(text.trim_end_matches("+="), 'm'),
        OperandKind::FloatRegister => read_register(text, 'a'),
        OperandKind::FloatPair => read_register(text.split_once(':').map_or(text, |(even, _)| even), 'a'),
        OperandKind::ControlRegister => ControlRegister::from_name(text.trim_start_matches('$'))
            .map(|control| i64::from(control.0))
            .or_else(|| read_number(text)),
        _ => read_number(text),
    }
}

fn read_register(text: &str, file: char) -> Option<i64> {
    let number: u8 = text.strip_prefix('$').unwrap_or(text).strip_prefix(file)?.parse().ok()?;
    (number < 16).then_some(i64::from(number))
}

fn read_number(text: &str) -> Option<i64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let number = match digits.strip_prefix("0x") {
        Some(hexadecimal) => i64::from(u32::from_str_radix(hexadecimal, 16).ok()?),
        None => i64::from(digits.parse::<u32>().ok()?),
    };
    Some(if negative { -number } else { number })
}
