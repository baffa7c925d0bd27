//! What the parser says: where, what, and the fix; many errors in a run.

use super::{findings, registry};
use crate::parser::{ParseOptions, parse_part};
use crate::printer::print_module;
use crate::source::SourceMap;

#[test]
fn errors_name_the_place_the_fault_and_the_fix() {
    insta::assert_snapshot!(findings("%a = test.maek : i32\ntest.take %a\n%b = test.make : i3x\ntest.take %b"), @r##"
        t.ir:1:6: error[E0202]: unknown op `test.maek`
          | %a = test.maek : i32
          |      ^^^^^^^^^
          = fix: did you mean `test.make`? (`test.make` at t.ir:1:6)
        t.ir:3:18: error[E0203]: unknown type `i3x`
          | %b = test.make : i3x
          |                  ^^^
          = fix: did you mean `i32`? (`i32` at t.ir:3:18)
        "##);
    insta::assert_snapshot!(findings("%alpha = test.make : i32\ntest.take %alhpa"), @r##"
        t.ir:2:11: error[E0301]: value `%alhpa` is not defined
          | test.take %alhpa
          |           ^^^^^^
          = fix: did you mean `%alpha`? (`%alpha` at t.ir:2:11)
        "##);
    insta::assert_snapshot!(findings("test.take %a\n%b:2 = test.make : i32\n%c = test.index"), @r##"
        t.ir:1:11: error[E0301]: value `%a` is not defined
          | test.take %a
          |           ^^
        t.ir:2:1: error[E0305]: 2 results are named, `test.make` has 1
          | %b:2 = test.make : i32
          | ^^
        t.ir:3:15: error[E0201]: expected an integer, found the end of the text
          | %c = test.index
          |               ^
        "##);
    insta::assert_snapshot!(findings("test.notations colour gren unlabelled"), @r##"
        t.ir:1:23: error[E0207]: `gren` is no colour, expected one of `red`, `green`
          | test.notations colour gren unlabelled
          |                       ^^^^
          = fix: did you mean `green`? (`green` at t.ir:1:23)
        "##);
    insta::assert_snapshot!(findings("test.tagged | 1 {a = 1, a = 2}"), @r##"
        t.ir:1:25: error[E0306]: attribute `a` is given twice
          | test.tagged | 1 {a = 1, a = 2}
          |                         ^
        "##);
    insta::assert_snapshot!(findings("test.tagged | 1e5\n\"x\ntest.tagged | `"), @r##"
        t.ir:1:16: error[E0202]: unknown op `e5`
          | test.tagged | 1e5
          |                ^^
          = note: a float needs a point before its exponent, as in `1.0e5`
        t.ir:2:1: error[E0102]: the string has no closing `"` on its line
          | "x
          | ^^
        t.ir:3:15: error[E0101]: ``` is no token, expected a tag
          | test.tagged | `
          |               ^
        "##);
    insta::assert_snapshot!(findings("%a = test.make : i32\n%a = test.make : i32"), @r##"
        t.ir:2:1: error[E0302]: value `%a` is defined twice
          | %a = test.make : i32
          | ^^
          = t.ir:1:1: the first definition
        "##);
    let outside = findings("test.jump ^nowhere");
    assert!(outside.starts_with("t.ir:1:11: error[E0304]: block `^nowhere`"), "{outside}");
    insta::assert_snapshot!(findings("test.flow {\n  test.jump ^nowhere\n}"), @r##"
        t.ir:2:13: error[E0304]: block `^nowhere` is not defined in this region
          |   test.jump ^nowhere
          |             ^^^^^^^^
        "##);
    insta::assert_snapshot!(findings("test.table @a {\n  test.tagged | 1"), @r##"
        t.ir:1:15: error[E0201]: `{` without `}`
          | test.table @a {
          |               ^
          = note: the text ends before the region does: a `}` is missing at its end or in one inside it
        "##);
}

#[test]
fn errors_in_attributes_and_types_name_the_fault() {
    insta::assert_snapshot!(findings("#a = [#b]\n#b = #a\ntest.tagged | 1 {x = #a, y = #c}"), @r##"
        t.ir:2:6: error[E0206]: alias `#a` is defined by itself
          | #b = #a
          |      ^^
        "##);
    insta::assert_snapshot!(findings("test.tagged | 1 {x = 300 : i8}\ntest.tagged | 1 {x = 1 : f32}"), @r##"
        t.ir:1:22: error[E0104]: 300 does not fit `i8`
          | test.tagged | 1 {x = 300 : i8}
          |                      ^^^^^^^^
        t.ir:2:22: error[E0402]: a float is written with a point, or as the hexadecimal code of a `f32`
          | test.tagged | 1 {x = 1 : f32}
          |                      ^^^^^^^
        "##);
    insta::assert_snapshot!(findings("test.tagged | 1 {x = dense<[1, 2]> : tensor<3xi8>}"), @r##"
        t.ir:1:33: error[E0402]: this list has length 2, but axis 0 of the tensor has 3
          | test.tagged | 1 {x = dense<[1, 2]> : tensor<3xi8>}
          |                                 ^
        "##);
    insta::assert_snapshot!(findings("test.tagged | 1 {x = \"\\q\"}\ntest.tagged | 1 {x = #ipu.norml<1>}"), @r##"
        t.ir:1:23: error[E0103]: escapes are `\\`, `\"`, `\n`, `\t` and a backslash with two hex digits
          | test.tagged | 1 {x = "\q"}
          |                       ^^
        t.ir:2:22: error[E0204]: no dialect declares attribute `#ipu.norml`
          | test.tagged | 1 {x = #ipu.norml<1>}
          |                      ^^^^^^^^^^
          = fix: did you mean `#ipu.normal`? (`#ipu.normal` at t.ir:2:22)
        "##);
    insta::assert_snapshot!(findings("%a = test.make : tensor<4x?xf16>\n%b = test.make : tensor<4 x f16>"), @r##"
        t.ir:1:27: error[E0401]: dynamic dimensions are not supported
          | %a = test.make : tensor<4x?xf16>
          |                           ^
        t.ir:2:27: error[E0201]: expected `x` right behind a dimension, as in `4x8xf16`, found `x`
          | %b = test.make : tensor<4 x f16>
          |                           ^
        "##);
}

#[test]
fn a_part_of_a_text_is_a_module_with_the_places_of_the_whole() {
    let text = "// first\n%a = test.maek : i32\n// -----\n\n// second\ntest.take %a\n// -----\n!a = f32\n";
    let mut sources = SourceMap::default();
    let file = sources.add("t.ir", text);
    let part = |range| parse_part(sources.clone(), file, range, ParseOptions::new(registry()));
    let start = text.find("\n// second").unwrap();
    let (module, diagnostics) = part(start..text.rfind("// -----").unwrap());
    insta::assert_snapshot!(diagnostics.render(&module.sources), @r##"
        t.ir:6:11: error[E0301]: value `%a` is not defined
          | test.take %a
          |           ^^
        "##);
    let (module, diagnostics) = part(text.rfind("!a").unwrap()..text.len());
    assert_eq!((diagnostics.error_count(), print_module(&module)), (0, "!a = f32\n\n".to_owned()));
}
