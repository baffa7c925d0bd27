//! Rules of `mapped` ops beyond their table, and lints.
//!
//! An op is right if [`calls::work`] finds what every tile does for it: that resolves the layouts, derives the grid,
//! and binds the kernel to the shards of every tile. What remains here is what has no work.

use super::calls;
use super::codes::{MappedCode, MappedError};
use super::layout::Placement;
use super::ops::{Func, Relabel, Return};
use super::sharded::ShardedTensor;
use crate::declaration::Op;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::ir::{Module, OpId};

/// Every type in the signature is a tensor with a layout that places it.
pub(super) fn function(module: &Module, op: OpId, diagnostics: &mut Diagnostics) {
    let Some(ty) = Func::wrap(op).function_type(module).as_function() else { return };
    for ty in ty.inputs.iter().chain(&ty.results) {
        if let Err(error) = ShardedTensor::of_type(ty) {
            diagnostics.push(error.at(module.span(op)));
        }
    }
}

pub(super) fn returned(module: &Module, op: OpId, diagnostics: &mut Diagnostics) {
    let Some(function) = module.parent_op(op).and_then(|parent| module.cast::<Func>(parent)) else {
        let message = "`mapped.return` must stand in a `mapped.func`";
        diagnostics.push(Diagnostic::error(MappedCode::Misplaced, module.span(op), message));
        return;
    };
    let Some(ty) = function.function_type(module).as_function() else { return };
    let values = Return::wrap(op).values(module);
    let found: Vec<_> = values.iter().map(|&value| module.value_type(value)).collect();
    if found.iter().copied().eq(&ty.results) {
        return;
    }
    let list = |types: Vec<&crate::ir::Type>| {
        types.iter().map(|ty| format!("`{ty}`")).collect::<Vec<_>>().join(", ")
    };
    let message =
        format!("{} are returned, the function says {}", list(found), list(ty.results.iter().collect()));
    let error = Diagnostic::error(MappedCode::Disagree, module.span(op), message);
    diagnostics.push(error.label(module.span(function.id()), "the function"));
}

/// The op has work on its tiles.
pub(super) fn work(module: &Module, op: OpId, diagnostics: &mut Diagnostics) {
    if let Err(error) = calls::work(module, op) {
        diagnostics.push(error.at(module.span(op)));
    }
}

/// The shards lie on the same tiles and have the same bytes; a warning where their orders differ.
pub(super) fn relabel(module: &Module, op: OpId, diagnostics: &mut Diagnostics) {
    if let Err(error) = calls::work(module, op) {
        diagnostics.push(error.at(module.span(op)));
        return;
    }
    let relabel = Relabel::wrap(op);
    let tensors =
        (ShardedTensor::of(module, relabel.input(module)), ShardedTensor::of(module, relabel.result(module)));
    let (Ok(from), Ok(to)) = tensors else { return };
    let reader = module.uses(relabel.result(module)).into_iter().find_map(|user| {
        let kernel = module.attribute(user.op, "kernel")?.as_symbol()?;
        Some(format!("`@{}`", kernel.leaf()))
    });
    let reader = reader.unwrap_or_else(|| format!("`{}`", to.placement.layout().order));
    if let Some(difference) = reordering(&from.placement, &to.placement, &reader) {
        let span = module.span(op);
        let warning = Diagnostic::warning(MappedCode::RelabelReorders, span, difference);
        diagnostics.push(
            warning.note("the bytes stay, so the value changes; `mapped.convert_layout` would move them"),
        );
    }
}

/// How the two layouts of a relabel, whose result `reader` reads, differ in the order of bytes; `None` if they do not.
fn reordering(from: &Placement, to: &Placement, reader: &str) -> Option<String> {
    let differs = |shard: u32| {
        let elements = from.shard_bytes(shard).0 / from.element_bytes().max(1);
        let at = (0..elements).find(|&at| from.coordinates(shard, at) != to.coordinates(shard, at))?;
        Some((shard, at))
    };
    let classes = (0..from.shard_count().min(to.shard_count())).filter(|&shard| {
        // Copies lie alike.
        from.shard(shard).replica == 0 || to.shard(shard).replica == 0
    });
    let (shard, at) = classes.into_iter().find_map(differs)?;
    let (old, new) = (from.layout().order, to.layout().order);
    let place = |coordinates: Option<smallvec::SmallVec<[u32; 4]>>| match coordinates {
        Some(coordinates) => format!("{:?}", coordinates.as_slice()),
        None => "padding".to_owned(),
    };
    let (before, after) = (place(from.coordinates(shard, at)), place(to.coordinates(shard, at)));
    let ways = match (old.inner(), new.inner()) {
        (Some(old_width), Some(new_width)) if old_width != new_width => {
            format!("{old_width}-wide panels where {reader} reads {new_width}-wide ones")
        }
        _ => format!("`{old}` where {reader} reads `{new}`"),
    };
    Some(format!(
        "the two layouts order the bytes differently: {ways}; element {at} of shard {shard} is {before} in the first \
         and {after} in the second"
    ))
}

/// Whether two tensors lie on the same tiles, shard by shard.
pub(super) fn same_tiles(from: &ShardedTensor, to: &ShardedTensor, what: &str) -> Result<(), MappedError> {
    let (old, new) = (from.placement.tiles(), to.placement.tiles());
    if old == new {
        return Ok(());
    }
    let message = match old.iter().zip(new).position(|(old, new)| old != new) {
        Some(shard) => format!(
            "{what} keeps every shard on its tile: shard {shard} is on tile {} in the operand and on tile {} in the \
             result; `mapped.convert_layout` moves it",
            old[shard], new[shard]
        ),
        None => format!("the operand of {what} has {} shards, the result {}", old.len(), new.len()),
    };
    Err(MappedError::new(MappedCode::Disagree, message))
}
