//! What the footer of a package says of the program: names of sections, bindings as the text has them, the rest of the file.

use indexmap::IndexSet;
use ipu_device::{Address, Bytes, LogicalTile, PhysicalTile};
use ipu_dialects::ir::{Attribute, Module, Name, OpId, Origin};
use ipu_dialects::printer::print_without;
use ipu_dialects::tile::{Body, Section, Storage, TileProgram};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Who made a package.
pub(super) fn version() -> String {
    concat!("ipu-compiler ", env!("CARGO_PKG_VERSION")).to_owned()
}

/// The attribute of a program that holds the command that made it; in a package the footer has it.
pub const COMMAND_ATTRIBUTE: &str = "ipu.command";

/// The command that made a program.
pub(super) fn command(program: &TileProgram) -> Vec<String> {
    let attribute = program.attributes.iter().find(|(name, _)| name.as_str() == COMMAND_ATTRIBUTE);
    let words = attribute.and_then(|(_, value)| value.as_array()).unwrap_or(&[]);
    words.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

/// What a segment is in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SectionKind {
    /// `tile.row`
    Row,
    /// `tile.code`
    Code,
    /// `tile.data`
    Data,
    /// `tile.kernel`
    Kernel,
}

impl SectionKind {
    pub(super) fn of(section: &Section) -> Self {
        match section.body {
            Body::Row(_) => Self::Row,
            Body::Code(_) => Self::Code,
            Body::Data(_) => Self::Data,
        }
    }
}

/// What a segment is in the text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SegmentRecord {
    /// The kind of op.
    pub kind: SectionKind,
    /// Its symbol.
    pub name: String,
    /// Path of the graph op that it was made for, and the passes it went through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<(String, Vec<String>)>,
}

impl SegmentRecord {
    pub(super) fn of(module: &Module, kind: SectionKind, name: &str, source: Option<OpId>) -> Self {
        let origin = source.filter(|&op| module.is_live(op)).and_then(|op| module.origin(op));
        let passes = |origin: &Origin| origin.passes().iter().map(|pass| pass.as_str().to_owned()).collect();
        Self { kind, name: name.to_owned(), origin: origin.map(|o| (o.path().to_owned(), passes(o))) }
    }

    /// What it was made for.
    #[must_use]
    pub fn origin(&self) -> Option<Origin> {
        let (path, passes) = self.origin.as_ref()?;
        Some(Origin::new(path, passes.iter().map(|pass| Name::intern(pass)).collect()))
    }
}

/// A binding as the text has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindingRecord {
    /// The tensor type with its layout.
    pub ty: String,
    /// Attributes with a dialect prefix: name and value as text.
    pub attributes: Vec<(String, String)>,
}

/// Where a buffer lives, as the text has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageRecord {
    /// The buffer.
    pub buffer: String,
    /// First byte.
    pub address: u32,
    /// Bytes.
    pub size: u32,
    /// First and last phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<(u32, u32)>,
    /// Logical tiles as ranges: first, and the first behind.
    pub tiles: Vec<(u16, u16)>,
}

impl StorageRecord {
    fn of(storage: &Storage) -> Self {
        let mut tiles: Vec<(u16, u16)> = Vec::new();
        for tile in &storage.tiles {
            match tiles.last_mut().filter(|last| last.1 == tile.0) {
                Some(last) => last.1 += 1,
                None => tiles.push((tile.0, tile.0 + 1)),
            }
        }
        let live = storage.live.as_ref().map(|live| (*live.start(), *live.end()));
        let (address, size) = (storage.address.0, storage.size.0);
        Self { buffer: storage.buffer.clone(), address, size, live, tiles }
    }

    /// As plain data of a tile program.
    #[must_use]
    pub fn storage(&self) -> Storage {
        let tiles = self.tiles.iter().flat_map(|&(first, end)| first..end);
        Storage {
            source: None,
            buffer: self.buffer.clone(),
            address: Address(self.address),
            size: Bytes(self.size),
            live: self.live.map(|(first, last)| first..=last),
            tiles: tiles.filter_map(|tile| LogicalTile::new(tile.into())).collect(),
        }
    }
}

/// The footer's account of a program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Record {
    /// Symbol of the program.
    pub program: String,
    /// Its attributes: name and value as text.
    #[serde(default)]
    pub attributes: Vec<(String, String)>,
    /// Bindings by name. They stand in the footer's own field.
    #[serde(skip)]
    pub bindings: Vec<(String, BindingRecord)>,
    /// Lists of what segments are, in order of address; many images have the same.
    #[serde(default)]
    pub segments: Vec<Vec<SegmentRecord>>,
    /// The least physical tile of each distinct image, and which of `segments` its are.
    #[serde(default)]
    pub images: Vec<(u16, usize)>,
    /// Symbols of sections that stand in the program and not in images.
    #[serde(default)]
    pub common: Vec<String>,
    /// Where buffers live.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub storage: Vec<StorageRecord>,
    /// The rest of the file: the reference, say.
    #[serde(default)]
    pub rest: String,
    /// How many ops of the rest stand before the program.
    #[serde(default)]
    pub position: usize,
}

impl Record {
    /// `images`: the least physical tile of each distinct image with its segments.
    pub(super) fn of(
        module: &Module,
        program: &TileProgram,
        images: Vec<(PhysicalTile, Vec<SegmentRecord>)>,
    ) -> Self {
        let bindings = program.bindings.iter().map(|binding| {
            let ty = Attribute::ty(binding.ty.clone()).to_string();
            (binding.name.clone(), BindingRecord { ty, attributes: texts(&binding.attributes) })
        });
        let mut segments: IndexSet<Vec<SegmentRecord>> = IndexSet::new();
        let images = images.into_iter().map(|(tile, list)| (tile.0, segments.insert_full(list).0)).collect();
        Self {
            program: program.name.clone(),
            attributes: texts(
                program.attributes.iter().filter(|(name, _)| name.as_str() != COMMAND_ATTRIBUTE),
            ),
            bindings: bindings.collect(),
            segments: segments.into_iter().collect(),
            images,
            common: program.common.iter().map(|section| section.symbol.to_string()).collect(),
            storage: program.storage.iter().map(StorageRecord::of).collect(),
            rest: program.op.map_or_else(String::new, |op| rest_of_file(module, op)),
            position: module.ops_of(module.body()).position(|op| program.op == Some(op)).unwrap_or_default(),
        }
    }

    pub(super) fn layouts(&self) -> Map<String, Value> {
        let value = |record: &BindingRecord| serde_json::to_value(record).unwrap_or_default();
        self.bindings.iter().map(|(name, record)| (name.clone(), value(record))).collect()
    }

    pub(super) fn origins(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The account in a footer; an empty one if there is none.
    #[must_use]
    pub fn read(footer: &ipu_device::package::Footer) -> Self {
        let mut record: Self = serde_json::from_value(footer.origins.clone()).unwrap_or_default();
        let bindings = footer
            .binding_layouts
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), serde_json::from_value(value.clone()).ok()?)));
        record.bindings = bindings.collect();
        record
    }

    /// The binding of that name.
    #[must_use]
    pub fn binding(&self, name: &str) -> Option<&BindingRecord> {
        self.bindings.iter().find(|(known, _)| known == name).map(|(_, record)| record)
    }

    /// What the segments of the image whose least tile is `first` are, in order of address.
    #[must_use]
    pub fn segments(&self, first: PhysicalTile) -> Option<&[SegmentRecord]> {
        let at = self.images.binary_search_by_key(&first.0, |&(tile, _)| tile).ok()?;
        let (_, list) = self.images.get(at)?;
        self.segments.get(*list).map(Vec::as_slice)
    }
}

fn texts<'a>(attributes: impl IntoIterator<Item = &'a (Name, Attribute)>) -> Vec<(String, String)> {
    attributes.into_iter().map(|(name, value)| (name.as_str().to_owned(), value.to_string())).collect()
}

/// The text of the module without the program, and without the gap that this leaves.
fn rest_of_file(module: &Module, program: OpId) -> String {
    let text = print_without(module, program);
    let mut lines: Vec<&str> = text.trim().lines().collect();
    lines.dedup_by(|line, before| line.is_empty() && before.is_empty());
    lines.into_iter().flat_map(|line| [line, "\n"]).collect()
}
