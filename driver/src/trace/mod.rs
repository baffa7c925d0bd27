//! Where a value comes from, and where it goes: through host moves, transfers and kernel calls of a placed program.
//!
//! Backward, [`back`] asks for each byte which step wrote it last; of a kernel call it finds by trying which bytes of the operands
//! matter. Forward, [`forward`] runs the program again with the element spoilt, and shows after each step what differs.

pub mod back;
pub mod forward;

use ipu_dialects::exchange::meaning::Machine;
use ipu_dialects::exchange::program::Program;
use ipu_dialects::ir::Module;

use crate::bisect::places::Places;

/// A placed program with the images of its bindings.
#[derive(Debug)]
pub struct Traced<'a> {
    /// The module that holds the program.
    pub module: &'a Module,
    /// The program.
    pub program: &'a Program,
    /// The image of each binding.
    pub images: &'a [Vec<u8>],
    /// Elements and addresses of its buffers.
    pub(crate) places: &'a Places,
}

impl<'a> Traced<'a> {
    /// A program with its module, images and places.
    pub(crate) fn new(
        module: &'a Module,
        program: &'a Program,
        images: &'a [Vec<u8>],
        places: &'a Places,
    ) -> Self {
        Self { module, program, images, places }
    }

    /// The machine before step `step`, the steps of repeats once.
    fn machine_before(&self, step: usize) -> Option<Machine<'a>> {
        let mut machine = Machine::new(self.program, self.images).ok()?;
        for earlier in 0..step {
            machine.step(earlier).ok()?;
        }
        Some(machine)
    }
}
