//! Two modules aligned by what their ops are, not by where they stand in the text: symbols, names of values, origins.
//!
//! An op is known by its name, its symbol or value, or else its origin and place among its like, inside the op that holds it. What
//! differs is said in the terms of the dialect: fields of layouts, values of columns, addresses.

use indexmap::IndexMap;
use ipu_dialects::ir::{Attribute, AttributeKind, Module, OpId, Type};
use ipu_dialects::mapped::layout::Layout;
use serde::Serialize;

/// Characters of a value that are shown.
const WIDTH: usize = 100;

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The op.
    pub op: String,
    /// What of it differs.
    pub what: String,
    /// In the first module; nothing if it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// In the second module.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl Difference {
    /// One line.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { op, what, before, after } = self;
        match (before, after) {
            (Some(before), Some(after)) => format!("{op}: {what} {before} -> {after}"),
            (Some(before), None) => format!("{op}: {what} {before} gone"),
            (None, Some(after)) => format!("{op}: {what} {after} new"),
            (None, None) => format!("{op}: {what}"),
        }
    }
}

/// What differs between two modules, in order of the first, then what only the second has.
#[must_use]
pub fn differences(before: &Module, after: &Module) -> Vec<Difference> {
    let (old, new) = (by_identity(before), by_identity(after));
    let mut found = Vec::new();
    for (identity, &op) in &old {
        match new.get(identity) {
            Some(&other) => compare((before, op), (after, other), identity, &mut found),
            None => found.push(whole(identity, "op only in the first")),
        }
    }
    let only_new = new.keys().filter(|identity| !old.contains_key(*identity));
    found.extend(only_new.map(|identity| whole(identity, "op only in the second")));
    order(&old, &new, &mut found);
    found
}

fn whole(identity: &str, what: &str) -> Difference {
    Difference { op: identity.to_owned(), what: what.to_owned(), before: None, after: None }
}

/// Ops of both that stand in another order.
fn order(old: &IndexMap<String, OpId>, new: &IndexMap<String, OpId>, found: &mut Vec<Difference>) {
    let mut last: Option<(usize, &String)> = None;
    for identity in old.keys() {
        let Some(place) = new.get_index_of(identity) else { continue };
        if let Some((before, earlier)) = last.filter(|(before, _)| place < *before) {
            let what = format!("stands before {earlier}, in the first behind it");
            found.push(whole(identity, &what));
            last = Some((before, earlier));
        } else {
            last = Some((place, identity));
        }
    }
}

/// Every op by its identity, in order of the text.
fn by_identity(module: &Module) -> IndexMap<String, OpId> {
    let mut all: IndexMap<String, OpId> = IndexMap::new();
    let mut identities: ipu_device::hash::HashMap<OpId, String> = ipu_device::hash::HashMap::default();
    for op in module.walk(module.root()).filter(|&op| op != module.root()) {
        let parent = module.parent_block(op).and_then(|block| module.block_owner(block));
        let inside = parent.and_then(|parent| identities.get(&parent)).map(|parent| format!("{parent} / "));
        let value = module.results(op).first().and_then(|&value| module.value_name(value));
        let symbol = module.symbol_name(op).map(|symbol| format!(" @{symbol}"));
        let own = symbol.or_else(|| value.map(|value| format!(" %{value}")));
        let own = own.unwrap_or_else(|| {
            if let Some(tiles) =
                module.attribute(op, "tiles").filter(|_| module.name(op).as_str() == "tile.image")
            {
                return format!(" on {}", cut(&tiles.to_string()));
            }
            let origin = module.origin(op).map(|origin| format!(" of {}", origin.path()));
            origin.unwrap_or_default()
        });
        let name = format!("{}{}{own}", inside.unwrap_or_default(), module.name(op));
        let mut identity = name.clone();
        let mut number = 1;
        while all.contains_key(&identity) {
            number += 1;
            identity = format!("{name} #{number}");
        }
        identities.insert(op, identity.clone());
        all.insert(identity, op);
    }
    all
}

fn compare(
    (before, op): (&Module, OpId),
    (after, other): (&Module, OpId),
    identity: &str,
    found: &mut Vec<Difference>,
) {
    let mut differ = |what: String, before: Option<String>, after: Option<String>| {
        found.push(Difference { op: identity.to_owned(), what, before, after });
    };
    let operands = |module: &Module, op: OpId| -> Vec<String> {
        module.operands(op).iter().map(|&value| module.value_text(value)).collect()
    };
    let (old, new) = (operands(before, op), operands(after, other));
    if old != new {
        differ("operands".into(), Some(old.join(", ")), Some(new.join(", ")));
    }
    let types = |module: &Module, op: OpId| -> Vec<Type> {
        module.results(op).iter().map(|&value| module.value_type(value).clone()).collect()
    };
    for (old, new) in types(before, op).iter().zip(&types(after, other)) {
        compare_types(old, new, &mut differ);
    }
    for (name, old) in before.attributes(op) {
        match after.attribute(other, name.as_str()) {
            Some(new) if new == old => {}
            Some(new) => compare_attributes(name.as_str(), old, new, &mut differ),
            None => differ(name.as_str().to_owned(), Some(cut(&old.to_string())), None),
        }
    }
    for (name, new) in after.attributes(other) {
        if before.attribute(op, name.as_str()).is_none() {
            differ(name.as_str().to_owned(), None, Some(cut(&new.to_string())));
        }
    }
}

type Differ<'d> = dyn FnMut(String, Option<String>, Option<String>) + 'd;

fn compare_types(old: &Type, new: &Type, differ: &mut Differ<'_>) {
    if old == new {
        return;
    }
    if let (Some(old), Some(new)) = (old.as_function(), new.as_function()) {
        let lists = [("argument", &old.inputs, &new.inputs), ("result", &old.results, &new.results)];
        for (kind, old, new) in lists {
            for (number, (old, new)) in old.iter().zip(new).enumerate() {
                let mut of_part =
                    |what: String, before, after| differ(format!("{kind} {number} {what}"), before, after);
                compare_types(old, new, &mut of_part);
            }
            if old.len() != new.len() {
                differ(
                    format!("number of {kind}s"),
                    Some(old.len().to_string()),
                    Some(new.len().to_string()),
                );
            }
        }
        return;
    }
    let layout = |ty: &Type| ty.as_tensor().and_then(|tensor| tensor.encoding_as::<Layout>()).cloned();
    let bare = |ty: &Type| {
        ty.as_tensor().map_or_else(
            || ty.to_string(),
            |tensor| Type::tensor(tensor.shape.clone(), tensor.element.clone(), None).to_string(),
        )
    };
    if bare(old) != bare(new) {
        differ("type".into(), Some(cut(&bare(old))), Some(cut(&bare(new))));
    }
    if let (Some(old), Some(new)) = (layout(old), layout(new)) {
        compare_layouts(&old, &new, differ);
    }
}

fn compare_layouts(old: &Layout, new: &Layout, differ: &mut Differ<'_>) {
    let fields = |layout: &Layout| {
        [
            ("split", format!("{:?}", layout.split)),
            ("grain", format!("{:?}", layout.grain)),
            ("replicas", format!("{:?}", layout.replicas)),
            ("tiles", layout.tiles.to_string()),
            ("order", layout.order.to_string()),
            ("pad", layout.pad.name().to_owned()),
            ("memory", layout.memory.name().to_owned()),
        ]
    };
    for ((name, old), (_, new)) in fields(old).into_iter().zip(fields(new)) {
        if old != new {
            differ(format!("layout {name}"), Some(cut(&old)), Some(cut(&new)));
        }
    }
}

fn compare_attributes(name: &str, old: &Attribute, new: &Attribute, differ: &mut Differ<'_>) {
    if let (AttributeKind::Type(old), AttributeKind::Type(new)) = (old.kind(), new.kind()) {
        compare_types(old, new, differ);
        return;
    }
    if let (Some(old), Some(new)) = (old.as_i64_array(), new.as_i64_array())
        && old.len() == new.len()
        && old.len() > 4
    {
        let mut places = (0..old.len()).filter(|&at| old[at] != new[at]);
        if let Some(first) = places.next() {
            let count = places.count() + 1;
            let what = format!("{name}, {count} of {} values, the first at {first}:", old.len());
            differ(what, Some(old[first].to_string()), Some(new[first].to_string()));
        }
        return;
    }
    differ(name.to_owned(), Some(cut(&old.to_string())), Some(cut(&new.to_string())));
}

/// The start of a value.
fn cut(text: &str) -> String {
    start_of(text, WIDTH)
}

/// The first `width` characters of a text, and dots if there are more.
pub(crate) fn start_of(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
