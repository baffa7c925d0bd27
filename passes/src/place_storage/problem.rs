//! A placement problem: what needs memory, where, when, and what must stay apart or together.

use ipu_device::memory_map::{INTERLEAVED_BASE, LOAD_END, MEMORY_BASE, MemoryClass};
use ipu_device::{Address, Bytes};
pub use ipu_dialects::exchange::Lifetime;

use super::failure::{PlaceCode, PlaceError};
use super::tiles::TileSet;

/// First byte past what may be placed: data of an image must be loadable.
pub(crate) const PLACEABLE_END: Address = LOAD_END;

/// Memory wanted on each tile of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffer {
    /// The name in messages.
    pub name: String,
    /// Size on each tile, access tail included.
    pub bytes: Bytes,
    /// Alignment, a power of two.
    pub align: Bytes,
    /// Standard buffers may lie in either region, interleaved ones in region 1 only.
    pub class: MemoryClass,
    /// Tiles that hold it.
    pub tiles: TileSet,
    /// When it holds something.
    pub lifetime: Lifetime,
    /// The address it must have.
    pub fixed: Option<Address>,
}

/// Addresses that no buffer may use: code, rows, host window, completion word, stacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// The name in messages.
    pub name: String,
    /// First byte.
    pub begin: Address,
    /// First byte past the range.
    pub end: Address,
    /// Tiles concerned.
    pub tiles: TileSet,
    /// When; a host window may hold scratch between host transfers.
    pub lifetime: Lifetime,
}

/// Everything that has to be placed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlacementProblem {
    /// What needs memory.
    pub buffers: Vec<Buffer>,
    /// Pairs of buffers that may share no memory element on a tile that holds both; holds between whole groups.
    pub separate: Vec<(u32, u32)>,
    /// Buffers that follow each other in memory in this order, each at its alignment; equal sizes give one stride.
    pub groups: Vec<Vec<u32>>,
    /// Addresses not to be used.
    pub reservations: Vec<Reservation>,
}

impl PlacementProblem {
    /// Refuses a problem that no placement could satisfy for reasons of form.
    pub(crate) fn check(&self) -> Result<(), PlaceError> {
        for (index, buffer) in self.buffers.iter().enumerate() {
            check_buffer(buffer).map_err(|message| PlaceError {
                buffers: vec![index as u32],
                ..PlaceError::new(PlaceCode::Malformed, message)
            })?;
        }
        let known = |id: u32| (id as usize) < self.buffers.len();
        let pairs = self.separate.iter().flat_map(|&(a, b)| [a, b]);
        if let Some(id) = pairs.chain(self.groups.iter().flatten().copied()).find(|&id| !known(id)) {
            let message = format!("an edge or a group names buffer {id}, there are {}", self.buffers.len());
            return Err(PlaceError::new(PlaceCode::Malformed, message));
        }
        let mut group_of = vec![None; self.buffers.len()];
        for (group, members) in self.groups.iter().enumerate() {
            for &member in members {
                let buffer = &self.buffers[member as usize];
                if group_of[member as usize].replace(group).is_some() {
                    let message = format!("buffer `{}` stands in two groups or twice in one", buffer.name);
                    return Err(PlaceError {
                        buffers: vec![member],
                        ..PlaceError::new(PlaceCode::Malformed, message)
                    });
                }
            }
        }
        for &(a, b) in &self.separate {
            let same_group = group_of[a as usize].is_some() && group_of[a as usize] == group_of[b as usize];
            if a == b || same_group {
                let [first, second] = [a, b].map(|id| &self.buffers[id as usize].name);
                let message = format!("`{first}` and `{second}` must be apart but share one allocation");
                return Err(PlaceError {
                    buffers: vec![a, b],
                    ..PlaceError::new(PlaceCode::SeparateFromItself, message)
                });
            }
        }
        Ok(())
    }
}

fn check_buffer(buffer: &Buffer) -> Result<(), String> {
    let Buffer { name, bytes, align, class, lifetime, .. } = buffer;
    if bytes.0 == 0 || buffer.tiles.is_empty() {
        return Err(format!("buffer `{name}` has no bytes or no tiles"));
    }
    if !align.0.is_power_of_two() || align.0 > 0x8000 {
        return Err(format!("alignment of `{name}` is {align}, expected a power of two up to 32768"));
    }
    if lifetime.first > lifetime.last {
        return Err(format!("buffer `{name}` is last used before it is first used"));
    }
    let Some(at) = buffer.fixed else { return Ok(()) };
    let end = at.checked_add(*bytes).filter(|&end| end <= PLACEABLE_END);
    let Some(end) = end.filter(|_| at >= MEMORY_BASE) else {
        return Err(format!("buffer `{name}` is fixed at {at}, outside {MEMORY_BASE} to {PLACEABLE_END}"));
    };
    if !at.is_aligned(*align) {
        return Err(format!("buffer `{name}` is fixed at {at}, which is not a multiple of {align}"));
    }
    if at < INTERLEAVED_BASE && (end > INTERLEAVED_BASE || *class == MemoryClass::Interleaved) {
        return Err(format!(
            "buffer `{name}` is fixed at {at}, outside the region of its class or across both"
        ));
    }
    Ok(())
}
