//! Packages: the first byte of any tile's memory, or word of any phase, that is not what the placed program says.

use ipu_device::hash::HashMap;
use ipu_device::package::{Binding, Package};
use ipu_device::simulator::{PhaseWrite, Simulator, Snapshot, TileMemory};
use ipu_device::{Address, PhysicalTile};
use ipu_dialects::case::Case;
use ipu_dialects::exchange::meaning::Write;
use ipu_dialects::exchange::program::{Program, Step};
use ipu_dialects::ir::Module;
use ipu_dialects::tile::TileProgram;
use ipu_passes::manager::state::main_program;

use super::expected::{Expected, ExpectedPhase, Interval, address};
use super::package::image_difference;
use super::places::Places;
use super::report::{ElementAt, Finding, OpAt};
use crate::execute::{argument_images, binding_images};
use crate::simulated::run_observed;

/// A placed program and the package that should do the same.
pub(super) struct Lowered<'a> {
    pub(super) placed_module: &'a Module,
    pub(super) placed: &'a Program,
    pub(super) case: &'a Case,
    pub(super) tile_module: &'a Module,
    pub(super) places: &'a Places,
}

impl Lowered<'_> {
    /// Fills `finding` with the first thing that `package` does differently; says whether there is one. A package that a pass
    /// made is also held against the tile program.
    pub(super) fn compare(&self, package: &Package, made_by_pass: bool, finding: &mut Finding) -> bool {
        let Ok(images) = binding_images(self.case, self.placed) else { return false };
        let Ok(expected) = Expected::of(self.placed, &images) else { return false };
        let Ok(arguments) = argument_images(self.case) else { return false };
        let given = |_, binding: &Binding| arguments.get(binding.name.as_str()).cloned().unwrap_or_default();
        let Ok((_, simulator)) = run_observed(package, &given) else { return false };
        let program = main_program(self.tile_module);
        let tile = program.and_then(|op| TileProgram::read(self.tile_module, op).ok());
        let moving: Vec<&ExpectedPhase> =
            expected.phases.iter().filter(|phase| !phase.words.is_empty()).collect();
        let mut words: Vec<Words<'_>> = vec![Words::default(); moving.len()];
        for write in simulator.writes() {
            if let Some(of_phase) = words.get_mut(write.phase as usize) {
                of_phase.insert((write.write.tile, write.write.address), write);
            }
        }
        let observed = Observed { lowered: self, simulator: &simulator, tile, words };
        let found = observed.find(&moving, &expected.after, finding);
        if let Some(tile) = observed.tile.as_ref().filter(|_| made_by_pass)
            && let Some((emitted, note)) = image_difference(tile, package)
        {
            finding.emitted = Some(emitted);
            finding.notes.push(note);
        }
        found
    }
}

/// Words by receiver and address.
pub(super) type Words<'a> = HashMap<(PhysicalTile, Address), &'a PhaseWrite>;

/// The run of a package.
pub(super) struct Observed<'a> {
    pub(super) lowered: &'a Lowered<'a>,
    pub(super) simulator: &'a Simulator,
    pub(super) tile: Option<TileProgram>,
    /// By phase in which words move.
    pub(super) words: Vec<Words<'a>>,
}

impl Observed<'_> {
    fn find(&self, phases: &[&ExpectedPhase], after: &Interval, finding: &mut Finding) -> bool {
        let snapshots = self.simulator.snapshots();
        let moved = self.simulator.statistics().phases.len();
        for (number, phase) in phases.iter().enumerate() {
            let Some(snapshot) = snapshots.get(number) else {
                return self.fault(phases, number, finding);
            };
            if self.interval(&phase.before, snapshot, finding) {
                return true;
            }
            if number >= moved && self.simulator.fault().is_some() {
                return self.phase(phase, number, finding) || self.fault(phases, number, finding);
            }
            if self.phase(phase, number, finding) {
                return true;
            }
        }
        let last = snapshots.get(phases.len()).or(snapshots.last());
        if last.is_some_and(|snapshot| self.interval(after, snapshot, finding)) {
            return true;
        }
        if self.simulator.fault().is_some() {
            return self.fault(phases, phases.len(), finding);
        }
        self.outputs(finding)
    }

    /// The first byte that computing or loading left otherwise.
    fn interval(&self, interval: &Interval, snapshot: &Snapshot, finding: &mut Finding) -> bool {
        interval.writes.iter().any(|(step, write)| {
            let tile = write.to.tile;
            let (Some(start), Some(wanted), Some(found)) = (
                address(self.lowered.placed, write),
                interval.memory.get(&tile),
                snapshot.memory(tile.physical()),
            ) else {
                return false;
            };
            let byte = |offset: u32| {
                let (mut expected, mut actual) = ([0], [0]);
                let at = Address(start.0 + offset);
                wanted.read(at, &mut expected).ok()?;
                let same = found.read(at, &mut actual).is_ok() && expected == actual;
                (!same).then_some(offset)
            };
            let Some(offset) = (0..write.bytes).find_map(byte) else { return false };
            self.wrong_bytes(*step, write, offset, (wanted, found), finding);
            true
        })
    }

    fn wrong_bytes(
        &self,
        step: usize,
        write: &Write,
        offset: u32,
        (wanted, found): (&TileMemory, &TileMemory),
        finding: &mut Finding,
    ) {
        let Lowered { placed_module, placed, places, .. } = self.lowered;
        let tile = write.to.tile;
        let name = placed.buffer(write.to.buffer).name.as_str();
        finding.op = Some(OpAt::of(placed_module, write.op));
        let element = places.element(name, tile, write.to.offset + offset);
        let at = element.as_ref().map_or(write.to.offset + offset, |element| element.offset);
        finding.place = Some(places.place(name, tile, at));
        let start = places.address(name, tile, at);
        if let (Some(element), Some(start)) = (element, start) {
            let number = |memory: &TileMemory| {
                let mut bytes = vec![0; element.bytes as usize];
                memory.read(start, &mut bytes).ok()?;
                places.number(name, &bytes)
            };
            if let Some(expected) = number(wanted) {
                let tensor = format!("`{name}`");
                let actual = number(found);
                finding.element =
                    Some(ElementAt { tensor, index: element.index, expected, actual, wrong: None });
            }
        }
        finding.summary = match placed.steps.get(step) {
            Some(Step::LoadHost(_)) => {
                format!("the host's bytes for `{name}` are not where the program reads them")
            }
            _ => format!("`{}` leaves other bytes in `{name}`", placed_module.name(write.op)),
        };
        self.call(step, write, finding);
    }

    /// Results that leave otherwise although every tile holds the right bytes.
    fn outputs(&self, finding: &mut Finding) -> bool {
        let placed = self.lowered.placed;
        let Some(store) = placed.stores().next_back() else { return false };
        let name = placed.bindings.get(store.binding).map(|binding| format!("@{}", binding.name));
        finding.op = Some(OpAt::of(self.lowered.placed_module, store.op));
        finding.emitted = Some(OpAt::named("tile.binding", name));
        finding.summary = "every tile holds the right bytes, other bytes reach the host".to_owned();
        true
    }
}
