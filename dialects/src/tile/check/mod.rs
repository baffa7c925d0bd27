//! What must hold of a program as plain data.

use std::ops::Range;

use ipu_device::LogicalTile;
use ipu_device::topology::TILE_COUNT;

use super::codes::TileCode;
use super::program::{Body, Image, Slice, TileProgram};
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::ipu::TileSet;
use crate::ir::{Module, OpId};
use crate::mapped::ImagePlaces;
use crate::source::Span;

mod memory;
mod steps;

/// Checks a program that was read from `module`, or that passes made for ops of it.
#[must_use]
pub fn check_program(module: &Module, program: &TileProgram) -> Diagnostics {
    let mut checker = Checker { module, program, diagnostics: Diagnostics::new() };
    checker.coverage();
    checker.state();
    checker.symbols();
    checker.bindings();
    checker.memory();
    checker.steps();
    checker.diagnostics
}

struct Checker<'a> {
    module: &'a Module,
    program: &'a TileProgram,
    diagnostics: Diagnostics,
}

/// `tile 2 (physical 64)`
fn tile_text(tile: LogicalTile) -> String {
    format!("tile {tile} (physical {})", tile.physical())
}

/// `tile 2 (physical 64)` or `tiles [4:1472]`
fn tiles_text(tiles: &[LogicalTile]) -> String {
    match tiles {
        [only] => tile_text(*only),
        _ => {
            let set = TileSet::from_tiles(tiles.iter().copied());
            let text = set.map(|set| crate::ir::Attribute::dialect(set).to_string());
            let text = text.as_deref().and_then(|text| text.strip_prefix("#ipu.tiles<")?.strip_suffix('>'));
            format!("tiles {}", text.unwrap_or("[...]"))
        }
    }
}

/// Why a slice is in none of the buffers of its tile.
fn outside_of_storage(slice: &Slice, stored: &[Vec<Range<u64>>]) -> Option<String> {
    let (start, end) = (u64::from(slice.address.0), u64::from(slice.address.0) + u64::from(slice.bytes.0));
    let here = stored.get(usize::from(slice.tile.0))?;
    if here.iter().any(|buffer| buffer.start <= start && end <= buffer.end) {
        return None;
    }
    Some(format!("bytes {start:#x} to {end:#x} are in no `tile.storage`, expected a buffer of the tile"))
}

impl Checker<'_> {
    fn span(&self, op: Option<OpId>) -> Span {
        let op = op.or(self.program.op).filter(|&op| self.module.is_live(op));
        op.map_or(Span::NONE, |op| self.module.span(op))
    }

    fn error(&self, code: TileCode, op: Option<OpId>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.span(op), message)
    }

    fn report(&mut self, code: TileCode, op: Option<OpId>, message: impl Into<String>) {
        let error = self.error(code, op, message);
        self.diagnostics.push(error);
    }

    /// Every tile has exactly one image.
    fn coverage(&mut self) {
        let program = self.program;
        let mut holder: Vec<Option<&Image>> = vec![None; usize::from(TILE_COUNT)];
        for image in &program.images {
            let mut twice = None;
            for &tile in &image.tiles {
                let Some(slot) = holder.get_mut(usize::from(tile.0)) else { continue };
                twice = twice.or(slot.map(|other| (tile, other)));
                *slot = Some(image);
            }
            if let Some((tile, other)) = twice {
                let message = format!("{} has two images", tile_text(tile));
                let error = self.error(TileCode::TileCoverage, image.source, message);
                self.diagnostics.push(error.label(self.span(other.source), "the other one"));
            }
        }
        let without: Vec<LogicalTile> = LogicalTile::all()
            .filter(|tile| holder.get(usize::from(tile.0)).is_some_and(Option::is_none))
            .collect();
        if !without.is_empty() {
            let have = if without.len() == 1 { "has" } else { "have" };
            let message = format!("{} {have} no image", tiles_text(&without));
            self.report(TileCode::TileCoverage, program.op, message);
        }
    }

    /// All images have steps, or none.
    fn state(&mut self) {
        let program = self.program;
        let with = program.images.iter().find(|image| image.steps.is_some());
        let without = program.images.iter().find(|image| image.steps.is_none());
        if let (Some(with), Some(without)) = (with, without) {
            let message = format!(
                "the image of {} has no `tile.steps`, that of {} has; expected all or none",
                tiles_text(&without.tiles),
                tiles_text(&with.tiles)
            );
            let error = self.error(TileCode::HalfState, without.source, message);
            self.diagnostics.push(error.label(self.span(with.source), "this has steps"));
        }
        for image in program.images.iter().filter(|image| image.steps.is_some()) {
            let code = image.sections.iter().find(|section| matches!(section.body, Body::Code(_)));
            if let Some(code) = code {
                let message = format!("`@{}` is code of an image that still has `tile.steps`", code.symbol);
                self.report(TileCode::HalfState, code.source, message);
            }
        }
    }

    /// A name stands for one thing: in the program, or in an image.
    fn symbols(&mut self) {
        let program = self.program;
        let mut shared: ipu_device::hash::HashMap<&str, Option<OpId>> = ipu_device::hash::HashMap::default();
        shared.extend(program.bindings.iter().map(|binding| (&*binding.name, binding.source)));
        shared.extend(program.kernels.iter().map(|kernel| (&*kernel.symbol, kernel.source)));
        shared.extend(program.common.iter().map(|section| (&*section.symbol, section.source)));
        for section in program.images.iter().flat_map(|image| &image.sections) {
            if let Some(&other) = shared.get(&*section.symbol) {
                let message =
                    format!("`@{}` stands for something of the program and of the image", section.symbol);
                let error = self.error(TileCode::AmbiguousSymbol, section.source, message);
                self.diagnostics.push(error.label(self.span(other), "in the program"));
            }
        }
    }

    /// The host exchange can serve every slice.
    fn bindings(&mut self) {
        let program = self.program;
        let stored = self.stored();
        for binding in &program.bindings {
            let slices = std::slice::from_ref(binding);
            let alone = TileProgram { bindings: slices.to_vec(), ..TileProgram::new("") };
            if let Err(error) = alone.host_plan() {
                self.report(TileCode::BadBinding, binding.source, error.message);
                continue;
            }
            let places = ImagePlaces::of_type(&binding.ty);
            let wrong = binding.slices.iter().find_map(|slice| {
                let bytes =
                    u64::from(slice.image_offset)..u64::from(slice.image_offset) + u64::from(slice.bytes.0);
                let reason = places.as_ref().and_then(|places| places.misplaced(slice.tile, bytes));
                let reason = reason.or_else(|| outside_of_storage(slice, stored.as_ref()?));
                reason.map(|reason| (slice.tile, reason))
            });
            if let Some((tile, reason)) = wrong {
                let message = format!("`@{}` on {}: {reason}", binding.name, tile_text(tile));
                self.report(TileCode::BadBinding, binding.source, message);
            }
        }
    }

    /// The bytes of buffers on each logical tile; nothing if the program does not say which buffers there are.
    fn stored(&self) -> Option<Vec<Vec<Range<u64>>>> {
        let mut stored = vec![Vec::new(); usize::from(TILE_COUNT)];
        for storage in &self.program.storage {
            let start = u64::from(storage.address.0);
            for tile in &storage.tiles {
                if let Some(here) = stored.get_mut(usize::from(tile.0)) {
                    here.push(start..start + u64::from(storage.size.0));
                }
            }
        }
        stored.iter().any(|here| !here.is_empty()).then_some(stored)
    }
}
