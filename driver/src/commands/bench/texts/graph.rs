//! Functions of about a hundred ops: chains of layers with weights in FP8.

use std::io::Result;

use super::Text;

const OPS_OF_A_FUNCTION: u64 = 100;
/// How many of the last activations a layer may take.
const REACH: u64 = 4;

pub(super) fn write(text: &mut Text<'_>) -> Result<()> {
    text.parts(function)
}

/// Shapes of a function: activations of `rows` times `columns`, a square weight.
struct Shapes {
    rows: u64,
    columns: u64,
    activation: String,
    weight: String,
}

fn function(text: &mut Text<'_>, index: u64) -> Result<()> {
    let (rows, columns) = (16 << text.below(4), 16 << text.below(4));
    let activation = format!("tensor<{rows}x{columns}xf16>");
    let weight = format!("tensor<{columns}x{columns}x!ipu.f143<-4>>");
    let shapes = Shapes { rows, columns, activation, weight };
    let Shapes { activation, weight, .. } = &shapes;
    let (first, second) = (2 * index + 1, 2 * index + 2);
    text.line(format_args!("// Block {index}: {rows} rows of {columns} features."))?;
    text.op(format_args!(
        "graph.func @block_{index}(%h0: {activation} {{ipu.name = \"x\", ipu.kind = \"input\", ipu.data = #ipu.normal<seed = {first}, sigma = 0.25>}},\n    \
         %w: {weight} {{ipu.name = \"w\", ipu.kind = \"weight\", ipu.data = #ipu.normal<seed = {second}, sigma = 0.125>}}) -> \
         ({activation} {{ipu.name = \"y\", ipu.tolerance = #ipu.tolerance<absolute = 0.03, relative = 0.03>}})\n  \
         attributes {{ipu.tiles = 1472}} {{"
    ))?;
    let started = text.ops;
    let mut last = 0;
    while last == 0 || (text.ops - started < OPS_OF_A_FUNCTION && text.wants_more(1)) {
        layer(text, &shapes, last)?;
        last += 1;
    }
    text.op(format_args!("  graph.return %h{last} : {activation}"))?;
    text.line(format_args!("}}\n"))
}

/// Makes `%h` number `last + 1` from earlier ones.
fn layer(text: &mut Text<'_>, shapes: &Shapes, last: u64) -> Result<()> {
    let Shapes { rows, columns, activation, weight } = shapes;
    let next = last + 1;
    let input = last - text.below(REACH.min(last + 1));
    let precision = "multiply(!ipu.f143<-4>) accumulate(f16)";
    match text.below(5) {
        0 => text.op(format_args!(
            "  %h{next} = graph.gemm %h{input}, %w {precision} : {activation}, {weight} -> {activation}"
        )),
        1 => {
            let narrow = format!("tensor<{rows}x{columns}x!ipu.f143<-4>>");
            text.op(format_args!("  %q{next} = graph.cast %h{input} : {activation} -> {narrow}"))?;
            text.op(format_args!(
                "  %h{next} = graph.gemm %q{next}, %w {precision} : {narrow}, {weight} -> {activation}"
            ))
        }
        2 => {
            let across = format!("tensor<{columns}x{rows}xf16>");
            text.op(format_args!(
                "  %t{next} = graph.transpose %h{input} permutation [1, 0] : {activation} -> {across}"
            ))?;
            text.op(format_args!(
                "  %h{next} = graph.gemm %t{next}, %w transpose_left {precision} : {across}, {weight} -> {activation}"
            ))
        }
        3 => {
            let wide = format!("tensor<{rows}x{columns}xf32>");
            text.op(format_args!("  %s{next} = graph.cast %h{input} : {activation} -> {wide}"))?;
            text.op(format_args!(
                "  %h{next} = graph.cast %s{next} : {wide} -> {activation}  // in FP32 and back"
            ))
        }
        _ => {
            let batches = format!("tensor<2x{}x{columns}xf16>", rows / 2);
            text.op(format_args!("  %r{next} = graph.reshape %h{input} : {activation} -> {batches}"))?;
            text.op(format_args!("  %h{next} = graph.reshape %r{next} : {batches} -> {activation}"))
        }
    }
}
