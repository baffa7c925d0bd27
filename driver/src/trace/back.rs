//! Backward: which step wrote a byte last, and what that step read.

use std::ops::Range;

use ipu_device::exchange::{ItemWidth, routes};
use ipu_device::{Event, LogicalTile};
use ipu_dialects::exchange::meaning::{Place, Write, writes};
use ipu_dialects::exchange::placed::device_transfers;
use ipu_dialects::exchange::program::{BufferId, HostMove, Phase, Run, Step};
use ipu_dialects::mapped::ShardedTensor;
use serde::Serialize;

use super::Traced;
use crate::bisect::places::index_text;
use crate::bisect::report::OpAt;
use crate::stages::bits;

/// Bytes that are followed.
#[derive(Debug, Clone, Copy)]
struct Value {
    place: Place,
    bytes: u32,
}

/// One step on the way.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Link {
    /// What holds the value: element or bytes, tile, address, number.
    pub value: String,
    /// What put it there.
    pub by: String,
    /// The op that did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<OpAt>,
    /// What it was made from; of many elements of one operand the first is followed.
    pub from: Vec<Link>,
}

impl Traced<'_> {
    /// Where element `index` of the result `name` comes from; nothing if there is no such element.
    #[must_use]
    pub fn back(&self, name: &str, index: &[u32]) -> Option<Link> {
        let stores = self.program.steps.iter().enumerate().rev();
        let (step, store) = stores.into_iter().find_map(|(at, step)| match step {
            Step::StoreHost(moves) if self.program.bindings.get(moves.binding)?.name == name => {
                Some((at, moves))
            }
            _ => None,
        })?;
        let binding = self.program.bindings.get(store.binding)?;
        let tensor = ShardedTensor::of_type(&binding.ty).ok()?;
        let (shard, element) = tensor.placement.locate(index)?;
        let width = tensor.placement.element_bytes();
        let range = tensor.placement.image_ranges().get(shard as usize)?.clone();
        let at = range.start as u32 + element * width;
        let place = place_of(store, at)?;
        let value = Value { place, bytes: width };
        Some(Link {
            value: format!("`{name}` {}", index_text(index)),
            by: format!("stored by the host from byte {at} of the image"),
            op: Some(OpAt::of(self.module, store.op)),
            from: self.source(value, (step, usize::MAX)).into_iter().collect(),
        })
    }

    /// What wrote `value` last before row `row` of step `step`.
    fn source(&self, value: Value, (step, row): (usize, usize)) -> Option<Link> {
        let covers = |write: &Write| {
            let range = write.to.offset..write.to.offset + write.bytes;
            (write.to.tile, write.to.buffer) == (value.place.tile, value.place.buffer)
                && range.contains(&value.place.offset)
        };
        let same_step = |at: usize| at == step && matches!(self.program.steps[at], Step::Compute(_));
        let (at, write) = (0..=step.min(self.program.steps.len() - 1)).rev().find_map(|at| {
            let inside = at < step || same_step(at);
            let all = if inside { writes(&self.program.steps[at]) } else { Vec::new() };
            let mut earlier = all.into_iter().filter(|write| at < step || write.row < row);
            earlier.rfind(covers).map(|write| (at, write))
        })?;
        let step_text = &self.program.steps[at];
        let (by, from) = match step_text {
            Step::LoadHost(moves) => (self.loaded(moves, &write, value), Vec::new()),
            Step::Phase(phase) => self.moved(phase, at, &write, value),
            Step::Compute(compute) => {
                compute.runs.get(write.row).map(|run| self.computed(run, at, write.row, value))?
            }
            _ => return None,
        };
        let op = Some(OpAt::of(self.module, write.op));
        Some(Link { value: self.text(value, at + 1), by, op, from })
    }

    fn name(&self, buffer: BufferId) -> &str {
        &self.program.buffer(buffer).name
    }

    /// Element, tile, address and number of bytes as they are before step `after`.
    fn text(&self, value: Value, after: usize) -> String {
        let Place { tile, buffer, offset } = value.place;
        let name = self.name(buffer);
        let element = self.places.element(name, tile, offset);
        let what = match &element {
            Some(element) => format!("`{name}` {}", index_text(&element.index)),
            None => format!("bytes {offset}..{} of `{name}`", offset + value.bytes),
        };
        let number = self.machine_before(after).and_then(|machine| {
            let bytes =
                machine.bytes(buffer, tile)?.get(offset as usize..(offset + value.bytes) as usize)?.to_vec();
            Some(
                self.places
                    .number(name, &bytes)
                    .map_or_else(|| format!(" = 0x{:x}", bits(&bytes)), |number| format!(" = {number}")),
            )
        });
        let address = self.places.address(name, tile, offset).map(|address| format!(", address {address}"));
        format!(
            "{what}{} on tile {tile} (physical {}){}",
            number.unwrap_or_default(),
            tile.physical(),
            address.unwrap_or_default()
        )
    }

    fn loaded(&self, moves: &HostMove, write: &Write, value: Value) -> String {
        let part = moves.parts.get(write.row);
        let image = part.map_or(0, |part| part.image_offset + (value.place.offset - part.slice.offset));
        let binding = self.program.bindings.get(moves.binding);
        let name = binding.map_or("", |binding| binding.name.as_str());
        let kind = if moves.once { "weight" } else { "input" };
        format!("loaded by the host: byte {image} of the image of the {kind} `{name}`")
    }

    fn moved(&self, phase: &Phase, at: usize, write: &Write, value: Value) -> (String, Vec<Link>) {
        let Some(from) = write.from else { return (String::new(), Vec::new()) };
        let inside = value.place.offset - write.to.offset;
        let events = self.events(phase, write, inside).map(|(sent, written)| {
            format!(", sent at {sent} (tile {}), written at {written} (tile {})", from.tile, write.to.tile)
        });
        let by = format!(
            "transfer {} of `@{}` from tile {} (physical {}){}",
            write.row,
            phase.name,
            from.tile,
            from.tile.physical(),
            events.unwrap_or_default()
        );
        let source = Value { place: Place { offset: from.offset + inside, ..from }, bytes: value.bytes };
        (by, self.source(source, (at, 0)).into_iter().collect())
    }

    /// When the word leaves, on the sender's clock, and when it is written, on the receiver's.
    fn events(&self, phase: &Phase, write: &Write, inside: u32) -> Option<(Event, Event)> {
        let transfers = device_transfers(self.program, phase)?;
        let transfer = transfers.get(write.row)?;
        let first = write.from?.offset - phase.transfers.source_offset.get(write.row)?;
        let item = i64::from((first + inside) / (4 * transfer.width.words()));
        let receiver = write.to.tile.physical();
        let arrival = match transfer.width {
            ItemWidth::Word32 => routes::arrival,
            ItemWidth::Paired64 => routes::paired_arrival,
        };
        let arrival = arrival(transfer.source, receiver, transfer.start, transfer.items());
        Some((Event(transfer.start.0 + 1 + item), Event(arrival.first_write.0 + item)))
    }

    fn computed(&self, run: &Run, at: usize, row: usize, value: Value) -> (String, Vec<Link>) {
        let Place { tile, offset, .. } = value.place;
        let dependencies = self.machine_before(at).map(|mut machine| {
            let Some(Step::Compute(compute)) = self.program.steps.get(at) else { return Vec::new() };
            for earlier in compute.runs.iter().take(row).filter(|earlier| earlier.tile == tile) {
                // A call that faults leaves its operands; the program as a whole has run.
                let _faulted = machine.call(earlier);
            }
            machine.dependencies(run, offset..offset + value.bytes, self.unit(run))
        });
        let mut from = Vec::new();
        let mut read = Vec::new();
        for dependence in dependencies.unwrap_or_default() {
            let Some(slice) = run.operands.get(dependence.operand) else { continue };
            read.push(self.ranges(slice.buffer, tile, &dependence.bytes));
            let Some(first) = dependence.bytes.first() else { continue };
            let bytes = self.width(slice.buffer, tile, first.start).unwrap_or(4).min(first.end - first.start);
            let place = Place { tile, buffer: slice.buffer, offset: first.start };
            from.extend(self.source(Value { place, bytes }, (at, row)));
        }
        let read =
            if read.is_empty() { "operands that do not change it".to_owned() } else { read.join(" and ") };
        (format!("`@{}` on tile {tile} from {read}", run.kernel.symbol()), from)
    }

    /// Bytes of the smallest element among the operands.
    fn unit(&self, run: &Run) -> u32 {
        let widths =
            run.operands.iter().map(|slice| self.width(slice.buffer, run.tile, slice.offset).unwrap_or(4));
        widths.min().unwrap_or(4)
    }

    fn width(&self, buffer: BufferId, tile: LogicalTile, offset: u32) -> Option<u32> {
        self.places.element(self.name(buffer), tile, offset).map(|element| element.bytes)
    }

    /// Which elements, or bytes, of a buffer.
    fn ranges(&self, buffer: BufferId, tile: LogicalTile, bytes: &[Range<u32>]) -> String {
        let name = self.name(buffer);
        let element = |offset: u32| self.places.element(name, tile, offset);
        let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return format!("`{name}`") };
        let count: u32 = bytes.iter().map(|range| range.end - range.start).sum();
        match (element(first.start), element(last.end - 1)) {
            (Some(start), Some(end)) if start == end => format!("`{name}` {}", index_text(&start.index)),
            (Some(start), Some(end)) => format!(
                "{} elements of `{name}` from {} to {}",
                count / start.bytes.max(1),
                index_text(&start.index),
                index_text(&end.index)
            ),
            _ => format!("{count} bytes of `{name}` from {} to {}", first.start, last.end),
        }
    }
}

/// Where byte `at` of the image lies.
fn place_of(moves: &HostMove, at: u32) -> Option<Place> {
    moves.parts.iter().find_map(|part| {
        let inside = at.checked_sub(part.image_offset).filter(|&inside| inside < part.slice.bytes)?;
        Some(Place { tile: part.tile, buffer: part.slice.buffer, offset: part.slice.offset + inside })
    })
}

impl Link {
    /// The chain as indented lines, the value first.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.lines(0, &mut text);
        text
    }

    fn lines(&self, depth: usize, text: &mut String) {
        // A chain is as long as a program has steps.
        let indent = "  ".repeat(depth);
        text.push_str(&format!("{indent}{}\n{indent}  {}\n", self.value, self.by));
        for link in &self.from {
            link.lines(depth + 1, text);
        }
    }
}
