//! Planted miscompiles, in builds with feature `mutations` only: what the tools that hunt miscompiles are tested on.
//!
//! A mutation changes what a pass leaves the way a bug of that pass would: one op, column, address or word. Passes know nothing of
//! it; the pass manager plants it between the pass and the verifier. It says which pass and which op a hunter must name, and on
//! which file it shows.
//!
//! | module | plants in |
//! |---|---|
//! | `graph` | graphs, after `canonicalize` |
//! | `mapped` | mapped programs, after `select-plans` |
//! | `exchange` | exchange programs, after the passes from `expand-plans` to `optimize-exchange-placement` |
//! | `tile` | rows, steps and code, after `lower-exchanges` and `emit-tile-code` |
//! | `package` | packages, after `build-package` |

mod exchange;
mod graph;
mod mapped;
mod package;
mod tile;

use ipu_device::package::Package;
use ipu_dialects::declaration::Op;
use ipu_dialects::exchange::{Program, emit_program};
use ipu_dialects::ir::{InsertionPoint, Module, Name, OpId};
use ipu_dialects::tile::TileProgram;

use crate::manager::Artifacts;
use crate::manager::state::main_program;

/// Name in origins of what a mutation writes.
const NAME: Name = Name::of("mutation");

/// A planted miscompile.
#[derive(Debug, Clone, Copy)]
pub struct Mutation {
    /// Its name.
    pub name: &'static str,
    /// The pass whose result is wrong.
    pub pass: &'static str,
    /// The op that is wrong.
    pub op: &'static str,
    /// What is wrong, in a line.
    pub summary: &'static str,
    /// A file below `test-ir/` that shows it.
    pub case: &'static str,
    /// The plan that it needs.
    pub plan: Option<&'static str>,
    /// How it is planted.
    plant: Plant,
}

/// The seed's product on a plan with a gather before and partials after it.
const SPLIT_SEED: (&str, Option<&str>) = ("seed/gemm_f8.ir", Some("grid=8x4x2"));

/// A mutation that shows on [`SPLIT_SEED`].
const fn on_split_seed(
    name: &'static str,
    pass: &'static str,
    op: &'static str,
    summary: &'static str,
    plant: Plant,
) -> Mutation {
    let (case, plan) = SPLIT_SEED;
    Mutation { name, pass, op, summary, case, plan, plant }
}

/// The first op of that kind in the program.
fn first<T: Op>(module: &Module) -> Option<OpId> {
    let block = module.entry_block(main_program(module)?, 0)?;
    module.ops_of(block).find(|&op| module.is::<T>(op))
}

/// Changes what a pass left; says whether the place for it is there.
#[derive(Debug, Clone, Copy)]
enum Plant {
    Module(fn(&mut Module) -> Option<()>),
    Exchange(fn(&mut Program) -> Option<()>),
    Tile(fn(&mut TileProgram) -> Option<()>),
    Package(fn(&mut Package) -> Option<()>),
}

/// All mutations, in pipeline order.
#[must_use]
pub fn all() -> Vec<&'static Mutation> {
    let lists =
        [graph::MUTATIONS, mapped::MUTATIONS, exchange::MUTATIONS, tile::MUTATIONS, package::MUTATIONS];
    lists.into_iter().flatten().collect()
}

/// The mutation of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Mutation> {
    all().into_iter().find(|mutation| mutation.name == name)
}

impl Mutation {
    /// Plants the mutation in what pass `pass` left; says whether it did.
    pub fn apply(&self, pass: &str, module: &mut Module, artifacts: &mut Artifacts) -> bool {
        if pass != self.pass {
            return false;
        }
        self.plant(module, artifacts).is_some()
    }

    fn plant(&self, module: &mut Module, artifacts: &mut Artifacts) -> Option<()> {
        match self.plant {
            Plant::Module(plant) => plant(module),
            Plant::Exchange(plant) => {
                let op = main_program(module)?;
                let mut program = Program::read(module, op).ok()?;
                plant(&mut program)?;
                let made = emit_program(module, InsertionPoint::Before(op), &program, NAME);
                module.inherit(made, &[op]);
                module.erase(op);
                Some(())
            }
            Plant::Tile(plant) => {
                let op = main_program(module)?;
                let mut program = TileProgram::read(module, op).ok()?;
                plant(&mut program)?;
                let made = program.emit(module, InsertionPoint::Before(op), NAME);
                module.inherit(made, &[op]);
                module.erase(op);
                Some(())
            }
            Plant::Package(plant) => plant(artifacts.package.as_mut()?),
        }
    }
}
