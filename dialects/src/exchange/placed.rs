//! Phases of a scheduled and placed program as the device knows them: physical tiles, addresses, start events.

use std::collections::BTreeMap;

use ipu_device::exchange::{self, ItemWidth};
use ipu_device::memory_map::{MEMORY_BASE, MEMORY_END};
use ipu_device::topology::TILE_COUNT;
use ipu_device::{Address, Bytes, Event, LogicalTile, PhysicalTile, Words};

use super::program::{BufferId, PerTile, Phase, Program};

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

/// `program` with its buffers one behind the other on every tile, so that a schedule can be executed before there is a
/// placement; `None` where they do not fit so.
#[must_use]
pub fn spread_out(program: &Program) -> Option<Program> {
    let mut next = vec![MEMORY_BASE; usize::from(TILE_COUNT)];
    let mut spread = program.clone();
    for buffer in &mut spread.buffers {
        let align = buffer.align.0.max(4);
        let mut addresses = Vec::with_capacity(buffer.tiles.len());
        for tile in &buffer.tiles {
            let free = next.get_mut(usize::from(tile.0))?;
            let start = Address(free.0.next_multiple_of(align));
            *free = start.checked_add(buffer.bytes)?;
            addresses.push(start);
        }
        buffer.at = Some(PerTile::Each(addresses));
    }
    next.iter().all(|&end| end <= MEMORY_END).then_some(spread)
}

/// The incoming bases of the tiles that receive in `phase`, where they are not 0.
#[must_use]
pub fn incoming_bases(phase: &Phase) -> BTreeMap<PhysicalTile, Address> {
    let receivers = phase.base.iter().flat_map(|_| &phase.transfers.receiver);
    let bases = receivers.map(|&tile| (tile.physical(), phase.incoming_base(tile)));
    bases.filter(|(_, base)| *base != Address(0)).collect()
}
