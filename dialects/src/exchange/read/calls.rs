//! Kernel calls.

use ipu_device::LogicalTile;
use ipu_device::kernels::{Kernel, KernelError, ScalarValues};
use smallvec::SmallVec;

use super::{Read, Reader};
use crate::declaration::Op;
use crate::diagnostics::Diagnostic;
use crate::exchange::codes::ExchangeCode;
use crate::exchange::index::MemberSlice;
use crate::exchange::members::{RunFamily, RunTiles};
use crate::exchange::ops::RunOp;
use crate::exchange::program::{BufferId, Run, Slice};
use crate::ipu::Family;
use crate::ir::{Attribute, Name, OpId};

/// One operand of a call: the buffer, and the start of each member where a slice is written.
struct Operand {
    buffer: BufferId,
    starts: Option<Vec<i64>>,
    bytes: u32,
}

impl Reader<'_> {
    pub(super) fn run_op(&self, op: RunOp, runs: &mut Vec<Run>) -> Read<()> {
        let module = self.module;
        let (kernel, scalars) = self.kernel(op)?;
        let RunFamily { tiles, slices } = op.family(module);
        let values = op.operands(module);
        let wanted = kernel.entry().operands.len();
        if values.len() != wanted || slices.len() != wanted {
            let message = format!("kernel `@{kernel}` takes {wanted} operands, found {}", values.len());
            return self.fail(ExchangeCode::KernelCall, op.id(), message);
        }
        let (family, numbers) = self.run_tiles(op.id(), tiles)?;
        let mut operands = SmallVec::<[Operand; 4]>::new();
        for (&value, slice) in values.iter().zip(slices) {
            let buffer = self.operand(value, op.id())?;
            operands.push(self.run_operand(op.id(), buffer, slice.as_ref(), &family, numbers.len())?);
        }
        runs.reserve(numbers.len());
        for (member, &number) in numbers.iter().enumerate() {
            let tile = self.run_tile(op.id(), member, number)?;
            let mut parts = SmallVec::new();
            for operand in &operands {
                parts.push(self.run_slice(op.id(), member, number, operand)?);
            }
            runs.push(Run {
                op: op.id(),
                member: member as u32,
                tile,
                kernel: kernel.clone(),
                operands: parts,
                scalars: scalars.clone(),
            });
        }
        Ok(())
    }

    /// The family whose ids slices use, and the tile of each member.
    fn run_tiles(&self, op: OpId, tiles: &RunTiles) -> Read<(Family, Vec<i64>)> {
        Ok(match tiles {
            RunTiles::Family(family, on) => (family.clone(), self.values(op, "on", on, family)?),
            RunTiles::Set(set) => (Family::single(), set.iter().map(|tile| i64::from(tile.0)).collect()),
        })
    }

    fn run_operand(
        &self,
        op: OpId,
        buffer: BufferId,
        slice: Option<&MemberSlice>,
        family: &Family,
        members: usize,
    ) -> Read<Operand> {
        let Some(slice) = slice else {
            return Ok(Operand { buffer, starts: None, bytes: self.program.buffer(buffer).bytes.0 });
        };
        let mut starts = self.values(op, "slice", &slice.start, family)?;
        if let [start] = starts.as_slice() {
            starts = vec![*start; members];
        }
        Ok(Operand { buffer, starts: Some(starts), bytes: slice.length })
    }

    fn run_tile(&self, op: OpId, member: usize, number: i64) -> Read<LogicalTile> {
        match u16::try_from(number).ok().map(LogicalTile).filter(|&tile| self.tiles.has(tile)) {
            Some(tile) => Ok(tile),
            None => {
                let message = format!("`on` is {number}, which is no tile of the program");
                let error = self.error(ExchangeCode::NoSuchTile, op, message);
                Err(Box::new(error.note(format!("in member {member}"))))
            }
        }
    }

    fn run_slice(&self, op: OpId, member: usize, tile: i64, operand: &Operand) -> Read<Slice> {
        let Operand { buffer, starts, bytes } = operand;
        self.tile(op, member, "on", tile, *buffer)?;
        let start = starts.as_ref().and_then(|starts| starts.get(member)).copied().unwrap_or(0);
        let offset = self.range(op, member, "slice", start, *bytes, *buffer)?;
        Ok(Slice { buffer: *buffer, offset, bytes: *bytes })
    }

    fn kernel(&self, op: RunOp) -> Read<(Kernel, ScalarValues)> {
        let module = self.module;
        let refused = |error: KernelError| -> Box<Diagnostic> {
            let code = ipu_device::Coded::code(&error.code);
            Box::new(self.error(ExchangeCode::KernelCall, op.id(), error.message).note(format!("see {code}")))
        };
        let kernel = Kernel::parse(op.kernel(module).root()).map_err(refused)?;
        let mut named = Vec::new();
        for (name, value) in op.scalars(module).unwrap_or(&[]) {
            named.push((name.as_str(), self.scalar(op.id(), *name, value)?));
        }
        let scalars = ScalarValues::from_named(kernel.entry(), named).map_err(refused)?;
        Ok((kernel, scalars))
    }

    fn scalar(&self, op: OpId, name: Name, value: &Attribute) -> Read<i64> {
        match value.as_i64() {
            Some(value) => Ok(value),
            None => self.fail(
                ExchangeCode::KernelCall,
                op,
                format!("scalar `{name}` is `{value}`, expected an integer"),
            ),
        }
    }
}
