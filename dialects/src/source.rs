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

/// Bytes of a text whose line breaks are counted together.
const BLOCK: usize = 1 << 12;

/// A source text with its name and where its lines are.
#[derive(Debug)]
pub struct SourceFile {
    /// Path or pseudo name such as `<stdin>`.
    pub name: Arc<str>,
    /// The text.
    pub text: SourceText,
    breaks_before: OnceLock<Vec<u32>>,
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
        Self { name: name.into(), text, breaks_before: OnceLock::new() }
    }

    /// Line breaks before each block of [`BLOCK`] bytes, found when a place is asked for the first time. A text of a gigabyte
    /// may have as many lines as bytes, so no list of them is kept.
    fn breaks_before(&self) -> &[u32] {
        self.breaks_before.get_or_init(|| {
            let mut breaks = 0;
            let count = |block: &[u8]| {
                let before = breaks;
                breaks += memchr::memchr_iter(b'\n', block).count() as u32;
                before
            };
            self.text.as_bytes().chunks(BLOCK).map(count).collect()
        })
    }

    /// Line and column of byte `offset`.
    #[must_use]
    pub fn line_column(&self, offset: u32) -> LineColumn {
        let bytes = self.text.as_bytes();
        let end = (offset as usize).min(bytes.len());
        let (mut block, counts) = (end / BLOCK, self.breaks_before());
        let before = |block: usize| counts.get(block).copied().unwrap_or(0);
        if block == counts.len() && block > 0 {
            block -= 1;
        }
        let inside = bytes.get(block * BLOCK..end).unwrap_or_default();
        let breaks = before(block) + memchr::memchr_iter(b'\n', inside).count() as u32;
        let start = memchr::memrchr(b'\n', inside).map(|at| block * BLOCK + at).or_else(|| {
            // The last block before this one that has a break in it.
            let last = counts.partition_point(|&count| count < before(block)).checked_sub(1)?;
            let here = bytes.get(last * BLOCK..(last + 1) * BLOCK)?;
            memchr::memrchr(b'\n', here).map(|at| last * BLOCK + at)
        });
        let start = start.map_or(0, |at| at + 1);
        LineColumn { line: breaks + 1, column: offset - start as u32 + 1 }
    }

    /// The line that starts at byte `start`, without its end; nothing if it has more than `most` bytes.
    #[must_use]
    pub fn short_line(&self, start: usize, most: usize) -> Option<&str> {
        let rest = self.text.as_bytes().get(start..)?;
        let length = memchr::memchr(b'\n', &rest[..rest.len().min(most + 1)]).unwrap_or(rest.len());
        let line = self.text.get(start..start + length)?;
        (length <= most).then(|| line.trim_end_matches('\r'))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_are_those_of_a_count_from_the_start() {
        let long = "x".repeat(3 * BLOCK - 1);
        for text in ["", "\n", "a\nbc\n", &format!("a\n{long}\nb\n"), &"y\n".repeat(BLOCK), &long] {
            let file = SourceFile::new("t.ir", text.into());
            let (mut line, mut column) = (1, 1);
            for (offset, byte) in text.bytes().chain([0]).enumerate() {
                assert_eq!(file.line_column(offset as u32), LineColumn { line, column }, "byte {offset}");
                (line, column) = if byte == b'\n' { (line + 1, 1) } else { (line, column + 1) };
            }
        }
    }

    #[test]
    fn a_long_line_is_not_looked_through() {
        let file = SourceFile::new("t.ir", "ab\r\nlonger\nend".into());
        assert_eq!([0, 4, 11].map(|start| file.short_line(start, 4)), [Some("ab"), None, Some("end")]);
    }
}
