//! Integer instructions that supervisor and workers share: they touch nothing but the register file.

use crate::isa::{Instruction, Register};

/// The sixteen registers of the main file of one context. `m15` reads zero.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Registers([u32; 16]);

impl Registers {
    pub(crate) fn get(&self, register: Register) -> u32 {
        self.0[usize::from(register.number() & 15)]
    }

    pub(crate) fn set(&mut self, register: Register, value: u32) {
        if register != Register::M15 {
            self.0[usize::from(register.number() & 15)] = value;
        }
    }

    /// Registers `m2` to `m9`: what a kernel is called with.
    pub(crate) fn arguments(&self) -> [u32; 8] {
        std::array::from_fn(|index| self.0[index + 2])
    }

    /// Executes `instruction` if it concerns only registers; says whether it did.
    pub(crate) fn execute(&mut self, instruction: &Instruction) -> bool {
        let (destination, value) = match *instruction {
            Instruction::Nop {} => return true,
            Instruction::Setzi { destination, value } => (destination, value),
            Instruction::AddImmediate { destination, source, value } => {
                (destination, self.get(source).wrapping_add_signed(value))
            }
            Instruction::SubImmediate { destination, value, source } => {
                (destination, value.cast_unsigned().wrapping_sub(self.get(source)))
            }
            Instruction::MinImmediate { destination, source, value } => {
                (destination, self.signed(source).min(value).cast_unsigned())
            }
            Instruction::MaxImmediate { destination, source, value } => {
                (destination, self.signed(source).max(value).cast_unsigned())
            }
            Instruction::CmpeqImmediate { destination, source, value } => {
                (destination, u32::from(self.signed(source) == value))
            }
            Instruction::CmpultImmediate { destination, source, value } => {
                (destination, u32::from(self.get(source) < value))
            }
            Instruction::ShlImmediate { destination, source, value } => {
                (destination, self.get(source).checked_shl(value).unwrap_or(0))
            }
            Instruction::ShrImmediate { destination, source, value } => {
                (destination, self.get(source).checked_shr(value).unwrap_or(0))
            }
            Instruction::AndImmediate { destination, source, value } => {
                (destination, self.get(source) & value)
            }
            Instruction::OrImmediate { destination, source, value }
            | Instruction::OrHigh { destination, source, value } => (destination, self.get(source) | value),
            Instruction::AndcImmediate { destination, source, value } => {
                (destination, self.get(source) & !value)
            }
            Instruction::Add { destination, left, right } => {
                (destination, self.get(left).wrapping_add(self.get(right)))
            }
            Instruction::Sub { destination, left, right } => {
                (destination, self.get(left).wrapping_sub(self.get(right)))
            }
            Instruction::Or { destination, left, right } => (destination, self.get(left) | self.get(right)),
            Instruction::Xor { destination, left, right } => (destination, self.get(left) ^ self.get(right)),
            Instruction::Andc { destination, left, right } => {
                (destination, self.get(left) & !self.get(right))
            }
            Instruction::Cmpeq { destination, left, right } => {
                (destination, u32::from(self.get(left) == self.get(right)))
            }
            _ => return false,
        };
        self.set(destination, value);
        true
    }

    fn signed(&self, register: Register) -> i32 {
        self.get(register).cast_signed()
    }

    /// Where a branch goes if it is taken; `None` for instructions that are no branch. A call sets its link.
    pub(crate) fn branch(&mut self, instruction: &Instruction, next: u32) -> Option<u32> {
        Some(match *instruction {
            Instruction::Bri { target } => target.0,
            Instruction::Br { target } => self.get(target),
            Instruction::Call { link, target } => {
                self.set(link, next);
                target.0
            }
            Instruction::Brz { source, target } if self.get(source) == 0 => target.0,
            Instruction::Brnz { source, target } if self.get(source) != 0 => target.0,
            Instruction::Brz { .. } | Instruction::Brnz { .. } => next,
            Instruction::Brnzdec { counter, target } => {
                let count = self.get(counter);
                self.set(counter, count.wrapping_sub(1));
                if count == 0 { next } else { target.0 }
            }
            _ => return None,
        })
    }
}
