//! Forward: the program run again with one element spoilt; what differs after each step is where the element went.

use ipu_device::LogicalTile;
use ipu_dialects::exchange::meaning::{Machine, Write, writes};
use ipu_dialects::exchange::program::{BindingKind, Step};
use ipu_dialects::mapped::ShardedTensor;
use serde::Serialize;

use super::Traced;
use crate::bisect::places::index_text;
use crate::bisect::report::{OpAt, PlaceAt};

/// What an element does in one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reach {
    /// Number of the step in the program.
    pub step: usize,
    /// The op.
    pub op: OpAt,
    /// The buffer.
    pub buffer: String,
    /// Elements of it that depend on the element; bytes where it is scratch.
    pub count: u64,
    /// What is counted.
    pub unit: &'static str,
    /// Tiles with such elements.
    pub tiles: usize,
    /// The first: index, or nothing for scratch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Vec<u32>>,
    /// Where it is.
    pub place: PlaceAt,
}

impl Traced<'_> {
    /// Where element `index` of the input or weight `name` goes, step by step; nothing if there is no such element.
    ///
    /// An element is spoilt by other bits and by NaN, so that it shows through zeros; where the data is NaN already it is not seen.
    #[must_use]
    pub fn forward(&self, name: &str, index: &[u32]) -> Option<Vec<Reach>> {
        let bindings = &self.program.bindings;
        let at = bindings
            .iter()
            .position(|binding| binding.name == name && binding.kind != BindingKind::Output)?;
        let tensor = ShardedTensor::of_type(&bindings.get(at)?.ty).ok()?;
        let (shard, element) = tensor.placement.locate(index)?;
        let width = tensor.placement.element_bytes() as usize;
        let start = tensor.placement.image_ranges().get(shard as usize)?.start + element as usize * width;
        let spoilt = |spoil: &dyn Fn(u8) -> u8| {
            let mut images = self.images.to_vec();
            images
                .get_mut(at)?
                .get_mut(start..start + width)?
                .iter_mut()
                .for_each(|byte| *byte = spoil(*byte));
            Machine::new(self.program, &images).ok()
        };
        let mut right = Machine::new(self.program, self.images).ok()?;
        // NaN of 16 and 32 bits is all ones, NaN of FP8 the sign alone.
        let mut wrong = [spoilt(&|byte| byte ^ 0x3f)?, spoilt(&|_| 0xff)?, spoilt(&|_| 0x80)?];
        let mut reached = Vec::new();
        for (number, step) in self.program.steps.iter().enumerate() {
            right.step(number).ok()?;
            for machine in &mut wrong {
                machine.step(number).ok()?;
            }
            reached.extend(self.reach(number, step, &right, &wrong));
        }
        Some(reached)
    }

    fn reach(&self, number: usize, step: &Step, right: &Machine<'_>, spoilt: &[Machine<'_>]) -> Vec<Reach> {
        let mut all: Vec<Reach> = Vec::new();
        let mut last: Option<LogicalTile> = None;
        for write in writes(step) {
            let differing = differing_bytes(&write, right, spoilt);
            let Some(&first) = differing.first() else { continue };
            let name = self.program.buffer(write.to.buffer).name.clone();
            let tile = write.to.tile;
            let element = self.places.element(&name, tile, first);
            let width = element.as_ref().map_or(1, |element| element.bytes.max(1));
            let mut elements: Vec<u32> = differing.iter().map(|offset| offset / width).collect();
            elements.dedup();
            match all.iter_mut().find(|reach| reach.buffer == name) {
                Some(reach) => {
                    reach.count += elements.len() as u64;
                    reach.tiles += usize::from(last != Some(tile));
                }
                None => all.push(Reach {
                    step: number,
                    op: OpAt::of(self.module, write.op),
                    place: self.places.place(
                        &name,
                        tile,
                        element.as_ref().map_or(first, |element| element.offset),
                    ),
                    buffer: name,
                    count: elements.len() as u64,
                    unit: if element.is_some() { "elements" } else { "bytes" },
                    tiles: 1,
                    first: element.map(|element| element.index),
                }),
            }
            last = Some(tile);
        }
        all
    }
}

/// Offsets in the buffer.
fn differing_bytes(write: &Write, right: &Machine<'_>, spoilt: &[Machine<'_>]) -> Vec<u32> {
    let to = write.to;
    let bytes = |machine: &Machine<'_>| -> Option<Vec<u8>> {
        let range = to.offset as usize..(to.offset + write.bytes) as usize;
        Some(machine.bytes(to.buffer, to.tile)?.get(range)?.to_vec())
    };
    let Some(right) = bytes(right) else { return Vec::new() };
    let spoilt: Vec<Vec<u8>> = spoilt.iter().filter_map(bytes).collect();
    let differs = |at: &usize| spoilt.iter().any(|bytes| bytes.get(*at) != right.get(*at));
    (0..right.len()).filter(differs).map(|at| to.offset + at as u32).collect()
}

/// The steps as lines.
#[must_use]
pub fn text(reached: &[Reach]) -> String {
    let line = |reach: &Reach| {
        let Reach { step, op, buffer, count, unit, tiles, first, place } = reach;
        let first = first.as_ref().map(|index| index_text(index) + " ");
        let address =
            place.address.as_ref().map(|address| format!(", address {address}")).unwrap_or_default();
        format!(
            "step {step:3} {:22} {count:6} {unit} of `{buffer}` on {tiles} tiles, first {}on tile {}{address}\n",
            op.name,
            first.unwrap_or_default(),
            place.tile
        )
    };
    reached.iter().map(line).collect()
}
