//! Wrong packages.

use std::sync::Arc;

use ipu_device::Bytes;
use ipu_device::package::{Package, Segment};

use super::{Mutation, Plant, on_split_seed};

const fn wrong(
    name: &'static str,
    op: &'static str,
    summary: &'static str,
    plant: fn(&mut Package) -> Option<()>,
) -> Mutation {
    on_split_seed(name, "build-package", op, summary, Plant::Package(plant))
}

pub(super) static MUTATIONS: &[Mutation] = &[
    wrong("flipped-bit", "tile.row", "a bit of a row turned over", flipped_bit),
    wrong("shifted-segment", "tile.row", "a segment a word further on", shifted_segment),
    wrong("cut-segment", "tile.code", "code without its last words", cut_segment),
    wrong("swapped-slices", "tile.binding", "two parts of an output exchanged", swapped_slices),
    wrong("swapped-images", "tile.image", "images of two tiles exchanged", swapped_images),
];

/// Segments of the tile that comes first, changed.
fn change(package: &mut Package, at: usize, change: impl FnOnce(&mut Segment)) -> Option<()> {
    let image = package.tiles.first_mut()?;
    let mut segments = image.segments.to_vec();
    change(segments.get_mut(at)?);
    image.segments = Arc::from(segments);
    Some(())
}

/// The first row of the first tile: what stands behind its kernels.
fn row(package: &Package) -> Option<usize> {
    let symbols = &package.debug_symbols;
    let end = symbols.iter().map(|symbol| symbol.address).max()?;
    package.tiles.first()?.segments.iter().position(|segment| segment.address > end)
}

fn flipped_bit(package: &mut Package) -> Option<()> {
    let row = row(package)?;
    change(package, row, |segment| {
        let mut bytes = segment.data.to_vec();
        if let Some(byte) = bytes.get_mut(8) {
            *byte ^= 1;
        }
        segment.data = Arc::from(bytes);
    })
}

fn shifted_segment(package: &mut Package) -> Option<()> {
    let row = row(package)?;
    change(package, row, |segment| {
        let mut bytes = vec![0; 4];
        bytes.extend_from_slice(&segment.data[..segment.data.len() - 4]);
        segment.data = Arc::from(bytes);
    })
}

fn cut_segment(package: &mut Package) -> Option<()> {
    let last = package
        .tiles
        .first()?
        .segments
        .iter()
        .rposition(|segment| segment.flags == ipu_device::package::SegmentFlags::CODE)?;
    change(package, last, |segment| {
        let kept = segment.data.len() - 16;
        segment.data = Arc::from(&segment.data[..kept]);
        segment.size = Bytes(kept as u32);
    })
}

fn swapped_slices(package: &mut Package) -> Option<()> {
    let call = package.host_exchange.calls.iter_mut().find(|call| call.outputs.len() > 1)?;
    let [first, second, ..] = call.outputs.as_mut_slice() else { return None };
    std::mem::swap(&mut first.file_offset, &mut second.file_offset);
    Some(())
}

fn swapped_images(package: &mut Package) -> Option<()> {
    let [first, second, ..] = package.tiles.as_mut_slice() else { return None };
    std::mem::swap(&mut first.segments, &mut second.segments);
    Some(())
}
