//! Bringing 1,472 images into the tiles: autoloader, 23 batches of framed images, start.
//!
//! Frames: 16 bytes of header, 992 of payload, 16 of trailer. Header words: frame index, physical tile, flag of
//! the last frame, zero. A batch is 64 consecutive tiles; its buffer begins with 64 descriptors of byte offset
//! and frame count. Source: hardware notes on the driver, section 5.

use std::sync::Arc;

use crate::memory_map::LOAD_BASE;
use crate::package::{Package, Segment, TileImage};
use crate::topology::ROWS;
use crate::units::PhysicalTile;

use super::boot_program::BootProgram;
use super::device::{Device, wait, wait_mark};
use super::error::{RuntimeCode, RuntimeError};
use super::registers::{
    AUTOLOADER, AUTOLOADER_DATA, AUTOLOADER_DATA_PRESENT, AUTOLOADER_GO, AUTOLOADER_LAST_TILE,
    AUTOLOADER_LIMIT, AUTOLOADER_TARGET, AUTOLOADER_ZONE, CCSR, CCSR_CLEARED_IN_LOAD,
    EXCHANGE_BLOCK_DISABLED, EXCHANGE_BLOCKS, EXCHANGE_WINDOW, EXCHANGE_WINDOW_BUFFERS, GROUP_1,
    exchange_block, exchange_block_operational,
};
use super::transport::Transport;

/// Bytes of a frame.
pub(super) const FRAME: usize = 1024;
/// Bytes of a frame before its payload.
pub(super) const FRAME_HEADER: usize = 16;
/// Bytes of memory that a frame fills.
pub(super) const FRAME_PAYLOAD: usize = 992;
/// Fewest frames of an image; shorter ones hang the boot program.
pub(super) const FRAMES_MIN: usize = 17;
/// Most frames of an image.
pub(super) const FRAMES_MAX: usize = 643;
/// Word 2 of the header of an image's last frame.
pub(super) const LAST_FRAME: u32 = 0x0800_0000;
/// Tiles of a batch.
pub(super) const BATCH: usize = 64;
/// Bytes before the first frame of a batch.
pub(super) const DESCRIPTORS: usize = 4096;
/// Descriptor word that starts a tile.
pub(super) const START: u32 = u32::MAX;
/// Bytes of the buffer that the boot program reads: room for 64 largest images.
pub(super) const TRANSPORT_BUFFER: usize = BATCH * (FRAMES_MAX + 1) * FRAME + 8192;
/// Index under which it is attached.
pub(super) const TRANSPORT_INDEX: u32 = 0;
/// KiB of a tile's memory.
const MEMORY_KIB: u32 = 624;

impl<T: Transport> Device<T> {
    /// Loads every tile of `package` and brings all to the point before their first instruction.
    ///
    /// # Errors
    /// If the package cannot be loaded, or the device does not follow.
    pub fn load(&mut self, package: &Package, boot: &BootProgram) -> Result<(), RuntimeError> {
        package.validate_loadable()?;
        let reference_kernels = package.footer.iter().flat_map(|footer| &footer.reference_kernels).count();
        if reference_kernels > 0 && !self.transport().is_simulated() {
            let message = format!("{reference_kernels} reference kernels have no code");
            return Err(RuntimeError::new(RuntimeCode::SimulatorOnly, "load", message)
                .fix("run the package on the simulated device"));
        }
        if boot.is_stand_in() && !self.transport().is_simulated() {
            let message = "the stand-in boot program only works on a simulated device";
            return Err(RuntimeError::new(RuntimeCode::BootProgram, "load", message)
                .fix("give the SDK's `bin/ipu/tile_bootloader_cc_ipu21.elf`"));
        }
        let final_mark = match package.host_exchange.startup_mark {
            0 => u32::from(ROWS),
            mark => mark,
        };
        let tiles = package.tiles.len();
        tracing::info!(tiles, final_mark, "application loading");
        let transport = self.transport_mut();
        autoload(transport, boot, tiles as u32)?;
        let saved = open_exchange(transport)?;
        let loaded = send_images(transport, package).and_then(|used| start(transport, used, final_mark));
        let closed = close_exchange(transport, saved);
        loaded.and(closed)?;
        for write in &package.config_writes {
            transport.write(write.offset, write.value)?;
        }
        tracing::info!("application loaded and initial synchronization completed");
        Ok(())
    }
}

/// Puts the boot program into every tile and clears the rest of their memory.
fn autoload<T: Transport>(transport: &mut T, boot: &BootProgram, tiles: u32) -> Result<(), RuntimeError> {
    let words = boot.words();
    let kib = (words.len() / 256) as u32;
    let pointer = (words.len() as u32).wrapping_sub(1) & 0x3f;
    let finish = |transport: &mut T, stage: &'static str| {
        wait(transport, (AUTOLOADER, AUTOLOADER_GO), 0, AUTOLOADER_LIMIT, || format!("autoloader, {stage}"))
    };
    transport.write(AUTOLOADER, 0)?;
    for (index, &word) in words.iter().enumerate() {
        transport.write(AUTOLOADER_DATA, word)?;
        if index % 32 == 31 {
            transport.read(AUTOLOADER)?;
        }
    }
    transport.write(AUTOLOADER_TARGET, AUTOLOADER_ZONE | kib << 10)?;
    transport.write(AUTOLOADER, AUTOLOADER_DATA_PRESENT | AUTOLOADER_GO | pointer)?;
    finish(transport, "boot program")?;
    transport.write(AUTOLOADER_TARGET, AUTOLOADER_ZONE | MEMORY_KIB << 10 | kib)?;
    transport.write(AUTOLOADER, (tiles - 1) << AUTOLOADER_LAST_TILE | AUTOLOADER_GO | pointer)?;
    finish(transport, "all tiles")
}

/// Attaches the transport buffer and lets only the first interface's exchange blocks read it; gives back the
/// chip control register as it was.
fn open_exchange<T: Transport>(transport: &mut T) -> Result<u32, RuntimeError> {
    transport.write(EXCHANGE_WINDOW, EXCHANGE_WINDOW_BUFFERS)?;
    transport.attach_buffer(TRANSPORT_INDEX, TRANSPORT_BUFFER)?;
    let saved = transport.read(CCSR)?;
    for block in 0..EXCHANGE_BLOCKS {
        transport.write(exchange_block(block), EXCHANGE_BLOCK_DISABLED)?;
    }
    transport.write(CCSR, saved & !CCSR_CLEARED_IN_LOAD)?;
    transport.read(CCSR)?;
    for block in 0..EXCHANGE_BLOCKS / 2 {
        transport.write(exchange_block(block), exchange_block_operational(block))?;
    }
    Ok(saved)
}

fn close_exchange<T: Transport>(transport: &mut T, saved: u32) -> Result<(), RuntimeError> {
    let mut restore = || {
        for block in 0..EXCHANGE_BLOCKS {
            transport.write(exchange_block(block), exchange_block_operational(block))?;
        }
        transport.write(CCSR, saved)?;
        transport.read(CCSR)
    };
    let restored = restore();
    transport.detach_buffer(TRANSPORT_INDEX);
    restored.map(|_| ())
}

/// Sends all batches; gives back how many bytes of the buffer were used.
fn send_images<T: Transport>(transport: &mut T, package: &Package) -> Result<usize, RuntimeError> {
    let mut framer = Framer::default();
    for (number, batch) in package.tiles.chunks(BATCH).enumerate() {
        let at = || format!("bootloader batch {number}");
        framer.write(transport_buffer(transport)?, batch).ok_or_else(|| {
            RuntimeError::new(RuntimeCode::Boot, at(), "the images do not fit the transport buffer")
        })?;
        give_mark(transport, 1, at)?;
    }
    Ok(framer.used)
}

fn start<T: Transport>(transport: &mut T, used: usize, final_mark: u32) -> Result<(), RuntimeError> {
    // Nothing behind the used part is ever read; filling it would only cost time.
    if let Some(used) = transport_buffer(transport)?.get_mut(..used) {
        used.fill(0xff);
    }
    wait_mark(transport, GROUP_1, || "execute sentinel".to_owned())?;
    give_mark(transport, 1, || "execute sentinel".to_owned())?;
    give_mark(transport, final_mark, || "application initial sync".to_owned())
}

fn transport_buffer<T: Transport>(transport: &mut T) -> Result<&mut [u8], RuntimeError> {
    transport
        .buffer(TRANSPORT_INDEX)
        .ok_or_else(|| RuntimeError::new(RuntimeCode::Access, "load", "the transport buffer is not attached"))
}

fn give_mark<T: Transport>(
    transport: &mut T,
    mark: u32,
    at: impl FnOnce() -> String,
) -> Result<(), RuntimeError> {
    transport.fence();
    transport.write(GROUP_1, mark)?;
    wait_mark(transport, GROUP_1, at)
}

/// The frames of an image, with tile id 0.
type Frames = Arc<[u8]>;

/// Writes batches into the transport buffer. Frames of the batch before that are already in place are kept:
/// most tiles share an image, and then only the tile ids change.
#[derive(Default)]
struct Framer {
    images: Vec<(Arc<[Segment]>, Frames)>,
    placed: Vec<(usize, Frames)>,
    used: usize,
}

impl Framer {
    /// `None` if the buffer is too small.
    fn write(&mut self, buffer: &mut [u8], batch: &[TileImage]) -> Option<()> {
        let mut offset = DESCRIPTORS;
        let mut placed = Vec::with_capacity(batch.len());
        for (slot, image) in batch.iter().enumerate() {
            let frames = self.frames(image);
            let end = offset + frames.len();
            let target = buffer.get_mut(offset..end)?;
            let kept =
                self.placed.get(slot).is_some_and(|(at, old)| *at == offset && Arc::ptr_eq(old, &frames));
            if !kept {
                target.copy_from_slice(&frames);
            }
            set_tile(target, image.tile);
            let descriptor = buffer.get_mut(8 * slot..8 * slot + 8)?;
            put(descriptor, 0, offset as u32);
            put(descriptor, 4, (frames.len() / FRAME) as u32);
            placed.push((offset, frames));
            offset = end;
        }
        self.placed = placed;
        self.used = self.used.max(offset);
        Some(())
    }

    fn frames(&mut self, image: &TileImage) -> Frames {
        let known = self.images.iter().find(|(segments, _)| Arc::ptr_eq(segments, &image.segments));
        if let Some((_, frames)) = known {
            return Arc::clone(frames);
        }
        let frames = frame(&memory(image));
        self.images.push((Arc::clone(&image.segments), Arc::clone(&frames)));
        frames
    }
}

/// The bytes from the load base to the highest segment end; gaps are zero.
fn memory(image: &TileImage) -> Vec<u8> {
    let mut bytes = vec![0; (image.end().0.saturating_sub(LOAD_BASE.0)) as usize];
    for segment in image.segments.iter() {
        let start = segment.address.0.saturating_sub(LOAD_BASE.0) as usize;
        if let Some(target) = bytes.get_mut(start..start + segment.data.len()) {
            target.copy_from_slice(&segment.data);
        }
    }
    bytes
}

fn frame(memory: &[u8]) -> Frames {
    let count = memory.len().div_ceil(FRAME_PAYLOAD).max(FRAMES_MIN);
    let mut frames = vec![0; count * FRAME];
    let mut payloads = memory.chunks(FRAME_PAYLOAD);
    for (index, frame) in frames.chunks_exact_mut(FRAME).enumerate() {
        put(frame, 0, index as u32);
        put(frame, 8, if index + 1 == count { LAST_FRAME } else { 0 });
        let payload = payloads.next().unwrap_or_default();
        frame[FRAME_HEADER..FRAME_HEADER + payload.len()].copy_from_slice(payload);
        frame[FRAME_HEADER + FRAME_PAYLOAD..].fill(0xff);
    }
    frames.into()
}

fn set_tile(frames: &mut [u8], tile: PhysicalTile) {
    for frame in frames.chunks_exact_mut(FRAME) {
        put(frame, 4, u32::from(tile.0));
    }
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(target) = bytes.get_mut(at..at + 4) {
        target.copy_from_slice(&value.to_le_bytes());
    }
}
