//! Whether code lies where code can be, and on no binding.

use ipu_device::hash::HashMap;
use ipu_device::memory_map::{CODE_BASE, INTERLEAVED_BASE};
use ipu_device::{Address, LogicalTile};
use ipu_dialects::tile::{Image, Slice, TileProgram};

use super::layout::first_free;
use super::{EmitCode, EmitError};

/// Refuses a program with code whose code leaves the memory that can be executed, or lies on a binding.
pub(super) fn check(program: &TileProgram) -> Result<(), EmitError> {
    let mut slices: HashMap<LogicalTile, Vec<(&str, &Slice)>> = HashMap::default();
    for binding in &program.bindings {
        for slice in &binding.slices {
            slices.entry(slice.tile).or_default().push((&binding.name, slice));
        }
    }
    program.images.iter().try_for_each(|image| check_image(image, &slices))
}

fn check_image(image: &Image, slices: &HashMap<LogicalTile, Vec<(&str, &Slice)>>) -> Result<(), EmitError> {
    let Some(tile) = image.tiles.first() else { return Ok(()) };
    let refuse = |message: String| Err(EmitError::new(EmitCode::NoRoom, image.source, message));
    let below = image.sections.iter().filter(|section| section.address < INTERLEAVED_BASE);
    let end = below.map(|section| section.address.0.saturating_add(section.size().0)).max();
    let end = Address(end.unwrap_or_default()).max(first_free());
    if end > INTERLEAVED_BASE {
        let past = end.0 - INTERLEAVED_BASE.0;
        return refuse(format!(
            "code of tile {tile} (physical {}) ends at {end}, {past} bytes past {INTERLEAVED_BASE}, where memory that can be \
             executed ends",
            tile.physical()
        ));
    }
    let code = CODE_BASE.0..end.0;
    for tile in &image.tiles {
        for (name, slice) in slices.get(tile).into_iter().flatten() {
            let (start, stop) = (slice.address.0, slice.address.0.saturating_add(slice.bytes.0));
            let shared = stop.min(code.end).saturating_sub(start.max(code.start));
            if shared > 0 {
                return refuse(format!(
                    "code of tile {tile} (physical {}) goes to {CODE_BASE}..{end}, on {shared} bytes of `@{name}` at {}..{}",
                    tile.physical(),
                    slice.address,
                    Address(stop)
                ));
            }
        }
    }
    Ok(())
}
