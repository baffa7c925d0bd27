//! How far the code of each tile reaches. The same code as for the finished program, with addresses that stand in for
//! those that buffers do not have yet; no instruction's size depends on an address.

use ipu_device::exchange::RowEncoding;
use ipu_device::memory_map::{CODE_BASE, INTERLEAVED_BASE, MEMORY_END};
use ipu_device::topology::TILE_COUNT;
use ipu_device::{Address, LogicalTile};
use ipu_dialects::diagnostics::Diagnostics;
use ipu_dialects::exchange::Program;
use ipu_dialects::exchange::program::PerTile;
use ipu_dialects::ir::Module;
use ipu_dialects::tile::TileProgram;

use super::{LowerCode, Lowering};
use crate::emit_tile_code;

/// Distance between the addresses that stand in: no buffer begins where another ends, which would save a control.
const STEP: u32 = 1160;

/// One past the last byte of code of each logical tile, all 1,472, for a scheduled program that was read from `module`.
/// Buffers may lack addresses.
///
/// # Errors
/// The program is not scheduled, its times clash, or its host moves cannot be served.
pub fn code_ends(module: &Module, program: &Program) -> Result<Vec<Address>, Diagnostics> {
    let mut placed = program.clone();
    let room = MEMORY_END.0 - INTERLEAVED_BASE.0;
    for (index, buffer) in (0u32..).zip(&mut placed.buffers) {
        let spare = room.saturating_sub(buffer.bytes.0.saturating_add(buffer.tail.0)).max(1);
        let offset = index.wrapping_mul(STEP) % spare / buffer.align.0.max(8) * buffer.align.0.max(8);
        buffer.at.get_or_insert(PerTile::Same(Address(INTERLEAVED_BASE.0 + offset)));
    }
    let lowering = Lowering { module, program: &placed };
    let mut findings = Diagnostics::new();
    lowering.check_state(&mut findings);
    if findings.has_errors() {
        return Err(findings);
    }
    let phases = lowering.rows(RowEncoding::Compact, &mut findings);
    let bindings = lowering.bindings(&mut findings);
    if findings.has_errors() {
        return Err(findings);
    }
    let mut lowered = lowering.images(&phases, bindings);
    if let Err(error) = emit_tile_code::emit(&mut lowered) {
        findings.push(error.at(module));
        return Err(findings);
    }
    let ends = reach(&lowered);
    match ends.iter().find(|&&end| end > INTERLEAVED_BASE) {
        None => Ok(ends),
        Some(end) => {
            let message =
                format!("code ends at {end}, memory that can be executed ends at {INTERLEAVED_BASE}");
            findings.push(lowering.error(LowerCode::NoRoom, program.op, message));
            Err(findings)
        }
    }
}

/// One past the last byte of code of each logical tile.
pub(super) fn reach(program: &TileProgram) -> Vec<Address> {
    let end = |start: Address, bytes: u32| Address(start.0.saturating_add(bytes));
    let mut ends = vec![CODE_BASE; usize::from(TILE_COUNT)];
    let mut reach = |tile: LogicalTile, to: Address| {
        if let Some(known) = ends.get_mut(usize::from(tile.0)) {
            *known = to.max(*known);
        }
    };
    let everywhere = program.common.iter().map(|section| end(section.address, section.size().0)).max();
    for image in &program.images {
        let own = image.sections.iter().map(|section| end(section.address, section.size().0));
        let last = own.chain(everywhere).max().unwrap_or(CODE_BASE);
        image.tiles.iter().for_each(|&tile| reach(tile, last));
    }
    for kernel in &program.kernels {
        let last = end(kernel.address, kernel.size().0);
        match &kernel.tiles {
            Some(tiles) => tiles.iter().for_each(|&tile| reach(tile, last)),
            None => LogicalTile::all().for_each(|tile| reach(tile, last)),
        }
    }
    ends
}
