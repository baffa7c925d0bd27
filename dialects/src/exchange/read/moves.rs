//! Host loads and stores.

use super::{Read, Reader};
use crate::exchange::codes::ExchangeCode;
use crate::exchange::members::MoveFamily;
use crate::exchange::ops::LoadHostOp;
use crate::exchange::program::{BindingKind, HostMove, HostPart, Slice};
use crate::ir::{OpId, SymbolRef, ValueId};

impl Reader<'_> {
    pub(super) fn host_move(
        &self,
        op: OpId,
        buffer: ValueId,
        binding: &SymbolRef,
        members: &MoveFamily,
    ) -> Read<HostMove> {
        let buffer = self.operand(buffer, op)?;
        let binding = self.binding_named(op, binding)?;
        let MoveFamily { family, on, slice, image } = members;
        let length = image.length;
        let slice_length = slice.as_ref().map_or(length, |slice| slice.length);
        if slice_length != length {
            let message = format!(
                "{slice_length} bytes of the buffer and {length} bytes of the image, expected as many"
            );
            return self.fail(ExchangeCode::LengthMismatch, op, message);
        }
        let tiles = self.values(op, "on", on, family)?;
        let offsets =
            slice.as_ref().map(|slice| self.values(op, "bytes", &slice.start, family)).transpose()?;
        let images = self.values(op, "image", &image.start, family)?;
        let mut parts = Vec::with_capacity(tiles.len());
        for (member, (&tile, &image)) in tiles.iter().zip(&images).enumerate() {
            let tile = self.tile(op, member, "on", tile, buffer)?;
            let start = offsets.as_ref().and_then(|offsets| offsets.get(member)).copied().unwrap_or(0);
            let offset = self.range(op, member, "bytes", start, length, buffer)?;
            let Ok(image_offset) = u32::try_from(image) else {
                let message = format!("`image` of member {member} starts at {image}, which is no offset");
                return self.fail(ExchangeCode::BadIndex, op, message);
            };
            parts.push(HostPart { tile, slice: Slice { buffer, offset, bytes: length }, image_offset });
        }
        let once = self.module.attribute(op, "once").is_some();
        Ok(HostMove { op, binding, once, parts })
    }

    fn binding_named(&self, op: OpId, symbol: &SymbolRef) -> Read<usize> {
        let found = self.bindings.get(symbol.root()).copied().filter(|_| symbol.path().len() == 1);
        let binding = found.and_then(|index| Some((index, self.program.bindings.get(index)?)));
        let Some((index, binding)) = binding else {
            let message = format!("`@{}` is no `exchange.binding` above in this program", symbol.root());
            return self.fail(ExchangeCode::WrongBinding, op, message);
        };
        let loads = self.module.is::<LoadHostOp>(op);
        if loads == (binding.kind == BindingKind::Output) {
            let (found, wanted) =
                if loads { ("an output", "an input or weight") } else { ("no output", "an output") };
            let message =
                format!("binding `@{}` is {found}, `{}` needs {wanted}", binding.name, self.module.name(op));
            let error = self.error(ExchangeCode::WrongBinding, op, message);
            return Err(Box::new(error.label(self.module.span(binding.op), "the binding")));
        }
        Ok(index)
    }
}
