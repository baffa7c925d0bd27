//! The attributes of an op. Ops repeat each other's, so a list is shared until one of its owners changes it.

use std::ops::Deref;
use std::sync::Arc;

use super::attribute::Attribute;
use super::name::Name;

/// Attributes by name, in the order they were written or set; each name once. Clones share.
#[derive(Debug, Clone)]
pub struct AttributeList(Holder);

#[derive(Debug, Clone)]
enum Holder {
    Own(Vec<(Name, Attribute)>),
    Shared(Arc<[(Name, Attribute)]>),
}

/// A list as an op keeps it; most ops of some dialects have none.
pub(super) type StoredAttributes = Option<Arc<[(Name, Attribute)]>>;

impl AttributeList {
    /// Adds an attribute of a name that is not in the list.
    pub fn push(&mut self, entry: (Name, Attribute)) {
        self.make_own().push(entry);
    }

    /// Keeps the attributes for which `keep` holds.
    pub fn retain(&mut self, keep: impl FnMut(&(Name, Attribute)) -> bool) {
        self.make_own().retain(keep);
    }

    pub(super) fn into_stored(self) -> StoredAttributes {
        match self.0 {
            Holder::Own(list) => (!list.is_empty()).then(|| list.into()),
            Holder::Shared(list) => (!list.is_empty()).then_some(list),
        }
    }

    pub(super) fn from_stored(stored: StoredAttributes) -> Self {
        stored.map_or_else(Self::default, |list| Self(Holder::Shared(list)))
    }

    fn make_own(&mut self) -> &mut Vec<(Name, Attribute)> {
        if let Holder::Shared(list) = &self.0 {
            self.0 = Holder::Own(list.to_vec());
        }
        match &mut self.0 {
            Holder::Own(list) => list,
            Holder::Shared(_) => unreachable!("internal bug: a list is its owner's and shared"),
        }
    }
}

impl Default for AttributeList {
    fn default() -> Self {
        Self(Holder::Own(Vec::new()))
    }
}

impl Deref for AttributeList {
    type Target = [(Name, Attribute)];

    fn deref(&self) -> &Self::Target {
        match &self.0 {
            Holder::Own(list) => list,
            Holder::Shared(list) => list,
        }
    }
}

impl From<Vec<(Name, Attribute)>> for AttributeList {
    fn from(list: Vec<(Name, Attribute)>) -> Self {
        Self(Holder::Own(list))
    }
}

impl FromIterator<(Name, Attribute)> for AttributeList {
    /// A list that clones share.
    fn from_iter<I: IntoIterator<Item = (Name, Attribute)>>(entries: I) -> Self {
        Self(Holder::Shared(entries.into_iter().collect()))
    }
}

impl Extend<(Name, Attribute)> for AttributeList {
    fn extend<I: IntoIterator<Item = (Name, Attribute)>>(&mut self, entries: I) {
        self.make_own().extend(entries);
    }
}
