//! Words of a phase: the first that a phase brings otherwise.

use ipu_device::hash::HashMap;
use ipu_device::simulator::{PhaseWrite, tile_name};
use ipu_device::{Address, PhysicalTile};
use ipu_dialects::exchange::meaning::Place;
use ipu_dialects::exchange::program::{Phase, Step};

use super::device::{Lowered, Observed, Words};
use super::exchange::transfer_at;
use super::expected::{ExpectedPhase, Word};
use super::report::{Arrived, ElementAt, Finding, OpAt, PlaceAt};

impl Observed<'_> {
    /// The first word that a phase brings otherwise.
    pub(super) fn phase(&self, phase: &ExpectedPhase, number: usize, finding: &mut Finding) -> bool {
        let Some(Step::Phase(text)) = self.lowered.placed.steps.get(phase.step) else { return false };
        let words = self.words.get(number);
        let found = |word: &Word| {
            words.and_then(|words| words.get(&(word.write.to.tile.physical(), word.address))).copied()
        };
        let wrong = |word: &&Word| found(word).is_none_or(|write| write.write.value != word.value);
        match phase.words.iter().find(wrong) {
            Some(word) => self.wrong_word(text, phase.step, word, found(word), finding),
            None => return self.stray_word(text, phase, words, finding),
        }
        true
    }

    fn wrong_word(
        &self,
        phase: &Phase,
        step: usize,
        word: &Word,
        found: Option<&PhaseWrite>,
        finding: &mut Finding,
    ) {
        let Lowered { placed_module, placed, places, .. } = self.lowered;
        let Word { write, inside, value, .. } = word;
        let tile = write.to.tile;
        let place = Place { offset: write.to.offset + inside, ..write.to };
        let name = placed.buffer(place.buffer).name.as_str();
        finding.op = Some(OpAt::of(placed_module, write.op));
        finding.place = Some(places.place(name, tile, place.offset));
        finding.transfer = transfer_at(placed, step, write, place, places);
        if let Some(transfer) = &mut finding.transfer {
            transfer.arrived = found.map(|write| Arrived::of(&write.write));
        }
        finding.summary = match found {
            Some(other) => {
                format!("a word of `{name}` arrives as 0x{:08x}, expected 0x{value:08x}", other.write.value)
            }
            None => format!("a word of `{name}`, 0x{value:08x}, does not arrive"),
        };
        self.word_element(name, place, *value, found, finding);
        self.rows(phase, write, finding);
    }

    fn word_element(
        &self,
        buffer: &str,
        place: Place,
        value: u32,
        found: Option<&PhaseWrite>,
        finding: &mut Finding,
    ) {
        let places = self.lowered.places;
        let actual = found.map(|write| write.write.value.to_le_bytes());
        let wanted = value.to_le_bytes();
        let first = (0..4).find(|&at| actual.is_none_or(|actual| actual[at] != wanted[at])).unwrap_or(0);
        let Some(element) = places.element(buffer, place.tile, place.offset + first as u32) else { return };
        let Some(at) = element.offset.checked_sub(place.offset).map(|at| at as usize) else { return };
        let range = at..at + element.bytes as usize;
        let number = |word: &[u8; 4]| word.get(range.clone()).and_then(|bytes| places.number(buffer, bytes));
        let Some(expected) = number(&wanted) else { return };
        finding.element = Some(ElementAt {
            tensor: format!("`{buffer}`"),
            index: element.index,
            expected,
            actual: actual.as_ref().and_then(number),
            wrong: None,
        });
    }

    /// A word that lands where none belongs.
    fn stray_word(
        &self,
        phase: &Phase,
        expected: &ExpectedPhase,
        words: Option<&Words<'_>>,
        finding: &mut Finding,
    ) -> bool {
        let wanted: HashMap<(PhysicalTile, Address), ()> =
            expected.words.iter().map(|word| ((word.write.to.tile.physical(), word.address), ())).collect();
        let strays = words.into_iter().flatten().filter(|(place, _)| !wanted.contains_key(place));
        let Some((_, stray)) = strays.min_by_key(|(_, write)| (write.write.event, write.write.tile)) else {
            return false;
        };
        let write = &stray.write;
        let receiver = write.tile.logical();
        finding.op = Some(OpAt::of(self.lowered.placed_module, phase.op));
        finding.place = Some(PlaceAt::on(receiver, None, Some(write.address)));
        finding.summary = format!(
            "a word from {} lands on {} at {}, where no transfer of `@{}` writes",
            tile_name(write.sender),
            tile_name(write.tile),
            write.address,
            phase.name
        );
        self.row_of(phase, receiver, finding);
        true
    }
}
