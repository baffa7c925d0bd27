//! Locations, and the table of them at the end of a text.

use super::Printer;
use crate::ipu::OriginAttribute;
use crate::ir::{Attribute, Location, LocationKind, OpId, ValueId, ValueSource};

impl Printer<'_> {
    /// What stands between `loc(` and `)`.
    pub(super) fn location_body(&mut self, location: &Location) {
        match location.kind() {
            LocationKind::Unknown => self.text("unknown"),
            LocationKind::File { file, line, column } => {
                self.string(file.as_bytes());
                self.display(format_args!(":{line}:{column}"));
            }
            LocationKind::Name { name, child } => {
                self.string(name.as_bytes());
                if let Some(child) = child {
                    self.text("(");
                    self.location_body(child);
                    self.text(")");
                }
            }
            LocationKind::Fused { metadata, locations } => {
                self.text("fused");
                if let Some(metadata) = metadata {
                    self.text("<");
                    self.attribute(metadata);
                    self.text(">");
                }
                self.text("[");
                self.list(locations, ", ", Self::location_body);
                self.text("]");
            }
            LocationKind::CallSite { callee, caller } => {
                self.text("callsite(");
                self.location_body(callee);
                self.text(" at ");
                self.location_body(caller);
                self.text(")");
            }
        }
    }

    /// The location to print for an op: its explicit one with its origin; in generic form that of every op.
    fn printed_location(&self, op: OpId) -> Option<Location> {
        let module = self.module();
        let origin = module.origin(op);
        let wanted = self.options.generic || origin.is_some() || module.explicit_location(op).is_some();
        if !self.options.locations || !wanted {
            return None;
        }
        let base = module.location(op);
        let Some(origin) = origin else { return Some(base) };
        let metadata = Some(Attribute::dialect(OriginAttribute(origin.clone())));
        let locations = match base.kind() {
            LocationKind::Fused { metadata: None, locations } if locations.len() != 1 => locations.clone(),
            _ => vec![base],
        };
        Some(Location::new(LocationKind::Fused { metadata, locations }))
    }

    pub(super) fn op_location(&mut self, op: OpId) {
        let Some(location) = self.printed_location(op) else { return };
        self.location(location);
    }

    /// ` loc(...)` of a block argument: in generic form always, as MLIR has it, else where the text gave one.
    pub(super) fn argument_location(&mut self, argument: ValueId) {
        if !self.options.locations {
            return;
        }
        let module = self.module();
        match module.argument_location(argument) {
            Some(location) => self.location(location.clone()),
            None if self.options.generic => {
                let owner = match module.value_source(argument) {
                    ValueSource::Argument { block, .. } => module.block_owner(block),
                    _ => None,
                };
                self.location(owner.map_or_else(Location::unknown, |op| module.location(op)));
            }
            None => {}
        }
    }

    fn location(&mut self, location: Location) {
        if self.options.generic {
            self.text(" loc(");
            self.location_body(&location);
            self.text(")");
            return;
        }
        let (index, _) = self.locations.insert_full(location, ());
        self.display(format_args!(" loc(#loc{index})"));
    }

    pub(super) fn location_table(&mut self) {
        let locations = std::mem::take(&mut self.locations);
        for (index, location) in locations.keys().enumerate() {
            self.display(format_args!("#loc{index} = loc("));
            self.location_body(location);
            self.text(")\n");
        }
    }
}
