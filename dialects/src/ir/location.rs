//! Where an op comes from: its place in a text, and the graph op and passes that asked for it.
//!
//! An op's *span* is its place in the text it was parsed from. An explicit [`Location`] (`loc(...)`) is set by
//! hand-written text or by a pass. An [`Origin`] is separate: the path of the graph op it was made for and the
//! passes it went through. In text an origin is the metadata of a fused location, so MLIR reads it:
//!
//! ```text
//! loc(fused<#ipu.origin<"main/c", ["select-plans", "expand-plans"]>>["gemm.ir":4:3])
//! ```

use std::fmt;
use std::sync::Arc;

use super::attribute::Attribute;
use super::name::Name;
use crate::limits::MAX_FUSED_LOCATIONS;

/// A source location; clones share.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Location(triomphe::Arc<LocationKind>);

/// The kinds of location, as in MLIR.
#[derive(Debug, PartialEq, Eq, Hash)]
pub enum LocationKind {
    /// `unknown`
    Unknown,
    /// `"file":line:column`
    File {
        /// Path.
        file: Arc<str>,
        /// Line, from 1.
        line: u32,
        /// Column, from 1.
        column: u32,
    },
    /// `"name"` or `"name"(child)`
    Name {
        /// The name.
        name: Arc<str>,
        /// What is named.
        child: Option<Location>,
    },
    /// `fused<metadata>[...]`
    Fused {
        /// An attribute for all of them.
        metadata: Option<Attribute>,
        /// The fused locations.
        locations: Vec<Location>,
    },
    /// `callsite(callee at caller)`
    CallSite {
        /// Where the callee is.
        callee: Location,
        /// Where it is called.
        caller: Location,
    },
}

impl Location {
    /// A location of that kind.
    #[must_use]
    pub fn new(kind: LocationKind) -> Self {
        Self(triomphe::Arc::new(kind))
    }

    /// `unknown`
    #[must_use]
    pub fn unknown() -> Self {
        Self::new(LocationKind::Unknown)
    }

    /// `"file":line:column`
    #[must_use]
    pub fn file(file: Arc<str>, line: u32, column: u32) -> Self {
        Self::new(LocationKind::File { file, line, column })
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> &LocationKind {
        &self.0
    }

    /// The different known ones of `parts` as one location, at most [`MAX_FUSED_LOCATIONS`] of them.
    #[must_use]
    pub fn fused(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut kept: Vec<Self> = Vec::new();
        for part in parts {
            if *part.kind() != LocationKind::Unknown
                && kept.len() < MAX_FUSED_LOCATIONS
                && !kept.contains(&part)
            {
                kept.push(part);
            }
        }
        match kept.len() {
            0 => Self::unknown(),
            1 => kept.swap_remove(0),
            _ => Self::new(LocationKind::Fused { metadata: None, locations: kept }),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What an op was made for: the path of a graph op and the passes it went through, in order.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Origin(Arc<OriginNode>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct OriginNode {
    path: Box<str>,
    passes: Vec<Name>,
}

impl Origin {
    /// An origin at the graph op with path `path` (function and value name, as in `main/c`).
    #[must_use]
    pub fn new(path: &str, passes: Vec<Name>) -> Self {
        Self(Arc::new(OriginNode { path: path.into(), passes }))
    }

    /// Path of the graph op.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// The passes, first one first.
    #[must_use]
    pub fn passes(&self) -> &[Name] {
        &self.0.passes
    }

    /// The origin of something that pass `pass` makes from this.
    #[must_use]
    pub fn through(&self, pass: Name) -> Self {
        if self.0.passes.last() == Some(&pass) {
            return self.clone();
        }
        let mut passes = self.0.passes.clone();
        passes.push(pass);
        Self::new(&self.0.path, passes)
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
