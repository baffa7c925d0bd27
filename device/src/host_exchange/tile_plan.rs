//! All that one tile needs for the host exchange: programs, packet tables, descriptors, and the calls in order.
//!
//! Packets are not stored in place. Before each batch a runner copies the packet table that the batch's descriptor
//! names into the packet area, calls the batch's program, and copies what arrived from the staging buffer to its
//! destination. Equal programs and equal packet tables of a tile are kept once.

use indexmap::IndexSet;

use super::batches::{Batch, Direction, HostPlan, HostPlanCode, HostPlanError};
use super::packet::{Packet, PacketKind, request_bitmap};
use super::program::{Role, batch_program, transfer_chunks};
use crate::isa::Instruction;
use crate::memory_map::HOST_STAGING;
use crate::units::{Address, PhysicalTile, Words};

/// Set when packets go behind the request bitmap, since the tile is no owner.
const BEHIND_REQUEST: u32 = 1 << 23;
/// Words of a descriptor.
pub const DESCRIPTOR_WORDS: usize = 3;

/// What the runner has to know about a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    /// Where the received words go; 0 for writes to the host and for owners only.
    pub destination: Address,
    /// Words to copy there from the staging buffer.
    pub copy_words: Words,
    /// Whether the packet table starts with a request bitmap.
    pub owner: bool,
    /// Words of the packet table.
    pub packet_words: Words,
    /// Index in [`TileHostPlan::packet_tables`].
    pub packet_table: usize,
}

impl Descriptor {
    /// The three words, given the address of the packet table.
    #[must_use]
    pub fn words(&self, packet_table: Address) -> [u32; DESCRIPTOR_WORDS] {
        let place = if self.owner { 0 } else { BEHIND_REQUEST };
        [self.destination.0, self.copy_words.0 | place | self.packet_words.0 << 24, packet_table.0]
    }
}

/// Consecutive batches that one call of a runner serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallGroup {
    /// Batches with one program: count, descriptor table, program, through the runner.
    Active {
        /// Index in [`TileHostPlan::programs`].
        program: usize,
        /// One a batch.
        descriptors: Vec<Descriptor>,
    },
    /// Batches in which the tile follows: count and follower, through the loop helper.
    Follow {
        /// Number of batches.
        count: u32,
    },
}

/// One tile's host exchange.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TileHostPlan {
    /// Distinct programs of batches in which the tile is active. They lie on multiples of 8 bytes.
    pub programs: Vec<Vec<Instruction>>,
    /// Distinct packet tables.
    pub packet_tables: Vec<Vec<u32>>,
    /// Calls that load weights.
    pub weights: Vec<CallGroup>,
    /// Calls before each run of the body.
    pub inputs: Vec<CallGroup>,
    /// Calls after it.
    pub outputs: Vec<CallGroup>,
}

impl TileHostPlan {
    /// The part of `tile` in `plan`.
    ///
    /// # Errors
    /// When a packet header cannot hold a transfer.
    pub fn new(plan: &HostPlan, tile: PhysicalTile) -> Result<Self, HostPlanError> {
        let mut tables = Tables::default();
        let weights = tables.groups(&plan.weights, tile)?;
        let inputs = tables.groups(&plan.inputs, tile)?;
        let outputs = tables.groups(&plan.outputs, tile)?;
        let Tables { programs, packet_tables } = tables;
        let (programs, packet_tables) = (programs.into_iter().collect(), packet_tables.into_iter().collect());
        Ok(Self { programs, packet_tables, weights, inputs, outputs })
    }

    /// Whether the tile only follows.
    #[must_use]
    pub fn is_follower(&self) -> bool {
        self.programs.is_empty()
    }
}

#[derive(Default)]
struct Tables {
    programs: IndexSet<Vec<Instruction>>,
    packet_tables: IndexSet<Vec<u32>>,
}

impl Tables {
    fn groups(&mut self, batches: &[Batch], tile: PhysicalTile) -> Result<Vec<CallGroup>, HostPlanError> {
        let mut groups: Vec<CallGroup> = Vec::new();
        for batch in batches {
            let role = Role::of(batch, tile);
            if role == Role::Follower {
                match groups.last_mut() {
                    Some(CallGroup::Follow { count }) => *count += 1,
                    _ => groups.push(CallGroup::Follow { count: 1 }),
                }
                continue;
            }
            let (index, _) = self.programs.insert_full(batch_program(batch, tile));
            let descriptor = self.descriptor(batch, tile, role)?;
            match groups.last_mut() {
                Some(CallGroup::Active { program, descriptors }) if *program == index => {
                    descriptors.push(descriptor);
                }
                _ => groups.push(CallGroup::Active { program: index, descriptors: vec![descriptor] }),
            }
        }
        Ok(groups)
    }

    fn descriptor(
        &mut self,
        batch: &Batch,
        tile: PhysicalTile,
        role: Role,
    ) -> Result<Descriptor, HostPlanError> {
        let packets = packet_table(batch, tile, role)?;
        let (destination, copy_words) = match (batch.direction, batch.transfer(tile)) {
            (Direction::ToTile, Some(transfer)) => (transfer.address, transfer.length.words_ceil()),
            _ => (Address(0), Words(0)),
        };
        let packet_words = Words(packets.len() as u32);
        let (packet_table, _) = self.packet_tables.insert_full(packets);
        Ok(Descriptor { destination, copy_words, owner: role.is_owner(), packet_words, packet_table })
    }
}

/// The words that the runner copies into the packet area: an owner's bitmap, then a target's headers.
fn packet_table(batch: &Batch, tile: PhysicalTile, role: Role) -> Result<Vec<u32>, HostPlanError> {
    let mut words = Vec::new();
    if role.is_owner() {
        words.extend(request_bitmap(batch.targets_of(tile)));
    }
    let Some(transfer) = batch.transfer(tile) else { return Ok(words) };
    let mut chunks = transfer_chunks(batch.direction, transfer).peekable();
    let mut packets = Vec::new();
    while let Some(chunk) = chunks.next() {
        let kind = match batch.direction {
            Direction::ToHost => PacketKind::Write,
            Direction::ToTile => PacketKind::Read {
                destination: Address(HOST_STAGING.0 + chunk.offset.0),
                last: chunks.peek().is_none(),
            },
        };
        let host_offset = transfer.host_offset() + u64::from(chunk.offset.0);
        packets.push(Packet { tile, kind, host_offset, length: chunk.length, long: chunk.long });
    }
    if batch.direction == Direction::ToHost {
        packets.push(Packet::close(tile));
    }
    for packet in packets {
        words.extend(packet.words().ok_or_else(|| HostPlanError {
            code: HostPlanCode::Unencodable,
            message: format!(
                "no packet header of physical tile {tile} holds {} bytes at exchange offset {}",
                packet.length.0, packet.host_offset
            ),
        })?);
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_exchange::plan_host_exchange;
    use crate::memory_map::HOST_CLOSE;
    use crate::package::{Binding, RegionSlice};

    fn binding(name: &str, tiles: &[u16], size: u64) -> Binding {
        let slice = |(index, &tile): (usize, &u16)| RegionSlice {
            tile: PhysicalTile(tile),
            address: Address(0x60000),
            file_offset: index as u64 * size,
            size,
        };
        let slices = tiles.iter().enumerate().map(slice).collect();
        Binding { name: name.to_owned(), slices, ..Binding::default() }
    }

    #[test]
    fn equal_batches_share_program_packets_and_call() {
        let plan = plan_host_exchange(&[], &[binding("x", &[66], 3 * 4096 + 8)], &[binding("y", &[4], 4096)])
            .expect("legal");
        let target = TileHostPlan::new(&plan, PhysicalTile(66)).expect("fits");
        assert_eq!((target.programs.len(), target.packet_tables.len()), (2, 2));
        let [
            CallGroup::Active { program: 0, descriptors },
            CallGroup::Active { program: 1, descriptors: rest },
        ] = target.inputs.as_slice()
        else {
            panic!("{:?}", target.inputs)
        };
        assert_eq!((descriptors.len(), rest.len()), (3, 1));
        let words: Vec<_> = descriptors.iter().map(|descriptor| descriptor.words(Address(0x5d000))).collect();
        assert_eq!(words[0], [0x60000, 1024 | 1 << 23 | 8 << 24, 0x5d000]);
        assert_eq!(words[2][0], 0x62000);
        assert_eq!(target.outputs, [CallGroup::Follow { count: 1 }]);
        let owner = TileHostPlan::new(&plan, PhysicalTile(0)).expect("fits");
        let [CallGroup::Active { descriptors, .. }] = owner.inputs.as_slice() else {
            panic!("{:?}", owner.inputs)
        };
        assert_eq!(descriptors[0].words(Address(0x5d000)), [0, 2 << 24, 0x5d000]);
        assert_eq!(owner.packet_tables, [vec![1 << 3, 0]]);
        let follower = TileHostPlan::new(&plan, PhysicalTile(7)).expect("fits");
        assert!(follower.is_follower());
        assert_eq!(follower.inputs, [CallGroup::Follow { count: 4 }]);
    }

    #[test]
    fn a_slot_past_the_reach_of_a_packet_header_is_refused() {
        let mut plan = plan_host_exchange(&[], &[binding("x", &[66], 64)], &[]).expect("legal");
        plan.inputs[0].transfers[0].slot = 1 << 30;
        let error = TileHostPlan::new(&plan, PhysicalTile(66)).expect_err("no header");
        assert_eq!(error.code, HostPlanCode::Unencodable);
    }

    #[test]
    fn the_longest_packet_list_fits_before_the_closing_address() {
        for size in (4..=4096).step_by(4) {
            let plan = plan_host_exchange(&[], &[], &[binding("y", &[0], size)]).expect("legal");
            let tile = TileHostPlan::new(&plan, PhysicalTile(0)).expect("fits");
            let words = tile.packet_tables[0].len();
            assert!(words <= 38, "{size}: {words}");
            assert!(words * 4 < (HOST_CLOSE.0 - crate::memory_map::HOST_WINDOW.0) as usize);
        }
    }
}
