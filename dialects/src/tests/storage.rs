//! The storage: uses, order, replacement, cloning, size.

use ipu_device::hash::HashMap;

use super::dialect::{Index, Same, Take};
use super::module;
use crate::declaration::Op;
use crate::ir::{Attribute, Builder, InsertionPoint, Module, Name, OpId, Origin, Type};
use crate::printer::print_module;

fn ops(module: &Module) -> Vec<OpId> {
    module.ops_of(module.body()).collect()
}

#[test]
fn a_replacing_op_inherits_name_comments_place_and_origin() {
    let mut module = module("// why\n%x = test.index 1  // how\ntest.take %x, %x\n");
    let old = ops(&module)[0];
    module.set_origin(old, Some(Origin::new("main/x", vec![])));
    let mut builder = Builder::replacing(&mut module, old, Name::of("improve"));
    let new = builder.value(Index::state().result(Type::index()).attribute("value_is", Attribute::i64(2)));
    module.replace(old, &[new]);
    let text = print_module(&module);
    assert!(text.starts_with("// why\n%x = test.index 2 loc(#loc0)  // how\ntest.take %x, %x\n"), "{text}");
    assert!(text.contains("fused<#ipu.origin<\"main/x\", [\"improve\"]>>[\"t.ir\":2:1]"), "{text}");
    assert_eq!(module.use_count(new), 2);
    assert!(!module.is_live(old));
}

#[test]
fn equal_names_are_made_to_differ_when_printed() {
    let mut module = module("%x = test.index 1\n");
    let point = InsertionPoint::BlockEnd(module.body());
    module.insert_new(
        point,
        Index::state().result(Type::index()).named("x").attribute("value_is", Attribute::i64(2)),
    );
    assert_eq!(print_module(&module), "%x = test.index 1\n%x_0 = test.index 2\n");
}

#[test]
fn uses_stay_exact_through_changes() {
    let mut module =
        module("%a = test.index 1\n%b = test.index 2\ntest.take %a, %b, %a\n%c = test.same %a\n");
    let all = ops(&module);
    let (a, b) = (module.result(all[0], 0), module.result(all[1], 0));
    assert_eq!(module.uses(a).len(), 3);
    for _ in 0..100 {
        module.set_operand(all[2], 0, b);
        module.set_operand(all[2], 0, a);
    }
    assert_eq!((module.use_count(a), module.uses(a).len(), module.use_count(b)), (3, 3, 1));
    module.erase(all[3]);
    assert_eq!(module.uses(a).len(), 2);
    module.replace_all_uses(a, b);
    assert!(module.is_unused(a));
    assert_eq!(module.cast::<Take>(all[2]).map(|take| take.values(&module).to_vec()), Some(vec![b, b, b]));
}

#[test]
fn moving_keeps_the_order_of_the_rest() {
    let mut module = module("test.tagged | 1\ntest.tagged | 2\ntest.tagged | 3\n");
    let all = ops(&module);
    module.move_op(all[2], InsertionPoint::Before(all[0]));
    assert_eq!(ops(&module), [all[2], all[0], all[1]]);
    module.erase(all[0]);
    assert_eq!(ops(&module), [all[2], all[1]]);
}

#[test]
fn a_clone_is_a_copy_with_its_own_values() {
    let text = "%i = test.index 1\ntest.counted %i as %k {\n  %x = test.same %k\n  test.take %x, %i\n}\n";
    let mut module = module(text);
    let counted = ops(&module)[1];
    let copy = module.clone_op(counted, &mut HashMap::default());
    module.insert(InsertionPoint::After(counted), copy);
    let body = &text[text.find("test.counted").expect("there")..];
    assert_eq!(print_module(&module), format!("{text}{body}"));
    let order = module.walk_post_order(module.root());
    assert_eq!(order.last(), Some(&module.root()));
    assert_eq!(order.len(), module.walk(module.root()).count());
}

#[test]
fn half_a_million_ops_are_built_walked_printed_and_dropped() {
    let mut module = Module::new();
    let body = module.body();
    let mut builder = Builder::new(&mut module, InsertionPoint::BlockEnd(body));
    let mut value =
        builder.value(Index::state().result(Type::index()).attribute("value_is", Attribute::i64(1)));
    for _ in 0..500_000 {
        value = builder.value(Same::state().operand(value).result(Type::index()));
    }
    assert_eq!(module.walk(module.root()).count(), 500_002);
    assert!(print_module(&module).ends_with("%500000 = test.same %499999\n"));
}
