//! What each kind of step does.

use ipu_device::LogicalTile;
use ipu_device::kernels::{KernelFault, KernelMemory, OperandExtent};
use ipu_device::simulator::POISON;
use rayon::prelude::*;
use smallvec::SmallVec;

use super::storage::{Storage, TileStore};
use super::{Fault, Machine, MeaningCode};
use crate::exchange::program::{BufferId, Compute, HostMove, Phase, Program, Run, Transfers};
use crate::exchange::read::tile_text;
use crate::ir::OpId;

/// Numbers grouped by tile position, each group in order.
struct ByTile {
    ends: Vec<usize>,
    items: Vec<u32>,
}

impl ByTile {
    /// Groups item numbers `0..` by the places that are given for them, in order.
    fn new(tiles: usize, places: impl Iterator<Item = Option<usize>> + Clone) -> Self {
        let mut ends = vec![0usize; tiles];
        for place in places.clone().flatten() {
            if let Some(count) = ends.get_mut(place) {
                *count += 1;
            }
        }
        let mut total = 0;
        let mut next: Vec<usize> = Vec::with_capacity(tiles);
        for end in &mut ends {
            next.push(total);
            total += *end;
            *end = total;
        }
        let mut items = vec![0; total];
        for (item, place) in places.enumerate() {
            if let Some(slot) = place.and_then(|place| next.get_mut(place)) {
                items[*slot] = item as u32;
                *slot += 1;
            }
        }
        Self { ends, items }
    }

    fn of(&self, tile: usize) -> &[u32] {
        let start = if tile == 0 { 0 } else { self.ends[tile - 1] };
        &self.items[start..self.ends[tile]]
    }
}

/// Bytes of a buffer on a tile; all of them must be written.
fn read<'s>(
    program: &Program,
    storage: Option<&'s Storage>,
    place: (OpId, Option<u32>, LogicalTile, BufferId),
    offset: u32,
    bytes: u32,
) -> Result<&'s [u8], Fault> {
    let (op, member, tile, buffer) = place;
    let outside = || Fault::outside(op, member, tile, program.buffer(buffer));
    let storage = storage.ok_or_else(outside)?;
    let range = storage.range(offset, bytes).ok_or_else(outside)?;
    match storage.first_unwritten(offset, bytes) {
        None => Ok(range),
        Some(byte) => Err(Fault::unwritten(op, member, tile, program.buffer(buffer), byte)),
    }
}

impl Machine<'_> {
    pub(super) fn phase(&mut self, phase: &Phase) -> Result<(), Fault> {
        let transfers = &phase.transfers;
        let total: usize = transfers.bytes.iter().map(|&bytes| bytes as usize).sum();
        let mut wire = vec![0u8; total];
        let mut starts = Vec::with_capacity(transfers.len());
        self.send(transfers, &mut wire, &mut starts)?;
        self.receive(transfers, &wire, &starts)
    }

    /// Puts what each transfer reads on the wire, one behind the other.
    fn send(&self, transfers: &Transfers, wire: &mut [u8], starts: &mut Vec<usize>) -> Result<(), Fault> {
        let mut parts: Vec<&mut [u8]> = Vec::with_capacity(transfers.len());
        let (mut rest, mut start) = (wire, 0);
        for &bytes in &transfers.bytes {
            let (part, after) = rest.split_at_mut(bytes as usize);
            parts.push(part);
            rest = after;
            starts.push(start);
            start += bytes as usize;
        }
        let fault = parts.into_par_iter().enumerate().filter_map(|(row, part)| {
            let (tile, buffer) = (transfers.source[row], transfers.source_buffer[row]);
            let place = (transfers.op[row], Some(transfers.member[row]), tile, buffer);
            let storage = self.storage(buffer, tile);
            match read(self.program, storage, place, transfers.source_offset[row], transfers.bytes[row]) {
                Ok(bytes) => {
                    part.copy_from_slice(bytes);
                    None
                }
                Err(fault) => Some((row, fault)),
            }
        });
        first_fault(fault)
    }

    /// Stores what is on the wire, tile by tile.
    fn receive(&mut self, transfers: &Transfers, wire: &[u8], starts: &[usize]) -> Result<(), Fault> {
        let places = transfers.receiver.iter().map(|&tile| self.place(tile));
        let by_tile = ByTile::new(self.tiles.len(), places);
        let mut row_of = vec![0u32; transfers.receiver.len()];
        for row in 0..transfers.len() {
            row_of[transfers.receivers(row)].fill(row as u32);
        }
        let program = self.program;
        let fault = self.tiles.par_iter_mut().enumerate().filter_map(|(tile, store)| {
            by_tile.of(tile).iter().find_map(|&receiver| {
                let receiver = receiver as usize;
                let row = row_of[receiver] as usize;
                let buffer = transfers.receiver_buffer[receiver];
                let shift = transfers.receiver_shift[receiver];
                let mut from = starts[row];
                for piece in transfers.pieces(row) {
                    let end = from + piece.bytes as usize;
                    let offset = piece.offset.checked_add(shift);
                    let stored = offset.zip(wire.get(from..end)).zip(store.get_mut(buffer));
                    let inside =
                        stored.is_some_and(|((offset, bytes), storage)| storage.write(offset, bytes));
                    if !inside {
                        let (op, member) = (transfers.op[row], Some(transfers.member[row]));
                        let tile = transfers.receiver[receiver];
                        return Some((receiver, Fault::outside(op, member, tile, program.buffer(buffer))));
                    }
                    from = end;
                }
                None
            })
        });
        first_fault(fault)
    }

    pub(super) fn compute(&mut self, compute: &Compute) -> Result<(), Fault> {
        let places = compute.runs.iter().map(|run| self.place(run.tile));
        let by_tile = ByTile::new(self.tiles.len(), places);
        let program = self.program;
        let fault = self.tiles.par_iter_mut().enumerate().filter_map(|(tile, store)| {
            by_tile.of(tile).iter().find_map(|&index| {
                let run = compute.runs.get(index as usize)?;
                call(program, store, run).err().map(|fault| (index as usize, fault))
            })
        });
        first_fault(fault)
    }

    pub(super) fn load(&mut self, moves: &HostMove) -> Result<(), Fault> {
        for part in &moves.parts {
            let at = self.place(part.tile);
            let image = self.images.get(moves.binding).map_or(&[][..], Vec::as_slice);
            let start = part.image_offset as usize;
            let bytes = image.get(start..start.saturating_add(part.slice.bytes as usize));
            let store = at.and_then(|at| self.tiles.get_mut(at));
            let storage = store.and_then(|store| store.get_mut(part.slice.buffer));
            let stored = bytes.zip(storage);
            if !stored.is_some_and(|(bytes, storage)| storage.write(part.slice.offset, bytes)) {
                return Err(Fault::outside(
                    moves.op,
                    None,
                    part.tile,
                    self.program.buffer(part.slice.buffer),
                ));
            }
        }
        Ok(())
    }

    pub(super) fn store(&mut self, moves: &HostMove) -> Result<(), Fault> {
        for part in &moves.parts {
            let (tile, slice) = (part.tile, part.slice);
            let at = self.place(tile);
            let storage = at.and_then(|at| self.tiles.get(at)).and_then(|store| store.get(slice.buffer));
            let place = (moves.op, None, tile, slice.buffer);
            let bytes = read(self.program, storage, place, slice.offset, slice.bytes)?;
            let image = self.images.get_mut(moves.binding);
            let start = part.image_offset as usize;
            let into = image.and_then(|image| image.get_mut(start..start.saturating_add(bytes.len())));
            if let Some(into) = into {
                into.copy_from_slice(bytes);
            }
        }
        Ok(())
    }
}

/// The fault of the least number.
fn first_fault(faults: impl ParallelIterator<Item = (usize, Fault)>) -> Result<(), Fault> {
    match faults.min_by_key(|(index, _)| *index) {
        Some((_, fault)) => Err(fault),
        None => Ok(()),
    }
}

/// The operands of one call.
struct Operands<'a> {
    program: &'a Program,
    store: &'a mut TileStore,
    run: &'a Run,
    extents: SmallVec<[OperandExtent; 4]>,
    /// By operand: the position of its buffer.
    positions: SmallVec<[Option<usize>; 4]>,
    /// The fault behind the last access that was refused.
    fault: Option<Fault>,
}

/// Makes one call on the buffers of its tile.
pub(super) fn call(program: &Program, store: &mut TileStore, run: &Run) -> Result<(), Fault> {
    let refused = |message: String| Fault {
        code: MeaningCode::KernelFault,
        message: format!("kernel `@{}` on {}: {message}", run.kernel, tile_text(run.tile)),
        op: run.op,
        member: Some(run.member),
        tile: Some(run.tile),
    };
    let extents = run.kernel.extents(&run.scalars).map_err(|error| refused(error.to_string()))?;
    let positions = run.operands.iter().map(|slice| store.position(slice.buffer)).collect();
    let mut operands = Operands { program, store, run, extents, positions, fault: None };
    match run.kernel.run(&run.scalars, &mut operands) {
        Ok(()) => Ok(()),
        Err(error) => Err(operands.fault.take().unwrap_or_else(|| refused(error.to_string()))),
    }
}

impl Operands<'_> {
    fn refuse(&mut self, operand: usize, offset: u32, bytes: usize, fault: Fault) -> KernelFault {
        let reason = fault.message.clone();
        self.fault = Some(fault);
        KernelFault::Memory { operand, offset, bytes: bytes as u32, reason }
    }

    /// The buffer of an operand, and where an offset of the operand is in it.
    fn place(&self, operand: usize, offset: u32) -> Option<(BufferId, usize, u32)> {
        let slice = self.run.operands.get(operand)?;
        let position = self.positions.get(operand).copied().flatten()?;
        Some((slice.buffer, position, slice.offset.checked_add(offset)?))
    }

    fn outside(&mut self, operand: usize, offset: u32, bytes: usize) -> KernelFault {
        let run = self.run;
        let Some(slice) = run.operands.get(operand) else {
            let reason = "the call has no such operand".to_owned();
            return KernelFault::Memory { operand, offset, bytes: bytes as u32, reason };
        };
        let buffer = self.program.buffer(slice.buffer);
        let fault = Fault::outside(run.op, Some(run.member), run.tile, buffer);
        self.refuse(operand, offset, bytes, fault)
    }
}

impl KernelMemory for Operands<'_> {
    fn read(&mut self, operand: usize, offset: u32, into: &mut [u8]) -> Result<(), KernelFault> {
        let size = self.extents.get(operand).map_or(0, |extent| extent.bytes.0);
        let inside = (size.saturating_sub(offset) as usize).min(into.len());
        let (wanted, ahead) = into.split_at_mut(inside);
        ahead.fill(POISON);
        let Some((buffer, position, start)) = self.place(operand, offset) else {
            return Err(self.outside(operand, offset, inside));
        };
        let run = self.run;
        let place = (run.op, Some(run.member), run.tile, buffer);
        let found = read(self.program, self.store.at(position), place, start, inside as u32);
        match found {
            Ok(bytes) => {
                wanted.copy_from_slice(bytes);
                Ok(())
            }
            Err(fault) => Err(self.refuse(operand, offset, inside, fault)),
        }
    }

    fn write(&mut self, operand: usize, offset: u32, from: &[u8]) -> Result<(), KernelFault> {
        let place = self.place(operand, offset);
        let storage = place.and_then(|(_, position, start)| Some((self.store.at_mut(position)?, start)));
        let stored = storage.is_some_and(|(storage, start)| storage.write(start, from));
        if stored { Ok(()) } else { Err(self.outside(operand, offset, from.len())) }
    }
}
