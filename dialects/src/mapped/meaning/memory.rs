//! The memory of one tile while an op runs: operands to read, results and scratch to write, byte for byte known written.

use std::borrow::Cow;

use ipu_device::kernels::{KernelFault, KernelMemory};

use super::storage::Shard;
use crate::mapped::calls::{CallOperand, Storage};

/// One piece of storage.
#[derive(Debug, Clone)]
pub(super) struct Piece<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    /// Whether each byte is written; empty stands for all.
    pub(super) written: Cow<'a, [bool]>,
}

impl<'a> Piece<'a> {
    pub(super) fn of(shard: &'a Shard) -> Self {
        Self { bytes: Cow::Borrowed(&shard.bytes), written: Cow::Borrowed(&shard.written) }
    }

    pub(super) fn unwritten(bytes: u32) -> Self {
        let size = bytes as usize;
        Self { bytes: Cow::Owned(vec![0; size]), written: Cow::Owned(vec![false; size]) }
    }

    /// The bytes, all written.
    ///
    /// # Errors
    /// Says which byte is not there or not written.
    pub(super) fn read(&self, offset: u32, bytes: usize) -> Result<&[u8], String> {
        let range = offset as usize..(offset as usize).saturating_add(bytes);
        let Some(found) = self.bytes.get(range.clone()) else {
            return Err(format!("the storage has {} bytes", self.bytes.len()));
        };
        let unwritten =
            self.written.get(range).and_then(|written| written.iter().position(|written| !written));
        match unwritten {
            Some(at) => Err(format!("byte {} was never written", offset as usize + at)),
            None => Ok(found),
        }
    }

    /// # Errors
    /// The bytes lie outside.
    pub(super) fn write(&mut self, offset: u32, from: &[u8]) -> Result<(), String> {
        let size = self.bytes.len();
        let range = offset as usize..(offset as usize).saturating_add(from.len());
        let Some(to) = self.bytes.to_mut().get_mut(range.clone()) else {
            return Err(format!("the storage has {size} bytes"));
        };
        to.copy_from_slice(from);
        if let Some(written) = self.written.to_mut().get_mut(range) {
            written.fill(true);
        }
        Ok(())
    }

    pub(super) fn into_shard(self) -> Shard {
        let whole = self.written.iter().all(|&written| written);
        let written = if whole { Vec::new() } else { self.written.into_owned() };
        Shard { bytes: self.bytes.into_owned(), written }
    }
}

/// All storage of a tile.
#[derive(Debug, Default)]
pub(super) struct TileMemory<'a> {
    pieces: Vec<(Storage, Piece<'a>)>,
}

impl<'a> TileMemory<'a> {
    pub(super) fn add(&mut self, storage: Storage, piece: Piece<'a>) {
        self.pieces.push((storage, piece));
    }

    pub(super) fn piece(&self, storage: Storage) -> Option<&Piece<'a>> {
        self.pieces.iter().find(|(other, _)| *other == storage).map(|(_, piece)| piece)
    }

    pub(super) fn piece_mut(&mut self, storage: Storage) -> Option<&mut Piece<'a>> {
        self.pieces.iter_mut().find(|(other, _)| *other == storage).map(|(_, piece)| piece)
    }

    pub(super) fn take(&mut self, storage: Storage) -> Option<Piece<'a>> {
        let at = self.pieces.iter().position(|(other, _)| *other == storage)?;
        Some(self.pieces.swap_remove(at).1)
    }
}

/// A tile's memory as a call sees it.
pub(super) struct CallMemory<'m, 'a> {
    pub(super) memory: &'m mut TileMemory<'a>,
    pub(super) operands: &'m [CallOperand],
}

impl CallMemory<'_, '_> {
    fn place(&self, operand: usize, offset: u32) -> Option<(Storage, u32)> {
        let CallOperand { storage, offset: base, .. } = self.operands.get(operand)?;
        Some((*storage, base.0.checked_add(offset)?))
    }
}

fn refused(operand: usize, offset: u32, bytes: usize, reason: String) -> KernelFault {
    KernelFault::Memory { operand, offset, bytes: bytes as u32, reason }
}

impl KernelMemory for CallMemory<'_, '_> {
    fn read(&mut self, operand: usize, offset: u32, into: &mut [u8]) -> Result<(), KernelFault> {
        let found =
            self.place(operand, offset).and_then(|(storage, at)| Some((self.memory.piece(storage)?, at)));
        let missing = || "there is no such storage on the tile".to_owned();
        let bytes = found.ok_or_else(missing).and_then(|(piece, at)| piece.read(at, into.len()));
        match bytes {
            Ok(bytes) => {
                into.copy_from_slice(bytes);
                Ok(())
            }
            Err(reason) => Err(refused(operand, offset, into.len(), reason)),
        }
    }

    fn write(&mut self, operand: usize, offset: u32, from: &[u8]) -> Result<(), KernelFault> {
        let place = self.place(operand, offset);
        let found = place.and_then(|(storage, at)| Some((self.memory.piece_mut(storage)?, at)));
        let missing = || "there is no such storage on the tile".to_owned();
        found
            .ok_or_else(missing)
            .and_then(|(piece, at)| piece.write(at, from))
            .map_err(|reason| refused(operand, offset, from.len(), reason))
    }
}
