//! Shrinks a case that shows a fault: its ops, results, shapes, tiles, attributes and the pipeline, as long as it still shows it.
//!
//! | module | holds |
//! |---|---|
//! | `predicate` | what must stay true |
//! | `pipeline` | fewer passes |
//! | `functions` | fewer ops, results and arguments of graph and mapped functions |
//! | `shapes` | shorter axes, fewer parts, fewer tiles |
//! | `attributes` | fewer attributes, simpler data, no comments |
//! | `programs` | fewer steps, transfers and receivers of exchange programs |
//!
//! Greedy and deterministic: kinds of edit are tried in the order of what they win, each candidate is verified before it is tried,
//! the first that is smaller and still shows the fault becomes the case, and the round starts again until none is left.

mod attributes;
mod functions;
mod pipeline;
pub mod predicate;
mod programs;
mod shapes;

use std::time::{Duration, Instant};

use ipu_dialects::ir::{Module, Type};
use ipu_dialects::printer::{PrintOptions, print_with};
use ipu_dialects::verifier::{VerifyOptions, verify};
use ipu_passes::manager::Pipeline;
use ipu_passes::manager::state::main_program;

pub use predicate::Predicate;

/// A program and the passes that it is sent through.
#[derive(Debug, Clone)]
pub struct Specimen {
    /// The program.
    pub module: Module,
    /// The passes.
    pub pipeline: Pipeline,
}

/// A smaller specimen, and what was done to get it.
#[derive(Debug)]
pub struct Candidate {
    /// The specimen.
    pub specimen: Specimen,
    /// What was done, for progress lines.
    pub edit: String,
}

impl Candidate {
    fn new(specimen: Specimen, edit: impl Into<String>) -> Self {
        Self { specimen, edit: edit.into() }
    }
}

/// A kind of edit: all candidates that it makes of a specimen, biggest wins first.
type Edit = fn(&Specimen) -> Vec<Candidate>;

/// Kinds of edit in the order in which they are tried.
const EDITS: &[Edit] = &[
    pipeline::fewer_passes,
    programs::fewer_steps,
    functions::fewer_ops,
    functions::fewer_results,
    functions::fewer_arguments,
    programs::fewer_transfers,
    shapes::fewer_tiles,
    shapes::shorter_axes,
    programs::fewer_receivers,
    attributes::fewer_attributes,
    attributes::simpler_data,
    attributes::fewer_names,
];

/// How long to try.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Candidates that may be tried.
    pub steps: u32,
    /// Time that may pass.
    pub time: Duration,
}

/// How large a specimen is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    /// Ops inside the program.
    pub ops: u64,
    /// Passes.
    pub passes: u64,
    /// Tiles that the program may use.
    pub tiles: u64,
    /// Elements of all tensors.
    pub elements: u64,
    /// Bytes of the text.
    pub text: u64,
}

impl Size {
    /// The size of a specimen.
    #[must_use]
    pub fn of(specimen: &Specimen) -> Self {
        let module = &specimen.module;
        let main = main_program(module).unwrap_or_else(|| module.root());
        let elements = |ty: &Type| ty.as_tensor().and_then(|tensor| tensor.element_count()).unwrap_or(0);
        let values = module.walk(module.root()).flat_map(|op| {
            let blocks = module.entry_block(op, 0).map(|block| module.arguments(block)).unwrap_or_default();
            module.results(op).iter().chain(blocks)
        });
        Self {
            ops: module.walk(main).count() as u64 - 1,
            passes: specimen.pipeline.entries.len() as u64,
            tiles: shapes::tiles(module),
            elements: values.map(|&value| elements(module.value_type(value))).sum(),
            text: text(module).len() as u64,
        }
    }

    /// One number to compare by: an op outweighs any attribute, a pass any number.
    #[must_use]
    pub fn weight(self) -> u64 {
        let Self { ops, passes, tiles, elements, text } = self;
        4000 * ops
            + 1000 * passes
            + 20 * tiles
            + 200 * u64::from(elements.max(1).ilog2())
            + elements.min(200)
            + text
    }
}

/// The text of a module without locations.
#[must_use]
pub fn text(module: &Module) -> String {
    print_with(module, PrintOptions { generic: false, locations: false })
}

/// What was reached.
#[derive(Debug)]
pub struct Reduction {
    /// The smallest specimen that shows the fault.
    pub specimen: Specimen,
    /// Candidates tried.
    pub steps: u32,
    /// Candidates taken.
    pub taken: u32,
    /// Time that it took.
    pub elapsed: Duration,
    /// Whether nothing smaller was left to try.
    pub minimal: bool,
}

/// Shrinks `specimen`, of which `predicate` holds. `progress` is told of each candidate that is taken: its number, the edit, the
/// size.
pub fn reduce(
    specimen: Specimen,
    predicate: &Predicate,
    budget: Budget,
    progress: &mut dyn FnMut(u32, &str, Size),
) -> Reduction {
    let started = Instant::now();
    let mut best = Specimen { module: attributes::without_comments(&specimen.module), ..specimen };
    let mut weight = Size::of(&best).weight();
    let (mut steps, mut taken) = (0, 0);
    let mut minimal = false;
    'rounds: while !minimal {
        minimal = true;
        for edit in EDITS {
            // Each kind goes on as long as it wins.
            let mut won = true;
            while won {
                won = false;
                for candidate in edit(&best) {
                    if steps >= budget.steps || started.elapsed() >= budget.time {
                        minimal = false;
                        break 'rounds;
                    }
                    let size = Size::of(&candidate.specimen);
                    if size.weight() >= weight || !is_valid(&candidate.specimen.module) {
                        continue;
                    }
                    steps += 1;
                    if predicate.holds(&candidate.specimen) {
                        taken += 1;
                        progress(steps, &candidate.edit, size);
                        (best, weight) = (candidate.specimen, size.weight());
                        (won, minimal) = (true, false);
                        break;
                    }
                }
            }
        }
    }
    Reduction { specimen: best, steps, taken, elapsed: started.elapsed(), minimal }
}

fn is_valid(module: &Module) -> bool {
    verify(module, VerifyOptions::default()).is_ok()
}
