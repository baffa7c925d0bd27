//! Functions of some layers each: every layer converts, quantises, multiplies and reduces, on four tiles.

use std::io::Result;

use super::Text;

const LAYERS_OF_A_FUNCTION: u64 = 24;

/// Layouts of a layer with 64 features. The result lies as the input does, so layers follow each other.
const LAYOUTS: &str = "\
#home = #mapped.layout<split = [4, 1], tiles = (m, k) -> m, order = amp_left<16>, memory = standard>
#blk16 = #mapped.layout<split = [2, 2], tiles = (m, k) -> 2*m + k, order = amp_left<16>, memory = standard>
#blk32 = #mapped.layout<split = [2, 2], tiles = (m, k) -> 2*m + k, order = amp_left<32>, memory = standard>
#wts = #mapped.layout<split = [2, 1], copies = 2, tiles = (k, n, c) -> 2*c + k, order = amp_right<32>, memory = standard>
#part = #mapped.layout<split = [2, 1], partial = 2, tiles = (m, n, p) -> 2*m + p, order = amp_left<16>, memory = interleaved>
";

pub(super) fn write(text: &mut Text<'_>) -> Result<()> {
    text.line(format_args!("{LAYOUTS}"))?;
    text.parts(function)
}

fn function(text: &mut Text<'_>, index: u64) -> Result<()> {
    let rows = 32 * (1 + text.below(4));
    let (first, second) = (2 * index + 1, 2 * index + 2);
    let weight = "tensor<64x64x!ipu.f143<-4>, #wts>";
    let home = format!("tensor<{rows}x64xf16, #home>");
    text.op(format_args!(
        "mapped.func @block_{index}(%h0: {home} {{ipu.name = \"x\", ipu.kind = \"input\", ipu.data = #ipu.normal<seed = {first}, sigma = 0.25>}},\n    \
         %w: {weight} {{ipu.name = \"w\", ipu.kind = \"weight\", ipu.data = #ipu.normal<seed = {second}, sigma = 0.125>}}) -> \
         ({home} {{ipu.name = \"y\", ipu.tolerance = #ipu.tolerance<absolute = 0.03, relative = 0.03>}})\n  \
         attributes {{ipu.tiles = 4}} {{"
    ))?;
    let block16 = format!("tensor<{rows}x64xf16, #blk16>");
    let block32 = format!("tensor<{rows}x64x!ipu.f143<-4>, #blk32>");
    let partial = format!("tensor<{rows}x64xf16, #part>");
    let mut last = 0;
    while last == 0 || (last < LAYERS_OF_A_FUNCTION && text.wants_more(1)) {
        let next = last + 1;
        let staging = ["all", "one"][text.below(2) as usize];
        text.op(format_args!("  %a{next} = mapped.convert_layout %h{last} : {home} -> {block16}"))?;
        text.op(format_args!(
            "  %q{next} = mapped.cast %a{next} kernel @cast_f16_f143_panels : {block16} -> {block32}"
        ))?;
        text.op(format_args!(
            "  %p{next} = mapped.gemm %q{next}, %w kernel @gemm_f143_f16 block [{}, 16, 32]\n     \
             : {block32}, {weight} -> {partial}",
            rows / 2
        ))?;
        text.op(format_args!(
            "  %h{next} = mapped.reduce %p{next} kernel @reduce_add_f16 staging {staging} : {partial} -> {home}"
        ))?;
        last = next;
    }
    text.op(format_args!("  mapped.return %h{last} : {home}"))?;
    text.line(format_args!("}}\n"))
}
