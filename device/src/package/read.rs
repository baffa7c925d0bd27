//! From the bytes of a file, possibly hostile, to a [`Package`].

use capnp::message::{Reader, ReaderOptions, SegmentArray};
use capnp::{data, struct_list, text};

use crate::memory_map::{MEMORY_BASE, MEMORY_END};
use crate::units::{Address, Bytes, PhysicalTile};

use super::application_capnp as wire;
use super::error::{PackageCode, PackageError};
use super::intern::Interner;
use super::model::{
    Binding, ConfigWrite, DebugRegion, DebugSymbol, EntryPoint, HostCall, HostExchange, HostPage, HostSlice,
    Package, RegionSlice, Segment, SegmentFlags, TileImage,
};
use super::profile::{ExchangeActivity, ExchangeActivityKind, ProfileStep, StepKind, TileProfilePlan};
use super::write::{EVERY_TILE, SCHEMA_VERSION, TARGET};
use super::{footer, framing};

/// Pointers that may follow each other from the root; the format needs 6.
const NESTING_MAX: i32 = 16;
/// How often the whole message may be read; a sound message is read once.
const TRAVERSALS_MAX: usize = 4;
/// List elements granted beyond one for every four bytes of the file.
const ELEMENTS_FREE: usize = 4096;

impl Package {
    /// Reads a package of ours.
    ///
    /// # Errors
    /// Damage anywhere, a missing or wrong footer, a rule of [`Package::validate`] that does not hold.
    pub fn from_bytes(file: &[u8]) -> Result<Self, PackageError> {
        let (segments, end) = framing::segments(file)?;
        let footer = footer::parse(file, end)?;
        let mut package = read_message(&segments, file.len())?;
        package.footer = Some(footer);
        Ok(package)
    }

    /// Reads a package of any compiler. Bytes after the message are ignored unless they are a footer of ours.
    ///
    /// # Errors
    /// A damaged message, or a rule of [`Package::validate`] that does not hold.
    pub fn from_foreign_bytes(file: &[u8]) -> Result<Self, PackageError> {
        let (segments, end) = framing::segments(file)?;
        let mut package = read_message(&segments, file.len())?;
        package.footer = footer::parse(file, end).ok();
        Ok(package)
    }
}

fn read_message(segments: &[&[u8]], file_size: usize) -> Result<Package, PackageError> {
    let words: usize = segments.iter().map(|segment| segment.len() / 8).sum();
    let mut options = ReaderOptions::new();
    options.nesting_limit(NESTING_MAX);
    options.traversal_limit_in_words(Some(TRAVERSALS_MAX * words + ELEMENTS_FREE));
    let mut elements = Elements { left: file_size / 4 + ELEMENTS_FREE };
    let aligned = segments.iter().all(|segment| segment.as_ptr().addr().is_multiple_of(8));
    let package = if aligned {
        let message = Reader::new(SegmentArray::new(segments), options);
        read_application(message.get_root().map_err(malformed("root"))?, &mut elements)?
    } else {
        let copies: Vec<Vec<capnp::Word>> = segments.iter().map(|segment| aligned_copy(segment)).collect();
        let segments: Vec<&[u8]> = copies.iter().map(|words| capnp::Word::words_to_bytes(words)).collect();
        let message = Reader::new(SegmentArray::new(&segments), options);
        read_application(message.get_root().map_err(malformed("root"))?, &mut elements)?
    };
    package.validate()?;
    Ok(package)
}

fn aligned_copy(segment: &[u8]) -> Vec<capnp::Word> {
    let mut words = capnp::Word::allocate_zeroed_vec(segment.len() / 8);
    capnp::Word::words_to_bytes_mut(&mut words).copy_from_slice(segment);
    words
}

/// How many more list elements may be read.
struct Elements {
    left: usize,
}

impl Elements {
    fn take(&mut self, count: u32, at: &str) -> Result<usize, PackageError> {
        match self.left.checked_sub(count as usize) {
            Some(left) => {
                self.left = left;
                Ok(count as usize)
            }
            None => {
                let message = format!("a list of {count} elements is more than a file of this size can hold");
                Err(PackageError::new(PackageCode::Limit, at, message))
            }
        }
    }

    fn structs<'a, T: capnp::traits::OwnedStruct, U>(
        &mut self,
        at: &str,
        list: capnp::Result<struct_list::Reader<'a, T>>,
        mut read: impl FnMut(T::Reader<'a>, &mut Self) -> Result<U, PackageError>,
    ) -> Result<Vec<U>, PackageError> {
        let list = list.map_err(malformed(at))?;
        let mut values = Vec::with_capacity(self.take(list.len(), at)?);
        for element in list {
            values.push(read(element, self)?);
        }
        Ok(values)
    }

    fn words(
        &mut self,
        at: &str,
        list: capnp::Result<capnp::primitive_list::Reader<'_, u32>>,
    ) -> Result<Vec<u32>, PackageError> {
        let list = list.map_err(malformed(at))?;
        self.take(list.len(), at)?;
        Ok(list.iter().collect())
    }
}

fn malformed(at: &str) -> impl Fn(capnp::Error) -> PackageError + '_ {
    move |error| {
        let code = match error.kind {
            capnp::ErrorKind::ReadLimitExceeded | capnp::ErrorKind::NestingLimitExceeded => {
                PackageCode::Limit
            }
            _ => PackageCode::Message,
        };
        PackageError::new(code, at, error.to_string())
    }
}

fn string(at: &str, value: capnp::Result<text::Reader<'_>>) -> Result<String, PackageError> {
    let text = value.map_err(malformed(at))?.to_str();
    text.map(str::to_owned).map_err(|_| PackageError::new(PackageCode::Message, at, "a text is not UTF-8"))
}

fn tile(at: &str, id: u32) -> Result<PhysicalTile, PackageError> {
    PhysicalTile::new(u64::from(id)).ok_or_else(|| {
        PackageError::new(
            PackageCode::Tile,
            at,
            format!("physical tile {id} does not exist, a device has 1,472"),
        )
    })
}

fn check_header(root: wire::application::Reader<'_>) -> Result<(), PackageError> {
    let refuse = |at: &str, found: &str, expected: &str| {
        let message = format!("found {found}, expected {expected}");
        Err(PackageError::new(PackageCode::Header, at, message)
            .fix("the file is for another device or another version of the format"))
    };
    let version = root.get_schema_version();
    if version != SCHEMA_VERSION {
        return refuse("schema version", &version.to_string(), &SCHEMA_VERSION.to_string());
    }
    let target = string("target", root.get_target())?;
    if target != TARGET {
        return refuse("target", &format!("`{}`", target.escape_debug()), &format!("`{TARGET}`"));
    }
    let (base, size) = (Address(root.get_tile_memory_base()), Bytes(root.get_tile_memory_size()));
    let expected = (MEMORY_BASE, Bytes(MEMORY_END.0 - MEMORY_BASE.0));
    if (base, size) != expected {
        return refuse(
            "tile memory",
            &format!("{size} at {base}"),
            &format!("{} at {}", expected.1, expected.0),
        );
    }
    Ok(())
}

fn read_application(
    root: wire::application::Reader<'_>,
    elements: &mut Elements,
) -> Result<Package, PackageError> {
    check_header(root)?;
    let mut interner = Interner::default();
    Ok(Package {
        compiler_version: string("compiler version", root.get_compiler_version())?,
        tiles: elements.structs("tiles", root.get_tiles(), |image, elements| {
            read_tile(image, elements, &mut interner)
        })?,
        inputs: elements.structs("inputs", root.get_inputs(), read_binding)?,
        outputs: elements.structs("outputs", root.get_outputs(), read_binding)?,
        weights: elements.structs("weights", root.get_weights(), read_binding)?,
        host_exchange: read_host_exchange(
            root.get_host_exchange().map_err(malformed("host exchange"))?,
            elements,
        )?,
        entry_points: elements.structs("entry points", root.get_entry_points(), |entry, _| {
            Ok(EntryPoint {
                name: string("entry point", entry.get_name())?,
                command: entry.get_command(),
                external_syncs: entry.get_external_syncs(),
            })
        })?,
        config_writes: elements.structs(
            "device register writes",
            root.get_device_config_writes(),
            |write, _| Ok(ConfigWrite { offset: write.get_offset(), value: write.get_value() }),
        )?,
        profile_tiles: elements.structs("profile plans", root.get_profile_tiles(), |plan, elements| {
            let tile = tile("profile plan", plan.get_physical_tile())?;
            Ok(TileProfilePlan {
                tile,
                steps: elements.structs("profile steps", plan.get_steps(), read_step)?,
            })
        })?,
        debug_symbols: elements.structs("debug symbols", root.get_debug_symbols(), |symbol, _| {
            Ok(DebugSymbol {
                name: string("debug symbol", symbol.get_name())?,
                address: Address(symbol.get_address()),
            })
        })?,
        debug_regions: elements.structs("debug regions", root.get_debug_regions(), |region, _| {
            let every = region.get_physical_tile() == EVERY_TILE;
            Ok(DebugRegion {
                tile: if every { None } else { Some(tile("debug region", region.get_physical_tile())?) },
                address: Address(region.get_address()),
                size: Bytes(region.get_size()),
                name: string("debug region", region.get_name())?,
            })
        })?,
        footer: None,
    })
}

fn read_tile(
    image: wire::tile_image::Reader<'_>,
    elements: &mut Elements,
    interner: &mut Interner,
) -> Result<TileImage, PackageError> {
    let tile = tile("tiles", image.get_physical_tile())?;
    let at = || format!("tile {tile}");
    let list = image.get_segments().map_err(|error| malformed(&at())(error))?;
    let mut segments = Vec::with_capacity(elements.take(list.len(), "segments")?);
    for segment in list {
        let data: data::Reader<'_> = segment.get_data().map_err(|error| malformed(&at())(error))?;
        segments.push(Segment {
            address: Address(segment.get_address()),
            size: Bytes(segment.get_memory_size()),
            flags: SegmentFlags(segment.get_flags()),
            data: interner.data(data),
        });
    }
    Ok(TileImage {
        tile,
        entry_point: Address(image.get_entry_point()),
        command_address: Address(image.get_command_address()),
        diagnostic_address: Address(image.get_diagnostic_address()),
        segments: interner.segments(segments),
    })
}

fn read_binding(
    binding: wire::binding::Reader<'_>,
    elements: &mut Elements,
) -> Result<Binding, PackageError> {
    let name = string("binding", binding.get_name())?;
    let at = format!("binding `{}`", name.escape_debug());
    Ok(Binding {
        dtype: string(&at, binding.get_dtype())?,
        shape: elements.words(&at, binding.get_shape())?,
        slices: elements.structs(&at, binding.get_slices(), |slice, _| {
            Ok(RegionSlice {
                tile: tile(&at, slice.get_tile())?,
                address: Address(slice.get_tile_address()),
                file_offset: slice.get_file_offset(),
                size: slice.get_size(),
            })
        })?,
        name,
    })
}

fn read_host_exchange(
    exchange: wire::host_exchange::Reader<'_>,
    elements: &mut Elements,
) -> Result<HostExchange, PackageError> {
    Ok(HostExchange {
        startup_mark: exchange.get_startup_mark(),
        command_page: exchange.get_command_page(),
        command_offset: exchange.get_command_offset(),
        pages: elements.structs("host pages", exchange.get_pages(), |page, _| {
            Ok(HostPage { index: page.get_index(), size: page.get_size() })
        })?,
        attach_order: elements.words("attach order", exchange.get_attach_order())?,
        calls: elements.structs("host calls", exchange.get_calls(), read_call)?,
    })
}

fn read_call(call: wire::host_call::Reader<'_>, elements: &mut Elements) -> Result<HostCall, PackageError> {
    let name = string("call", call.get_name())?;
    let at = format!("call `{}`", name.escape_debug());
    let slice = |slice: wire::host_slice::Reader<'_>, _: &mut Elements| {
        Ok(HostSlice {
            page: slice.get_page(),
            page_offset: slice.get_page_offset(),
            file_offset: slice.get_file_offset(),
            size: slice.get_size(),
        })
    };
    Ok(HostCall {
        command: call.get_command(),
        phases: call.get_phases(),
        invocations: call.get_invocations(),
        inputs: elements.structs(&at, call.get_inputs(), slice)?,
        input_batch_ends: elements.words(&at, call.get_input_batch_ends())?,
        outputs: elements.structs(&at, call.get_outputs(), slice)?,
        output_batch_ends: elements.words(&at, call.get_output_batch_ends())?,
        name,
    })
}

fn read_step(step: wire::step::Reader<'_>, elements: &mut Elements) -> Result<ProfileStep, PackageError> {
    let at = "profile step";
    let unknown = |_| PackageError::new(PackageCode::Message, at, "an enum has an unknown value");
    Ok(ProfileStep {
        local_index: step.get_local_index(),
        phase: step.get_phase(),
        epoch: step.get_epoch(),
        operation: string(at, step.get_operation())?,
        kind: match step.get_kind().map_err(unknown)? {
            wire::StepKind::Exchange => StepKind::Exchange,
            wire::StepKind::Compute => StepKind::Compute,
            wire::StepKind::Synchronization => StepKind::Synchronization,
            wire::StepKind::Idle => StepKind::Idle,
        },
        kernel: string(at, step.get_kernel())?,
        metadata: elements.structs(at, step.get_metadata(), |pair, _| {
            Ok((string(at, pair.get_name())?, string(at, pair.get_value())?))
        })?,
        exchange_activities: elements.structs(at, step.get_exchange_activities(), |activity, _| {
            Ok(ExchangeActivity {
                kind: match activity.get_kind().map_err(unknown)? {
                    wire::ExchangeActivityKind::Send => ExchangeActivityKind::Send,
                    wire::ExchangeActivityKind::Receive => ExchangeActivityKind::Receive,
                    wire::ExchangeActivityKind::PartnerBusy => ExchangeActivityKind::PartnerBusy,
                },
                start_cycle: activity.get_start_cycle(),
                end_cycle: activity.get_end_cycle(),
                fanout: activity.get_fanout(),
                paired: activity.get_paired(),
            })
        })?,
        exchange_event_cycles: step.get_exchange_event_cycles(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use capnp::message::{AllocationStrategy, Builder, HeapAllocator};

    use super::*;

    fn package() -> Package {
        let data: Arc<[u8]> = (0..=255).collect::<Vec<u8>>().into();
        let segment =
            Segment { address: Address(0x4c010), size: Bytes(256), flags: SegmentFlags::CODE, data };
        let segments: Arc<[Segment]> = vec![segment].into();
        let image = |tile| TileImage::new(PhysicalTile(tile), segments.clone());
        Package {
            compiler_version: "a compiler".to_owned(),
            tiles: (0..40).map(image).collect(),
            ..Package::default()
        }
    }

    /// The same message in segments of the given size, so that its objects are reached by far pointers.
    fn split(message: &[u8], words: u32) -> (Vec<u8>, usize) {
        let (segments, _) = framing::segments(message).unwrap();
        let reader = Reader::new(SegmentArray::new(&segments), ReaderOptions::new());
        let root: wire::application::Reader<'_> = reader.get_root().unwrap();
        let allocator = HeapAllocator::new()
            .first_segment_words(words)
            .allocation_strategy(AllocationStrategy::FixedSize);
        let mut builder = Builder::new(allocator);
        builder.set_root::<wire::application::Owned>(root).unwrap();
        let segments = builder.get_segments_for_output();
        (framing::message(&segments, 0), segments.len())
    }

    #[test]
    fn a_message_of_many_segments_is_read() {
        let package = package();
        let message = package.message_bytes().unwrap();
        for words in [1, 2, 7, 64, 600] {
            let (bytes, segments) = split(&message, words);
            assert!(segments > 2, "{segments} segments");
            if segments > 511 {
                assert_eq!(Package::from_foreign_bytes(&bytes).unwrap_err().code, PackageCode::Framing);
            } else {
                assert_eq!(
                    Package::from_foreign_bytes(&bytes).unwrap(),
                    package,
                    "segments of {words} words"
                );
            }
        }
    }
}
