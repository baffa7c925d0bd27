//! `--build-package`: a tile program with code as the package of all 1,472 tiles.
//!
//! Rules kept here: a section is a segment, a kernel is a segment on the tiles that have it, nothing is added; tiles with
//! equal contents share their segments; what the message has no field for (names of sections, layouts and data of bindings,
//! the rest of the file, reference among it) stands in the footer, so that a package can be taken apart and run by itself.

mod record;

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use indexmap::IndexMap;
use ipu_device::hash::HashMap;
use ipu_device::package::{
    BindingKind, DebugSymbol, Footer, Package, PackageError, Segment, SegmentFlags, TileImage,
};
use ipu_device::{Coded, PhysicalTile};
use ipu_dialects::diagnostics::Diagnostic;
use ipu_dialects::ir::{Module, OpId};
use ipu_dialects::tile::{Image, KernelCode, KernelImage, Section, TileProgram};
use rustc_hash::FxHasher;

use crate::manager::{OptionError, Pass, PassContext, PassFailure, PassInfo, State, options};

pub use record::{BindingRecord, COMMAND_ATTRIBUTE, Record, SectionKind, SegmentRecord, StorageRecord};

ipu_device::coded_enum! {
    /// Why a tile program makes no package.
    pub enum BuildCode {
        /// Images have steps instead of code.
        NoCode = "P1001", "tile program has no code yet",
        /// An instruction has no encoding.
        Encoding = "P1002", "instruction cannot be encoded",
        /// The host exchange cannot serve a binding.
        HostExchange = "P1003", "host exchange cannot serve the bindings of a package",
        /// The package breaks a rule of its format.
        Invalid = "P1004", "package would break a rule of its format",
    }
}

/// Why a tile program makes no package, and for which op.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError {
    /// The kind.
    pub code: BuildCode,
    /// What is wrong.
    pub message: String,
    /// The op that asks for it.
    pub op: Option<OpId>,
}

impl BuildError {
    fn new(code: BuildCode, op: Option<OpId>, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), op }
    }

    /// The error at its op in `module`.
    #[must_use]
    pub fn at(&self, module: &Module) -> Diagnostic {
        let op = self.op.filter(|&op| module.is_live(op));
        let span = op.map_or(ipu_dialects::source::Span::NONE, |op| module.span(op));
        Diagnostic::error(self.code, span, self.message.clone())
    }
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code.code(), self.message)
    }
}

impl std::error::Error for BuildError {}

impl From<PackageError> for BuildError {
    fn from(error: PackageError) -> Self {
        Self::new(BuildCode::Invalid, None, error.to_string())
    }
}

/// The pass as the manager knows it.
pub static INFO: PassInfo = PassInfo {
    name: "build-package",
    summary: "tile to package: the images of all 1,472 tiles, bindings, host calls, and our footer",
    requires: &[State::Tile, State::Code],
    provides: &[],
    options: &[],
    defaults: options::no_defaults,
    create,
};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct NoOptions {}

fn create(values: &IndexMap<String, String>) -> Result<Box<dyn Pass>, OptionError> {
    let NoOptions {} = options::read(values)?;
    Ok(Box::new(BuildPackage))
}

struct BuildPackage;

impl Pass for BuildPackage {
    fn run(&self, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), PassFailure> {
        let program = context.read_main(module, TileProgram::read)?;
        let package = build(module, &program).map_err(|error| {
            context.diagnostics.push(error.at(module));
            PassFailure::Input
        })?;
        context.record("segments", package.tiles.iter().map(|image| image.segments.len()).sum::<usize>());
        context.record("stored_bytes", package.stored_bytes());
        context.artifacts.package = Some(package);
        context.leaves_module();
        Ok(())
    }
}

/// The package of a program that was read from `module`.
///
/// # Errors
/// [`BuildCode`]
pub fn build(module: &Module, program: &TileProgram) -> Result<Package, BuildError> {
    if let Some(image) = program.images.iter().find(|image| image.steps.is_some()) {
        let message = "an image has `tile.steps`; run `--emit-tile-code` first";
        return Err(BuildError::new(BuildCode::NoCode, image.source, message));
    }
    let host_exchange = program
        .host_exchange()
        .map_err(|error| BuildError::new(BuildCode::HostExchange, program.op, error.message))?;
    let images = Images::of(module, program)?;
    let package = Package {
        compiler_version: record::version(),
        inputs: program.package_bindings(BindingKind::Input),
        outputs: program.package_bindings(BindingKind::Output),
        weights: program.package_bindings(BindingKind::Weight),
        host_exchange,
        debug_symbols: symbols(program),
        tiles: images.tiles(),
        footer: Some(footer(module, program, images.records())),
        ..Package::default()
    };
    package.validate()?;
    Ok(package)
}

/// Names of addresses that are the same on every tile that has them.
fn symbols(program: &TileProgram) -> Vec<DebugSymbol> {
    let kernels = program.kernels.iter().map(|kernel| (&kernel.symbol, kernel.address));
    let common = program.common.iter().map(|section| (&section.symbol, section.address));
    let symbol = |(name, address): (&Arc<str>, _)| DebugSymbol { name: name.to_string(), address };
    kernels.chain(common).map(symbol).collect()
}

fn footer(module: &Module, program: &TileProgram, images: Vec<(PhysicalTile, Vec<SegmentRecord>)>) -> Footer {
    let reference = |kernel: &&KernelImage| matches!(kernel.code, KernelCode::Reference(_));
    let record = Record::of(module, program, images);
    Footer {
        versions: BTreeMap::from([("ipu-compiler".to_owned(), env!("CARGO_PKG_VERSION").to_owned())]),
        command: record::command(program),
        binding_layouts: record.layouts(),
        origins: record.origins(),
        reference_kernels: program
            .kernels
            .iter()
            .filter(reference)
            .map(|kernel| kernel.symbol.to_string())
            .collect(),
    }
}

/// An image in the package: tiles with equal contents share it, whatever the program calls its parts.
struct DistinctImage {
    tiles: Vec<PhysicalTile>,
    segments: Arc<[Segment]>,
    records: Vec<SegmentRecord>,
}

/// The distinct images of a program.
#[derive(Default)]
struct Images {
    images: Vec<DistinctImage>,
    /// Their places by a hash of their contents.
    by_contents: HashMap<u64, Vec<usize>>,
}

impl Images {
    fn of(module: &Module, program: &TileProgram) -> Result<Self, BuildError> {
        let common = program.common.iter().map(|section| part(module, section));
        let common = common.collect::<Result<Vec<_>, _>>()?;
        let mut images = Self::default();
        for image in &program.images {
            let own = image.sections.iter().map(|section| part(module, section));
            let own = own.collect::<Result<Vec<_>, _>>()?;
            for (tiles, kernels) in by_kernels(program, image) {
                let kernels = kernels.into_iter().map(|kernel| kernel_part(module, kernel));
                let mut parts: Vec<Part> = common.iter().chain(&own).cloned().chain(kernels).collect();
                parts.sort_by_key(|(segment, _)| segment.address);
                images.add(tiles, parts);
            }
        }
        for image in &mut images.images {
            image.tiles.sort_unstable();
        }
        images.images.sort_by_key(|image| image.tiles.first().copied());
        Ok(images)
    }

    fn add(&mut self, tiles: Vec<PhysicalTile>, parts: Vec<Part>) {
        let (segments, records): (Vec<Segment>, Vec<SegmentRecord>) = parts.into_iter().unzip();
        let mut hasher = FxHasher::default();
        for segment in &segments {
            (segment.address, segment.size, segment.flags, &segment.data).hash(&mut hasher);
        }
        let places = self.by_contents.entry(hasher.finish()).or_default();
        let same = |&&at: &&usize| *self.images[at].segments == *segments;
        match places.iter().find(same) {
            Some(&at) => self.images[at].tiles.extend(tiles),
            None => {
                places.push(self.images.len());
                self.images.push(DistinctImage { tiles, segments: segments.into(), records });
            }
        }
    }

    /// The images of all tiles, in order of physical tile.
    fn tiles(&self) -> Vec<TileImage> {
        let images = self.images.iter().flat_map(|image| {
            image.tiles.iter().map(|&tile| TileImage::new(tile, Arc::clone(&image.segments)))
        });
        let mut tiles: Vec<TileImage> = images.collect();
        tiles.sort_by_key(|image| image.tile);
        tiles
    }

    /// The least tile of each, and what its segments are.
    fn records(self) -> Vec<(PhysicalTile, Vec<SegmentRecord>)> {
        self.images.into_iter().filter_map(|image| Some((*image.tiles.first()?, image.records))).collect()
    }
}

/// Tiles of an image by the kernels that they have; mostly they all have the same.
fn by_kernels<'p>(program: &'p TileProgram, image: &Image) -> Vec<(Vec<PhysicalTile>, Vec<&'p KernelImage>)> {
    let mut groups: IndexMap<Vec<usize>, Vec<PhysicalTile>> = IndexMap::new();
    for &tile in &image.tiles {
        let has = |kernel: &KernelImage| {
            kernel.tiles.as_ref().is_none_or(|tiles| tiles.binary_search(&tile).is_ok())
        };
        let kernels = (0..).zip(&program.kernels).filter(|(_, kernel)| has(kernel));
        groups.entry(kernels.map(|(index, _)| index).collect()).or_default().push(tile.physical());
    }
    let kernels =
        |indices: Vec<usize>| indices.into_iter().filter_map(|at| program.kernels.get(at)).collect();
    groups.into_iter().map(|(indices, tiles)| (tiles, kernels(indices))).collect()
}

/// A segment, and what it is.
type Part = (Segment, SegmentRecord);

fn part(module: &Module, section: &Section) -> Result<Part, BuildError> {
    let data = section.stored_bytes().map_err(|error| {
        let message = format!("`@{}`: {error}", section.symbol);
        BuildError::new(BuildCode::Encoding, section.source, message)
    })?;
    let (address, size, flags) = (section.address, section.size(), section.flags());
    let record = SegmentRecord::of(module, SectionKind::of(section), &section.symbol, section.source);
    Ok((Segment { address, size, flags, data: data.into() }, record))
}

fn kernel_part(module: &Module, kernel: &KernelImage) -> Part {
    let data: Vec<u8> = kernel.words().iter().flat_map(|word| word.to_le_bytes()).collect();
    let segment = Segment {
        address: kernel.address,
        size: kernel.size(),
        flags: SegmentFlags::CODE,
        data: data.into(),
    };
    (segment, SegmentRecord::of(module, SectionKind::Kernel, &kernel.symbol, kernel.source))
}
