//! Shorter axes, fewer parts of them, fewer tiles.
//!
//! Axes that must be equal by what the ops say form a class and shrink together, in every function of the file; the parts, copies
//! and partials that layouts give a class shrink in proportion.

use std::collections::{BTreeMap, BTreeSet};

use ipu_device::LogicalTile;
use ipu_device::topology::TILE_COUNT;
use ipu_dialects::ir::{AliasValue, Attribute, AttributeKind, Module, OpId, TensorType, Type, ValueId};
use ipu_dialects::mapped::ShardedTensor;
use ipu_dialects::mapped::layout::{Layout, Replicas};
use ipu_passes::manager::state::main_program;
use petgraph::unionfind::UnionFind;

use super::{Candidate, Specimen};

const TILES: &str = "ipu.tiles";

/// Tiles that the program may use, or does.
pub(super) fn tiles(module: &Module) -> u64 {
    let Some(main) = main_program(module) else { return 0 };
    let laid_out: BTreeSet<LogicalTile> = values(module)
        .into_iter()
        .filter_map(|value| ShardedTensor::of(module, value).ok())
        .flat_map(|tensor| tensor.placement.tiles().to_vec())
        .collect();
    if !laid_out.is_empty() {
        return laid_out.len() as u64;
    }
    let declared = module.attribute(main, TILES).and_then(Attribute::as_i64);
    let named = || {
        let program = ipu_dialects::exchange::Program::read(module, main).ok()?;
        Some(program.tiles.len() as u64)
    };
    declared.and_then(|tiles| u64::try_from(tiles).ok()).or_else(named).unwrap_or(TILE_COUNT.into())
}

/// Powers of two below the number of tiles.
pub(super) fn fewer_tiles(specimen: &Specimen) -> Vec<Candidate> {
    let Some(main) = main_program(&specimen.module) else { return Vec::new() };
    let now = tiles(&specimen.module);
    let ty = specimen.module.attribute(main, TILES).and_then(|tiles| match tiles.kind() {
        AttributeKind::Integer(value) => Some(value.ty.clone()),
        _ => None,
    });
    let ty = ty.unwrap_or_else(|| Type::integer(64));
    let fewer = |tiles: u64| {
        let mut smaller = specimen.clone();
        smaller.module.set_attribute(main, TILES, Attribute::integer(tiles.into(), ty.clone()));
        Candidate::new(smaller, format!("{tiles} tiles"))
    };
    powers(now).map(fewer).collect()
}

/// 1, 2, 4, ... below `most`.
fn powers(most: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(1u64), |power| power.checked_mul(2)).take_while(move |&power| power < most)
}

/// Every class of axes made shorter, with fewer parts in proportion and with the parts that it has.
pub(super) fn shorter_axes(specimen: &Specimen) -> Vec<Candidate> {
    let mut found = Vec::new();
    for class in Class::all(&specimen.module) {
        for shorter in powers(class.length).chain([class.length - 1]) {
            let ways: &[bool] = if class.parts.is_empty() { &[false] } else { &[true, false] };
            for &fewer_parts in ways {
                let mut smaller = specimen.clone();
                class.shorten(&mut smaller.module, shorter, fewer_parts);
                let parts = if fewer_parts { ", parts in proportion" } else { "" };
                let edit = format!("axes of {} are {shorter}{parts}", class.length);
                found.push(Candidate::new(smaller, edit));
            }
        }
    }
    found
}

/// Axes that are equal.
struct Class {
    length: u64,
    axes: BTreeSet<(ValueId, usize)>,
    /// Numbers of parts that layouts cut them into.
    parts: BTreeSet<u32>,
}

impl Class {
    /// The classes of axes above 1, longest first.
    fn all(module: &Module) -> Vec<Self> {
        let axes = Axes::of(module);
        let mut classes: BTreeMap<usize, Self> = BTreeMap::new();
        for (number, &(value, axis)) in axes.list.iter().enumerate() {
            let Some(tensor) = module.value_type(value).as_tensor() else { continue };
            let Some(&length) = tensor.shape.get(axis).filter(|length| **length > 1) else { continue };
            let class = classes.entry(axes.classes.find(number)).or_insert_with(|| Self {
                length,
                axes: BTreeSet::new(),
                parts: BTreeSet::new(),
            });
            class.axes.insert((value, axis));
            let layout = tensor.encoding_as::<Layout>();
            class.parts.extend(layout.and_then(|layout| layout.split.get(axis)));
        }
        let mut all: Vec<Self> = classes.into_values().collect();
        all.sort_by_key(|class| std::cmp::Reverse(class.length));
        all
    }

    fn shorten(&self, module: &mut Module, shorter: u64, fewer_parts: bool) {
        for value in values(module) {
            if let Some(tensor) = module.value_type(value).as_tensor().cloned() {
                let TensorType { shape, element, encoding } =
                    self.short(value, &tensor, shorter, fewer_parts);
                // A layout keeps its name in the text.
                for alias in &mut module.aliases {
                    let named = matches!(&alias.value, AliasValue::Attribute(named) if Some(named) == tensor.encoding.as_ref());
                    if let (true, Some(encoding)) = (named, &encoding) {
                        alias.value = AliasValue::Attribute(encoding.clone());
                    }
                }
                module.set_value_type(value, Type::tensor(shape, element, encoding));
            }
        }
        let functions: Vec<OpId> = module
            .walk(module.root())
            .filter(|&op| module.attribute(op, "function_type").is_some())
            .collect();
        for function in functions {
            let Some(block) = module.entry_block(function, 0) else { continue };
            let types =
                |values: &[ValueId]| values.iter().map(|&value| module.value_type(value).clone()).collect();
            let inputs: Vec<Type> = types(module.arguments(block));
            let results: Vec<Type> =
                module.last_op(block).map(|end| types(module.operands(end))).unwrap_or_default();
            module.set_attribute(function, "function_type", Attribute::ty(Type::function(inputs, results)));
        }
    }

    fn short(&self, value: ValueId, tensor: &TensorType, shorter: u64, fewer_parts: bool) -> TensorType {
        let mut short = tensor.clone();
        let mut layout = tensor.encoding_as::<Layout>().cloned();
        let scaled = |count: u32| {
            let product = u64::from(count) * shorter / self.length;
            u32::try_from(product.max(1)).unwrap_or(count)
        };
        for (axis, extent) in short.shape.iter_mut().enumerate() {
            if !self.axes.contains(&(value, axis)) {
                continue;
            }
            *extent = shorter;
            let split = layout.as_mut().and_then(|layout| layout.split.get_mut(axis));
            if let Some(split) = split.filter(|_| fewer_parts) {
                *split = scaled(*split);
            }
        }
        if let Some(layout) = &mut layout {
            // Copies and partials stand for the parts of an axis that the tensor does not have.
            let stands = |count: u32| fewer_parts && self.parts.contains(&count) && !self.has(value);
            layout.replicas = match layout.replicas {
                Replicas::Copies(count) if stands(count) => Replicas::Copies(scaled(count)),
                Replicas::Partial(count) if stands(count) => Replicas::Partial(scaled(count)),
                other => other,
            };
            short.encoding = Some(Attribute::dialect(layout.clone()));
        }
        short
    }

    fn has(&self, value: ValueId) -> bool {
        self.axes.range((value, 0)..=(value, usize::MAX)).next().is_some()
    }
}

fn values(module: &Module) -> Vec<ValueId> {
    let mut all = Vec::new();
    for op in module.walk(module.root()) {
        all.extend(module.results(op));
        all.extend(module.entry_block(op, 0).map(|block| module.arguments(block)).unwrap_or_default());
    }
    all
}

/// All axes of all values, and which are equal.
struct Axes {
    list: Vec<(ValueId, usize)>,
    numbers: BTreeMap<(ValueId, usize), usize>,
    classes: UnionFind<usize>,
}

impl Axes {
    fn of(module: &Module) -> Self {
        let rank =
            |value: ValueId| module.value_type(value).as_tensor().map_or(0, |tensor| tensor.shape.len());
        let list: Vec<(ValueId, usize)> = values(module)
            .into_iter()
            .flat_map(|value| (0..rank(value)).map(move |axis| (value, axis)))
            .collect();
        let numbers = list.iter().enumerate().map(|(number, &axis)| (axis, number)).collect();
        let classes = UnionFind::new(list.len());
        let mut axes = Self { list, numbers, classes };
        for op in module.walk(module.root()) {
            axes.of_op(module, op);
        }
        axes.of_functions(module);
        axes
    }

    fn equal(&mut self, one: (ValueId, usize), other: (ValueId, usize)) {
        if let (Some(&one), Some(&other)) = (self.numbers.get(&one), self.numbers.get(&other)) {
            self.classes.union(one, other);
        }
    }

    /// Equal axis by axis.
    fn alike(&mut self, one: ValueId, other: ValueId) {
        for axis in 0..8 {
            self.equal((one, axis), (other, axis));
        }
    }

    fn of_op(&mut self, module: &Module, op: OpId) {
        let (operands, results) = (module.operands(op), module.results(op));
        match (module.name(op).as_str(), operands, results) {
            ("graph.gemm" | "mapped.gemm", &[left, right], &[result]) => {
                let flag = |name| usize::from(module.attribute(op, name).is_some());
                let (swap_left, swap_right) = (flag("transpose_left"), flag("transpose_right"));
                self.equal((left, swap_left), (result, 0));
                self.equal((left, 1 - swap_left), (right, swap_right));
                self.equal((right, 1 - swap_right), (result, 1));
            }
            ("graph.transpose", &[input], &[result]) => {
                let permutation = module.attribute(op, "permutation").and_then(Attribute::as_i64_array);
                for (axis, &from) in permutation.unwrap_or_default().iter().enumerate() {
                    self.equal((result, axis), (input, usize::try_from(from).unwrap_or(usize::MAX)));
                }
            }
            ("graph.reshape", ..) => {}
            (_, &[input], &[result]) => self.alike(input, result),
            _ => {}
        }
    }

    /// Functions of one file take and give the same tensors.
    fn of_functions(&mut self, module: &Module) {
        let functions: Vec<OpId> = module
            .direct_children(module.root())
            .filter(|&op| module.attribute(op, "function_type").is_some())
            .collect();
        let parts = |op: OpId| {
            let block = module.entry_block(op, 0)?;
            let returned = module.last_op(block).map(|end| module.operands(end).to_vec()).unwrap_or_default();
            Some((module.arguments(block).to_vec(), returned))
        };
        for pair in functions.windows(2) {
            let (Some(one), Some(other)) = (parts(pair[0]), parts(pair[1])) else { continue };
            one.0.iter().zip(&other.0).for_each(|(&one, &other)| self.alike(one, other));
            one.1.iter().zip(&other.1).for_each(|(&one, &other)| self.alike(one, other));
        }
    }
}
