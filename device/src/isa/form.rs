//! The shape of the field table: a form, its operands, its evidence, and the macro that declares them.

use super::operand::OperandKind;
use super::table::Opcode;

/// Which program a word belongs to. Bit 31 marks a bundle in a worker's program, so the context must be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Context {
    /// The supervisor.
    Supervisor,
    /// One of the six workers.
    Worker,
}

/// In which contexts a form exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Contexts {
    /// Supervisor only.
    Supervisor,
    /// Workers only.
    Worker,
    /// Both.
    Both,
}

impl Contexts {
    /// Whether the form exists in `context`.
    #[must_use]
    pub fn includes(self, context: Context) -> bool {
        match self {
            Self::Both => true,
            Self::Supervisor => context == Context::Supervisor,
            Self::Worker => context == Context::Worker,
        }
    }
}

/// How well a form's encoding is known on IPU21.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Evidence {
    /// An IPU21 encoder that was checked against the vendor's assembler.
    Encoder,
    /// Words seen to work on IPU21 hardware, or in vendor programs for it.
    Hardware,
    /// Vectors of assembled IPU21 codelets.
    Vectors,
    /// Disassembly of IPU1 programs of the same family.
    SameFamily,
}

/// A run of bits of an instruction; bits 32 and up are in the second word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Lowest bit.
    pub lsb: u32,
    /// Number of bits.
    pub width: u32,
}

/// An operand of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operand {
    /// Name, as in [`super::Instruction`].
    pub name: &'static str,
    /// How it maps to its bits and to text.
    pub kind: OperandKind,
    /// Where its bits are, lowest first.
    pub fields: &'static [Field],
}

impl Operand {
    /// Bits of the operand in total.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.fields.iter().map(|field| field.width).sum()
    }
}

/// One instruction form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// Which variant of [`super::Instruction`].
    pub opcode: Opcode,
    /// Mnemonic; several forms may share one.
    pub mnemonic: &'static str,
    /// Bits that every word of this form has in common. The second word is the upper half.
    pub fixed_mask: u64,
    /// Their values.
    pub fixed_value: u64,
    /// Words, 1 or 2.
    pub word_count: usize,
    /// Operands in the order of the text.
    pub operands: &'static [Operand],
    /// Where it exists.
    pub contexts: Contexts,
    /// How well it is known.
    pub evidence: Evidence,
}

/// Declares the field table, the [`super::Instruction`] enum and the conversions between them.
macro_rules! instruction_table {
    ($(
        $(#[$doc:meta])*
        $name:ident = $mnemonic:literal $contexts:ident $evidence:ident
            words $words:literal mask $mask:literal value $value:literal
            { $($operand:ident: $type:ty = $kind:ident [$($lsb:literal + $width:literal),+]),* $(,)? }
    )*) => {
        /// One instruction with its operands; a variant is a form of the field table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Instruction {
            $($(#[$doc])* $name {
                $(#[doc = concat!("Bits ", $("`", $lsb, " + ", $width, "` ",)+ "(lowest + width), ", stringify!($kind), ".")]
                $operand: $type,)*
            },)*
        }

        /// The form of an instruction, without operands.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Opcode { $($(#[$doc])* $name,)* }

        /// The field table, in order of declaration.
        pub const FORMS: &[Form] = &[$(Form {
            opcode: Opcode::$name,
            mnemonic: $mnemonic,
            fixed_mask: $mask,
            fixed_value: $value,
            word_count: $words,
            operands: &[$(Operand {
                name: stringify!($operand),
                kind: OperandKind::$kind,
                fields: &[$(Field { lsb: $lsb, width: $width }),+],
            }),*],
            contexts: Contexts::$contexts,
            evidence: Evidence::$evidence,
        },)*];

        impl Opcode {
            /// The field table's entry.
            #[must_use]
            pub fn form(self) -> &'static Form {
                &FORMS[self as usize]
            }
        }

        impl Instruction {
            /// Which form this is.
            #[must_use]
            pub fn opcode(&self) -> Opcode {
                match self { $(Self::$name { .. } => Opcode::$name,)* }
            }

            /// The operands as numbers, in the order of [`Form::operands`].
            #[must_use]
            pub fn values(&self) -> SmallVec<[i64; 8]> {
                match *self {
                    $(Self::$name { $($operand),* } => smallvec![$(OperandValue::to_number($operand)),*],)*
                }
            }

            /// The instruction of that form with these operands; `None` when their number is wrong or one is not
            /// a value of its type. Whether values fit their fields is found out by encoding.
            #[must_use]
            pub fn from_values(opcode: Opcode, values: &[i64]) -> Option<Self> {
                match opcode {
                    $(Opcode::$name => {
                        let [$($operand),*] = *values else { return None };
                        Some(Self::$name { $($operand: OperandValue::from_number($operand)?),* })
                    })*
                }
            }
        }
    };
}
pub(super) use instruction_table;
