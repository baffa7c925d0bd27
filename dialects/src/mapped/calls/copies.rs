//! Local byte runs as calls of copy kernels, and gaps as calls of the fill kernel.

use ipu_device::kernels::{Family, Kernel, KernelEntry, ScalarValues, entries};
use ipu_device::{Bytes, LogicalTile};

use super::{Storage, TileCall};
use crate::mapped::codes::{MappedCode, MappedError};
use crate::mapped::layout::LocalRun;

/// Rows of equal length at equal distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rows {
    source: u32,
    destination: u32,
    bytes: u32,
    rows: u32,
    source_stride: u32,
    destination_stride: u32,
}

impl Rows {
    fn one(run: &LocalRun) -> Self {
        Self {
            source: run.source_offset.0,
            destination: run.destination_offset.0,
            bytes: run.bytes.0,
            rows: 1,
            source_stride: 0,
            destination_stride: 0,
        }
    }

    /// The rows with `run` after the last one; `None` if it breaks the pattern.
    fn with(self, run: &LocalRun) -> Option<Self> {
        let last = self.rows - 1;
        let source_stride = run.source_offset.0.checked_sub(self.source + last * self.source_stride)?;
        let destination_stride =
            run.destination_offset.0.checked_sub(self.destination + last * self.destination_stride)?;
        let regular = self.rows == 1
            || (source_stride, destination_stride) == (self.source_stride, self.destination_stride);
        let fits = run.bytes.0 == self.bytes && destination_stride >= self.bytes;
        (regular && fits).then_some(Self { rows: self.rows + 1, source_stride, destination_stride, ..self })
    }

    /// Whether whole units of `width` bytes at multiples of it make up the rows.
    fn is_made_of(&self, width: u32) -> bool {
        [self.source, self.destination, self.bytes, self.source_stride, self.destination_stride]
            .iter()
            .all(|value| value.is_multiple_of(width))
    }

    fn call(&self, tile: LogicalTile, from: Storage, to: Storage) -> Result<TileCall, MappedError> {
        let family = if self.rows == 1 { Family::Copy } else { Family::StridedCopy };
        let widest = entries()
            .filter(|entry| entry.family == family && self.is_made_of(width(entry)))
            .max_by_key(|entry| width(entry));
        let Some(entry) = widest else {
            let message = format!(
                "no copy kernel moves {} bytes from offset {} to offset {} on tile {tile}",
                self.bytes, self.source, self.destination
            );
            return Err(MappedError::new(MappedCode::Movement, message));
        };
        let units = |bytes: u32| i64::from(bytes / width(entry));
        let scalars = if self.rows == 1 {
            ScalarValues::from_values(entry, &[units(self.bytes)])?
        } else {
            let strides = [units(self.source_stride), units(self.destination_stride)];
            ScalarValues::from_values(
                entry,
                &[units(self.bytes), i64::from(self.rows), strides[0], strides[1]],
            )?
        };
        let kernel = Kernel::new(entry, &[])?;
        TileCall::new(tile, kernel, scalars, &[(to, self.destination), (from, self.source)])
    }
}

/// Bytes of the units that a copy kernel moves: it aligns to them.
fn width(entry: &KernelEntry) -> u32 {
    entry.operands.first().map_or(1, |operand| operand.align.0.max(1))
}

/// The calls that copy `runs`, which are ordered by tile and destination.
pub(super) fn copies(runs: &[LocalRun], from: Storage, to: Storage) -> Result<Vec<TileCall>, MappedError> {
    let mut calls = Vec::new();
    let mut pending: Option<(LogicalTile, Rows)> = None;
    for run in runs {
        let joined = pending.filter(|(tile, _)| *tile == run.tile).and_then(|(_, rows)| rows.with(run));
        if let Some(rows) = joined {
            pending = Some((run.tile, rows));
            continue;
        }
        if let Some((tile, rows)) = pending.replace((run.tile, Rows::one(run))) {
            calls.push(rows.call(tile, from, to)?);
        }
    }
    if let Some((tile, rows)) = pending {
        calls.push(rows.call(tile, from, to)?);
    }
    Ok(calls)
}

/// The call that clears the first `bytes` of `storage` on `tile`.
pub(super) fn fill(tile: LogicalTile, storage: Storage, bytes: Bytes) -> Result<TileCall, MappedError> {
    let entry = entries().find(|entry| entry.family == Family::Fill);
    let entry = entry.filter(|entry| bytes.0.is_multiple_of(width(entry)));
    let Some(entry) = entry else {
        let message =
            format!("no fill kernel clears a shard of {bytes} on tile {tile}; pad it to a multiple of 8");
        return Err(MappedError::new(MappedCode::Movement, message));
    };
    let units = bytes.0 / width(entry);
    let workers = ipu_device::memory_map::WORKERS;
    let scalars =
        ScalarValues::from_values(entry, &[i64::from(units / workers), i64::from(units % workers)])?;
    TileCall::new(tile, Kernel::new(entry, &[])?, scalars, &[(storage, 0)])
}
