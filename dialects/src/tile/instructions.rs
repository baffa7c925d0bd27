//! Instruction ops: one declaration for each mnemonic of the device's field table, and the way between an op's operands
//! and an [`Instruction`].
//!
//! Rules kept here: the field table alone says which operands there are; several forms may share a mnemonic, the kinds of
//! the operands tell them apart; an instruction whose text would read back as another word has no op and is written as
//! `tile.word`.

use std::fmt;
use std::sync::{Arc, LazyLock, OnceLock};

use indexmap::IndexMap;
use ipu_device::Address;
use ipu_device::isa::{Contexts, EncodeError, Evidence, FORMS, Form, Instruction, Opcode, OperandKind};
use ipu_device::memory_map::MEMORY_BASE;
use smallvec::SmallVec;

use super::operands::{OperandText, Operands};
use super::verify;
use crate::declaration::format::Format;
use crate::declaration::{AttributeDeclaration, AttributeSpec, Hook, OpDeclaration, Value};
use crate::ir::{Attribute, Module, Name, OpId};
use crate::parser::{OpSyntax, ParseResult, Parser};
use crate::printer::Printer;

/// The attribute that holds the operands.
pub const OPERANDS: &str = "operands";

/// The forms of each mnemonic, in order of the field table.
static FORMS_BY_MNEMONIC: LazyLock<IndexMap<&'static str, Vec<&'static Form>>> = LazyLock::new(|| {
    let mut forms: IndexMap<&'static str, Vec<&'static Form>> = IndexMap::new();
    for form in FORMS {
        forms.entry(form.mnemonic).or_default().push(form);
    }
    forms
});

/// The declarations, by mnemonic.
static DECLARATIONS: LazyLock<IndexMap<&'static str, &'static OpDeclaration>> = LazyLock::new(|| {
    FORMS_BY_MNEMONIC.iter().map(|(&mnemonic, forms)| (mnemonic, declare(mnemonic, forms))).collect()
});

/// The declarations of all instruction ops, in order of the field table.
pub(super) fn declarations() -> impl Iterator<Item = &'static OpDeclaration> {
    DECLARATIONS.values().copied()
}

/// The declaration of `tile.MNEMONIC`.
#[must_use]
pub fn declaration(mnemonic: &str) -> Option<&'static OpDeclaration> {
    DECLARATIONS.get(mnemonic).copied()
}

/// The mnemonic of an instruction op.
#[must_use]
pub fn mnemonic(name: Name) -> Option<&'static str> {
    let mnemonic = name.as_str().strip_prefix("tile.")?;
    FORMS_BY_MNEMONIC.contains_key(mnemonic).then_some(mnemonic)
}

// Declarations.

/// A declaration lives as long as the process, as those of other dialects do.
fn declare(mnemonic: &'static str, forms: &[&'static Form]) -> &'static OpDeclaration {
    let name: &'static str = Box::leak(format!("tile.{mnemonic}").into_boxed_str());
    let description: &'static str = Box::leak(describe(forms).into_boxed_str());
    let two = forms.iter().any(|form| form.word_count == 2);
    Box::leak(Box::new(OpDeclaration {
        name,
        summary: if two { "an instruction of two words" } else { "an instruction" },
        description,
        operands: &[],
        results: &[],
        attributes: &[AttributeDeclaration {
            name: OPERANDS,
            required: true,
            constraint: <Value<Operands> as AttributeSpec>::CONSTRAINT,
        }],
        regions: &[],
        successors: &[],
        traits: &[],
        format: "custom<Operands> attr-dict",
        hooks: &[Hook {
            name: "Operands",
            attributes: &[OPERANDS],
            parse: parse_operands,
            print: print_operands,
            says: None,
        }],
        infer: None,
        verify: Some(verify::inside),
        compiled,
    }))
}

/// All instruction ops have one syntax.
fn compiled() -> &'static Format {
    static FORMAT: OnceLock<Format> = OnceLock::new();
    FORMAT.get_or_init(|| match DECLARATIONS.values().next() {
        Some(declaration) => Format::compile(declaration),
        None => unreachable!("internal bug: the field table is empty"),
    })
}

fn parse_operands(parser: &mut Parser<'_>, op: &mut OpSyntax) -> ParseResult<()> {
    let operands = Operands::parse_list(parser)?;
    op.set_attribute(OPERANDS, Attribute::dialect(operands));
    Ok(())
}

fn print_operands(printer: &mut Printer<'_>, op: OpId) {
    let operands = operands_of(printer.module(), op);
    if let Some(operands) = operands.filter(|operands| !operands.0.is_empty()) {
        printer.space();
        operands.print_list(printer);
    }
}

/// The forms as a Markdown table.
fn describe(forms: &[&Form]) -> String {
    use std::fmt::Write as _;
    let mut text =
        String::from("| operands | bits (lowest + width) | context | evidence |\n|---|---|---|---|\n");
    for form in forms {
        let names: Vec<String> = form.operands.iter().map(|operand| format!("`{}`", operand.name)).collect();
        let bits: Vec<String> = form
            .operands
            .iter()
            .map(|operand| {
                let fields = operand.fields.iter().map(|field| format!("{} + {}", field.lsb, field.width));
                fields.collect::<Vec<_>>().join(" and ")
            })
            .collect();
        let context = match form.contexts {
            Contexts::Supervisor => "supervisor",
            Contexts::Worker => "worker",
            Contexts::Both => "both",
        };
        let evidence = match form.evidence {
            Evidence::Encoder => "encoder",
            Evidence::Hardware => "hardware",
            Evidence::Vectors => "vectors",
            Evidence::SameFamily => "same family",
        };
        let _ = writeln!(text, "| {} | {} | {context} | {evidence} |", names.join(", "), bits.join("; "));
    }
    text
}

// Operands and instructions.

/// The operands of an instruction op.
pub(super) fn operands_of(module: &Module, op: OpId) -> Option<&Operands> {
    module.attribute(op, OPERANDS)?.dialect_value()
}

/// Why operands give no instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperandsError {
    /// No form takes operands of these kinds.
    Kinds(String),
    /// A number does not fit its field.
    Field(EncodeError),
    /// A symbol has no address.
    Symbol(Arc<str>),
}

impl fmt::Display for OperandsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kinds(text) => f.write_str(text),
            Self::Field(error) => error.fmt(f),
            Self::Symbol(name) => write!(f, "symbol `@{name}` has no address here"),
        }
    }
}

/// Whether a symbol may stand for that operand.
fn takes_symbol(form: &Form, kind: OperandKind) -> bool {
    kind == OperandKind::CodeAddress || (form.opcode == Opcode::Setzi && kind == OperandKind::Hexadecimal)
}

/// The number of `operand` in a field of that kind; `None` if it is of another kind.
fn number(
    form: &Form,
    kind: OperandKind,
    operand: &OperandText,
    resolve: &impl Fn(&str) -> Option<Address>,
) -> Option<Result<i64, OperandsError>> {
    match (operand, kind) {
        (OperandText::Main(register), OperandKind::Register)
        | (OperandText::Float(register), OperandKind::FloatRegister)
        | (OperandText::Pair(register), OperandKind::FloatPair) => Some(Ok((*register).into())),
        (OperandText::Symbol(name), _) if takes_symbol(form, kind) => Some(match resolve(name) {
            Some(address) => Ok(address.0.into()),
            None => Err(OperandsError::Symbol(Arc::clone(name))),
        }),
        (
            OperandText::Number { value, .. },
            OperandKind::ControlRegister
            | OperandKind::CountMinusOne
            | OperandKind::Unsigned
            | OperandKind::Hexadecimal
            | OperandKind::Signed
            | OperandKind::CodeAddress
            | OperandKind::High20,
        ) => Some(Ok(*value)),
        _ => None,
    }
}

/// The instruction of that form; `None` if the operands are of other kinds.
fn of_form(
    form: &Form,
    operands: &Operands,
    resolve: &impl Fn(&str) -> Option<Address>,
) -> Option<Result<Instruction, OperandsError>> {
    if operands.0.len() != form.operands.len() {
        return None;
    }
    let mut values: SmallVec<[i64; 8]> = SmallVec::new();
    for (declared, operand) in form.operands.iter().zip(&operands.0) {
        match number(form, declared.kind, operand, resolve)? {
            Ok(value) => values.push(value),
            Err(error) => return Some(Err(error)),
        }
    }
    // A number that is no value of the operand's type fits no field either.
    let Some(instruction) = Instruction::from_values(form.opcode, &values) else {
        let text = format!("`{} {operands}` has a number that is out of range", form.mnemonic);
        return Some(Err(OperandsError::Kinds(text)));
    };
    Some(instruction.encode().map(|_| instruction).map_err(OperandsError::Field))
}

/// The instruction of `mnemonic` with these operands. `resolve` gives the addresses of symbols.
///
/// # Errors
/// No form takes the operands, a number does not fit, a symbol has no address.
pub fn instruction(
    mnemonic: &str,
    operands: &Operands,
    resolve: impl Fn(&str) -> Option<Address>,
) -> Result<Instruction, OperandsError> {
    let forms = FORMS_BY_MNEMONIC.get(mnemonic).map_or(&[][..], Vec::as_slice);
    let mut misfit = None;
    for form in forms {
        match of_form(form, operands, &resolve) {
            Some(Ok(instruction)) => return Ok(instruction),
            Some(Err(error)) => misfit = misfit.or(Some(error)),
            None => {}
        }
    }
    Err(misfit.unwrap_or_else(|| {
        let expected: Vec<String> = forms.iter().map(|form| signature(form)).collect();
        let found = match operands.0.is_empty() {
            true => "has no operands".to_owned(),
            false => format!("does not take `{operands}`"),
        };
        OperandsError::Kinds(format!("`{mnemonic}` {found}, expected {}", expected.join(" or ")))
    }))
}

/// `register, number` for messages.
fn signature(form: &Form) -> String {
    if form.operands.is_empty() {
        return "no operands".to_owned();
    }
    let names = form.operands.iter().map(|operand| {
        let kind = match operand.kind {
            OperandKind::Register => "m register",
            OperandKind::FloatRegister => "a register",
            OperandKind::FloatPair => "a register pair",
            OperandKind::ControlRegister => "control register number",
            OperandKind::CodeAddress => "address or symbol",
            _ => "number",
        };
        format!("{} ({kind})", operand.name)
    });
    format!("`{}`", names.collect::<Vec<_>>().join(", "))
}

/// Mnemonic and operands of `instruction`, with `symbol` in place of its code address or constant. `None` if the text
/// would read back as another instruction word.
#[must_use]
pub fn operands(instruction: &Instruction, symbol: Option<&Arc<str>>) -> Option<(&'static str, Operands)> {
    let form = instruction.form();
    let values = instruction.values();
    let place =
        symbol.and_then(|_| form.operands.iter().position(|operand| takes_symbol(form, operand.kind)));
    let text = |(index, (operand, &value)): (usize, (&ipu_device::isa::Operand, &i64))| {
        let register = u8::try_from(value).unwrap_or(u8::MAX);
        match (operand.kind, symbol) {
            (_, Some(name)) if place == Some(index) => OperandText::Symbol(Arc::clone(name)),
            (OperandKind::Register, _) => OperandText::Main(register),
            (OperandKind::FloatRegister, _) => OperandText::Float(register),
            (OperandKind::FloatPair, _) => OperandText::Pair(register),
            (kind, _) => OperandText::Number { value, hexadecimal: is_hexadecimal(form, kind, value) },
        }
    };
    let operands = Operands(form.operands.iter().zip(&values).enumerate().map(text).collect());
    let address = place.and_then(|place| values.get(place)).and_then(|&value| u32::try_from(value).ok());
    let again = self::instruction(form.mnemonic, &operands, |_| address.map(Address)).ok()?;
    (again.encode() == instruction.encode()).then_some((form.mnemonic, operands))
}

/// The base in which people read that operand. Constants are counts unless they can be addresses.
fn is_hexadecimal(form: &Form, kind: OperandKind, value: i64) -> bool {
    match kind {
        OperandKind::Hexadecimal if form.opcode == Opcode::Setzi => value >= i64::from(MEMORY_BASE.0),
        OperandKind::Hexadecimal
        | OperandKind::CodeAddress
        | OperandKind::High20
        | OperandKind::ControlRegister => true,
        _ => false,
    }
}
