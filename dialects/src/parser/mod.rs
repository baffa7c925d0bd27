//! Text to IR: a hand-written recursive-descent parser over a token cursor.
//!
//! Rules kept here: nesting is limited ([`crate::limits`]); an error is reported once, then the parser goes on at
//! the next op, so one run reports many; a value whose definition failed is known as such and causes no further
//! error. Dialects use the public methods of [`Parser`] in hooks and in `DialectValue::parse`.

mod attributes;
mod cursor;
mod dense;
mod literals;
mod locations;
mod names;
mod ops;
mod pretty;
mod regions;
mod resources;
mod shared;
mod trivia;
mod types;

use std::ops::Range;
use std::sync::Arc;

use ipu_device::hash::HashMap;

use crate::codes::ParseCode;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::ir::{Attribute, BlockId, Module, TriviaLine, Type};
use crate::limits::MAX_SOURCE_BYTES;
use crate::registry::Registry;
use crate::source::{FileId, SourceMap, SourceText, Span};

pub use literals::IntegerLiteral;
pub use names::{UnresolvedOperand, WrittenName};
pub use pretty::{EntryArgument, OpSyntax};

/// The error has been reported to the parser's diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reported;

/// A parse result; the error is already reported.
pub type ParseResult<T> = Result<T, Reported>;

/// How to parse.
#[derive(Debug, Clone, Copy)]
pub struct ParseOptions<'r> {
    /// The dialects.
    pub registry: &'r Registry,
    /// Keep undeclared ops, types and attributes verbatim instead of refusing them.
    pub allow_unregistered: bool,
}

impl<'r> ParseOptions<'r> {
    /// The dialects of `registry` and nothing else.
    #[must_use]
    pub fn new(registry: &'r Registry) -> Self {
        Self { registry, allow_unregistered: false }
    }
}

/// Reads a whole text. The module holds what could be read, and the text, so diagnostics can be shown.
#[must_use]
pub fn parse_module(
    name: &str,
    text: impl Into<SourceText>,
    options: ParseOptions<'_>,
) -> (Module, Diagnostics) {
    let text = text.into();
    let mut module = Module::new();
    if text.len() > MAX_SOURCE_BYTES {
        let file = module.sources.add(name, "");
        let message = format!("the text has {} bytes, more than {MAX_SOURCE_BYTES}", text.len());
        let mut diagnostics = Diagnostics::new();
        diagnostics.push(Diagnostic::error(ParseCode::TooLarge, Span::new(file, 0, 0), message));
        return (module, diagnostics);
    }
    let length = text.len();
    let file = module.sources.add(name, text);
    parse_part(module.sources, file, 0..length, options)
}

/// Reads the bytes `part` of text `file` as a module of its own. Places are those of the whole text, which nobody copies.
#[must_use]
pub fn parse_part(
    sources: SourceMap,
    file: FileId,
    part: Range<usize>,
    options: ParseOptions<'_>,
) -> (Module, Diagnostics) {
    let source = sources.get(file).map(Arc::clone);
    let text = source.as_ref().and_then(|source| source.text.get(..part.end)).unwrap_or("");
    let mut module = Module::new();
    module.sources = sources;
    let mut parser = Parser::new(module, file, text, part.start, options);
    parser.parse_file();
    parser.finish()
}

/// Reads one attribute that is the whole of `text`.
///
/// # Errors
/// The findings, with the module that holds the text.
pub fn parse_attribute(
    text: &str,
    options: ParseOptions<'_>,
) -> Result<Attribute, Box<(Module, Diagnostics)>> {
    parse_whole(text, options, |parser| parser.parse_attribute())
}

/// Reads one type that is the whole of `text`.
///
/// # Errors
/// The findings, with the module that holds the text.
pub fn parse_type(text: &str, options: ParseOptions<'_>) -> Result<Type, Box<(Module, Diagnostics)>> {
    parse_whole(text, options, |parser| parser.parse_type())
}

/// Reads one `T` that is the whole of `text`, by `rule`.
///
/// # Errors
/// The findings, with the module that holds the text.
pub fn parse_whole<T>(
    text: &str,
    options: ParseOptions<'_>,
    rule: impl FnOnce(&mut Parser<'_>) -> ParseResult<T>,
) -> Result<T, Box<(Module, Diagnostics)>> {
    let mut sources = SourceMap::default();
    let text = text.get(..text.len().min(MAX_SOURCE_BYTES)).unwrap_or("");
    let file = sources.add("<text>", text);
    parse_whole_part(sources, file, 0..text.len(), options, rule)
}

/// Reads one `T` that is all of the bytes `part` of text `file`, by `rule`. Places are those of the whole text.
///
/// # Errors
/// The findings, with the module that holds the text.
pub fn parse_whole_part<T>(
    sources: SourceMap,
    file: FileId,
    part: Range<usize>,
    options: ParseOptions<'_>,
    rule: impl FnOnce(&mut Parser<'_>) -> ParseResult<T>,
) -> Result<T, Box<(Module, Diagnostics)>> {
    let source = sources.get(file).map(Arc::clone);
    let text = source.as_ref().and_then(|source| source.text.get(..part.end)).unwrap_or("");
    let mut module = Module::new();
    module.sources = sources;
    let mut parser = Parser::new(module, file, text, part.start, options);
    let result = rule(&mut parser).and_then(|value| parser.expect_end().map(|()| value));
    match result {
        Ok(value) if !parser.diagnostics.has_errors() => Ok(value),
        _ => Err(Box::new(parser.finish())),
    }
}

/// The parser: a cursor over the tokens of one text, and the module it fills.
#[derive(Debug)]
pub struct Parser<'s> {
    text: &'s str,
    file: FileId,
    cursor: cursor::Cursor<'s>,
    depth: usize,
    region_depth: usize,
    registry: &'s Registry,
    allow_unregistered: bool,
    module: Module,
    diagnostics: Diagnostics,
    scopes: Vec<names::Scope<'s>>,
    definitions: names::Definitions,
    blocks: Vec<HashMap<&'s str, names::BlockEntry>>,
    aliases: HashMap<&'s str, names::AliasEntry>,
    shared: shared::Shared<'s>,
    current_block: Option<BlockId>,
    /// The comments behind the braces that open the regions of the op being read.
    pending_trailing: Vec<Arc<str>>,
    /// The comments of what the module does not keep, for what stands next.
    carried_comments: Vec<TriviaLine>,
    too_deep: bool,
    /// A region in as many as there may be below the root. Whether the text writes its root shows at its end.
    deepest: Option<Span>,
}

impl<'s> Parser<'s> {
    /// A parser of what stands from byte `start` on.
    fn new(module: Module, file: FileId, text: &'s str, start: usize, options: ParseOptions<'s>) -> Self {
        let mut parser = Self {
            text,
            file,
            cursor: cursor::Cursor::new(text, start as u32),
            depth: 0,
            region_depth: 0,
            registry: options.registry,
            allow_unregistered: options.allow_unregistered,
            module,
            diagnostics: Diagnostics::new(),
            scopes: vec![names::Scope::isolated()],
            definitions: names::Definitions::default(),
            blocks: Vec::new(),
            aliases: HashMap::default(),
            shared: shared::Shared::default(),
            current_block: None,
            pending_trailing: Vec::new(),
            carried_comments: Vec::new(),
            too_deep: false,
            deepest: None,
        };
        // An op takes a line, more or less.
        let part = text.as_bytes().get(start..).unwrap_or(&[]);
        let lines = memchr::memchr_iter(b'\n', part).count();
        parser.module.reserve(lines.min(part.len() / 16));
        parser.find_aliases(start);
        parser
    }

    fn finish(mut self) -> (Module, Diagnostics) {
        self.diagnostics.sort();
        (self.module, self.diagnostics)
    }

    /// The module as read so far.
    #[must_use]
    pub fn module(&self) -> &Module {
        &self.module
    }
}
