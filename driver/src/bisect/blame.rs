//! Which call, binding or section of the tile program stands behind wrong bytes or a fault.

use std::ops::Range;

use ipu_device::simulator::{Fault, Moment};
use ipu_device::{Address, LogicalTile, PhysicalTile};
use ipu_dialects::exchange::Slice;
use ipu_dialects::exchange::meaning::Write;
use ipu_dialects::exchange::program::{HostMove, HostPart, Program, Step};
use ipu_dialects::ir::Module;
use ipu_dialects::tile::StepKind;

use super::device::{Lowered, Observed};
use super::expected::ExpectedPhase;
use super::report::{Detected, Finding, OpAt, PlaceAt};

impl Observed<'_> {
    /// Names the call or binding in the tile program.
    pub(super) fn call(&self, step: usize, write: &Write, finding: &mut Finding) {
        let placed = self.lowered.placed;
        match placed.steps.get(step) {
            Some(Step::LoadHost(moves)) => {
                let name = placed.bindings.get(moves.binding).map(|binding| binding.name.as_str());
                finding.emitted = name.map(|name| self.host_op(name, moves));
            }
            Some(Step::Compute(compute)) => {
                let Some(run) = compute.runs.get(write.row) else { return };
                let image = self
                    .tile
                    .iter()
                    .flat_map(|tile| &tile.images)
                    .find(|image| image.tiles.contains(&run.tile));
                let symbol = run.kernel.symbol();
                let Some(steps) = image.and_then(|image| image.steps.as_ref()) else {
                    finding.emitted = Some(OpAt::named("tile.code", Some("@main".to_owned())));
                    finding.notes.push(format!("the call of `@{symbol}` on tile {}", run.tile));
                    return;
                };
                let address =
                    |slice: &Slice| Some(placed.buffer(slice.buffer).address(run.tile)?.0 + slice.offset);
                let wanted: Vec<Option<u32>> = run.operands.iter().map(address).collect();
                let called = steps.iter().any(|step| match &step.kind {
                    StepKind::CallKernel { kernel, operands, scalars } => {
                        *kernel == run.kernel
                            && *scalars == run.scalars
                            && operands.iter().map(|address| Some(address.0)).eq(wanted.iter().copied())
                    }
                    _ => false,
                });
                finding.emitted = Some(OpAt::named("tile.call_kernel", Some(format!("@{symbol}"))));
                if !called {
                    let operands: Vec<String> =
                        wanted.iter().flatten().map(|&address| Address(address).to_string()).collect();
                    finding.notes.push(format!(
                        "no step of tile {} calls `@{symbol}` on {} with those scalars, as the program does",
                        run.tile,
                        operands.join(", ")
                    ));
                }
            }
            _ => {}
        }
    }

    /// A fault while phase `number`, or what comes before it, is under way.
    pub(super) fn fault(&self, phases: &[&ExpectedPhase], number: usize, finding: &mut Finding) -> bool {
        let Some(fault) = self.simulator.fault() else { return false };
        let Lowered { placed_module, placed, .. } = self.lowered;
        finding.detected = Detected::Fault;
        finding.summary = fault.to_string();
        let tile = fault.tile().map(PhysicalTile::logical);
        if let Some(tile) = tile {
            finding.place = Some(PlaceAt::on(tile, None, fault.address));
        }
        let in_phase = matches!(fault.moment, Some(Moment::Event(_)));
        let phase_step = phases.get(number).map(|phase| phase.step);
        match phase_step.and_then(|step| placed.steps.get(step)).filter(|_| in_phase) {
            Some(Step::Phase(phase)) => {
                finding.op = Some(OpAt::of(placed_module, phase.op));
                if let Some(tile) = tile {
                    self.row_of(phase, tile, finding);
                }
            }
            _ => {
                let first =
                    number.checked_sub(1).and_then(|before| phases.get(before)).map_or(0, |phase| phase.step);
                let steps = first..phase_step.unwrap_or(placed.steps.len());
                finding.op = run_on(placed_module, placed, steps, tile, fault);
                let has_steps = self.tile.as_ref().is_some_and(|tile| !tile.has_code());
                let emitted = if has_steps { "tile.call_kernel" } else { "tile.code" };
                finding.emitted = Some(OpAt::named(emitted, self.symbol_at(tile, fault.program_counter)));
            }
        }
        true
    }

    /// The section that holds an instruction.
    fn symbol_at(&self, tile: Option<LogicalTile>, counter: Option<Address>) -> Option<String> {
        let (tile, counter, program) = (tile?, counter?, self.tile.as_ref()?);
        let image = program.images.iter().find(|image| image.tiles.contains(&tile))?;
        let mut sections = image.sections.iter().chain(&program.common);
        let section = sections
            .find(|section| (section.address.0..section.address.0 + section.size().0).contains(&counter.0))?;
        Some(format!("@{} at {counter}", section.symbol))
    }

    /// What moves a binding wrongly: the binding, if its slices are not those of the program, else the tables of the host
    /// exchange that were made for it.
    fn host_op(&self, name: &str, moves: &HostMove) -> OpAt {
        let binding = OpAt::named("tile.binding", Some(format!("@{name}")));
        let Some(tile) = self.tile.as_ref().filter(|tile| tile.has_code()) else { return binding };
        let Some(made) = tile.bindings.iter().find(|binding| binding.name == name) else { return binding };
        let placed = self.lowered.placed;
        let slice = |part: &HostPart| {
            let start = placed.buffer(part.slice.buffer).address(part.tile)?.0 + part.slice.offset;
            Some((part.tile, start, part.image_offset))
        };
        let mut wanted: Vec<_> = moves.parts.iter().filter_map(slice).collect();
        let mut found: Vec<_> =
            made.slices.iter().map(|slice| (slice.tile, slice.address.0, slice.image_offset)).collect();
        wanted.sort_unstable();
        found.sort_unstable();
        if wanted == found { OpAt::named("tile.data", Some("@host".to_owned())) } else { binding }
    }
}

/// The run on `tile` among `steps` that a fault speaks of, else the first there.
fn run_on(
    module: &Module,
    placed: &Program,
    steps: Range<usize>,
    tile: Option<LogicalTile>,
    fault: &Fault,
) -> Option<OpAt> {
    let steps = placed.steps.get(steps)?;
    let computes = steps.iter().filter_map(|step| match step {
        Step::Compute(compute) => Some(compute),
        _ => None,
    });
    let runs: Vec<_> =
        computes.flat_map(|compute| &compute.runs).filter(|run| Some(run.tile) == tile).collect();
    let named = runs.iter().find(|run| fault.message.contains(&run.kernel.symbol().to_string()));
    named.or(runs.first()).map(|run| OpAt::of(module, run.op))
}
