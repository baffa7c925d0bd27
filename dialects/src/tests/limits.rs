//! No input overflows the stack, and no text is refused without a code.

use proptest::prelude::*;

use super::{findings, read};
use crate::printer::print_module;

#[test]
fn nesting_past_the_limits_is_an_error() {
    for (open, close) in [("[", "]"), ("{a = ", "}"), ("tuple<", ">"), ("loc(fused[", "])")] {
        let text = format!("test.tagged | 1 {{x = {}1{}}}", open.repeat(100_000), close.repeat(100_000));
        assert!(findings(&text).contains("E0901"), "{open}");
    }
    let regions = "test.choice {\n".repeat(100_000);
    assert!(findings(&regions).contains("E0901"));
    let regions = "\"test.choice\"() ({\n".repeat(100_000);
    assert!(findings(&regions).contains("E0901"));
}

#[test]
fn many_errors_are_capped_and_counted() {
    let text = "test.nothing\n".repeat(1_000);
    let found = findings(&text);
    assert_eq!(found.matches("error[E0202]").count(), 100);
    assert!(found.ends_with("and 900 more\n"));
}

const PIECES: &[&str] = &[
    "test.take",
    "%a",
    "%b:2",
    "=",
    "test.make",
    ":",
    "i32",
    "tensor<4x",
    "8xf16>",
    ",",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    "\"s\"",
    "\"",
    "\n",
    "#a",
    "!b",
    "@c",
    "^d",
    "->",
    "0x",
    "1.5e",
    "-",
    "//x\n",
    "loc(",
    "dense<",
    "test.flow",
    "graph.func",
    "#a = ",
    "{-#",
    "#-}",
    "é",
    "array<i64: ",
    "\"test.choice\"() ({",
];

proptest! {
    #[test]
    fn any_soup_of_tokens_ends_in_a_module_or_errors(picks in prop::collection::vec(0..PIECES.len(), 0..40)) {
        let text: String = picks.iter().map(|&pick| PIECES[pick]).collect::<Vec<_>>().join(" ");
        let (module, diagnostics) = read(&text);
        let _ = diagnostics.render(&module.sources);
        if !diagnostics.has_errors() {
            let printed = print_module(&module);
            let (again, findings) = read(&printed);
            prop_assert_eq!(findings.render(&again.sources), "");
            prop_assert_eq!(print_module(&again), printed);
        }
    }
}
