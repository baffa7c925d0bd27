//! Phases of a scheduled and placed program as the device knows them: physical tiles, addresses, start events.

use std::collections::BTreeMap;

use ipu_device::exchange::{self, ItemWidth};
use ipu_device::topology::TILE_COUNT;
use ipu_device::{Address, Bytes, Event, LogicalTile, PhysicalTile, Words};

use super::program::{BufferId, Phase, Program};

/// The transfers of `phase` in its order, so that transfer numbers of the device are those of the phase; `None` unless
/// the phase is scheduled and its buffers are placed.
#[must_use]
pub fn device_transfers(program: &Program, phase: &Phase) -> Option<Vec<exchange::Transfer>> {
    let transfers = &phase.transfers;
    if !transfers.is_scheduled() {
        return None;
    }
    let physical: Vec<PhysicalTile> = (0..TILE_COUNT).map(|tile| LogicalTile(tile).physical()).collect();
    let tile = |tile: LogicalTile| physical.get(usize::from(tile.0)).copied();
    let address = |buffer: BufferId, tile: LogicalTile, offset: u32| {
        program.buffers.get(buffer.index())?.address(tile)?.checked_add(Bytes(offset))
    };
    (0..transfers.len())
        .map(|row| {
            let receiver = |receiver: super::program::Receiver| {
                let piece = |piece: &super::program::Piece| {
                    let offset = piece.offset.checked_add(receiver.shift)?;
                    let address: Address = address(receiver.buffer, receiver.tile, offset)?;
                    Some(exchange::Piece { address, words: Words(piece.bytes / 4) })
                };
                let pieces = transfers.pieces(row).iter().map(piece).collect::<Option<_>>()?;
                Some(exchange::Receiver { tile: tile(receiver.tile)?, pieces })
            };
            let source = transfers.source[row];
            Some(exchange::Transfer {
                source: tile(source)?,
                start: Event(transfers.send[row].into()),
                words: Words(transfers.bytes[row] / 4),
                source_address: address(transfers.source_buffer[row], source, transfers.source_offset[row])?,
                width: if transfers.paired[row] { ItemWidth::Paired64 } else { ItemWidth::Word32 },
                receivers: transfers.receivers_of(row).map(receiver).collect::<Option<_>>()?,
            })
        })
        .collect()
}

/// The incoming bases of the tiles that receive in `phase`, where they are not 0.
#[must_use]
pub fn incoming_bases(phase: &Phase) -> BTreeMap<PhysicalTile, Address> {
    let receivers = phase.base.iter().flat_map(|_| &phase.transfers.receiver);
    let bases = receivers.map(|&tile| (tile.physical(), phase.incoming_base(tile)));
    bases.filter(|(_, base)| *base != Address(0)).collect()
}
