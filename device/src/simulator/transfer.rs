//! Moves the words of one exchange between tile memories, in the order of events.
//!
//! Every word is written at a later event of its receiver than the event at which it left its sender (18 to 164
//! later), so event numbers of different tiles order reads and writes as the hardware does. At equal events a
//! send reads before a receive writes.

use crate::topology::TILE_COUNT;
use crate::units::{Address, Bytes, Event, PhysicalTile};

use super::fabric::{Delivery, Movement, Participant, bad_pointer};
use super::fault::{Fault, FaultCode, tile_name};
use super::memory::{MemoryError, TileMemory};

/// One item written by an exchange, and where it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeWrite {
    /// The receiver.
    pub tile: PhysicalTile,
    /// Event of the write on the receiver.
    pub event: Event,
    /// Address on the receiver.
    pub address: Address,
    /// The word; a 64-bit item yields two writes at one event.
    pub value: u32,
    /// The tile that sent it.
    pub sender: PhysicalTile,
    /// Event at which it left the sender.
    pub sent: Event,
    /// Address on the sender.
    pub source: Address,
}

/// Executes all deliveries. With `record`, also lists each word in order of event, receiver.
pub(crate) fn run(
    participants: &[Participant<'_>],
    movement: &mut Movement,
    memories: &mut [&mut TileMemory],
    record: bool,
) -> Vec<ExchangeWrite> {
    debug_assert!(participants.len() <= usize::from(TILE_COUNT));
    let deliveries = std::mem::take(&mut movement.deliveries);
    let mut sends: Vec<u32> = (0..deliveries.len() as u32).collect();
    let mut writes = sends.clone();
    sends.sort_by_key(|&index| deliveries[index as usize].sent);
    writes.sort_by_key(|&index| deliveries[index as usize].written);
    let mut in_flight: Vec<Vec<u8>> = vec![Vec::new(); deliveries.len()];
    let mut spare: Vec<Vec<u8>> = Vec::new();
    let mut recorded = Vec::new();
    let mut sends = sends.into_iter().peekable();
    for index in writes {
        let delivery = &deliveries[index as usize];
        while let Some(&next) =
            sends.peek().filter(|&&next| deliveries[next as usize].sent <= delivery.written)
        {
            sends.next();
            let mut bytes = spare.pop().unwrap_or_default();
            let leaving = &deliveries[next as usize];
            bytes.resize(leaving.bytes() as usize, 0);
            let memory = &memories[leaving.sender as usize];
            if let Err(error) = memory.read(Address(leaving.from), &mut bytes) {
                movement.faults.push(send_fault(participants, leaving, error));
                memory.read_ahead(Address(leaving.from), &mut bytes);
            }
            in_flight[next as usize] = bytes;
        }
        let bytes = std::mem::take(&mut in_flight[index as usize]);
        if let Err(error) = memories[delivery.receiver as usize].write(Address(delivery.to), &bytes) {
            movement.faults.push(write_fault(participants, delivery, error));
            write_mapped(memories[delivery.receiver as usize], delivery.to, &bytes);
        }
        if record {
            record_words(participants, delivery, &bytes, &mut recorded);
        }
        spare.push(bytes);
    }
    movement.deliveries = deliveries;
    recorded.sort_by_key(|write: &ExchangeWrite| (write.event, write.tile, write.address));
    recorded
}

fn send_fault(participants: &[Participant<'_>], delivery: &Delivery, error: MemoryError) -> Fault {
    let tile = participants[delivery.sender as usize].tile;
    let address = error.address();
    let item = i64::from(address.0.wrapping_sub(delivery.from) / delivery.item_bytes);
    let to = tile_name(participants[delivery.receiver as usize].tile);
    if let MemoryError::Unwritten(_) = error {
        let message = format!("the word at {address}, sent to {to}, was never written");
        let fault = Fault::on(tile, FaultCode::UnwrittenSend, message);
        return fault.at_event(delivery.sent + item).at_address(address);
    }
    Fault::memory(tile, error, &format!("a send to {to}")).at_event(delivery.sent + item)
}

fn write_fault(participants: &[Participant<'_>], delivery: &Delivery, error: MemoryError) -> Fault {
    let tile = participants[delivery.receiver as usize].tile;
    let address = error.address();
    let item = i64::from(address.0.wrapping_sub(delivery.to) / delivery.item_bytes);
    let sender = participants[delivery.sender as usize].tile;
    if let MemoryError::Stray(_) = error {
        let what = format!("a word of {}", tile_name(sender));
        return Fault::memory(tile, error, &what).at_event(delivery.written + item);
    }
    bad_pointer(tile, sender, address, delivery.written + item)
}

/// Writes the words that lie inside tile memory.
fn write_mapped(memory: &mut TileMemory, to: u32, bytes: &[u8]) {
    for (index, word) in bytes.chunks(4).enumerate() {
        let address = Address(to.wrapping_add(4 * index as u32));
        // A word outside tile memory has been reported; it has nowhere to go.
        let _outside = memory.write(address, word);
    }
}

fn record_words(
    participants: &[Participant<'_>],
    delivery: &Delivery,
    bytes: &[u8],
    recorded: &mut Vec<ExchangeWrite>,
) {
    for (index, word) in bytes.chunks_exact(4).enumerate() {
        let offset = Bytes(4 * index as u32);
        let item = i64::from(offset.0 / delivery.item_bytes);
        recorded.push(ExchangeWrite {
            tile: participants[delivery.receiver as usize].tile,
            event: Event(delivery.written + item),
            address: Address(delivery.to.wrapping_add(offset.0)),
            value: u32::from_le_bytes([word[0], word[1], word[2], word[3]]),
            sender: participants[delivery.sender as usize].tile,
            sent: Event(delivery.sent + item),
            source: Address(delivery.from.wrapping_add(offset.0)),
        });
    }
}
