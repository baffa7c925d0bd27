//! Steps of a generated tile program: exchange phases, kernel calls, repeats.

use super::assembler::{Assembler, Symbol};
use super::runtime::{COMPLETE, WORKER_BARRIER};
use crate::isa::{ControlRegister, Instruction, Register};
use crate::units::{Address, Bytes};

/// First argument register: a kernel's output.
const FIRST_ARGUMENT: u8 = 2;
/// Most arguments of a kernel: `$m2` to `$m9`.
pub const MOST_ARGUMENTS: usize = 8;
/// Sync zones: an earlier `sans`, all tiles.
const ANSWERED: u32 = 1;
const INTERNAL: u32 = 3;

use Register as R;

/// A kernel's argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// A constant: a scalar or a fixed address.
    Constant(u32),
    /// The pointer in slot `pointer` of an open repeat, plus `offset` bytes.
    Moving {
        /// The repeat.
        repeat: Repeat,
        /// Which of its pointers.
        pointer: u32,
        /// Added to it.
        offset: i64,
    },
}

/// An open repeat: its frame on the stack holds the count left, then the pointers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeat {
    loop_label: u32,
    frame: Bytes,
    /// Stack words in use with its frame.
    depth: u32,
    pointers: u32,
}

impl Assembler {
    /// A phase in which the tile sends, receives, or lends its lane. Every active tile has these instructions, so that
    /// all rows start on the same event after the sync.
    pub fn exchange_active(&mut self, row: impl Into<Symbol>, incoming_base: Address) {
        self.set_control(ControlRegister::INCOMING_BASE, incoming_base.0);
        self.push(Instruction::Put { control: ControlRegister::OUTGOING_BASE, source: R::M15 });
        self.call(R::M7, WORKER_BARRIER);
        self.set_control(ControlRegister::INCOMING_DCOUNT, 1);
        self.push(Instruction::Sync { zone: INTERNAL });
        self.call(R::M10, row);
    }

    /// A phase in which the tile takes part in the sync only; `row` is a lone return.
    pub fn exchange_inactive(&mut self, row: impl Into<Symbol>) {
        self.set_control(ControlRegister::INCOMING_BASE, 0);
        self.push(Instruction::Put { control: ControlRegister::OUTGOING_BASE, source: R::M15 });
        self.push(Instruction::Sans { syncs_minus_1: 0 });
        self.push(Instruction::Sync { zone: ANSWERED });
        self.call(R::M10, row);
    }

    fn set_control(&mut self, control: ControlRegister, value: u32) {
        self.set(R::M8, value);
        self.push(Instruction::Put { control, source: R::M8 });
    }

    /// Calls a kernel with its output, inputs and scalars in `$m2`, `$m3`, ...; at most [`MOST_ARGUMENTS`]. Returns
    /// `false`, and does nothing, when there are more.
    #[must_use]
    pub fn kernel_call(&mut self, kernel: impl Into<Symbol>, arguments: &[Argument]) -> bool {
        if arguments.len() > MOST_ARGUMENTS {
            return false;
        }
        let registers = (FIRST_ARGUMENT..).filter_map(Register::new);
        for (register, argument) in registers.zip(arguments) {
            match *argument {
                Argument::Constant(value) => self.set(register, value),
                Argument::Moving { repeat, pointer, offset } => {
                    self.load_slot(register, repeat, 1 + pointer);
                    self.add(register, offset);
                }
            }
        }
        self.call(R::M10, kernel);
        true
    }

    /// Opens a loop of `count` rounds, at least 1, with pointers that start as given.
    pub fn begin_repeat(&mut self, count: u32, pointers: &[u32]) -> Repeat {
        let words = (1 + pointers.len() as u32).next_multiple_of(2);
        self.add(R::M11, -i64::from(4 * words));
        self.frame_words += words;
        for (slot, value) in std::iter::once(&count).chain(pointers).enumerate() {
            self.set(R::M0, *value);
            self.push(Instruction::St32 { source: R::M0, base: R::M11, delta: R::M15, offset: slot as u32 });
        }
        let loop_label = self.local_number();
        self.label(Symbol::Local(loop_label));
        let pointers = pointers.len() as u32;
        Repeat { loop_label, frame: Bytes(4 * words), depth: self.frame_words, pointers }
    }

    /// Closes the innermost loop: moves its pointers by `strides`, counts down, goes round again.
    pub fn end_repeat(&mut self, repeat: Repeat, strides: &[i64]) {
        for (pointer, &stride) in (0..repeat.pointers).zip(strides) {
            self.step_slot(repeat, 1 + pointer, stride);
        }
        self.step_slot(repeat, 0, -1);
        let done = self.local();
        self.reference(Instruction::Brz { source: R::M0, target: Address(0) }, done.clone());
        self.set_address(R::M0, Symbol::Local(repeat.loop_label));
        self.push(Instruction::Br { target: R::M0 });
        self.label(done);
        self.add(R::M11, i64::from(repeat.frame.0));
        self.frame_words -= repeat.frame.0 / 4;
    }

    /// Offset of a slot from the stack pointer: repeats opened since lie below.
    fn slot(&self, repeat: Repeat, slot: u32) -> u32 {
        self.frame_words.saturating_sub(repeat.depth) + slot
    }

    fn load_slot(&mut self, destination: Register, repeat: Repeat, slot: u32) {
        let offset = self.slot(repeat, slot);
        self.push(Instruction::Ld32 { destination, base: R::M11, delta: R::M15, offset });
    }

    /// Adds to a slot; the new value stays in `$m0`.
    fn step_slot(&mut self, repeat: Repeat, slot: u32, step: i64) {
        self.load_slot(R::M0, repeat, slot);
        self.add(R::M0, step);
        let offset = self.slot(repeat, slot);
        self.push(Instruction::St32 { source: R::M0, base: R::M11, delta: R::M15, offset });
    }

    /// Stops for the debugger with an even or an odd trap.
    pub fn checkpoint(&mut self, odd: bool) {
        self.push(Instruction::Trap { code: odd.into() });
    }

    /// Ends the program.
    pub fn finish(&mut self) {
        self.set_address(R::M0, COMPLETE);
        self.push(Instruction::Br { target: R::M0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(code: &Assembler, start: u32) -> Vec<u32> {
        let addresses =
            [("worker_barrier", 0x5c100), ("row", 0x64000), ("kernel", 0x5d000), ("complete", 0x5c200)];
        code.link(Address(start), |name| {
            addresses.iter().find(|(known, _)| *known == name).map(|(_, address)| Address(*address))
        })
        .expect("links")
        .words
    }

    #[test]
    fn exchange_steps_have_the_words_of_the_notes() {
        let mut code = Assembler::new();
        code.exchange_active("row", Address(0));
        assert_eq!(
            words(&code, 0x60000),
            [
                0x1980_0000,
                0x4380_80a4,
                0x43f0_80a7,
                0x1871_7040,
                0x1980_0001,
                0x4380_80a6,
                0x4180_0003,
                0x18a1_9000
            ]
        );
        let mut code = Assembler::new();
        code.exchange_inactive("row");
        assert_eq!(
            words(&code, 0x60000),
            [0x1980_0000, 0x4380_80a4, 0x43f0_80a7, 0x40c0_0000, 0x4180_0001, 0x18a1_9000]
        );
    }

    #[test]
    fn a_kernel_call_has_the_words_of_the_notes() {
        let mut code = Assembler::new();
        let arguments = [0x70000, 0x71000, 0x72000, 64].map(Argument::Constant);
        assert!(code.kernel_call("kernel", &arguments));
        assert_eq!(words(&code, 0x60000), [0x1927_0000, 0x1937_1000, 0x1947_2000, 0x1950_0040, 0x18a1_7400]);
        assert!(!code.kernel_call("kernel", &[Argument::Constant(0); 9]));
    }

    #[test]
    fn a_repeat_has_the_words_of_the_notes() {
        // The notes' example stands where its loop lies at 0x60060 and ends at 0x6009c.
        let mut code = Assembler::new();
        code.set(R::M1, 0);
        let repeat = code.begin_repeat(3, &[0x78000]);
        assert!(code.kernel_call("kernel", &[Argument::Moving { repeat, pointer: 0, offset: 16 }]));
        // Stands for the rest of the example's body.
        code.extend([Instruction::Nop {}; 3]);
        code.end_repeat(repeat, &[0x400]);
        let words = words(&code, 0x60048);
        assert_eq!(words[1..6], [0x22bb_fff8, 0x1900_0003, 0x4fb0_f000, 0x1907_8000, 0x4fb0_f001]);
        assert_eq!(words[6..9], [0x01b2_f001, 0x2222_0010, 0x18a1_7400]);
        assert_eq!(
            words[12..],
            [
                0x01b0_f001,
                0x2200_0400,
                0x4fb0_f001,
                0x01b0_f000,
                0x2200_ffff,
                0x4fb0_f000,
                0x1301_8027,
                0x1906_0060,
                0x4300_0000,
                0x22bb_0008
            ]
        );
    }

    #[test]
    fn an_inner_repeat_reaches_the_outer_ones_pointers() {
        let mut code = Assembler::new();
        let outer = code.begin_repeat(2, &[0x60000]);
        let inner = code.begin_repeat(2, &[0x61000, 0x62000]);
        assert!(code.kernel_call(
            "kernel",
            &[
                Argument::Moving { repeat: outer, pointer: 0, offset: 0 },
                Argument::Moving { repeat: inner, pointer: 1, offset: 0 },
            ]
        ));
        code.end_repeat(inner, &[4, 4]);
        code.end_repeat(outer, &[8]);
        let text: Vec<String> = code
            .lines()
            .iter()
            .filter_map(|line| match line {
                super::super::Line::Instruction(load @ Instruction::Ld32 { .. }) => Some(load.to_string()),
                _ => None,
            })
            .collect();
        assert_eq!(text[..2], ["ld32 $m2, $m11, $m15, 5", "ld32 $m3, $m11, $m15, 2"]);
        assert_eq!(text[5..], ["ld32 $m0, $m11, $m15, 1", "ld32 $m0, $m11, $m15, 0"]);
    }

    #[test]
    fn a_program_ends_at_the_completion() {
        let mut code = Assembler::new();
        code.checkpoint(true);
        code.finish();
        assert_eq!(words(&code, 0x60000), [0x4180_1001, 0x1905_c200, 0x4300_0000]);
    }
}
