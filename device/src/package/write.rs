//! From a [`Package`] to the bytes of a file.

use capnp::message::{Builder, HeapAllocator};
use capnp::{struct_list, text};

use crate::memory_map::{MEMORY_BASE, MEMORY_END};

use super::application_capnp as wire;
use super::error::{PackageCode, PackageError};
use super::model::{Binding, HostCall, HostExchange, HostSlice, Package, TileImage};
use super::profile::{ExchangeActivityKind, ProfileStep, StepKind, TileProfilePlan};
use super::{footer, framing};

/// Schema version written and read.
pub(super) const SCHEMA_VERSION: u32 = 5;
/// The one target.
pub(super) const TARGET: &str = "ipu21";
/// Tile number that means every tile in a debug region.
pub(super) const EVERY_TILE: u32 = u32::MAX;
/// Largest first segment that is asked for; bigger messages take more segments.
const FIRST_SEGMENT_WORDS_MAX: u64 = 1 << 26;

impl Package {
    /// The bytes of the file: message and footer. The same package gives the same bytes.
    ///
    /// # Errors
    /// A rule of [`Package::validate`] that does not hold, or a package without footer.
    pub fn to_bytes(&self) -> Result<Vec<u8>, PackageError> {
        let footer = self.footer.as_ref().ok_or_else(|| {
            PackageError::new(PackageCode::Footer, "footer", "a package without a footer cannot be written")
                .fix("it was read as foreign; build it again to write it")
        })?;
        let json = footer.json()?;
        Ok(footer::append(self.message(footer::size(&json))?, &json))
    }

    /// The message alone, as other tools write it.
    ///
    /// # Errors
    /// A rule of [`Package::validate`] that does not hold.
    pub fn message_bytes(&self) -> Result<Vec<u8>, PackageError> {
        self.message(0)
    }

    fn message(&self, more: usize) -> Result<Vec<u8>, PackageError> {
        self.validate()?;
        let words =
            (self.stored_bytes() / 8 + 32 * self.tiles.len() as u64 + 4096).min(FIRST_SEGMENT_WORDS_MAX);
        let mut message = Builder::new(HeapAllocator::new().first_segment_words(words as u32));
        write_application(self, message.init_root());
        Ok(framing::message(&message.get_segments_for_output(), more))
    }
}

fn write_application(package: &Package, mut root: wire::application::Builder<'_>) {
    root.set_schema_version(SCHEMA_VERSION);
    root.set_compiler_version(text(&package.compiler_version));
    root.set_target(TARGET);
    root.set_tile_memory_base(MEMORY_BASE.0);
    root.set_tile_memory_size(MEMORY_END.0 - MEMORY_BASE.0);
    let mut tiles = root.reborrow().init_tiles(package.tiles.len() as u32);
    for (index, image) in (0_u32..).zip(&package.tiles) {
        write_tile(image, tiles.reborrow().get(index));
    }
    write_bindings(&package.inputs, root.reborrow().init_inputs(package.inputs.len() as u32));
    write_bindings(&package.outputs, root.reborrow().init_outputs(package.outputs.len() as u32));
    write_bindings(&package.weights, root.reborrow().init_weights(package.weights.len() as u32));
    write_host_exchange(&package.host_exchange, root.reborrow().init_host_exchange());
    let mut entries = root.reborrow().init_entry_points(package.entry_points.len() as u32);
    for (index, entry) in (0_u32..).zip(&package.entry_points) {
        let mut to = entries.reborrow().get(index);
        to.set_name(text(&entry.name));
        to.set_command(entry.command);
        to.set_external_syncs(entry.external_syncs);
    }
    let mut writes = root.reborrow().init_device_config_writes(package.config_writes.len() as u32);
    for (index, write) in (0_u32..).zip(&package.config_writes) {
        let mut to = writes.reborrow().get(index);
        to.set_offset(write.offset);
        to.set_value(write.value);
    }
    let mut plans = root.reborrow().init_profile_tiles(package.profile_tiles.len() as u32);
    for (index, plan) in (0_u32..).zip(&package.profile_tiles) {
        write_profile_plan(plan, plans.reborrow().get(index));
    }
    write_debug(package, root);
}

fn write_debug(package: &Package, mut root: wire::application::Builder<'_>) {
    let mut symbols = root.reborrow().init_debug_symbols(package.debug_symbols.len() as u32);
    for (index, symbol) in (0_u32..).zip(&package.debug_symbols) {
        let mut to = symbols.reborrow().get(index);
        to.set_name(text(&symbol.name));
        to.set_address(symbol.address.0);
    }
    let mut regions = root.init_debug_regions(package.debug_regions.len() as u32);
    for (index, region) in (0_u32..).zip(&package.debug_regions) {
        let mut to = regions.reborrow().get(index);
        to.set_physical_tile(region.tile.map_or(EVERY_TILE, |tile| u32::from(tile.0)));
        to.set_address(region.address.0);
        to.set_size(region.size.0);
        to.set_name(text(&region.name));
    }
}

fn write_tile(image: &TileImage, mut to: wire::tile_image::Builder<'_>) {
    to.set_physical_tile(u32::from(image.tile.0));
    to.set_entry_point(image.entry_point.0);
    to.set_command_address(image.command_address.0);
    to.set_diagnostic_address(image.diagnostic_address.0);
    let mut segments = to.init_segments(image.segments.len() as u32);
    for (index, segment) in (0_u32..).zip(image.segments.iter()) {
        let mut to = segments.reborrow().get(index);
        to.set_address(segment.address.0);
        to.set_memory_size(segment.size.0);
        to.set_flags(segment.flags.0);
        to.set_data(&segment.data);
    }
}

fn write_bindings(bindings: &[Binding], mut list: struct_list::Builder<'_, wire::binding::Owned>) {
    for (index, binding) in (0_u32..).zip(bindings) {
        let mut to = list.reborrow().get(index);
        to.set_name(text(&binding.name));
        to.set_dtype(text(&binding.dtype));
        let mut shape = to.reborrow().init_shape(binding.shape.len() as u32);
        for (axis, &extent) in (0_u32..).zip(&binding.shape) {
            shape.set(axis, extent);
        }
        let mut slices = to.init_slices(binding.slices.len() as u32);
        for (index, slice) in (0_u32..).zip(&binding.slices) {
            let mut to = slices.reborrow().get(index);
            to.set_tile(u32::from(slice.tile.0));
            to.set_tile_address(slice.address.0);
            to.set_file_offset(slice.file_offset);
            to.set_size(slice.size);
        }
    }
}

fn write_host_exchange(exchange: &HostExchange, mut to: wire::host_exchange::Builder<'_>) {
    to.set_startup_mark(exchange.startup_mark);
    to.set_command_page(exchange.command_page);
    to.set_command_offset(exchange.command_offset);
    let mut pages = to.reborrow().init_pages(exchange.pages.len() as u32);
    for (index, page) in (0_u32..).zip(&exchange.pages) {
        let mut to = pages.reborrow().get(index);
        to.set_index(page.index);
        to.set_size(page.size);
    }
    let mut order = to.reborrow().init_attach_order(exchange.attach_order.len() as u32);
    for (index, &page) in (0_u32..).zip(&exchange.attach_order) {
        order.set(index, page);
    }
    let mut calls = to.init_calls(exchange.calls.len() as u32);
    for (index, call) in (0_u32..).zip(&exchange.calls) {
        write_call(call, calls.reborrow().get(index));
    }
}

fn write_call(call: &HostCall, mut to: wire::host_call::Builder<'_>) {
    to.set_name(text(&call.name));
    to.set_command(call.command);
    to.set_phases(call.phases);
    to.set_invocations(call.invocations);
    write_slices(&call.inputs, to.reborrow().init_inputs(call.inputs.len() as u32));
    write_slices(&call.outputs, to.reborrow().init_outputs(call.outputs.len() as u32));
    let mut ends = to.reborrow().init_input_batch_ends(call.input_batch_ends.len() as u32);
    for (index, &end) in (0_u32..).zip(&call.input_batch_ends) {
        ends.set(index, end);
    }
    let mut ends = to.init_output_batch_ends(call.output_batch_ends.len() as u32);
    for (index, &end) in (0_u32..).zip(&call.output_batch_ends) {
        ends.set(index, end);
    }
}

fn write_slices(slices: &[HostSlice], mut list: struct_list::Builder<'_, wire::host_slice::Owned>) {
    for (index, slice) in (0_u32..).zip(slices) {
        let mut to = list.reborrow().get(index);
        to.set_page(slice.page);
        to.set_page_offset(slice.page_offset);
        to.set_file_offset(slice.file_offset);
        to.set_size(slice.size);
    }
}

fn write_profile_plan(plan: &TileProfilePlan, mut to: wire::tile_profile_plan::Builder<'_>) {
    to.set_physical_tile(u32::from(plan.tile.0));
    let mut steps = to.init_steps(plan.steps.len() as u32);
    for (index, step) in (0_u32..).zip(&plan.steps) {
        write_step(step, steps.reborrow().get(index));
    }
}

fn write_step(step: &ProfileStep, mut to: wire::step::Builder<'_>) {
    to.set_local_index(step.local_index);
    to.set_phase(step.phase);
    to.set_epoch(step.epoch);
    to.set_operation(text(&step.operation));
    to.set_kind(match step.kind {
        StepKind::Exchange => wire::StepKind::Exchange,
        StepKind::Compute => wire::StepKind::Compute,
        StepKind::Synchronization => wire::StepKind::Synchronization,
        StepKind::Idle => wire::StepKind::Idle,
    });
    to.set_kernel(text(&step.kernel));
    to.set_exchange_event_cycles(step.exchange_event_cycles);
    let mut metadata = to.reborrow().init_metadata(step.metadata.len() as u32);
    for (index, (name, value)) in (0_u32..).zip(&step.metadata) {
        let mut to = metadata.reborrow().get(index);
        to.set_name(text(name));
        to.set_value(text(value));
    }
    let mut activities = to.init_exchange_activities(step.exchange_activities.len() as u32);
    for (index, activity) in (0_u32..).zip(&step.exchange_activities) {
        let mut to = activities.reborrow().get(index);
        to.set_kind(match activity.kind {
            ExchangeActivityKind::Send => wire::ExchangeActivityKind::Send,
            ExchangeActivityKind::Receive => wire::ExchangeActivityKind::Receive,
            ExchangeActivityKind::PartnerBusy => wire::ExchangeActivityKind::PartnerBusy,
        });
        to.set_start_cycle(activity.start_cycle);
        to.set_end_cycle(activity.end_cycle);
        to.set_fanout(activity.fanout);
        to.set_paired(activity.paired);
    }
}

fn text(value: &str) -> text::Reader<'_> {
    value.into()
}
