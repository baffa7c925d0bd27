//! Packages: the first byte of any tile's memory, or word of any phase, that is not what the placed program says.

use ipu_device::exchange::check_row;
use ipu_device::isa::{Context, decode_all};
use ipu_device::package::{Binding, Package, Segment};
use ipu_device::simulator::{Fault, Moment, PhaseWrite, Simulator, Snapshot, tile_name};
use ipu_device::{Address, Event, LogicalTile, PhysicalTile};
use ipu_dialects::case::Case;
use ipu_dialects::exchange::meaning::{Place, Write};
use ipu_dialects::exchange::placed::device_transfers;
use ipu_dialects::exchange::program::{HostMove, HostPart, Phase, Program, Step};
use ipu_dialects::ir::Module;
use ipu_dialects::tile::{Body, Section, StepKind, TileProgram};
use ipu_passes::manager::state::main_program;
use rustc_hash::FxHashMap;

use super::exchange::transfer_at;
use super::expected::{Expected, ExpectedPhase, Interval, Word, address};
use super::places::Places;
use super::report::{Arrived, Detected, ElementAt, Finding, OpAt};
use crate::execute::{argument_images, binding_images};
use crate::simulated::run_observed;

/// A placed program and the package that should do the same.
pub(super) struct Lowered<'a> {
    pub(super) placed_module: &'a Module,
    pub(super) placed: &'a Program,
    pub(super) case: &'a Case,
    pub(super) tile_module: &'a Module,
    pub(super) package: &'a Package,
    /// Whether a pass made the package, not bisection.
    pub(super) made_by_pass: bool,
    pub(super) places: &'a Places,
}

impl Lowered<'_> {
    /// Fills `finding` with the first thing that the package does differently; says whether there is one.
    pub(super) fn compare(&self, finding: &mut Finding) -> bool {
        let Ok(images) = binding_images(self.case, self.placed) else { return false };
        let Ok(expected) = Expected::of(self.placed, &images) else { return false };
        let Ok(arguments) = argument_images(self.case) else { return false };
        let given = |_, binding: &Binding| arguments.get(binding.name.as_str()).cloned().unwrap_or_default();
        let Ok((_, simulator)) = run_observed(self.package, &given) else { return false };
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
        if let Some(tile) = observed.tile.as_ref().filter(|_| self.made_by_pass)
            && let Some((emitted, note)) = image_difference(tile, self.package)
        {
            finding.emitted = Some(emitted);
            finding.notes.push(note);
        }
        found
    }

    /// Fills `finding` with the first row whose words do something else than the schedule; says whether there is one.
    pub(super) fn check_rows(&self, finding: &mut Finding) -> bool {
        let program = main_program(self.tile_module);
        let Some(tile) = program.and_then(|op| TileProgram::read(self.tile_module, op).ok()) else {
            return false;
        };
        let rows = RowWords::of(&tile);
        self.placed.phases().any(|phase| {
            let Some(transfers) = device_transfers(self.placed, phase) else { return false };
            rows.of_phase(&phase.name).any(|(tile, section)| {
                let Ok(bytes) = section.stored_bytes() else { return false };
                let words: Vec<u32> =
                    bytes.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
                let base = phase.incoming_base(tile);
                let Err(mismatch) = check_row(tile.physical(), &words, &transfers, base) else {
                    return false;
                };
                finding.op = Some(OpAt::of(self.placed_module, phase.op));
                let symbol = format!("@{} at {}", section.symbol, section.address);
                finding.emitted = Some(OpAt::named("tile.row", Some(symbol)));
                finding.place = Some(super::report::PlaceAt::on(tile, None, Some(section.address)));
                let word = word_at(&words, mismatch.event).map(|word| format!("; {word}"));
                finding.summary = format!("{mismatch}{}", word.unwrap_or_default());
                true
            })
        })
    }
}

/// The rows of all tiles that have sections of their own.
struct RowWords<'t>(Vec<(LogicalTile, &'t Section)>);

impl<'t> RowWords<'t> {
    fn of(program: &'t TileProgram) -> Self {
        let of_image = |image: &'t ipu_dialects::tile::Image| {
            let rows = image.sections.iter().filter(|section| matches!(section.body, Body::Row(_)));
            rows.flat_map(move |row| image.tiles.iter().map(move |&tile| (tile, row)))
        };
        Self(program.images.iter().flat_map(of_image).collect())
    }

    /// Those of the phase `name`.
    fn of_phase(&self, name: &str) -> impl Iterator<Item = (LogicalTile, &'t Section)> {
        let names = [name.to_owned(), format!("{name}.row")];
        self.0.iter().copied().filter(move |(_, row)| names.iter().any(|name| **name == *row.symbol))
    }
}

/// The word of a row that is under way at `event`.
fn word_at(words: &[u32], event: Event) -> Option<String> {
    let mut end = 0;
    decode_all(Context::Supervisor, words).ok()?.into_iter().find_map(|(index, instruction)| {
        end += i64::from(instruction.events()?);
        (end >= event.0).then(|| format!("word {index} of the row is then under way: `{instruction}`"))
    })
}

/// The first section of the tile program that the package holds otherwise.
fn image_difference(program: &TileProgram, package: &Package) -> Option<(OpAt, String)> {
    let memory = |tile: LogicalTile| {
        let image = package.tiles.iter().find(|image| image.tile == tile.physical())?;
        Some(&image.segments)
    };
    program.images.iter().find_map(|image| {
        let tile = *image.tiles.iter().find(|&&tile| {
            memory(tile)
                .is_some_and(|segments| image.sections.iter().any(|section| !holds(segments, section)))
        })?;
        let segments = memory(tile)?;
        let other = program.images.iter().find(|other| {
            !std::ptr::eq(*other, image) && other.sections.iter().all(|section| holds(segments, section))
        });
        if let Some(other) = other {
            let owner = other.tiles.first()?;
            let op = OpAt::named("tile.image", Some(format!("on {tile}")));
            return Some((op, format!("tile {tile} has the image of tile {owner} in the package")));
        }
        let section = image.sections.iter().find(|section| !holds(segments, section))?;
        let name = match section.body {
            Body::Row(_) => "tile.row",
            Body::Code(_) => "tile.code",
            Body::Data(_) => "tile.data",
        };
        let symbol = format!("@{} at {}", section.symbol, section.address);
        let note =
            format!("the package has other words for `@{}` of tile {tile} than the program", section.symbol);
        Some((OpAt::named(name, Some(symbol)), note))
    })
}

/// Whether the segments hold the stored bytes of the section.
fn holds(segments: &[Segment], section: &Section) -> bool {
    let Ok(bytes) = section.stored_bytes() else { return true };
    let byte = |address: u32| {
        let segment = segments
            .iter()
            .find(|segment| (segment.address.0..segment.address.0 + segment.size.0).contains(&address))?;
        Some(segment.data.get((address - segment.address.0) as usize).copied().unwrap_or(0))
    };
    (section.address.0..).zip(&bytes).all(|(address, &wanted)| byte(address) == Some(wanted))
}

/// Words by receiver and address.
type Words<'a> = FxHashMap<(PhysicalTile, Address), &'a PhaseWrite>;

/// The run of a package.
struct Observed<'a> {
    lowered: &'a Lowered<'a>,
    simulator: &'a Simulator,
    tile: Option<TileProgram>,
    /// By phase in which words move.
    words: Vec<Words<'a>>,
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

    /// The first word that a phase brings otherwise.
    fn phase(&self, phase: &ExpectedPhase, number: usize, finding: &mut Finding) -> bool {
        let Some(Step::Phase(text)) = self.lowered.placed.steps.get(phase.step) else { return false };
        let words = self.words.get(number);
        let found = |word: &Word| {
            words.and_then(|words| words.get(&(word.write.to.tile.physical(), word.address))).copied()
        };
        let wrong = |word: &&Word| found(word).is_none_or(|write| write.write.value != word.value);
        match phase.words.iter().find(wrong) {
            Some(word) => self.wrong_word(text, phase.step, word, found(word), finding),
            None => return self.stray_word(text, phase, words, finding),
        }
        true
    }

    fn wrong_word(
        &self,
        phase: &Phase,
        step: usize,
        word: &Word,
        found: Option<&PhaseWrite>,
        finding: &mut Finding,
    ) {
        let Lowered { placed_module, placed, places, .. } = self.lowered;
        let Word { write, inside, value, .. } = word;
        let tile = write.to.tile;
        let place = Place { offset: write.to.offset + inside, ..write.to };
        let name = placed.buffer(place.buffer).name.as_str();
        finding.op = Some(OpAt::of(placed_module, write.op));
        finding.place = Some(places.place(name, tile, place.offset));
        finding.transfer = transfer_at(placed, step, write, place, places);
        if let Some(transfer) = &mut finding.transfer {
            transfer.arrived = found.map(|write| Arrived::of(&write.write));
        }
        finding.summary = match found {
            Some(other) => {
                format!("a word of `{name}` arrives as 0x{:08x}, expected 0x{value:08x}", other.write.value)
            }
            None => format!("a word of `{name}`, 0x{value:08x}, does not arrive"),
        };
        self.word_element(name, place, *value, found, finding);
        self.rows(phase, write, finding);
    }

    fn word_element(
        &self,
        buffer: &str,
        place: Place,
        value: u32,
        found: Option<&PhaseWrite>,
        finding: &mut Finding,
    ) {
        let places = self.lowered.places;
        let actual = found.map(|write| write.write.value.to_le_bytes());
        let wanted = value.to_le_bytes();
        let first = (0..4).find(|&at| actual.is_none_or(|actual| actual[at] != wanted[at])).unwrap_or(0);
        let Some(element) = places.element(buffer, place.tile, place.offset + first as u32) else { return };
        let Some(at) = element.offset.checked_sub(place.offset).map(|at| at as usize) else { return };
        let range = at..at + element.bytes as usize;
        let number = |word: &[u8; 4]| word.get(range.clone()).and_then(|bytes| places.number(buffer, bytes));
        let Some(expected) = number(&wanted) else { return };
        finding.element = Some(ElementAt {
            tensor: format!("`{buffer}`"),
            index: element.index,
            expected,
            actual: actual.as_ref().and_then(number),
            wrong: None,
        });
    }

    /// A word that lands where none belongs.
    fn stray_word(
        &self,
        phase: &Phase,
        expected: &ExpectedPhase,
        words: Option<&Words<'_>>,
        finding: &mut Finding,
    ) -> bool {
        let wanted: FxHashMap<(PhysicalTile, Address), ()> =
            expected.words.iter().map(|word| ((word.write.to.tile.physical(), word.address), ())).collect();
        let strays = words.into_iter().flatten().filter(|(place, _)| !wanted.contains_key(place));
        let Some((_, stray)) = strays.min_by_key(|(_, write)| (write.write.event, write.write.tile)) else {
            return false;
        };
        let write = &stray.write;
        let receiver = write.tile.logical();
        finding.op = Some(OpAt::of(self.lowered.placed_module, phase.op));
        finding.place = Some(super::report::PlaceAt::on(receiver, None, Some(write.address)));
        finding.summary = format!(
            "a word from {} lands on {} at {}, where no transfer of `@{}` writes",
            tile_name(write.sender),
            tile_name(write.tile),
            write.address,
            phase.name
        );
        self.row_of(phase, receiver, finding);
        true
    }

    /// Names the row that does not do what the schedule says.
    fn rows(&self, phase: &Phase, write: &Write, finding: &mut Finding) {
        let source = write.from.map(|from| from.tile);
        let tiles = [Some(write.to.tile), source, source.map(|tile| tile.physical().partner().logical())];
        for tile in tiles.into_iter().flatten() {
            if self.row_of(phase, tile, finding) {
                return;
            }
        }
    }

    /// Compares the words of the row on `tile` with the schedule.
    fn row_of(&self, phase: &Phase, tile: LogicalTile, finding: &mut Finding) -> bool {
        let Some((symbol, start, size)) = self.row(phase, tile) else { return false };
        let Some(transfers) = device_transfers(self.lowered.placed, phase) else { return false };
        let physical = tile.physical();
        let word = |at: u32| {
            let mut word = [0; 4];
            self.simulator.read(physical, Address(start.0 + at), &mut word).ok()?;
            Some(u32::from_le_bytes(word))
        };
        let Some(words) = (0..size).step_by(4).map(word).collect::<Option<Vec<u32>>>() else { return false };
        let base = phase.incoming_base(tile);
        match check_row(physical, &words, &transfers, base) {
            Ok(()) => false,
            Err(mismatch) => {
                finding.emitted = Some(OpAt::named("tile.row", Some(format!("@{symbol} at {start}"))));
                let word = word_at(&words, mismatch.event).map(|word| format!("; {word}"));
                finding.notes.push(format!("{mismatch}{}", word.unwrap_or_default()));
                true
            }
        }
    }

    /// Symbol, address and bytes of the row of `phase` on `tile`.
    fn row(&self, phase: &Phase, tile: LogicalTile) -> Option<(String, Address, u32)> {
        let rows = RowWords::of(self.tile.as_ref()?);
        let (_, row) = rows.of_phase(&phase.name).find(|(on, _)| *on == tile)?;
        Some((row.symbol.to_string(), row.address, row.size().0))
    }

    fn wrong_bytes(
        &self,
        step: usize,
        write: &Write,
        offset: u32,
        (wanted, found): (&ipu_device::simulator::TileMemory, &ipu_device::simulator::TileMemory),
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
            let number = |memory: &ipu_device::simulator::TileMemory| {
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

    /// Names the call or binding in the tile program.
    fn call(&self, step: usize, write: &Write, finding: &mut Finding) {
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
                let address = |slice: &ipu_dialects::exchange::Slice| {
                    Some(placed.buffer(slice.buffer).address(run.tile)?.0 + slice.offset)
                };
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
    fn fault(&self, phases: &[&ExpectedPhase], number: usize, finding: &mut Finding) -> bool {
        let Some(fault) = self.simulator.fault() else { return false };
        let Lowered { placed_module, placed, .. } = self.lowered;
        finding.detected = Detected::Fault;
        finding.summary = fault.to_string();
        let tile = fault.tile().map(PhysicalTile::logical);
        if let Some(tile) = tile {
            finding.place = Some(super::report::PlaceAt::on(tile, None, fault.address));
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

    /// Results that leave otherwise although every tile holds the right bytes.
    fn outputs(&self, finding: &mut Finding) -> bool {
        let placed = self.lowered.placed;
        let stores = placed.steps.iter().filter_map(|step| match step {
            Step::StoreHost(moves) => Some(moves),
            _ => None,
        });
        let Some(store) = stores.last() else { return false };
        let name = placed.bindings.get(store.binding).map(|binding| format!("@{}", binding.name));
        finding.op = Some(OpAt::of(self.lowered.placed_module, store.op));
        finding.emitted = Some(OpAt::named("tile.binding", name));
        finding.summary = "every tile holds the right bytes, other bytes reach the host".to_owned();
        true
    }
}

/// The run on `tile` among `steps` that a fault speaks of, else the first there.
fn run_on(
    module: &Module,
    placed: &Program,
    steps: std::ops::Range<usize>,
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
