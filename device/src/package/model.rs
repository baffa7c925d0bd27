//! A package as plain values. Addresses are tile memory addresses, tiles are physical.

use std::sync::Arc;

use crate::memory_map::{COMPLETION_WORD, LOAD_BASE};
use crate::units::{Address, Bytes, PhysicalTile};

use super::footer::Footer;
use super::profile::TileProfilePlan;

/// The program of the whole device: images, bindings, host exchange.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Package {
    /// Who made it: free text.
    pub compiler_version: String,
    /// One image per tile, in ascending physical order; a package that can be loaded has all 1,472.
    pub tiles: Vec<TileImage>,
    /// Tensors that enter with every invocation, in the order of the `run` call's input bytes.
    pub inputs: Vec<Binding>,
    /// Tensors that leave with every invocation, in the order of the `run` call's output bytes.
    pub outputs: Vec<Binding>,
    /// Tensors loaded once, in the order of the `initialize` call's input bytes.
    pub weights: Vec<Binding>,
    /// Pages and calls.
    pub host_exchange: HostExchange,
    /// Named entry points; informational.
    pub entry_points: Vec<EntryPoint>,
    /// Device registers written after the load, in this order.
    pub config_writes: Vec<ConfigWrite>,
    /// What the cycle samples of a profiled package mean.
    pub profile_tiles: Vec<TileProfilePlan>,
    /// Names of addresses.
    pub debug_symbols: Vec<DebugSymbol>,
    /// Names of address ranges.
    pub debug_regions: Vec<DebugRegion>,
    /// What only we record. `None` in a foreign package; a package without it cannot be written.
    pub footer: Option<Footer>,
}

/// The initial memory of one tile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TileImage {
    /// Which tile.
    pub tile: PhysicalTile,
    /// Informational: execution always begins at [`LOAD_BASE`].
    pub entry_point: Address,
    /// Informational; 0 in packages of ours.
    pub command_address: Address,
    /// Where the completion word is, which reads 1 when the program has ended.
    pub diagnostic_address: Address,
    /// Memory contents; tiles with equal contents share one allocation. Gaps are zero.
    pub segments: Arc<[Segment]>,
}

impl TileImage {
    /// An image with the usual entry point and completion word.
    #[must_use]
    pub fn new(tile: PhysicalTile, segments: Arc<[Segment]>) -> Self {
        Self {
            tile,
            entry_point: LOAD_BASE,
            command_address: Address(0),
            diagnostic_address: COMPLETION_WORD,
            segments,
        }
    }

    /// First address past the highest segment, or [`LOAD_BASE`] if there is none.
    #[must_use]
    pub fn end(&self) -> Address {
        self.segments.iter().map(|s| Address(s.address.0.saturating_add(s.size.0))).max().unwrap_or(LOAD_BASE)
    }

    /// Bytes of the file that hold this tile's data.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.data.len() as u64).sum()
    }
}

/// A range of tile memory with its initial contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// First byte.
    pub address: Address,
    /// Bytes of memory; what `data` leaves over is zero.
    pub size: Bytes,
    /// What the range holds; documentation and a help to the simulator.
    pub flags: SegmentFlags,
    /// The first bytes of the range.
    pub data: Arc<[u8]>,
}

/// What a segment is for: bit 0 read, bit 1 write, bit 2 execute. Loading ignores it; other bits are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
pub struct SegmentFlags(pub u32);

impl SegmentFlags {
    /// Constant tables: packets, descriptors.
    pub const TABLE: Self = Self(1);
    /// State and data.
    pub const DATA: Self = Self(3);
    /// Code and exchange rows.
    pub const CODE: Self = Self(5);

    /// Whether bit 2, execute, is set.
    #[must_use]
    pub fn is_executable(self) -> bool {
        self.0 & 4 != 0
    }

    /// Whether bit 1, write, is set.
    #[must_use]
    pub fn is_writable(self) -> bool {
        self.0 & 2 != 0
    }
}

/// Which of the three lists a binding stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BindingKind {
    /// Enters with every invocation.
    Input,
    /// Leaves with every invocation.
    Output,
    /// Enters once.
    Weight,
}

impl BindingKind {
    /// The name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
            Self::Weight => "weight",
        }
    }
}

/// A tensor that the host exchanges with the tiles, in the tiles' storage order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Binding {
    /// Unique among all bindings of a package.
    pub name: String,
    /// `f32`, `f16`, `f8f143`, `u32`: for people and host packing code; nothing checks it.
    pub dtype: String,
    /// Logical shape.
    pub shape: Vec<u32>,
    /// Where the bytes of the packed host image live.
    pub slices: Vec<RegionSlice>,
}

impl Binding {
    /// Length of the packed host image: the end of the furthest slice.
    #[must_use]
    pub fn byte_length(&self) -> u64 {
        self.slices.iter().map(|slice| slice.file_offset.saturating_add(slice.size)).max().unwrap_or(0)
    }
}

/// Bytes `file_offset..+size` of a binding's packed host image live at `address` of `tile`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RegionSlice {
    /// Which tile.
    pub tile: PhysicalTile,
    /// First byte in tile memory.
    pub address: Address,
    /// First byte in the host image.
    pub file_offset: u64,
    /// Length in bytes.
    pub size: u64,
}

/// Pages and calls of the host protocol.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostExchange {
    /// The last mark of the load: 23, the rows of tiles.
    pub startup_mark: u32,
    /// Page that holds the command word.
    pub command_page: u32,
    /// Byte offset of the command word in its page.
    pub command_offset: u64,
    /// Host memory ranges that the device sees.
    pub pages: Vec<HostPage>,
    /// Page indices in the order of attachment.
    pub attach_order: Vec<u32>,
    /// What the host may ask for: `initialize` and `run`.
    pub calls: Vec<HostCall>,
}

impl HostExchange {
    /// The first call of that name.
    #[must_use]
    pub fn call(&self, name: &str) -> Option<&HostCall> {
        self.calls.iter().find(|call| call.name == name)
    }
}

/// A host memory range attached to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HostPage {
    /// The index under which it is attached.
    pub index: u32,
    /// Length in bytes.
    pub size: u64,
}

/// One rendezvous of host and tiles: input batches, work, output batches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCall {
    /// `initialize` or `run`.
    pub name: String,
    /// Word written to the command page before the call.
    pub command: u32,
    /// Marks the host writes in the call's body: twice the batches, less one if the last batch is an output
    /// (its closing mark is the final release).
    pub phases: u32,
    /// How often the tile program expects the call.
    pub invocations: u32,
    /// Where the input bytes go, batch after batch.
    pub inputs: Vec<HostSlice>,
    /// End index in `inputs` of each batch.
    pub input_batch_ends: Vec<u32>,
    /// Where the output bytes are, batch after batch.
    pub outputs: Vec<HostSlice>,
    /// End index in `outputs` of each batch.
    pub output_batch_ends: Vec<u32>,
}

impl HostCall {
    /// Length of the byte string the call takes.
    #[must_use]
    pub fn input_length(&self) -> u64 {
        HostSlice::extent(&self.inputs)
    }

    /// Length of the byte string the call gives back.
    #[must_use]
    pub fn output_length(&self) -> u64 {
        HostSlice::extent(&self.outputs)
    }
}

/// Bytes of a call's input or output string and their place in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HostSlice {
    /// Index of the page.
    pub page: u32,
    /// First byte in the page.
    pub page_offset: u64,
    /// First byte in the call's byte string.
    pub file_offset: u64,
    /// Length in bytes.
    pub size: u64,
}

impl HostSlice {
    fn extent(slices: &[Self]) -> u64 {
        slices.iter().map(|slice| slice.file_offset.saturating_add(slice.size)).max().unwrap_or(0)
    }
}

/// A named entry point; informational.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPoint {
    /// Its name.
    pub name: String,
    /// Its command word.
    pub command: u32,
    /// Host syncs it takes.
    pub external_syncs: u32,
}

/// A device register and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConfigWrite {
    /// Byte offset in the configuration space, a multiple of 4.
    pub offset: u32,
    /// The value.
    pub value: u32,
}

/// A name of an address, the same on every tile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DebugSymbol {
    /// The name.
    pub name: String,
    /// The address.
    pub address: Address,
}

/// A name of an address range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DebugRegion {
    /// Which tile; `None` is every tile.
    pub tile: Option<PhysicalTile>,
    /// First byte.
    pub address: Address,
    /// Length.
    pub size: Bytes,
    /// The name.
    pub name: String,
}

impl Package {
    /// The image of `tile`.
    #[must_use]
    pub fn tile(&self, tile: PhysicalTile) -> Option<&TileImage> {
        match self.tiles.get(usize::from(tile.0)) {
            Some(image) if image.tile == tile => Some(image),
            _ => self.tiles.iter().find(|image| image.tile == tile),
        }
    }

    /// All bindings with their kinds: inputs, then outputs, then weights.
    pub fn bindings(&self) -> impl Iterator<Item = (BindingKind, &Binding)> {
        let tag = |kind: BindingKind| move |binding| (kind, binding);
        (self.inputs.iter().map(tag(BindingKind::Input)))
            .chain(self.outputs.iter().map(tag(BindingKind::Output)))
            .chain(self.weights.iter().map(tag(BindingKind::Weight)))
    }

    /// Bytes of data of all images.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.tiles.iter().map(TileImage::stored_bytes).sum()
    }
}
