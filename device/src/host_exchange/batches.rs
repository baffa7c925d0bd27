//! From bindings to batches: which bytes of which tile move together, and through which slot.
//!
//! 1. Bindings count in list order: a binding's bytes start where the previous one's end in the call's byte string.
//! 2. A slice is cut into pieces of at most 4,096 bytes; pieces queue tile by tile.
//! 3. Batch `k` is the `k`-th piece of every tile that has one, in order of physical id.
//! 4. Every tile that occurs in any slice has a slot of 4,096 bytes in host page 1, in order of physical id.
//!
//! Weights, inputs and outputs are batched apart: W, I and O batches. The call `initialize` takes 2 W marks, the
//! call `run` 2 (I + O) - 1, since its last mark is the final release.

use std::collections::BTreeMap;
use std::fmt;

use super::packet::HOST_PAGE;
use crate::memory_map::{MEMORY_BASE, MEMORY_END};
use crate::package::{Binding, HostCall, HostExchange, HostPage, HostSlice};
use crate::units::{Address, Bytes, PhysicalTile};

/// The mark that ends the load: one for each row of 64 tiles.
const STARTUP_MARK: u32 = 23;
/// Host page of the slots; page 0 is the command page.
const SLOT_PAGE: u32 = 1;
/// Name of the call that loads weights.
pub const INITIALIZE: &str = "initialize";
/// Name of the call that runs the program once.
pub const RUN: &str = "run";

crate::coded_enum! {
    /// What can be wrong with bindings.
    pub enum HostPlanCode {
        /// A slice has no bytes, or not whole words.
        SliceSize = "D0240", "slice of a binding is not whole words",
        /// A slice does not lie in tile memory, or not on a word.
        SliceAddress = "D0241", "slice of a binding lies at an address that cannot be used",
        /// A packet header cannot hold a transfer.
        Unencodable = "D0242", "host packet cannot hold a transfer",
    }
}

/// A binding that the host exchange cannot serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPlanError {
    /// The kind of error.
    pub code: HostPlanCode,
    /// What is wrong, where, and what was expected.
    pub message: String,
}

impl fmt::Display for HostPlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for HostPlanError {}

/// Which way a batch goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// Weights and inputs.
    ToTile,
    /// Outputs.
    ToHost,
}

/// What one tile moves in one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileTransfer {
    /// The tile.
    pub tile: PhysicalTile,
    /// First byte in its memory.
    pub address: Address,
    /// Length, 4 to 4,096.
    pub length: Bytes,
    /// First byte in the call's byte string.
    pub file_offset: u64,
    /// The tile's slot.
    pub slot: u32,
}

impl TileTransfer {
    /// Where the slot is in the tiles' view of host memory: after the command page.
    #[must_use]
    pub fn host_offset(&self) -> u64 {
        u64::from(HOST_PAGE) * (1 + u64::from(self.slot))
    }
}

/// Transfers of one rendezvous, at most one a tile, in order of physical id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Which way.
    pub direction: Direction,
    /// The transfers.
    pub transfers: Vec<TileTransfer>,
}

impl Batch {
    /// The transfer of `tile`.
    #[must_use]
    pub fn transfer(&self, tile: PhysicalTile) -> Option<&TileTransfer> {
        let index = self.transfers.binary_search_by_key(&tile, |transfer| transfer.tile).ok()?;
        self.transfers.get(index)
    }

    /// The tiles that `owner` must announce.
    pub fn targets_of(&self, owner: PhysicalTile) -> impl Iterator<Item = PhysicalTile> {
        self.transfers.iter().map(|transfer| transfer.tile).filter(move |tile| tile.host_owner() == owner)
    }
}

/// All batches of a program in the order in which every tile goes through them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostPlan {
    /// Batches of the call `initialize`.
    pub weights: Vec<Batch>,
    /// Input batches of the call `run`.
    pub inputs: Vec<Batch>,
    /// Output batches of the call `run`.
    pub outputs: Vec<Batch>,
    /// Tiles that have a slot, in order of physical id and so of slots.
    pub participants: Vec<PhysicalTile>,
}

/// Plans the transfers of all bindings.
///
/// # Errors
/// A slice that is empty, not whole words, or not in tile memory.
pub fn plan_host_exchange(
    weights: &[Binding],
    inputs: &[Binding],
    outputs: &[Binding],
) -> Result<HostPlan, HostPlanError> {
    let all = weights.iter().chain(inputs).chain(outputs);
    let mut participants: Vec<PhysicalTile> =
        all.flat_map(|binding| &binding.slices).map(|slice| slice.tile).collect();
    participants.sort_unstable();
    participants.dedup();
    Ok(HostPlan {
        weights: batches(weights, Direction::ToTile, &participants)?,
        inputs: batches(inputs, Direction::ToTile, &participants)?,
        outputs: batches(outputs, Direction::ToHost, &participants)?,
        participants,
    })
}

/// Cuts slices into pieces and deals each tile's pieces out to batches.
fn batches(
    bindings: &[Binding],
    direction: Direction,
    participants: &[PhysicalTile],
) -> Result<Vec<Batch>, HostPlanError> {
    let mut batches: Vec<Batch> = Vec::new();
    let mut queued: BTreeMap<PhysicalTile, usize> = BTreeMap::new();
    let mut base = 0_u64;
    for binding in bindings {
        for slice in &binding.slices {
            check_slice(binding, slice.tile, slice.address, slice.size)?;
            let slot = participants.binary_search(&slice.tile).unwrap_or(0) as u32;
            let next = queued.entry(slice.tile).or_default();
            for piece in (0..slice.size as u32).step_by(HOST_PAGE as usize) {
                let transfer = TileTransfer {
                    tile: slice.tile,
                    address: Address(slice.address.0 + piece),
                    length: Bytes((slice.size as u32 - piece).min(HOST_PAGE)),
                    file_offset: slice.file_offset.saturating_add(base).saturating_add(u64::from(piece)),
                    slot,
                };
                match batches.get_mut(*next) {
                    Some(batch) => batch.transfers.push(transfer),
                    None => batches.push(Batch { direction, transfers: vec![transfer] }),
                }
                *next += 1;
            }
        }
        base = binding.byte_length().saturating_add(base);
    }
    for batch in &mut batches {
        batch.transfers.sort_unstable_by_key(|transfer| transfer.tile);
    }
    Ok(batches)
}

fn check_slice(
    binding: &Binding,
    tile: PhysicalTile,
    address: Address,
    size: u64,
) -> Result<(), HostPlanError> {
    let at = format!("slice of `{}` on physical tile {tile}", binding.name);
    let memory = u64::from(MEMORY_END.0 - MEMORY_BASE.0);
    if size == 0 || !size.is_multiple_of(4) || size > memory {
        let message = format!("{at} has {size} bytes, expected a multiple of 4 from 4 to {memory}");
        return Err(HostPlanError { code: HostPlanCode::SliceSize, message });
    }
    let end = u64::from(address.0) + size;
    if !address.is_aligned(Bytes(4)) || address < MEMORY_BASE || end > u64::from(MEMORY_END.0) {
        let message = format!(
            "{at} lies at {address} to 0x{end:x}, expected multiples of 4 from {MEMORY_BASE} to {MEMORY_END}"
        );
        return Err(HostPlanError { code: HostPlanCode::SliceAddress, message });
    }
    Ok(())
}

impl HostPlan {
    /// The pages and calls of the package.
    #[must_use]
    pub fn host_exchange(&self) -> HostExchange {
        let slots = u64::from(HOST_PAGE) * self.participants.len().max(1) as u64;
        let mut calls = Vec::new();
        if !self.weights.is_empty() {
            let phases = 2 * self.weights.len();
            calls.push(call(INITIALIZE, phases, &self.weights, &[]));
        }
        if !self.participants.is_empty() {
            let phases = (2 * (self.inputs.len() + self.outputs.len())).saturating_sub(1);
            calls.push(call(RUN, phases, &self.inputs, &self.outputs));
        }
        HostExchange {
            startup_mark: STARTUP_MARK,
            command_page: 0,
            command_offset: 0,
            pages: vec![
                HostPage { index: 0, size: u64::from(HOST_PAGE) },
                HostPage { index: SLOT_PAGE, size: slots },
            ],
            attach_order: vec![0, SLOT_PAGE],
            calls,
        }
    }
}

fn call(name: &str, phases: usize, inputs: &[Batch], outputs: &[Batch]) -> HostCall {
    let slices = |batches: &[Batch]| -> Vec<HostSlice> {
        batches.iter().flat_map(|batch| &batch.transfers).map(host_slice).collect()
    };
    HostCall {
        name: name.to_owned(),
        command: 0,
        phases: phases as u32,
        invocations: 1,
        inputs: slices(inputs),
        input_batch_ends: ends(inputs),
        outputs: slices(outputs),
        output_batch_ends: ends(outputs),
    }
}

fn host_slice(transfer: &TileTransfer) -> HostSlice {
    HostSlice {
        page: SLOT_PAGE,
        page_offset: u64::from(transfer.slot) * u64::from(HOST_PAGE),
        file_offset: transfer.file_offset,
        size: u64::from(transfer.length.0),
    }
}

/// Running count of slices at the end of each batch.
fn ends(batches: &[Batch]) -> Vec<u32> {
    let lengths = batches.iter().map(|batch| batch.transfers.len() as u32);
    lengths
        .scan(0, |sum, length| {
            *sum += length;
            Some(*sum)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::RegionSlice;

    fn binding(name: &str, slices: &[(u16, u32, u64, u64)]) -> Binding {
        let slices = slices
            .iter()
            .map(|&(tile, address, file_offset, size)| RegionSlice {
                tile: PhysicalTile(tile),
                address: Address(address),
                file_offset,
                size,
            })
            .collect();
        Binding { name: name.to_owned(), slices, ..Binding::default() }
    }

    #[test]
    fn pieces_of_a_tile_go_into_consecutive_batches() {
        let a = binding("a", &[(64, 0x60000, 0, 5000), (2, 0x60000, 5000, 100)]);
        let b = binding("b", &[(2, 0x70000, 0, 8)]);
        let plan = plan_host_exchange(&[], &[a, b], &[]).expect("legal");
        assert_eq!(plan.participants, [PhysicalTile(2), PhysicalTile(64)]);
        let moved: Vec<Vec<_>> = plan
            .inputs
            .iter()
            .map(|batch| {
                let of = |t: &TileTransfer| (t.tile.0, t.address.0, t.length.0, t.file_offset, t.slot);
                batch.transfers.iter().map(of).collect()
            })
            .collect();
        assert_eq!(
            moved,
            [
                vec![(2, 0x60000, 100, 5000, 0), (64, 0x60000, 4096, 0, 1)],
                vec![(2, 0x70000, 8, 5100, 0), (64, 0x61000, 904, 4096, 1)],
            ]
        );
    }

    #[test]
    fn the_recorded_run_has_two_and_nine_phases() {
        // One input batch; four outputs of at most a page a tile: the result and three lists of cycles.
        let slices: Vec<_> = (0..64).map(|tile| (tile, 0x60000, 256 * u64::from(tile), 256)).collect();
        let weights = binding("weight", &slices);
        let input = binding("input", &slices);
        let outputs = ["output.0", "profile.start-cycle", "profile.cycles", "profile.end-cycle"];
        let outputs: Vec<Binding> = outputs.iter().map(|name| binding(name, &slices)).collect();
        let exchange = plan_host_exchange(&[weights], &[input], &outputs).expect("legal").host_exchange();
        let calls: Vec<_> = exchange.calls.iter().map(|call| (call.name.as_str(), call.phases)).collect();
        assert_eq!(calls, [("initialize", 2), ("run", 9)]);
        let run = exchange.call(RUN).expect("a run");
        assert_eq!(
            (run.input_batch_ends.as_slice(), run.output_batch_ends.as_slice()),
            (&[64][..], &[64, 128, 192, 256][..])
        );
        assert_eq!(run.output_length(), 4 * 64 * 256);
        assert_eq!(exchange.pages.iter().map(|page| page.size).collect::<Vec<_>>(), [4096, 64 * 4096]);
    }

    #[test]
    fn without_bindings_there_is_no_call_and_one_idle_slot() {
        let exchange = plan_host_exchange(&[], &[], &[]).expect("legal").host_exchange();
        assert!(exchange.calls.is_empty());
        assert_eq!(exchange.pages.iter().map(|page| page.size).collect::<Vec<_>>(), [4096, 4096]);
    }

    #[test]
    fn slices_that_are_not_whole_words_of_tile_memory_are_refused() {
        let refused = |address, size, code| {
            let error = plan_host_exchange(&[], &[binding("x", &[(3, address, 0, size)])], &[]);
            let error = error.expect_err("illegal");
            assert_eq!(error.code, code);
            error.to_string()
        };
        assert_eq!(
            refused(0x60000, 6, HostPlanCode::SliceSize),
            "slice of `x` on physical tile 3 has 6 bytes, expected a multiple of 4 from 4 to 638976"
        );
        assert_eq!(
            refused(0xe7ffc, 8, HostPlanCode::SliceAddress),
            "slice of `x` on physical tile 3 lies at 0xe7ffc to 0xe8004, expected multiples of 4 from 0x4c000 to 0xe8000"
        );
    }
}
