//! An exchange program as plain data: what passes, checks and interpreters work on.
//!
//! The text is read into a [`Program`] once (`read`), families of like tiles and transfers are expanded into
//! columns, and a pass writes back only the state that it decides: `send` of transfers, `at` of buffers. Steps are
//! one flat list, so nothing recurses. A transfer takes under 64 bytes.

use std::ops::Range;

use ipu_device::kernels::{Kernel, ScalarValues};
use ipu_device::memory_map::MemoryClass;
use ipu_device::{Address, Bytes, LogicalTile};
use smallvec::SmallVec;

use crate::ipu::Addresses;
use crate::ir::{Attribute, OpId, Type};

/// Index of a buffer in [`Program::buffers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u32);

impl BufferId {
    /// Position in [`Program::buffers`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A whole exchange program.
#[derive(Debug, Clone)]
pub struct Program {
    /// The `exchange.program`.
    pub op: OpId,
    /// Its symbol.
    pub name: String,
    /// Tiles that take part, in order of the text.
    pub tiles: Vec<LogicalTile>,
    /// Tensors that enter or leave.
    pub bindings: Vec<Binding>,
    /// Buffers.
    pub buffers: Vec<Buffer>,
    /// Steps in order; the body of a repeat follows it.
    pub steps: Vec<Step>,
    /// Pairs of buffers that lie in different memory elements wherever both are on a tile.
    pub separate: Vec<(BufferId, BufferId)>,
}

impl Program {
    /// The buffer `id`.
    #[must_use]
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.index()]
    }

    /// Ids of all buffers.
    pub fn buffer_ids(&self) -> impl ExactSizeIterator<Item = BufferId> + use<> {
        (0..self.buffers.len() as u32).map(BufferId)
    }

    /// The phases, each once however often it repeats.
    pub fn phases(&self) -> impl Iterator<Item = &Phase> {
        self.steps.iter().filter_map(|step| if let Step::Phase(phase) = step { Some(phase) } else { None })
    }

    /// The compute steps, each once however often it repeats.
    pub fn computes(&self) -> impl Iterator<Item = &Compute> {
        self.steps
            .iter()
            .filter_map(|step| if let Step::Compute(compute) = step { Some(compute) } else { None })
    }

    /// The stores of results, in order.
    pub fn stores(&self) -> impl DoubleEndedIterator<Item = &HostMove> {
        self.steps
            .iter()
            .filter_map(|step| if let Step::StoreHost(moves) = step { Some(moves) } else { None })
    }

    /// Whether every phase is scheduled.
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        self.phases().all(|phase| phase.transfers.is_scheduled())
    }

    /// Whether every buffer has its addresses.
    #[must_use]
    pub fn is_placed(&self) -> bool {
        self.buffers.iter().all(|buffer| buffer.at.is_some())
    }
}

/// Which way a tensor crosses between host and tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BindingKind {
    /// Sent to the tiles for every call.
    Input,
    /// Sent to the tiles once.
    Weight,
    /// Sent to the host after every call.
    Output,
}

/// A tensor that enters or leaves. Its image is the storage of its distinct shards, in shard order.
#[derive(Debug, Clone)]
pub struct Binding {
    /// The `exchange.binding`.
    pub op: OpId,
    /// Name.
    pub name: String,
    /// Which way.
    pub kind: BindingKind,
    /// `tensor<shape x type, layout>`.
    pub ty: Type,
    /// `ipu.data`, `ipu.tolerance` and the like.
    pub attributes: Vec<(String, Attribute)>,
}

/// A value that is one on all tiles of a set or one for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PerTile<T> {
    /// The same everywhere.
    Same(T),
    /// One a tile, in the order of the buffer's tiles.
    Each(Vec<T>),
}

impl<T: Copy> PerTile<T> {
    /// The value at position `index` of the set.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<T> {
        match self {
            Self::Same(value) => Some(*value),
            Self::Each(values) => values.get(index).copied(),
        }
    }
}

/// Storage on each tile of a set.
#[derive(Debug, Clone)]
pub struct Buffer {
    /// The `exchange.buffer`.
    pub op: OpId,
    /// Name in messages.
    pub name: String,
    /// Bytes that the program reads and writes.
    pub bytes: Bytes,
    /// Bytes past those that a kernel may fetch without using them.
    pub tail: Bytes,
    /// Alignment of its address, a power of two.
    pub align: Bytes,
    /// Memory it wants.
    pub class: MemoryClass,
    /// Tiles that have it, ascending.
    pub tiles: Vec<LogicalTile>,
    /// Where it is, once placed.
    pub at: Option<PerTile<Address>>,
}

impl Buffer {
    /// Position of `tile` among the buffer's tiles.
    #[must_use]
    pub fn slot(&self, tile: LogicalTile) -> Option<usize> {
        let (first, last) = (self.tiles.first()?.0, self.tiles.last()?.0);
        let consecutive = usize::from(last - first) + 1 == self.tiles.len();
        if consecutive {
            return (first..=last).contains(&tile.0).then(|| usize::from(tile.0 - first));
        }
        self.tiles.binary_search(&tile).ok()
    }

    /// The address on `tile`, once placed.
    #[must_use]
    pub fn address(&self, tile: LogicalTile) -> Option<Address> {
        self.at.as_ref()?.get(self.slot(tile)?)
    }
}

/// One step of a program.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // A program has few steps; all of them are walked, none is moved.
pub enum Step {
    /// Transfers between tiles, all at once.
    Phase(Phase),
    /// Kernel runs on tiles, between barriers.
    Compute(Compute),
    /// Host to tiles.
    LoadHost(HostMove),
    /// Tiles to host.
    StoreHost(HostMove),
    /// Runs the steps in `body` this many times.
    Repeat {
        /// The `exchange.repeat`.
        op: OpId,
        /// Iterations.
        count: u32,
        /// The body: steps that follow this one.
        body: Range<usize>,
    },
}

/// An exchange phase.
#[derive(Debug, Clone)]
pub struct Phase {
    /// The `exchange.phase`.
    pub op: OpId,
    /// Its symbol.
    pub name: String,
    /// What receivers put into their incoming base: the same for all tiles of the program or, where the text names tiles,
    /// theirs alone. 0 for all others.
    pub base: Option<Addresses>,
    /// What moves.
    pub transfers: Transfers,
}

impl Phase {
    /// The incoming base of `tile`: pointers in its row are relative to it.
    #[must_use]
    pub fn incoming_base(&self, tile: LogicalTile) -> Address {
        self.base.as_ref().and_then(|base| base.on(tile)).unwrap_or_default()
    }
}

/// The transfers of a phase as columns. Before scheduling all sources are read as they are at phase entry, then
/// all destinations are written.
#[derive(Debug, Clone, Default)]
pub struct Transfers {
    /// The copy op of each transfer.
    pub op: Vec<OpId>,
    /// Which member of the op's family each transfer is.
    pub member: Vec<u32>,
    /// Tile that sends.
    pub source: Vec<LogicalTile>,
    /// Buffer that is read.
    pub source_buffer: Vec<BufferId>,
    /// First byte read.
    pub source_offset: Vec<u32>,
    /// Bytes moved.
    pub bytes: Vec<u32>,
    /// Whether items are 64 bits wide and go to pairs of tiles.
    pub paired: Vec<bool>,
    /// Row time at which the first send instruction starts; empty while unscheduled.
    pub send: Vec<u32>,
    /// End of each transfer's receivers; they start where those of the one before end.
    pub receivers_end: Vec<u32>,
    /// Tile that receives.
    pub receiver: Vec<LogicalTile>,
    /// Buffer that is written.
    pub receiver_buffer: Vec<BufferId>,
    /// Added to the offset of every piece on that receiver; 0 unless receivers of a transfer differ.
    pub receiver_shift: Vec<u32>,
    /// End of each transfer's pieces; every receiver of a transfer has the same but for its shift.
    pub pieces_end: Vec<u32>,
    /// The pieces of the destination, in order of arrival.
    pub pieces: Vec<Piece>,
}

/// A piece of a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// First byte written, before the receiver's shift.
    pub offset: u32,
    /// Bytes written.
    pub bytes: u32,
}

/// A tile that receives a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Receiver {
    /// The tile.
    pub tile: LogicalTile,
    /// The buffer that is written.
    pub buffer: BufferId,
    /// Added to the offset of every piece.
    pub shift: u32,
}

impl Transfers {
    /// Number of transfers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.source.len()
    }

    /// Whether nothing moves.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.source.is_empty()
    }

    /// Whether every transfer has a start time.
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        self.send.len() == self.len()
    }

    /// The receivers of transfer `index`.
    pub fn receivers_of(&self, index: usize) -> impl ExactSizeIterator<Item = Receiver> + '_ {
        self.receivers(index).map(|at| Receiver {
            tile: self.receiver[at],
            buffer: self.receiver_buffer[at],
            shift: self.receiver_shift[at],
        })
    }

    /// Receivers of transfer `index`, as positions in the receiver columns.
    #[must_use]
    pub fn receivers(&self, index: usize) -> Range<usize> {
        range_of(&self.receivers_end, index)
    }

    /// Pieces of the destination of transfer `index`.
    #[must_use]
    pub fn pieces(&self, index: usize) -> &[Piece] {
        &self.pieces[range_of(&self.pieces_end, index)]
    }

    /// Those transfers that `wanted` takes, with the receivers that `receives` takes, by number of the transfer and of the
    /// receiver among its own; start times stay.
    #[must_use]
    pub fn filtered(&self, wanted: impl Fn(usize) -> bool, receives: impl Fn(usize, usize) -> bool) -> Self {
        let mut kept = Self::default();
        for row in (0..self.len()).filter(|&row| wanted(row)) {
            let all = self.receivers_of(row).enumerate();
            let receivers: Vec<Receiver> =
                all.filter(|(place, _)| receives(row, *place)).map(|(_, receiver)| receiver).collect();
            kept.push(Transfer {
                op: self.op[row],
                member: self.member[row],
                source: self.source[row],
                source_buffer: self.source_buffer[row],
                source_offset: self.source_offset[row],
                bytes: self.bytes[row],
                paired: self.paired[row],
                receivers: &receivers,
                pieces: self.pieces(row),
            });
            kept.send.extend(self.send.get(row));
        }
        kept
    }

    /// Appends a transfer without a start time.
    pub fn push(&mut self, transfer: Transfer<'_>) {
        self.op.push(transfer.op);
        self.member.push(transfer.member);
        self.source.push(transfer.source);
        self.source_buffer.push(transfer.source_buffer);
        self.source_offset.push(transfer.source_offset);
        self.bytes.push(transfer.bytes);
        self.paired.push(transfer.paired);
        for receiver in transfer.receivers {
            self.receiver.push(receiver.tile);
            self.receiver_buffer.push(receiver.buffer);
            self.receiver_shift.push(receiver.shift);
        }
        self.receivers_end.push(self.receiver.len() as u32);
        self.pieces.extend_from_slice(transfer.pieces);
        self.pieces_end.push(self.pieces.len() as u32);
    }
}

fn range_of(ends: &[u32], index: usize) -> Range<usize> {
    let start = if index == 0 { 0 } else { ends[index - 1] as usize };
    start..ends[index] as usize
}

/// One transfer, for [`Transfers::push`].
#[derive(Debug, Clone, Copy)]
pub struct Transfer<'a> {
    /// The copy op.
    pub op: OpId,
    /// Which member of its family.
    pub member: u32,
    /// Tile that sends.
    pub source: LogicalTile,
    /// Buffer that is read.
    pub source_buffer: BufferId,
    /// First byte read.
    pub source_offset: u32,
    /// Bytes moved.
    pub bytes: u32,
    /// Whether items are 64 bits wide and go to pairs of tiles.
    pub paired: bool,
    /// Tiles that receive.
    pub receivers: &'a [Receiver],
    /// Pieces of the destination.
    pub pieces: &'a [Piece],
}

/// Kernel runs between two barriers.
#[derive(Debug, Clone)]
pub struct Compute {
    /// The `exchange.compute`.
    pub op: OpId,
    /// Its symbol.
    pub name: String,
    /// Runs in order of the text; those of one tile run in that order.
    pub runs: Vec<Run>,
}

/// One kernel call on one tile.
#[derive(Debug, Clone)]
pub struct Run {
    /// The `exchange.run`.
    pub op: OpId,
    /// Which member of its family.
    pub member: u32,
    /// The tile.
    pub tile: LogicalTile,
    /// The kernel.
    pub kernel: Kernel,
    /// Output first, then inputs.
    pub operands: SmallVec<[Slice; 3]>,
    /// Scalar arguments.
    pub scalars: ScalarValues,
}

/// A range of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// The buffer.
    pub buffer: BufferId,
    /// First byte.
    pub offset: u32,
    /// Bytes.
    pub bytes: u32,
}

/// Moves between a binding's image and buffers.
#[derive(Debug, Clone)]
pub struct HostMove {
    /// The `exchange.load_host` or `exchange.store_host`.
    pub op: OpId,
    /// Position in [`Program::bindings`].
    pub binding: usize,
    /// Whether it happens once, before all calls.
    pub once: bool,
    /// What moves.
    pub parts: Vec<HostPart>,
}

/// A range of a binding's image on one tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostPart {
    /// The tile.
    pub tile: LogicalTile,
    /// Where on the tile.
    pub slice: Slice,
    /// First byte in the image.
    pub image_offset: u32,
}
