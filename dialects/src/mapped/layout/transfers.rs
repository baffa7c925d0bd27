//! What a conversion from one layout to another moves: byte runs between tiles, and runs inside a tile.
//!
//! Rules:
//!
//! * a run is contiguous on both sides, and neighbouring runs are joined;
//! * all copies of a part that draw on one source tile are destinations of one run: a multicast;
//! * a tile that holds the source itself copies locally; else copy `c` draws on source copy `c mod copies`;
//! * the exchange moves whole words: a run between tiles that is not made of them is an error;
//! * padding moves with the elements where the source has it too; padding of a destination that promises a value
//!   and that no source covers is listed to be filled.

use std::ops::Range;

use ipu_device::{Bytes, LogicalTile};
use smallvec::SmallVec;

use super::error::{LayoutCode, LayoutError};
use super::placement::Placement;
use super::{Padding, Replicas};

/// Bytes of an exchange word.
const WORD: u32 = 4;

/// A contiguous run of bytes from one tile to one or more others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// Tile that sends.
    pub source: LogicalTile,
    /// First byte in the source shard's storage.
    pub source_offset: Bytes,
    /// Tiles that receive, in order of their copy number; never the source.
    pub destinations: SmallVec<[LogicalTile; 4]>,
    /// First byte in the storage of each destination's shard.
    pub destination_offset: Bytes,
    /// Length.
    pub bytes: Bytes,
}

/// A contiguous run of bytes inside one tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LocalRun {
    /// The tile.
    pub tile: LogicalTile,
    /// First byte in the source shard's storage.
    pub source_offset: Bytes,
    /// First byte in the destination shard's storage.
    pub destination_offset: Bytes,
    /// Length.
    pub bytes: Bytes,
}

/// All that a conversion moves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transfers {
    /// Runs between tiles, by destination part, then destination offset.
    pub remote: Vec<Run>,
    /// Runs inside a tile.
    pub local: Vec<LocalRun>,
    /// Destination bytes that no source covers although the destination's padding promises a value: tile, first
    /// byte, length.
    pub fill: Vec<(LogicalTile, Bytes, Bytes)>,
}

/// The moves that turn storage of `from` into storage of `to`.
///
/// # Errors
/// The tensors differ, `from` holds partial values, or a run between tiles is not made of whole words.
pub fn transfers(from: &Placement, to: &Placement) -> Result<Transfers, LayoutError> {
    if let Replicas::Partial(count) = from.layout().replicas {
        return Err(LayoutError::new(
            LayoutCode::Partial,
            format!("the source is the sum of {count} partials; `mapped.reduce` makes it whole"),
        ));
    }
    convert(from, to, None)
}

/// The moves that bring the pieces of partial number `partial` of `from` to where `to` wants the sum. A piece that
/// is already on its tile is listed as local.
///
/// # Errors
/// As [`transfers`], or `partial` does not exist.
pub fn partial_transfers(from: &Placement, partial: u32, to: &Placement) -> Result<Transfers, LayoutError> {
    match from.layout().replicas {
        Replicas::Partial(count) if partial < count => convert(from, to, Some(partial)),
        other => Err(LayoutError::new(
            LayoutCode::Partial,
            format!("partial {partial} asked for, the layout has {}", other.count()),
        )),
    }
}

/// A piece that is contiguous on both sides, in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    destination: u32,
    source_part: u32,
    source: u32,
    length: u32,
}

fn convert(from: &Placement, to: &Placement, partial: Option<u32>) -> Result<Transfers, LayoutError> {
    if !from.shape().eq(to.shape()) || from.element_bytes() != to.element_bytes() {
        return Err(LayoutError::new(
            LayoutCode::Rank,
            "the two tensors of a conversion differ in shape or element size",
        ));
    }
    let replicas = to.layout().replicas.count();
    let mut found = Transfers::default();
    for first in (0..to.shard_count()).step_by(replicas as usize) {
        let pieces = joined(pieces_of(from, to, first));
        emit(from, to, first, &pieces, partial, &mut found)?;
        if to.layout().pad != Padding::None {
            fill_gaps(to, first, &pieces, &mut found);
        }
    }
    found.local = joined_local(found.local);
    Ok(found)
}

/// Padded elements of a shard per axis, as positions on the padded axis.
fn padded_ranges(placement: &Placement, parts: &[u32]) -> SmallVec<[Range<u32>; 4]> {
    let range =
        |(axis, &part): (&super::AxisSplit, &u32)| axis.start(part)..axis.start(part) + axis.padded(part);
    placement.axes().iter().zip(parts).map(range).collect()
}

/// The pieces of every source part that overlaps destination shard `shard`, by destination position.
fn pieces_of(from: &Placement, to: &Placement, shard: u32) -> Vec<Piece> {
    let destination = padded_ranges(to, &to.shard(shard).parts);
    let mut over: SmallVec<[Range<u32>; 4]> = SmallVec::new();
    for (range, axis) in destination.iter().zip(from.axes()) {
        let end = range.end.min(axis.units() * axis.grain());
        let parts =
            if range.start < end { axis.locate(range.start).0..axis.locate(end - 1).0 + 1 } else { 0..0 };
        over.push(parts);
    }
    let mut pieces = Vec::new();
    for_each_index(&over, |parts| {
        let source = padded_ranges(from, parts);
        let overlap: SmallVec<[Range<u32>; 4]> =
            source.iter().zip(&destination).map(|(a, b)| a.start.max(b.start)..a.end.min(b.end)).collect();
        if overlap.iter().any(Range::is_empty) {
            return;
        }
        let source_shard = from.shard_number(parts, 0);
        let sides = Sides { from, to, source_shard, shard, source: &source, destination: &destination };
        sides.collect(&overlap, &mut pieces);
    });
    pieces
}

struct Sides<'a> {
    from: &'a Placement,
    to: &'a Placement,
    source_shard: u32,
    shard: u32,
    source: &'a [Range<u32>],
    destination: &'a [Range<u32>],
}

impl Sides<'_> {
    /// Walks the overlap along the axis on which the destination is contiguous.
    fn collect(&self, overlap: &[Range<u32>], pieces: &mut Vec<Piece>) {
        let (source_order, destination_order) =
            (self.from.order(self.source_shard), self.to.order(self.shard));
        let (source_strides, destination_strides) = (strides(self.source), strides(self.destination));
        let table = destination_order.table();
        let origin =
            position(self.destination, &destination_strides, overlap.iter().map(|range| range.start));
        let advances = |axis: usize| {
            let step = destination_strides.get(axis).copied().unwrap_or(1);
            overlap.get(axis).is_some_and(|range| range.len() > 1)
                && table.get(origin + step).zip(table.get(origin)).is_some_and(|(&b, &a)| b == a + 1)
        };
        let last = overlap.len().saturating_sub(1);
        let along = if !advances(last) && last > 0 && advances(last - 1) { last - 1 } else { last };
        let mut starts: SmallVec<[Range<u32>; 4]> = overlap.into();
        let Some(walk) = starts.get_mut(along) else { return };
        *walk = walk.start..walk.start + 1;
        let length = overlap.get(along).map_or(0, ExactSizeIterator::len);
        for_each_index(&starts, |at| {
            let source_at = position(self.source, &source_strides, at.iter().copied());
            let destination_at = position(self.destination, &destination_strides, at.iter().copied());
            let column = |order: &[u32], start: usize, strides: &[usize], step: usize| {
                order.get(start + step * strides.get(along).copied().unwrap_or(1)).copied().unwrap_or(0)
            };
            let mut run: Option<Piece> = None;
            for step in 0..length {
                let source = column(source_order.table(), source_at, &source_strides, step);
                let destination = column(table, destination_at, &destination_strides, step);
                match &mut run {
                    Some(run)
                        if run.source + run.length == source
                            && run.destination + run.length == destination =>
                    {
                        run.length += 1;
                    }
                    _ => {
                        let next = Piece { destination, source_part: self.source_shard, source, length: 1 };
                        pieces.extend(run.replace(next));
                    }
                }
            }
            pieces.extend(run);
        });
    }
}

fn strides(ranges: &[Range<u32>]) -> SmallVec<[usize; 4]> {
    let mut strides: SmallVec<[usize; 4]> = ranges.iter().map(|_| 1).collect();
    let mut next = 1;
    for (stride, range) in strides.iter_mut().zip(ranges).rev() {
        *stride = next;
        next *= range.len();
    }
    strides
}

fn position(ranges: &[Range<u32>], strides: &[usize], at: impl Iterator<Item = u32>) -> usize {
    at.zip(ranges).zip(strides).map(|((at, range), &stride)| (at - range.start) as usize * stride).sum()
}

/// Calls `visit` with every index of a box in row-major order.
fn for_each_index(ranges: &[Range<u32>], mut visit: impl FnMut(&[u32])) {
    if ranges.is_empty() || ranges.iter().any(Range::is_empty) {
        return;
    }
    let mut index: SmallVec<[u32; 4]> = ranges.iter().map(|range| range.start).collect();
    loop {
        visit(&index);
        let mut axis = index.len();
        loop {
            let Some(next) = axis.checked_sub(1) else { return };
            axis = next;
            index[axis] += 1;
            if index[axis] < ranges[axis].end {
                break;
            }
            index[axis] = ranges[axis].start;
        }
    }
}

fn joined(mut pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.sort_unstable();
    let mut kept: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match kept.last_mut() {
            Some(last)
                if last.source_part == piece.source_part
                    && last.destination + last.length == piece.destination
                    && last.source + last.length == piece.source =>
            {
                last.length += piece.length;
            }
            _ => kept.push(piece),
        }
    }
    kept
}

fn joined_local(mut runs: Vec<LocalRun>) -> Vec<LocalRun> {
    runs.sort_unstable_by_key(|run| (run.tile, run.destination_offset));
    let mut kept: Vec<LocalRun> = Vec::with_capacity(runs.len());
    for run in runs {
        match kept.last_mut() {
            Some(last)
                if last.tile == run.tile
                    && last.destination_offset + last.bytes == run.destination_offset
                    && last.source_offset + last.bytes == run.source_offset =>
            {
                last.bytes += run.bytes;
            }
            _ => kept.push(run),
        }
    }
    kept
}

/// Turns the pieces of one destination part into runs, grouped by the source tile of each copy.
fn emit(
    from: &Placement,
    to: &Placement,
    first: u32,
    pieces: &[Piece],
    partial: Option<u32>,
    found: &mut Transfers,
) -> Result<(), LayoutError> {
    let width = to.element_bytes();
    let copies = from.layout().replicas.count();
    let targets =
        to.tiles().get(first as usize..(first + to.layout().replicas.count()) as usize).unwrap_or_default();
    for piece in pieces {
        let (source_offset, destination_offset) =
            (Bytes(piece.source * width), Bytes(piece.destination * width));
        let bytes = Bytes(piece.length * width);
        let held = from.tiles().get(piece.source_part as usize..(piece.source_part + copies) as usize);
        let held = held.unwrap_or_default();
        let mut sources: SmallVec<[(LogicalTile, SmallVec<[LogicalTile; 4]>); 2]> = SmallVec::new();
        for (copy, &target) in (0u32..).zip(targets) {
            let own = held.contains(&target) && partial.is_none_or(|p| held.get(p as usize) == Some(&target));
            if own {
                found.local.push(LocalRun { tile: target, source_offset, destination_offset, bytes });
                continue;
            }
            let Some(&source) = held.get(partial.unwrap_or(copy % copies) as usize) else { continue };
            match sources.iter_mut().find(|(tile, _)| *tile == source) {
                Some((_, destinations)) => destinations.push(target),
                None => sources.push((source, SmallVec::from_elem(target, 1))),
            }
        }
        if !sources.is_empty() {
            check_words(source_offset, destination_offset, bytes, width)?;
        }
        for (source, destinations) in sources {
            found.remote.push(Run { source, source_offset, destinations, destination_offset, bytes });
        }
    }
    Ok(())
}

fn check_words(source: Bytes, destination: Bytes, bytes: Bytes, width: u32) -> Result<(), LayoutError> {
    if [source, destination, bytes].iter().all(|value| value.0.is_multiple_of(WORD)) {
        return Ok(());
    }
    Err(LayoutError::new(
        LayoutCode::SubWord,
        format!(
            "a run of {} from offset {} to offset {} is not made of whole {WORD}-byte words; give the split axis \
             a grain of {} elements or a multiple, or convert the element order on one tile first",
            bytes,
            source.0,
            destination.0,
            WORD / width.clamp(1, WORD)
        ),
    ))
}

/// Lists the parts of a destination shard that no piece covers.
fn fill_gaps(to: &Placement, first: u32, pieces: &[Piece], found: &mut Transfers) {
    let width = to.element_bytes();
    let size = to.shard_bytes(first).0 / width.max(1);
    let mut gaps: SmallVec<[(u32, u32); 4]> = SmallVec::new();
    let mut next = 0;
    for piece in pieces {
        if piece.destination > next {
            gaps.push((next, piece.destination - next));
        }
        next = next.max(piece.destination + piece.length);
    }
    if size > next {
        gaps.push((next, size - next));
    }
    let replicas = to.layout().replicas.count();
    for copy in 0..replicas {
        let Some(&tile) = to.tiles().get((first + copy) as usize) else { continue };
        found.fill.extend(gaps.iter().map(|&(at, length)| (tile, Bytes(at * width), Bytes(length * width))));
    }
}
