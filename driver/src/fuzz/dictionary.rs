//! The words that damage is done with: names of the language, spellings of attributes, brackets, numbers at the edges.

use std::collections::BTreeSet;

use ipu_dialects::random::{Choices, NOTATIONS};
use ipu_dialects::registry::Registry;
use ipu_passes::manager::registry;

use super::Target;

/// Punctuation of all texts, and what opens or ends things.
const MARKS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "<{",
    "}>",
    "{-#",
    "#-}",
    ",",
    ":",
    "::",
    "=",
    "->",
    "+",
    "-",
    "*",
    "?",
    "/",
    "|",
    ";",
    "\"",
    "\\",
    "\\\"",
    "\n",
    " ",
    "\t",
    "\r\n",
    "//",
    "// ",
    "// -----\n",
    "\0",
    "é",
    "\u{feff}",
    "\u{2028}",
    "😀",
];
/// Numbers at the edges of types.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "00",
    "007",
    "15",
    "16",
    "63",
    "64",
    "127",
    "128",
    "255",
    "256",
    "1471",
    "1472",
    "1473",
    "4096",
    "32767",
    "32768",
    "65535",
    "65536",
    "0x50000",
    "0xe8000",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "0x",
    "0x0",
    "0xffffffff",
    "0xffffffffffffffff",
    "0x1ffffffffffffffff",
    "1.0",
    "0.0",
    "-0.0",
    "1.",
    ".5",
    "1e5",
    "1.0e30",
    "1.0e308",
    "1.0e309",
    "1.0e-400",
    "1.0e999999999",
    "nan",
    "inf",
    "-inf",
    "0x7fc00000",
    "0x7F800001",
    "1.0E+5",
];
/// Words of builtin syntax.
const LANGUAGE: &[&str] = &[
    "%a",
    "%0",
    "%x:2",
    "%x#1",
    "%x#4294967296",
    "^bb0",
    "^bb0:",
    "@main",
    "@\"main\"",
    "@a::@b",
    "#a = 1",
    "!t = f32\n",
    "!t",
    "#a",
    "tensor<",
    "tensor<4x4xf32>",
    "tensor<?x4xf16>",
    "tensor<0xf32>",
    "tensor<*xf32>",
    "vector<4xf32>",
    "memref<4xf32>",
    "tuple<f32, i8>",
    "none",
    "index",
    "i1",
    "i32",
    "si8",
    "ui64",
    "i16777215",
    "i99999999",
    "f16",
    "bf16",
    "f32",
    "f64",
    "f8E4M3FN",
    "complex<f32>",
    "() -> ()",
    "(f32) -> f32",
    "(i32, ",
    "unit",
    "true",
    "false",
    "dense<",
    "dense<1.0> : tensor<4xf32>",
    "dense<[1, 2]> : tensor<2xi32>",
    "dense<\"0x00\"> : tensor<1xi8>",
    "dense<> : tensor<0xi8>",
    "dense_resource<blob>",
    "array<i32: 1, 2>",
    "array<i1: true>",
    "array<f32: 1.0>",
    "array<i64>",
    "sparse<",
    "opaque<",
    "strided<[1]>",
    "affine_map<(i) -> (i)>",
    "affine_set<",
    "loc(",
    "loc(unknown)",
    "loc(\"a\":1:2)",
    "loc(fused[",
    "loc(callsite(",
    "loc(#l)",
    "#l = loc(\"a\":1:1)",
    "attributes",
    "\"a.b\"() : () -> ()\n",
    "\"builtin.module\"() ({\n}) : () -> ()\n",
    "\"my.op\"(%a) [^bb0] <{a = 1}> ({",
    "dialect_resources",
    "external_resources",
    "{-#\n dialect_resources: {\n builtin: {\n blob: \"0x08000000010203\"\n }\n }\n#-}\n",
    "builtin",
    "module",
    "!my.type<",
    "#my.attr<",
    "!my.type<a [b] \"c>\">",
    "\"\\00\\ff\\n\"",
    "\"\\zz\"",
    "@reference",
    "// expected-error@+1 {{text}}",
    "floordiv",
    "ceildiv",
    "mod",
    "whole",
    "reference",
];
/// Words of pipelines beside names.
const PIPELINE: &[&str] = &[
    "builtin.module(",
    "builtin.module",
    "=",
    "={",
    "=\"",
    "\"\"",
    "\"a b\"",
    "\"\\\"\"",
    "\"\\\\\"",
    "\\",
    "=true",
    "=false",
    "=grid=8x4x2",
    "grid=1x1x1",
    "calibrated",
    "recorded",
    "a{b}",
    "a{b=c}",
    "{x=1 x=2}",
    "1st",
];
/// Words of footers.
const FOOTER: &[&str] = &[
    "null",
    "true",
    "[]",
    "{}",
    "\"\"",
    "[1]",
    "{\"a\":1}",
    "1e400",
    "\"ipu.tiles\"",
    "\"#ipu.iota\"",
    "\"tensor<4x4xf32>\"",
    "\"f32\"",
    "\"row\"",
    "\"code\"",
    "\"data\"",
    "\"kernel\"",
    "graph.func @main() {\\n}\\n",
    "\\n",
    "\\u0000",
    "\\ud800",
    "@main",
    "%a",
    "\"images\"",
    "\"segments\"",
    "\"position\"",
    "\"rest\"",
    "\"program\"",
    "\"storage\"",
    "\"common\"",
];

/// The words for `target`, in a fixed order.
pub(super) fn words(target: Target) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut add = |list: &[&str]| words.extend(list.iter().map(|&word| word.to_owned()));
    add(MARKS);
    add(NUMBERS);
    match target {
        Target::Ir => {
            add(LANGUAGE);
            words.extend(of_dialects());
        }
        Target::Pipeline => {
            add(PIPELINE);
            for info in registry::all() {
                words.push(info.name.to_owned());
                words.extend(
                    info.options.iter().flat_map(|option| [option.name, option.form]).map(str::to_owned),
                );
            }
        }
        Target::Package => {
            add(FOOTER);
            words.extend(of_dialects());
        }
    }
    words
}

/// Names of ops, types and attributes, what stands in formats, and some values of each notation.
fn of_dialects() -> Vec<String> {
    let registry = Registry::standard();
    let mut words: BTreeSet<String> = registry.op_names().map(str::to_owned).collect();
    words.extend(registry.op_names().map(|name| format!("\"{name}\"")));
    words.extend(registry.type_names().map(|name| format!("!{name}<")));
    words.extend(registry.attribute_names().map(|name| format!("#{name}<")));
    for op in registry.dialects().iter().flat_map(|dialect| dialect.ops) {
        words.extend(
            op.attributes.iter().flat_map(|part| [part.name.to_owned(), format!("{} = ", part.name)]),
        );
        words.extend(op.format.split('`').skip(1).step_by(2).map(str::to_owned));
    }
    let mut state = 0_u64;
    let mut numbers = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some(state >> 20)
    };
    for (_, notation) in NOTATIONS {
        words.extend((0..4).map(|_| notation(&mut Choices::new(&mut numbers))));
    }
    words.into_iter().filter(|word| !word.is_empty()).collect()
}
