//! Programs of buffers: the first bytes that one program leaves and another does not.

use std::ops::Range;

use ipu_device::LogicalTile;
use ipu_device::hash::HashMap;
use ipu_dialects::case::Case;
use ipu_dialects::exchange::meaning::{Fault, Machine, Place, Timing, Write, writes};
use ipu_dialects::exchange::program::{BufferId, HostMove, HostPart, Program, Step};
use ipu_dialects::ir::{Module, OpId};
use ipu_dialects::mapped::calls::buffer_name;
use ipu_dialects::mapped::meaning::{OpStorage, Shard, Shards, storage_of_ops};
use ipu_dialects::mapped::{Relabel, ShardedTensor};

use super::places::Places;
use super::report::{ElementAt, Finding, OpAt, PlaceAt, TransferAt};
use crate::execute::binding_images;

/// A program that has run as far as it could.
pub(super) struct Executed<'p> {
    pub(super) program: &'p Program,
    pub(super) machine: Machine<'p>,
    /// The step that faulted, and how.
    pub(super) fault: Option<(usize, Fault)>,
    by_name: HashMap<&'p str, BufferId>,
    /// Writes into each buffer of each tile, with their steps, in order.
    by_place: HashMap<(BufferId, LogicalTile), Vec<(usize, Write)>>,
}

impl<'p> Executed<'p> {
    /// Runs `program` on the data of `case`.
    pub(super) fn new(program: &'p Program, timing: Timing, case: &Case) -> Option<Self> {
        let images = binding_images(case, program).ok()?;
        let mut machine = Machine::new(program, &images).ok()?;
        machine.timing = timing;
        // A program that faults is compared as far as it came.
        let mut reached = 0;
        let fault = machine.run(|_, step| reached = step + 1).err().map(|fault| (reached, fault));
        let by_name = program.buffer_ids().map(|id| (program.buffer(id).name.as_str(), id)).collect();
        let mut by_place: HashMap<_, Vec<(usize, Write)>> = HashMap::default();
        for (index, step) in program.steps.iter().enumerate() {
            for write in writes(step) {
                by_place.entry((write.to.buffer, write.to.tile)).or_default().push((index, write));
            }
        }
        Some(Self { program, machine, fault, by_name, by_place })
    }

    /// All writes in order of the program, each with its step.
    pub(super) fn writes(&self) -> impl Iterator<Item = (usize, Write)> {
        self.program
            .steps
            .iter()
            .enumerate()
            .flat_map(|(index, step)| writes(step).into_iter().map(move |write| (index, write)))
    }

    /// The last write that covers the byte.
    fn writer(&self, place: Place) -> Option<(usize, Write)> {
        let covers = |write: &Write| {
            (write.to.offset..write.to.offset.saturating_add(write.bytes)).contains(&place.offset)
        };
        let all = self.by_place.get(&(place.buffer, place.tile))?.iter().copied();
        // A kernel with gaps between its rows does not write all of its operand.
        let writes_it = |(step, write): &(usize, Write)| match self.program.steps.get(*step) {
            Some(Step::Compute(compute)) => compute.runs.get(write.row).is_some_and(|run| {
                self.machine.written_by(run).iter().any(|range| range.contains(&place.offset))
            }),
            _ => true,
        };
        all.rev().filter(|(_, write)| covers(write)).find(writes_it)
    }

    /// Whether the byte is missing only because the program faulted before the step that writes it.
    fn not_reached(&self, place: Place) -> bool {
        let Some((reached, _)) = &self.fault else { return false };
        self.writer(place).is_some_and(|(step, _)| step >= *reached)
    }

    /// The first byte of `wanted`, which starts at `offset` of the buffer, that is not there.
    fn first_other(&self, buffer: BufferId, tile: LogicalTile, offset: u32, wanted: &[u8]) -> Option<u32> {
        let end = offset + wanted.len() as u32;
        let mut next = offset;
        for (start, bytes) in self.machine.written(buffer, tile, offset..end) {
            if start > next {
                return Some(next);
            }
            let expected = wanted.get((start - offset) as usize..)?;
            if let Some(at) = bytes.iter().zip(expected).position(|(found, wanted)| found != wanted) {
                return Some(start + at as u32);
            }
            next = start + bytes.len() as u32;
        }
        (next < end).then_some(next)
    }
}

/// Bytes that are not what they must be.
struct Difference {
    /// Where, in the program that is wrong.
    place: Place,
    /// What must be written from `offset` of the buffer on.
    wanted: (u32, Vec<u8>),
    /// The op that must write them, as the program before has it.
    meant_for: Option<OpAt>,
}

/// Fills `finding` with what `after` stores differently from `before`; says whether there is such a thing.
pub(super) fn compare_programs(
    (before_module, before): (&Module, &Executed<'_>),
    (after_module, after): (&Module, &Executed<'_>),
    places: &Places,
    finding: &mut Finding,
) -> bool {
    let difference = before.writes().find_map(|(_, write)| {
        let Place { tile, buffer, offset } = write.to;
        let other = *after.by_name.get(before.program.buffer(buffer).name.as_str())?;
        let range = offset..offset.saturating_add(write.bytes);
        let mut runs = before.machine.written(buffer, tile, range);
        runs.find_map(|(start, bytes)| {
            let at = after.first_other(other, tile, start, bytes)?;
            let place = Place { tile, buffer: other, offset: at };
            if after.not_reached(place) {
                return None;
            }
            let meant_for = Some(OpAt::of(before_module, write.op));
            Some(Difference { place, wanted: (start, bytes.to_vec()), meant_for })
        })
    });
    match (difference, &after.fault) {
        (Some(difference), _) => {
            describe(after_module, after, places, &difference, finding);
            true
        }
        (None, Some((_, fault))) => {
            finding.op = Some(OpAt::of(after_module, fault.op));
            true
        }
        (None, None) => {
            compare_stores((before_module, before.program), (after_module, after.program), finding)
        }
    }
}

/// Where a result is taken from: tile, buffer, bytes, place in the image.
type StoredPart<'p> = (LogicalTile, &'p str, Range<u32>, u32);

/// A store of a result.
struct Store<'p> {
    result: &'p str,
    op: OpId,
    parts: Vec<StoredPart<'p>>,
}

fn stores<'p>(program: &'p Program) -> Vec<Store<'p>> {
    let of_move = |moves: &'p HostMove| {
        let part = |part: &HostPart| {
            let slice = part.slice;
            let range = slice.offset..slice.offset + slice.bytes;
            (part.tile, program.buffer(slice.buffer).name.as_str(), range, part.image_offset)
        };
        let result = program.bindings.get(moves.binding)?.name.as_str();
        Some(Store { result, op: moves.op, parts: moves.parts.iter().map(part).collect() })
    };
    program.stores().filter_map(of_move).collect()
}

/// Results that are taken from elsewhere.
fn compare_stores(
    (before_module, before): (&Module, &Program),
    (after_module, after): (&Module, &Program),
    finding: &mut Finding,
) -> bool {
    let new = stores(after);
    for old in stores(before) {
        match new.iter().find(|store| store.result == old.result) {
            Some(store) if store.parts == old.parts => continue,
            Some(store) => {
                finding.op = Some(OpAt::of(after_module, store.op));
                finding.summary = format!("the result `{}` is taken from elsewhere", old.result);
            }
            None => {
                finding.op = Some(OpAt::of(before_module, old.op));
                finding.summary = format!("the result `{}` is not stored any more", old.result);
            }
        }
        return true;
    }
    false
}

/// Fills `finding` with the first bytes that the expanded program `after` stores differently from the mapped program.
pub(super) fn compare_mapped(
    (mapped, case): (&Module, &Case),
    (after_module, after): (&Module, &Executed<'_>),
    places: &Places,
    finding: &mut Finding,
) -> bool {
    let Ok(ops) = storage_of_ops(mapped, case.entry, &case.inputs()) else { return false };
    let difference = argument_shards(case)
        .into_iter()
        .map(|(name, tile, shard)| (name, tile, shard, OpAt::of(mapped, case.entry)))
        .chain(ops.iter().flat_map(|op| op_shards(mapped, op)))
        .find_map(|(name, tile, shard, op)| {
            let buffer = *after.by_name.get(name.as_str())?;
            written_runs(&shard).find_map(|(start, bytes)| {
                let at = after.first_other(buffer, tile, start, bytes)?;
                let place = Place { tile, buffer, offset: at };
                if after.not_reached(place) {
                    return None;
                }
                Some(Difference { place, wanted: (start, bytes.to_vec()), meant_for: Some(op.clone()) })
            })
        });
    match (difference, &after.fault) {
        (Some(difference), _) => describe(after_module, after, places, &difference, finding),
        (None, Some((_, fault))) => finding.op = Some(OpAt::of(after_module, fault.op)),
        (None, None) => {
            // Every buffer is right: what is left is the way to the host.
            let Some(store) = after.program.stores().next_back() else { return false };
            finding.op = Some(OpAt::of(after_module, store.op));
            finding.summary = "every buffer holds the right bytes, other bytes reach the host".to_owned();
        }
    }
    true
}

type NamedShard = (String, LogicalTile, Shard, OpAt);

fn argument_shards(case: &Case) -> Vec<(String, LogicalTile, Shard)> {
    let mut all = Vec::new();
    for argument in &case.arguments {
        let Ok(tensor) = ShardedTensor::of_type(&argument.ty) else { continue };
        let tiles = tensor.placement.tiles().to_vec();
        let Ok(shards) = Shards::pack(tensor, &argument.data) else { continue };
        let shards = tiles.into_iter().zip(shards.shards);
        all.extend(shards.map(|(tile, shard)| (argument.name.clone(), tile, shard)));
    }
    all
}

/// What the op stores, scratch first: it is written first.
fn op_shards(mapped: &Module, stored: &OpStorage) -> Vec<NamedShard> {
    if mapped.is::<Relabel>(stored.op) {
        return Vec::new();
    }
    let value = mapped.result(stored.op, 0);
    let name = buffer_name(mapped, value);
    let op = OpAt::of(mapped, stored.op);
    let scratch = stored.scratch.iter().flat_map(|(scratch, shards)| {
        let name = format!("{name}.{scratch}");
        let op = op.clone();
        shards.iter().map(move |(&tile, shard)| (name.clone(), tile, shard.clone(), op.clone()))
    });
    let result = stored.result.tensor.placement.tiles().iter().zip(&stored.result.shards);
    let result = result.map(|(&tile, shard)| (name.clone(), tile, shard.clone(), op.clone()));
    scratch.chain(result).collect()
}

/// Runs of written bytes, with their offsets.
fn written_runs(shard: &Shard) -> impl Iterator<Item = (u32, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let is_written = |at: usize| shard.written.get(at).copied().unwrap_or(true);
        let start = (at..shard.bytes.len()).find(|&at| is_written(at))?;
        let end = (start..shard.bytes.len()).find(|&at| !is_written(at)).unwrap_or(shard.bytes.len());
        at = end;
        Some((start as u32, &shard.bytes[start..end]))
    })
}

fn describe(
    module: &Module,
    after: &Executed<'_>,
    places: &Places,
    difference: &Difference,
    finding: &mut Finding,
) {
    let Place { tile, buffer, offset } = difference.place;
    let name = after.program.buffer(buffer).name.as_str();
    let element = places.element(name, tile, offset);
    let (start, bytes) = element.as_ref().map_or((offset & !3, 4), |element| (element.offset, element.bytes));
    finding.place = Some(places.place(name, tile, start));
    let (from, wanted) = &difference.wanted;
    let expected = start.checked_sub(*from).and_then(|at| wanted.get(at as usize..(at + bytes) as usize));
    let missing = after.machine.first_unwritten(buffer, tile, start, bytes).is_some();
    let found =
        after.machine.bytes(buffer, tile).and_then(|all| all.get(start as usize..(start + bytes) as usize));
    if let (Some(element), Some(expected)) = (element, expected.and_then(|bytes| places.number(name, bytes)))
    {
        let actual = found.filter(|_| !missing).and_then(|bytes| places.number(name, bytes));
        finding.element = Some(ElementAt {
            tensor: format!("`{name}`"),
            index: element.index,
            expected,
            actual,
            wrong: None,
        });
    }
    match after.writer(difference.place) {
        Some((step, write)) => {
            finding.op = Some(OpAt::of(module, write.op));
            finding.transfer = transfer_at(after.program, step, &write, difference.place, places);
            finding.summary = format!("`{}` puts other bytes into `{name}`", module.name(write.op));
        }
        None => {
            finding.op.clone_from(&difference.meant_for);
            finding.summary = format!("nothing writes byte {offset} of `{name}` on tile {tile} any more");
        }
    }
    if let Some(meant_for) = difference.meant_for.as_ref().filter(|op| finding.op.as_ref() != Some(*op)) {
        let defines = meant_for.defines.as_ref().map(|name| format!(" `{name}`")).unwrap_or_default();
        finding
            .notes
            .push(format!("the bytes are those of `{}`{defines} of the program before", meant_for.name));
    }
}

/// The transfer that brings the byte at `place`.
pub(super) fn transfer_at(
    program: &Program,
    step: usize,
    write: &Write,
    place: Place,
    places: &Places,
) -> Option<TransferAt> {
    let Some(Step::Phase(phase)) = program.steps.get(step) else { return None };
    let from = write.from?;
    let inside = (place.offset & !3).saturating_sub(write.to.offset);
    let name = |id: BufferId| program.buffer(id).name.as_str();
    let at = |place: Place, offset: u32| -> PlaceAt { places.place(name(place.buffer), place.tile, offset) };
    Some(TransferAt {
        phase: phase.name.clone(),
        transfer: write.row,
        from: at(from, from.offset + inside),
        to: at(write.to, write.to.offset + inside),
        arrived: None,
    })
}
