//! Steps against rows, kernels and memory.

use ipu_device::kernels::{Kernel, ScalarValues};
use ipu_device::memory_map::{INTERLEAVED_BASE, MEMORY_BASE, MEMORY_END, MemoryClass};
use ipu_device::{Address, LogicalTile};

use super::{Checker, tile_text};
use crate::ir::OpId;
use crate::tile::codes::TileCode;
use crate::tile::program::{Body, Image, StepKind};

impl Checker<'_> {
    pub(super) fn steps(&mut self) {
        let program = self.program;
        for image in &program.images {
            for step in image.steps.iter().flatten() {
                match &step.kind {
                    StepKind::Exchange { row, .. } => self.row_of(image, row, step.source),
                    StepKind::CallKernel { kernel, operands, scalars } => {
                        self.kernel_on(image, kernel, step.source);
                        self.operands(kernel, operands, scalars, step.source);
                    }
                    StepKind::ExchangeHost(_) | StepKind::Repeat { .. } => {}
                }
            }
        }
    }

    fn row_of(&mut self, image: &Image, row: &str, op: Option<OpId>) {
        let found = image.sections.iter().any(|s| *s.symbol == *row && matches!(s.body, Body::Row(_)));
        if !found {
            self.report(TileCode::BadStep, op, format!("`@{row}` is no row of this image"));
        }
    }

    fn kernel_on(&mut self, image: &Image, kernel: &Kernel, op: Option<OpId>) {
        let symbol = kernel.symbol();
        let Some(found) = self.program.kernels.iter().find(|known| *known.symbol == *symbol) else {
            return self.report(TileCode::BadStep, op, format!("the program has no `tile.kernel @{symbol}`"));
        };
        let has = |tile: &LogicalTile| found.tiles.as_ref().is_none_or(|tiles| tiles.contains(tile));
        if let Some(&tile) = image.tiles.iter().find(|tile| !has(tile)) {
            let message = format!("kernel `@{symbol}` is not on {}", tile_text(tile));
            self.report(TileCode::BadStep, op, message);
        }
    }

    fn operands(&mut self, kernel: &Kernel, operands: &[Address], scalars: &ScalarValues, op: Option<OpId>) {
        let extents = match kernel.extents(scalars) {
            Ok(extents) => extents,
            Err(error) => return self.report(TileCode::KernelCall, op, error.to_string()),
        };
        if extents.len() != operands.len() {
            let message = format!("`@{kernel}` takes {} operands, found {}", extents.len(), operands.len());
            return self.report(TileCode::KernelCall, op, message);
        }
        for (extent, &at) in extents.iter().zip(operands) {
            let end = u64::from(at.0) + u64::from(extent.bytes.0) + u64::from(extent.tail.0);
            let class = if at < INTERLEAVED_BASE { MemoryClass::Standard } else { MemoryClass::Interleaved };
            let wrong = if !at.is_aligned(extent.align) {
                format!("is not a multiple of {}", extent.align.0)
            } else if at < MEMORY_BASE || end > MEMORY_END.0.into() {
                format!("leaves tile memory with its {} and tail of {}", extent.bytes, extent.tail)
            } else if !extent.class.accepts(class) {
                format!("must lie in interleaved memory, from {INTERLEAVED_BASE} up")
            } else {
                continue;
            };
            let message = format!("operand `{}` of `@{kernel}` at {at} {wrong}", extent.name);
            self.report(TileCode::KernelCall, op, message);
        }
    }
}
