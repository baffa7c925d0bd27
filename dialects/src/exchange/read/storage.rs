//! Bindings, buffers and their addresses.

use ipu_device::memory_map::{MEMORY_BASE, MEMORY_END, MemoryClass};
use ipu_device::topology::TILE_COUNT;
use ipu_device::{Address, Bytes, LogicalTile};

use super::{Read, Reader, TileMask, tile_text};
use crate::declaration::Op;
use crate::exchange::codes::ExchangeCode;
use crate::exchange::ops::{BindingOp, BufferOp};
use crate::exchange::program::{Binding, BindingKind, Buffer, BufferId, PerTile};
use crate::ipu::Addresses;
use crate::ir::OpId;

impl Reader<'_> {
    pub(super) fn binding(&mut self, op: BindingOp) {
        let module = self.module;
        let kind = match op.kind(module) {
            "input" => BindingKind::Input,
            "weight" => BindingKind::Weight,
            _ => BindingKind::Output,
        };
        let name = op.sym_name(module);
        let foreign = module.attributes(op.id()).iter().filter(|(name, _)| name.dialect().is_some());
        self.bindings.entry(name).or_insert(self.program.bindings.len());
        self.program.bindings.push(Binding {
            op: op.id(),
            name: name.to_owned(),
            kind,
            ty: op.tensor(module).clone(),
            attributes: foreign.map(|(name, value)| (name.as_str().to_owned(), value.clone())).collect(),
        });
    }

    pub(super) fn buffer(&mut self, op: BufferOp) -> Read<()> {
        let module = self.module;
        let tiles = match op.tiles(module) {
            Some(tiles) => {
                let mut tiles: Vec<LogicalTile> = tiles.iter().collect();
                tiles.sort_unstable();
                tiles
            }
            None => {
                let mut tiles = self.program.tiles.clone();
                tiles.sort_unstable();
                tiles
            }
        };
        if let Some(&tile) = tiles.iter().find(|&&tile| !self.tiles.has(tile)) {
            let message = format!("{} of the buffer is no tile of the program", tile_text(tile));
            return self.fail(ExchangeCode::NoSuchTile, op.id(), message);
        }
        let name = op.name(module).to_owned();
        let bytes = self.size(op.id(), "bytes", op.bytes(module))?;
        let tail = self.size(op.id(), "tail", op.tail(module).unwrap_or(0))?;
        let align = self.size(op.id(), "align", op.align(module))?;
        if !align.0.is_power_of_two() || bytes.0 == 0 {
            let message = format!(
                "a buffer has at least 1 byte and `align` a power of two; found {bytes}, align {}",
                align.0
            );
            return self.fail(ExchangeCode::BadBuffer, op.id(), message);
        }
        let class = MemoryClass::from_name(op.memory(module)).unwrap_or(MemoryClass::Standard);
        let at = op.at(module).map(|at| self.addresses(op.id(), &name, at, &tiles)).transpose()?;
        self.buffers.insert(op.buffer(module), BufferId(self.program.buffers.len() as u32));
        self.present.push(TileMask::of(&tiles));
        self.program.buffers.push(Buffer { op: op.id(), name, bytes, tail, align, class, tiles, at });
        Ok(())
    }

    fn size(&self, op: OpId, what: &str, value: i64) -> Read<Bytes> {
        let limit = MEMORY_END.0 - MEMORY_BASE.0;
        match u32::try_from(value).ok().filter(|&value| value <= limit) {
            Some(value) => Ok(Bytes(value)),
            None => {
                let message = format!("`{what}` is {value}; a tile has {limit} bytes");
                self.fail(ExchangeCode::BadBuffer, op, message)
            }
        }
    }

    fn addresses(
        &self,
        op: OpId,
        name: &str,
        at: &Addresses,
        tiles: &[LogicalTile],
    ) -> Read<PerTile<Address>> {
        let groups = match at {
            Addresses::Same(address) => return Ok(PerTile::Same(*address)),
            Addresses::ByTiles(groups) => groups,
        };
        let mut known = vec![None; usize::from(TILE_COUNT)];
        for (set, address) in groups {
            for tile in set.iter() {
                if let Some(slot) = known.get_mut(usize::from(tile.0)) {
                    slot.get_or_insert(*address);
                }
            }
        }
        let address = |tile: &LogicalTile| match known.get(usize::from(tile.0)).copied().flatten() {
            Some(address) => Ok(address),
            None => {
                let message = format!("buffer `{name}` has no address on {}", tile_text(*tile));
                self.fail(ExchangeCode::HalfState, op, message)
            }
        };
        tiles.iter().map(address).collect::<Read<Vec<Address>>>().map(PerTile::Each)
    }

    /// All buffers have addresses, or none.
    pub(super) fn check_addresses(&mut self) {
        let with = self.program.buffers.iter().find(|buffer| buffer.at.is_some());
        let without = self.program.buffers.iter().find(|buffer| buffer.at.is_none());
        if let (Some(with), Some(without)) = (with, without) {
            let message = format!(
                "buffer `{}` has no `at`, buffer `{}` has; expected all or none",
                without.name, with.name
            );
            let error = self.error(ExchangeCode::HalfState, without.op, message);
            let error = error.label(self.module.span(with.op), "this has `at`");
            self.diagnostics.push(error);
        }
    }
}
