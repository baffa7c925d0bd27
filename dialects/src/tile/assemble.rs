//! From the device's [`Assembler`] to sections: one for each named label, so that every symbol is a section.

use std::sync::Arc;

use ipu_device::isa::{Context, Instruction, decode};
use ipu_device::package::SegmentFlags;
use ipu_device::supervisor::assembler::Line as AssemblerLine;
use ipu_device::supervisor::{Assembler, LinkError, Linked, Symbol};
use ipu_device::{Address, Bytes};

use super::program::{Body, Code, Data, Line, Section};

/// What an assembled program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assembled {
    /// Code.
    Code,
    /// Words that are not code.
    Data(SegmentFlags),
}

impl Section {
    /// The sections of `program` from `start` on, a multiple of 8: a new one starts at each named label. What stands before
    /// the first label is `first`. `lookup` gives the addresses of symbols defined elsewhere.
    ///
    /// # Errors
    /// What [`Assembler::link`] refuses.
    pub fn assembled(
        program: &Assembler,
        kind: Assembled,
        start: Address,
        first: &str,
        lookup: impl Fn(&str) -> Option<Address>,
    ) -> Result<Vec<Self>, LinkError> {
        let linked = program.link(start, lookup)?;
        let mut splitter = Splitter { linked: &linked, kind, start, word: 0, sections: Vec::new() };
        for (index, line) in program.lines().iter().enumerate() {
            if let AssemblerLine::Label(Symbol::Named(name)) = line {
                splitter.open(name);
                continue;
            }
            if index == 0 {
                splitter.open(first);
            }
            splitter.line(line);
        }
        Ok(splitter.sections)
    }
}

struct Splitter<'a> {
    linked: &'a Linked,
    kind: Assembled,
    start: Address,
    /// Words so far.
    word: usize,
    sections: Vec<Section>,
}

impl Splitter<'_> {
    fn open(&mut self, name: &str) {
        let offset = Bytes(u32::try_from(4 * self.word).unwrap_or(u32::MAX));
        let body = match self.kind {
            Assembled::Code => Body::Code(Vec::new()),
            Assembled::Data(flags) => Body::Data(Data::words(flags, Vec::new())),
        };
        let address = self.start.checked_add(offset).unwrap_or_default();
        self.sections.push(Section { source: None, symbol: name.into(), address, body });
    }

    fn line(&mut self, line: &AssemblerLine) {
        match line {
            AssemblerLine::Label(_) => {}
            AssemblerLine::Instruction(instruction) => self.instruction(*instruction, None),
            AssemblerLine::Reference { instruction, symbol } => {
                let words = self.linked.words.get(self.word..).unwrap_or(&[]);
                // The linker has put the address in; instructions with addresses are the supervisor's too.
                let resolved = decode(Context::Supervisor, words).unwrap_or(*instruction);
                let named = match symbol {
                    Symbol::Named(name) => Some(Arc::from(&**name)),
                    Symbol::Local(_) => None,
                };
                self.instruction(resolved, named);
            }
            AssemblerLine::Word(_) | AssemblerLine::AddressWord(_) => self.next_word(),
            AssemblerLine::Align if self.word % 2 == 1 => match self.kind {
                Assembled::Code => self.instruction(Instruction::Nop {}, None),
                Assembled::Data(_) => self.next_word(),
            },
            AssemblerLine::Align => {}
        }
    }

    fn next_word(&mut self) {
        let word = self.linked.words.get(self.word).copied().unwrap_or_default();
        self.word += 1;
        self.push(Line::word(word), &[word]);
    }

    fn instruction(&mut self, instruction: Instruction, symbol: Option<Arc<str>>) {
        let end = self.word + instruction.word_count();
        let words: Vec<u32> = self.linked.words.get(self.word..end).unwrap_or(&[]).to_vec();
        self.word = end;
        self.push(Line { source: None, code: Code::Instruction(instruction), symbol }, &words);
    }

    fn push(&mut self, line: Line, words: &[u32]) {
        match self.sections.last_mut().map(|section| &mut section.body) {
            Some(Body::Code(lines) | Body::Row(lines)) => lines.push(line),
            Some(Body::Data(data)) => {
                let mut all = std::mem::take(&mut data.words);
                all.extend_from_slice(words);
                *data = Data::words(data.flags, all);
            }
            None => {}
        }
    }
}
