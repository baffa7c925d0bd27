//! What lies where in the memory of a tile.

use ipu_device::hash::HashMap;
use ipu_device::memory_map::{FREE_DATA_BASE, HOST_WINDOW, INTERLEAVED_BASE, LOAD_BASE, LOAD_END};
use ipu_device::{Address, Bytes, LogicalTile};

use super::{Checker, tile_text, tiles_text};
use crate::ir::OpId;
use crate::tile::codes::TileCode;
use crate::tile::program::{Body, Image, KernelImage, Section, TileProgram};

/// Bytes of a tile and what they are.
#[derive(Clone, Copy)]
struct Span<'a> {
    start: u32,
    end: u32,
    name: &'a str,
    op: Option<OpId>,
    /// Sent by the host, so it may share its place with other bindings.
    binding: bool,
}

impl<'a> Span<'a> {
    fn new(address: Address, size: Bytes, name: &'a str, op: Option<OpId>) -> Self {
        Self { start: address.0, end: address.0.saturating_add(size.0), name, op, binding: false }
    }

    fn section(section: &'a Section) -> Self {
        Self::new(section.address, section.size(), &section.symbol, section.source)
    }

    fn kernel(kernel: &'a KernelImage) -> Self {
        Self::new(kernel.address, kernel.size(), &kernel.symbol, kernel.source)
    }

    fn text(&self) -> String {
        format!("`@{}` at {} to {}", self.name, Address(self.start), Address(self.end))
    }
}

impl Checker<'_> {
    /// Everything lies where it can, and nothing on something else.
    pub(super) fn memory(&mut self) {
        let program = self.program;
        for kernel in &program.kernels {
            self.place(Span::kernel(kernel), true);
        }
        let own = program.images.iter().flat_map(|image| &image.sections);
        for section in program.common.iter().chain(own) {
            let code = !matches!(section.body, Body::Data(_));
            self.place(Span::section(section), code);
            self.double_words(section);
        }
        let slices = slices_by_tile(self.program);
        for image in &program.images {
            self.overlaps(image, &slices);
        }
    }

    fn place(&mut self, span: Span<'_>, code: bool) {
        let message = if code && !span.start.is_multiple_of(4) {
            "expected a multiple of 4".to_owned()
        } else if span.start < LOAD_BASE.0 || span.end > LOAD_END.0 {
            format!("an image reaches from {LOAD_BASE} to {LOAD_END}")
        } else if code && span.end > INTERLEAVED_BASE.0 {
            format!("code must end at {INTERLEAVED_BASE}, where interleaved memory starts")
        } else if code && span.start < FREE_DATA_BASE.0 && span.end > HOST_WINDOW.0 {
            format!("{HOST_WINDOW} to {FREE_DATA_BASE} holds host packets and stacks")
        } else {
            return;
        };
        self.report(TileCode::BadAddress, span.op, format!("{}: {message}", span.text()));
    }

    /// The first word of an instruction of two words lies on a multiple of 8 bytes.
    fn double_words(&mut self, section: &Section) {
        let mut address = section.address.0;
        for line in section.lines() {
            if line.word_count() == 2 && !address.is_multiple_of(8) {
                let message = format!(
                    "an instruction of two words lies at {}, expected a multiple of 8",
                    Address(address)
                );
                self.report(TileCode::BadAddress, line.source.or(section.source), message);
            }
            address = address.saturating_add(4 * line.word_count() as u32);
        }
    }

    fn overlaps(&mut self, image: &Image, slices: &HashMap<LogicalTile, Vec<Span<'_>>>) {
        let program = self.program;
        let fixed: Vec<Span<'_>> = program.common.iter().chain(&image.sections).map(Span::section).collect();
        if let Some((one, other)) = first_overlap(fixed.clone()) {
            return self.overlap(one, other, &tiles_text(&image.tiles));
        }
        let partial = program.kernels.iter().any(|kernel| kernel.tiles.is_some());
        let alike = !partial && image.tiles.iter().all(|tile| !slices.contains_key(tile));
        let tiles = if alike { image.tiles.get(..1).unwrap_or(&[]) } else { &image.tiles };
        for tile in tiles {
            let has = |kernel: &&KernelImage| kernel.tiles.as_ref().is_none_or(|on| on.contains(tile));
            let mut spans = fixed.clone();
            spans.extend(program.kernels.iter().filter(has).map(Span::kernel));
            spans.extend(slices.get(tile).into_iter().flatten());
            if let Some((one, other)) = first_overlap(spans) {
                return self.overlap(one, other, &tile_text(*tile));
            }
        }
    }

    fn overlap(&mut self, one: Span<'_>, other: Span<'_>, tiles: &str) {
        let message = format!("{} overlaps {} on {tiles}", other.text(), one.text());
        let error = self.error(TileCode::Overlap, other.op, message);
        let error = error.label(self.span(one.op), "this one");
        self.diagnostics.push(error);
    }
}

/// Two spans with a byte in common, the lower one first. Slices of bindings may share bytes with each other.
fn first_overlap(mut spans: Vec<Span<'_>>) -> Option<(Span<'_>, Span<'_>)> {
    spans.retain(|span| span.start < span.end);
    spans.sort_by_key(|span| (span.start, span.end));
    // The span that reaches furthest, of sections and of slices.
    let mut reach: [Option<Span<'_>>; 2] = [None, None];
    for span in spans {
        let rivals = if span.binding { &reach[..1] } else { &reach[..] };
        let rival = rivals.iter().flatten().find(|rival| rival.end > span.start);
        if let Some(rival) = rival {
            return Some((*rival, span));
        }
        let slot = &mut reach[usize::from(span.binding)];
        if slot.is_none_or(|known| known.end < span.end) {
            *slot = Some(span);
        }
    }
    None
}

/// Where the bytes of bindings live on each tile.
fn slices_by_tile(program: &TileProgram) -> HashMap<LogicalTile, Vec<Span<'_>>> {
    let mut slices: HashMap<LogicalTile, Vec<Span<'_>>> = HashMap::default();
    for binding in &program.bindings {
        for slice in &binding.slices {
            let span = Span::new(slice.address, slice.bytes, &binding.name, binding.source);
            slices.entry(slice.tile).or_default().push(Span { binding: true, ..span });
        }
    }
    slices
}
