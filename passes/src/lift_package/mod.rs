//! `--lift-package`: a package as a tile program, word by word, whoever made it.
//!
//! | module | holds |
//! |---|---|
//! | `bindings` | bindings with the types that the footer has for them, pages and calls |
//! | `images` | distinct images, sections that all images share, kernels |
//! | `names` | what segments are and what they are called where no footer says it |
//! | `decode` | words as instructions, addresses as symbols |
//! | `text` | the module around the program: the rest of the file, origins |
//!
//! Rules kept here: building the lifted program gives the bytes of a package of ours again; names come from the footer, else
//! from debug symbols, else from addresses; a word that is no instruction stays a word; what a tile program has no place for
//! is named, not dropped in silence.

mod bindings;
mod decode;
mod images;
mod names;
mod text;

use indexmap::IndexMap;
use ipu_device::Coded;
use ipu_device::package::{Package, PackageError};
use ipu_dialects::diagnostics::Diagnostic;
use ipu_dialects::ir::{Attribute, Module, Name, SYMBOL_NAME};
use ipu_dialects::source::Span;
use ipu_dialects::tile::TileProgram;

use crate::build_package::{COMMAND_ATTRIBUTE, Record, StorageRecord};
use crate::manager::{OptionError, Pass, PassContext, PassFailure, PassInfo, State, options};

pub use text::module;

/// Name of the pass in origins.
const NAME: Name = Name::of("lift-package");

ipu_device::coded_enum! {
    /// Why a package has no tile program, or what it loses.
    pub enum LiftCode {
        /// There is no package to lift.
        NoPackage = "P1101", "no package to lift",
        /// The package breaks a rule of its format, or cannot be loaded.
        Unloadable = "P1102", "package cannot be lifted",
        /// The footer has a text that does not read.
        Footer = "P1103", "footer of the package cannot be read",
        /// The package holds what the text has no form for.
        Inexpressible = "P1104", "package has no form as a tile program",
        /// The package has parts that a tile program does not hold.
        LeftOut = "P1105", "parts of the package are left out",
    }
}

/// Why a package has no tile program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiftError {
    /// The kind.
    pub code: LiftCode,
    /// What is wrong.
    pub message: String,
}

impl LiftError {
    fn new(code: LiftCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl std::fmt::Display for LiftError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code.title(), self.message)
    }
}

impl std::error::Error for LiftError {}

impl From<PackageError> for LiftError {
    fn from(error: PackageError) -> Self {
        Self::new(LiftCode::Unloadable, error.to_string())
    }
}

/// The pass as the manager knows it.
pub static INFO: PassInfo = PassInfo {
    name: "lift-package",
    summary: "package to tile: images, bindings and host calls as text, words as instructions; the input is an .ipuexe file",
    requires: &[],
    provides: &[State::Tile, State::Code],
    options: &[],
    defaults: options::no_defaults,
    create,
};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct NoOptions {}

fn create(values: &IndexMap<String, String>) -> Result<Box<dyn Pass>, OptionError> {
    let NoOptions {} = options::read(values)?;
    Ok(Box::new(LiftPackage))
}

struct LiftPackage;

impl Pass for LiftPackage {
    fn run(&self, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), PassFailure> {
        let error = |error: &LiftError| Diagnostic::error(error.code, Span::NONE, error.message.clone());
        let Some(package) = context.artifacts.package.take() else {
            let missing =
                LiftError::new(LiftCode::NoPackage, "no pass has built a package, and no file holds one");
            let note = "`--lift-package FILE.ipuexe` as the first pass reads one";
            context.diagnostics.push(error(&missing).note(note));
            return Err(PassFailure::Input);
        };
        let lifted = lift(&package).and_then(|program| Ok((text::around(&package, &program)?, program)));
        let (lifted, program) = lifted.map_err(|refused| {
            context.diagnostics.push(error(&refused));
            PassFailure::Input
        })?;
        let lost = left_out(&package, &program);
        if !lost.is_empty() {
            let message = format!("a tile program has no place for {}", lost.join(", "));
            context.diagnostics.push(Diagnostic::warning(LiftCode::LeftOut, Span::NONE, message));
        }
        context.record("images", program.images.len());
        context.record("kernels", program.kernels.len());
        *module = lifted;
        Ok(())
    }
}

/// The tile program of a package that can be loaded.
///
/// # Errors
/// [`LiftCode`]
pub fn lift(package: &Package) -> Result<TileProgram, LiftError> {
    package.validate()?;
    package.validate_loadable()?;
    let record = package.footer.as_ref().map(Record::read).unwrap_or_default();
    let name = if record.program.is_empty() { "main" } else { &record.program };
    let mut program = TileProgram::new(name);
    program.attributes = bindings::attributes(&record.attributes, &[SYMBOL_NAME, COMMAND_ATTRIBUTE])?;
    let command = package.footer.as_ref().map_or(&[][..], |footer| &footer.command);
    if !command.is_empty() {
        let words = command.iter().map(Attribute::string).collect();
        program.attributes.push((Name::of(COMMAND_ATTRIBUTE), Attribute::array(words)));
    }
    program.bindings = bindings::bindings(package, &record)?;
    program.storage = record.storage.iter().map(StorageRecord::storage).collect();
    program.host = bindings::host(package, &program);
    images::lift(package, &record, &mut program);
    Ok(program)
}

/// What `program`, which was lifted from `package`, does not hold of it.
#[must_use]
pub fn left_out(package: &Package, program: &TileProgram) -> Vec<String> {
    let usual = |image: &&ipu_device::package::TileImage| {
        let usual = ipu_device::package::TileImage::new(image.tile, image.segments.clone());
        **image != usual
    };
    let kernels = program.kernels.iter().map(|kernel| (&*kernel.symbol, kernel.address));
    let own = program.images.iter().flat_map(|image| &image.sections);
    let sections = program.common.iter().chain(own).map(|section| (&*section.symbol, section.address));
    let known: std::collections::BTreeSet<_> = kernels.chain(sections).collect();
    let unknown =
        |symbol: &&ipu_device::package::DebugSymbol| !known.contains(&(&*symbol.name, symbol.address));
    let dtypes = package.bindings().zip(bindings::sorted(program));
    let lost = [
        (package.entry_points.len(), "entry points"),
        (package.config_writes.len(), "device register writes"),
        (package.profile_tiles.len(), "profile plans"),
        (package.debug_regions.len(), "debug regions"),
        (package.debug_symbols.iter().filter(unknown).count(), "debug symbols inside of sections"),
        (
            package.tiles.iter().filter(usual).count(),
            "tiles with other entry or completion addresses than usual",
        ),
        (dtypes.filter(|((_, old), new)| **old != *new).count(), "element types of bindings"),
    ];
    lost.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect()
}
