//! Steps of an image.

use ipu_device::Address;
use ipu_device::kernels::{Kernel, ScalarValues};

use super::{Read, Reader};
use crate::declaration::Op;
use crate::ir::{Attribute, BlockId, OpId};
use crate::tile::codes::TileCode;
use crate::tile::ops::{CallKernelOp, ExchangeHostOp, ExchangeOp, RepeatOp};
use crate::tile::program::{HostPart, Step, StepKind};

impl Reader<'_> {
    /// The steps in a `tile.steps`, repeats followed by their bodies.
    pub(super) fn steps(&mut self, op: OpId) -> Vec<Step> {
        let module = self.module;
        let mut steps = Vec::new();
        let first = |block: Option<BlockId>| block.and_then(|block| module.first_op(block));
        // The next op of each open region, and the repeat that it belongs to.
        let mut open: Vec<(Option<OpId>, Option<usize>)> = vec![(first(module.entry_block(op, 0)), None)];
        while let Some((next, repeat)) = open.last_mut() {
            let Some(child) = *next else {
                let end = steps.len();
                if let Some(Step { kind: StepKind::Repeat { body, .. }, .. }) =
                    repeat.and_then(|repeat| steps.get_mut(repeat))
                {
                    body.end = end;
                }
                open.pop();
                continue;
            };
            *next = module.next_op(child);
            match self.step(child, steps.len()) {
                Ok(kind) => {
                    let repeats = matches!(kind, StepKind::Repeat { .. });
                    steps.push(Step { source: Some(child), kind });
                    if repeats {
                        open.push((first(module.entry_block(child, 0)), Some(steps.len() - 1)));
                    }
                }
                Err(error) => self.diagnostics.push(*error),
            }
        }
        steps
    }

    fn step(&self, op: OpId, index: usize) -> Read<StepKind> {
        let module = self.module;
        if let Some(host) = module.cast::<ExchangeHostOp>(op) {
            let part = HostPart::from_name(host.part(module)).unwrap_or(HostPart::Inputs);
            return Ok(StepKind::ExchangeHost(part));
        }
        if let Some(exchange) = module.cast::<ExchangeOp>(op) {
            let row = exchange.row(module).leaf().into();
            let idle = exchange.idle(module);
            let base = Address(exchange.base(module).unwrap_or(0));
            return Ok(StepKind::Exchange { row, base, idle });
        }
        if let Some(call) = module.cast::<CallKernelOp>(op) {
            return self.call(call);
        }
        if let Some(repeat) = module.cast::<RepeatOp>(op) {
            let count = u32::try_from(repeat.count(module)).ok().filter(|&count| count > 0);
            let body = index + 1..index + 1;
            return count.map(|count| StepKind::Repeat { count, body }).ok_or_else(|| {
                let message = format!("a repeat runs 1 to {} times, not {}", u32::MAX, repeat.count(module));
                self.error(TileCode::BadStep, op, message)
            });
        }
        Err(self.misplaced(op, "`tile.steps` holds exchanges, kernel calls and repeats"))
    }

    fn call(&self, op: CallKernelOp) -> Read<StepKind> {
        let module = self.module;
        let refuse = |message: String| self.error(TileCode::KernelCall, op.id(), message);
        let symbol = op.kernel(module).leaf();
        let kernel = Kernel::parse(symbol).map_err(|error| refuse(error.to_string()))?;
        let named = op.scalars(module).unwrap_or(&[]).iter();
        let named: Option<Vec<(&str, i64)>> =
            named.map(|(name, value)| Some((name.as_str(), Attribute::as_i64(value)?))).collect();
        let named = named.ok_or_else(|| refuse(format!("scalars of `@{symbol}` must be integers")))?;
        let scalars =
            ScalarValues::from_named(kernel.entry(), named).map_err(|error| refuse(error.to_string()))?;
        let address = |&value: &i64| u32::try_from(value).map(Address);
        let operands = op.addresses(module).iter().map(address).collect::<Result<_, _>>();
        let operands = operands.map_err(|_| refuse("an address has 32 bits".to_owned()))?;
        Ok(StepKind::CallKernel { kernel, operands, scalars })
    }
}
