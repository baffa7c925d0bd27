//! A tile program as plain data: what passes build, check and turn into a package.
//!
//! A program has one of two states. *With steps*: each image says in order what its tile does ([`Step`]), and has the
//! rows of its exchange phases. *With code*: the steps have become instructions. Everything a symbol can stand for is a
//! [`Section`] or a kernel, so a symbol always has an address. Equality of sections, lines and steps ignores what they
//! were made for.

use std::hash::{Hash, Hasher};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use ipu_device::hash::HashMap;
use ipu_device::host_exchange::{HostPlan, HostPlanError, plan_host_exchange};
use ipu_device::isa::Instruction;
use ipu_device::kernels::{Kernel, ScalarValues};
use ipu_device::memory_map::CODE_BASE;
use ipu_device::numerics::ElementType;
use ipu_device::package::{self, BindingKind, HostExchange, RegionSlice, SegmentFlags};
use ipu_device::supervisor::runtime::reference_kernel;
use ipu_device::{Address, Bytes, LogicalTile};
use rustc_hash::FxHasher;
use smallvec::SmallVec;

use crate::exchange;
use crate::ipu::ScaledElement;
use crate::ir::{Attribute, Name, OpId, Type};

/// The program of all tiles.
#[derive(Debug, Clone)]
pub struct TileProgram {
    /// What it was read from or made from.
    pub op: Option<OpId>,
    /// Its symbol.
    pub name: String,
    /// Attributes with a dialect prefix, such as `ipu.command`.
    pub attributes: Vec<(Name, Attribute)>,
    /// Tensors that enter or leave.
    pub bindings: Vec<Binding>,
    /// Pages and calls, where they are not what [`plan_host_exchange`] makes of the bindings.
    pub host: Option<HostExchange>,
    /// Kernels, at the same address on every tile that has them.
    pub kernels: Vec<KernelImage>,
    /// Buffers; a program may say nothing of them.
    pub storage: Vec<Storage>,
    /// Sections that every image has.
    pub common: Vec<Section>,
    /// Images; every tile has one.
    pub images: Vec<Image>,
}

/// A tensor that enters or leaves.
#[derive(Debug, Clone)]
pub struct Binding {
    /// What it was made for.
    pub source: Option<OpId>,
    /// Name.
    pub name: String,
    /// Which way.
    pub kind: BindingKind,
    /// `tensor<shape x type, layout>`.
    pub ty: Type,
    /// `ipu.data`, `ipu.tolerance` and the like.
    pub attributes: Vec<(Name, Attribute)>,
    /// Where the bytes of its image live.
    pub slices: Vec<Slice>,
}

/// Bytes `image_offset..+bytes` of a binding's image live at `address` of `tile`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slice {
    /// The tile.
    pub tile: LogicalTile,
    /// First byte on the tile.
    pub address: Address,
    /// First byte in the image.
    pub image_offset: u32,
    /// Length.
    pub bytes: Bytes,
}

/// A kernel in the images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelImage {
    /// What it was made for.
    pub source: Option<OpId>,
    /// Its symbol in the registry.
    pub symbol: Arc<str>,
    /// Entry, the same on every tile.
    pub address: Address,
    /// Tiles that have it; `None` is all.
    pub tiles: Option<Vec<LogicalTile>>,
    /// Its code.
    pub code: KernelCode,
}

/// The code of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelCode {
    /// A trap of that size: a simulator runs the registry's arithmetic, hardware cannot run it.
    Reference(Bytes),
    /// Its words.
    Words(Vec<u32>),
}

impl KernelImage {
    /// The words in tile memory.
    #[must_use]
    pub fn words(&self) -> Vec<u32> {
        match &self.code {
            KernelCode::Reference(size) => {
                // Traps name no symbol, so they link anywhere.
                let traps = reference_kernel(self.symbol.to_string(), *size);
                traps.link(CODE_BASE, |_| None).map(|linked| linked.words).unwrap_or_default()
            }
            KernelCode::Words(words) => words.clone(),
        }
    }

    /// Bytes of tile memory.
    #[must_use]
    pub fn size(&self) -> Bytes {
        match &self.code {
            KernelCode::Reference(size) => Bytes(size.0.next_multiple_of(4).max(4)),
            KernelCode::Words(words) => word_bytes(words.len()),
        }
    }
}

/// Bytes of a buffer, at one address on a set of tiles.
#[derive(Debug, Clone)]
pub struct Storage {
    /// What it was made for.
    pub source: Option<OpId>,
    /// The buffer.
    pub buffer: String,
    /// First byte.
    pub address: Address,
    /// Length.
    pub size: Bytes,
    /// Exchange phases, counted from 1, from whose sync to whose end the bytes matter; 0 is the time before the first. `None` is
    /// always.
    pub live: Option<RangeInclusive<u32>>,
    /// Tiles.
    pub tiles: Vec<LogicalTile>,
}

/// What the tiles of a set have in their memory, and what they do.
#[derive(Debug, Clone, Default)]
pub struct Image {
    /// What it was made for.
    pub source: Option<OpId>,
    /// Tiles with this image.
    pub tiles: Vec<LogicalTile>,
    /// Rows, code and data.
    pub sections: Vec<Section>,
    /// What the tile does, where that is not code yet.
    pub steps: Option<Vec<Step>>,
}

/// Words at an address of tile memory.
#[derive(Debug, Clone)]
pub struct Section {
    /// What it was made for.
    pub source: Option<OpId>,
    /// Its symbol.
    pub symbol: Arc<str>,
    /// First byte.
    pub address: Address,
    /// What it holds.
    pub body: Body,
}

/// What a section holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Body {
    /// An exchange row.
    Row(Vec<Line>),
    /// Code of a supervisor or worker.
    Code(Vec<Line>),
    /// Words that are not code.
    Data(Data),
}

/// Words that are not code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Data {
    /// What they are for.
    pub flags: SegmentFlags,
    /// The words; the last one may be stored in part.
    pub words: Vec<u32>,
    /// Bytes of the words that are stored.
    pub stored: Bytes,
    /// Bytes of tile memory; what is not stored is zero.
    pub size: Bytes,
}

impl Data {
    /// Whole words, all stored.
    #[must_use]
    pub fn words(flags: SegmentFlags, words: Vec<u32>) -> Self {
        let size = word_bytes(words.len());
        Self { flags, words, stored: size, size }
    }
}

impl Hash for Data {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.flags.0, &self.words, self.stored, self.size).hash(state);
    }
}

/// One instruction of a section.
#[derive(Debug, Clone)]
pub struct Line {
    /// What it was made for, where that is not what the section was made for.
    pub source: Option<OpId>,
    /// The instruction, or a word that is none.
    pub code: Code,
    /// The symbol that its address or constant stands for.
    pub symbol: Option<Arc<str>>,
}

/// An instruction, or a word that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// An instruction.
    Instruction(Instruction),
    /// A word as it is.
    Word(u32),
}

impl Line {
    /// An instruction that names no symbol.
    #[must_use]
    pub fn new(instruction: Instruction) -> Self {
        Self { source: None, code: Code::Instruction(instruction), symbol: None }
    }

    /// A word as it is.
    #[must_use]
    pub fn word(word: u32) -> Self {
        Self { source: None, code: Code::Word(word), symbol: None }
    }

    /// Number of words.
    #[must_use]
    pub fn word_count(&self) -> usize {
        match &self.code {
            Code::Instruction(instruction) => instruction.word_count(),
            Code::Word(_) => 1,
        }
    }
}

/// One step of a tile with steps. The body of a repeat follows it.
#[derive(Debug, Clone)]
pub struct Step {
    /// What it was made for.
    pub source: Option<OpId>,
    /// What happens.
    pub kind: StepKind,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// All host batches of one part of the host plan: descriptors and programs follow from the bindings.
    ExchangeHost(HostPart),
    /// An exchange phase: the barrier, then the row of that symbol.
    Exchange {
        /// The row of the image.
        row: Arc<str>,
        /// What the tile puts into its incoming base: pointers of the row are relative to it.
        base: Address,
        /// The tile takes part in the sync only; its row is a lone return.
        idle: bool,
    },
    /// A call of a kernel with addresses of its operands, the output first, and its scalars.
    CallKernel {
        /// The kernel.
        kernel: Kernel,
        /// Addresses of the operands.
        operands: SmallVec<[Address; 3]>,
        /// Its scalars.
        scalars: ScalarValues,
    },
    /// Runs the steps in `body` that many times.
    Repeat {
        /// Iterations.
        count: u32,
        /// The body: steps that follow this one.
        body: Range<usize>,
    },
}

/// Which batches of the host plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostPart {
    /// Weights, once.
    Weights,
    /// Inputs of a call.
    Inputs,
    /// Outputs of a call.
    Outputs,
}

impl HostPart {
    /// All parts.
    pub const ALL: [Self; 3] = [Self::Weights, Self::Inputs, Self::Outputs];

    /// The word in the text, and the name in [`ipu_device::supervisor::host_calls`].
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::Inputs => "inputs",
            Self::Outputs => "outputs",
        }
    }

    /// The part of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.name() == name)
    }
}

pub(super) fn word_bytes(words: usize) -> Bytes {
    Bytes(u32::try_from(words).unwrap_or(u32::MAX).saturating_mul(4))
}

impl Section {
    /// An exchange row.
    #[must_use]
    pub fn row(symbol: &str, address: Address, instructions: &[Instruction]) -> Self {
        let lines = instructions.iter().copied().map(Line::new).collect();
        Self { source: None, symbol: symbol.into(), address, body: Body::Row(lines) }
    }

    /// Code.
    #[must_use]
    pub fn code(symbol: &str, address: Address, lines: Vec<Line>) -> Self {
        Self { source: None, symbol: symbol.into(), address, body: Body::Code(lines) }
    }

    /// Words that are not code.
    #[must_use]
    pub fn data(symbol: &str, address: Address, flags: SegmentFlags, words: Vec<u32>) -> Self {
        let body = Body::Data(Data::words(flags, words));
        Self { source: None, symbol: symbol.into(), address, body }
    }

    /// The instructions; none of data.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        match &self.body {
            Body::Row(lines) | Body::Code(lines) => lines,
            Body::Data(_) => &[],
        }
    }

    /// Bytes of tile memory.
    #[must_use]
    pub fn size(&self) -> Bytes {
        match &self.body {
            Body::Row(lines) | Body::Code(lines) => word_bytes(lines.iter().map(Line::word_count).sum()),
            Body::Data(data) => data.size,
        }
    }

    /// What the bytes are for.
    #[must_use]
    pub fn flags(&self) -> SegmentFlags {
        match &self.body {
            Body::Row(_) | Body::Code(_) => SegmentFlags::CODE,
            Body::Data(data) => data.flags,
        }
    }

    /// The bytes that are stored; up to [`size`](Self::size) the rest is zero.
    ///
    /// # Errors
    /// An operand does not fit its field.
    pub fn stored_bytes(&self) -> Result<Vec<u8>, ipu_device::isa::EncodeError> {
        let mut bytes = Vec::with_capacity(self.size().0 as usize);
        if let Body::Data(data) = &self.body {
            bytes.extend(data.words.iter().flat_map(|word| word.to_le_bytes()));
            bytes.truncate(data.stored.0 as usize);
            return Ok(bytes);
        }
        for line in self.lines() {
            match &line.code {
                Code::Instruction(instruction) => {
                    bytes.extend(instruction.encode()?.iter().flat_map(|word| word.to_le_bytes()));
                }
                Code::Word(word) => bytes.extend(word.to_le_bytes()),
            }
        }
        Ok(bytes)
    }
}

impl TileProgram {
    /// A program without anything in it.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            op: None,
            name: name.to_owned(),
            attributes: Vec::new(),
            bindings: Vec::new(),
            host: None,
            kernels: Vec::new(),
            storage: Vec::new(),
            common: Vec::new(),
            images: Vec::new(),
        }
    }

    /// Whether steps have become code.
    #[must_use]
    pub fn has_code(&self) -> bool {
        self.images.iter().all(|image| image.steps.is_none())
    }

    /// The bindings of that kind as a package has them, in order.
    #[must_use]
    pub fn package_bindings(&self, kind: BindingKind) -> Vec<package::Binding> {
        self.bindings.iter().filter(|binding| binding.kind == kind).map(Binding::to_package).collect()
    }

    /// The batches that move the bindings.
    ///
    /// # Errors
    /// A slice that the host exchange cannot serve.
    pub fn host_plan(&self) -> Result<HostPlan, HostPlanError> {
        let [weights, inputs, outputs] = [BindingKind::Weight, BindingKind::Input, BindingKind::Output]
            .map(|kind| self.package_bindings(kind));
        plan_host_exchange(&weights, &inputs, &outputs)
    }

    /// Pages and calls: the explicit ones, else those that follow from the bindings.
    ///
    /// # Errors
    /// A slice that the host exchange cannot serve.
    pub fn host_exchange(&self) -> Result<HostExchange, HostPlanError> {
        match &self.host {
            Some(host) => Ok(host.clone()),
            None => Ok(self.host_plan()?.host_exchange()),
        }
    }

    /// Makes one image of images with equal contents, at the place of the first, tiles in ascending order.
    pub fn group_images(&mut self) {
        let mut groups: Vec<Image> = Vec::new();
        let mut by_contents: HashMap<u64, SmallVec<[usize; 1]>> = HashMap::default();
        for image in self.images.drain(..) {
            let mut hasher = FxHasher::default();
            (&image.sections, &image.steps).hash(&mut hasher);
            let places = by_contents.entry(hasher.finish()).or_default();
            let equal = |group: &Image| (&group.sections, &group.steps) == (&image.sections, &image.steps);
            let known = places.iter().copied().find(|&at| groups.get(at).is_some_and(equal));
            match known.and_then(|at| groups.get_mut(at)) {
                Some(group) => group.tiles.extend(image.tiles),
                None => {
                    places.push(groups.len());
                    groups.push(image);
                }
            }
        }
        self.images = groups;
        for image in &mut self.images {
            image.tiles.sort_unstable();
        }
    }
}

impl Binding {
    /// As a package has it.
    #[must_use]
    pub fn to_package(&self) -> package::Binding {
        let tensor = self.ty.as_tensor();
        let shape = tensor.map_or(&[][..], |tensor| &tensor.shape);
        let element = tensor.and_then(|tensor| ScaledElement::of(&tensor.element));
        package::Binding {
            name: self.name.clone(),
            dtype: element.map_or_else(String::new, |element| dtype(element.element)),
            shape: shape.iter().map(|&length| u32::try_from(length).unwrap_or(u32::MAX)).collect(),
            slices: self.slices.iter().map(|slice| slice.to_package()).collect(),
        }
    }
}

/// The package's name of an element type.
fn dtype(element: ElementType) -> String {
    match element {
        ElementType::F143 | ElementType::F152 => format!("f8{}", element.name()),
        _ => element.name().to_owned(),
    }
}

impl Slice {
    fn to_package(self) -> RegionSlice {
        RegionSlice {
            tile: self.tile.physical(),
            address: self.address,
            file_offset: self.image_offset.into(),
            size: self.bytes.0.into(),
        }
    }
}

impl From<exchange::program::BindingKind> for BindingKind {
    fn from(kind: exchange::program::BindingKind) -> Self {
        match kind {
            exchange::program::BindingKind::Input => Self::Input,
            exchange::program::BindingKind::Weight => Self::Weight,
            exchange::program::BindingKind::Output => Self::Output,
        }
    }
}

// Equality by contents.

impl Section {
    fn contents(&self) -> (&Arc<str>, Address, &Body) {
        (&self.symbol, self.address, &self.body)
    }
}

impl PartialEq for Section {
    fn eq(&self, other: &Self) -> bool {
        self.contents() == other.contents()
    }
}

impl Eq for Section {}

impl Hash for Section {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.contents().hash(state);
    }
}

impl PartialEq for Line {
    fn eq(&self, other: &Self) -> bool {
        (&self.code, &self.symbol) == (&other.code, &other.symbol)
    }
}

impl Eq for Line {}

impl Hash for Line {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.code, &self.symbol).hash(state);
    }
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl Eq for Step {}

impl Hash for Step {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
    }
}
