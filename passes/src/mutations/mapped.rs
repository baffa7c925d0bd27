//! Wrong plans.

use ipu_device::orders::ElementOrder;
use ipu_dialects::ipu::{AffineExpr, F143};
use ipu_dialects::ir::{Attribute, InsertionPoint, Module, OpId, OpState, Type, ValueId};
use ipu_dialects::mapped::layout::Layout;
use ipu_dialects::mapped::{Cast, Gemm, Relabel};

use super::{Mutation, Plant, SPLIT_SEED, first};
use crate::manager::state::main_program;

/// The seed's product on the plan that the planner takes.
const SEED: (&str, Option<&str>) = (SPLIT_SEED.0, None);

const fn mapped(
    name: &'static str,
    op: &'static str,
    summary: &'static str,
    (case, plan): (&'static str, Option<&'static str>),
    plant: fn(&mut Module) -> Option<()>,
) -> Mutation {
    Mutation { name, pass: "select-plans", op, summary, case, plan, plant: Plant::Module(plant) }
}

pub(super) static MUTATIONS: &[Mutation] = &[
    mapped("flat-cast", "mapped.relabel", "16-wide panels of a cast called 32-wide", SEED, flat_cast),
    mapped(
        "flat-cast-of-block",
        "mapped.relabel",
        "a cast that keeps 16-wide panels where the product reads 32-wide ones",
        SPLIT_SEED,
        flat_cast,
    ),
    mapped(
        "wrong-cast-kernel",
        "mapped.cast",
        "a kernel that does not regroup panels",
        SPLIT_SEED,
        wrong_cast_kernel,
    ),
    mapped(
        "wrong-panel-order",
        "mapped.relabel",
        "weights that arrive in rows and are called panels",
        SPLIT_SEED,
        wrong_panel_order,
    ),
    mapped(
        "swapped-grid-axes",
        "mapped.gemm",
        "blocks of the weights on each other's tiles",
        SPLIT_SEED,
        swapped_grid_axes,
    ),
    mapped("off-by-one-block", "mapped.gemm", "a block one column short", SPLIT_SEED, off_by_one_block),
    mapped("wrong-scale", "mapped.cast", "FP8 with another scale than declared", SPLIT_SEED, wrong_scale),
    mapped("wrong-kernel", "mapped.gemm", "the kernel of another type", SPLIT_SEED, wrong_kernel),
    mapped(
        "swapped-names",
        "mapped.func",
        "arguments under each other's names",
        ("gemm/both-inputs.ir", None),
        swapped_names,
    ),
];

fn layout_of(module: &Module, value: ValueId) -> Option<Layout> {
    module.value_type(value).as_tensor()?.encoding_as::<Layout>().cloned()
}

fn with_layout(ty: &Type, layout: Layout) -> Option<Type> {
    let tensor = ty.as_tensor()?;
    let encoding = Some(Attribute::dialect(layout));
    Some(Type::tensor(tensor.shape.clone(), tensor.element.clone(), encoding))
}

/// Calls `value` something of type `ty` for all of its users.
fn relabel(module: &mut Module, value: ValueId, after: OpId, ty: Type) -> Option<()> {
    let users: Vec<OpId> = module.uses(value).iter().map(|user| user.op).collect();
    let state = OpState::of::<Relabel>().operand(value).result(ty).named("mislabelled");
    let made = module.insert_new(InsertionPoint::After(after), state);
    module.inherit(made, &[after]);
    let labelled = module.result(made, 0);
    for user in users {
        let operands: Vec<ValueId> = module
            .operands(user)
            .iter()
            .map(|&operand| if operand == value { labelled } else { operand })
            .collect();
        module.set_operands(user, &operands);
    }
    Some(())
}

fn flat_cast(module: &mut Module) -> Option<()> {
    let cast = first::<Cast>(module)?;
    let (input, result) = (*module.operands(cast).first()?, module.result(cast, 0));
    let true_type = module.value_type(result).clone();
    let mut narrow = layout_of(module, result)?;
    narrow.order = ElementOrder::AmpLeft { inner: 16 };
    module.set_attribute(cast, "kernel", Attribute::symbol("cast_f16_f143_flat"));
    module.set_value_type(result, with_layout(&true_type, narrow)?);
    // An argument that was laid out for a flat cast is laid out as its own type wants it.
    let block = module.entry_block(main_program(module)?, 0)?;
    if let Some(index) = module.arguments(block).iter().position(|&argument| argument == input) {
        let mut layout = layout_of(module, input)?;
        layout.order = ElementOrder::AmpLeft { inner: 16 };
        let ty = with_layout(module.value_type(input), layout)?;
        set_argument(module, index, ty)?;
    }
    relabel(module, result, cast, true_type)
}

fn wrong_cast_kernel(module: &mut Module) -> Option<()> {
    let cast = first::<Cast>(module)?;
    module.set_attribute(cast, "kernel", Attribute::symbol("cast_f16_f143_flat"));
    Some(())
}

fn wrong_panel_order(module: &mut Module) -> Option<()> {
    let function = main_program(module)?;
    let weights = *module.arguments(module.entry_block(function, 0)?).get(1)?;
    let panels_type = module.value_type(weights).clone();
    let mut layout = layout_of(module, weights)?;
    layout.order = ElementOrder::RowMajor;
    let rows_type = with_layout(&panels_type, layout)?;
    let signature = module.attribute(function, "function_type")?.as_type()?.as_function()?;
    let (mut inputs, results) = (signature.inputs.clone(), signature.results.clone());
    *inputs.get_mut(1)? = rows_type.clone();
    module.set_attribute(function, "function_type", Attribute::ty(Type::function(inputs, results)));
    module.set_value_type(weights, rows_type);
    let gemm = first::<Gemm>(module)?;
    let state = OpState::of::<Relabel>().operand(weights).result(panels_type).named("b_panels");
    let panels = module.insert_new(InsertionPoint::Before(gemm), state);
    module.inherit(panels, &[gemm]);
    let panels = module.result(panels, 0);
    let &[left, _] = module.operands(gemm) else { return None };
    module.set_operands(gemm, &[left, panels]);
    Some(())
}

fn swapped_grid_axes(module: &mut Module) -> Option<()> {
    let block = module.entry_block(main_program(module)?, 0)?;
    let weights = *module.arguments(block).get(1)?;
    let mut layout = layout_of(module, weights)?;
    let id = AffineExpr::id;
    layout.tiles.expression =
        id(0).times(&AffineExpr::constant(4)).plus(&id(1)).plus(&id(2).times(&AffineExpr::constant(8)));
    let ty = with_layout(module.value_type(weights), layout)?;
    set_argument(module, 1, ty)
}

/// Gives argument `index` of the program another type.
fn set_argument(module: &mut Module, index: usize, ty: Type) -> Option<()> {
    let function = main_program(module)?;
    let block = module.entry_block(function, 0)?;
    let value = *module.arguments(block).get(index)?;
    let signature = module.attribute(function, "function_type")?.as_type()?.as_function()?.clone();
    let mut inputs = signature.inputs.clone();
    *inputs.get_mut(index)? = ty.clone();
    let function_type = Type::function(inputs, signature.results.clone());
    module.set_attribute(function, "function_type", Attribute::ty(function_type));
    module.set_value_type(value, ty);
    Some(())
}

fn off_by_one_block(module: &mut Module) -> Option<()> {
    let gemm = first::<Gemm>(module)?;
    let mut block = module.attribute(gemm, "block")?.as_i64_array()?.to_vec();
    *block.get_mut(1)? -= 1;
    module.set_attribute(gemm, "block", Attribute::i64_array(block));
    Some(())
}

fn wrong_scale(module: &mut Module) -> Option<()> {
    let cast = first::<Cast>(module)?;
    let result = module.result(cast, 0);
    let tensor = module.value_type(result).as_tensor()?.clone();
    let element = Type::dialect(F143::new(-3)?);
    module.set_value_type(result, Type::tensor(tensor.shape, element, tensor.encoding));
    Some(())
}

fn wrong_kernel(module: &mut Module) -> Option<()> {
    let gemm = first::<Gemm>(module)?;
    module.set_attribute(gemm, "kernel", Attribute::symbol("gemm_f16_f16"));
    Some(())
}

fn swapped_names(module: &mut Module) -> Option<()> {
    let function = main_program(module)?;
    let mut arguments = module.attribute(function, "arg_attrs")?.as_array()?.to_vec();
    let name = |attribute: &Attribute| attribute.entry("ipu.name").cloned();
    let names = [name(arguments.get(1)?)?, name(arguments.first()?)?];
    for (argument, name) in arguments.iter_mut().zip(names) {
        let mut entries = argument.as_dictionary()?.to_vec();
        entries.iter_mut().find(|(key, _)| key.as_str() == "ipu.name")?.1 = name;
        *argument = Attribute::dictionary(entries);
    }
    module.set_attribute(function, "arg_attrs", Attribute::array(arguments));
    Some(())
}
