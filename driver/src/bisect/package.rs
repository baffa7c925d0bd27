//! Packages: whether their segments hold what the tile program says.

use ipu_device::LogicalTile;
use ipu_device::package::{Package, Segment};
use ipu_dialects::tile::{Body, Section, TileProgram};

use super::report::OpAt;

/// The first section of the tile program that the package holds otherwise.
pub(super) fn image_difference(program: &TileProgram, package: &Package) -> Option<(OpAt, String)> {
    let memory = |tile: LogicalTile| {
        let image = package.tiles.iter().find(|image| image.tile == tile.physical())?;
        Some(&image.segments)
    };
    program.images.iter().find_map(|image| {
        let tile = *image.tiles.iter().find(|&&tile| {
            memory(tile)
                .is_some_and(|segments| image.sections.iter().any(|section| !holds(segments, section)))
        })?;
        let segments = memory(tile)?;
        let other = program.images.iter().find(|other| {
            !std::ptr::eq(*other, image) && other.sections.iter().all(|section| holds(segments, section))
        });
        if let Some(other) = other {
            let owner = other.tiles.first()?;
            let op = OpAt::named("tile.image", Some(format!("on {tile}")));
            return Some((op, format!("tile {tile} has the image of tile {owner} in the package")));
        }
        let section = image.sections.iter().find(|section| !holds(segments, section))?;
        let name = match section.body {
            Body::Row(_) => "tile.row",
            Body::Code(_) => "tile.code",
            Body::Data(_) => "tile.data",
        };
        let symbol = format!("@{} at {}", section.symbol, section.address);
        let note =
            format!("the package has other words for `@{}` of tile {tile} than the program", section.symbol);
        Some((OpAt::named(name, Some(symbol)), note))
    })
}

/// Whether the segments hold the stored bytes of the section.
fn holds(segments: &[Segment], section: &Section) -> bool {
    let Ok(bytes) = section.stored_bytes() else { return true };
    let byte = |address: u32| {
        let segment = segments
            .iter()
            .find(|segment| (segment.address.0..segment.address.0 + segment.size.0).contains(&address))?;
        Some(segment.data.get((address - segment.address.0) as usize).copied().unwrap_or(0))
    };
    (section.address.0..).zip(&bytes).all(|(address, &wanted)| byte(address) == Some(wanted))
}
