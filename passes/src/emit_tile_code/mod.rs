//! `--emit-tile-code`: the steps of every tile as supervisor code, with the runtime and the host exchange around it.
//!
//! | module | holds |
//! |---|---|
//! | `layout` | where the runtime, the jump to the program, and the code of a tile lie |
//! | `code` | steps to instructions |
//! | `names` | what sections that come into being are called |
//! | `room` | that code lies where code can be, and on no binding |
//!
//! Rules kept here: the runtime is the same section on every tile; what depends on the tile lies behind the tile's rows; a
//! tile whose host exchange differs from that of others with the same image gets an image of its own. Nothing that a step
//! says is reordered.

mod code;
mod layout;
mod names;
mod room;

use indexmap::IndexMap;
use ipu_device::LogicalTile;
use ipu_device::host_exchange::{HostPlan, HostPlanError, TileHostPlan};
use ipu_device::supervisor::LinkError;
use ipu_dialects::diagnostics::Diagnostic;
use ipu_dialects::ir::{InsertionPoint, Module, Name, OpId};
use ipu_dialects::tile::{Image, TileProgram};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::manager::state::main_program;
use crate::manager::{OptionError, Pass, PassContext, PassFailure, PassInfo, State, options};

use layout::Runtime;
pub use layout::first_free;
use names::Names;

/// Name of the pass in origins.
const NAME: Name = Name::of("emit-tile-code");

ipu_device::coded_enum! {
    /// Why steps have no code.
    pub enum EmitCode {
        /// The host exchange cannot serve a binding.
        HostExchange = "P0901", "host exchange cannot serve the bindings",
        /// A kernel lies where the runtime goes.
        InTheWay = "P0902", "memory of the runtime is taken",
        /// Code has a reference that does not resolve, or a constant that does not fit.
        Link = "P0903", "code cannot be linked",
        /// A step that code cannot express.
        Step = "P0904", "step has no code",
        /// Code leaves the memory that can be executed, or lies on a binding.
        NoRoom = "P0905", "no room for code",
    }
}

/// Why steps have no code, and for which op.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmitError {
    /// The kind.
    pub code: EmitCode,
    /// What is wrong, and what was expected.
    pub message: String,
    /// The op that asks for it.
    pub op: Option<OpId>,
}

impl EmitError {
    fn new(code: EmitCode, op: Option<OpId>, message: impl Into<String>) -> Self {
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

impl From<HostPlanError> for EmitError {
    fn from(error: HostPlanError) -> Self {
        Self::new(EmitCode::HostExchange, None, error.message)
    }
}

impl From<LinkError> for EmitError {
    fn from(error: LinkError) -> Self {
        Self::new(EmitCode::Link, None, error.message)
    }
}

/// The pass as the manager knows it.
pub static INFO: PassInfo = PassInfo {
    name: "emit-tile-code",
    summary: "tile: steps as supervisor code, host exchange programs and tables, the runtime",
    requires: &[State::Tile],
    provides: &[State::Code],
    options: &[],
    defaults: options::no_defaults,
    create,
};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct NoOptions {}

fn create(values: &IndexMap<String, String>) -> Result<Box<dyn Pass>, OptionError> {
    let NoOptions {} = options::read(values)?;
    Ok(Box::new(EmitTileCode))
}

struct EmitTileCode;

impl Pass for EmitTileCode {
    fn run(&self, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), PassFailure> {
        let mut program = context.read_main(module, TileProgram::read)?;
        if program.has_code() {
            context.leaves_module();
            return Ok(());
        }
        emit(&mut program).map_err(|error| {
            context.diagnostics.push(error.at(module));
            PassFailure::Input
        })?;
        room::check(&program).map_err(|error| context.cannot_compile(error.at(module)))?;
        let code = |image: &Image| layout::code_words(image) * image.tiles.len();
        context.record("images", program.images.len());
        context.record("code_words", program.images.iter().map(code).sum::<usize>());
        let op = main_program(module).unwrap_or_else(|| module.root());
        let made = program.emit(module, InsertionPoint::Before(op), NAME);
        module.inherit(made, &[op]);
        module.erase(op);
        Ok(())
    }
}

/// Turns the steps of every image into code. A program that has code stays as it is.
///
/// # Errors
/// [`EmitCode`]
pub fn emit(program: &mut TileProgram) -> Result<(), EmitError> {
    if program.has_code() {
        return Ok(());
    }
    let plan = program.host_plan()?;
    let mut runtime = Runtime::new()?;
    runtime.check_free(program)?;
    let mut names = Names::of(program);
    names.settle(&mut runtime.sections);
    let mut finished = Vec::new();
    for image in std::mem::take(&mut program.images) {
        let parts = by_host_plan(&plan, &image.tiles)?;
        let assemble = |(tiles, host): HostGroup| code::image(program, &runtime, &image, tiles, &host);
        // Most tiles that talk to the host have an image of their own.
        for made in parts.into_par_iter().map(assemble).collect::<Vec<_>>() {
            finished.push(made?);
        }
    }
    for (image, made) in &mut finished {
        names.settle(made);
        image.sections.append(made);
        image.sections.sort_by_key(|section| section.address);
    }
    program.images = finished.into_iter().map(|(image, _)| image).collect();
    program.common.extend(runtime.sections);
    program.group_images();
    Ok(())
}

/// Tiles with the same part in the host exchange.
type HostGroup = (Vec<LogicalTile>, TileHostPlan);

/// Tiles by their part in the host exchange. Those that only follow are alike; any other has packets of its own.
fn by_host_plan(plan: &HostPlan, tiles: &[LogicalTile]) -> Result<Vec<HostGroup>, EmitError> {
    let mut groups: Vec<HostGroup> = Vec::new();
    let mut followers: Option<usize> = None;
    for &tile in tiles {
        let host = TileHostPlan::new(plan, tile.physical())?;
        match followers.filter(|_| host.is_follower()).and_then(|at| groups.get_mut(at)) {
            Some((alike, _)) => alike.push(tile),
            None => {
                if host.is_follower() {
                    followers = Some(groups.len());
                }
                groups.push((vec![tile], host));
            }
        }
    }
    Ok(groups)
}
