//! `ipu inspect`: what a package holds, and the code of a tile.

use std::fmt::Write as _;

use clap::Args;
use ipu_device::hash::HashMap;
use ipu_device::isa::{Context, Instruction, OperandKind, decode};
use ipu_device::package::{Package, Segment, TileImage};
use ipu_device::{Address, LogicalTile, PhysicalTile};
use ipu_passes::build_package::{Record, SectionKind};
use serde_json::{Value, json};

use crate::exit::{DriverCode, Exit, Failure};
use crate::files::write_standard_output;
use crate::package_file::read_package;

/// Shows what a package holds.
#[derive(Debug, Args)]
pub struct InspectArguments {
    /// Package file.
    package: String,
    /// Disassemble this tile, by its logical number.
    #[arg(long, value_name = "TILE")]
    tile: Option<u16>,
    /// Take a package of another compiler, which has no footer of ours.
    #[arg(long)]
    foreign: bool,
    /// Print one JSON object.
    #[arg(long, conflicts_with = "tile")]
    json: bool,
}

/// Runs the subcommand.
///
/// # Errors
/// The package is refused, or has no such tile.
pub fn run(arguments: &InspectArguments) -> Result<Exit, Failure> {
    let package = read_package(&arguments.package, arguments.foreign)?;
    let record = package.footer.as_ref().map(Record::read).unwrap_or_default();
    let text = match arguments.tile {
        Some(tile) => tile_text(&package, &record, tile)?,
        None if arguments.json => format!("{}\n", summary(&package)),
        None => summary_text(&package),
    };
    write_standard_output(text.as_bytes())?;
    Ok(Exit::Ok)
}

/// All that there is to show of a package: both summaries, and the code of a tile of each image.
pub(crate) fn everything(package: &Package) -> String {
    let record = package.footer.as_ref().map(Record::read).unwrap_or_default();
    let tiles = classes(package).into_iter().map(|(image, _)| image.tile.logical().0);
    let tiles = tiles.filter_map(|tile| tile_text(package, &record, tile).ok());
    format!("{}\n{}{}", summary(package), summary_text(package), tiles.collect::<String>())
}

/// Images with equal contents, by the first tile that has them.
fn classes(package: &Package) -> Vec<(&TileImage, usize)> {
    let mut classes: Vec<(&TileImage, usize)> = Vec::new();
    let mut known: HashMap<*const Segment, usize> = HashMap::default();
    for image in &package.tiles {
        // Reading keeps equal images in one allocation.
        let class = *known.entry(image.segments.as_ptr()).or_insert_with(|| {
            classes.push((image, 0));
            classes.len() - 1
        });
        classes[class].1 += 1;
    }
    classes
}

fn summary(package: &Package) -> Value {
    let bindings: Vec<Value> = package
        .bindings()
        .map(|(kind, binding)| {
            json!({
                "name": binding.name, "kind": kind.name(), "dtype": binding.dtype, "shape": binding.shape,
                "bytes": binding.byte_length(), "slices": binding.slices.len(),
            })
        })
        .collect();
    let calls: Vec<Value> = package
        .host_exchange
        .calls
        .iter()
        .map(|call| {
            json!({"name": call.name, "command": call.command, "phases": call.phases, "invocations": call.invocations})
        })
        .collect();
    let footer = package.footer.as_ref();
    json!({
        "compiler_version": package.compiler_version,
        "tiles": package.tiles.len(),
        "images": classes(package).len(),
        "stored_bytes": package.stored_bytes(),
        "bindings": bindings,
        "calls": calls,
        "pages": package.host_exchange.pages.iter().map(|page| page.size).collect::<Vec<_>>(),
        "reference_kernels": footer.map(|footer| footer.reference_kernels.clone()).unwrap_or_default(),
        "command": footer.map(|footer| footer.command.clone()).unwrap_or_default(),
    })
}

fn summary_text(package: &Package) -> String {
    let mut text = format!(
        "{} tiles, {} bytes, made by {}\n",
        package.tiles.len(),
        package.stored_bytes(),
        if package.compiler_version.is_empty() { "unknown" } else { &package.compiler_version }
    );
    for (kind, binding) in package.bindings() {
        let shape: Vec<String> = binding.shape.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            text,
            "{:7} {:12} {}x{}: {} bytes in {} slices",
            kind.name(),
            binding.name,
            shape.join("x"),
            binding.dtype,
            binding.byte_length(),
            binding.slices.len()
        );
    }
    for call in &package.host_exchange.calls {
        let _ = writeln!(text, "call    {:12} command {}, {} phases", call.name, call.command, call.phases);
    }
    for (image, tiles) in classes(package) {
        let first = image.tile.logical();
        let more = if tiles == 1 { String::new() } else { format!(" and {} more tiles", tiles - 1) };
        let (segments, bytes) = (image.segments.len(), image.stored_bytes());
        let _ = writeln!(
            text,
            "image   tile {first} (physical {}){more}: {segments} segments, {bytes} bytes, ends at {}",
            image.tile,
            image.end()
        );
    }
    let reference = package.footer.as_ref().map_or(0, |footer| footer.reference_kernels.len());
    if reference > 0 {
        let plural = if reference == 1 { "kernel" } else { "kernels" };
        let _ = writeln!(text, "not executable on hardware: {reference} reference {plural}");
    }
    text
}

/// The code of a tile, with the names that the footer has.
fn tile_text(package: &Package, record: &Record, tile: u16) -> Result<String, Failure> {
    let missing = || {
        let message = format!("the package has no tile {tile}; tiles are 0 to 1471, logical");
        Failure::new(Exit::Input, DriverCode::Usage, message)
    };
    let logical = LogicalTile::new(tile.into()).ok_or_else(missing)?;
    let image = package.tile(logical.physical()).ok_or_else(missing)?;
    let names = names_of(package, record, image);
    let symbols: HashMap<Address, &str> = image
        .segments
        .iter()
        .zip(&names)
        .map(|(segment, (_, name))| (segment.address, name.as_str()))
        .collect();
    let mut text = format!("tile {tile} (physical {})\n", image.tile);
    for (segment, (kind, name)) in image.segments.iter().zip(&names) {
        let kind = kind.map_or("segment", kind_name);
        let _ = writeln!(text, "\n{kind} @{name} at {} ({})", segment.address, segment.size);
        disassemble(segment, &symbols, &mut text);
    }
    Ok(text)
}

fn kind_name(kind: SectionKind) -> &'static str {
    match kind {
        SectionKind::Row => "row",
        SectionKind::Code => "code",
        SectionKind::Data => "data",
        SectionKind::Kernel => "kernel",
    }
}

/// Kind and name of each segment of an image; its address where the footer has none.
fn names_of(package: &Package, record: &Record, image: &TileImage) -> Vec<(Option<SectionKind>, String)> {
    let same = package.tiles.iter().find(|other| other.segments.as_ptr() == image.segments.as_ptr());
    let first: PhysicalTile = same.map_or(image.tile, |other| other.tile);
    let known = record.segments(first).unwrap_or(&[]);
    let name = |(index, segment): (usize, &Segment)| match known.get(index) {
        Some(known) => (Some(known.kind), known.name.clone()),
        None => (None, segment.address.to_string()),
    };
    image.segments.iter().enumerate().map(name).collect()
}

/// A line a word of code; eight words a line of anything else.
fn disassemble(segment: &Segment, symbols: &HashMap<Address, &str>, text: &mut String) {
    let words: Vec<u32> = segment.data.as_chunks::<4>().0.iter().map(|&w| u32::from_le_bytes(w)).collect();
    if !segment.flags.is_executable() {
        for (index, line) in words.chunks(8).enumerate() {
            let address = Address(segment.address.0.saturating_add(32 * index as u32));
            let line: Vec<String> = line.iter().map(|word| format!("{word:08x}")).collect();
            let _ = writeln!(text, "  {address}  {}", line.join(" "));
        }
        return;
    }
    let mut index = 0;
    while let Some(rest) = words.get(index..).filter(|rest| !rest.is_empty()) {
        let address = Address(segment.address.0.saturating_add(4 * index as u32));
        let decoded = decode(Context::Supervisor, rest).or_else(|_| decode(Context::Worker, rest)).ok();
        let count = decoded.map_or(1, |instruction| instruction.word_count().max(1));
        let shown: Vec<String> = rest.iter().take(count).map(|word| format!("{word:08x}")).collect();
        let mut line = decoded.map_or_else(|| ".word".to_owned(), |instruction| instruction.to_string());
        let target = decoded.and_then(|instruction| code_address(&instruction));
        if let Some(name) = target.and_then(|target| symbols.get(&target)) {
            let _ = write!(line, "  ; @{name}");
        }
        let _ = writeln!(text, "  {address}  {:17}  {line}", shown.join(" "));
        index += count;
    }
}

/// The code address that an instruction names.
fn code_address(instruction: &Instruction) -> Option<Address> {
    let operands = instruction.form().operands.iter().zip(instruction.values());
    let (_, value) = operands.into_iter().find(|(operand, _)| operand.kind == OperandKind::CodeAddress)?;
    u32::try_from(value).ok().map(Address)
}
