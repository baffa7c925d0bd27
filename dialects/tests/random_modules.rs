//! What is printed is what was there: random modules over all ops, types and attributes survive print -> parse -> print, in the pretty
//! and in the generic form. The number of cases is `PROPTEST_CASES` (256 by default).

use ipu_dialects::ir::Module;
use ipu_dialects::parser::{ParseOptions, parse_attribute, parse_module, parse_type};
use ipu_dialects::printer::{print_generic, print_module};
use ipu_dialects::random::{Choices, NOTATIONS, random_module};
use ipu_dialects::registry::Registry;
use proptest::prelude::*;

fn module_of(numbers: &[u64]) -> Module {
    let mut numbers = numbers.iter().copied();
    random_module(Registry::standard(), &mut Choices::new(&mut || numbers.next()))
}

/// The same numbers in every run.
fn numbers(mut state: u64) -> impl FnMut() -> Option<u64> {
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some(state >> 20)
    }
}

fn read(text: &str) -> Result<Module, String> {
    let options = ParseOptions { registry: Registry::standard(), allow_unregistered: true };
    let (module, findings) = parse_module("t.ir", text, options);
    if findings.is_empty() { Ok(module) } else { Err(findings.render(&module.sources)) }
}

/// What is wrong with the round trips of a module.
fn round_trips(module: &Module) -> Result<(), String> {
    generic_round_trip(module)?;
    pretty_round_trip(module)
}

fn pretty_round_trip(module: &Module) -> Result<(), String> {
    let pretty = print_module(module);
    let again = read(&pretty).map_err(|error| format!("{error}\n{pretty}"))?;
    let (generic, second) = (print_generic(module, false), print_generic(&again, false));
    if generic != second {
        return Err(format!("the pretty form\n{pretty}\nof\n{generic}\nmeans\n{second}"));
    }
    let printed = print_module(&again);
    if printed != pretty {
        return Err(format!("{pretty}\nprints as\n{printed}"));
    }
    Ok(())
}

fn generic_round_trip(module: &Module) -> Result<(), String> {
    let located = print_generic(module, true);
    let again = read(&located).map_err(|error| format!("{error}\n{located}"))?;
    let printed = print_generic(&again, true);
    if printed != located {
        return Err(format!("{located}\nprints as\n{printed}"));
    }
    Ok(())
}

proptest! {
    #[test]
    fn random_modules_survive(numbers in proptest::collection::vec(any::<u64>(), 0..600)) {
        if let Err(error) = round_trips(&module_of(&numbers)) {
            return Err(TestCaseError::fail(error));
        }
    }
}

#[test]
fn every_declared_type_and_attribute_has_a_notation_that_is_read() {
    let registry = Registry::standard();
    let names: Vec<&str> = NOTATIONS.iter().map(|(name, _)| *name).collect();
    for name in registry.attribute_names() {
        assert!(names.contains(&format!("#{name}").as_str()), "#{name}");
    }
    for name in registry.type_names() {
        assert!(names.contains(&format!("!{name}").as_str()), "!{name}");
    }
    let mut next = numbers(1);
    for (name, make) in NOTATIONS {
        for _ in 0..200 {
            let text = make(&mut Choices::new(&mut next));
            let options = ParseOptions::new(registry);
            let error = if name.starts_with('#') {
                parse_attribute(&text, options).err().map(|failed| failed.1.render(&failed.0.sources))
            } else {
                parse_type(&text, options).err().map(|failed| failed.1.render(&failed.0.sources))
            };
            assert_eq!(error, None, "{text}");
        }
    }
}

/// The generator reaches every op, mostly with the parts of its declaration.
#[test]
fn random_modules_hold_every_op() {
    let registry = Registry::standard();
    let mut seen = std::collections::BTreeSet::new();
    let mut next = numbers(7);
    for _ in 0..4000 {
        let module = random_module(registry, &mut Choices::new(&mut next));
        seen.extend(module.walk(module.root()).filter_map(|op| module.declaration(op)).map(|op| op.name));
    }
    let missing: Vec<&str> = registry.op_names().filter(|name| !seen.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Texts whose round trip failed once.
#[test]
fn texts_survive() {
    let deep = format!("{}{}", "\"a.b\"() ({\n".repeat(64), "}) : () -> ()\n".repeat(64));
    let texts = [
        (
            "braces of a declared op without a block",
            "\"graph.func\"() ({}) {function_type = () -> (), sym_name = \"f\"} : () -> ()",
        ),
        ("a root without a body", "\"builtin.module\"() ({}) : () -> ()"),
        (
            "a value that a region uses before its definition outside",
            "\"a.b\"() ({\n  \"a.c\"() ({\n    %0 = \"a.d\"(%1) : (f32) -> i1\n  }) : () -> ()\n  %1 = \"a.e\"() : () -> f32\n}) : () -> ()",
        ),
        (
            "the same with names",
            "\"a.b\"() ({\n  \"a.c\"() ({\n    %x = \"a.d\"(%y) : (f32) -> i1\n  }) : () -> ()\n  %y = \"a.e\"() : () -> f32\n}) : () -> ()",
        ),
        ("a block that goes on at itself", "\"a.b\"() ({\n^e:\n  \"a.c\"() [^e] : () -> ()\n}) : () -> ()"),
        (
            "a function that goes on at its start",
            "\"graph.func\"() ({\n^e(%a: f32):\n  \"a.c\"() [^e] : () -> ()\n}) {function_type = (f32) -> (), sym_name = \"f\"} : () -> ()",
        ),
        (
            "a function that starts with an empty block",
            "\"graph.func\"() ({\n^a:\n^b:\n}) {function_type = () -> (), sym_name = \"f\"} : () -> ()",
        ),
        (
            "a kernel call with more operands than slices",
            "%0 = \"a.b\"() : () -> !exchange.buffer\n\"exchange.run\"(%0) {family = #exchange.runs<on [0], slices = []>, kernel = @n} : (!exchange.buffer) -> ()",
        ),
        ("a comment in what no dialect declares", "\"a.b\"() {a = #a.b<1 // one\n \"//\">} : () -> ()"),
        (
            "values used above their definition, with a region between",
            "\"a.a\"() ({\n  %2 = \"a.b\"(%1) : (i7) -> i8\n  \"a.c\"() ({\n  ^0(%_: i9):\n    \"a.d\"() ({\n    ^0(%x: i10):\n    }) : () -> ()\n  }) : () -> ()\n  %1 = \"a.e\"() : () -> i7\n}) : () -> ()",
        ),
        (
            "comments that end as a block starts",
            "!t = i32 // {\n\n\"a.b\"() ({  // {\n\n}) : () -> () // : {\n\n\"a.c\"() : () -> ()",
        ),
        ("regions as deep as they may be", &deep),
        ("one without arguments", "graph.func @f() {\n^e:\n  \"a.c\"() [^e] : () -> ()\n}"),
        (
            "comments at the table of locations",
            "\"a.b\"() : () -> () loc(#l)\n// one\n#l = loc(\"a\":1:2) // two\n// three",
        ),
    ];
    for (what, text) in texts {
        let mut module = read(text).unwrap();
        let comments = |text: &str| text.matches("// ").count();
        assert_eq!(comments(&print_module(&module)), comments(text), "{what}");
        assert_eq!(round_trips(&module), Ok(()), "{what}");
        module.make_locations_explicit();
        assert_eq!(round_trips(&module), Ok(()), "{what}");
    }
}
