//! What the footer of a package says of the program: names of sections, bindings as the text has them, the rest of the file.

use std::sync::Arc;

use ipu_device::PhysicalTile;
use ipu_dialects::ir::{Attribute, Module, Name, OpId};
use ipu_dialects::printer::op_text;
use ipu_dialects::tile::{Body, Section, TileProgram};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Who made a package.
pub(super) fn version() -> String {
    concat!("ipu-compiler ", env!("CARGO_PKG_VERSION")).to_owned()
}

/// What a segment is in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SectionKind {
    /// `tile.row`
    Row,
    /// `tile.code`
    Code,
    /// `tile.data`
    Data,
    /// `tile.kernel`
    Kernel,
}

impl SectionKind {
    pub(super) fn of(section: &Section) -> Self {
        match section.body {
            Body::Row(_) => Self::Row,
            Body::Code(_) => Self::Code,
            Body::Data(_) => Self::Data,
        }
    }
}

/// A binding as the text has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindingRecord {
    /// The tensor type with its layout.
    pub ty: String,
    /// Attributes with a dialect prefix: name and value as text.
    pub attributes: Vec<(String, String)>,
}

/// The footer's account of a program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Record {
    /// Symbol of the program.
    pub program: String,
    /// Its attributes: name and value as text.
    #[serde(default)]
    pub attributes: Vec<(String, String)>,
    /// Bindings by name. They stand in the footer's own field.
    #[serde(skip)]
    pub bindings: Vec<(String, BindingRecord)>,
    /// By the least physical tile of each distinct image: kind and name of its segments in order of address.
    #[serde(default)]
    pub images: Vec<(u16, Vec<(SectionKind, String)>)>,
    /// Symbols of sections that stand in the program and not in images.
    #[serde(default)]
    pub common: Vec<String>,
    /// The rest of the file: the reference, say.
    #[serde(default)]
    pub rest: String,
}

impl Record {
    pub(super) fn of(module: &Module, program: &TileProgram, images: Vec<super::ImageNames>) -> Self {
        let names = |names: Vec<(SectionKind, Arc<str>)>| {
            names.into_iter().map(|(kind, name)| (kind, name.to_string())).collect()
        };
        let bindings = program.bindings.iter().map(|binding| {
            let ty = Attribute::ty(binding.ty.clone()).to_string();
            (binding.name.clone(), BindingRecord { ty, attributes: texts(&binding.attributes) })
        });
        Self {
            program: program.name.clone(),
            attributes: texts(&program.attributes),
            bindings: bindings.collect(),
            images: images.into_iter().map(|(tile, list)| (tile.physical().0, names(list))).collect(),
            common: program.common.iter().map(|section| section.symbol.to_string()).collect(),
            rest: program.op.map_or_else(String::new, |op| rest_of_file(module, op)),
        }
    }

    pub(super) fn layouts(&self) -> Map<String, Value> {
        let value = |record: &BindingRecord| serde_json::to_value(record).unwrap_or_default();
        self.bindings.iter().map(|(name, record)| (name.clone(), value(record))).collect()
    }

    pub(super) fn origins(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The account in a footer; an empty one if there is none.
    #[must_use]
    pub fn read(footer: &ipu_device::package::Footer) -> Self {
        let mut record: Self = serde_json::from_value(footer.origins.clone()).unwrap_or_default();
        let bindings = footer
            .binding_layouts
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), serde_json::from_value(value.clone()).ok()?)));
        record.bindings = bindings.collect();
        record
    }

    /// The binding of that name.
    #[must_use]
    pub fn binding(&self, name: &str) -> Option<&BindingRecord> {
        self.bindings.iter().find(|(known, _)| known == name).map(|(_, record)| record)
    }

    /// Kinds and names of the segments of the image whose least tile is `first`.
    #[must_use]
    pub fn names(&self, first: PhysicalTile) -> Option<&[(SectionKind, String)]> {
        self.images.iter().find(|(tile, _)| *tile == first.0).map(|(_, names)| names.as_slice())
    }
}

fn texts(attributes: &[(Name, Attribute)]) -> Vec<(String, String)> {
    attributes.iter().map(|(name, value)| (name.as_str().to_owned(), value.to_string())).collect()
}

/// The top-level ops of the module, the program apart, as text.
fn rest_of_file(module: &Module, program: OpId) -> String {
    let others = module.direct_children(module.root()).filter(|&op| op != program);
    others.map(|op| op_text(module, op) + "\n").collect()
}
