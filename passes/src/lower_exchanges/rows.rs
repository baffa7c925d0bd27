//! Phases as rows: transfers to the timeline of each tile, the timeline to instructions, and all of it checked.

use std::collections::BTreeMap;
use std::sync::Arc;

use ipu_device::exchange::banks::check_banks;
use ipu_device::exchange::{
    Row, RowEncoding, ScheduleError, Timeline, TimelineBuilder, Transfer, check_row, encode_row,
};
use ipu_device::hash::HashMap;
use ipu_device::{Address, LogicalTile, PhysicalTile};
use ipu_dialects::diagnostics::{Diagnostic, Diagnostics};
use ipu_dialects::exchange::Phase;
use ipu_dialects::exchange::placed::{device_transfers, incoming_bases};
use ipu_dialects::tile::{Section, TileProgram};

use super::Lowering;

/// The rows of a phase.
pub(super) struct PhaseRows<'p> {
    pub(super) phase: &'p Phase,
    /// Symbol of its rows.
    pub(super) symbol: Arc<str>,
    transfers: Vec<Transfer>,
    timelines: Vec<Timeline>,
    /// Rows of the tiles that take part.
    pub(super) rows: BTreeMap<LogicalTile, Row>,
}

impl Lowering<'_> {
    /// The rows of all phases, in order of the program.
    pub(super) fn rows(&self, encoding: RowEncoding, findings: &mut Diagnostics) -> Vec<PhaseRows<'_>> {
        let mut phases = Vec::new();
        for phase in self.program.phases() {
            match self.rows_of(phase, encoding) {
                Ok(rows) => phases.push(rows),
                Err(errors) => errors.iter().for_each(|error| findings.push(self.broken(phase, error))),
            }
        }
        phases
    }

    fn rows_of<'p>(
        &self,
        phase: &'p Phase,
        encoding: RowEncoding,
    ) -> Result<PhaseRows<'p>, Vec<ScheduleError>> {
        let transfers = device_transfers(self.program, phase).unwrap_or_default();
        let mut builder = TimelineBuilder::new();
        for (tile, base) in incoming_bases(phase) {
            builder.set_incoming_base(tile, base);
        }
        for transfer in &transfers {
            builder.add(transfer);
        }
        let timelines = builder.finish()?;
        let mut rows = BTreeMap::new();
        for timeline in &timelines {
            rows.insert(
                timeline.tile.logical(),
                encode_row(timeline, encoding).map_err(|error| vec![error])?,
            );
        }
        Ok(PhaseRows { phase, symbol: row_symbol(&phase.name), transfers, timelines, rows })
    }

    /// What `error` breaks, at the transfer that it names.
    fn broken(&self, phase: &Phase, error: &ScheduleError) -> Diagnostic {
        let copies = &phase.transfers;
        let offenders = [error.first, error.second].map(|offender| Some(offender?.transfer as usize));
        let op_of = |row: Option<usize>| copies.op.get(row?).copied();
        let op = op_of(offenders[0]).unwrap_or(phase.op);
        let mut finding = self.error(error.code, op, format!("phase `@{}`: {error}", phase.name));
        for (row, which) in offenders.into_iter().zip(["first", "second"]) {
            let Some(row) = row.filter(|&row| row < copies.len()) else { continue };
            finding = finding.note(format!(
                "the {which}: member {} from tile {}, {} bytes, send {}",
                copies.member[row], copies.source[row], copies.bytes[row], copies.send[row]
            ));
        }
        if let Some(other) = op_of(offenders[1]).filter(|&other| other != op) {
            finding = finding.label(self.module.span(other), "the second");
        }
        finding
    }

    /// Reads the rows back as words, and looks for clashes of memory elements with transfers and code.
    pub(super) fn check_rows(
        &self,
        phases: &[PhaseRows<'_>],
        lowered: &TileProgram,
        findings: &mut Diagnostics,
    ) {
        let sections = sections_by_tile(lowered);
        for phase in phases {
            let by_tile = transfers_by_tile(&phase.transfers);
            for timeline in &phase.timelines {
                let tile = timeline.tile.logical();
                let row = sections
                    .get(&tile)
                    .and_then(|sections| sections.iter().find(|section| section.symbol == phase.symbol));
                let Some(row) = row else { continue };
                let end = Address(row.address.0.saturating_add(row.size().0));
                for error in check_banks(timeline, &[row.address..end]) {
                    findings.push(self.broken(phase.phase, &error));
                }
                let own = by_tile.get(&timeline.tile).into_iter().flatten();
                let own = own.filter_map(|&index| phase.transfers.get(index));
                if let Some(error) = self.read_back(phase.phase, row, timeline.tile, own) {
                    findings.push(error);
                }
            }
        }
    }

    /// What the words of a row do differently from `transfers`.
    fn read_back<'t>(
        &self,
        phase: &Phase,
        row: &Section,
        tile: PhysicalTile,
        transfers: impl Iterator<Item = &'t Transfer>,
    ) -> Option<Diagnostic> {
        let code = ipu_device::exchange::ScheduleCode::RowMismatch;
        let at = |message: String| self.error(code, phase.op, format!("phase `@{}`: {message}", phase.name));
        let bytes = match row.stored_bytes() {
            Ok(bytes) => bytes,
            Err(error) => return Some(at(format!("row of {}: {error}", tile.logical()))),
        };
        let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
        let base = phase.incoming_base(tile.logical());
        check_row(tile, &words, transfers, base).err().map(|mismatch| at(mismatch.to_string()))
    }
}

/// Sections of the image of each tile.
fn sections_by_tile(program: &TileProgram) -> HashMap<LogicalTile, &[Section]> {
    let images = program.images.iter();
    images.flat_map(|image| image.tiles.iter().map(|&tile| (tile, image.sections.as_slice()))).collect()
}

/// The transfers that touch each tile, lane loans included.
fn transfers_by_tile(transfers: &[Transfer]) -> HashMap<PhysicalTile, Vec<usize>> {
    let mut by_tile: HashMap<PhysicalTile, Vec<usize>> = HashMap::default();
    for (index, transfer) in transfers.iter().enumerate() {
        let ends = transfer.receivers.iter().map(|receiver| receiver.tile);
        for tile in ends.chain([transfer.source, transfer.source.partner()]) {
            let list = by_tile.entry(tile).or_default();
            if list.last() != Some(&index) {
                list.push(index);
            }
        }
    }
    by_tile
}

/// Symbols of sections that emit-tile-code adds; rows stay clear of them.
const RUNTIME_SYMBOLS: &[&str] = &[
    "complete",
    "entry",
    "exit_worker",
    "host_run",
    "initialize_worker",
    "main",
    "program",
    "repeat_call",
    "start",
    "worker_barrier",
];

/// The symbol of a phase's rows: its own name, unless the runtime or a kernel has that.
fn row_symbol(phase: &str) -> Arc<str> {
    let taken = RUNTIME_SYMBOLS.contains(&phase)
        || phase.starts_with("host.")
        || ipu_device::kernels::Kernel::parse(phase).is_ok();
    if taken { format!("{phase}.row").into() } else { phase.into() }
}
