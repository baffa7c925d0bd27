//! What a tile does in a batch, as instructions that return through `$m10` and change only `$m8`.

use super::batches::{Batch, Direction, TileTransfer};
use super::packet::{Chunk, LONGEST_READ, LONGEST_WRITE, chunks};
use crate::exchange::SendControl;
use crate::isa::{ControlRegister, Instruction, Register};
use crate::memory_map::HOST_WINDOW;
use crate::topology::NEUTRAL_SOURCE;
use crate::units::{Address, PhysicalTile};

/// Least events of a payload to the host; shorter ones are followed by a delay.
const LEAST_PAYLOAD_EVENTS: u32 = 18;
/// Where the request bitmap lies.
pub const REQUEST_ADDRESS: Address = HOST_WINDOW;
/// Where a target's packet headers lie.
pub const HEADER_ADDRESS: Address = Address(HOST_WINDOW.0 + 8);
/// Sync that waits for the words of a host read.
const RECEIVE: u32 = 0;
/// Sync that waits for an earlier `sans`.
const ANSWERED: u32 = 1;
/// Host sync.
const HOST: u32 = 7;
/// Host sync as master: the owners' entry.
const HOST_MASTER: u32 = 15;

/// A tile's part in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Takes part in the two syncs only.
    Follower,
    /// Announces the targets of its column and half.
    Owner,
    /// Moves bytes.
    Target,
    /// Both.
    OwnerAndTarget,
}

impl Role {
    /// The part of `tile` in `batch`.
    #[must_use]
    pub fn of(batch: &Batch, tile: PhysicalTile) -> Self {
        let owner = tile.host_owner() == tile && batch.targets_of(tile).next().is_some();
        match (owner, batch.transfer(tile).is_some()) {
            (false, false) => Self::Follower,
            (true, false) => Self::Owner,
            (false, true) => Self::Target,
            (true, true) => Self::OwnerAndTarget,
        }
    }

    /// Whether the tile announces targets.
    #[must_use]
    pub fn is_owner(self) -> bool {
        matches!(self, Self::Owner | Self::OwnerAndTarget)
    }
}

/// The chunks of a transfer.
pub(super) fn transfer_chunks(direction: Direction, transfer: &TileTransfer) -> impl Iterator<Item = Chunk> {
    let most = match direction {
        Direction::ToTile => LONGEST_READ,
        Direction::ToHost => LONGEST_WRITE,
    };
    chunks(transfer.host_offset(), transfer.length, most).into_iter()
}

/// The program of `tile` in `batch`. Equal for tiles of one column and half that move bytes of equal place and length.
#[must_use]
pub fn batch_program(batch: &Batch, tile: PhysicalTile) -> Vec<Instruction> {
    let role = Role::of(batch, tile);
    let back = Instruction::Br { target: Register::M10 };
    if role == Role::Follower {
        return vec![Instruction::Sans { syncs_minus_1: 1 }, Instruction::Sync { zone: ANSWERED }, back];
    }
    let mut program = Vec::new();
    set(&mut program, ControlRegister::INCOMING_MUX, tile.host_source().into());
    program.push(Instruction::Sync { zone: if role.is_owner() { HOST_MASTER } else { HOST } });
    if let Some(transfer) = batch.transfer(tile) {
        let count = match batch.direction {
            Direction::ToTile => transfer.length.words_ceil().0,
            Direction::ToHost => 1,
        };
        set(&mut program, ControlRegister::INCOMING_DCOUNT, count);
    }
    if role.is_owner() {
        program.push(send(REQUEST_ADDRESS, 2));
    }
    if let Some(transfer) = batch.transfer(tile) {
        match batch.direction {
            Direction::ToTile => read_packets(&mut program, transfer),
            Direction::ToHost => write_packets(&mut program, transfer),
        }
        program.push(Instruction::Sync { zone: RECEIVE });
    }
    program.push(Instruction::Sync { zone: HOST });
    set(&mut program, ControlRegister::INCOMING_MUX, NEUTRAL_SOURCE.into());
    program.push(back);
    program
}

/// Sends all headers: the first restarts the stream, the others follow in memory.
fn read_packets(program: &mut Vec<Instruction>, transfer: &TileTransfer) {
    program.push(send(HEADER_ADDRESS, 2));
    let control = SendControl::BOTH.bits();
    for _ in transfer_chunks(Direction::ToTile, transfer).skip(1) {
        program.push(Instruction::Sendoff { items_minus_1: 1, delta: 0, control });
    }
}

/// Sends each header and its payload, then the header that closes the stream.
fn write_packets(program: &mut Vec<Instruction>, transfer: &TileTransfer) {
    let mut header = HEADER_ADDRESS;
    for chunk in transfer_chunks(Direction::ToHost, transfer) {
        program.push(send(header, 2));
        let words = chunk.length.0 / 4;
        program.push(send(Address(transfer.address.0 + chunk.offset.0), words));
        if words < LEAST_PAYLOAD_EVENTS {
            program.push(Instruction::Delay { events_minus_1: LEAST_PAYLOAD_EVENTS - words - 1 });
        }
        header.0 += 8;
    }
    program.push(send(header, 2));
}

/// Sends 1 to 64 words both ways.
fn send(address: Address, words: u32) -> Instruction {
    Instruction::Send { items_minus_1: words - 1, address: address.word(), control: SendControl::BOTH.bits() }
}

fn set(program: &mut Vec<Instruction>, control: ControlRegister, value: u32) {
    program.push(Instruction::Setzi { destination: Register::M8, value });
    program.push(Instruction::Put { control, source: Register::M8 });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    fn batch(direction: Direction, transfers: &[(u16, u32)]) -> Batch {
        let transfers = transfers
            .iter()
            .map(|&(tile, length)| TileTransfer {
                tile: PhysicalTile(tile),
                address: Address(0x60000),
                length: Bytes(length),
                file_offset: 0,
                slot: 0,
            })
            .collect();
        Batch { direction, transfers }
    }

    fn text(batch: &Batch, tile: u16) -> Vec<String> {
        batch_program(batch, PhysicalTile(tile)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn roles_follow_column_and_half() {
        let batch = batch(Direction::ToTile, &[(0, 4), (66, 4)]);
        let role = |tile| Role::of(&batch, PhysicalTile(tile));
        assert_eq!(
            (role(0), role(66), role(2), role(1)),
            (Role::OwnerAndTarget, Role::Target, Role::Follower, Role::Follower)
        );
        let other = super::tests::batch(Direction::ToTile, &[(116, 4)]);
        assert_eq!(Role::of(&other, PhysicalTile(0x34)), Role::Owner);
    }

    #[test]
    fn a_follower_joins_two_syncs_without_waiting() {
        assert_eq!(text(&batch(Direction::ToTile, &[(0, 4)]), 3), ["sans 1", "sync 1", "br $m10"]);
    }

    #[test]
    fn an_owner_announces_between_the_syncs() {
        assert_eq!(
            text(&batch(Direction::ToTile, &[(116, 4)]), 0x34),
            [
                "setzi $m8, 0x634",
                "put $INCOMING_MUX, $m8",
                "sync 15",
                "send 1, 0x14000, 3",
                "sync 7",
                "setzi $m8, 0x640",
                "put $INCOMING_MUX, $m8",
                "br $m10",
            ]
        );
    }

    #[test]
    fn a_target_asks_for_its_bytes() {
        assert_eq!(
            text(&batch(Direction::ToTile, &[(66, 100)]), 66),
            [
                "setzi $m8, 0x600",
                "put $INCOMING_MUX, $m8",
                "sync 7",
                "setzi $m8, 0x19",
                "put $INCOMING_DCOUNT, $m8",
                "send 1, 0x14002, 3",
                "sendoff 1, 0x0, 3",
                "sync 0",
                "sync 7",
                "setzi $m8, 0x640",
                "put $INCOMING_MUX, $m8",
                "br $m10",
            ]
        );
    }

    #[test]
    fn an_owner_that_is_a_target_sends_payloads_of_at_least_eighteen_events() {
        assert_eq!(
            text(&batch(Direction::ToHost, &[(0, 300)]), 0),
            [
                "setzi $m8, 0x600",
                "put $INCOMING_MUX, $m8",
                "sync 15",
                "setzi $m8, 0x1",
                "put $INCOMING_DCOUNT, $m8",
                "send 1, 0x14000, 3",
                "send 1, 0x14002, 3",
                "send 63, 0x18000, 3",
                "send 1, 0x14004, 3",
                "send 10, 0x18040, 3",
                "delay 6",
                "send 1, 0x14006, 3",
                "sync 0",
                "sync 7",
                "setzi $m8, 0x640",
                "put $INCOMING_MUX, $m8",
                "br $m10",
            ]
        );
    }
}
