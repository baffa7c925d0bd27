//! Graphs: the op whose value no longer is one that the graph before computes, and mapped programs against their graph.

use ipu_dialects::case::Case;
use ipu_dialects::graph::meaning::{Precision, Values, evaluate_values};
use ipu_dialects::graph::{Gemm, Return};
use ipu_dialects::ipu::ScaledElement;
use ipu_dialects::ir::{Module, OpId, Type, ValueId};
use ipu_dialects::mapped;
use ipu_dialects::mapped::meaning::storage_of_ops;
use ipu_dialects::tensor_data::TensorData;

use super::places::{first_difference, index_of, number_of};
use super::report::{ElementAt, Finding, OpAt};

/// A graph with all of its values.
struct Evaluated<'m> {
    module: &'m Module,
    function: OpId,
    values: Values,
}

impl<'m> Evaluated<'m> {
    fn new(module: &'m Module, case: &Case, precision: Precision) -> Option<Self> {
        let function = case.entry;
        let values = evaluate_values(module, function, &case.inputs(), precision).ok()?;
        Some(Self { module, function, values })
    }

    fn returned(&self) -> Vec<ValueId> {
        let block = self.module.entry_block(self.function, 0);
        let end = block.and_then(|block| self.module.last_op(block));
        end.filter(|&op| self.module.is::<Return>(op))
            .map(|op| self.module.operands(op).to_vec())
            .unwrap_or_default()
    }

    fn holds(&self, data: &TensorData) -> bool {
        self.values.values().any(|other| other == data)
    }

    fn return_op(&self) -> Option<OpId> {
        self.module.entry_block(self.function, 0).and_then(|block| self.module.last_op(block))
    }
}

/// Fills `finding` with the op of `after` whose operands the graph before knows and whose value it does not.
pub(super) fn compare_graphs(
    (before, before_case): (&Module, &Case),
    (after, after_case): (&Module, &Case),
    finding: &mut Finding,
) -> Option<()> {
    let both = [Precision::Reference, Precision::Declared].into_iter().filter_map(|precision| {
        let old = Evaluated::new(before, before_case, precision)?;
        let new = Evaluated::new(after, after_case, precision)?;
        let mut pairs = old.returned().into_iter().zip(new.returned());
        let differs = |(wanted, found): &(ValueId, ValueId)| old.values.get(wanted) != new.values.get(found);
        let pair = pairs.find(differs);
        Some((old, new, pair))
    });
    let (old, new, pair) = both.max_by_key(|(_, _, pair)| pair.is_some())?;
    let Some((wanted, found)) = pair else {
        let (old_count, new_count) = (old.returned().len(), new.returned().len());
        finding.op = new.return_op().map(|op| OpAt::of(after, op));
        finding.summary = format!("the graph returns {new_count} values, before it returned {old_count}");
        return Some(());
    };
    let (expected, actual) = (old.values.get(&wanted)?, new.values.get(&found)?);
    finding.element = first_difference(&after.value_text(found), expected, actual);
    if old.holds(actual) {
        // A right value in the wrong place.
        return blame(&old, &new, new.return_op()?, Some(wanted), finding);
    }
    let mut culprit = new.module.defining_op(found)?;
    let unknown = |op: OpId| {
        let operands = new.module.operands(op).iter();
        operands.copied().find(|value| new.values.get(value).is_some_and(|data| !old.holds(data)))
    };
    while let Some(definition) = unknown(culprit).and_then(|value| new.module.defining_op(value)) {
        culprit = definition;
    }
    blame(&old, &new, culprit, counterpart(&old, &new, culprit), finding)
}

/// The value of the graph before that `op` should compute: of the same name, else of the same kind of op.
fn counterpart(old: &Evaluated<'_>, new: &Evaluated<'_>, op: OpId) -> Option<ValueId> {
    let name = new.module.value_name(new.module.result(op, 0));
    let block = old.module.entry_block(old.function, 0)?;
    let results = || old.module.ops_of(block).filter_map(|op| old.module.results(op).first().copied());
    let named = results().find(|&value| name.is_some() && old.module.value_name(value) == name);
    let kind = new.module.name(op);
    named.or_else(|| {
        results().find(|&value| old.module.defining_op(value).is_some_and(|op| old.module.name(op) == kind))
    })
}

/// Names `culprit`, or the op before it that has gone missing.
fn blame(
    old: &Evaluated<'_>,
    new: &Evaluated<'_>,
    culprit: OpId,
    wanted: Option<ValueId>,
    finding: &mut Finding,
) -> Option<()> {
    finding.op = Some(OpAt::of(new.module, culprit));
    finding.summary = format!("`{}` computes what the graph before does not", new.module.name(culprit));
    let missing = |value: &ValueId| {
        let gone = old.values.get(value).is_some_and(|data| !new.holds(data));
        old.module.defining_op(*value).filter(|_| gone)
    };
    let wanted_op = wanted.and_then(|value| old.module.defining_op(value))?;
    let chain = std::iter::once(wanted?).filter(|_| new.module.is::<Return>(culprit));
    let gone = chain.chain(old.module.operands(wanted_op).iter().copied()).find_map(|value| missing(&value));
    if let Some(gone) = gone {
        let user = new.module.name(culprit);
        finding.summary =
            format!("the value of `{}` has gone; `{user}` takes another in its place", old.module.name(gone));
        finding.notes.push(format!("now used: {}", describe(new.module, culprit)));
        finding.op = Some(OpAt::of(old.module, gone));
    }
    Some(())
}

fn describe(module: &Module, op: OpId) -> String {
    let operands: Vec<String> =
        module.operands(op).iter().map(|&value| format!("`{}`", module.value_text(value))).collect();
    format!("`{}` of {}", module.name(op), operands.join(", "))
}

/// Fills `finding` with the op of the mapped program whose value is none of the graph's.
pub(super) fn compare_mapped(
    (graph, graph_case): (&Module, &Case),
    (mapped, mapped_case): (&Module, &Case),
    finding: &mut Finding,
) -> Option<()> {
    let old = Evaluated::new(graph, graph_case, Precision::Reference)?;
    let products: Vec<ValueId> = graph
        .ops_of(graph.entry_block(graph_case.entry, 0)?)
        .filter(|&op| graph.is::<Gemm>(op))
        .map(|op| graph.result(op, 0))
        .collect();
    let ops = storage_of_ops(mapped, mapped_case.entry, &mapped_case.inputs()).ok()?;
    let mut product = None;
    for stored in &ops {
        if mapped.is::<mapped::Gemm>(stored.op) {
            let number = product.map_or(0, |at: usize| at + 1);
            product = Some(number.min(products.len().saturating_sub(1)));
        }
        let Some(wanted) = product.and_then(|at| old.values.get(products.get(at)?)) else { continue };
        let Some(found) = stored.result.unpack_all().ok().map(|value| total(&value.parts)) else { continue };
        let tolerance = mapped_case.results.first()?.tolerance;
        let close = |(wanted, found): (&f64, &f64)| {
            wanted == found
                || (wanted.is_nan() && found.is_nan())
                || (found - wanted).abs() <= tolerance.absolute + tolerance.relative * wanted.abs()
        };
        let wanted_values = wanted.values();
        if wanted_values.len() == found.len() && wanted_values.iter().zip(&found).all(close) {
            continue;
        }
        finding.op = Some(OpAt::of(mapped, stored.op));
        finding.summary =
            format!("the value of `{}` is not that of the graph's product", mapped.name(stored.op));
        finding.element = first_far(mapped, stored.op, wanted, &found, close);
        return Some(());
    }
    let end = mapped.last_op(mapped.entry_block(mapped_case.entry, 0)?)?;
    finding.op = Some(OpAt::of(mapped, end));
    finding.summary = "every op is right, another value is returned".to_owned();
    Some(())
}

/// The sum of partials, element by element.
fn total(parts: &[TensorData]) -> Vec<f64> {
    let mut sum: Vec<f64> = Vec::new();
    for part in parts {
        let values = part.values();
        sum.resize(values.len(), 0.0);
        sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    sum
}

fn first_far(
    module: &Module,
    op: OpId,
    wanted: &TensorData,
    found: &[f64],
    close: impl Fn((&f64, &f64)) -> bool,
) -> Option<ElementAt> {
    let values = wanted.values();
    let wrong = |at: &usize| !close((&values[*at], &found[*at]));
    let count = values.len().min(found.len());
    let at = (0..count).find(wrong)?;
    let actual = TensorData::from_values(wanted.shape.clone(), wanted.element, found.iter().copied());
    Some(ElementAt {
        tensor: format!("`{}`", module.value_text(module.result(op, 0))),
        index: index_of(&wanted.shape, at),
        expected: number_of(wanted, at)?,
        actual: number_of(&actual, at),
        wrong: Some((at..count).filter(wrong).count() as u64),
    })
}

/// The op of the mapped program that multiplies or sums in another type than the graph declares.
pub(super) fn wrong_precision(
    (graph, graph_case): (&Module, &Case),
    (mapped, mapped_case): (&Module, &Case),
) -> Option<(OpId, String)> {
    let products = graph.ops_of(graph.entry_block(graph_case.entry, 0)?);
    let products = products.filter_map(|op| graph.cast::<Gemm>(op));
    let calls = mapped.ops_of(mapped.entry_block(mapped_case.entry, 0)?);
    let calls = calls.filter(|&op| mapped.is::<mapped::Gemm>(op));
    products.zip(calls).find_map(|(product, call)| {
        let element = |ty: &Type| TensorData::type_of(ty).ok().map(|(_, element)| element);
        let left = element(graph.value_type(product.left(graph)))?;
        let multiply = product.multiply(graph).and_then(ScaledElement::of).unwrap_or(left);
        for &operand in mapped.operands(call) {
            let found = element(mapped.value_type(operand))?;
            let cast = mapped.defining_op(operand).filter(|&op| mapped.is::<mapped::Cast>(op));
            // FP8 that is multiplied as it came keeps its own scale.
            let as_it_came = cast.is_none() && found.element == multiply.element;
            if found != multiply && !as_it_came {
                let (found, declared) = (found.ty()?, multiply.ty()?);
                let message = format!("the product multiplies in `{found}`, the graph declares `{declared}`");
                return Some((cast.unwrap_or(call), message));
            }
        }
        None
    })
}
