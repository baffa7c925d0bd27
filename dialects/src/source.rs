//! Source texts, byte spans in them, and lines and columns.
//!
//! A span is a file and a half-open byte range; it may be empty and is always clamped to the text and to
//! character boundaries before it is shown.

use std::sync::{Arc, OnceLock};

/// A source text of a [`SourceMap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A byte range of a source text; [`Span::NONE`] for things that no text wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The text.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// First byte past the range.
    pub end: u32,
}

impl Span {
    /// The span of things that no text wrote.
    pub const NONE: Self = Self { file: FileId(u32::MAX), start: 0, end: 0 };

    /// Bytes `start..end` of `file`.
    #[must_use]
    pub fn new(file: FileId, start: u32, end: u32) -> Self {
        Self { file, start, end }
    }

    /// Whether no text wrote this.
    #[must_use]
    pub fn is_none(self) -> bool {
        self.file == Self::NONE.file
    }

    /// The least span over both; the other one if one is [`Span::NONE`].
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        if self.is_none() {
            return other;
        }
        if other.is_none() || other.file != self.file {
            return self;
        }
        Self { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// A text that is shared and never copied, however long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceText(Arc<String>);

impl std::ops::Deref for SourceText {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<String> for SourceText {
    fn from(text: String) -> Self {
        Self(Arc::new(text))
    }
}

impl From<&str> for SourceText {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

/// A source text with its name and the start of each line.
#[derive(Debug)]
pub struct SourceFile {
    /// Path or pseudo name such as `<stdin>`.
    pub name: Arc<str>,
    /// The text.
    pub text: SourceText,
    line_starts: OnceLock<Vec<u32>>,
}

/// A place for people: line and column count from 1, columns are bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineColumn {
    /// Line, from 1.
    pub line: u32,
    /// Byte in the line, from 1.
    pub column: u32,
}

impl SourceFile {
    fn new(name: &str, text: SourceText) -> Self {
        Self { name: name.into(), text, line_starts: OnceLock::new() }
    }

    /// First byte of each line, found when a place is asked for the first time.
    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            let breaks = memchr::memchr_iter(b'\n', self.text.as_bytes());
            std::iter::once(0).chain(breaks.map(|at| at as u32 + 1)).collect()
        })
    }

    /// Line and column of byte `offset`.
    #[must_use]
    pub fn line_column(&self, offset: u32) -> LineColumn {
        let line = self.line_starts().partition_point(|&start| start <= offset).max(1);
        let start = self.line_starts().get(line - 1).copied().unwrap_or(0);
        LineColumn { line: line as u32, column: offset - start + 1 }
    }

    /// Text of line `line` (from 1) without its line end; empty past the end.
    #[must_use]
    pub fn line_text(&self, line: u32) -> &str {
        let index = line.saturating_sub(1) as usize;
        let Some(&start) = self.line_starts().get(index) else { return "" };
        let end = self.line_starts().get(index + 1).map_or(self.text.len(), |&next| next as usize);
        self.text.get(start as usize..end).unwrap_or("").trim_end_matches(['\n', '\r'])
    }

    /// The byte range of `span`, inside the text and on character boundaries.
    #[must_use]
    pub fn clamped(&self, span: Span) -> std::ops::Range<usize> {
        let floor = |at: u32| {
            let mut at = (at as usize).min(self.text.len());
            while !self.text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let start = floor(span.start);
        start..floor(span.end).max(start)
    }
}

/// The source texts of a module. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct SourceMap {
    files: Vec<Arc<SourceFile>>,
}

impl SourceMap {
    /// Adds a text.
    pub fn add(&mut self, name: &str, text: impl Into<SourceText>) -> FileId {
        self.files.push(Arc::new(SourceFile::new(name, text.into())));
        FileId(self.files.len() as u32 - 1)
    }

    /// The text `file`; `None` for the file of [`Span::NONE`].
    #[must_use]
    pub fn get(&self, file: FileId) -> Option<&Arc<SourceFile>> {
        self.files.get(file.0 as usize)
    }

    /// All texts in order of [`FileId`].
    pub fn files(&self) -> impl Iterator<Item = (FileId, &Arc<SourceFile>)> {
        self.files.iter().enumerate().map(|(index, file)| (FileId(index as u32), file))
    }

    /// File, line and column of the start of `span`.
    #[must_use]
    pub fn locate(&self, span: Span) -> Option<(&Arc<SourceFile>, LineColumn)> {
        self.get(span.file).map(|file| (file, file.line_column(file.clamped(span).start as u32)))
    }
}
