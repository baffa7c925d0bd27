//! Host packet headers, how a transfer is cut into packets, and the bitmap that announces targets.
//!
//! A header is two words. Word 0 holds the format (bits 31..29), bits 27..26 of the last read of a stream, the tile
//! (bits 25..15) and, of reads, the destination in 32-byte units from the start of memory. Word 1 holds the tile's low
//! bit (31), the host offset in units of the format (from bit 4) and the length in the same units (bits 3..0).
//!
//! | format | unit | length |
//! |---|---|---|
//! | short | 4 bytes | 4 to 60 |
//! | long | 64 bytes | 64 to 1,024, the latter stored as 0 |

use smallvec::SmallVec;

use crate::memory_map::{HOST_CLOSE, MEMORY_BASE};
use crate::units::{Address, Bytes, PhysicalTile};

/// Size of a host page and of a tile's slot; no packet crosses such a boundary.
pub const HOST_PAGE: u32 = 4096;
/// Longest packet to a tile.
pub const LONGEST_READ: u32 = 1024;
/// Longest packet from a tile: its payload is one `send`.
pub const LONGEST_WRITE: u32 = 256;
/// Unit of short packets.
const SHORT_UNIT: u32 = 4;
/// Unit of long packets.
const LONG_UNIT: u32 = 64;
/// Longest short packet.
const LONGEST_SHORT: u32 = 60;
/// Granule of a read's destination.
const DESTINATION_UNIT: u32 = 32;
/// Bits that mark the last read of a stream.
const LAST_READ: u32 = 0x0c00_0000;

/// What a packet asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PacketKind {
    /// Host to tile; `destination` is a multiple of 32.
    Read {
        /// Where the words go.
        destination: Address,
        /// Whether it is the last of its stream.
        last: bool,
    },
    /// Tile to host; the payload follows the header.
    Write,
}

/// A packet header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Packet {
    /// The tile it serves.
    pub tile: PhysicalTile,
    /// What it asks for.
    pub kind: PacketKind,
    /// Exchange offset of its host bytes.
    pub host_offset: u64,
    /// Length. 0 is the read that closes a stream of writes.
    pub length: Bytes,
    /// Whether it is of the long format.
    pub long: bool,
}

/// A part of a transfer that goes in one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Offset in the transfer.
    pub offset: Bytes,
    /// Length.
    pub length: Bytes,
    /// Whether it needs the long format.
    pub long: bool,
}

/// Cuts `length` bytes at exchange offset `host_offset`, multiples of 4, into chunks of at most `most` bytes, which
/// is [`LONGEST_READ`] or [`LONGEST_WRITE`].
#[must_use]
pub fn chunks(host_offset: u64, length: Bytes, most: u32) -> SmallVec<[Chunk; 8]> {
    let mut chunks = SmallVec::new();
    let mut done = 0;
    while done < length.0 {
        let at = host_offset + u64::from(done);
        let page_left = HOST_PAGE - (at % u64::from(HOST_PAGE)) as u32;
        let left = (length.0 - done).min(page_left);
        let long = at.is_multiple_of(u64::from(LONG_UNIT)) && left >= LONG_UNIT;
        let size = if long {
            left.min(most) / LONG_UNIT * LONG_UNIT
        } else if left <= LONGEST_SHORT {
            left
        } else {
            DESTINATION_UNIT
        };
        chunks.push(Chunk { offset: Bytes(done), length: Bytes(size), long });
        done += size;
    }
    chunks
}

impl Packet {
    /// The zero-byte read that ends a tile's writes.
    #[must_use]
    pub fn close(tile: PhysicalTile) -> Self {
        let kind = PacketKind::Read { destination: HOST_CLOSE, last: true };
        Self { tile, kind, host_offset: 0, length: Bytes(0), long: false }
    }

    /// The two header words; `None` when the destination, offset or length has no place in them.
    #[must_use]
    pub fn words(&self) -> Option<[u32; 2]> {
        let unit = if self.long { LONG_UNIT } else { SHORT_UNIT };
        let units = self.length.0 / unit;
        let fits = self.length.0.is_multiple_of(unit) && units <= if self.long { 16 } else { 15 };
        let offset =
            u32::try_from(self.host_offset / u64::from(unit)).ok().filter(|&offset| offset < 1 << 27)?;
        if !fits || !self.host_offset.is_multiple_of(u64::from(unit)) {
            return None;
        }
        let operation = match self.kind {
            PacketKind::Write => 0x8000_0000 | u32::from(self.long) << 29,
            PacketKind::Read { destination, last } => {
                let above = destination.0.checked_sub(MEMORY_BASE.0)?;
                let place = (above / DESTINATION_UNIT < 1 << 15 && above.is_multiple_of(DESTINATION_UNIT))
                    .then_some(above / DESTINATION_UNIT)?;
                let last = if last { LAST_READ } else { 0 };
                0xc000_0000 | u32::from(self.long) << 29 | last | place
            }
        };
        let tile = u32::from(self.tile.0);
        Some([operation | tile << 15, (tile & 1) << 31 | offset << 4 | units & 15])
    }

    /// The packet of two header words; `None` when the format is none of the four or the tile does not exist.
    #[must_use]
    pub fn from_words([first, second]: [u32; 2]) -> Option<Self> {
        let tile = PhysicalTile::new(u64::from(first >> 15 & 0x7ff))?;
        let (read, long) = match first >> 29 {
            4 => (false, false),
            5 => (false, true),
            6 => (true, false),
            7 => (true, true),
            _ => return None,
        };
        let unit = if long { LONG_UNIT } else { SHORT_UNIT };
        let units = match (second & 15, long) {
            (0, true) => 16,
            (units, _) => units,
        };
        let destination = Address(MEMORY_BASE.0 + (first & 0x7fff) * DESTINATION_UNIT);
        let kind = if read {
            PacketKind::Read { destination, last: first & LAST_READ == LAST_READ }
        } else {
            PacketKind::Write
        };
        let host_offset = u64::from(second >> 4 & 0x7ff_ffff) * u64::from(unit);
        Some(Self { tile, kind, host_offset, length: Bytes(units * unit), long })
    }
}

/// The two words with which an owner announces its targets: bit `2 * row + lane` of 46.
#[must_use]
pub fn request_bitmap(targets: impl IntoIterator<Item = PhysicalTile>) -> [u32; 2] {
    let mut words = [0, 0];
    for tile in targets {
        let bit = 2 * tile.row() + (tile.sub() >> 1);
        let (word, bit) = if bit < 24 { (0, bit) } else { (1, bit - 24) };
        words[word] |= 1_u32 << bit;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(host_offset: u64, length: u32, most: u32) -> Vec<(u32, bool)> {
        chunks(host_offset, Bytes(length), most).iter().map(|chunk| (chunk.length.0, chunk.long)).collect()
    }

    #[test]
    fn transfers_are_cut_as_the_notes_say() {
        assert_eq!(lengths(4096, 4096, LONGEST_READ), [(1024, true); 4]);
        assert_eq!(lengths(4096, 100, LONGEST_READ), [(64, true), (36, false)]);
        assert_eq!(lengths(4096, 4, LONGEST_WRITE), [(4, false)]);
        // The longest lists: 17 packets from a tile, 5 to a tile.
        for length in [4088, 4092] {
            let writes = lengths(8192, length, LONGEST_WRITE);
            assert_eq!(writes.len(), 17);
            assert_eq!(writes[15], (192, true));
            assert_eq!(lengths(8192, length, LONGEST_READ).len(), 5);
        }
        // Off the 64-byte grid; and a page boundary that must not be crossed.
        assert_eq!(lengths(4096 + 32, 128, LONGEST_READ), [(32, false), (64, true), (32, false)]);
        assert_eq!(lengths(4096 + 4064, 64, LONGEST_READ), [(32, false), (32, false)]);
    }

    #[test]
    fn chunks_cover_a_transfer_without_crossing_pages() {
        for (host_offset, length) in [(4096, 4092), (4100, 4096), (4096 + 60, 3000), (8188, 8)] {
            let mut done = 0;
            for chunk in chunks(host_offset, Bytes(length), LONGEST_WRITE) {
                assert_eq!(chunk.offset.0, done);
                let first = host_offset + u64::from(done);
                let last = first + u64::from(chunk.length.0) - 1;
                assert_eq!(first / 4096, last / 4096);
                done += chunk.length.0;
            }
            assert_eq!(done, length);
        }
    }

    #[test]
    fn headers_have_the_words_of_the_notes() {
        let tile = PhysicalTile(1173);
        let words = |kind, host_offset, length, long| {
            Packet { tile, kind, host_offset, length: Bytes(length), long }.words().map(|[a, b]| (a, b))
        };
        let (t, odd) = (1173_u32 << 15, 1_u32 << 31);
        let read = |last| PacketKind::Read { destination: Address(0x50180), last };
        assert_eq!(
            words(read(true), 4096, 60, false),
            Some((0xcc00_0200 | t | 0xc, odd | (4096 >> 2) << 4 | 15))
        );
        assert_eq!(
            words(read(true), 4096, 1024, true),
            Some((0xec00_0200 | t | 0xc, odd | (4096 >> 6) << 4))
        );
        assert_eq!(
            words(read(false), 4096, 1024, true),
            Some((0xe000_0200 | t | 0xc, odd | (4096 >> 6) << 4))
        );
        assert_eq!(
            words(PacketKind::Write, 8192, 8, false),
            Some((0x8000_0000 | t, odd | (8192 >> 2) << 4 | 2))
        );
        assert_eq!(
            words(PacketKind::Write, 8192, 256, true),
            Some((0xa000_0000 | t, odd | (8192 >> 6) << 4 | 4))
        );
        assert_eq!(Packet::close(tile).words(), Some([0xcc00_0200 | t | 0xb, odd]));
        assert_eq!(words(PacketKind::Write, 1 << 29, 8, false), None, "past 512 MiB");
        assert_eq!(words(PacketKind::Write, 32, 64, true), None, "off the grid");
        assert_eq!(words(PacketKind::Read { destination: Address(0x50184), last: true }, 0, 8, false), None);
    }

    #[test]
    fn headers_read_back() {
        for tile in [0, 1, 1471].map(PhysicalTile) {
            for (length, long) in [(4, false), (60, false), (64, true), (1024, true)] {
                for kind in
                    [PacketKind::Write, PacketKind::Read { destination: Address(0xe7fe0), last: false }]
                {
                    let packet = Packet { tile, kind, host_offset: 4096 * 1472, length: Bytes(length), long };
                    assert_eq!(packet.words().and_then(Packet::from_words), Some(packet));
                }
            }
            assert_eq!(Packet::close(tile).words().and_then(Packet::from_words), Some(Packet::close(tile)));
        }
        assert_eq!(Packet::from_words([0x2000_0000, 0]), None);
        assert_eq!(Packet::from_words([0x8000_0000 | 1500 << 15, 0]), None);
    }

    #[test]
    fn the_request_bitmap_has_a_bit_for_each_row_and_lane() {
        assert_eq!(request_bitmap([PhysicalTile(0)]), [1, 0]);
        assert_eq!(request_bitmap([PhysicalTile(2)]), [2, 0]);
        assert_eq!(request_bitmap([PhysicalTile(64 * 11 + 2), PhysicalTile(64 * 12)]), [1 << 23, 1]);
        assert_eq!(request_bitmap([PhysicalTile(64 * 22 + 2)]), [0, 1 << 21]);
    }
}
