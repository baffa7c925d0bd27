//! The buffers of a program as a placement problem, and addresses back into the program.
//!
//! Rules kept here: a buffer lives as long as on the tile where it lives longest; its access tail is part of its size;
//! no buffer lies in a memory element that holds code on its tile, the words that are fetched ahead included.

use std::collections::BTreeSet;

use ipu_device::memory_map::{
    CODE_BASE, ELEMENT_PAIR_SIZE, ELEMENT_SIZE, FETCH_LOOKAHEAD, FREE_DATA_BASE, INTERLEAVED_BASE,
    MEMORY_BASE,
};
use ipu_device::topology::TILE_COUNT;
use ipu_device::{Address, Bytes, LogicalTile};
use ipu_dialects::exchange::program::{PerTile, Program};
use ipu_dialects::exchange::{BufferId, Lifetimes, kernel_separations};

use super::problem::{Buffer, Lifetime, PlacementProblem, Reservation};
use super::search::{Placed, Placement};
use super::tiles::TileSet;

/// Everything that `program` wants placed; buffer for buffer, whatever addresses they have. `code_ends` is one past the
/// last byte of code of each logical tile.
pub(crate) fn problem_of(program: &Program, code_ends: &[Address]) -> PlacementProblem {
    let lifetimes = Lifetimes::of(program);
    let unused = Lifetime { first: 0, last: 0 };
    let buffer = |id: BufferId| {
        let buffer = program.buffer(id);
        Buffer {
            name: buffer.name.clone(),
            bytes: Bytes(buffer.bytes.0.saturating_add(buffer.tail.0)),
            align: buffer.align,
            class: buffer.class,
            tiles: buffer.tiles.iter().copied().collect(),
            lifetime: lifetimes.hull(id).unwrap_or(unused),
            fixed: None,
        }
    };
    let ordered = |&(one, other): &(BufferId, BufferId)| (one.0.min(other.0), one.0.max(other.0));
    let kernels = kernel_separations(program);
    let separate: BTreeSet<(u32, u32)> = program.separate.iter().chain(&kernels).map(ordered).collect();
    PlacementProblem {
        buffers: program.buffer_ids().map(buffer).collect(),
        separate: separate.into_iter().collect(),
        groups: Vec::new(),
        reservations: reservations(code_ends),
    }
}

/// The runtime's own memory, and on each tile the elements that code reaches.
fn reservations(code_ends: &[Address]) -> Vec<Reservation> {
    let mut reserved = vec![Reservation {
        name: "the entry, the host window and stacks".to_owned(),
        begin: MEMORY_BASE,
        end: FREE_DATA_BASE,
        tiles: TileSet::range(0, TILE_COUNT),
        lifetime: Lifetime::ALWAYS,
    }];
    let mut by_end: std::collections::BTreeMap<Address, TileSet> = std::collections::BTreeMap::new();
    for (tile, &end) in (0..).map(LogicalTile).zip(code_ends) {
        by_end.entry(element_end(end)).or_insert_with(TileSet::empty).insert(tile);
    }
    reserved.extend(by_end.into_iter().map(|(end, tiles)| Reservation {
        name: "code".to_owned(),
        begin: CODE_BASE,
        end,
        tiles,
        lifetime: Lifetime::ALWAYS,
    }));
    reserved
}

/// End of the last element that is fetched from when code ends at `end`.
fn element_end(end: Address) -> Address {
    let fetched = end.0.saturating_add(FETCH_LOOKAHEAD.0);
    let size = if fetched > INTERLEAVED_BASE.0 { ELEMENT_PAIR_SIZE.0 } else { ELEMENT_SIZE.0 };
    Address(fetched.next_multiple_of(size))
}

/// Where the buffers of a placed program are, as a placement has it.
pub(crate) fn placed(program: &Program) -> Vec<Vec<Placed>> {
    let of_buffer = |buffer: &ipu_dialects::exchange::Buffer| {
        let mut groups: indexmap::IndexMap<Address, TileSet> = indexmap::IndexMap::new();
        for &tile in &buffer.tiles {
            if let Some(at) = buffer.address(tile) {
                groups.entry(at).or_insert_with(TileSet::empty).insert(tile);
            }
        }
        groups.into_iter().map(|(at, tiles)| Placed { tiles, at }).collect()
    };
    program.buffers.iter().map(of_buffer).collect()
}

/// Gives the buffers of `program` their addresses.
pub(crate) fn set_places(program: &mut Program, placement: &Placement) {
    for (buffer, places) in program.buffers.iter_mut().zip(&placement.buffers) {
        let at = |tile: &LogicalTile| places.iter().find(|placed| placed.tiles.contains(*tile)).map(|p| p.at);
        let addresses: Option<Vec<Address>> = buffer.tiles.iter().map(at).collect();
        buffer.at = addresses.map(|addresses| match places.as_slice() {
            [only] => PerTile::Same(only.at),
            _ => PerTile::Each(addresses),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_takes_whole_elements_with_what_is_fetched_ahead() {
        assert_eq!(element_end(Address(0x5c000)), Address(0x60000));
        assert_eq!(element_end(Address(0x5ffc0)), Address(0x60000));
        assert_eq!(element_end(Address(0x5ffc8)), Address(0x64000));
        assert_eq!(element_end(Address(0x7ffc8)), Address(0x88000));
    }
}
