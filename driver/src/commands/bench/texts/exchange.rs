//! One program of many layers on four tiles, scheduled and placed: each layer has its buffers, which reuse the bytes of the last
//! but one, a phase that gathers, kernel runs, a phase that scatters partials, as a family or as columns, and a reduction.

use std::io::Result;

use super::Text;

const OPENING: &str = "\
#home = #mapped.layout<split = [4, 1], tiles = (m, k) -> m, order = amp_left<16>, memory = standard>
#wts = #mapped.layout<split = [2, 1], copies = 2, tiles = (k, n, c) -> 2*c + k, order = amp_right<32>, memory = standard>
";

pub(super) fn write(text: &mut Text<'_>) -> Result<()> {
    text.line(format_args!("{OPENING}"))?;
    text.op(format_args!("exchange.program @main on [0:4] {{"))?;
    text.op(format_args!(
        "  exchange.binding @x input : tensor<32x64xf16, #home> {{ipu.data = #ipu.normal<seed = 1, sigma = 0.25>}}"
    ))?;
    text.op(format_args!(
        "  exchange.binding @w weight : tensor<64x64x!ipu.f143<-4>, #wts> {{ipu.data = #ipu.normal<seed = 2, sigma = 0.125>}}"
    ))?;
    text.op(format_args!(
        "  exchange.binding @y output : tensor<32x64xf16, #home>\n    \
         {{ipu.tolerance = #ipu.tolerance<absolute = 0.03, relative = 0.03>}}"
    ))?;
    text.op(format_args!(
        "  %w = exchange.buffer \"w\" : 2048 bytes {{memory = standard, align = 32}} at 0x70000  // used by every layer"
    ))?;
    home(text, 0)?;
    text.op(format_args!(
        "  exchange.load_host @w -> %w once (t) in (4) on t image [2048*(t mod 2) : +2048]"
    ))?;
    text.op(format_args!("  exchange.load_host @x -> %h0 (t) in (4) on t image [1024*t : +1024]"))?;
    let mut last = 0;
    while last == 0 || text.wants_more(1) {
        layer(text, last)?;
        last += 1;
    }
    text.op(format_args!("  exchange.store_host %h{last} -> @y (t) in (4) on t image [1024*t : +1024]"))?;
    text.line(format_args!("}}"))
}

/// The buffer of an activation: those of neighbouring layers live at the same time.
fn home(text: &mut Text<'_>, index: u64) -> Result<()> {
    let address = 0x60000 + 0x400 * (index % 2);
    text.op(format_args!(
        "  %h{index} = exchange.buffer \"h{index}\" : 1024 bytes {{memory = standard, align = 32}} at {address:#x}"
    ))
}

/// Makes `%h` number `last + 1` of number `last`.
fn layer(text: &mut Text<'_>, last: u64) -> Result<()> {
    let next = last + 1;
    let buffers = [
        ("a", 1024, "standard, align = 32", 0x64000),
        ("q", 512, "standard, align = 32, tail = 8", 0x68000),
        ("p", 2048, "interleaved, align = 32", 0x80000),
        ("r", 1024, "standard, align = 32", 0x6c000),
    ];
    text.line(format_args!("\n  // Layer {last}."))?;
    for (name, bytes, storage, address) in buffers {
        text.op(format_args!(
            "  %{name}{next} = exchange.buffer \"{name}{next}\" : {bytes} bytes {{memory = {storage}}} at {address:#x}"
        ))?;
    }
    home(text, next)?;
    let base = 28 + text.below(8);
    text.op(format_args!("  exchange.phase @gather_{next} {{"))?;
    text.op(format_args!(
        "    exchange.copy (m, q) in (2, 2) : %h{last}[512 - 512*q : +512] from 2*m + q to [2*m + 1 - q] \
         into %a{next}[256*q : +256, 512 + 256*q : +256] send [{base}, {0}, {base}, {0}]\n  }}",
        base + 1
    ))?;
    multiply(text, last)?;
    text.op(format_args!("  exchange.phase @scatter_{next} {{"))?;
    scatter(text, next)?;
    text.op(format_args!("  exchange.compute @reduce_{next} {{"))?;
    text.op(format_args!(
        "    exchange.run (m, q, p) in (2, 2, 4) on 2*m + q : \
         @reduce_add_f16(%h{next}[256*p : +256], %p{next}[512*p + 256*q : +256], %r{next}[256*p : +256]) \
         {{remotes = 1, elements = 128}}\n  }}"
    ))
}

fn multiply(text: &mut Text<'_>, last: u64) -> Result<()> {
    let next = last + 1;
    text.op(format_args!("  exchange.compute @multiply_{next} {{"))?;
    text.op(format_args!(
        "    exchange.run (m, q) in (2, 2) on 2*m + q : @copy_strided_u64(%a{next}[256*q : +768], %h{last}[512*q : +512]) \
         {{row_dwords = 32, rows = 2, source_stride = 32, destination_stride = 64}}"
    ))?;
    text.op(format_args!(
        "    exchange.run on [0:4] : @cast_f16_f143_panels(%q{next}, %a{next}) {{elements = 512, panel_rows = 16, scale = -4}}"
    ))?;
    for panel in 0..4 {
        let at = 512 * panel;
        text.op(format_args!(
            "    exchange.run on [0:4] : @gemm_f143_f16_k32_c16_r16(%p{next}[{at} : +512], %q{next}, %w[{at} : +512]) \
             {{product_scale = -8}}"
        ))?;
    }
    text.line(format_args!("  }}"))
}

/// Each tile sends the other of its pair the four panels that are summed there.
fn scatter(text: &mut Text<'_>, next: u64) -> Result<()> {
    let send: Vec<u64> = (0..16).map(|member| 28 + member / 4 % 2 + 66 * (member % 4)).collect();
    if next.is_multiple_of(2) {
        return text.op(format_args!(
            "    exchange.copy (m, q, p) in (2, 2, 4) : %p{next}[512*p + 256 - 256*q : +256] from 2*m + q to [2*m + 1 - q] \
             into %r{next}[256*p : +256] send {send:?}\n  }}"
        ));
    }
    let column = |value: fn(u64) -> u64| (0..16).map(value).collect::<Vec<u64>>();
    let (from, to) = (column(|member| member / 4), column(|member| (member / 4) ^ 1));
    let offset = column(|member| 512 * (member % 4) + 256 - 256 * (member / 4 % 2));
    let into = column(|member| 256 * (member % 4));
    text.op(format_args!(
        "    exchange.copies %p{next} -> %r{next} from {from:?} offset {offset:?} bytes 256 to {to:?} into {into:?} \
         send {send:?}\n  }}"
    ))
}
