//! Words as instructions, addresses as symbols.

use std::sync::Arc;

use ipu_device::Address;
use ipu_device::hash::HashMap;
use ipu_device::isa::{Context, Instruction, OperandKind, decode};
use ipu_dialects::tile::instructions::operands;
use ipu_dialects::tile::{Code, Line, OperandText};

/// Decodes sections; remembers words that it has seen, since most stand on every tile.
#[derive(Default)]
pub(super) struct Decoder {
    known: HashMap<u32, Instruction>,
}

impl Decoder {
    /// The lines of a section at `start`. A word that is no instruction, or whose text would read back as another word,
    /// stays a word. `symbols` gives the names of addresses.
    pub(super) fn lines(
        &mut self,
        start: Address,
        words: &[u32],
        symbols: impl Fn(Address) -> Option<Arc<str>>,
    ) -> Vec<Line> {
        let mut lines = Vec::with_capacity(words.len());
        let mut rest = words;
        let mut at = start;
        while let Some(&word) = rest.first() {
            let line = match self.instruction(rest, at) {
                Some(instruction) => {
                    let symbol = symbol(&instruction, start, &symbols);
                    Line { source: None, code: Code::Instruction(instruction), symbol }
                }
                None => Line::word(word),
            };
            let count = line.word_count();
            rest = rest.get(count..).unwrap_or(&[]);
            at = Address(at.0.saturating_add(4 * count as u32));
            lines.push(line);
        }
        lines
    }

    fn instruction(&mut self, words: &[u32], at: Address) -> Option<Instruction> {
        let first = *words.first()?;
        if let Some(known) = self.known.get(&first) {
            return Some(*known);
        }
        let contexts = [Context::Supervisor, Context::Worker];
        let found =
            contexts.into_iter().find_map(|context| as_text(decode(context, words).ok()?, words, at))?;
        if found.word_count() == 1 {
            self.known.insert(first, found);
        }
        Some(found)
    }
}

/// The instruction if its text gives `words` back at address `at`. Those of two words lie on multiples of 8.
fn as_text(instruction: Instruction, words: &[u32], at: Address) -> Option<Instruction> {
    let count = instruction.word_count();
    let placed = count == 1 || at.0.is_multiple_of(8);
    let same = instruction.encode().ok()?.as_slice() == words.get(..count)?;
    (placed && same && operands(&instruction, None).is_some()).then_some(instruction)
}

/// The symbol for the instruction's code address or constant. The start of the section itself is the target of loops, which
/// are plain addresses.
fn symbol(
    instruction: &Instruction,
    section: Address,
    symbols: impl Fn(Address) -> Option<Arc<str>>,
) -> Option<Arc<str>> {
    let places = instruction.form().operands.iter().zip(instruction.values());
    for (operand, value) in places {
        if !matches!(operand.kind, OperandKind::CodeAddress | OperandKind::Hexadecimal) {
            continue;
        }
        let address = u32::try_from(value).ok().map(Address).filter(|&address| address != section);
        let Some(name) = address.and_then(&symbols) else { continue };
        let (_, text) = operands(instruction, Some(&name))?;
        return text.0.iter().any(|operand| matches!(operand, OperandText::Symbol(_))).then_some(name);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(start: u32, words: &[u32]) -> Vec<Line> {
        let symbols = |address: Address| match address.0 {
            0x5c000 => Some("start".into()),
            0x5c100 => Some("worker_barrier".into()),
            _ => None,
        };
        Decoder::default().lines(Address(start), words, symbols)
    }

    #[test]
    fn addresses_of_other_sections_are_symbols_and_others_numbers() {
        // setzi m0, 0x5c000; call m7, 0x5c100; call m7, 0x5c104; setzi m8, 1
        let lines = decoded(0x60000, &[0x1905_c000, 0x1871_7040, 0x1871_7041, 0x1980_0001]);
        let symbols: Vec<_> = lines.iter().map(|line| line.symbol.as_deref()).collect();
        assert_eq!(symbols, [Some("start"), Some("worker_barrier"), None, None]);
        let lines = decoded(0x5c000, &[0x1905_c000]);
        assert_eq!(lines[0].symbol, None, "a loop to the start of its own section");
    }

    #[test]
    fn words_that_are_no_instructions_stay_words() {
        let mut words = (0..=255_u32).map(|top| top << 24 | 0xff_ffff);
        let is_unknown = |word: &u32| {
            [Context::Supervisor, Context::Worker]
                .iter()
                .all(|&context| decode(context, &[*word, 0x43a0_0000]).is_err())
        };
        let unknown = words.rfind(is_unknown).expect("not every word is an instruction");
        let words = [unknown, 0x43a0_0000, unknown];
        let lines = decoded(0x60000, &words);
        assert_eq!(lines[0].code, Code::Word(unknown));
        assert!(matches!(lines[1].code, Code::Instruction(_)));
    }
}
