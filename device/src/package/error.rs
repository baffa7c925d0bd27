//! What can be wrong with a package.

use std::fmt;

use crate::coded::Coded;

crate::coded_enum! {
    /// What can be wrong with a package.
    pub enum PackageCode {
        /// The segment table or a segment is cut short or absurd.
        Framing = "D0301", "damaged message framing",
        /// A pointer, text or enum of the message is malformed.
        Message = "D0302", "damaged message",
        /// The message holds more than a device can use, or points to the same bytes too often.
        Limit = "D0303", "package exceeds a limit",
        /// The footer is missing or malformed.
        Footer = "D0304", "missing or wrong footer",
        /// The digest does not match.
        Digest = "D0305", "package digest does not match",
        /// Another version, target or memory size.
        Header = "D0310", "incompatible package header",
        /// There is no tile.
        NoTiles = "D0311", "package without tiles",
        /// A device register is written twice or at a bad offset.
        ConfigWrite = "D0312", "wrong device register write",
        /// A tile is named twice or does not exist.
        Tile = "D0313", "wrong tile",
        /// A segment leaves tile memory or has more data than memory.
        Segment = "D0314", "wrong segment",
        /// Two segments of a tile overlap.
        SegmentOverlap = "D0315", "overlapping segments",
        /// A profile plan names a missing tile or numbers its steps wrongly.
        Profile = "D0316", "wrong profile plan",
        /// A debug symbol or region has no name, no size or no tile.
        Debug = "D0317", "wrong debug record",
        /// A binding has no name of its own or a slice outside its tile.
        Binding = "D0318", "wrong binding",
        /// A page is listed twice or missing.
        HostPage = "D0319", "wrong host page",
        /// A call's batches or slices are inconsistent.
        HostCall = "D0320", "wrong host call",
        /// The package is sound but the loader cannot take it.
        NotLoadable = "D0330", "package cannot be loaded",
    }
}

/// A package that was refused: what is wrong, where, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageError {
    /// The kind.
    pub code: PackageCode,
    /// The part of the package: `tile 3, segment 1`, `call run`, `byte 16`.
    pub at: String,
    /// What is wrong and what was expected.
    pub message: String,
    /// How to mend it, if known.
    pub fix: Option<&'static str>,
}

impl PackageError {
    pub(super) fn new(code: PackageCode, at: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, at: at.into(), message: message.into(), fix: None }
    }

    pub(super) fn fix(mut self, fix: &'static str) -> Self {
        self.fix = Some(fix);
        self
    }
}

impl fmt::Display for PackageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.code.title(), self.at, self.message)?;
        match self.fix {
            Some(fix) => write!(f, "; {fix}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for PackageError {}
