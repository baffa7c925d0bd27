//! What stands in an operand: registers, numbers, and how each kind maps to its bit field.

use super::control_register::ControlRegister;
use crate::units::Address;

/// A 32-bit register `m0` to `m15` of the main register file. `m12` and `m13` are a worker's bases, `m15` reads 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register(u8);

/// A register `a0` to `a15` of a worker's arithmetic register file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FloatRegister(u8);

macro_rules! register_file {
    ($type:ident, $letter:literal) => {
        impl $type {
            /// The register of that number if it is below 16.
            #[must_use]
            pub const fn new(number: u8) -> Option<Self> {
                if number < 16 { Some(Self(number)) } else { None }
            }

            /// The register's number, `0..16`.
            #[must_use]
            pub const fn number(self) -> u8 {
                self.0
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!("$", $letter, "{}"), self.0)
            }
        }
    };
}
register_file!(Register, "m");
register_file!(FloatRegister, "a");

macro_rules! register_names {
    ($($name:ident = $number:literal),*) => {
        #[expect(missing_docs, reason = "a register constant is named as the register")]
        impl Register { $(pub const $name: Self = Self($number);)* }
    };
}
register_names!(
    M0 = 0,
    M1 = 1,
    M2 = 2,
    M3 = 3,
    M4 = 4,
    M5 = 5,
    M6 = 6,
    M7 = 7,
    M8 = 8,
    M9 = 9,
    M10 = 10,
    M11 = 11,
    M12 = 12,
    M13 = 13,
    M14 = 14,
    M15 = 15
);

impl FloatRegister {
    /// The first register of the arithmetic file.
    pub const A0: Self = Self(0);
}

/// How an operand maps to its field and how text shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperandKind {
    /// A register of the main file.
    Register,
    /// A register of the arithmetic file.
    FloatRegister,
    /// The even register of a pair of the arithmetic file.
    FloatPair,
    /// A control or status register.
    ControlRegister,
    /// A count stored minus one; held and shown as stored.
    CountMinusOne,
    /// A plain unsigned number, shown in decimal.
    Unsigned,
    /// A plain unsigned number, shown in hexadecimal: mux ids, item addresses, pointers, constants.
    Hexadecimal,
    /// A two's complement number.
    Signed,
    /// A code address in bytes, stored divided by 4.
    CodeAddress,
    /// A 32-bit constant of which only the top bits are stored: the field holds the value shifted right by 20.
    High20,
}

/// A Rust type that stands for an operand in [`super::Instruction`].
pub trait OperandValue: Copy {
    /// The operand as a number.
    fn to_number(self) -> i64;
    /// The operand that a number stands for; `None` when the type has no such value.
    fn from_number(number: i64) -> Option<Self>;
}

macro_rules! number_operand {
    ($($type:ty => $to:expr, $from:expr;)*) => {$(
        impl OperandValue for $type {
            fn to_number(self) -> i64 {
                let to: fn($type) -> i64 = $to;
                to(self)
            }
            fn from_number(number: i64) -> Option<Self> {
                let from: fn(i64) -> Option<$type> = $from;
                from(number)
            }
        }
    )*};
}
number_operand! {
    u32 => i64::from, |number| number.try_into().ok();
    i32 => i64::from, |number| number.try_into().ok();
    Register => |register| i64::from(register.0), |number| Register::new(number.try_into().ok()?);
    FloatRegister => |register| i64::from(register.0), |number| FloatRegister::new(number.try_into().ok()?);
    ControlRegister => |register| i64::from(register.0), |number| number.try_into().ok().map(ControlRegister);
    Address => |address| i64::from(address.0), |number| number.try_into().ok().map(Address);
}

impl OperandKind {
    /// The bits that stand for `number` in a field of `width` bits, or why there are none.
    pub(super) fn to_bits(self, number: i64, width: u32) -> Result<u64, Misfit> {
        let (unit, stored) = match self {
            Self::CodeAddress => (4, number.div_euclid(4)),
            Self::High20 => (1 << 20, number.div_euclid(1 << 20)),
            Self::FloatPair => (2, number),
            _ => (1, number),
        };
        let (least, most) = self.bounds(width);
        if number.rem_euclid(unit) != 0 {
            return Err(Misfit::NotMultiple(unit));
        }
        if number < least || number > most {
            return Err(Misfit::OutOfRange(least, most));
        }
        Ok(stored.cast_unsigned() & mask(width))
    }

    /// The number that the bits of a field of `width` bits stand for.
    pub(super) fn number_of_bits(self, bits: u64, width: u32) -> i64 {
        let bits = bits & mask(width);
        match self {
            Self::CodeAddress => (bits << 2).cast_signed(),
            Self::High20 => (bits << 20).cast_signed(),
            Self::Signed => {
                let unused = 64 - width;
                (bits << unused).cast_signed() >> unused
            }
            _ => bits.cast_signed(),
        }
    }

    /// Least and greatest number that a field of `width` bits can hold.
    #[must_use]
    pub fn bounds(self, width: u32) -> (i64, i64) {
        let most = mask(width).cast_signed();
        match self {
            Self::Signed => (-(most / 2) - 1, most / 2),
            Self::CodeAddress => (0, most << 2),
            Self::High20 => (0, most << 20),
            Self::FloatPair => (0, most - 1),
            _ => (0, most),
        }
    }
}

/// The low `width` bits; fields are at most 20 bits wide.
fn mask(width: u32) -> u64 {
    (1 << width) - 1
}

/// Why a number has no place in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misfit {
    /// It must be a multiple of this.
    NotMultiple(i64),
    /// It must lie in this range.
    OutOfRange(i64, i64),
}
