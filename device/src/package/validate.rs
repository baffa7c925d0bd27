//! The rules a package keeps, checked before it is written and after it is read; the first failure wins.
//!
//! Source: hardware notes on the application container, section 3. Stricter than those in one point: a tile
//! must be one of the device's 1,472.

use indexmap::{IndexMap, IndexSet};

use crate::memory_map::{LOAD_BASE, LOAD_END, MEMORY_BASE, MEMORY_END};
use crate::topology::TILE_COUNT;
use crate::units::PhysicalTile;

use super::error::{PackageCode, PackageError};
use super::model::{BindingKind, HostSlice, Package, RegionSlice, TileImage};

type Checked = Result<(), PackageError>;

fn refuse(code: PackageCode, at: impl Into<String>, message: impl Into<String>) -> Checked {
    Err(PackageError::new(code, at, message))
}

impl Package {
    /// Checks every rule that reader and writer demand.
    ///
    /// # Errors
    /// The first rule that does not hold, with its place.
    pub fn validate(&self) -> Checked {
        if self.tiles.is_empty() {
            return refuse(PackageCode::NoTiles, "tiles", "a package needs at least one tile");
        }
        self.check_config_writes()?;
        let tiles = self.check_tiles()?;
        self.check_profile(&tiles)?;
        self.check_debug(&tiles)?;
        self.check_bindings(&tiles)?;
        self.check_host_exchange()
    }

    /// Checks what the loader demands beyond [`Package::validate`].
    ///
    /// # Errors
    /// The first tile that cannot be loaded.
    pub fn validate_loadable(&self) -> Checked {
        if self.tiles.len() != usize::from(TILE_COUNT) {
            let message = format!("{} tiles, but a device has {TILE_COUNT}", self.tiles.len());
            return refuse(PackageCode::NotLoadable, "tiles", message);
        }
        for (index, image) in self.tiles.iter().enumerate() {
            let at = || format!("tile {}", image.tile);
            if usize::from(image.tile.0) != index {
                let message =
                    format!("stands at place {index}: tiles must be in ascending order without gaps");
                return refuse(PackageCode::NotLoadable, at(), message);
            }
            let start = image.segments.iter().map(|segment| segment.address).min();
            if start != Some(LOAD_BASE) {
                let found =
                    start.map_or_else(|| "there is none".to_owned(), |start| format!("it is {start}"));
                let message = format!("its lowest segment must begin at {LOAD_BASE}, but {found}");
                return refuse(PackageCode::NotLoadable, at(), message);
            }
            let end = image.end();
            if end > LOAD_END {
                let message = format!("its image ends at {end}, but the loader reaches {LOAD_END}");
                return refuse(PackageCode::NotLoadable, at(), message);
            }
        }
        Ok(())
    }

    fn check_config_writes(&self) -> Checked {
        let mut seen = IndexSet::new();
        for (index, write) in self.config_writes.iter().enumerate() {
            let at = || format!("device register write {index}");
            if !write.offset.is_multiple_of(4) {
                let message = format!("offset 0x{:x} is not a multiple of 4", write.offset);
                return refuse(PackageCode::ConfigWrite, at(), message);
            }
            if !seen.insert(write.offset) {
                let message = format!("offset 0x{:x} is written twice", write.offset);
                return refuse(PackageCode::ConfigWrite, at(), message);
            }
        }
        Ok(())
    }

    fn check_tiles(&self) -> Result<Vec<bool>, PackageError> {
        let mut present = vec![false; usize::from(TILE_COUNT)];
        for image in &self.tiles {
            let at = format!("tile {}", image.tile);
            let Some(present) = present.get_mut(usize::from(image.tile.0)) else {
                let message = format!("the device has tiles 0 to {}", TILE_COUNT - 1);
                return Err(PackageError::new(PackageCode::Tile, at, message));
            };
            if std::mem::replace(present, true) {
                return Err(PackageError::new(PackageCode::Tile, at, "the tile has two images"));
            }
        }
        let mut checked: Option<&TileImage> = None;
        for image in &self.tiles {
            let same = checked.is_some_and(|c| std::sync::Arc::ptr_eq(&c.segments, &image.segments));
            if !same {
                check_segments(image)?;
                checked = Some(image);
            }
        }
        Ok(present)
    }

    fn check_profile(&self, tiles: &[bool]) -> Checked {
        let mut seen = IndexSet::new();
        for plan in &self.profile_tiles {
            let at = format!("profile plan of tile {}", plan.tile);
            if !has(tiles, plan.tile) {
                return refuse(PackageCode::Profile, at, "the tile has no image");
            }
            if !seen.insert(plan.tile) {
                return refuse(PackageCode::Profile, at, "the tile has two plans");
            }
            let wrong =
                plan.steps.iter().enumerate().find(|(index, step)| step.local_index as usize != *index);
            if let Some((index, step)) = wrong {
                let message = format!("step {index} has local index {}", step.local_index);
                return refuse(PackageCode::Profile, at, message);
            }
        }
        Ok(())
    }

    fn check_debug(&self, tiles: &[bool]) -> Checked {
        if let Some(index) = self.debug_symbols.iter().position(|symbol| symbol.name.is_empty()) {
            return refuse(PackageCode::Debug, format!("debug symbol {index}"), "its name is empty");
        }
        for (index, region) in self.debug_regions.iter().enumerate() {
            let message = if region.name.is_empty() {
                "its name is empty"
            } else if region.size.0 == 0 {
                "its size is 0"
            } else if region.address.checked_add(region.size).is_none() {
                "its end is past the 32-bit space"
            } else if region.tile.is_some_and(|tile| !has(tiles, tile)) {
                "its tile has no image"
            } else {
                continue;
            };
            return refuse(PackageCode::Debug, format!("debug region {index} `{}`", region.name), message);
        }
        Ok(())
    }

    fn check_bindings(&self, tiles: &[bool]) -> Checked {
        let mut names = IndexMap::new();
        for (kind, binding) in self.bindings() {
            let at = format!("{} `{}`", kind.name(), binding.name);
            if binding.name.is_empty() {
                return refuse(PackageCode::Binding, at, "its name is empty");
            }
            if let Some(other) = names.insert(binding.name.as_str(), kind) {
                let other: BindingKind = other;
                let message = format!("the name is taken by another binding ({})", other.name());
                return refuse(PackageCode::Binding, at, message);
            }
            for (index, slice) in binding.slices.iter().enumerate() {
                if let Some(message) = wrong_slice(slice, tiles) {
                    return refuse(PackageCode::Binding, format!("{at}, slice {index}"), message);
                }
            }
        }
        Ok(())
    }

    fn check_host_exchange(&self) -> Checked {
        let exchange = &self.host_exchange;
        let mut pages = IndexMap::new();
        for page in &exchange.pages {
            if pages.insert(page.index, page.size).is_some() {
                return refuse(
                    PackageCode::HostPage,
                    format!("page {}", page.index),
                    "the page is listed twice",
                );
            }
        }
        if let Some(missing) = exchange.attach_order.iter().find(|index| !pages.contains_key(*index)) {
            return refuse(PackageCode::HostPage, "attach order", format!("page {missing} does not exist"));
        }
        if exchange.calls.is_empty() {
            return Ok(());
        }
        let command_end = exchange.command_offset.checked_add(4);
        match (pages.get(&exchange.command_page), command_end) {
            (Some(&size), Some(end)) if end <= size => {}
            _ => {
                let message = format!(
                    "the command word at byte {} of page {} is outside the pages",
                    exchange.command_offset, exchange.command_page
                );
                return refuse(PackageCode::HostPage, "command page", message);
            }
        }
        for call in &exchange.calls {
            let at = format!("call `{}`", call.name);
            if call.invocations == 0 {
                return refuse(PackageCode::HostCall, at, "its invocations are 0");
            }
            check_batches(&format!("{at}, inputs"), &call.inputs, &call.input_batch_ends, &pages)?;
            check_batches(&format!("{at}, outputs"), &call.outputs, &call.output_batch_ends, &pages)?;
        }
        Ok(())
    }
}

fn has(tiles: &[bool], tile: PhysicalTile) -> bool {
    tiles.get(usize::from(tile.0)).copied().unwrap_or(false)
}

fn check_segments(image: &TileImage) -> Checked {
    let mut ranges = Vec::with_capacity(image.segments.len());
    for (index, segment) in image.segments.iter().enumerate() {
        let refuse = |message: String| {
            refuse(PackageCode::Segment, format!("tile {}, segment {index}", image.tile), message)
        };
        let end = match segment.address.checked_add(segment.size) {
            Some(end) if segment.address >= MEMORY_BASE && end <= MEMORY_END => end,
            _ => {
                return refuse(format!(
                    "{} at {} leaves tile memory, {MEMORY_BASE} to {MEMORY_END}",
                    segment.size, segment.address
                ));
            }
        };
        if segment.data.len() > segment.size.0 as usize {
            return refuse(format!("{} bytes of data for {} of memory", segment.data.len(), segment.size));
        }
        if segment.size.0 != 0 {
            ranges.push((segment.address, end, index));
        }
    }
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        if let [(_, end, first), (start, _, second)] = pair
            && start < end
        {
            let at = format!("tile {}, segments {first} and {second}", image.tile);
            return refuse(PackageCode::SegmentOverlap, at, format!("they overlap from {start} to {end}"));
        }
    }
    Ok(())
}

fn wrong_slice(slice: &RegionSlice, tiles: &[bool]) -> Option<String> {
    if !has(tiles, slice.tile) {
        return Some(format!("tile {} has no image", slice.tile));
    }
    let end = u64::from(slice.address.0).checked_add(slice.size);
    let inside = slice.address >= MEMORY_BASE && end.is_some_and(|end| end <= u64::from(MEMORY_END.0));
    if !inside {
        return Some(format!(
            "{} bytes at {} leave tile memory, {MEMORY_BASE} to {MEMORY_END}",
            slice.size, slice.address
        ));
    }
    let past = slice.file_offset.checked_add(slice.size).is_none();
    past.then(|| format!("{} bytes at file offset {} are past any file", slice.size, slice.file_offset))
}

fn check_batches(at: &str, slices: &[HostSlice], ends: &[u32], pages: &IndexMap<u32, u64>) -> Checked {
    let rising = ends.iter().zip(ends.iter().skip(1)).all(|(one, next)| one < next);
    let from_one = ends.first().is_none_or(|&first| first > 0);
    let all = ends.last().copied().unwrap_or(0) as usize == slices.len();
    if !(rising && from_one && all) {
        let message = format!(
            "batch ends must rise from 1 or more to {}, the number of slices, but are {ends:?}",
            slices.len()
        );
        return refuse(PackageCode::HostCall, at, message);
    }
    for (index, slice) in slices.iter().enumerate() {
        let end = slice.page_offset.checked_add(slice.size);
        let inside = pages.get(&slice.page).is_some_and(|&size| end.is_some_and(|end| end <= size));
        if !inside || slice.file_offset.checked_add(slice.size).is_none() {
            let message = format!(
                "{} bytes at byte {} of page {} are outside the pages",
                slice.size, slice.page_offset, slice.page
            );
            return refuse(PackageCode::HostCall, format!("{at}, slice {index}"), message);
        }
    }
    Ok(())
}
