//! The instruction set: one field table, and an encoder, decoder and text form that read it.
//!
//! `table` declares every form once: mnemonic, fixed bits, operands with their bit fields, contexts and the
//! strength of its evidence. [`Instruction`] has a variant a form, so code matches on names; generic code walks
//! [`Form::operands`] with [`Instruction::values`] and [`Instruction::from_values`]. Rules:
//!
//! - Operands hold what the text shows. Counts are stored minus one, as in the word; code addresses are byte
//!   addresses; `or ..., high` holds the full 32-bit value.
//! - Encoding never masks: a value that does not fit its field is an [`EncodeError`].
//! - A form of two words has its second word in the upper half of the 64-bit fixed value and mask.
//!
//! Sources: the supervisor encodings and vectors of `osmarks/ipu-stack` `crates/ipu-target` (checked there against
//! the vendor's assembler) and the boot loader listing of `graphcore-ipu-research` for the same instruction family.

mod control_register;
mod encoding;
mod form;
mod operand;
mod table;
mod text;

pub use control_register::ControlRegister;
pub use encoding::{DecodeError, EncodeError, IsaCode, Words, decode, decode_all, encode_all};
pub use form::{Context, Contexts, Evidence, Field, Form, Operand};
pub use operand::{FloatRegister, OperandKind, OperandValue, Register};
pub use table::{FORMS, Instruction, Opcode};
pub use text::TextError;

/// Most words of one instruction.
pub const MAX_WORDS: usize = 2;

impl Instruction {
    /// The field table's entry of this instruction.
    #[must_use]
    pub fn form(&self) -> &'static Form {
        self.opcode().form()
    }

    /// Words of this instruction: 1, or 2 for a double control.
    #[must_use]
    pub fn word_count(&self) -> usize {
        self.form().word_count
    }

    /// Events this instruction takes inside an exchange row, and nothing else takes in the meantime. `None` for
    /// instructions that are not exchange instructions.
    #[must_use]
    pub fn events(&self) -> Option<u32> {
        let minus_one = match *self {
            Self::Delay { events_minus_1 }
            | Self::Delaypic { events_minus_1, .. }
            | Self::Delayxpic { events_minus_1, .. } => events_minus_1,
            Self::Send { items_minus_1, .. }
            | Self::Sendoff { items_minus_1, .. }
            | Self::Sendpic { items_minus_1, .. }
            | Self::Sendpicp { items_minus_1, .. } => items_minus_1,
            _ => return None,
        };
        minus_one.checked_add(1)
    }
}
