//! Where the tiles are and how long a word travels between them.
//!
//! 23 rows x 16 columns x 4 sub-tiles = 1,472 tiles. Logical order walks each half-column as a boustrophedon of
//! physical pairs. Source: hardware notes on the C600 topology, after `osmarks/ipu-stack`
//! `crates/ipu-target/src/topology.rs`, checked there against vendor exchange rows and hardware.

use crate::units::{LogicalTile, PhysicalTile};

/// Usable tiles of a C600.
pub const TILE_COUNT: u16 = 1472;
/// Rows of supertiles; row 0 is nearest the exchange spine.
pub const ROWS: u16 = 23;
/// Columns of supertiles.
pub const COLUMNS: u16 = 16;
/// Events from the instant a receiver's mux accepts a word to its write, on row 0.
pub const MUX_TO_WRITE: i64 = 52;
/// Further events a row adds to [`MUX_TO_WRITE`].
pub const MUX_TO_WRITE_PER_ROW: i64 = 2;
/// Mux value of an idle internal exchange: nothing is received.
pub const NEUTRAL_SOURCE: u16 = 0x640;
/// Base of the mux values that select a host exchange block.
pub const HOST_SOURCE_BASE: u16 = 0x600;

/// The direction in which a word leaves its tile, as bit 0 or bit 1 of a send control field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Toward higher folded columns; send control bit 0.
    One,
    /// Toward lower folded columns; send control bit 1.
    Two,
}

impl Direction {
    /// The direction as it stands in a send control field and in a 64-bit format value: 1 or 2.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

impl LogicalTile {
    /// The tile if `id` is one of the 1,472.
    #[must_use]
    pub fn new(id: u64) -> Option<Self> {
        (id < u64::from(TILE_COUNT)).then_some(Self(id as u16))
    }

    /// All tiles in compiler order.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        (0..TILE_COUNT).map(Self)
    }

    /// The hardware id. The tile must be one of the 1,472.
    #[must_use]
    pub fn physical(self) -> PhysicalTile {
        let (pair, lane) = (self.0 / 2, self.0 % 2);
        let (block, k) = (pair / ROWS, pair % ROWS);
        let row = if block.is_multiple_of(2) { k } else { ROWS - 1 - k };
        let column_and_half = 4 * (block / 2) + block % 2;
        PhysicalTile(64 * row + column_and_half + 2 * lane)
    }

    /// The other tile of the physical pair, which shares the double-width exchange lane.
    #[must_use]
    pub fn partner(self) -> Self {
        Self(self.0 ^ 1)
    }
}

impl PhysicalTile {
    /// The tile if `id` is one of the 1,472.
    #[must_use]
    pub fn new(id: u64) -> Option<Self> {
        (id < u64::from(TILE_COUNT)).then_some(Self(id as u16))
    }

    /// The compiler's number for this tile.
    #[must_use]
    pub fn logical(self) -> LogicalTile {
        let half = self.0 & 1;
        let block = 2 * self.column() + half;
        let k = if half == 0 { self.row() } else { ROWS - 1 - self.row() };
        LogicalTile(2 * (ROWS * block + k) + ((self.0 >> 1) & 1))
    }

    /// Supertile row, `0..23`.
    #[must_use]
    pub fn row(self) -> u16 {
        self.0 >> 6
    }

    /// Column, `0..16`.
    #[must_use]
    pub fn column(self) -> u16 {
        (self.0 >> 2) & 15
    }

    /// Tile inside its supertile, `0..4`.
    #[must_use]
    pub fn sub(self) -> u16 {
        self.0 & 3
    }

    /// The other tile of the physical pair.
    #[must_use]
    pub fn partner(self) -> Self {
        Self(self.0 ^ 2)
    }

    /// The tile that issues host requests on behalf of this one: same column and half, row 0, bit 1 clear.
    #[must_use]
    pub fn host_owner(self) -> Self {
        Self(self.0 & 0x3d)
    }

    /// The mux value that selects this tile's host exchange block.
    #[must_use]
    pub fn host_source(self) -> u16 {
        HOST_SOURCE_BASE + self.host_owner().0
    }

    /// Events from a word's mux instant on this tile to its write: 52 + 2 x row.
    #[must_use]
    pub fn mux_to_write(self) -> i64 {
        MUX_TO_WRITE + MUX_TO_WRITE_PER_ROW * i64::from(self.row())
    }

    fn folded_column(self) -> i64 {
        let column = i64::from(self.column());
        column.min(15 - column)
    }

    fn half(self) -> i64 {
        i64::from(self.column() >> 3)
    }
}

/// Signed pipeline stages along the spine from `source` to `destination`; below 1 means direction two.
fn displacement(source: PhysicalTile, destination: PhysicalTile) -> i64 {
    let entry = source.folded_column() + (source.half() ^ i64::from(source.sub() & 1));
    let same_side = destination.half() == i64::from(destination.sub() & 1);
    let exit = match (destination.sub() >= 2, same_side) {
        (true, true) => 2,
        (true, false) => 4,
        (false, true) => 1,
        (false, false) => 5,
    };
    6 * (destination.folded_column() - entry) + exit
}

/// The direction in which a word from `source` must leave to reach `destination`. Equal for both members of a
/// destination pair.
#[must_use]
pub fn direction(source: PhysicalTile, destination: PhysicalTile) -> Direction {
    if displacement(source, destination) < 1 { Direction::Two } else { Direction::One }
}

/// Events between a word's send event on `source` and the event on `destination` from which its mux must
/// select `source` to catch that word. Between -78 and 112: the tiles leave a sync at different instants.
#[must_use]
pub fn time_to_mux(source: PhysicalTile, destination: PhysicalTile) -> i64 {
    let source_column = i64::from(source.column());
    let turn =
        if source.half() == destination.half() { (source_column & 7) + 1 } else { 16 - (source_column & 7) };
    8 * source.half() + 3 - i64::from(destination.column()) + turn + 4 * source.folded_column()
        - 4 * destination.folded_column()
        + 2 * (i64::from(source.row()) - i64::from(destination.row()))
        + displacement(source, destination).abs()
        - 34
}

/// The member of the pair of `receiver` whose mux sees a word of `source` first; only it issues the paired
/// source write, its partner follows one event later.
#[must_use]
pub fn early_member(source: PhysicalTile, receiver: PhysicalTile) -> PhysicalTile {
    let partner = receiver.partner();
    if time_to_mux(source, receiver) < time_to_mux(source, partner) { receiver } else { partner }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Logical source and destination, physical source and destination, direction, time to mux: the worked
    /// examples of the topology notes.
    const ROUTES: &[(u16, u16, u16, u16, u32, i64)] = &[
        (0, 1, 0, 2, 1, -28),
        (1, 0, 2, 0, 1, -29),
        (0, 2, 0, 64, 1, -31),
        (2, 0, 64, 0, 1, -27),
        (0, 3, 0, 66, 1, -30),
        (0, 46, 0, 1409, 1, -69),
        (46, 0, 1409, 0, 2, 19),
        (0, 92, 0, 4, 1, -28),
        (0, 274, 0, 9, 1, -23),
        (274, 0, 9, 0, 2, -3),
        (0, 736, 0, 32, 1, -4),
        (736, 0, 32, 0, 2, 68),
        (736, 100, 32, 260, 2, 49),
        (274, 1286, 9, 53, 2, -25),
        (1286, 274, 53, 9, 1, -9),
        (0, 1286, 0, 53, 1, -23),
        (1286, 1471, 53, 63, 2, -14),
        (1471, 0, 63, 0, 1, -13),
        (32, 0, 1024, 0, 1, 3),
        (0, 0, 0, 0, 1, -29),
        (736, 736, 32, 32, 2, -29),
        (3, 2, 66, 64, 1, -29),
    ];

    #[test]
    fn routes_agree_with_the_worked_examples() {
        for &(source, destination, physical_source, physical_destination, bits, time) in ROUTES {
            let (s, d) = (LogicalTile(source).physical(), LogicalTile(destination).physical());
            assert_eq!((s.0, d.0), (physical_source, physical_destination), "{source} -> {destination}");
            assert_eq!(direction(s, d).bits(), bits, "{source} -> {destination}");
            assert_eq!(time_to_mux(s, d), time, "{source} -> {destination}");
        }
    }

    #[test]
    fn logical_and_physical_ids_are_a_permutation() {
        let mut seen = [false; TILE_COUNT as usize];
        for tile in LogicalTile::all() {
            let physical = tile.physical();
            assert!(!std::mem::replace(&mut seen[usize::from(physical.0)], true));
            assert_eq!(physical.logical(), tile);
            assert_eq!(tile.partner().physical(), physical.partner());
        }
        assert!(seen.iter().all(|&seen| seen));
    }

    #[test]
    fn members_of_a_pair_see_a_source_one_event_apart_and_from_one_direction() {
        let (mut least, mut most) = (i64::MAX, i64::MIN);
        for source in (0..TILE_COUNT).map(PhysicalTile) {
            for destination in (0..TILE_COUNT).map(PhysicalTile) {
                let time = time_to_mux(source, destination);
                (least, most) = (least.min(time), most.max(time));
                let partner = destination.partner();
                assert_eq!((time - time_to_mux(source, partner)).abs(), 1);
                assert_eq!(direction(source, destination), direction(source, partner));
                let side = (destination.half() ^ i64::from(destination.sub() & 1)) == 1;
                let early_is_high = side == (direction(source, destination) == Direction::One);
                assert_eq!(early_member(source, destination).sub() >= 2, early_is_high);
            }
        }
        assert_eq!((least, most), (-78, 112));
    }
}
