//! Text to plain data: resolves symbols, and checks what plain data cannot express.
//!
//! Rules kept here: an op is read up to its first error and what is wrong with it is one finding; nothing recurses,
//! repeats are a stack. What holds between ops is checked elsewhere, on the result.

mod host;
mod steps;

use std::sync::Arc;

use indexmap::IndexMap;
use ipu_device::hash::HashMap;
use ipu_device::memory_map::{MEMORY_BASE, MEMORY_END};
use ipu_device::package::{BindingKind, SegmentFlags};
use ipu_device::{Address, Bytes};

use super::codes::TileCode;
use super::instructions::{self, OperandsError};
use super::ops::{
    BindingOp, CodeOp, DataOp, HostCallOp, HostPagesOp, ImageOp, KernelOp, ProgramOp, RowOp, StepsOp,
    StorageOp, WordOp,
};
use super::program::{
    Binding, Body, Code, Data, Image, KernelCode, KernelImage, Line, Section, Storage, TileProgram,
    word_bytes,
};
use crate::declaration::{Op, check_op};
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::ir::{Attribute, Module, Name, OpId};

/// The result of reading one op: its first error.
type Read<T> = Result<T, Box<Diagnostic>>;

/// Addresses of the symbols of one table.
type Symbols<'m> = HashMap<&'m str, Address>;

impl TileProgram {
    /// Reads a `tile.program` as plain data.
    ///
    /// # Errors
    /// All findings in the ops, if there is one; what holds between them is checked by [`super::check_program`].
    pub fn read(module: &Module, op: OpId) -> Result<Self, Diagnostics> {
        let mut diagnostics = Diagnostics::new();
        let mut well_formed = true;
        for op in module.walk(op) {
            well_formed &= check_op(module, op, &mut diagnostics);
        }
        let Some(root) = module.cast::<ProgramOp>(op).filter(|_| well_formed) else {
            if !diagnostics.has_errors() {
                let message = format!("`{}` is no `tile.program`", module.name(op));
                diagnostics.push(Diagnostic::error(TileCode::Misplaced, module.span(op), message));
            }
            return Err(diagnostics);
        };
        let mut reader = Reader {
            module,
            program: Self::new(root.sym_name(module)),
            diagnostics,
            shared: Symbols::default(),
            images: Vec::new(),
        };
        reader.program.op = Some(op);
        reader.program.attributes = foreign_attributes(module, op);
        reader.collect_symbols(op);
        reader.read(op);
        if reader.diagnostics.has_errors() { Err(reader.diagnostics) } else { Ok(reader.program) }
    }
}

/// Attributes with a dialect prefix.
fn foreign_attributes(module: &Module, op: OpId) -> Vec<(Name, Attribute)> {
    module.attributes(op).iter().filter(|(name, _)| name.dialect().is_some()).cloned().collect()
}

/// Name and address of a section or kernel.
fn addressed(module: &Module, op: OpId) -> Option<(&str, Address)> {
    let address = if let Some(op) = module.cast::<RowOp>(op) {
        op.address(module)
    } else if let Some(op) = module.cast::<CodeOp>(op) {
        op.address(module)
    } else if let Some(op) = module.cast::<DataOp>(op) {
        op.address(module)
    } else {
        module.cast::<KernelOp>(op)?.address(module)
    };
    Some((module.symbol_name(op)?, Address(address)))
}

fn symbols_of(module: &Module, table: OpId) -> Symbols<'_> {
    module.direct_children(table).filter_map(|op| addressed(module, op)).collect()
}

struct Reader<'m> {
    module: &'m Module,
    program: TileProgram,
    diagnostics: Diagnostics,
    /// Symbols of the program itself.
    shared: Symbols<'m>,
    /// Symbols of each image, in order.
    images: Vec<Symbols<'m>>,
}

impl<'m> Reader<'m> {
    fn collect_symbols(&mut self, program: OpId) {
        let module = self.module;
        let images = module.direct_children(program).filter(|&op| module.is::<ImageOp>(op));
        self.images = images.map(|image| symbols_of(module, image)).collect();
        self.shared = symbols_of(module, program);
    }

    fn read(&mut self, program: OpId) {
        let module = self.module;
        let mut image = 0;
        for op in module.direct_children(program) {
            let read = if let Some(op) = module.cast::<BindingOp>(op) {
                self.binding(op)
            } else if let Some(op) = module.cast::<HostPagesOp>(op) {
                self.host_pages(op)
            } else if let Some(op) = module.cast::<HostCallOp>(op) {
                self.host_call(op)
            } else if let Some(op) = module.cast::<KernelOp>(op) {
                self.kernel(op)
            } else if let Some(op) = module.cast::<StorageOp>(op) {
                self.storage(op)
            } else if let Some(op) = module.cast::<ImageOp>(op) {
                image += 1;
                self.image(op, image - 1)
            } else {
                self.section(op, None, "`tile.program` holds bindings, kernels, storage, sections and images")
                    .map(|section| self.program.common.push(section))
            };
            self.keep(read);
        }
    }

    fn keep(&mut self, read: Read<()>) {
        if let Err(error) = read {
            self.diagnostics.push(*error);
        }
    }

    fn error(&self, code: TileCode, op: OpId, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::error(code, self.module.span(op), message))
    }

    fn misplaced(&self, op: OpId, expected: &str) -> Box<Diagnostic> {
        let message = format!("`{}` does not belong here", self.module.name(op));
        Box::new(self.error(TileCode::Misplaced, op, message).note(expected))
    }

    // Bindings and kernels.

    fn binding(&mut self, op: BindingOp) -> Read<()> {
        let module = self.module;
        let kinds = [BindingKind::Input, BindingKind::Output, BindingKind::Weight];
        let kind = kinds.into_iter().find(|kind| kind.name() == op.kind(module));
        let slices = op.slices(module).map(super::slices::SliceFamily::slices).transpose();
        let slices = slices.map_err(|error| {
            self.error(TileCode::BadBinding, op.id(), format!("`@{}`: {error}", op.sym_name(module)))
        })?;
        self.program.bindings.push(Binding {
            source: Some(op.id()),
            name: op.sym_name(module).to_owned(),
            kind: kind.unwrap_or(BindingKind::Output),
            ty: op.tensor(module).clone(),
            attributes: foreign_attributes(module, op.id()),
            slices: slices.unwrap_or_default(),
        });
        Ok(())
    }

    fn kernel(&mut self, op: KernelOp) -> Read<()> {
        let (module, name) = (self.module, op.sym_name(self.module));
        let size = self.size(op.id(), "size", op.size(module))?;
        let bad = |message: String| Err(self.error(TileCode::BadSize, op.id(), message));
        let code = match (op.reference(module), op.words(module)) {
            (true, None) if size.0 > 0 && size.0.is_multiple_of(4) => KernelCode::Reference(size),
            (true, None) => return bad(format!("kernel `@{name}` has {size}, expected whole words")),
            (true, Some(_)) => {
                return bad(format!("kernel `@{name}` is `reference` and has words, expected one of both"));
            }
            (false, None) => {
                return bad(format!("kernel `@{name}` has no code, expected `reference` or words"));
            }
            (false, Some(words)) if word_bytes(words.len()) == size => KernelCode::Words(unsigned(words)),
            (false, Some(words)) => {
                return bad(format!(
                    "kernel `@{name}` has {size} and {} words of 4 bytes, expected the same",
                    words.len()
                ));
            }
        };
        self.program.kernels.push(KernelImage {
            source: Some(op.id()),
            symbol: name.into(),
            address: Address(op.address(module)),
            tiles: op.tiles(module).map(|tiles| tiles.iter().collect()),
            code,
        });
        Ok(())
    }

    fn storage(&mut self, op: StorageOp) -> Read<()> {
        let (module, buffer) = (self.module, op.buffer(self.module));
        let size = self.size(op.id(), "size", op.size(module))?;
        let bad = |message: String| Err(self.error(TileCode::BadStorage, op.id(), message));
        let address = Address(op.address(module));
        let end = address.checked_add(size).filter(|&end| address >= MEMORY_BASE && end <= MEMORY_END);
        if end.is_none() {
            let message = format!("`{buffer}`: {size} at {address} leave {MEMORY_BASE} to {MEMORY_END}");
            return bad(message);
        }
        let phase = |number: i64| u32::try_from(number).ok();
        let live = match (op.first(module), op.last(module)) {
            (None, _) | (_, None) => None,
            (Some(first), Some(last)) => match (phase(first), phase(last)) {
                (Some(start), Some(end)) if start <= end => Some(start..=end),
                _ => {
                    let message =
                        format!("`{buffer}` lives from phase {first} to {last}, expected ascending numbers");
                    return bad(message);
                }
            },
        };
        self.program.storage.push(Storage {
            source: Some(op.id()),
            buffer: buffer.to_owned(),
            address,
            size,
            live,
            tiles: op.tiles(module).iter().collect(),
        });
        Ok(())
    }

    fn size(&self, op: OpId, what: &str, value: i64) -> Read<Bytes> {
        u32::try_from(value).map(Bytes).map_err(|_| {
            self.error(TileCode::BadSize, op, format!("`{what}` is {value}, expected a number of bytes"))
        })
    }

    // Images.

    fn image(&mut self, op: ImageOp, index: usize) -> Read<()> {
        let module = self.module;
        let tiles: Vec<_> = op.tiles(module).iter().collect();
        if let Some(physical) = op.physical(module) {
            let expected: Vec<i64> = tiles.iter().map(|tile| tile.physical().0.into()).collect();
            if expected != [physical] {
                let message = match expected.as_slice() {
                    [expected] => {
                        format!("logical tile {} is physical tile {expected}, not {physical}", tiles[0])
                    }
                    _ => {
                        format!("`physical {physical}` stands for one tile, the image is on {}", tiles.len())
                    }
                };
                return Err(self.error(TileCode::WrongPhysical, op.id(), message));
            }
        }
        let mut image = Image { source: Some(op.id()), tiles, sections: Vec::new(), steps: None };
        for child in module.direct_children(op.id()) {
            if module.is::<StepsOp>(child) {
                if image.steps.is_some() {
                    return Err(self.error(TileCode::BadStep, child, "an image has `tile.steps` once"));
                }
                image.steps = Some(self.steps(child));
                continue;
            }
            match self.section(child, Some(index), "`tile.image` holds rows, code, data and steps") {
                Ok(section) => image.sections.push(section),
                Err(error) => self.diagnostics.push(*error),
            }
        }
        self.program.images.push(image);
        Ok(())
    }

    // Sections.

    fn section(&mut self, op: OpId, image: Option<usize>, expected: &str) -> Read<Section> {
        let module = self.module;
        let (symbol, address) = addressed(module, op).unwrap_or_default();
        if !module.is::<DataOp>(op) && !address.is_aligned(Bytes(4)) {
            let message = format!("`@{symbol}` lies at {address}, expected a multiple of 4");
            return Err(self.error(TileCode::BadAddress, op, message));
        }
        let body = if module.is::<RowOp>(op) {
            Body::Row(self.lines(op, image))
        } else if module.is::<CodeOp>(op) {
            Body::Code(self.lines(op, image))
        } else if let Some(data) = module.cast::<DataOp>(op) {
            Body::Data(self.data(data)?)
        } else {
            return Err(self.misplaced(op, expected));
        };
        Ok(Section { source: Some(op), symbol: symbol.into(), address, body })
    }

    fn data(&self, op: DataOp) -> Read<Data> {
        let module = self.module;
        let words = unsigned(op.words(module));
        let all = word_bytes(words.len());
        let stored = op.bytes(module).map_or(Ok(all), |bytes| self.size(op.id(), "bytes", bytes))?;
        let size = op.size(module).map_or(Ok(stored), |size| self.size(op.id(), "size", size))?;
        if stored.words_ceil() != all.words_ceil() || size < stored {
            let message = format!(
                "`@{}` has {} words, {stored} of them stored, and takes {size}: these disagree",
                op.sym_name(module),
                words.len()
            );
            return Err(self.error(TileCode::BadSize, op.id(), message));
        }
        Ok(Data { flags: SegmentFlags(op.flags(module)), words, stored, size })
    }

    fn lines(&mut self, op: OpId, image: Option<usize>) -> Vec<Line> {
        let mut lines = Vec::new();
        // Like instructions share their attribute; most operands are read once.
        let mut known: HashMap<(&str, usize), Line> = HashMap::default();
        for child in self.module.direct_children(op) {
            let key = self.line_key(child);
            let read = match key.and_then(|key| known.get(&key)) {
                Some(line) => Ok(line.clone()),
                None => self.line(child, image),
            };
            match read {
                Ok(line) => {
                    if let Some(key) = key {
                        known.entry(key).or_insert_with(|| line.clone());
                    }
                    lines.push(Line { source: Some(child), ..line });
                }
                Err(error) => self.diagnostics.push(*error),
            }
        }
        lines
    }

    fn line_key(&self, op: OpId) -> Option<(&'static str, usize)> {
        let operands = self.module.attribute(op, instructions::OPERANDS)?;
        Some((self.module.name(op).as_str(), operands.node_address()))
    }

    fn line(&self, op: OpId, image: Option<usize>) -> Read<Line> {
        let module = self.module;
        if let Some(word) = module.cast::<WordOp>(op) {
            return Ok(Line::word(word.word(module)));
        }
        let found = instructions::mnemonic(module.name(op)).zip(instructions::operands_of(module, op));
        let Some((mnemonic, operands)) = found else {
            return Err(self.misplaced(op, "rows and code hold instructions and `tile.word`"));
        };
        let instruction = instructions::instruction(mnemonic, operands, |name| self.resolve(name, image));
        match instruction {
            Ok(instruction) => {
                let symbol = operands.0.iter().find_map(|operand| match operand {
                    super::operands::OperandText::Symbol(name) => Some(Arc::clone(name)),
                    _ => None,
                });
                Ok(Line { source: None, code: Code::Instruction(instruction), symbol })
            }
            Err(OperandsError::Symbol(name)) => Err(self.unresolved(op, &name, image)),
            Err(error) => Err(self.error(TileCode::BadOperands, op, error.to_string())),
        }
    }

    /// The address of a symbol: in the image, else in the program. From the program, a symbol may stand for the sections
    /// of that name in all images, if they lie at one address.
    fn resolve(&self, name: &str, image: Option<usize>) -> Option<Address> {
        let own = image.and_then(|image| self.images.get(image)?.get(name).copied());
        own.or_else(|| self.shared.get(name).copied()).or_else(|| match image {
            None => self.everywhere(name),
            Some(_) => None,
        })
    }

    fn everywhere(&self, name: &str) -> Option<Address> {
        let mut addresses = self.images.iter().map(|symbols| symbols.get(name).copied());
        let first = addresses.next()??;
        addresses.all(|address| address == Some(first)).then_some(first)
    }

    fn unresolved(&self, op: OpId, name: &str, image: Option<usize>) -> Box<Diagnostic> {
        let error =
            self.error(TileCode::UnresolvedSymbol, op, format!("symbol `@{name}` has no address here"));
        if image.is_none() && self.images.iter().any(|symbols| symbols.contains_key(name)) {
            let note = "code of all images can name what every image has at the same address";
            return Box::new(error.note(note));
        }
        let own = image.and_then(|image| self.images.get(image));
        let known: IndexMap<&str, ()> =
            own.into_iter().chain([&self.shared]).flat_map(sorted).map(|name| (name, ())).collect();
        match crate::spelling::nearest(name, known.keys().copied()) {
            Some(near) => Box::new(error.note(format!("did you mean `@{near}`?"))),
            None => error,
        }
    }
}

fn sorted<'m>(symbols: &Symbols<'m>) -> Vec<&'m str> {
    let mut names: Vec<&str> = symbols.keys().copied().collect();
    names.sort_unstable();
    names
}

/// Words whose range the attribute's rule has checked.
fn unsigned(words: &[i64]) -> Vec<u32> {
    words.iter().map(|&word| u32::try_from(word).unwrap_or_default()).collect()
}
