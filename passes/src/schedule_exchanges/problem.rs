//! One exchange phase as columns: what has to move, without times.
//!
//! A transfer is 32 bytes, a receiver 12. All transfers of a phase are independent: every source is read as it
//! was at phase entry, which the overlap rules of the exchange dialect guarantee.

use std::fmt;

use ipu_device::memory_map::{ELEMENT_PAIR_SIZE, ELEMENT_SIZE, Element, INTERLEAVED_BASE};
use ipu_device::topology::TILE_COUNT;
use ipu_device::{Address, Bytes, Coded, LogicalTile, Words, coded_enum};

/// Longest run one message may have: 53 + 4,095 events of receiver teardown.
pub const MAX_MESSAGE_WORDS: u32 = 4148;
/// Most words one phase may send or receive on a tile; keeps every event in 32 bits.
pub const MAX_TILE_WORDS: u64 = 1 << 28;

coded_enum! {
    /// Why a phase cannot be scheduled.
    pub enum ScheduleCode {
        /// A column refers to nothing.
        Malformed = "P0201", "malformed exchange problem",
        /// A transfer names a tile that the device does not have.
        UnknownTile = "P0202", "transfer names a tile that does not exist",
        /// A transfer without words or receivers.
        EmptyTransfer = "P0203", "transfer moves nothing",
        /// One transfer delivers to one tile twice.
        RepeatedReceiver = "P0204", "transfer delivers to one tile twice",
        /// A 64-bit transfer without whole pairs or double words.
        BrokenPair = "P0205", "64-bit transfer does not fill its pairs",
        /// A tile sends to itself alone.
        LoneLoopback = "P0206", "ordinary transfer from a tile to itself alone",
        /// A tile hears its own send in the element that it reads.
        LoopbackBank = "P0207", "transfer reads and writes one memory element of its own tile",
        /// Even alone the transfer breaks a rule of the exchange.
        Unschedulable = "P0208", "transfer cannot be scheduled",
        /// More words than events can count.
        TooLong = "P0209", "phase too long",
    }
}

/// A refused problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleError {
    /// The kind.
    pub code: ScheduleCode,
    /// What is wrong, what was expected, and the fix if known.
    pub message: String,
    /// The transfer at fault.
    pub transfer: Option<u32>,
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.code(), self.message)
    }
}

impl std::error::Error for ScheduleError {}

/// How wide the items of a transfer are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Width {
    /// One 32-bit word an event.
    #[default]
    Word,
    /// One 64-bit item an event, received by both members of each pair; borrows the partner's transmit lane.
    Paired,
}

/// Where bytes live: one buffer on one set of tiles with one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storage {
    /// The address, once placed; the same on every tile that uses this storage.
    pub address: Option<Address>,
    /// Storages of one group share one allocation, so they can never be asked to lie in different elements.
    pub group: u32,
}

/// Moves one range of one tile's memory to one or more tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// 32-bit words moved, whatever the width.
    pub words: u32,
    /// Index of the storage that is read.
    pub storage: u32,
    /// First byte read, from the start of the storage.
    pub offset: u32,
    /// First entry in [`Problem::receivers`].
    pub first_receiver: u32,
    /// Number of receivers.
    pub receivers: u32,
    /// First entry in [`Problem::segments`].
    pub first_segment: u32,
    /// Number of segments; 0 where every destination is one run.
    pub segments: u32,
    /// The tile that sends.
    pub source: LogicalTile,
    /// Item width.
    pub width: Width,
}

// A unicast, receiver included, stays within 64 bytes.
const _: () = assert!(size_of::<Transfer>() == 32 && size_of::<Receiver>() == 12);

/// One destination of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receiver {
    /// Index of the storage that is written.
    pub storage: u32,
    /// First byte written, from the start of the storage.
    pub offset: u32,
    /// The tile that receives.
    pub tile: LogicalTile,
}

/// From word `word` of the transfer on, the destination continues at `displacement` bytes from each
/// [`Receiver::offset`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// First word of the segment, above 0 and below the transfer's length, ascending within a transfer.
    pub word: u32,
    /// Distance of that word's destination from the receiver's first byte.
    pub displacement: i32,
}

/// One phase.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problem {
    /// What moves.
    pub transfers: Vec<Transfer>,
    /// Destinations of all transfers.
    pub receivers: Vec<Receiver>,
    /// Pointer reloads inside transfers whose destination is scattered.
    pub segments: Vec<Segment>,
    /// Buffers.
    pub storages: Vec<Storage>,
}

/// A byte position that can be compared with another: addresses where placed, else offsets in one storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// `u32::MAX` for addresses, else the storage.
    pub(crate) space: u32,
    pub(crate) byte: i64,
}

impl Place {
    pub(crate) fn after(self, bytes: u32) -> Self {
        Self { byte: self.byte + i64::from(bytes), ..self }
    }
}

impl Problem {
    /// Adds a storage and returns its index.
    pub fn add_storage(&mut self, address: Option<Address>, group: u32) -> u32 {
        self.storages.push(Storage { address, group });
        (self.storages.len() - 1) as u32
    }

    /// Adds a transfer whose destinations are single runs.
    pub fn add_transfer(
        &mut self,
        source: LogicalTile,
        from: (u32, Bytes),
        words: Words,
        width: Width,
        receivers: &[Receiver],
    ) -> u32 {
        let transfer = Transfer {
            words: words.0,
            storage: from.0,
            offset: from.1.0,
            first_receiver: self.receivers.len() as u32,
            receivers: receivers.len() as u32,
            first_segment: 0,
            segments: 0,
            source,
            width,
        };
        self.receivers.extend_from_slice(receivers);
        self.transfers.push(transfer);
        (self.transfers.len() - 1) as u32
    }

    /// The receivers of a transfer of this problem.
    #[must_use]
    pub fn receivers_of(&self, transfer: &Transfer) -> &[Receiver] {
        let first = transfer.first_receiver as usize;
        self.receivers.get(first..first + transfer.receivers as usize).unwrap_or_default()
    }

    /// The pointer reloads of a transfer of this problem.
    #[must_use]
    pub fn segments_of(&self, transfer: &Transfer) -> &[Segment] {
        let first = transfer.first_segment as usize;
        self.segments.get(first..first + transfer.segments as usize).unwrap_or_default()
    }

    pub(crate) fn place(&self, storage: u32, offset: i64) -> Place {
        match self.storages.get(storage as usize).and_then(|storage| storage.address) {
            Some(address) => Place { space: u32::MAX, byte: i64::from(address.0) + offset },
            None => Place { space: storage, byte: offset },
        }
    }

    /// Calls `visit` with a key for each unit of memory that may clash: elements where placed, the group where
    /// not (one group is taken to be one element, as nothing can separate it from itself).
    pub(crate) fn visit_banks(&self, storage: u32, offset: i64, bytes: u32, visit: &mut dyn FnMut(u32)) {
        let Some(storage) = self.storages.get(storage as usize) else { return };
        let Some(address) = storage.address else {
            return visit(UNPLACED_BANK.saturating_add(storage.group));
        };
        let mut at = i64::from(address.0) + offset;
        let end = at + i64::from(bytes.max(1));
        while at < end {
            let Some(element) = u32::try_from(at).ok().and_then(|at| Element::of(Address(at))) else {
                return;
            };
            visit(element.index() as u32);
            let (base, size) = match element {
                Element::Plain(_) => (0, i64::from(ELEMENT_SIZE.0)),
                Element::Pair(_) => (i64::from(INTERLEAVED_BASE.0), i64::from(ELEMENT_PAIR_SIZE.0)),
            };
            at = base + ((at - base) / size + 1) * size;
        }
    }

    /// Visits the banks that a transfer writes at one of its receivers.
    pub(crate) fn visit_written_banks(
        &self,
        transfer: &Transfer,
        receiver: &Receiver,
        visit: &mut dyn FnMut(u32),
    ) {
        let segments = self.segments_of(transfer);
        let mut begin = (0u32, 0i64);
        for segment in segments {
            let at = i64::from(receiver.offset) + begin.1;
            self.visit_banks(receiver.storage, at, 4 * segment.word.saturating_sub(begin.0), visit);
            begin = (segment.word, i64::from(segment.displacement));
        }
        let at = i64::from(receiver.offset) + begin.1;
        self.visit_banks(receiver.storage, at, 4 * transfer.words.saturating_sub(begin.0), visit);
    }

    /// Refuses a problem whose columns do not fit together or whose transfers the fabric cannot carry.
    ///
    /// # Errors
    /// The first transfer at fault, by its index.
    pub fn check(&self) -> Result<(), ScheduleError> {
        let mut totals = vec![(0u64, 0u64); usize::from(TILE_COUNT)];
        let mut seen = vec![u32::MAX; usize::from(TILE_COUNT)];
        for (index, transfer) in self.transfers.iter().enumerate() {
            let index = index as u32;
            self.check_transfer(transfer, index, &mut seen).map_err(|(code, message)| ScheduleError {
                code,
                message,
                transfer: Some(index),
            })?;
            totals[usize::from(transfer.source.0)].0 += u64::from(transfer.words);
            for receiver in self.receivers_of(transfer) {
                totals[usize::from(receiver.tile.0)].1 += u64::from(transfer.words);
            }
        }
        match totals.iter().position(|&(out, into)| out.max(into) > MAX_TILE_WORDS) {
            None => Ok(()),
            Some(tile) => Err(ScheduleError {
                code: ScheduleCode::TooLong,
                message: format!("tile {tile} moves more than {MAX_TILE_WORDS} words in one phase"),
                transfer: None,
            }),
        }
    }

    fn check_transfer(
        &self,
        transfer: &Transfer,
        index: u32,
        seen: &mut [u32],
    ) -> Result<(), (ScheduleCode, String)> {
        let receivers = self.receivers_of(transfer);
        let segments = self.segments_of(transfer);
        if transfer.words == 0 || transfer.receivers == 0 {
            return Err((
                ScheduleCode::EmptyTransfer,
                format!("transfer {index} has no words or no receivers"),
            ));
        }
        if receivers.is_empty() || segments.len() != transfer.segments as usize {
            return Err((
                ScheduleCode::Malformed,
                format!("transfer {index} points past the end of a column"),
            ));
        }
        let storages = receivers.iter().map(|receiver| receiver.storage).chain([transfer.storage]);
        if storages.into_iter().any(|storage| storage as usize >= self.storages.len()) {
            return Err((
                ScheduleCode::Malformed,
                format!("transfer {index} names a storage that does not exist"),
            ));
        }
        if segments.iter().any(|segment| segment.word == 0 || segment.word >= transfer.words)
            || !segments.is_sorted_by(|a, b| a.word < b.word)
        {
            let message =
                format!("segments of transfer {index} do not ascend inside its {} words", transfer.words);
            return Err((ScheduleCode::Malformed, message));
        }
        for tile in receivers.iter().map(|receiver| receiver.tile).chain([transfer.source]) {
            if tile.0 >= TILE_COUNT {
                let message = format!("transfer {index} names tile {tile}, the device has {TILE_COUNT}");
                return Err((ScheduleCode::UnknownTile, message));
            }
        }
        for receiver in receivers {
            if std::mem::replace(&mut seen[usize::from(receiver.tile.0)], index) == index {
                let message = format!("transfer {index} delivers twice to tile {}", receiver.tile);
                return Err((ScheduleCode::RepeatedReceiver, message));
            }
        }
        self.check_loopback(transfer, index)?;
        if transfer.width == Width::Paired {
            let whole = |receiver: &Receiver| seen[usize::from(receiver.tile.partner().0)] == index;
            let even = transfer.words.is_multiple_of(2)
                && segments.iter().all(|segment| segment.word.is_multiple_of(2));
            if !even || !receivers.iter().all(whole) {
                let message = format!(
                    "64-bit transfer {index} needs an even number of words and both members of every receiving pair"
                );
                return Err((ScheduleCode::BrokenPair, message));
            }
        }
        Ok(())
    }

    fn check_loopback(&self, transfer: &Transfer, index: u32) -> Result<(), (ScheduleCode, String)> {
        let receivers = self.receivers_of(transfer);
        let Some(own) = receivers.iter().find(|receiver| receiver.tile == transfer.source) else {
            return Ok(());
        };
        if transfer.width == Width::Word && receivers.len() == 1 {
            let message = format!(
                "transfer {index} goes from tile {} to itself alone; add a remote receiver or copy on the tile",
                transfer.source
            );
            return Err((ScheduleCode::LoneLoopback, message));
        }
        let mut read = Vec::new();
        let mut shared = false;
        self.visit_banks(transfer.storage, i64::from(transfer.offset), 4 * transfer.words, &mut |bank| {
            read.push(bank);
        });
        self.visit_written_banks(transfer, own, &mut |bank| shared |= read.contains(&bank));
        if shared {
            let message = format!(
                "transfer {index} reads and writes one memory element of tile {}; place source and destination apart",
                transfer.source
            );
            return Err((ScheduleCode::LoopbackBank, message));
        }
        Ok(())
    }
}

/// First key of the banks that stand for unplaced groups.
pub(crate) const UNPLACED_BANK: u32 = 32;
