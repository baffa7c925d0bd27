//! Host exchange: what tiles send to their host block between two host syncs, and what that moves.
//!
//! Rules (hardware notes on host exchange, sections 5 and 6): an owner sends a bitmap of the targets it speaks for; a
//! target sends packet headers of two words. A read header moves host bytes into the tile and counts them as
//! arrived words; a write header is followed by its payload. A closing read of zero bytes counts as one arrival.
//! All bytes of a batch move before its closing sync; the order of targets does not show.

use crate::memory_map::MEMORY_BASE;
use crate::runtime::HostMemory;
use crate::units::{Address, PhysicalTile};

use super::fault::{Fault, FaultCode, tile_name};
use super::memory::TileMemory;
use super::timeline::SendRun;

/// Least events from the first word of a payload to the next header.
const PAYLOAD_EVENTS: i64 = 18;
/// Bytes of a host page: no packet crosses one.
const HOST_PAGE: u64 = 4096;
/// Bits of a read header that mark the last read of a stream.
const LAST_READ: u32 = 0x0c00_0000;

/// A tile that sent something to its host block since the last host sync.
pub(crate) struct HostTile<'a> {
    pub(crate) tile: PhysicalTile,
    pub(crate) sends: Vec<SendRun>,
    pub(crate) memory: &'a mut TileMemory,
    /// Words that the tile's `sync 0` still waits for.
    pub(crate) expected_words: &'a mut u32,
}

/// A word on its way to the host, and the event at which it left.
#[derive(Clone, Copy)]
struct HostWord {
    event: i64,
    value: u32,
}

/// A packet header, decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    /// The host is written.
    is_write: bool,
    is_last_read: bool,
    tile: u16,
    address: Address,
    offset: u64,
    bytes: u32,
}

/// Executes the requests and packets of one batch.
///
/// # Errors
/// A malformed packet, a packet without a request, a range outside host or tile memory.
pub(crate) fn run_batch(tiles: Vec<HostTile<'_>>, host: &mut dyn HostMemory) -> Result<u64, Fault> {
    let mut streams = Vec::with_capacity(tiles.len());
    let mut requested = Vec::new();
    for tile in tiles {
        let mut words = collect(&tile)?;
        if words.first().is_some_and(|word| word.value >> 29 == 0) {
            let [low, high] = [words.first(), words.get(1)].map(|word| word.map_or(0, |word| word.value));
            requested.extend(requested_tiles(tile.tile, low, high));
            words.drain(..words.len().min(2));
        }
        streams.push((tile, words));
    }
    requested.sort_unstable();
    let mut moved = 0;
    for (mut tile, words) in streams {
        if words.is_empty() {
            continue;
        }
        if requested.binary_search(&tile.tile).is_err() {
            let owner = tile.tile.host_owner();
            let message = format!(
                "sends host packets, but its owner {} sent no request that names it in this batch",
                tile_name(owner)
            );
            return Err(Fault::on(tile.tile, FaultCode::HostRequest, message).at_event(words[0].event));
        }
        moved += run_packets(&mut tile, &words, host)?;
    }
    Ok(moved)
}

/// The words of a tile's sends, in order.
fn collect(tile: &HostTile<'_>) -> Result<Vec<HostWord>, Fault> {
    let mut words = Vec::new();
    for run in &tile.sends {
        if run.control.is_wide() {
            let message = "64-bit items cannot go to the host block; send control 3 is expected";
            return Err(Fault::on(tile.tile, FaultCode::HostPacket, message).at_event(run.first));
        }
        for item in 0..run.items {
            let event = run.first + i64::from(item);
            let address = Address(run.address.wrapping_add(4 * item));
            let value = tile
                .memory
                .word(address)
                .map_err(|error| Fault::memory(tile.tile, error, "send to the host").at_event(event))?;
            words.push(HostWord { event, value });
        }
    }
    Ok(words)
}

/// The tiles that a request of `owner` names: bit `2 * row + (bit 1 of the tile)`, 24 bits in the low word.
fn requested_tiles(owner: PhysicalTile, low: u32, high: u32) -> impl Iterator<Item = PhysicalTile> {
    let bits = u64::from(low & 0xff_ffff) | u64::from(high) << 24;
    (0..46_u16)
        .filter(move |bit| bits >> bit & 1 == 1)
        .map(move |bit| PhysicalTile(64 * (bit / 2) + (owner.0 & 0x3d) + 2 * (bit % 2)))
}

fn run_packets(tile: &mut HostTile<'_>, words: &[HostWord], host: &mut dyn HostMemory) -> Result<u64, Fault> {
    let mut rest = words;
    let mut moved = 0;
    let mut last_read = true;
    while let [first, tail @ ..] = rest {
        let malformed =
            |message: String| Fault::on(tile.tile, FaultCode::HostPacket, message).at_event(first.event);
        let [second, payload @ ..] = tail else {
            return Err(malformed("a packet header has two words, the stream ends after one".into()));
        };
        let header = Header::decode(first.value, second.value).map_err(malformed)?;
        if header.tile != tile.tile.0 {
            return Err(malformed(format!("the packet header names physical tile {}", header.tile)));
        }
        if header.bytes > 0 && header.offset % HOST_PAGE + u64::from(header.bytes) > HOST_PAGE {
            return Err(malformed(format!(
                "{} bytes at exchange offset {} cross a host page",
                header.bytes, header.offset
            )));
        }
        let count = if header.is_write { header.bytes as usize / 4 } else { 0 };
        let Some((data, next)) = payload.split_at_checked(count) else {
            return Err(malformed(format!(
                "a payload of {count} words is announced, {} follow",
                payload.len()
            )));
        };
        if header.is_write {
            check_payload(tile.tile, data, next.first())?;
            write_host(tile.tile, &header, data, host)?;
        } else {
            read_host(tile, &header, first.event, host)?;
            last_read = header.is_last_read;
        }
        moved += u64::from(header.bytes);
        rest = next;
    }
    if !last_read {
        let message = "the last read header of the stream lacks the mark 0x0c000000";
        return Err(Fault::on(tile.tile, FaultCode::HostPacket, message));
    }
    Ok(moved)
}

/// A payload and the delay after it take at least [`PAYLOAD_EVENTS`].
fn check_payload(tile: PhysicalTile, data: &[HostWord], next: Option<&HostWord>) -> Result<(), Fault> {
    let (Some(first), Some(next)) = (data.first(), next) else { return Ok(()) };
    let events = next.event - first.event;
    if events >= PAYLOAD_EVENTS {
        return Ok(());
    }
    let message = format!(
        "the next header follows a payload after {events} events; at least {PAYLOAD_EVENTS} are needed"
    );
    Err(Fault::on(tile, FaultCode::HostPacket, message).at_event(next.event))
}

fn write_host(
    tile: PhysicalTile,
    header: &Header,
    data: &[HostWord],
    host: &mut dyn HostMemory,
) -> Result<(), Fault> {
    let bytes: Vec<u8> = data.iter().flat_map(|word| word.value.to_le_bytes()).collect();
    host.write(header.offset, &bytes)
        .map_err(|error| Fault::on(tile, FaultCode::HostMemory, error.to_string()))
}

fn read_host(
    tile: &mut HostTile<'_>,
    header: &Header,
    event: i64,
    host: &mut dyn HostMemory,
) -> Result<(), Fault> {
    let mut bytes = vec![0; header.bytes as usize];
    if header.bytes > 0 {
        host.read(header.offset, &mut bytes).map_err(|error| {
            Fault::on(tile.tile, FaultCode::HostMemory, error.to_string()).at_event(event)
        })?;
        tile.memory
            .write(header.address, &bytes)
            .map_err(|error| Fault::memory(tile.tile, error, "host packet").at_event(event))?;
    }
    let arrived = (header.bytes / 4).max(1);
    *tile.expected_words = tile.expected_words.saturating_sub(arrived);
    Ok(())
}

impl Header {
    fn decode(first: u32, second: u32) -> Result<Self, String> {
        let (is_write, is_long) = match first >> 29 {
            4 => (true, false),
            5 => (true, true),
            6 => (false, false),
            7 => (false, true),
            format => {
                return Err(format!("packet format {format} (word 0x{first:08x}) is no host read or write"));
            }
        };
        let tile = (first >> 15 & 0x7ff) as u16;
        if second >> 31 != u32::from(tile & 1) {
            return Err(format!(
                "bit 31 of the second header word 0x{second:08x} differs from bit 0 of the tile"
            ));
        }
        let (count, place) = (second & 15, u64::from(second >> 4 & 0x07ff_ffff));
        let (offset, bytes) = match (is_long, count) {
            (true, 0) => (place << 6, 1024),
            (true, count) => (place << 6, count * 64),
            (false, count) => (place << 2, count * 4),
        };
        let address = Address(MEMORY_BASE.0 + 32 * (first & 0x7fff));
        Ok(Self { is_write, is_last_read: first & LAST_READ == LAST_READ, tile, address, offset, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_decode_as_the_table_of_packets_lists_them() {
        // Tile 69, 64 bytes at offset 8192 to 0x50180, long; and 12 bytes at 4100 from the tile, short.
        let read = Header::decode(0xec00_0200 | 69 << 15 | 0xc, 1 << 31 | (8192 >> 6) << 4 | 1);
        let expected = Header {
            is_write: false,
            is_last_read: true,
            tile: 69,
            address: Address(0x50180),
            offset: 8192,
            bytes: 64,
        };
        assert_eq!(read, Ok(expected));
        let write = Header::decode(0x8000_0000 | 2 << 15, (4100 >> 2) << 4 | 3).unwrap();
        assert_eq!((write.is_write, write.tile, write.offset, write.bytes), (true, 2, 4100, 12));
        assert!(Header::decode(0x2000_0000, 0).is_err());
    }

    #[test]
    fn a_request_names_tiles_of_the_owners_column_and_half() {
        let tiles: Vec<u16> = requested_tiles(PhysicalTile(5), 0b1101, 1).map(|tile| tile.0).collect();
        assert_eq!(tiles, [5, 69, 71, 64 * 12 + 5]);
    }
}
