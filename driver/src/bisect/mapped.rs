//! Mapped programs: the op that stores something else than it says, and in which order the bytes really lie.

use ipu_device::orders::ElementOrder;
use ipu_dialects::case::Case;
use ipu_dialects::ir::{Attribute, Module, OpId, ValueId};
use ipu_dialects::mapped::calls::buffer_name;
use ipu_dialects::mapped::meaning::{
    Divergence, LogicalValue, OpStorage, Shards, first_divergence, logical, storage_of_ops,
};
use ipu_dialects::mapped::{Relabel, ShardedTensor};
use ipu_dialects::tensor_data::TensorData;

use super::places::Places;
use super::report::{Detected, ElementAt, Finding, Number, OpAt};
use crate::stages::bits;

/// The op of the mapped program whose storage meaning differs from its logical one.
pub(super) fn op_at_fault(
    module: &Module,
    case: &Case,
    places: &Places,
    (stage, pass): (usize, &str),
) -> Option<Finding> {
    let found = first_divergence(module, case.entry, &case.inputs()).ok()??;
    let ops = storage_of_ops(module, case.entry, &case.inputs()).ok()?;
    let stored = ops.iter().find(|stored| stored.op == found.op)?;
    let name = module.name(found.op);
    let summary = format!("`{name}` stores something else than it says");
    let mut finding = Finding::new(stage, pass, Detected::Values, summary);
    finding.op = Some(OpAt::of(module, found.op));
    let (buffer, holder) = buffer_of(module, found.op);
    let width = stored.result.tensor.placement.element_bytes();
    finding.place = Some(places.place(&buffer, found.tile, found.element * width));
    finding.element = element(module, stored, &found);
    finding.notes.extend(order_note(module, stored, holder));
    Some(finding)
}

/// The buffer that holds the result of `op`, and the op that writes it: a relabel shares that of its operand.
fn buffer_of(module: &Module, op: OpId) -> (String, OpId) {
    let mut op = op;
    while module.is::<Relabel>(op) {
        match module.operands(op).first().and_then(|&operand| module.defining_op(operand)) {
            Some(definition) => op = definition,
            None => break,
        }
    }
    let value = module.result(op, 0);
    (buffer_name(module, value), op)
}

fn element(module: &Module, stored: &OpStorage, found: &Divergence) -> Option<ElementAt> {
    let tensor = &stored.result.tensor;
    let width = tensor.placement.element_bytes() as usize;
    let at = found.element as usize * width;
    let bytes = stored.result.shards.get(found.shard as usize)?.bytes.get(at..at + width)?;
    let wanted = TensorData::from_values(vec![1], tensor.element, [found.logical]).bytes;
    let number = |bytes: &[u8], value| Number { bits: bits(bytes), digits: 2 * width, value };
    Some(ElementAt {
        tensor: format!("`{}`", module.value_text(module.result(found.op, 0))),
        index: found.coordinates.clone(),
        expected: number(&wanted, found.logical),
        actual: Some(number(bytes, found.storage)),
        wrong: Some(found.differing as u64),
    })
}

/// Orders that bytes are looked for in.
fn orders(operands: &[Shards]) -> Vec<ElementOrder> {
    let mut orders: Vec<ElementOrder> =
        operands.iter().map(|operand| operand.tensor.placement.layout().order).collect();
    orders.extend([ElementOrder::RowMajor, ElementOrder::ColumnMajor]);
    for inner in [8, 16, 32] {
        orders.extend([
            ElementOrder::AmpLeft { inner },
            ElementOrder::AmpRight { inner },
            ElementOrder::TransposedLeft { inner },
        ]);
    }
    orders
}

/// Says in which order the bytes lie, where another one than that of the layout makes the value right.
fn order_note(module: &Module, stored: &OpStorage, holder: OpId) -> Option<String> {
    let logical = logical_result(module, stored)?;
    let says = stored.result.tensor.placement.layout().order;
    let lies = orders(&stored.operands)
        .into_iter()
        .find(|&order| order != says && read_in(&stored.result, order).as_ref() == Some(&logical))?;
    let value = module.result(stored.op, 0);
    let reader = reader_of(module, value);
    let (bytes_in, reads) = match (lies.inner(), says.inner()) {
        (Some(lies), Some(says)) if lies != says => {
            (format!("{lies}-wide panels"), format!("{says}-wide ones"))
        }
        _ => (format!("`{lies}`"), format!("`{says}`")),
    };
    Some(format!(
        "the bytes are in {bytes_in} (`{lies}`, as {} wrote them) where the layout that {reader} reads them by has \
         {reads} (`{says}`): element order of producer and consumer differ",
        with_kernel(module, holder)
    ))
}

/// The op with the kernel that it calls.
fn with_kernel(module: &Module, op: OpId) -> String {
    let kernel = module.attribute(op, "kernel").and_then(Attribute::as_symbol);
    let kernel = kernel.map(|kernel| format!(" @{}", kernel.leaf())).unwrap_or_default();
    format!("`{}{kernel}`", module.name(op))
}

fn reader_of(module: &Module, value: ValueId) -> String {
    match module.uses(value).first() {
        Some(user) => with_kernel(module, user.op),
        None => "nobody".to_owned(),
    }
}

fn logical_result(module: &Module, stored: &OpStorage) -> Option<LogicalValue> {
    let operands: Option<Vec<LogicalValue>> =
        stored.operands.iter().map(|operand| operand.unpack_all().ok()).collect();
    let operands = operands?;
    logical::execute(module, stored.op, &operands.iter().collect::<Vec<_>>()).ok()
}

/// The value of `shards` if their bytes were in `order`.
fn read_in(shards: &Shards, order: ElementOrder) -> Option<LogicalValue> {
    let tensor = &shards.tensor;
    let mut layout = tensor.placement.layout().clone();
    layout.order = order;
    let shape: Vec<u32> = tensor.placement.shape().collect();
    let placement = layout.place(&shape, tensor.placement.element_bytes()).ok()?;
    let same_sizes = (0..placement.shard_count())
        .all(|shard| placement.shard_bytes(shard) == tensor.placement.shard_bytes(shard));
    if !same_sizes {
        return None;
    }
    let tensor = ShardedTensor { placement, element: tensor.element };
    Shards { tensor, shards: shards.shards.clone() }.unpack_all().ok()
}
