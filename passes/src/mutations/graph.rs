//! Wrong graphs.

use ipu_dialects::graph::{Cast, Gemm, Return, Transpose};
use ipu_dialects::ipu::F143;
use ipu_dialects::ir::{Attribute, Module, OpId, Type};

use super::{Mutation, Plant, first};
use crate::manager::state::main_program;

/// A wrong graph on a file of test-ir/graph.
const fn graph(
    name: &'static str,
    op: &'static str,
    summary: &'static str,
    case: &'static str,
    plant: fn(&mut Module) -> Option<()>,
) -> Mutation {
    Mutation { name, pass: "canonicalize", op, summary, case, plan: None, plant: Plant::Module(plant) }
}

pub(super) static MUTATIONS: &[Mutation] = &[
    graph(
        "swapped-operands",
        "graph.gemm",
        "a product with its operands exchanged",
        "graph/five-ops.ir",
        swapped_operands,
    ),
    graph(
        "repeated-operand",
        "graph.gemm",
        "a value taken for another that is not equal",
        "graph/five-ops.ir",
        repeated_operand,
    ),
    graph(
        "dropped-transpose",
        "graph.transpose",
        "a transpose folded into a product that forgets it",
        "graph/transposed.ir",
        dropped_transpose,
    ),
    graph(
        "wrong-multiply-type",
        "graph.gemm",
        "a product in a coarser type than declared",
        "graph/five-ops.ir",
        wrong_multiply_type,
    ),
    graph(
        "lost-rounding",
        "graph.cast",
        "a cast that rounds dropped as if it did not",
        "graph/rounded.ir",
        lost_rounding,
    ),
    graph(
        "wrong-permutation",
        "graph.transpose",
        "a transpose that is the identity",
        "graph/returned.ir",
        wrong_permutation,
    ),
    graph(
        "wrong-return",
        "graph.return",
        "another value of the same type returned",
        "graph/two-products.ir",
        wrong_return,
    ),
];

fn swapped_operands(module: &mut Module) -> Option<()> {
    let gemm = first::<Gemm>(module)?;
    let &[left, right] = module.operands(gemm) else { return None };
    module.set_operands(gemm, &[right, left]);
    Some(())
}

fn repeated_operand(module: &mut Module) -> Option<()> {
    let gemm = first::<Gemm>(module)?;
    let &[left, _] = module.operands(gemm) else { return None };
    module.set_operands(gemm, &[left, left]);
    Some(())
}

fn dropped_transpose(module: &mut Module) -> Option<()> {
    let transpose = first::<Transpose>(module)?;
    let input = *module.operands(transpose).first()?;
    module.replace(transpose, &[input]);
    Some(())
}

fn wrong_multiply_type(module: &mut Module) -> Option<()> {
    let gemm = first::<Gemm>(module)?;
    module.attribute(gemm, "multiply")?;
    let coarse = Type::dialect(F143::new(-4)?);
    module.set_attribute(gemm, "multiply", Attribute::ty(coarse));
    Some(())
}

fn lost_rounding(module: &mut Module) -> Option<()> {
    // The narrow value and back: the wide value stands for both.
    let block = module.entry_block(main_program(module)?, 0)?;
    let casts: Vec<OpId> = module.ops_of(block).filter(|&op| module.is::<Cast>(op)).collect();
    let (narrow, wide) = casts.iter().find_map(|&wide| {
        let narrow = module.defining_op(*module.operands(wide).first()?)?;
        let wanted = module.value_type(module.result(wide, 0));
        let input = *module.operands(narrow).first()?;
        (casts.contains(&narrow) && module.value_type(input) == wanted).then_some((narrow, wide))
    })?;
    let input = *module.operands(narrow).first()?;
    module.replace(wide, &[input]);
    Some(())
}

fn wrong_permutation(module: &mut Module) -> Option<()> {
    let transpose = first::<Transpose>(module)?;
    let permutation = module.attribute(transpose, "permutation")?.as_i64_array()?.to_vec();
    let same = Attribute::i64_array((0..permutation.len() as i64).collect());
    module.set_attribute(transpose, "permutation", same);
    Some(())
}

fn wrong_return(module: &mut Module) -> Option<()> {
    let end = first::<Return>(module)?;
    let &[one, other, ..] = module.operands(end) else { return None };
    let mut values = module.operands(end).to_vec();
    values[0] = other;
    values[1] = one;
    module.set_operands(end, &values);
    Some(())
}
