//! Interned names of ops, attributes, dialects and passes.
//!
//! A name lives as long as the process: there are few distinct ones. Symbols, values and strings of a program
//! are not names.

use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use ipu_device::hash::HashSet;

/// An interned name; copies are free and order is that of the text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(&'static str);

static INTERNED: OnceLock<Mutex<HashSet<&'static str>>> = OnceLock::new();

impl Name {
    /// A name known at compile time.
    #[must_use]
    pub const fn of(text: &'static str) -> Self {
        Self(text)
    }

    /// The name with this text.
    #[must_use]
    pub fn intern(text: &str) -> Self {
        let table = INTERNED.get_or_init(Mutex::default);
        let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&known) = table.get(text) {
            return Self(known);
        }
        let leaked: &'static str = Box::leak(text.into());
        table.insert(leaked);
        Self(leaked)
    }

    /// The text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// What stands before the first dot: the dialect of an op, type or attribute; `None` without a dot.
    #[must_use]
    pub fn dialect(self) -> Option<&'static str> {
        self.0.split_once('.').map(|(dialect, _)| dialect)
    }
}

/// Equal names hash as their texts do.
impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self.0
    }
}

impl From<&'static str> for Name {
    fn from(text: &'static str) -> Self {
        Self(text)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}
