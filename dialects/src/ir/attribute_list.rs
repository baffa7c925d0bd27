//! The attributes of an op. Ops repeat each other's, so a list is shared until one of its owners changes it.

use std::ops::Deref;

use triomphe::ThinArc;

use super::attribute::Attribute;
use super::name::Name;

/// Attributes by name, in the order they were written or set; each name once. Clones share.
#[derive(Debug, Clone)]
pub struct AttributeList(Holder);

#[derive(Debug, Clone)]
enum Holder {
    Own(Vec<(Name, Attribute)>),
    Shared(Shared),
}

/// A pointer of one word to the list and its length.
type Shared = ThinArc<(), (Name, Attribute)>;

/// A list as an op keeps it; most ops of some dialects have none.
#[derive(Debug, Clone, Default)]
pub(super) struct StoredAttributes(Option<Shared>);

impl Deref for StoredAttributes {
    type Target = [(Name, Attribute)];

    fn deref(&self) -> &Self::Target {
        self.0.as_ref().map_or(&[], |list| &list.slice)
    }
}

fn shared(list: Vec<(Name, Attribute)>) -> Shared {
    ThinArc::from_header_and_iter((), list.into_iter())
}

impl AttributeList {
    /// Adds an attribute of a name that is not in the list.
    pub fn push(&mut self, entry: (Name, Attribute)) {
        self.make_own().push(entry);
    }

    /// Gives the attribute of that name this value, or adds it.
    pub(super) fn set(&mut self, name: Name, value: Attribute) {
        let list = self.make_own();
        match list.iter_mut().find(|(key, _)| *key == name) {
            Some((_, known)) => *known = value,
            None => list.push((name, value)),
        }
    }

    /// Keeps the attributes for which `keep` holds.
    pub fn retain(&mut self, keep: impl FnMut(&(Name, Attribute)) -> bool) {
        self.make_own().retain(keep);
    }

    pub(super) fn into_stored(self) -> StoredAttributes {
        match self.0 {
            Holder::Own(list) => StoredAttributes((!list.is_empty()).then(|| shared(list))),
            Holder::Shared(list) => StoredAttributes((!list.slice.is_empty()).then_some(list)),
        }
    }

    pub(super) fn from_stored(stored: StoredAttributes) -> Self {
        stored.0.map_or_else(Self::default, |list| Self(Holder::Shared(list)))
    }

    fn make_own(&mut self) -> &mut Vec<(Name, Attribute)> {
        if let Holder::Shared(list) = &self.0 {
            self.0 = Holder::Own(list.slice.to_vec());
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
            Holder::Shared(list) => &list.slice,
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
        Self(Holder::Shared(shared(entries.into_iter().collect())))
    }
}

impl Extend<(Name, Attribute)> for AttributeList {
    fn extend<I: IntoIterator<Item = (Name, Attribute)>>(&mut self, entries: I) {
        self.make_own().extend(entries);
    }
}
