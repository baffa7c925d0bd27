//! Which bytes of its operands a kernel call uses for some bytes of its result, found by trying: operands are spoilt in halves,
//! and what changes the result is looked at more closely. No kernel has to say what it reads.

use std::ops::Range;

use super::Machine;
use super::steps::call;
use super::storage::{Storage, TileStore};
use crate::exchange::program::{Program, Run};

/// Bit patterns that spoil: a NaN of 16 and 32 bits, a NaN of FP8, and a plain other number.
const SPOILS: [u8; 3] = [0xff, 0x80, 0x3c];

/// Bytes of an operand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependence {
    /// Which operand of the run.
    pub operand: usize,
    /// Bytes of its buffer, ascending and apart.
    pub bytes: Vec<Range<u32>>,
}

impl Machine<'_> {
    /// The bytes that `run` needs, from the state before it, to make the bytes `output` of the buffer that it writes. They are
    /// found in units of `unit` bytes, the size of an element.
    #[must_use]
    pub fn dependencies(&self, run: &Run, output: Range<u32>, unit: u32) -> Vec<Dependence> {
        let Some(tile) = self.place(run.tile).and_then(|at| self.tiles.get(at)) else { return Vec::new() };
        let before = tile.only(run.operands.iter().map(|slice| slice.buffer));
        let probe = Probe { program: self.program, run, before, output };
        let Some(right) = probe.output_after(&probe.before) else { return Vec::new() };
        let of_operand = |(operand, slice): (usize, &crate::exchange::program::Slice)| {
            let mut bytes = Vec::new();
            let end = slice.offset + slice.bytes.next_multiple_of(unit.max(1));
            probe.search(operand, slice.offset..end, unit.max(1), &right, &mut bytes);
            (!bytes.is_empty()).then_some(Dependence { operand, bytes })
        };
        run.operands.iter().enumerate().filter_map(of_operand).collect()
    }

    /// The bytes of its first operand's buffer that `run` writes, from the state as it is; all of the operand if the call cannot
    /// be tried.
    #[must_use]
    pub fn written_by(&self, run: &Run) -> Vec<Range<u32>> {
        let Some(output) = run.operands.first() else { return Vec::new() };
        let all = Vec::from_iter(Some(output.offset..output.offset.saturating_add(output.bytes)));
        let Some(tile) = self.place(run.tile).and_then(|at| self.tiles.get(at)) else { return all };
        let mut store = tile.only(run.operands.iter().map(|slice| slice.buffer));
        // An operand that is read too keeps its bytes.
        if run.operands.iter().skip(1).any(|slice| slice.buffer == output.buffer) {
            return all;
        }
        store.get_mut(output.buffer).into_iter().for_each(Storage::forget);
        if call(self.program, &mut store, run).is_err() {
            return all;
        }
        let written = store.get(output.buffer).map(Storage::written_runs).unwrap_or_default();
        written.into_iter().map(|(start, bytes)| start..start + bytes.len() as u32).collect()
    }

    /// Makes one call of a compute step.
    ///
    /// # Errors
    /// The call faults.
    pub fn call(&mut self, run: &Run) -> Result<(), super::Fault> {
        let program = self.program;
        let tile = self.place(run.tile).and_then(|at| self.tiles.get_mut(at));
        tile.map_or(Ok(()), |store| call(program, store, run))
    }
}

/// A call that is tried again and again.
struct Probe<'a> {
    program: &'a Program,
    run: &'a Run,
    before: TileStore,
    output: Range<u32>,
}

impl Probe<'_> {
    /// The bytes of interest after the call; nothing if it faults.
    fn output_after(&self, before: &TileStore) -> Option<Vec<u8>> {
        let mut store = before.clone();
        call(self.program, &mut store, self.run).ok()?;
        let written = store.get(self.run.operands.first()?.buffer)?;
        written.range(self.output.start, self.output.end - self.output.start).map(<[u8]>::to_vec)
    }

    /// Whether spoiling the bytes changes the output.
    fn matters(&self, operand: usize, bytes: &Range<u32>, right: &[u8]) -> bool {
        SPOILS.iter().any(|&spoil| {
            let mut spoilt = self.before.clone();
            let Some(slice) = self.run.operands.get(operand) else { return false };
            let Some(storage) = spoilt.get_mut(slice.buffer) else { return false };
            let length =
                (bytes.end - bytes.start).min((storage.content().len() as u32).saturating_sub(bytes.start));
            if storage.first_unwritten(bytes.start, length) == Some(bytes.start) && length <= 4 {
                return false;
            }
            storage.write(bytes.start, &vec![spoil; length as usize])
                && self.output_after(&spoilt).as_deref() != Some(right)
        })
    }

    fn search(
        &self,
        operand: usize,
        bytes: Range<u32>,
        unit: u32,
        right: &[u8],
        found: &mut Vec<Range<u32>>,
    ) {
        if bytes.is_empty() || !self.matters(operand, &bytes, right) {
            return;
        }
        let units = (bytes.end - bytes.start) / unit;
        if units <= 1 {
            match found.last_mut() {
                Some(last) if last.end == bytes.start => last.end = bytes.end,
                _ => found.push(bytes),
            }
            return;
        }
        // The depth is the logarithm of the operand's size.
        let middle = bytes.start + units / 2 * unit;
        self.search(operand, bytes.start..middle, unit, right, found);
        self.search(operand, middle..bytes.end, unit, right, found);
    }
}
