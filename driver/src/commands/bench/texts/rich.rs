//! Ops that have all that an op can have in generic form: text that other readers of the form take too.

use std::io::Result;

use super::Text;

const OPS_OF_A_FUNCTION: u64 = 100;
const DEPTH: usize = 3;

const QUEUE: &str = "!acme.handle<\"queue\", 4>";
const TYPES: &[&str] = &[
    "i1",
    "i32",
    "ui8",
    "index",
    "f16",
    "f32",
    "tensor<4x8xf16>",
    "tensor<2x3x16xi32>",
    "!acme.token",
    QUEUE,
];

/// Writes the functions, one behind the other; values are numbered through the file.
pub(super) fn write(text: &mut Text<'_>) -> Result<()> {
    let mut values = Values { visible: Vec::new(), next: 0 };
    text.parts(|text, index| function(text, &mut values, index))
}

/// The values that may be used, with their types.
struct Values {
    visible: Vec<(u64, &'static str)>,
    next: u64,
}

impl Values {
    fn fresh(&mut self, ty: &'static str) -> u64 {
        self.visible.push((self.next, ty));
        self.next += 1;
        self.next - 1
    }

    fn pick(&self, text: &mut Text<'_>) -> (u64, &'static str) {
        let reach = self.visible.len().min(16);
        self.visible[self.visible.len() - 1 - text.below(reach as u64) as usize]
    }
}

fn function(text: &mut Text<'_>, values: &mut Values, index: u64) -> Result<()> {
    text.op(format_args!("\"acme.func\"() ({{"))?;
    let end = (text.ops + OPS_OF_A_FUNCTION).min(text.wanted);
    let (state, queue) = (values.fresh("i32"), values.fresh(QUEUE));
    text.line(format_args!("^bb0(%{state}: i32, %{queue}: {QUEUE}):"))?;
    block(text, values, 1, end.saturating_sub(3))?;
    let (value, ty) = values.pick(text);
    text.op(format_args!("  \"acme.br\"(%{value})[^bb1] : ({ty}) -> ()"))?;
    let taken = values.fresh(ty);
    text.line(format_args!("^bb1(%{taken}: {ty}):"))?;
    text.op(format_args!("  \"acme.return\"(%{taken}) : ({ty}) -> ()"))?;
    text.line(format_args!(
        "}}) {{sym_name = \"block_{index}\", function_type = (i32, {QUEUE}) -> {ty}, \
         acme.note = \"made of \\22rich\\22 ops\\0A\", acme.uses = [@block_{index}, @block_0::@inner]}} : () -> ()"
    ))?;
    values.visible.clear();
    Ok(())
}

/// Ops until the text has `end` of them, at least one.
fn block(text: &mut Text<'_>, values: &mut Values, depth: usize, end: u64) -> Result<()> {
    loop {
        if depth < DEPTH && text.ops + 6 < end && text.below(6) == 0 {
            choice(text, values, depth)?;
        } else {
            plain(text, values, depth)?;
        }
        if text.ops >= end {
            return Ok(());
        }
    }
}

/// An op of two regions, which see the values outside.
fn choice(text: &mut Text<'_>, values: &mut Values, depth: usize) -> Result<()> {
    let indent = "  ".repeat(depth);
    let (condition, ty) = values.pick(text);
    let (result, seen) = (values.next, values.visible.len());
    values.next += 1;
    text.op(format_args!("{indent}%{result} = \"acme.if\"(%{condition}) ({{"))?;
    for part in 0..2 {
        if part == 1 {
            text.line(format_args!("{indent}}}, {{"))?;
        }
        let end = text.ops + 2;
        block(text, values, depth + 1, end)?;
        let (value, ty) = values.pick(text);
        text.op(format_args!("{indent}  \"acme.yield\"(%{value}) : ({ty}) -> ()"))?;
        values.visible.truncate(seen);
    }
    values.visible.push((result, "i32"));
    text.line(format_args!("{indent}}}) {{likely = {}}} : ({ty}) -> i32", result.is_multiple_of(3)))
}

/// An op with one or two operands and results and some attributes.
fn plain(text: &mut Text<'_>, values: &mut Values, depth: usize) -> Result<()> {
    let indent = "  ".repeat(depth);
    let ((left, left_type), (right, right_type)) = (values.pick(text), values.pick(text));
    let ty = TYPES[text.below(TYPES.len() as u64) as usize];
    let attributes = attributes(text, ty);
    let name = ["load", "combine", "select", "emit.v2"][text.below(4) as usize];
    let result = values.fresh(ty);
    if text.below(4) == 0 {
        return text.op(format_args!(
            "{indent}%{result}:2 = \"acme.{name}\"(%{left}) {{{attributes}}} : ({left_type}) -> ({ty}, index)"
        ));
    }
    text.op(format_args!(
        "{indent}%{result} = \"acme.{name}\"(%{left}, %{right}) {{{attributes}}} : ({left_type}, {right_type}) -> {ty}"
    ))
}

fn attributes(text: &mut Text<'_>, ty: &str) -> String {
    let (number, small) = (text.below(1 << 40), text.below(100));
    let plain = format!("id = {number} : i64");
    match text.below(6) {
        0 => {
            format!("{plain}, name = \"value {small}\", symbol = @block_{small}, type = (i32, {ty}) -> index")
        }
        1 => format!("{plain}, sizes = [{small}, {number}, -1], strides = array<i32: {small}, 1, 4>"),
        2 => format!(
            "{plain}, options = {{depth = {small} : i8, inner = {{list = [true, \"a b\", unit], x = 2.5e-01 : f32}}}}"
        ),
        3 => format!("{plain}, data = dense<[[1, 2], [3, {small}]]> : tensor<2x2xi32>, fast"),
        4 => format!("{plain}, \"quoted key\" = \"tab\\09and \\22quotes\\22\", scale = {small}.5 : f64"),
        _ => plain,
    }
}
