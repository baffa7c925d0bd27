//! The autoloader and the boot program as state machines: every descriptor and frame is checked as the
//! boot program checks it.
//!
//! The boot program works in passes. In a pass, one host sync lets each row of 64 tiles read its descriptors in
//! turn, one more ends the pass. Here a refused frame is an error at once; on hardware the tile traps forever
//! and the host runs into its limit. Source: hardware notes on the driver, sections 5.2 and 5.6.

use std::sync::Arc;

use crate::runtime::error::{RuntimeCode, RuntimeError};
use crate::runtime::loader::{
    BATCH, FRAME, FRAME_HEADER, FRAME_PAYLOAD, FRAMES_MAX, FRAMES_MIN, LAST_FRAME, START, TRANSPORT_INDEX,
};
use crate::runtime::machine::Machine;
use crate::runtime::registers::{
    AUTOLOADER_DATA_PRESENT, AUTOLOADER_GO, AUTOLOADER_LAST_TILE, EXCHANGE_BLOCKS, exchange_block,
    exchange_block_operational,
};
use crate::topology::{ROWS, TILE_COUNT};
use crate::units::PhysicalTile;

/// Host offsets that a descriptor may hold.
const OFFSET_LIMIT: usize = 128 << 20;
/// KiB of a tile's memory.
const MEMORY_KIB: u32 = 624;
/// Images compared with a new one before it is kept as another.
const IMAGES_COMPARED: usize = 16;

/// The words pushed so far, and whether the first tile has them.
#[derive(Debug, Default)]
pub(super) struct Autoloader {
    pushed: u32,
    prefix_kib: Option<u32>,
}

impl Autoloader {
    pub(super) fn push(&mut self) {
        self.pushed = self.pushed.saturating_add(1);
    }

    /// A write to the control register; `true` if every tile now holds the boot program and zeros.
    pub(super) fn control(&mut self, value: u32, target: u32) -> Result<bool, RuntimeError> {
        if value & AUTOLOADER_GO == 0 {
            *self = Self::default();
            return Ok(false);
        }
        let refuse = |message: String| Err(RuntimeError::new(RuntimeCode::Boot, "autoloader", message));
        let (start, end) = (target & 0x3ff, target >> 10 & 0x3ff);
        if value & AUTOLOADER_DATA_PRESENT != 0 {
            if start != 0 || self.pushed != end * 256 || self.pushed == 0 {
                return refuse(format!("{} words pushed for KiB {start} to {end}", self.pushed));
            }
            self.prefix_kib = Some(end);
            return Ok(false);
        }
        let last = value >> AUTOLOADER_LAST_TILE & 0x7ff;
        if self.prefix_kib != Some(start) || end != MEMORY_KIB || last + 1 != u32::from(TILE_COUNT) {
            return refuse(format!(
                "KiB {start} to {end} of tiles 0 to {last}: expected the rest of the memory of all {TILE_COUNT} tiles"
            ));
        }
        Ok(true)
    }
}

/// What the boot program waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum BootState {
    /// No tile has a boot program.
    #[default]
    Absent,
    /// A host sync that lets the next row read its descriptors, or ends the pass.
    Loading,
    /// The host sync after which all tiles start.
    Ready,
    /// The tiles have started.
    Done,
}

/// The boot programs of all tiles.
#[derive(Debug, Default)]
pub(super) struct Boot {
    state: BootState,
    /// The row that the next host sync serves; `ROWS` if it ends the pass.
    row: u16,
    loaded: Vec<bool>,
    started: usize,
    images: Vec<Arc<[u8]>>,
}

impl Boot {
    /// All tiles hold the boot program.
    pub(super) fn loaded() -> Self {
        Self { state: BootState::Loading, loaded: vec![false; usize::from(TILE_COUNT)], ..Self::default() }
    }

    pub(super) fn state(&self) -> BootState {
        self.state
    }

    /// Starts all tiles.
    pub(super) fn start(&mut self, machine: &mut impl Machine) -> Result<(), RuntimeError> {
        self.state = BootState::Done;
        self.images = Vec::new();
        Ok(machine.start()?)
    }

    /// One host sync while loading.
    pub(super) fn pass_sync(
        &mut self,
        registers: &[u32],
        buffer: Option<&[u8]>,
        machine: &mut impl Machine,
    ) -> Result<(), RuntimeError> {
        if self.row == ROWS {
            self.row = 0;
            return Ok(());
        }
        let Some(buffer) = buffer else {
            let message = format!("no buffer is attached under index {TRANSPORT_INDEX}");
            return Err(RuntimeError::new(RuntimeCode::Boot, format!("row {}", self.row), message));
        };
        check_exchange_blocks(registers)?;
        for slot in 0..BATCH as u16 {
            self.serve(PhysicalTile(self.row * BATCH as u16 + slot), buffer, machine)?;
        }
        self.row += 1;
        if self.row == ROWS && self.started == self.loaded.len() {
            self.state = BootState::Ready;
        }
        Ok(())
    }

    fn serve(
        &mut self,
        tile: PhysicalTile,
        buffer: &[u8],
        machine: &mut impl Machine,
    ) -> Result<(), RuntimeError> {
        let descriptor = 8 * (usize::from(tile.0) % BATCH);
        let (offset, frames) = (word(buffer, descriptor), word(buffer, descriptor + 4));
        let refuse = |message: String| refuse(tile, message);
        let (Some(offset), Some(frames)) = (offset, frames) else {
            return refuse("its descriptor lies outside the buffer".to_owned());
        };
        let Some(loaded) = self.loaded.get_mut(usize::from(tile.0)) else {
            return refuse("there is no such tile".to_owned());
        };
        match offset {
            0 => return Ok(()),
            START if *loaded => {
                self.started += 1;
                return Ok(());
            }
            START => return refuse("it is told to start, but has no image".to_owned()),
            _ => {}
        }
        if std::mem::replace(loaded, true) {
            return refuse("it is loaded twice".to_owned());
        }
        let (offset, count) = (offset as usize, frames as usize);
        if !(FRAMES_MIN..=FRAMES_MAX).contains(&count) {
            return refuse(format!("{count} frames, expected {FRAMES_MIN} to {FRAMES_MAX}"));
        }
        let frames =
            buffer.get(offset..offset.saturating_add(count * FRAME)).filter(|_| offset < OFFSET_LIMIT);
        let Some(frames) = frames else {
            return refuse(format!("{count} frames at byte {offset} leave the buffer"));
        };
        check_frames(tile, frames)?;
        let image = self.image(frames);
        Ok(machine.load_tile(tile, &image)?)
    }

    /// The payloads of `frames`, shared with an equal image loaded before.
    fn image(&mut self, frames: &[u8]) -> Arc<[u8]> {
        let size = frames.len() / FRAME * FRAME_PAYLOAD;
        let same = |image: &Arc<[u8]>| {
            image.len() == size
                && image.chunks_exact(FRAME_PAYLOAD).zip(payloads(frames)).all(|(a, b)| a == b)
        };
        if let Some(index) = self.images.iter().rev().take(IMAGES_COMPARED).position(same) {
            let place = self.images.len() - 1 - index;
            let image = self.images.remove(place);
            self.images.push(Arc::clone(&image));
            return image;
        }
        let mut bytes = Vec::with_capacity(size);
        payloads(frames).for_each(|payload| bytes.extend_from_slice(payload));
        let image: Arc<[u8]> = bytes.into();
        self.images.push(Arc::clone(&image));
        image
    }
}

fn payloads(frames: &[u8]) -> impl Iterator<Item = &[u8]> {
    frames.chunks_exact(FRAME).filter_map(|frame| frame.get(FRAME_HEADER..FRAME_HEADER + FRAME_PAYLOAD))
}

fn check_frames(tile: PhysicalTile, frames: &[u8]) -> Result<(), RuntimeError> {
    let count = frames.len() / FRAME;
    for (index, frame) in frames.chunks_exact(FRAME).enumerate() {
        let header = [0, 4, 8, 12].map(|at| word(frame, at).unwrap_or(u32::MAX));
        let last = if index + 1 == count { LAST_FRAME } else { 0 };
        let expected = [index as u32, u32::from(tile.0), last, 0];
        if header != expected {
            return refuse(
                tile,
                format!("frame {index} of {count} has header {header:x?}, expected {expected:x?}"),
            );
        }
    }
    Ok(())
}

fn check_exchange_blocks(registers: &[u32]) -> Result<(), RuntimeError> {
    for block in 0..EXCHANGE_BLOCKS / 2 {
        let value = registers.get((exchange_block(block) / 4) as usize).copied();
        if value != Some(exchange_block_operational(block)) {
            let message =
                format!("exchange block {block} is not operational, so no tile can read the buffer");
            return Err(RuntimeError::new(RuntimeCode::Boot, "load", message));
        }
    }
    Ok(())
}

fn refuse<R>(tile: PhysicalTile, message: String) -> Result<R, RuntimeError> {
    Err(RuntimeError::new(RuntimeCode::Boot, crate::runtime::tile_list(&[tile]), message))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}
