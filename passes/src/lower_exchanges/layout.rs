//! Where kernels and rows lie: kernels behind the runtime, at one address on every tile; rows behind the kernels.

use std::collections::{BTreeMap, BTreeSet};

use ipu_device::kernels::Kernel;
use ipu_device::memory_map::{
    CODE_BASE, FREE_DATA_BASE, HOST_WINDOW, HOST_WINDOW_END, INTERLEAVED_BASE, LOAD_BASE,
};
use ipu_device::{Address, Bytes, LogicalTile};
use ipu_dialects::diagnostics::Diagnostics;
use ipu_dialects::exchange::{Program, Step};
use ipu_dialects::ir::OpId;
use ipu_dialects::tile::{KernelCode, KernelImage, TileProgram};

use super::sizing::reach;
use super::{LowerCode, Lowering};
use crate::emit_tile_code::{self, first_free};

/// Code starts on multiples of this.
const CODE_ALIGN: u32 = 8;

/// The kernels that a program calls, in order of their symbols, with the tiles that call them.
pub(super) fn kernels(program: &Program) -> Vec<KernelImage> {
    let mut used: BTreeMap<&Kernel, (OpId, BTreeSet<LogicalTile>)> = BTreeMap::new();
    for run in program.computes().flat_map(|compute| &compute.runs) {
        used.entry(&run.kernel).or_insert_with(|| (run.op, BTreeSet::new())).1.insert(run.tile);
    }
    let mut at = first_free();
    let mut kernels = Vec::with_capacity(used.len());
    for (kernel, (op, tiles)) in used {
        let image = KernelImage {
            source: Some(op),
            symbol: kernel.symbol().into(),
            address: at,
            tiles: Some(tiles.into_iter().collect()),
            code: KernelCode::Reference(kernel.code_bytes()),
        };
        at = behind(at, image.size());
        kernels.push(image);
    }
    kernels
}

/// Where rows start on every tile.
pub(super) fn rows_base(kernels: &[KernelImage]) -> Address {
    kernels.last().map_or_else(first_free, |last| behind(last.address, last.size()))
}

fn behind(start: Address, size: Bytes) -> Address {
    Address(start.0.saturating_add(size.0).next_multiple_of(CODE_ALIGN))
}

/// The runtime's own memory: what, first byte, first byte past it.
const FIXED: [(&str, Address, Address); 2] = [
    ("the entry", LOAD_BASE, Address(LOAD_BASE.0 + 8)),
    ("the completion word and stacks", HOST_WINDOW_END, FREE_DATA_BASE),
];
/// Memory that host exchange uses while it runs: before all steps and after them.
const HOST: (&str, Address, Address) = ("packets of the host exchange", HOST_WINDOW, HOST_WINDOW_END);

impl Lowering<'_> {
    /// Code ends before memory that cannot be executed, and no buffer lies in it or in the runtime's own memory.
    pub(super) fn check_room(&self, lowered: &TileProgram, findings: &mut Diagnostics) {
        let mut finished = lowered.clone();
        if let Err(error) = emit_tile_code::emit(&mut finished) {
            findings.push(error.at(self.module));
            return;
        }
        let ends = reach(&finished);
        if let Some((tile, end)) = (0..).zip(&ends).max_by_key(|&(tile, end)| (*end, std::cmp::Reverse(tile)))
            && *end > INTERLEAVED_BASE
        {
            let message = format!(
                "code of tile {tile} ends at {end}; memory that can be executed ends at {INTERLEAVED_BASE}"
            );
            findings.push(self.error(LowerCode::NoRoom, self.program.op, message));
        }
        let moved = self.host_buffers();
        for (index, buffer) in self.program.buffers.iter().enumerate() {
            let host = moved.get(index).is_some_and(|&moved| moved).then_some(HOST);
            let clash = buffer.tiles.iter().find_map(|&tile| {
                let start = buffer.address(tile)?;
                let stop = start.0.saturating_add(buffer.bytes.0);
                let code = ("code", CODE_BASE, *ends.get(usize::from(tile.0))?);
                let mut taken = FIXED.into_iter().chain(host).chain([code]);
                let (what, first, end) = taken.find(|&(_, first, end)| start < end && first.0 < stop)?;
                Some((tile, start, what, first, end))
            });
            if let Some((tile, start, what, first, end)) = clash {
                let message = format!(
                    "`{}` at {start} on tile {tile} (physical {}) lies in {first}..{end}, which holds {what}",
                    buffer.name,
                    tile.physical()
                );
                findings.push(self.error(LowerCode::InTheWay, buffer.op, message));
            }
        }
    }
    /// By buffer: whether host exchange reads or writes it. All others hold nothing while host exchange runs.
    fn host_buffers(&self) -> Vec<bool> {
        let mut moved = vec![false; self.program.buffers.len()];
        for step in &self.program.steps {
            let (Step::LoadHost(moves) | Step::StoreHost(moves)) = step else { continue };
            for part in &moves.parts {
                if let Some(moved) = moved.get_mut(part.slice.buffer.index()) {
                    *moved = true;
                }
            }
        }
        moved
    }
}
