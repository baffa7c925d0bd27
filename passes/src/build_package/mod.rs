//! `--build-package`: a tile program with code as the package of all 1,472 tiles.
//!
//! Rules kept here: a section is a segment, a kernel is a segment on the tiles that have it, nothing is added; tiles with
//! equal contents share their segments; what the message has no field for (names of sections, layouts and data of bindings,
//! the rest of the file, reference among it) stands in the footer, so that a package can be taken apart and run by itself.

mod record;

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use ipu_device::package::{
    BindingKind, DebugSymbol, Footer, Package, PackageError, Segment, SegmentFlags, TileImage,
};
use ipu_device::{Coded, LogicalTile};
use ipu_dialects::diagnostics::Diagnostic;
use ipu_dialects::ir::{Module, OpId};
use ipu_dialects::tile::{Image, KernelCode, KernelImage, Section, TileProgram};

use crate::manager::state::main_program;
use crate::manager::{OptionError, Pass, PassContext, PassFailure, PassInfo, State, options};

pub use record::{BindingRecord, Record, SectionKind};

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
        let op = main_program(module).unwrap_or_else(|| module.root());
        let program = TileProgram::read(module, op).map_err(|findings| {
            context.diagnostics.append(findings);
            PassFailure::Input
        })?;
        let package = build(module, &program).map_err(|error| {
            context.diagnostics.push(error.at(module));
            PassFailure::Input
        })?;
        context.record("segments", package.tiles.iter().map(|image| image.segments.len()).sum::<usize>());
        context.record("stored_bytes", package.stored_bytes());
        context.artifacts.package = Some(package);
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
    let images = Images::of(program)?;
    let package = Package {
        compiler_version: record::version(),
        inputs: program.package_bindings(BindingKind::Input),
        outputs: program.package_bindings(BindingKind::Output),
        weights: program.package_bindings(BindingKind::Weight),
        host_exchange,
        debug_symbols: symbols(program),
        footer: Some(footer(module, program, &images)),
        tiles: images.tiles,
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

fn footer(module: &Module, program: &TileProgram, images: &Images) -> Footer {
    let reference = |kernel: &&KernelImage| matches!(kernel.code, KernelCode::Reference(_));
    let record = Record::of(module, program, images.names.clone());
    Footer {
        versions: BTreeMap::from([("ipu-compiler".to_owned(), env!("CARGO_PKG_VERSION").to_owned())]),
        command: Vec::new(),
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

/// Kind and name of the segments of the image that a tile is the first to have.
type ImageNames = (LogicalTile, Vec<(SectionKind, Arc<str>)>);

/// The images of all tiles.
struct Images {
    /// In order of physical tile.
    tiles: Vec<TileImage>,
    /// By the first tile of each distinct image: kind and name of its segments in order.
    names: Vec<ImageNames>,
}

impl Images {
    fn of(program: &TileProgram) -> Result<Self, BuildError> {
        let mut images = Self { tiles: Vec::new(), names: Vec::new() };
        for image in &program.images {
            for (tiles, kernels) in by_kernels(program, image) {
                images.add(program, image, &tiles, &kernels)?;
            }
        }
        images.tiles.sort_by_key(|image| image.tile);
        images.names.sort_by_key(|(tile, _)| tile.physical());
        Ok(images)
    }

    fn add(
        &mut self,
        program: &TileProgram,
        image: &Image,
        tiles: &[LogicalTile],
        kernels: &[&KernelImage],
    ) -> Result<(), BuildError> {
        let mut named = Vec::new();
        for section in program.common.iter().chain(&image.sections) {
            named.push((segment(section)?, SectionKind::of(section), section.symbol.clone()));
        }
        named.extend(
            kernels.iter().map(|kernel| (kernel_segment(kernel), SectionKind::Kernel, kernel.symbol.clone())),
        );
        named.sort_by_key(|(segment, ..)| segment.address);
        let names = named.iter().map(|(_, kind, name)| (*kind, name.clone())).collect();
        let segments: Arc<[Segment]> = named.into_iter().map(|(segment, ..)| segment).collect();
        self.names.extend(tiles.iter().min_by_key(|tile| tile.physical()).map(|&tile| (tile, names)));
        let tile_image = |tile: &LogicalTile| TileImage::new(tile.physical(), Arc::clone(&segments));
        self.tiles.extend(tiles.iter().map(tile_image));
        Ok(())
    }
}

/// Tiles of an image by the kernels that they have; mostly they all have the same.
fn by_kernels<'p>(program: &'p TileProgram, image: &Image) -> Vec<(Vec<LogicalTile>, Vec<&'p KernelImage>)> {
    let mut groups: IndexMap<Vec<usize>, Vec<LogicalTile>> = IndexMap::new();
    for &tile in &image.tiles {
        let has = |kernel: &KernelImage| {
            kernel.tiles.as_ref().is_none_or(|tiles| tiles.binary_search(&tile).is_ok())
        };
        let kernels = (0..).zip(&program.kernels).filter(|(_, kernel)| has(kernel));
        groups.entry(kernels.map(|(index, _)| index).collect()).or_default().push(tile);
    }
    let kernels =
        |indices: Vec<usize>| indices.into_iter().filter_map(|at| program.kernels.get(at)).collect();
    groups.into_iter().map(|(indices, tiles)| (tiles, kernels(indices))).collect()
}

fn segment(section: &Section) -> Result<Segment, BuildError> {
    let data = section.stored_bytes().map_err(|error| {
        let message = format!("`@{}`: {error}", section.symbol);
        BuildError::new(BuildCode::Encoding, section.source, message)
    })?;
    let (address, size, flags) = (section.address, section.size(), section.flags());
    Ok(Segment { address, size, flags, data: data.into() })
}

fn kernel_segment(kernel: &KernelImage) -> Segment {
    let data: Vec<u8> = kernel.words().iter().flat_map(|word| word.to_le_bytes()).collect();
    Segment { address: kernel.address, size: kernel.size(), flags: SegmentFlags::CODE, data: data.into() }
}

#[cfg(test)]
mod tests;
