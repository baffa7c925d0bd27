//! What a placed program puts where: the memory of every tile and every word of every phase, from the bulk meaning.

use ipu_device::hash::HashMap;
use ipu_device::simulator::{MemoryError, TileMemory};
use ipu_device::{Address, Bytes, LogicalTile};
use ipu_dialects::exchange::meaning::{Fault, Machine, Write, writes};
use ipu_dialects::exchange::program::{Program, Step};

/// Writes of the steps between two phases, and the memory after them.
#[derive(Debug, Clone, Default)]
pub(super) struct Interval {
    /// Each with its step.
    pub(super) writes: Vec<(usize, Write)>,
    /// By tile: what is written, at its address.
    pub(super) memory: HashMap<LogicalTile, TileMemory>,
}

/// One phase.
#[derive(Debug, Clone)]
pub(super) struct ExpectedPhase {
    /// Its step.
    pub(super) step: usize,
    /// What happens before it.
    pub(super) before: Interval,
    /// Its words, in order of the text.
    pub(super) words: Vec<Word>,
}

/// A word that a phase must bring.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    /// The write that it is part of.
    pub(super) write: Write,
    /// First byte after the start of the write.
    pub(super) inside: u32,
    /// Where it goes.
    pub(super) address: Address,
    /// The word.
    pub(super) value: u32,
}

/// The phases in order of execution, and what happens after the last.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    pub(super) phases: Vec<ExpectedPhase>,
    pub(super) after: Interval,
}

impl Expected {
    /// Runs a placed program on images of its bindings.
    pub(super) fn of(program: &Program, images: &[Vec<u8>]) -> Result<Self, Fault> {
        let mut machine = Machine::new(program, images)?;
        let mut expected = Self { phases: Vec::new(), after: Interval::default() };
        machine.run(|machine, step| expected.step(program, machine, step))?;
        Ok(expected)
    }

    fn step(&mut self, program: &Program, machine: &Machine<'_>, index: usize) {
        let Some(step) = program.steps.get(index) else { return };
        let all = writes(step);
        if matches!(step, Step::Phase(_)) {
            let memory = self.after.memory.clone();
            let before = std::mem::replace(&mut self.after, Interval { writes: Vec::new(), memory });
            let words = all.iter().flat_map(|write| words(program, machine, write)).collect();
            self.phases.push(ExpectedPhase { step: index, before, words });
        } else {
            self.after.writes.extend(all.iter().map(|write| (index, *write)));
        }
        for write in &all {
            let Some(start) = address(program, write) else { continue };
            let to = write.to;
            let memory = self.after.memory.entry(to.tile).or_default();
            for (offset, bytes) in machine.written(to.buffer, to.tile, to.offset..to.offset + write.bytes) {
                // A buffer outside of memory is the placement's fault, which its own check names.
                let _outside: Result<(), MemoryError> =
                    memory.write(Address(start.0.saturating_add(offset - to.offset)), bytes);
            }
        }
    }
}

/// Where the bytes of a write start.
pub(super) fn address(program: &Program, write: &Write) -> Option<Address> {
    program.buffer(write.to.buffer).address(write.to.tile)?.checked_add(Bytes(write.to.offset))
}

fn words<'a>(
    program: &'a Program,
    machine: &'a Machine<'_>,
    write: &'a Write,
) -> impl Iterator<Item = Word> + 'a {
    let to = write.to;
    let start = address(program, write);
    let runs = machine.written(to.buffer, to.tile, to.offset..to.offset + write.bytes);
    runs.flat_map(move |(offset, bytes)| {
        bytes.chunks_exact(4).zip((offset..).step_by(4)).filter_map(move |(word, offset)| {
            let inside = offset - to.offset;
            let value = u32::from_le_bytes(word.try_into().ok()?);
            Some(Word { write: *write, inside, address: start?.checked_add(Bytes(inside))?, value })
        })
    })
}
