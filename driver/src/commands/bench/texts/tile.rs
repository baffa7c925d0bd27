//! One program: of each tile an image with exchange rows, a table, and the code that runs them between kernels.

use std::io::Result;

use ipu_device::LogicalTile;

use super::Text;

/// Fewer tiles have an image of their own rather than images smaller than this.
const OPS_OF_AN_IMAGE: u64 = 200;
/// Ops of a phase: its row, and what calls it.
const OPS_OF_A_PHASE: u64 = 26;
/// So that code ends before interleaved memory.
const PHASES_OF_AN_IMAGE: u64 = 1400;
/// Where every image starts to run.
const PROGRAM: &str = "code @program at 0x5c130";
/// Where the rows of an image start.
const IMAGE_CODE: u32 = 0x5d000;

const OPENING: &str = "\
#home = #mapped.layout<split = [4, 1], tiles = (m, k) -> m, order = amp_left<16>, memory = standard>
";

pub(super) fn write(text: &mut Text<'_>) -> Result<()> {
    text.line(format_args!("{OPENING}"))?;
    text.op(format_args!("tile.program @main {{"))?;
    text.op(format_args!(
        "  tile.binding @x input (i) in (4) on i at 0xa0000 image 1024*i bytes 1024 : tensor<32x64xf16, #home>"
    ))?;
    text.op(format_args!("  tile.kernel @copy_strided_u64 at 0x5c338 size 256 reference"))?;
    text.op(format_args!("  tile.kernel @reduce_add_f16 at 0x5c738 size 256 reference"))?;
    section(text, 1, "code @entry at 0x4c010", &["tile.setzi m0, @program".into(), "tile.br m0".into()])?;
    section(text, 1, "code @worker_barrier at 0x5c070", &["tile.sync 2".into(), "tile.br m7".into()])?;
    // The last image is that of all tiles that have none of their own.
    let tiles = LogicalTile::all().len() as u64;
    let images = (text.wanted / OPS_OF_AN_IMAGE).clamp(1, tiles - 1);
    for (tile, left) in LogicalTile::all().zip((1..=images).rev()) {
        let ops = text.wanted.saturating_sub(text.ops) / left;
        text.op(format_args!("  tile.image on {tile} physical {} {{", tile.physical()))?;
        image(text, ops.div_ceil(OPS_OF_A_PHASE))?;
    }
    text.op(format_args!("  tile.image on [{images}:{tiles}] {{"))?;
    section(text, 2, PROGRAM, &["tile.setzi m0, 0".into(), "tile.br m15".into()])?;
    text.line(format_args!("  }}\n}}"))
}

fn image(text: &mut Text<'_>, phases: u64) -> Result<()> {
    let phases = phases.clamp(1, PHASES_OF_AN_IMAGE);
    section(text, 2, PROGRAM, &["tile.setzi m0, @main".into(), "tile.br m0".into()])?;
    let mut address = IMAGE_CODE;
    let mut main = Vec::new();
    for phase in 0..phases {
        let lines = row(text);
        section(text, 2, &format!("row @phase_{phase} at {address:#x}"), &lines)?;
        address += 4 * lines.len() as u32;
        let (from, into) = (0x60000 + 32 * text.below(512), 0x64000 + 32 * text.below(512));
        let kernel = ["copy_strided_u64", "reduce_add_f16"][text.below(2) as usize];
        main.extend(call(phase, kernel, from, into));
    }
    main.push("tile.br m15".into());
    let words: Vec<String> = (0..8).map(|_| format!("{:#010x}", text.below(1 << 32))).collect();
    text.op(format_args!("    tile.data @packets at {address:#x} table [{}]", words.join(", ")))?;
    section(text, 2, &format!("code @main at {:#x}", address + 32), &main)?;
    text.line(format_args!("  }}"))
}

/// A tile that sends twice and receives once.
fn row(text: &mut Text<'_>) -> Vec<String> {
    let (wait, words) = (20 + text.below(40), text.below(24));
    let (source, target) = (0x18000 + 8 * text.below(512), 0x19000 + 8 * text.below(512));
    vec![
        format!("tile.delayxpic 0, 0, {:#x}", text.below(1472)),
        format!("tile.delay {wait}"),
        format!("tile.send {words}, {source:#x}, 1"),
        format!("tile.send {words}, {:#x}, 1", source + words),
        format!("tile.sendpic {}, 2, {target:#x}", 1 + text.below(62)),
        "tile.sendpic 27, 0, 0x640".into(),
        format!("tile.delay {}", 60 - wait / 2),
        "tile.br m10".into(),
    ]
}

fn call(phase: u64, kernel: &str, from: u64, into: u64) -> [String; 17] {
    [
        "tile.setzi m8, 0".into(),
        "tile.put 0xa4, m8".into(),
        "tile.put 0xa7, m15".into(),
        "tile.call m7, @worker_barrier".into(),
        "tile.setzi m8, 1".into(),
        "tile.put 0xa6, m8".into(),
        "tile.sync 3".into(),
        format!("tile.call m10, @phase_{phase}"),
        format!("tile.setzi m2, {into:#x}"),
        format!("tile.setzi m3, {from:#x}"),
        "tile.setzi m4, 32".into(),
        "tile.setzi m5, 2".into(),
        "tile.setzi m6, 0xfffff".into(),
        "tile.shl m6, m6, 12".into(),
        "tile.add m6, m6, 4092".into(),
        "tile.setzi m7, 64".into(),
        format!("tile.call m10, @{kernel}"),
    ]
}

/// A section of instructions; `what` is its kind, name and address.
fn section(text: &mut Text<'_>, depth: usize, what: &str, lines: &[String]) -> Result<()> {
    let indent = "  ".repeat(depth);
    text.op(format_args!("{indent}tile.{what} {{"))?;
    for line in lines {
        text.op(format_args!("{indent}  {line}"))?;
    }
    text.line(format_args!("{indent}}}"))
}
