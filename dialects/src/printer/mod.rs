//! IR to text: the pretty form for people and the generic form, MLIR's, which is canonical.
//!
//! Rules kept here: the same module gives the same bytes; what is printed parses to an equal module; names,
//! aliases, comments and the base of integers survive in the pretty form. Dialects use the public methods of
//! [`Printer`] in hooks and in `DialectValue::print`: [`word`](Printer::word) puts a space before where one is due,
//! [`text`](Printer::text) does not.

mod attributes;
mod labels;
mod locations;
mod ops;
mod text;

use std::fmt;

use indexmap::IndexMap;
use ipu_device::hash::HashMap;

use crate::ir::{Attribute, Location, Module, OpId, Type};
use labels::Labels;

pub use text::{escape_string, is_bare_symbol, is_bare_word};

/// Longest line that is not broken.
pub const LINE_WIDTH: usize = 120;

/// How to print.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrintOptions {
    /// Canonical generic form.
    pub generic: bool,
    /// Explicit locations and origins; in generic form the location of every op.
    pub locations: bool,
}

/// The module in pretty form, with explicit locations and origins in a table at the end.
#[must_use]
pub fn print_module(module: &Module) -> String {
    print_with(module, PrintOptions { generic: false, locations: true })
}

/// The module in MLIR's generic form, canonical.
#[must_use]
pub fn print_generic(module: &Module, locations: bool) -> String {
    print_with(module, PrintOptions { generic: true, locations })
}

/// The module in the form that `options` ask for.
#[must_use]
pub fn print_with(module: &Module, options: PrintOptions) -> String {
    let mut printer = Printer::new(Some(module), options);
    printer.labels = Labels::of(module, module.root(), options.generic);
    printer.print_file(module);
    printer.out
}

/// Writes the module in the form that `options` ask for, line by line, so that the text is never held as a whole.
///
/// # Errors
/// `out` fails.
pub fn print_to(module: &Module, options: PrintOptions, out: &mut dyn fmt::Write) -> fmt::Result {
    let mut printer = Printer::new(Some(module), options);
    printer.labels = Labels::of(module, module.root(), options.generic);
    printer.sink = Some(Sink { out, result: Ok(()) });
    printer.print_file(module);
    let rest = std::mem::take(&mut printer.out);
    match printer.sink {
        Some(Sink { out, result }) => result.and_then(|()| out.write_str(&rest)),
        None => Ok(()),
    }
}

/// The module in pretty form as if the top-level op `omitted` were not there, without locations.
#[must_use]
pub fn print_without(module: &Module, omitted: OpId) -> String {
    let mut printer = Printer::new(Some(module), PrintOptions::default());
    printer.labels = Labels::of(module, module.root(), false);
    printer.omitted = Some(omitted);
    printer.print_file(module);
    printer.out
}

/// One op with its regions in pretty form, without comments of its own and without locations.
#[must_use]
pub fn op_text(module: &Module, op: OpId) -> String {
    let mut printer = Printer::new(Some(module), PrintOptions::default());
    printer.labels = Labels::of(module, module.root(), false);
    printer.print_op(op);
    printer.out.trim_end().to_owned()
}

/// A type as text, without aliases.
#[must_use]
pub fn type_text(ty: &Type) -> String {
    let mut printer = Printer::new(None, PrintOptions::default());
    printer.ty(ty);
    printer.out
}

/// An attribute as text, without aliases.
#[must_use]
pub fn attribute_text(attribute: &Attribute) -> String {
    let mut printer = Printer::new(None, PrintOptions::default());
    printer.attribute(attribute);
    printer.out
}

/// Bytes that are kept back before they go to a sink.
const KEPT_BACK: usize = 1 << 16;

/// Where finished lines go.
struct Sink<'m> {
    out: &'m mut dyn fmt::Write,
    result: fmt::Result,
}

impl fmt::Debug for Sink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink").field("result", &self.result).finish_non_exhaustive()
    }
}

/// A printer: text written so far, and names of what it may write.
#[derive(Debug)]
pub struct Printer<'m> {
    out: String,
    sink: Option<Sink<'m>>,
    module: Option<&'m Module>,
    options: PrintOptions,
    indent: usize,
    line_start: usize,
    wraps: Vec<(usize, usize)>,
    glue: bool,
    /// Nothing stands in the block, or in the text, yet.
    at_start: bool,
    labels: Labels,
    attribute_aliases: HashMap<usize, usize>,
    attribute_alias_values: HashMap<Attribute, usize>,
    type_aliases: HashMap<usize, usize>,
    type_alias_values: HashMap<Type, usize>,
    /// Texts of types by the address of their node, which the type beside keeps alive.
    type_texts: HashMap<usize, (Type, Box<str>)>,
    locations: IndexMap<Location, ()>,
    /// Set by a hook or signature that printed the entry arguments of the next region.
    pub entry_arguments_printed: bool,
    trailing: Option<std::sync::Arc<str>>,
    /// An op that is left out.
    omitted: Option<OpId>,
}

impl<'m> Printer<'m> {
    fn new(module: Option<&'m Module>, options: PrintOptions) -> Self {
        Self {
            out: String::new(),
            sink: None,
            module,
            options,
            indent: 0,
            line_start: 0,
            wraps: Vec::new(),
            glue: false,
            at_start: true,
            labels: Labels::default(),
            attribute_aliases: HashMap::default(),
            attribute_alias_values: HashMap::default(),
            type_aliases: HashMap::default(),
            type_alias_values: HashMap::default(),
            type_texts: HashMap::default(),
            locations: IndexMap::new(),
            entry_arguments_printed: false,
            trailing: None,
            omitted: None,
        }
    }

    /// The module whose ops are printed; hooks run only where there is one.
    #[must_use]
    pub fn module(&self) -> &'m Module {
        match self.module {
            Some(module) => module,
            None => unreachable!("internal bug: an op is printed without its module"),
        }
    }

    /// Writes `text` as it is.
    pub fn text(&mut self, text: &str) {
        self.out.push_str(text);
        self.glue = false;
    }

    /// Writes the display form of `value` as it is.
    pub fn display(&mut self, value: impl std::fmt::Display) {
        use fmt::Write as _;
        let _ = write!(self.out, "{value}");
        self.glue = false;
    }

    /// Writes an integer in base 10.
    pub fn number(&mut self, value: impl itoa::Integer) {
        self.text(itoa::Buffer::new().format(value));
    }

    /// Writes a space, unless the last character is an opening bracket or space.
    pub fn space(&mut self) {
        let last = self.out.as_bytes().last();
        let due = !matches!(last, None | Some(b' ' | b'\n' | b'(' | b'[' | b'<' | b'{'));
        if due && !self.glue {
            self.out.push(' ');
        }
        self.glue = false;
    }

    /// Writes `text` with a space before it where one is due.
    pub fn word(&mut self, text: &str) {
        self.space();
        self.text(text);
    }

    /// A place where a line that is too long may break. What follows must start by [`word`](Self::word) or
    /// [`space`](Self::space).
    pub fn wrap(&mut self) {
        let at = self.out.len();
        let indent = self.indent + 2;
        self.wraps.push((at, indent));
    }

    /// A place to break, with the continuation at the column of byte `anchor` of this line.
    fn wrap_at_column(&mut self, column: usize) {
        self.wraps.push((self.out.len(), column));
    }

    /// Writes a separated list.
    pub fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        separator: &str,
        mut item: impl FnMut(&mut Self, T),
    ) {
        for (index, value) in items.into_iter().enumerate() {
            if index > 0 {
                self.text(separator);
            }
            item(self, value);
        }
    }

    /// `[1, 2, 3]`
    pub fn integers(&mut self, values: &[i64]) {
        self.text("[");
        self.list(values, ", ", |printer, value| printer.display(value));
        self.text("]");
    }

    /// `"text"`
    pub fn string(&mut self, bytes: &[u8]) {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.quoted(text),
            Err(_) => self.text(&escape_string(bytes, self.options.generic)),
        }
    }

    /// `"text"` of valid UTF-8.
    pub(super) fn quoted(&mut self, text: &str) {
        let plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        if !text.bytes().all(plain) {
            return self.text(&escape_string(text.as_bytes(), self.options.generic));
        }
        self.out.push('"');
        self.out.push_str(text);
        self.out.push('"');
        self.glue = false;
    }

    /// `@name`, quoted where it needs to be.
    pub fn symbol_name(&mut self, name: &str) {
        self.text("@");
        if is_bare_symbol(name) { self.text(name) } else { self.string(name.as_bytes()) }
    }

    /// Gives finished lines to the sink, but for the last one, which tells what stands before the next.
    fn pass_on(&mut self) {
        let Some(sink) = self.sink.as_mut().filter(|_| self.out.len() >= KEPT_BACK) else { return };
        let last = self.out.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
        if sink.result.is_ok() {
            sink.result = sink.out.write_str(&self.out[..last]);
        }
        self.out.drain(..last);
        self.line_start = 0;
    }

    fn start_line(&mut self) {
        self.line_start = self.out.len();
        self.wraps.clear();
        self.out.extend(std::iter::repeat_n(' ', self.indent));
    }

    /// Breaks the current line at its wraps until its parts fit, as far as they go.
    fn fit_line(&mut self) {
        let wraps = std::mem::take(&mut self.wraps);
        if self.out.len() - self.line_start <= LINE_WIDTH || wraps.is_empty() {
            return;
        }
        let line = self.out.split_off(self.line_start);
        let base = self.line_start;
        let mut start = 0;
        let mut first_column = 0;
        let mut candidates = wraps.iter().map(|&(at, column)| (at - base, column)).peekable();
        let mut pending: Option<(usize, usize)> = None;
        loop {
            let next_end = candidates.peek().map_or(line.len(), |&(at, _)| at);
            let fits = first_column + next_end - start <= LINE_WIDTH;
            if let (false, Some((at, column))) = (fits, pending) {
                self.out.push_str(&line[start..at]);
                self.out.push('\n');
                let column = if line[at..].starts_with(" : ") { column + 1 } else { column };
                self.out.extend(std::iter::repeat_n(' ', column));
                start = (at + 1).min(line.len());
                first_column = column;
                pending = None;
                continue;
            }
            match candidates.next() {
                Some(candidate) => pending = Some(candidate),
                None => break,
            }
        }
        self.out.push_str(&line[start..]);
    }
}
