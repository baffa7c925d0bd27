//! What the verifier refuses.

use super::{module, registry};
use crate::parser::{ParseOptions, parse_module};
use crate::verifier::{VerifyOptions, verify};

fn faults(text: &str) -> String {
    let module = module(text);
    match verify(&module, VerifyOptions::default()) {
        Ok(_) => String::new(),
        Err(diagnostics) => diagnostics.render(&module.sources),
    }
}

#[test]
fn sound_texts_pass() {
    assert_eq!(faults("%i = test.index 1\ntest.counted %i as %k {\n  test.take %k, %i\n}\n"), "");
    let blocks = "%i = test.index 1\ntest.flow {\n  %x = test.index 2\n  test.jump ^b\n^b:\n  test.take %x, %i\n  test.stop\n}";
    assert_eq!(faults(blocks), "");
}

#[test]
fn an_undeclared_op_is_refused_unless_it_is_allowed() {
    let options = ParseOptions { registry: registry(), allow_unregistered: true };
    let (module, _) = parse_module("t.ir", "\"other.log\"() : () -> ()", options);
    let refused = verify(&module, VerifyOptions::default()).unwrap_err();
    insta::assert_snapshot!(refused.render(&module.sources), @r##"
        t.ir:1:1: error[V0101]: no dialect declares `other.log`
          | "other.log"() : () -> ()
          | ^^^^^^^^^^^^^^^^^^^^^^^^
        "##);
    assert!(verify(&module, VerifyOptions { allow_unregistered: true }).is_ok());
}

#[test]
fn a_value_from_outside_of_an_isolated_op_is_refused() {
    let mut module = module("%i = test.index 1\ntest.table @t {\n  %j = test.index 2\n  test.take %j, %j\n}");
    let ops: Vec<_> = module.walk(module.root()).collect();
    let named = |name: &str| ops.iter().copied().find(|&op| module.name(op).as_str() == name).unwrap();
    let (index, take) = (named("test.index"), named("test.take"));
    let outside = module.result(index, 0);
    module.set_operand(take, 0, outside);
    let refused = verify(&module, VerifyOptions::default()).unwrap_err();
    let codes: Vec<&str> = refused.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["V0202"]);
}

#[test]
fn attributes_of_the_device_mean_something_on_every_op() {
    insta::assert_snapshot!(faults("builtin.module attributes {ipu.tiles = 1473} {}"), @r##"
        t.ir:1:1: error[V0105]: attribute `ipu.tiles` of `builtin.module` must be a number of tiles, 1 to 1472, not `1473`
          | builtin.module attributes {ipu.tiles = 1473} {}
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        "##);
    let function = |attributes: &str| {
        let text =
            format!("graph.func @f(%a: tensor<4xf16>{attributes} {{\n  graph.return %a : tensor<4xf16>\n}}");
        faults(&text)
    };
    let one = |dictionary: &str| function(&format!(" {{{dictionary}}}) -> tensor<4xf16>"));
    assert_eq!(one("ipu.kind = \"weight\", ipu.name = \"a\""), "");
    insta::assert_snapshot!(one("ipu.kind = \"weigth\""), @r##"
        t.ir:1:1: error[V0105]: attribute `ipu.kind` of argument 0 of `graph.func` must be `"input"` or `"weight"`, not `"weigth"`
          | graph.func @f(%a: tensor<4xf16> {ipu.kind = "weigth"}) -> tensor<4xf16> {
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          = note: did you mean `"weight"`?
        "##);
    insta::assert_snapshot!(one("ipu.name = 1"), @r##"
        t.ir:1:1: error[V0105]: attribute `ipu.name` of argument 0 of `graph.func` must be a string, not `1`
          | graph.func @f(%a: tensor<4xf16> {ipu.name = 1}) -> tensor<4xf16> {
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        "##);
    let both = ", %b: tensor<4xf16> {ipu.name = \"arg0\"}) -> (tensor<4xf16> {ipu.name = \"arg0\"})";
    insta::assert_snapshot!(function(both), @r##"
        t.ir:1:1: error[V0301]: argument 0 and argument 1 of `graph.func` are both called `arg0`; give one another `ipu.name`
          | graph.func @f(%a: tensor<4xf16>, %b: tensor<4xf16> {ipu.name = "arg0"}) -> (tensor<4xf16> {ipu.name = "arg0"}) {
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        t.ir:1:1: error[V0301]: argument 1 and result 0 of `graph.func` are both called `arg0`; give one another `ipu.name`
          | graph.func @f(%a: tensor<4xf16>, %b: tensor<4xf16> {ipu.name = "arg0"}) -> (tensor<4xf16> {ipu.name = "arg0"}) {
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        "##);
}

#[test]
fn structure_is_checked() {
    insta::assert_snapshot!(faults("\"test.take\"(%i) : (index) -> ()\n%i = test.index 1"), @r##"
        t.ir:1:1: error[V0201]: `%i` is used where it is not defined
          | "test.take"(%i) : (index) -> ()
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          = t.ir:2:1: defined here
        "##);
    insta::assert_snapshot!(faults("test.flow {\n  test.tagged | 1\n}\ntest.flow {\n  test.stop\n  test.stop\n}"), @r##"
        t.ir:1:1: error[V0203]: a block of `test.flow` does not end in a terminator
          | test.flow {
          | ^^^^^^^^^
        t.ir:5:3: error[V0203]: `test.stop` ends its block, but more ops follow
          |   test.stop
          |   ^^^^^^^^^
        "##);
    insta::assert_snapshot!(faults("test.table @a {\n}\ntest.table @a {\n}\ntest.notations of @b unlabelled"), @r##"
        t.ir:3:1: error[V0301]: symbol `@a` is defined twice in `builtin.module`
          | test.table @a {
          | ^^^^^^^^^^^^^
          = t.ir:1:1: the first definition
        t.ir:5:1: error[V0302]: `test.notations` refers to `@b`, which is not defined
          | test.notations of @b unlabelled
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          = note: did you mean `@a`?
        "##);
    insta::assert_snapshot!(faults("\"test.index\"() : () -> i32\n\"test.index\"() {value_is = \"x\", valu_is = 1} : () -> index"), @r##"
        t.ir:1:1: error[V0103]: result `value` of `test.index` must be an index, not `i32`
          | "test.index"() : () -> i32
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^
        t.ir:1:1: error[V0104]: `test.index` needs attribute `value_is`, an integer of 64 bits
          | "test.index"() : () -> i32
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^
        t.ir:2:1: error[V0105]: attribute `value_is` of `test.index` must be an integer of 64 bits, not `"x"`
          | "test.index"() {value_is = "x", valu_is = 1} : () -> index
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        t.ir:2:1: error[V0106]: `test.index` has no attribute `valu_is`
          | "test.index"() {value_is = "x", valu_is = 1} : () -> index
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          = note: did you mean `value_is`?
        "##);
    insta::assert_snapshot!(faults("\"test.same\"() : () -> ()"), @r##"
        t.ir:1:1: error[V0102]: `test.same` has 0 operands, expected 1
          | "test.same"() : () -> ()
          | ^^^^^^^^^^^^^^^^^^^^^^^^
        t.ir:1:1: error[V0102]: `test.same` has 0 results, expected 1
          | "test.same"() : () -> ()
          | ^^^^^^^^^^^^^^^^^^^^^^^^
        "##);
}

#[test]
fn a_value_of_one_branch_does_not_reach_another() {
    let text = "test.flow {\n  test.jump ^b\n^a:\n  %x = test.index 1\n  test.jump ^c\n^b:\n  test.jump ^c\n^c:\n  \"test.take\"(%x) : (index) -> ()\n  test.stop\n}";
    // `^a` cannot be reached, so `^c` is dominated by `^b` alone.
    assert!(faults(text).contains("V0201"));
}

#[test]
fn an_op_in_a_malformed_one_is_not_asked_for_more() {
    let found = faults("\"graph.func\"() ({\n  graph.return\n}) {sym_name = \"f\"} : () -> ()");
    assert!(found.contains("function_type"), "{found}");
}

#[test]
fn functions_agree_with_their_bodies() {
    insta::assert_snapshot!(faults("graph.func @f(%a: tensor<2x3xf16>) -> tensor<2x2xf16> {\n  %c = graph.gemm %a, %a multiply(f16) accumulate(i8) : tensor<2x3xf16>, tensor<2x3xf16> -> tensor<2x2xf16>\n  graph.return %a : tensor<2x3xf16>\n}"), @r##"
        t.ir:2:3: error[V0401]: `accumulate` must be a float type, not `i8`
          |   %c = graph.gemm %a, %a multiply(f16) accumulate(i8) : tensor<2x3xf16>, tensor<2x3xf16> -> tensor<2x2xf16>
          |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        t.ir:2:3: error[V0401]: the left operand has 3 columns, the right one 2 rows
          |   %c = graph.gemm %a, %a multiply(f16) accumulate(i8) : tensor<2x3xf16>, tensor<2x3xf16> -> tensor<2x2xf16>
          |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        t.ir:2:3: error[V0401]: the result has shape [2, 2], expected [2, 3]
          |   %c = graph.gemm %a, %a multiply(f16) accumulate(i8) : tensor<2x3xf16>, tensor<2x3xf16> -> tensor<2x2xf16>
          |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        t.ir:3:3: error[V0401]: `%a` is returned as `tensor<2x3xf16>`, the function says `tensor<2x2xf16>`
          |   graph.return %a : tensor<2x3xf16>
          |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          = t.ir:1:1: the function
        "##);
}
