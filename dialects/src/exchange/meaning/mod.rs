//! What an exchange program means: images of its inputs to images of its outputs, byte by byte.
//!
//! Rules kept here: in a phase all sources are read before any destination is written; calls of one tile happen in
//! order, with the arithmetic of the device's registry; `once` loads happen before everything; a byte that nothing
//! has written is never read. Tiles work in parallel, and of several faults the first in order of the program is
//! reported, so results do not depend on the number of threads. By default addresses and starts play no part: what
//! they must not change is exactly this meaning. [`Timing::Events`] runs scheduled and placed phases by them.

mod depends;
mod events;
mod fault;
mod steps;
mod storage;
mod writes;

use ipu_device::LogicalTile;
use ipu_device::topology::TILE_COUNT;

pub use depends::Dependence;
pub use events::Timing;
pub use fault::{Fault, MeaningCode};
use storage::{Storage, TileStore};
pub use writes::{Place, Write, writes};

use super::program::{BindingKind, BufferId, HostMove, Program, Step};

/// Runs a program on the images of its bindings, in order of [`Program::bindings`]; those of outputs are ignored and
/// may be empty. Gives the images of the outputs in the same order, empty for inputs and weights.
///
/// # Errors
/// The first fault: an unwritten byte is read, a kernel refuses a call, an image is too short.
pub fn run_program(program: &Program, images: &[Vec<u8>], timing: Timing) -> Result<Vec<Vec<u8>>, Fault> {
    let mut machine = Machine::new(program, images)?;
    machine.timing = timing;
    machine.run(|_, _| {})?;
    Ok(machine.into_outputs())
}

/// Bytes of a binding's image that the program's host moves reach.
#[must_use]
pub fn image_bytes(program: &Program, binding: usize) -> u64 {
    let moves = program.steps.iter().filter_map(|step| match step {
        Step::LoadHost(moves) | Step::StoreHost(moves) if moves.binding == binding => Some(moves),
        _ => None,
    });
    let end = |part: &super::program::HostPart| u64::from(part.image_offset) + u64::from(part.slice.bytes);
    moves.flat_map(|moves| &moves.parts).map(end).max().unwrap_or(0)
}

/// The tiles of a program with the bytes of their buffers, and the images of the host.
#[derive(Debug, Clone)]
pub struct Machine<'p> {
    program: &'p Program,
    /// In order of the program's tiles.
    tiles: Vec<TileStore>,
    /// By logical tile: its position in `tiles`.
    position: Vec<Option<u16>>,
    images: Vec<Vec<u8>>,
    /// How scheduled and placed phases are run.
    pub timing: Timing,
}

impl<'p> Machine<'p> {
    /// Tiles on which nothing is written yet.
    ///
    /// # Errors
    /// An image of an input or weight is shorter than what the program loads.
    pub fn new(program: &'p Program, images: &[Vec<u8>]) -> Result<Self, Fault> {
        let mut held: Vec<Vec<u8>> = Vec::with_capacity(program.bindings.len());
        for (index, binding) in program.bindings.iter().enumerate() {
            let needed = image_bytes(program, index);
            if binding.kind == BindingKind::Output {
                held.push(vec![0; usize::try_from(needed).unwrap_or(usize::MAX)]);
                continue;
            }
            let image = images.get(index).cloned().unwrap_or_default();
            if (image.len() as u64) < needed {
                return Err(Fault::image(binding, needed, image.len()));
            }
            held.push(image);
        }
        let mut position = vec![None; usize::from(TILE_COUNT)];
        for (index, tile) in program.tiles.iter().enumerate() {
            if let Some(slot) = position.get_mut(usize::from(tile.0)) {
                *slot = u16::try_from(index).ok();
            }
        }
        let mut tiles: Vec<TileStore> = program.tiles.iter().map(|_| TileStore::default()).collect();
        for id in program.buffer_ids() {
            let buffer = program.buffer(id);
            for tile in &buffer.tiles {
                let at = position.get(usize::from(tile.0)).copied().flatten();
                if let Some(store) = at.and_then(|at| tiles.get_mut(usize::from(at))) {
                    store.add(id, buffer.bytes.0);
                }
            }
        }
        Ok(Self { program, tiles, position, images: held, timing: Timing::Bulk })
    }

    /// Runs the whole program, and calls `observe` with the number of each step that has just happened.
    ///
    /// # Errors
    /// The first fault.
    pub fn run(&mut self, mut observe: impl FnMut(&Self, usize)) -> Result<(), Fault> {
        let steps = &self.program.steps;
        for (index, step) in steps.iter().enumerate() {
            if is_once(step) {
                self.step(index)?;
                observe(self, index);
            }
        }
        // Open repeats: body, and iterations that are left.
        let mut repeats: Vec<(std::ops::Range<usize>, u32)> = Vec::new();
        let mut at = 0;
        loop {
            if let Some((body, left)) = repeats.last_mut().filter(|(body, _)| body.end <= at) {
                *left -= 1;
                at = if *left == 0 { body.end } else { body.start };
                if *left == 0 {
                    repeats.pop();
                }
                continue;
            }
            match steps.get(at) {
                None => return Ok(()),
                Some(Step::Repeat { count, body, .. }) => {
                    if *count > 0 && !body.is_empty() {
                        repeats.push((body.clone(), *count));
                    } else {
                        at = body.end.max(at + 1);
                        continue;
                    }
                }
                Some(step) if is_once(step) => {}
                Some(_) => {
                    self.step(at)?;
                    observe(self, at);
                }
            }
            at += 1;
        }
    }

    /// Runs one step; a repeat itself does nothing.
    ///
    /// # Errors
    /// The first fault.
    pub fn step(&mut self, index: usize) -> Result<(), Fault> {
        let program = self.program;
        match program.steps.get(index) {
            Some(Step::Phase(phase)) => {
                let done = self.timing != Timing::Bulk && self.phase_by_events(phase)?;
                if done { Ok(()) } else { self.phase(phase) }
            }
            Some(Step::Compute(compute)) => self.compute(compute),
            Some(Step::LoadHost(moves)) => self.load(moves),
            Some(Step::StoreHost(moves)) => self.store(moves),
            Some(Step::Repeat { .. }) | None => Ok(()),
        }
    }

    /// The bytes of a buffer on a tile that has it.
    #[must_use]
    pub fn bytes(&self, buffer: BufferId, tile: LogicalTile) -> Option<&[u8]> {
        self.storage(buffer, tile).map(Storage::content)
    }

    /// The first byte of a range of a buffer on a tile that nothing has written.
    #[must_use]
    pub fn first_unwritten(
        &self,
        buffer: BufferId,
        tile: LogicalTile,
        offset: u32,
        bytes: u32,
    ) -> Option<u32> {
        self.storage(buffer, tile)?.first_unwritten(offset, bytes)
    }

    /// The written bytes of a range of a buffer: runs without gaps, each with its offset in the buffer.
    pub fn written(
        &self,
        buffer: BufferId,
        tile: LogicalTile,
        range: std::ops::Range<u32>,
    ) -> impl Iterator<Item = (u32, &[u8])> {
        let runs = self.storage(buffer, tile).map(Storage::written_runs).unwrap_or_default();
        runs.into_iter().filter_map(move |(start, bytes)| {
            let end = start + bytes.len() as u32;
            let (first, last) = (start.max(range.start), end.min(range.end));
            let inside = bytes.get(first.checked_sub(start)? as usize..last.checked_sub(start)? as usize)?;
            (first < last).then_some((first, inside))
        })
    }

    /// The images of outputs as stored so far; empty for inputs and weights.
    #[must_use]
    pub fn into_outputs(self) -> Vec<Vec<u8>> {
        let outputs = self.program.bindings.iter().zip(self.images);
        let only_outputs = |(binding, image): (&super::program::Binding, Vec<u8>)| {
            if binding.kind == BindingKind::Output { image } else { Vec::new() }
        };
        outputs.map(only_outputs).collect()
    }

    fn place(&self, tile: LogicalTile) -> Option<usize> {
        self.position.get(usize::from(tile.0)).copied().flatten().map(usize::from)
    }

    fn storage(&self, buffer: BufferId, tile: LogicalTile) -> Option<&Storage> {
        self.tiles.get(self.place(tile)?)?.get(buffer)
    }
}

fn is_once(step: &Step) -> bool {
    matches!(step, Step::LoadHost(HostMove { once: true, .. }))
}
