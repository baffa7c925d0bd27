//! Texts of the declared attributes and types, drawn from their notations.

use super::Choices;

/// Draws a text.
pub type Notation = fn(&mut Choices<'_>) -> String;

/// For each declared attribute (`#`) and type (`!`) its name and a text of it.
pub const NOTATIONS: &[(&str, Notation)] = &[
    ("!exchange.buffer", |_| "!exchange.buffer".into()),
    ("!ipu.f143", |choices| format!("!ipu.f143<{}>", scale(choices))),
    ("!ipu.f152", |choices| format!("!ipu.f152<{}>", scale(choices))),
    ("#exchange.family", |choices| {
        let family = family(choices);
        let (from, to) = (index(choices), list(choices, 1, index));
        let (source, into) = (slice(choices), list(choices, 1, |choices| inner(&slice(choices))));
        format!("#exchange.family<{family}, source = {source}, from = {from}, to = {to}, into = {into}>")
    }),
    ("#exchange.moves", |choices| {
        let slice = if choices.one_in(2) { slice(choices) } else { "whole".into() };
        let (family, on, image) = (family(choices), index(choices), self::slice(choices));
        format!("#exchange.moves<{family}, on = {on}, slice = {slice}, image = {image}>")
    }),
    ("#exchange.runs", |choices| {
        let (whom, slice): (_, fn(&mut Choices<'_>) -> String) = match choices.one_in(2) {
            true => (format!("{} on {}", family(choices), index(choices)), slice),
            false => (format!("on {}", tiles(choices)), |choices| format!("[0 : +{}]", choices.below(64))),
        };
        let slices =
            list(choices, 0, |choices| if choices.one_in(2) { slice(choices) } else { "whole".into() });
        format!("#exchange.runs<{whom}, slices = {slices}>")
    }),
    ("#ipu.address", |choices| match choices.one_in(2) {
        false => format!("#ipu.address<{}>", number(choices, 0xe8000)),
        true => format!("#ipu.address<{{[0:4] = {}, [5] = 0x50000}}>", number(choices, 0xe8000)),
    }),
    ("#ipu.cycle", |choices| {
        let numbers = list(choices, 1, |choices| {
            (*choices.pick(&["1", "-2", "0.5", "-0.0", "1.0e30", "nan", "inf", "-inf"])).to_owned()
        });
        format!("#ipu.cycle<{numbers}>")
    }),
    ("#ipu.edges", |_| "#ipu.edges".into()),
    ("#ipu.iota", |choices| match choices.one_in(2) {
        false => "#ipu.iota".into(),
        true => format!("#ipu.iota<start = {}>", number(choices, 1 << 40)),
    }),
    ("#ipu.normal", |choices| {
        format!(
            "#ipu.normal<seed = {}, sigma = {}>",
            choices.below(100),
            choices.pick(&["1.0", "0.125", "1.0e-3"])
        )
    }),
    ("#ipu.npy", |choices| format!("#ipu.npy<{}>", choices.pick(&[r#""a.npy""#, r#""b c/\22.npy""#]))),
    ("#ipu.origin", |choices| {
        let passes = list(choices, 0, |choices| (*choices.pick(&[r#""p""#, r#""select-plans""#])).to_owned());
        format!("#ipu.origin<\"main/c\", {passes}>")
    }),
    ("#ipu.tiles", |choices| format!("#ipu.tiles<{}>", tiles(choices))),
    ("#ipu.tolerance", |choices| {
        let float = |choices: &mut Choices<'_>| *choices.pick(&["0.0", "0.03", "1.0e-3"]);
        format!("#ipu.tolerance<absolute = {}, relative = {}>", float(choices), float(choices))
    }),
    ("#mapped.layout", layout),
    ("#tile.operands", |choices| {
        let operands: Vec<String> = choices.list(4, |choices| {
            let text = *choices.pick(&["0", "0x1f", "m0", "m15", "a3", "a0:1", "@start", "-1"]);
            text.to_owned()
        });
        format!("#tile.operands<{}>", operands.join(", "))
    }),
    ("#tile.slices", |choices| {
        let at = number(choices, 0xe8000);
        if choices.one_in(2) {
            let (family, on, image, bytes) =
                (family(choices), index(choices), index(choices), index(choices));
            return format!("#tile.slices<{family} on {on} at {at} image {image} bytes {bytes}>");
        }
        format!("#tile.slices<on {} at {at} image 0 bytes 64>", choices.below(1472))
    }),
];

fn scale(choices: &mut Choices<'_>) -> i64 {
    choices.below(64) as i64 - 32
}

fn number(choices: &mut Choices<'_>, bound: usize) -> String {
    let value = choices.below(bound);
    if choices.one_in(2) { format!("{value:#x}") } else { value.to_string() }
}

fn list(choices: &mut Choices<'_>, least: usize, mut item: impl FnMut(&mut Choices<'_>) -> String) -> String {
    let count = least + choices.below(3);
    let items: Vec<String> = (0..count).map(|_| item(choices)).collect();
    format!("[{}]", items.join(", "))
}

/// A family always has the indices `i` and `j`, so that any index may name them.
fn family(choices: &mut Choices<'_>) -> String {
    format!("(i, j) in ({}, {})", 1 + choices.below(4), 1 + choices.below(4))
}

fn index(choices: &mut Choices<'_>) -> String {
    let text =
        *choices.pick(&["0", "7", "i", "2*i + j", "(i + 1) mod 4", "i floordiv 2", "16*j + 0x40", "i - j"]);
    text.to_owned()
}

fn slice(choices: &mut Choices<'_>) -> String {
    format!("[{} : +{}]", index(choices), 4 * (1 + choices.below(64)))
}

fn inner(slice: &str) -> String {
    slice.trim_matches(['[', ']']).to_owned()
}

fn tiles(choices: &mut Choices<'_>) -> String {
    (*choices.pick(&["[0]", "[0:4]", "[0:16:4, 17]", "[3, 1, 2]", "[100:200, 1471]"])).to_owned()
}

fn layout(choices: &mut Choices<'_>) -> String {
    let split = (1 + choices.below(4), 1 + choices.below(4));
    let order = *choices.pick(&["row_major", "amp_left<16>", "amp_left<32>", "amp_right<32>"]);
    let memory = *choices.pick(&["standard", "interleaved"]);
    let grain = if choices.one_in(2) { ", grain = [1, 2]" } else { "" };
    let (with, name) = *choices.pick(&[("", ""), (", copies = 2", ", c"), (", partial = 2", ", p")]);
    let pad = *choices.pick(&["", ", pad = zero", ", pad = finite", ", pad = none"]);
    let tiles = if name.is_empty() { "4*a + b" } else { "a + 4*b" };
    format!(
        "#mapped.layout<split = [{}, {}]{grain}{with}, tiles = (a, b{name}) -> {tiles}, order = {order}{pad}, memory = {memory}>",
        split.0, split.1
    )
}
