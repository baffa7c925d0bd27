//! The module around a lifted program: the rest of the file that the footer has, and the origins of sections.

use ipu_device::hash::HashMap;
use ipu_device::package::Package;
use ipu_dialects::diagnostics::Severity;
use ipu_dialects::ir::{InsertionPoint, Module, OpId, Origin};
use ipu_dialects::parser::{ParseOptions, parse_module};
use ipu_dialects::registry::Registry;
use ipu_dialects::tile::TileProgram;
use ipu_dialects::tile::ops::ImageOp;
use ipu_dialects::verifier::{VerifyOptions, verify};

use super::{LiftCode, LiftError, NAME, lift};
use crate::build_package::{Record, SegmentRecord};

/// Name under which the text of the footer appears in messages.
const FOOTER: &str = "<footer>";

/// The module of a package: the program, and what else was in the file that it was built from.
///
/// # Errors
/// [`LiftCode`]
pub fn module(package: &Package) -> Result<Module, LiftError> {
    around(package, &lift(package)?)
}

/// The module around `program`, which was lifted from `package`.
pub(super) fn around(package: &Package, program: &TileProgram) -> Result<Module, LiftError> {
    let record = package.footer.as_ref().map(Record::read).unwrap_or_default();
    let (mut module, findings) =
        parse_module(FOOTER, record.rest.as_str(), ParseOptions::new(Registry::standard()));
    if findings.has_errors() {
        let text = findings.render(&module.sources);
        return Err(LiftError::new(LiftCode::Footer, format!("the rest of the file does not parse: {text}")));
    }
    let behind = module.ops_of(module.body()).nth(record.position);
    let point = behind.map_or(InsertionPoint::BlockEnd(module.body()), InsertionPoint::Before);
    let op = program.emit(&mut module, point, NAME);
    restore_origins(&mut module, op, program, &record);
    if let Err(findings) = verify(&module, VerifyOptions::default()) {
        let first = findings
            .iter()
            .find(|finding| finding.severity == Severity::Error)
            .map(|finding| finding.message.clone());
        return Err(LiftError::new(LiftCode::Inexpressible, first.unwrap_or_default()));
    }
    Ok(module)
}

/// Gives sections and kernels the origins that the footer has for them.
fn restore_origins(module: &mut Module, op: OpId, program: &TileProgram, record: &Record) {
    let of_list = |list: &[SegmentRecord]| -> HashMap<String, Origin> {
        list.iter().filter_map(|segment| Some((segment.name.clone(), segment.origin()?))).collect()
    };
    let shared: HashMap<String, Origin> = record.segments.iter().flat_map(|list| of_list(list)).collect();
    let children: Vec<OpId> = module.direct_children(op).collect();
    let mut images = program.images.iter();
    for child in children {
        if !module.is::<ImageOp>(child) {
            set_origin(module, child, &shared);
            continue;
        }
        let tiles = images.next().map_or(&[][..], |image| &image.tiles);
        let first = tiles.iter().map(|tile| tile.physical()).min();
        let own = of_list(first.and_then(|first| record.segments(first)).unwrap_or(&[]));
        for section in module.direct_children(child).collect::<Vec<_>>() {
            set_origin(module, section, &own);
        }
    }
}

fn set_origin(module: &mut Module, op: OpId, origins: &HashMap<String, Origin>) {
    let origin = module.symbol_name(op).and_then(|name| origins.get(name)).cloned();
    if origin.is_some() {
        module.set_origin(op, origin);
    }
}
