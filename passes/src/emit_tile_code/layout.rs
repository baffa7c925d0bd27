//! Where the runtime lies: its entry at the first word of the image, itself at the start of code, behind it the jump to the
//! tile's own program, which every image has at the same address; then kernels, rows, and the tile's own code.

use std::sync::LazyLock;

use ipu_device::hash::HashMap;
use ipu_device::isa::Register;
use ipu_device::memory_map::{CODE_BASE, INTERLEAVED_BASE, LOAD_BASE};
use ipu_device::supervisor::runtime::{PROGRAM, START};
use ipu_device::supervisor::{Assembler, Symbol, WorkerSeeds, runtime};
use ipu_device::{Address, Bytes};
use ipu_dialects::tile::{Assembled, Body, Image, Section, TileProgram};

use super::{EmitCode, EmitError};

/// Code and tables start on multiples of this.
const ALIGN: u32 = 8;
/// Bytes of the jump to the tile's program.
const JUMP: Bytes = Bytes(8);
/// Symbol of the first code of an image.
const ENTRY: &str = "entry";
/// Symbol of the tile's own program.
pub(super) const MAIN: &str = "main";

/// First address behind the runtime and the jump to the program: kernels and rows may start there.
#[must_use]
pub fn first_free() -> Address {
    static FIRST_FREE: LazyLock<Address> =
        LazyLock::new(|| behind(behind(CODE_BASE, runtime(WorkerSeeds::Reset).size()), JUMP));
    *FIRST_FREE
}

/// The next address after `size` bytes from `start` at which code may start.
pub(super) fn behind(start: Address, size: Bytes) -> Address {
    Address(start.0.saturating_add(size.0).next_multiple_of(ALIGN))
}

/// What every image has.
pub(super) struct Runtime {
    pub(super) sections: Vec<Section>,
    /// Addresses of its symbols.
    symbols: HashMap<String, Address>,
    /// Where the jump to the program lies.
    jump: Address,
}

impl Runtime {
    pub(super) fn new() -> Result<Self, EmitError> {
        let code = runtime(WorkerSeeds::Reset);
        let jump = behind(CODE_BASE, code.size());
        let program = |name: &str| (Symbol::from(name.to_owned()) == PROGRAM).then_some(jump);
        let mut sections = Section::assembled(&code, Assembled::Code, CODE_BASE, ENTRY, program)?;
        let mut symbols: HashMap<String, Address> = HashMap::default();
        symbols.extend(sections.iter().map(|section| (section.symbol.to_string(), section.address)));
        let entry = jump_to(START);
        let known = |name: &str| symbols.get(name).copied();
        let entry = Section::assembled(&entry, Assembled::Code, LOAD_BASE, ENTRY, known)?;
        sections.splice(0..0, entry);
        Ok(Self { sections, symbols, jump })
    }

    /// The address of a symbol of the runtime.
    pub(super) fn address(&self, symbol: &str) -> Option<Address> {
        self.symbols.get(symbol).copied()
    }

    /// The jump to the tile's program at `main`.
    pub(super) fn jump(&self, main: Address) -> Result<Vec<Section>, EmitError> {
        let code = jump_to(Symbol::fixed(MAIN));
        let known = |name: &str| (name == MAIN).then_some(main);
        let Symbol::Named(name) = PROGRAM else { return Ok(Vec::new()) };
        Ok(Section::assembled(&code, Assembled::Code, self.jump, &name, known)?)
    }

    /// Refuses kernels and sections where the runtime goes.
    pub(super) fn check_free(&self, program: &TileProgram) -> Result<(), EmitError> {
        let entry = Address(LOAD_BASE.0 + JUMP.0);
        let kernels = program
            .kernels
            .iter()
            .map(|kernel| (&kernel.symbol, kernel.address, kernel.size(), kernel.source));
        let sections = program.images.iter().flat_map(|image| &image.sections).chain(&program.common);
        let sections =
            sections.map(|section| (&section.symbol, section.address, section.size(), section.source));
        for (symbol, at, size, op) in kernels.chain(sections) {
            let stop = at.0.saturating_add(size.0);
            for (first, end) in [(LOAD_BASE, entry), (CODE_BASE, first_free())] {
                if at < end && first.0 < stop {
                    let message = format!(
                        "`@{symbol}` is at {at}..{}, the runtime goes to {first}..{end}",
                        Address(stop)
                    );
                    return Err(EmitError::new(EmitCode::InTheWay, op, message));
                }
            }
        }
        Ok(())
    }
}

fn jump_to(symbol: Symbol) -> Assembler {
    let mut code = Assembler::new();
    code.set_address(Register::M0, symbol);
    code.push(ipu_device::isa::Instruction::Br { target: Register::M0 });
    code
}

/// The first address behind all kernels and what the image has before its code: rows, and data in the same memory.
pub(super) fn behind_rows(program: &TileProgram, image: &Image) -> Address {
    let kernels = program.kernels.iter().map(|kernel| behind(kernel.address, kernel.size()));
    let sections = program.common.iter().chain(&image.sections);
    let below = sections.filter(|section| section.address < INTERLEAVED_BASE);
    let rows = below.map(|section| behind(section.address, section.size()));
    kernels.chain(rows).max().unwrap_or_default().max(first_free())
}

/// Words of code in an image, rows apart.
pub(super) fn code_words(image: &Image) -> usize {
    let code = image.sections.iter().filter(|section| matches!(section.body, Body::Code(_)));
    code.map(|section| section.size().0 as usize / 4).sum()
}
