//! Rows: whether their words do what the schedule says.

use ipu_device::exchange::check_row;
use ipu_device::isa::{Context, decode_all};
use ipu_device::{Address, Event, LogicalTile};
use ipu_dialects::exchange::meaning::Write;
use ipu_dialects::exchange::placed::device_transfers;
use ipu_dialects::exchange::program::Phase;
use ipu_dialects::tile::{Body, Image, Section, TileProgram};
use ipu_passes::manager::state::main_program;

use super::device::{Lowered, Observed};
use super::report::{Finding, OpAt, PlaceAt};

/// The rows of all tiles that have sections of their own.
struct RowWords<'t>(Vec<(LogicalTile, &'t Section)>);

impl<'t> RowWords<'t> {
    fn of(program: &'t TileProgram) -> Self {
        let of_image = |image: &'t Image| {
            let rows = image.sections.iter().filter(|section| matches!(section.body, Body::Row(_)));
            rows.flat_map(move |row| image.tiles.iter().map(move |&tile| (tile, row)))
        };
        Self(program.images.iter().flat_map(of_image).collect())
    }

    /// Those of the phase `name`.
    fn of_phase(&self, name: &str) -> impl Iterator<Item = (LogicalTile, &'t Section)> {
        let names = [name.to_owned(), format!("{name}.row")];
        self.0.iter().copied().filter(move |(_, row)| names.iter().any(|name| **name == *row.symbol))
    }
}

/// The word of a row that is under way at `event`.
fn word_at(words: &[u32], event: Event) -> Option<String> {
    let mut end = 0;
    decode_all(Context::Supervisor, words).ok()?.into_iter().find_map(|(index, instruction)| {
        end += i64::from(instruction.events()?);
        (end >= event.0).then(|| format!("word {index} of the row is then under way: `{instruction}`"))
    })
}

impl Lowered<'_> {
    /// Fills `finding` with the first row whose words do something else than the schedule; says whether there is one.
    pub(super) fn check_rows(&self, finding: &mut Finding) -> bool {
        let program = main_program(self.tile_module);
        let Some(tile) = program.and_then(|op| TileProgram::read(self.tile_module, op).ok()) else {
            return false;
        };
        let rows = RowWords::of(&tile);
        self.placed.phases().any(|phase| {
            let Some(transfers) = device_transfers(self.placed, phase) else { return false };
            rows.of_phase(&phase.name).any(|(tile, section)| {
                let Ok(bytes) = section.stored_bytes() else { return false };
                let words: Vec<u32> =
                    bytes.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
                let base = phase.incoming_base(tile);
                let Err(mismatch) = check_row(tile.physical(), &words, &transfers, base) else {
                    return false;
                };
                finding.op = Some(OpAt::of(self.placed_module, phase.op));
                let symbol = format!("@{} at {}", section.symbol, section.address);
                finding.emitted = Some(OpAt::named("tile.row", Some(symbol)));
                finding.place = Some(PlaceAt::on(tile, None, Some(section.address)));
                let word = word_at(&words, mismatch.event).map(|word| format!("; {word}"));
                finding.summary = format!("{mismatch}{}", word.unwrap_or_default());
                true
            })
        })
    }
}

impl Observed<'_> {
    /// Names the row that does not do what the schedule says.
    pub(super) fn rows(&self, phase: &Phase, write: &Write, finding: &mut Finding) {
        let source = write.from.map(|from| from.tile);
        let tiles = [Some(write.to.tile), source, source.map(|tile| tile.physical().partner().logical())];
        for tile in tiles.into_iter().flatten() {
            if self.row_of(phase, tile, finding) {
                return;
            }
        }
    }

    /// Compares the words of the row on `tile` with the schedule.
    pub(super) fn row_of(&self, phase: &Phase, tile: LogicalTile, finding: &mut Finding) -> bool {
        let Some((symbol, start, size)) = self.row(phase, tile) else { return false };
        let Some(transfers) = device_transfers(self.lowered.placed, phase) else { return false };
        let physical = tile.physical();
        let word = |at: u32| {
            let mut word = [0; 4];
            self.simulator.read(physical, Address(start.0 + at), &mut word).ok()?;
            Some(u32::from_le_bytes(word))
        };
        let Some(words) = (0..size).step_by(4).map(word).collect::<Option<Vec<u32>>>() else { return false };
        let base = phase.incoming_base(tile);
        match check_row(physical, &words, &transfers, base) {
            Ok(()) => false,
            Err(mismatch) => {
                finding.emitted = Some(OpAt::named("tile.row", Some(format!("@{symbol} at {start}"))));
                let word = word_at(&words, mismatch.event).map(|word| format!("; {word}"));
                finding.notes.push(format!("{mismatch}{}", word.unwrap_or_default()));
                true
            }
        }
    }

    /// Symbol, address and bytes of the row of `phase` on `tile`.
    fn row(&self, phase: &Phase, tile: LogicalTile) -> Option<(String, Address, u32)> {
        let rows = RowWords::of(self.tile.as_ref()?);
        let (_, row) = rows.of_phase(&phase.name).find(|(on, _)| *on == tile)?;
        Some((row.symbol.to_string(), row.address, row.size().0))
    }
}
