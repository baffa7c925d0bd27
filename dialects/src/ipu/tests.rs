//! Behaviour of the shared notations in text.

use std::sync::Arc;

use ipu_device::{Address, LogicalTile};

use super::{Addresses, Family, TileSet, parse_expr};
use crate::declaration::Notation;
use crate::parser::{ParseOptions, ParseResult, Parser, parse_attribute, parse_type, parse_whole};
use crate::registry::Registry;

fn whole<T>(text: &str, rule: impl FnOnce(&mut Parser<'_>) -> ParseResult<T>) -> Result<T, String> {
    parse_whole(text, ParseOptions::new(Registry::standard()), rule).map_err(|failed| {
        let (module, diagnostics) = *failed;
        diagnostics.render(&module.sources)
    })
}

#[test]
fn attributes_and_types_print_to_themselves() {
    for text in [
        "#ipu.normal<seed = 1, sigma = 0.25>",
        "#ipu.iota",
        "#ipu.iota<start = 0x10000000>",
        "#ipu.iota<start = -5>",
        "#ipu.npy<\"a b.npy\">",
        "#ipu.tiles<[0:4, 8, 10:20:2]>",
        "#ipu.address<0x60000>",
        "#ipu.address<{[0:2] = 0x60000, [2:4] = 0x64000}>",
        "#ipu.origin<\"main/c\", [\"select-plans\", \"expand-plans\"]>",
        "tensor<64x16x!ipu.f143<-4>>",
    ] {
        let attribute = parse_attribute(text, ParseOptions::new(Registry::standard())).expect(text);
        assert_eq!(attribute.to_string(), text);
    }
}

#[test]
fn a_scale_out_of_range_is_refused() {
    assert!(parse_type("!ipu.f152<31>", ParseOptions::new(Registry::standard())).is_ok());
    let error = whole("!ipu.f143<32>", |parser| parser.parse_type()).expect_err("out of range");
    assert!(error.contains("expected -32 to 31"), "{error}");
}

#[test]
fn tile_sets_keep_order_and_refuse_repeats() {
    let set = whole("[4:6, 0, 8:13:2]", TileSet::parse_notation).expect("a tile set");
    assert_eq!(set.iter().map(|tile| tile.0).collect::<Vec<_>>(), [4, 5, 0, 8, 10, 12]);
    assert_eq!(set.position(LogicalTile(10)), Some(4));
    assert!(set.contains(LogicalTile(12)) && !set.contains(LogicalTile(11)));
    for bad in ["[0:4, 3]", "[]", "[4:4]", "[0:1473]", "[-1]", "[0:4:0]"] {
        let error = whole(bad, TileSet::parse_notation).expect_err(bad);
        assert!(error.contains("E0503"), "{bad}: {error}");
    }
}

#[test]
fn addresses_are_found_by_tile() {
    let text = "{[0:2] = 0x60000, [2:4] = 0x64000}";
    let addresses = whole(text, Addresses::parse_notation).expect("addresses");
    assert_eq!(addresses.on(LogicalTile(3)), Some(Address(0x64000)));
    assert_eq!(addresses.on(LogicalTile(4)), None);
}

#[test]
fn members_are_row_major_and_expressions_follow() {
    let family = whole("(m, q) in (2, 3)", Family::parse).expect("a family");
    assert_eq!(family.members().nth(4), Some(vec![1, 1]));
    let ids: Vec<Arc<str>> = family.ids.clone();
    for text in ["2*m + 1 - q", "512*(q mod 2)", "m - (q + 1)", "(m + q) floordiv 2", "-1*m"] {
        let expr = whole(text, |parser| parse_expr(parser, &ids)).expect(text);
        assert_eq!(expr.display(&ids), text);
    }
    let error = whole("2*z", |parser| parse_expr(parser, &ids)).expect_err("unknown id");
    assert!(error.contains("`z` is no id of the family, expected one of `m`, `q`"), "{error}");
    assert!(whole("m mod 0", |parser| parse_expr(parser, &ids)).is_err());
    assert!(whole("(m, m) in (1, 1)", Family::parse).is_err());
    assert!(whole("(m) in (0)", Family::parse).is_err());
}

#[test]
fn parentheses_past_the_limit_are_an_error_not_an_overflow() {
    let text = "(".repeat(100_000);
    let error = whole(&text, |parser| parse_expr(parser, &[])).expect_err("too deep");
    assert!(error.contains("E0901"), "{}", &error[..200.min(error.len())]);
    let text = format!("{}m", "- ".repeat(100_000));
    assert!(whole(&text, |parser| parse_expr(parser, &[Arc::from("m")])).is_err());
}
