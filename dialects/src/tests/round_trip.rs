//! What is printed is what was read.

use proptest::prelude::*;

use super::{module, registry};
use crate::ir::{Attribute, AttributeKind, FloatFormat, Type};
use crate::parser::{ParseOptions, parse_attribute};
use crate::printer::{attribute_text, print_module};

fn read(text: &str) -> Attribute {
    match parse_attribute(text, ParseOptions::new(registry())) {
        Ok(attribute) => attribute,
        Err(failed) => panic!("{text}\n{}", failed.1.render(&failed.0.sources)),
    }
}

/// Texts that print to themselves.
#[test]
fn attributes_print_to_themselves() {
    for text in [
        "unit",
        "true",
        "5",
        "-5 : i8",
        "0x1f",
        "-0x10 : i32",
        "170141183460469231731687303715884105727 : i128",
        "255 : ui8",
        "7 : index",
        "0.25",
        "-0.0",
        "1.0e300",
        "0.1 : f32",
        "0x7FC00001 : f32",
        "0xFFF0000000000000 : f64",
        "0x7E01 : f16",
        "1.5 : bf16",
        "\"a\\\"b\\\\c\\nd\"",
        "\"\\00\\FF\"",
        "@a::@\"b c\"::@d",
        "[1, \"x\", [f16, @s], {a = 1, \"b c\" = unit, d}]",
        "array<i64: 1, -2>",
        "array<i64>",
        "array<f32: 1.0, 0x7FC00000>",
        "array<i1: true, false>",
        "dense<0> : tensor<4xi32>",
        "dense<[[1, 2], [3, -4]]> : tensor<2x2xi8>",
        "dense<> : tensor<0xi8>",
        "dense<1.5> : tensor<f16>",
        "dense<[0x7e, 0x80]> : tensor<2x!ipu.f143<-4>>",
        "dense_resource<blob> : tensor<2xi32>",
        "loc(fused<#ipu.origin<\"f/c\", [\"p\"]>>[\"a.ir\":3:4, \"n\"(unknown)])",
        "loc(callsite(\"a\":1:2 at \"b\":3:4))",
        "tensor<4x8xf16, #ipu.iota>",
        "tensor<0x4xsi8>",
        "(i32, index) -> (tuple<f32, none>, bf16)",
        "() -> ()",
        "() -> (() -> ())",
    ] {
        let text = text.replace("{a = 1, \"b c\" = unit, d}", "{a = 1, \"b c\", d}");
        assert_eq!(attribute_text(&read(&text)), text);
    }
}

#[test]
fn friendly_floats_are_read_as_their_codes() {
    assert_eq!(read("inf : f16"), Attribute::float_bits(0x7c00, FloatFormat::F16));
    assert_eq!(read("-inf : f32"), Attribute::float_bits(0xff80_0000, FloatFormat::F32));
    assert_eq!(read("nan(0x7fc00123) : f32"), Attribute::float_bits(0x7fc0_0123, FloatFormat::F32));
}

#[test]
fn the_base_of_an_integer_is_no_part_of_its_value() {
    assert_eq!(read("0x10"), read("16"));
    assert_eq!(read("{a = 1, b = 2}"), read("{b = 2, a = 1}"));
}

proptest! {
    #[test]
    fn any_bytes_survive_in_a_string(bytes: Vec<u8>) {
        let attribute = Attribute::string(&bytes);
        prop_assert_eq!(read(&attribute_text(&attribute)), attribute);
    }

    #[test]
    fn any_code_survives_as_a_float(bits: u64) {
        for format in FloatFormat::ALL {
            let bits = if format.bits() == 64 { bits } else { bits & ((1 << format.bits()) - 1) };
            let attribute = Attribute::float_bits(bits, format);
            prop_assert_eq!(read(&attribute_text(&attribute)), attribute);
        }
    }

    #[test]
    fn any_integer_survives(value: i128) {
        let attribute = Attribute::integer(value, Type::integer(128));
        prop_assert_eq!(read(&attribute_text(&attribute)), attribute);
    }

    #[test]
    fn any_name_survives_as_a_symbol(name in "\\PC*") {
        let attribute = Attribute::symbol(&name);
        prop_assert_eq!(read(&attribute_text(&attribute)), attribute);
    }
}

#[test]
fn long_lists_of_elements_become_hexadecimal_and_come_back() {
    let numbers = (0..200).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let attribute = read(&format!("dense<[{numbers}]> : tensor<200xi16>"));
    let text = attribute_text(&attribute);
    assert!(text.starts_with("dense<\"0x00000100"), "{text}");
    assert_eq!(read(&text), attribute);
    assert!(matches!(attribute.kind(), AttributeKind::DenseElements(elements) if elements.data.len() == 400));
}

/// A text that prints to itself: comments, blank lines, aliases, names, blocks, every format feature.
const WHOLE: &str = r#"// What this file shows.

// An alias.
#tiles = #ipu.tiles<[0:4]>
#same = #ipu.tiles<[0:4]>  // equal to #tiles, and still itself
!half = tensor<4x8xf16>

// Leading comment.
%a, %b:2 = test.make : !half, i32, index  // trailing comment

%i = test.index 0x10 {note = #same, on = #tiles}
test.take %a, %b#1, %i
%copy = test.same %a
%sum = test.groups [%a, %a] plus %i to %i : (!half, !half, index, index) -> f32
%less = test.groups [] to %i : (index) -> f32
test.notations @n on [0:4, 8] colour green sizes [1, -2] of @n label "x y" type(f16) fast any = [1, 2] {more = true}
test.notations unlabelled
test.counted %i as %k {
  test.take %k
  // The last word of a block.
}
test.counted %i as %k {  // a comment on the line of a brace
  %x = test.same %k
}
test.tagged | 7 {extra}
test.choice {
  %x = test.same %i
} else {
  %x = test.same %i
}
test.table @"a b" {
  test.table @inner {
  }
}
test.flow {
  test.jump ^next
^next:
  // In the second block.
  test.jump ^last
^last:
  test.stop
}
// The end.
"#;

#[test]
fn a_whole_text_prints_to_itself() {
    let text = print_module(&module(WHOLE));
    assert_eq!(text, WHOLE);
}

#[test]
fn an_explicit_module_is_kept() {
    let text = "builtin.module @m attributes {test.x = 1} {\n  test.tagged | 1\n}\n";
    assert_eq!(print_module(&module(text)), text);
    assert_eq!(
        print_module(&module("module {\n  test.tagged | 1\n}\n")),
        "builtin.module {\n  test.tagged | 1\n}\n"
    );
}

#[test]
fn long_lines_break_at_their_places() {
    let long = "x".repeat(90);
    let text =
        format!("%{long} = test.make : i32\n%s = test.groups [%{long}] to %{long} : (i32, index) -> f32\n");
    let text = text.replace("to %x", "to %i").replace(&format!("to %i{}", &long[1..]), "to %i");
    let text = format!("%i = test.index 1\n{text}");
    let printed = print_module(&module(&text));
    assert!(printed.contains("\n   : (i32, index) -> f32\n"), "{printed}");
    assert_eq!(print_module(&module(&printed)), printed);
}

#[test]
fn resources_come_back() {
    let text = "test.notations unlabelled any = dense_resource<blob> : tensor<2xi8>\n\n{-#\n  dialect_resources: {\n    builtin: {\n      blob: \"0x040000000102\"\n    }\n  }\n#-}\n";
    let module = module(text);
    assert_eq!(module.resources.get("blob").map(|blob| blob.data.to_vec()), Some(vec![1, 2]));
    assert_eq!(print_module(&module), text);
}

#[test]
fn locations_and_origins_come_back() {
    let text = "test.tagged | 1 loc(#loc0)\ntest.tagged | 2 loc(#loc1)\n#loc0 = loc(\"x.ir\":7:8)\n#loc1 = loc(fused<#ipu.origin<\"main/c\", [\"select-plans\"]>>[\"x.ir\":9:1])\n";
    let module = module(text);
    let second = module.ops_of(module.body()).nth(1).expect("two ops");
    assert_eq!(module.origin(second).map(|origin| origin.path()), Some("main/c"));
    assert_eq!(print_module(&module), text);
}
