//! Fewer ops, results and arguments of graph and mapped functions.

use ipu_dialects::case::Level;
use ipu_dialects::ipu::Normal;
use ipu_dialects::ir::{Attribute, BlockId, Module, Name, OpId, Type, ValueId};
use ipu_passes::manager::state::main_program;

use super::{Candidate, Specimen};

/// Each op replaced by a value of its type that is there already or, in graphs, by a new argument.
pub(super) fn fewer_ops(specimen: &Specimen) -> Vec<Candidate> {
    let module = &specimen.module;
    let Some(function) = Function::of(module) else { return Vec::new() };
    let mut found = Vec::new();
    for (place, &op) in function.ops.iter().enumerate().rev() {
        let &[result] = module.results(op) else { continue };
        let (ty, name) = (module.value_type(result), module.value_text(result));
        let earlier = function.ops[..place].iter().flat_map(|&op| module.results(op));
        let values = module.arguments(function.block).iter().chain(earlier);
        for &value in values.filter(|&&value| module.value_type(value) == ty) {
            let mut smaller = specimen.clone();
            smaller.module.replace_all_uses(result, value);
            function.drop_unused(&mut smaller.module);
            found.push(Candidate::new(smaller, format!("{name} is {}", module.value_text(value))));
        }
        if function.level == Level::Graph && !module.is_unused(result) {
            let mut smaller = specimen.clone();
            let argument = function.add_argument(&mut smaller.module, ty.clone(), module.value_name(result));
            if let Some(argument) = argument {
                smaller.module.replace_all_uses(result, argument);
                function.drop_unused(&mut smaller.module);
                found.push(Candidate::new(smaller, format!("{name} is an argument")));
            }
        }
    }
    found
}

/// Each result dropped.
pub(super) fn fewer_results(specimen: &Specimen) -> Vec<Candidate> {
    let Some(function) = Function::of(&specimen.module) else { return Vec::new() };
    let returned = specimen.module.operands(function.end);
    let without = |gone: usize| {
        let mut smaller = specimen.clone();
        let kept: Vec<ValueId> = all_but(returned, gone);
        smaller.module.set_operands(function.end, &kept);
        function.drop_unused(&mut smaller.module);
        function.change_signature(&mut smaller.module, |signature| {
            signature.results = all_but(&signature.results, gone);
        });
        Candidate::new(smaller, format!("drop result {gone}"))
    };
    (0..returned.len()).filter(|_| returned.len() > 1).map(without).collect()
}

/// Each argument that nothing uses dropped.
pub(super) fn fewer_arguments(specimen: &Specimen) -> Vec<Candidate> {
    let Some(function) = Function::of(&specimen.module) else { return Vec::new() };
    let arguments = specimen.module.arguments(function.block);
    let unused = |at: &usize| function.level == Level::Graph && specimen.module.is_unused(arguments[*at]);
    let without = |gone: usize| {
        let mut smaller = specimen.clone();
        smaller.module.remove_argument(function.block, gone);
        function.change_signature(&mut smaller.module, |signature| {
            signature.inputs = all_but(&signature.inputs, gone);
        });
        Candidate::new(smaller, format!("drop argument {}", specimen.module.value_text(arguments[gone])))
    };
    (0..arguments.len()).filter(unused).map(without).collect()
}

fn all_but<T: Clone>(list: &[T], gone: usize) -> Vec<T> {
    list.iter().enumerate().filter(|(at, _)| *at != gone).map(|(_, one)| one.clone()).collect()
}

/// `@main`, taken apart.
struct Function {
    op: OpId,
    level: Level,
    block: BlockId,
    /// Without the return.
    ops: Vec<OpId>,
    end: OpId,
}

/// Types and dictionaries of arguments and results.
struct Signature {
    inputs: Vec<(Type, Attribute)>,
    results: Vec<(Type, Attribute)>,
}

impl Function {
    fn of(module: &Module) -> Option<Self> {
        let op = main_program(module)?;
        let level = Level::of(module, op).filter(|level| *level <= Level::Mapped)?;
        let block = module.entry_block(op, 0)?;
        let mut ops: Vec<OpId> = module.ops_of(block).collect();
        let end = ops.pop()?;
        Some(Self { op, level, block, ops, end })
    }

    /// Erases ops whose results nothing uses, and those that only they used.
    fn drop_unused(&self, module: &mut Module) {
        for &op in self.ops.iter().rev() {
            if module.results(op).iter().all(|&value| module.is_unused(value)) {
                module.erase(op);
            }
        }
    }

    /// A new last argument with random data.
    fn add_argument(&self, module: &mut Module, ty: Type, name: Option<&str>) -> Option<ValueId> {
        let data = generated(module.arguments(self.block).len())?;
        self.change_signature(module, |signature| signature.inputs.push((ty.clone(), data)));
        Some(module.add_argument(self.block, ty, name))
    }

    fn change_signature(&self, module: &mut Module, change: impl FnOnce(&mut Signature)) {
        let Some(mut signature) = self.signature(module) else { return };
        change(&mut signature);
        let (inputs, arguments): (Vec<Type>, Vec<Attribute>) = signature.inputs.into_iter().unzip();
        let (results, returned): (Vec<Type>, Vec<Attribute>) = signature.results.into_iter().unzip();
        module.set_attribute(self.op, "function_type", Attribute::ty(Type::function(inputs, results)));
        module.set_attribute(self.op, "arg_attrs", Attribute::array(arguments));
        module.set_attribute(self.op, "res_attrs", Attribute::array(returned));
    }

    fn signature(&self, module: &Module) -> Option<Signature> {
        let types = module.attribute(self.op, "function_type")?.as_type()?.as_function()?;
        let list = |name: &str, types: &[Type]| {
            let all = module.attribute(self.op, name).and_then(Attribute::as_array).unwrap_or(&[]);
            let entry = |(at, ty): (usize, &Type)| {
                (ty.clone(), all.get(at).cloned().unwrap_or_else(|| Attribute::dictionary(Vec::new())))
            };
            types.iter().enumerate().map(entry).collect()
        };
        Some(Signature {
            inputs: list("arg_attrs", &types.inputs),
            results: list("res_attrs", &types.results),
        })
    }
}

/// Random data for a new argument.
fn generated(number: usize) -> Option<Attribute> {
    let data = Attribute::dialect(Normal::new(100 + number as u64, 0.25)?);
    Some(Attribute::dictionary(vec![(Name::intern("ipu.data"), data)]))
}
