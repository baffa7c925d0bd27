//! The generic form is canonical and reads back.

use super::{module, registry};
use crate::parser::{ParseOptions, parse_module};
use crate::printer::print_generic;

#[test]
fn names_order_aliases_and_comments_do_not_reach_it() {
    let one = module("// c\n#x = #ipu.iota\n%a = test.make {z = 1, b = #x} : i32\ntest.take %a\n");
    let two = module("%other = test.make {b = #ipu.iota, z = 0x1} : i32\ntest.take %other // c\n");
    assert_eq!(print_generic(&one, false), print_generic(&two, false));
    insta::assert_snapshot!(print_generic(&one, true), @r#"
    "builtin.module"() ({
      %0 = "test.make"() {b = #ipu.iota, z = 1} : () -> i32 loc("t.ir":3:1)
      "test.take"(%0) : (i32) -> () loc("t.ir":4:1)
    }) : () -> () loc(unknown)
    "#);
}

#[test]
fn it_reads_back_to_itself() {
    let text = "%i = test.index 1\n%a:2 = test.make : i32, i32\n%s = test.groups [%a#0, %a#1] to %i : (i32, i32, index) -> f32\ntest.counted %i as %k {\n  test.take %k, %i\n}\ntest.flow {\n  test.jump ^x\n^x:\n  test.stop\n}\n";
    let generic = print_generic(&module(text), false);
    assert_eq!(print_generic(&module(&generic), false), generic);
    insta::assert_snapshot!(generic, @r#"
    "builtin.module"() ({
      %0 = "test.index"() {value_is = 1} : () -> index
      %1:2 = "test.make"() : () -> (i32, i32)
      %2 = "test.groups"(%1#0, %1#1, %0) {operandSegmentSizes = array<i32: 2, 0, 1>} : (i32, i32, index) -> f32
      "test.counted"(%0) ({
      ^bb0(%3: index):
        "test.take"(%3, %0) : (index, index) -> ()
      }) : (index) -> ()
      "test.flow"() ({
        "test.jump"()[^bb1] : () -> ()
      ^bb1:
        "test.stop"() : () -> ()
      }) : () -> ()
    }) : () -> ()
    "#);
}

#[test]
fn undeclared_ops_types_and_attributes_are_kept_verbatim_when_allowed() {
    let text = "%0 = \"acme.op\"() <{p = #acme.x<[1, {a = \"b>\"}] -> c>}> ({\n  \"acme.in\"() : () -> ()\n}) {q} : () -> !acme.t<1 + 2>\n";
    let options = ParseOptions { registry: registry(), allow_unregistered: true };
    let (first, diagnostics) = parse_module("t.ir", text, options);
    assert_eq!(diagnostics.render(&first.sources), "");
    let generic = print_generic(&first, false);
    assert!(generic.contains("#acme.x<[1, {a = \"b>\"}] -> c>"), "{generic}");
    let (second, _) = parse_module("t.ir", generic.as_str(), options);
    assert_eq!(print_generic(&second, false), generic);
}
