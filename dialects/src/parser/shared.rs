//! Types and attributes by their text: in one file equal texts mean the same, so they are made once and shared.

use std::hash::BuildHasher;

use ipu_device::hash::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

use crate::ir::{Attribute, AttributeList, Name, OpKind, Type};

/// Longest text of an attribute that is shared.
const SHARED_TEXT: usize = 64;

/// Longest text of a number that is shared: most longer ones differ.
const SHARED_NUMBER: usize = 3;

/// Most attributes that are remembered: files have few that repeat, and may have millions that do not.
const SHARED_ATTRIBUTES: usize = 1 << 12;

/// Places for ends of lines.
const TAILS: usize = 1 << 12;

/// What has been read, by its text.
#[derive(Debug, Default)]
pub(super) struct Shared<'s> {
    types: HashMap<&'s str, Type>,
    attributes: HashMap<&'s str, Attribute>,
    /// Names without a look at the table of the process, which is locked.
    names: HashSet<Name>,
    /// Ops by their quoted names.
    ops: HashMap<&'s str, OpKind>,
    /// Types that are one word.
    words: HashMap<&'s str, Type>,
    /// Function types that go to the end of their line.
    line_ends: HashMap<&'s str, Type>,
    tails: Tails<'s>,
}

/// The end of a line that is what stands behind the operands of a generic op.
#[derive(Debug)]
pub(super) struct Tail {
    pub(super) attributes: AttributeList,
    pub(super) ty: Type,
    /// First byte of the type, from the start of the tail.
    pub(super) type_at: u32,
}

/// Tails by their text. Each text has its place in the table: the first time it is read its hash is noted there, the second time it is
/// kept, since most are not read again.
#[derive(Debug, Default)]
struct Tails<'s> {
    /// Hashes last read; looked at before the rest, which is larger.
    hashes: Vec<u64>,
    kept: Vec<Option<(&'s str, Tail)>>,
}

/// Hash of the text of a tail.
#[derive(Debug, Clone, Copy)]
pub(super) struct TailHash(u64);

impl TailHash {
    pub(super) fn of(line: &str) -> Self {
        Self(FxBuildHasher.hash_one(line))
    }

    fn place(self) -> usize {
        self.0 as usize % TAILS
    }
}

impl<'s> Shared<'s> {
    /// The type of `text`: the first one read, or `ty`.
    pub(super) fn ty(&mut self, text: &'s str, ty: Type) -> Type {
        self.types.entry(text).or_insert(ty).clone()
    }

    /// The interned name.
    pub(super) fn name(&mut self, text: &str) -> Name {
        if let Some(&known) = self.names.get(text) {
            return known;
        }
        let name = Name::intern(text);
        self.names.insert(name);
        name
    }

    /// What the op of a quoted name is, if it was read before.
    pub(super) fn op(&self, quoted: &str) -> Option<OpKind> {
        self.ops.get(quoted).copied()
    }

    /// Remembers what the op of a quoted name is.
    pub(super) fn set_op(&mut self, quoted: &'s str, kind: OpKind) {
        self.ops.insert(quoted, kind);
    }

    /// The type that is this word, if it was read before.
    pub(super) fn word(&self, word: &str) -> Option<&Type> {
        self.words.get(word)
    }

    /// Remembers the type that is a word.
    pub(super) fn set_word(&mut self, word: &'s str, ty: &Type) {
        self.words.insert(word, ty.clone());
    }

    /// The attribute of `text`: the first one read, or `attribute`.
    pub(super) fn attribute(&mut self, text: &'s str, attribute: Attribute) -> Attribute {
        let number = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        if text.len() > if number { SHARED_NUMBER } else { SHARED_TEXT } {
            return attribute;
        }
        if let Some(known) = self.attributes.get(text) {
            return known.clone();
        }
        if self.attributes.len() < SHARED_ATTRIBUTES {
            self.attributes.insert(text, attribute.clone());
        }
        attribute
    }

    /// What the end of a line has, if it was kept.
    pub(super) fn tail(&self, line: &str, hash: TailHash) -> Option<&Tail> {
        if self.tails.hashes.get(hash.place()) != Some(&hash.0) {
            return None;
        }
        let (known, tail) = self.tails.kept.get(hash.place())?.as_ref()?;
        (*known == line).then_some(tail)
    }

    /// Remembers the end of a line.
    pub(super) fn add_tail(&mut self, line: &'s str, hash: TailHash, tail: impl FnOnce() -> Tail) {
        if self.tails.hashes.is_empty() {
            self.tails.hashes.resize(TAILS, 0);
            self.tails.kept.resize_with(TAILS, || None);
        }
        let noted = std::mem::replace(&mut self.tails.hashes[hash.place()], hash.0);
        if noted == hash.0 {
            self.tails.kept[hash.place()] = Some((line, tail()));
        }
    }

    /// The function type that is all of `rest`, the text up to the end of the line, if it has been read before.
    pub(super) fn line_end(&self, rest: &str) -> Option<&Type> {
        self.line_ends.get(rest)
    }

    /// Remembers that `rest`, the text up to the end of a line, is function type `ty`.
    pub(super) fn set_line_end(&mut self, rest: &'s str, ty: &Type) {
        self.line_ends.insert(rest, ty.clone());
    }
}
