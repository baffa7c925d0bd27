//! What each tile has and does: rows, kernel calls, barriers. Tiles that do the same share an image.

use std::collections::BTreeSet;

use ipu_device::exchange::Row;
use ipu_device::hash::HashMap;
use ipu_device::package::BindingKind;
use ipu_device::{Address, Bytes, LogicalTile};
use ipu_dialects::exchange::{Run, Step};
use ipu_dialects::tile::{self, HostPart, Image, Section, StepKind, TileProgram};

use super::Lowering;
use super::layout::{kernels, rows_base};
use super::rows::PhaseRows;

/// By step of the program: the runs of each tile, in order.
type Runs<'p> = HashMap<(usize, LogicalTile), Vec<&'p Run>>;

/// Bytes of rows on the tile that has most.
pub(super) fn row_bytes(program: &TileProgram) -> u64 {
    let of_image = |image: &Image| -> u64 {
        let rows = image.sections.iter().filter(|section| matches!(section.body, tile::Body::Row(_)));
        rows.map(|row| u64::from(row.size().0)).sum()
    };
    program.images.iter().map(of_image).max().unwrap_or(0)
}

impl Lowering<'_> {
    /// The program of all tiles.
    pub(super) fn images(&self, phases: &[PhaseRows<'_>], bindings: Vec<tile::Binding>) -> TileProgram {
        let mut lowered = TileProgram::new(&self.program.name);
        lowered.op = Some(self.program.op);
        lowered.bindings = bindings;
        lowered.kernels = kernels(self.program);
        lowered.storage = self.storage();
        let base = rows_base(&lowered.kernels);
        let runs = self.runs_by_tile();
        let mut busy: BTreeSet<LogicalTile> = runs.keys().map(|&(_, tile)| tile).collect();
        busy.extend(phases.iter().flat_map(|phase| phase.rows.keys().copied()));
        let host = host_parts(&lowered);
        let images = ImageMaker { lowering: self, phases, runs: &runs, host: &host, rows: base };
        let idle: Vec<LogicalTile> = LogicalTile::all().filter(|tile| !busy.contains(tile)).collect();
        lowered.images = busy.iter().map(|&tile| images.image(tile)).collect();
        if let Some(&first) = idle.first() {
            let image = images.image(first);
            lowered.images.push(Image { tiles: idle, ..image });
        }
        lowered.group_images();
        lowered
    }

    fn runs_by_tile(&self) -> Runs<'_> {
        let mut runs = Runs::default();
        for (index, step) in self.program.steps.iter().enumerate() {
            let Step::Compute(compute) = step else { continue };
            for run in &compute.runs {
                runs.entry((index, run.tile)).or_default().push(run);
            }
        }
        runs
    }
}

/// The parts of the host plan that are not empty.
fn host_parts(program: &TileProgram) -> Vec<HostPart> {
    let kind = |part: HostPart| match part {
        HostPart::Weights => BindingKind::Weight,
        HostPart::Inputs => BindingKind::Input,
        HostPart::Outputs => BindingKind::Output,
    };
    let moves = |part: &HostPart| {
        let mut bindings = program.bindings.iter();
        bindings.any(|binding| binding.kind == kind(*part) && !binding.slices.is_empty())
    };
    HostPart::ALL.into_iter().filter(moves).collect()
}

struct ImageMaker<'a> {
    lowering: &'a Lowering<'a>,
    phases: &'a [PhaseRows<'a>],
    runs: &'a Runs<'a>,
    host: &'a [HostPart],
    /// Where rows start on every tile.
    rows: ipu_device::Address,
}

impl ImageMaker<'_> {
    fn image(&self, tile: LogicalTile) -> Image {
        let sections = self.rows_of(tile);
        let steps = self.steps(tile);
        Image { source: Some(self.lowering.program.op), tiles: vec![tile], sections, steps: Some(steps) }
    }

    /// A row for each phase; a lone return where the tile takes no part.
    fn rows_of(&self, tile: LogicalTile) -> Vec<Section> {
        let idle = Row::idle();
        let mut at = self.rows;
        let mut sections = Vec::with_capacity(self.phases.len());
        for phase in self.phases {
            let row = phase.rows.get(&tile).unwrap_or(&idle);
            let mut section = Section::row(&phase.symbol, at, &row.instructions);
            section.source = Some(phase.phase.op);
            at = at.checked_add(Bytes(section.size().0.next_multiple_of(8))).unwrap_or(at);
            sections.push(section);
        }
        sections
    }

    fn steps(&self, tile: LogicalTile) -> Vec<tile::Step> {
        let program = self.lowering.program;
        let exchange_host =
            |part: HostPart| tile::Step { source: Some(program.op), kind: StepKind::ExchangeHost(part) };
        let (after, before): (Vec<HostPart>, Vec<HostPart>) =
            self.host.iter().copied().partition(|&part| part == HostPart::Outputs);
        let mut steps: Vec<tile::Step> = before.into_iter().map(exchange_host).collect();
        // Repeats that are open: where each stands in `steps`, and where its body ends in the program.
        let mut repeats: Vec<(usize, usize)> = Vec::new();
        let mut phases = self.phases.iter();
        for (index, step) in program.steps.iter().enumerate() {
            close_repeats(&mut steps, &mut repeats, index);
            match step {
                Step::LoadHost(_) | Step::StoreHost(_) => {}
                Step::Phase(_) => steps.extend(phases.next().map(|phase| exchange(phase, tile))),
                Step::Compute(_) => {
                    let runs = self.runs.get(&(index, tile)).into_iter().flatten();
                    steps.extend(runs.filter_map(|run| self.call(run)));
                }
                Step::Repeat { op, count, body } => {
                    repeats.push((steps.len(), body.end));
                    let kind = StepKind::Repeat { count: *count, body: 0..0 };
                    steps.push(tile::Step { source: Some(*op), kind });
                }
            }
        }
        close_repeats(&mut steps, &mut repeats, usize::MAX);
        steps.extend(after.into_iter().map(exchange_host));
        steps
    }

    fn call(&self, run: &Run) -> Option<tile::Step> {
        let program = self.lowering.program;
        let address = |slice: &ipu_dialects::exchange::Slice| {
            program.buffer(slice.buffer).address(run.tile)?.checked_add(Bytes(slice.offset))
        };
        let operands = run.operands.iter().map(address).collect::<Option<_>>()?;
        let (kernel, scalars) = (run.kernel.clone(), run.scalars.clone());
        Some(tile::Step { source: Some(run.op), kind: StepKind::CallKernel { kernel, operands, scalars } })
    }
}

fn exchange(phase: &PhaseRows<'_>, tile: LogicalTile) -> tile::Step {
    let (row, idle) = (phase.symbol.clone(), !phase.rows.contains_key(&tile));
    let base = if idle { Address(0) } else { phase.phase.incoming_base(tile) };
    tile::Step { source: Some(phase.phase.op), kind: StepKind::Exchange { row, base, idle } }
}

/// Ends the repeats whose bodies end before step `index` of the program; one in which the tile does nothing goes away.
fn close_repeats(steps: &mut Vec<tile::Step>, repeats: &mut Vec<(usize, usize)>, index: usize) {
    while let Some((at, _)) = repeats.pop_if(|&mut (_, end)| end <= index) {
        let end = steps.len();
        if end == at + 1 {
            steps.truncate(at);
        } else if let Some(StepKind::Repeat { body, .. }) = steps.get_mut(at).map(|step| &mut step.kind) {
            *body = at + 1..end;
        }
    }
}
