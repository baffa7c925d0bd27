//! State back into the text: `send` of transfers, `at` of buffers, `exchange.separate` between them. Nothing else of an
//! op changes.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use ipu_device::hash::HashMap;
use ipu_device::{Address, LogicalTile};

use super::column::column_attribute;
use super::ops::SeparateOp;
use super::program::{BufferId, PerTile, Program, Transfers};
use crate::declaration::Op;
use crate::ipu::{Addresses, TileSet};
use crate::ir::{Attribute, InsertionPoint, Module, Name, OpId, ValueId};

const SEND: &str = "send";
const AT: &str = "at";

/// Sets the starts of an `exchange.copy` or `exchange.copies`, one for each member in order.
pub fn set_send(module: &mut Module, op: OpId, starts: &[u32]) {
    let starts = starts.iter().map(|&start| i64::from(start)).collect();
    module.set_attribute(op, SEND, column_attribute(starts));
}

/// Sets the starts of all copies of a phase from its transfers; removes them if the transfers have none.
pub fn set_phase_sends(module: &mut Module, transfers: &Transfers) {
    let mut by_op: IndexMap<OpId, Vec<(u32, u32)>> = IndexMap::new();
    for (index, (&op, &member)) in transfers.op.iter().zip(&transfers.member).enumerate() {
        let starts = by_op.entry(op).or_default();
        if let Some(&send) = transfers.send.get(index) {
            starts.push((member, send));
        }
    }
    for (op, mut starts) in by_op {
        if starts.is_empty() {
            module.remove_attribute(op, SEND);
            continue;
        }
        starts.sort_unstable_by_key(|&(member, _)| member);
        let starts: Vec<u32> = starts.into_iter().map(|(_, send)| send).collect();
        set_send(module, op, &starts);
    }
}

/// Sets the addresses of an `exchange.buffer` that is on `tiles`.
pub fn set_at(module: &mut Module, op: OpId, tiles: &[LogicalTile], at: &PerTile<Address>) {
    let mut groups: IndexMap<Address, Vec<LogicalTile>> = IndexMap::new();
    for (index, &tile) in tiles.iter().enumerate() {
        if let Some(address) = at.get(index) {
            groups.entry(address).or_default().push(tile);
        }
    }
    let addresses = match (groups.len(), groups.first()) {
        (1, Some((&address, _))) => Addresses::Same(address),
        _ => {
            let group = |(address, tiles)| TileSet::from_tiles(tiles).map(|tiles| (tiles, address));
            Addresses::ByTiles(groups.into_iter().filter_map(group).collect())
        }
    };
    module.set_attribute(op, AT, Attribute::dialect(addresses));
}

/// Sets the addresses of all buffers from the program; removes those of buffers that have none.
pub fn set_addresses(module: &mut Module, program: &Program) {
    for buffer in &program.buffers {
        match &buffer.at {
            Some(at) => set_at(module, buffer.op, &buffer.tiles, at),
            None => {
                module.remove_attribute(buffer.op, AT);
            }
        }
    }
}

/// Adds an `exchange.separate` for each of `pairs` that `program` does not have, behind those that it has or else behind
/// its buffers; gives how many. Each has the place and origin of the pair's first buffer.
pub fn add_separations(
    module: &mut Module,
    program: &Program,
    pairs: &BTreeSet<(BufferId, BufferId)>,
    pass: Name,
) -> usize {
    let ordered = |&(one, other): &(BufferId, BufferId)| (one.min(other), one.max(other));
    let known: BTreeSet<_> = program.separate.iter().map(ordered).collect();
    let new: BTreeSet<_> = pairs.iter().map(ordered).filter(|pair| !known.contains(pair)).collect();
    let Some(block) = module.entry_block(program.op, 0) else { return 0 };
    let last = |name: &str| module.ops_of(block).filter(|&op| module.name(op).as_str() == name).last();
    let Some(mut behind) = last("exchange.separate").or_else(|| last("exchange.buffer")) else { return 0 };
    for &(one, other) in &new {
        let sources = [program.buffer(one).op, program.buffer(other).op];
        let [first, second] = sources.map(|op| module.result(op, 0));
        let state = SeparateOp::state().operand(first).operand(second);
        behind = module.insert_new(InsertionPoint::After(behind), state);
        module.inherit(behind, &sources[..1]);
        let origin = module.origin(behind).map(|origin| origin.through(pass));
        module.set_origin(behind, origin);
    }
    new.len()
}

/// Removes every `exchange.separate` of one of `pairs`, the lesser buffer of each first; gives how many.
pub fn remove_separations(
    module: &mut Module,
    program: &Program,
    pairs: &BTreeSet<(BufferId, BufferId)>,
) -> usize {
    let Some(block) = module.entry_block(program.op, 0) else { return 0 };
    let buffers: HashMap<ValueId, BufferId> =
        program.buffer_ids().map(|id| (module.result(program.buffer(id).op, 0), id)).collect();
    let named = |op: OpId| {
        let separate = module.cast::<SeparateOp>(op)?;
        let one = *buffers.get(&separate.first(module))?;
        let other = *buffers.get(&separate.second(module))?;
        Some((one.min(other), one.max(other)))
    };
    let found: Vec<OpId> =
        module.ops_of(block).filter(|&op| named(op).is_some_and(|pair| pairs.contains(&pair))).collect();
    for &op in &found {
        module.erase(op);
    }
    found.len()
}
