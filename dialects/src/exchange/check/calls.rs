//! Calls against their kernels.

use std::collections::BTreeSet;

use ipu_device::hash::HashSet;
use ipu_device::kernels::{Kernel, OperandExtent};
use ipu_device::memory_map::Element;
use ipu_device::{Address, Bytes};

use super::{Checker, tile_text};
use crate::exchange::codes::ExchangeCode;
use crate::exchange::program::{BufferId, Compute, Program, Run, Slice};
use crate::ir::OpId;

/// Pairs of buffers, the lesser first, that some kernel call needs in different memory elements.
#[must_use]
pub fn kernel_separations(program: &Program) -> BTreeSet<(BufferId, BufferId)> {
    let mut pairs = BTreeSet::new();
    for run in program.computes().flat_map(|compute| &compute.runs) {
        for &(one, other) in run.kernel.entry().distinct_elements {
            if let (Some(one), Some(other)) = (run.operands.get(one), run.operands.get(other)) {
                pairs.insert((one.buffer.min(other.buffer), one.buffer.max(other.buffer)));
            }
        }
    }
    pairs
}

impl Checker<'_> {
    pub(super) fn compute(&mut self, compute: &Compute) {
        let mut reported: HashSet<(OpId, ExchangeCode)> = HashSet::default();
        for run in &compute.runs {
            if let Err((code, message)) = self.run(run)
                && reported.insert((run.op, code))
            {
                let error = self.error(code, run.op, message);
                self.diagnostics.push(error.note(format!(
                    "in member {} on {}",
                    run.member,
                    tile_text(run.tile)
                )));
            }
        }
    }

    fn run(&self, run: &Run) -> Result<(), (ExchangeCode, String)> {
        let extents = run.kernel.extents(&run.scalars);
        let extents = extents.map_err(|error| (ExchangeCode::KernelCall, error.message))?;
        for (extent, slice) in extents.iter().zip(&run.operands) {
            self.operand(run, extent, slice)?;
        }
        self.aliases(run, &extents)?;
        self.elements(run)
    }

    fn operand(
        &self,
        run: &Run,
        extent: &OperandExtent,
        slice: &Slice,
    ) -> Result<(), (ExchangeCode, String)> {
        let buffer = self.program.buffer(slice.buffer);
        let what = || format!("operand `{}` of `@{}` (`{}`)", extent.name, run.kernel, buffer.name);
        if slice.bytes < extent.bytes.0 {
            let message = format!("{} takes {}, the slice has {}", what(), extent.bytes, Bytes(slice.bytes));
            return Err((ExchangeCode::KernelCall, message));
        }
        let end = u64::from(slice.offset) + u64::from(extent.bytes.0) + u64::from(extent.tail.0);
        if end > u64::from(buffer.bytes.0) + u64::from(buffer.tail.0) {
            let message = format!(
                "{} is read ahead by {}, the buffer has a tail of {}",
                what(),
                extent.tail,
                buffer.tail
            );
            return Err((ExchangeCode::KernelCall, message));
        }
        let start = buffer.address(run.tile).map_or(0, |address| address.0);
        let aligned = buffer.at.is_some() || buffer.align.0 >= extent.align.0;
        if !aligned || !Address(start.wrapping_add(slice.offset)).is_aligned(extent.align) {
            let message = format!(
                "{} must be aligned to {}; it is byte {} of a buffer aligned to {}",
                what(),
                extent.align,
                slice.offset,
                buffer.align
            );
            return Err((ExchangeCode::Misaligned, message));
        }
        if !extent.class.accepts(buffer.class) {
            let message =
                format!("{} must be in interleaved memory, the buffer is {}", what(), buffer.class.name());
            return Err((ExchangeCode::WrongMemory, message));
        }
        Ok(())
    }

    /// An output shares bytes with another operand only where the kernel allows it, and then from the same start.
    fn aliases(&self, run: &Run, extents: &[OperandExtent]) -> Result<(), (ExchangeCode, String)> {
        for (output, extent) in extents.iter().enumerate().filter(|(_, extent)| extent.role.writes()) {
            for (input, other) in extents.iter().enumerate().filter(|&(input, _)| input != output) {
                let (Some(left), Some(right)) = (run.operands.get(output), run.operands.get(input)) else {
                    continue;
                };
                let ends = (end(left, extent.bytes), end(right, other.bytes));
                let apart = left.buffer != right.buffer
                    || ends.0 <= right.offset.into()
                    || ends.1 <= left.offset.into();
                let allowed =
                    run.kernel.entry().in_place.contains(&(output, input)) && left.offset == right.offset;
                if !apart && !allowed {
                    let message = format!(
                        "operands `{}` and `{}` of `@{}` share bytes of `{}`",
                        extent.name,
                        other.name,
                        run.kernel,
                        self.name(left.buffer)
                    );
                    return Err((ExchangeCode::KernelCall, message));
                }
            }
        }
        Ok(())
    }

    /// Operands that the kernel accesses at the same time lie in different memory elements.
    fn elements(&self, run: &Run) -> Result<(), (ExchangeCode, String)> {
        let kernel: &Kernel = &run.kernel;
        for &(one, other) in kernel.entry().distinct_elements {
            let element_range = |operand: usize| {
                let slice = run.operands.get(operand)?;
                let first =
                    self.program.buffer(slice.buffer).address(run.tile)?.0.checked_add(slice.offset)?;
                let last = first.checked_add(slice.bytes.saturating_sub(1))?;
                Some((Element::of(Address(first))?, Element::of(Address(last))?, slice.buffer))
            };
            let (Some(left), Some(right)) = (element_range(one), element_range(other)) else { continue };
            if left.0 <= right.1 && right.0 <= left.1 {
                let message = format!(
                    "`{}` and `{}` are accessed at the same time by `@{kernel}` and share {}",
                    self.name(left.2),
                    self.name(right.2),
                    left.0.max(right.0)
                );
                return Err((ExchangeCode::NotSeparate, message));
            }
        }
        Ok(())
    }
}

fn end(slice: &Slice, bytes: Bytes) -> u64 {
    u64::from(slice.offset) + u64::from(bytes.0)
}
