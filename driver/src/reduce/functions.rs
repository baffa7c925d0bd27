//! Fewer ops, results and arguments of graph and mapped functions.

use ipu_dialects::case::Level;
use ipu_dialects::ipu::Normal;
use ipu_dialects::ir::{Attribute, InsertionPoint, Module, Name, OpId, OpState, Type, ValueId};
use ipu_passes::manager::state::main_program;
use rustc_hash::FxHashMap;

use super::{Candidate, Specimen};

/// Each op replaced by a value of its type that is there already or, in graphs, by a new argument.
pub(super) fn fewer_ops(specimen: &Specimen) -> Vec<Candidate> {
    let Some(function) = Function::of(&specimen.module) else { return Vec::new() };
    let module = &specimen.module;
    let mut found = Vec::new();
    for (place, &op) in function.ops.iter().enumerate().rev() {
        let &[result] = module.results(op) else { continue };
        let ty = module.value_type(result);
        let earlier = function.ops[..place].iter().flat_map(|&op| module.results(op));
        let values = function.arguments.iter().chain(earlier);
        let name = module.value_text(result);
        for &value in values.filter(|&&value| module.value_type(value) == ty) {
            let edit = Rebuild { replaced: vec![(result, Some(value))], ..Rebuild::default() };
            let text = format!("{name} is {}", module.value_text(value));
            found.extend(function.rebuilt(specimen, &edit).map(|smaller| Candidate::new(smaller, text)));
        }
        if function.level == Level::Graph && !module.is_unused(result) {
            let edit = Rebuild { replaced: vec![(result, None)], ..Rebuild::default() };
            let text = format!("{name} is an argument");
            found.extend(function.rebuilt(specimen, &edit).map(|smaller| Candidate::new(smaller, text)));
        }
    }
    found
}

/// Each result dropped.
pub(super) fn fewer_results(specimen: &Specimen) -> Vec<Candidate> {
    let Some(function) = Function::of(&specimen.module) else { return Vec::new() };
    let count = specimen.module.operands(function.end).len();
    if count < 2 {
        return Vec::new();
    }
    let without = |gone| {
        let edit = Rebuild { dropped_results: vec![gone], ..Rebuild::default() };
        let smaller = function.rebuilt(specimen, &edit)?;
        Some(Candidate::new(smaller, format!("drop result {gone}")))
    };
    (0..count).filter_map(without).collect()
}

/// Arguments that nothing uses dropped.
pub(super) fn fewer_arguments(specimen: &Specimen) -> Vec<Candidate> {
    let Some(function) = Function::of(&specimen.module) else { return Vec::new() };
    if function.level != Level::Graph {
        return Vec::new();
    }
    let unused = |&&value: &&ValueId| specimen.module.is_unused(value);
    let without = |&gone: &ValueId| {
        let edit = Rebuild { dropped_arguments: vec![gone], ..Rebuild::default() };
        let smaller = function.rebuilt(specimen, &edit)?;
        Some(Candidate::new(smaller, format!("drop argument {}", specimen.module.value_text(gone))))
    };
    function.arguments.iter().filter(unused).filter_map(without).collect()
}

/// `@main`, taken apart.
struct Function {
    op: OpId,
    level: Level,
    arguments: Vec<ValueId>,
    /// Without the return.
    ops: Vec<OpId>,
    end: OpId,
}

/// What to leave out.
#[derive(Default)]
struct Rebuild {
    /// Results of ops that go, and what stands for them: a value, or a new argument.
    replaced: Vec<(ValueId, Option<ValueId>)>,
    dropped_results: Vec<usize>,
    dropped_arguments: Vec<ValueId>,
}

impl Function {
    fn of(module: &Module) -> Option<Self> {
        let op = main_program(module)?;
        let level = Level::of(module, op).filter(|level| *level <= Level::Mapped)?;
        let block = module.entry_block(op, 0)?;
        let mut ops: Vec<OpId> = module.ops_of(block).collect();
        let end = ops.pop()?;
        Some(Self { op, level, arguments: module.arguments(block).to_vec(), ops, end })
    }

    /// The specimen with the function made anew without what `edit` leaves out, and without ops that nothing uses.
    fn rebuilt(&self, specimen: &Specimen, edit: &Rebuild) -> Option<Specimen> {
        let mut smaller = specimen.clone();
        let module = &mut smaller.module;
        let signature = module.attribute(self.op, "function_type")?.as_type()?.as_function()?.clone();
        let mut parts = Parts::of(module, self.op, &signature.inputs, &signature.results);
        let region = module.create_region();
        let block = module.append_block(region);
        let mut mapping: FxHashMap<ValueId, ValueId> = FxHashMap::default();
        for (number, &argument) in self.arguments.iter().enumerate().rev() {
            if edit.dropped_arguments.contains(&argument) {
                parts.inputs.remove(number);
            }
        }
        for &argument in self.arguments.iter().filter(|argument| !edit.dropped_arguments.contains(argument)) {
            let name = module.value_name(argument).map(str::to_owned);
            let ty = module.value_type(argument).clone();
            mapping.insert(argument, module.add_argument(block, ty, name.as_deref()));
        }
        for &(value, stand_in) in &edit.replaced {
            let made = match stand_in {
                Some(other) => other,
                None => {
                    let (name, ty) =
                        (module.value_name(value).map(str::to_owned), module.value_type(value).clone());
                    parts.inputs.push((ty.clone(), generated(parts.inputs.len())?));
                    let argument = module.add_argument(block, ty, name.as_deref());
                    mapping.insert(value, argument);
                    continue;
                }
            };
            // An argument has its copy already, the copy of an op comes later.
            mapping.insert(value, mapping.get(&made).copied().unwrap_or(made));
        }
        let kept: Vec<usize> =
            (0..module.operands(self.end).len()).filter(|at| !edit.dropped_results.contains(at)).collect();
        let replaced =
            |value: ValueId| edit.replaced.iter().find(|(gone, _)| *gone == value).map(|(_, by)| *by);
        let resolve = |value: ValueId| replaced(value).flatten().unwrap_or(value);
        let needed = self.needed(module, &kept, &|value| (resolve(value), replaced(value) == Some(None)));
        for &op in self.ops.iter().filter(|op| needed.contains(op)) {
            let copy = module.clone_op(op, &mut mapping);
            module.insert(InsertionPoint::BlockEnd(block), copy);
            for (value, stand_in) in &edit.replaced {
                if let Some(made) = stand_in.and_then(|stand_in| mapping.get(&stand_in).copied()) {
                    mapping.insert(*value, made);
                }
            }
        }
        let returned: Option<Vec<ValueId>> =
            kept.iter().map(|&at| mapping.get(module.operands(self.end).get(at)?).copied()).collect();
        let end = OpState::new(module.kind(self.end)).operands(returned?);
        let end = module.create_op(end);
        module.insert(InsertionPoint::BlockEnd(block), end);
        parts.results = kept.iter().filter_map(|&at| parts.results.get(at).cloned()).collect();
        self.replace(module, region, &parts)?;
        Some(smaller)
    }

    /// Ops whose results reach the kept returns.
    fn needed(
        &self,
        module: &Module,
        kept: &[usize],
        resolve: &dyn Fn(ValueId) -> (ValueId, bool),
    ) -> rustc_hash::FxHashSet<OpId> {
        let mut needed = rustc_hash::FxHashSet::default();
        let mut open: Vec<ValueId> =
            kept.iter().filter_map(|&at| module.operands(self.end).get(at).copied()).collect();
        while let Some(value) = open.pop() {
            let (value, is_argument) = resolve(value);
            let Some(op) = module.defining_op(value).filter(|_| !is_argument) else { continue };
            if needed.insert(op) {
                open.extend(module.operands(op));
            }
        }
        needed
    }

    fn replace(&self, module: &mut Module, region: ipu_dialects::ir::RegionId, parts: &Parts) -> Option<()> {
        let mut state = OpState::new(module.kind(self.op)).region(region);
        for (name, value) in module.attributes(self.op).to_vec() {
            state = state.attribute(name, value);
        }
        let made = module.insert_new(InsertionPoint::Before(self.op), state);
        module.inherit(made, &[self.op]);
        module.erase(self.op);
        let (inputs, arguments): (Vec<Type>, Vec<Attribute>) = parts.inputs.iter().cloned().unzip();
        let (results, returned): (Vec<Type>, Vec<Attribute>) = parts.results.iter().cloned().unzip();
        module.set_attribute(made, "function_type", Attribute::ty(Type::function(inputs, results)));
        module.set_attribute(made, "arg_attrs", Attribute::array(arguments));
        module.set_attribute(made, "res_attrs", Attribute::array(returned));
        Some(())
    }
}

/// Types and dictionaries of arguments and results.
struct Parts {
    inputs: Vec<(Type, Attribute)>,
    results: Vec<(Type, Attribute)>,
}

impl Parts {
    fn of(module: &Module, function: OpId, inputs: &[Type], results: &[Type]) -> Self {
        let list = |name: &str, types: &[Type]| {
            let all = module.attribute(function, name).and_then(Attribute::as_array).unwrap_or(&[]);
            let entry = |(at, ty): (usize, &Type)| {
                (ty.clone(), all.get(at).cloned().unwrap_or_else(|| Attribute::dictionary(Vec::new())))
            };
            types.iter().enumerate().map(entry).collect()
        };
        Self { inputs: list("arg_attrs", inputs), results: list("res_attrs", results) }
    }
}

/// Random data for a new argument.
fn generated(number: usize) -> Option<Attribute> {
    let data = Attribute::dialect(Normal::new(100 + number as u64, 0.25)?);
    Some(Attribute::dictionary(vec![(Name::intern("ipu.data"), data)]))
}
