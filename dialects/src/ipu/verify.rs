//! What attributes `ipu.*` may say, on whatever op they stand.
//!
//! `ipu.tiles` of any op is a number of tiles that the device has. Of a function's arguments and results `ipu.kind` is
//! `"input"` or `"weight"`, `ipu.name` is a string, and names differ.

use ipu_device::hash::HashMap;
use ipu_device::topology::TILE_COUNT;

use crate::case::function_parts;
use crate::codes::VerifyCode;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::ir::{Module, OpId};

/// Number of tiles that a program may use.
const TILES: &str = "ipu.tiles";
/// Whether an argument enters with every call or once.
const KIND: &str = "ipu.kind";
const KINDS: &[&str] = &["input", "weight"];
/// The name of what enters or leaves.
const NAME: &str = "ipu.name";

fn refuse(module: &Module, op: OpId, message: String) -> Diagnostic {
    Diagnostic::error(VerifyCode::AttributeConstraint, module.span(op), message)
}

/// The attributes of `op` itself.
pub(crate) fn attributes(module: &Module, op: OpId, diagnostics: &mut Diagnostics) {
    let Some(tiles) = module.attribute(op, TILES) else { return };
    if tiles.as_i64().is_none_or(|tiles| !(1..=i64::from(TILE_COUNT)).contains(&tiles)) {
        let name = module.name(op);
        let message = format!(
            "attribute `{TILES}` of `{name}` must be a number of tiles, 1 to {TILE_COUNT}, not `{tiles}`"
        );
        diagnostics.push(refuse(module, op, message));
    }
}

/// The attributes of the arguments and results of a function.
pub(crate) fn signature(module: &Module, function: OpId, diagnostics: &mut Diagnostics) {
    let (arguments, results) = function_parts(module, function);
    let mut named: HashMap<&str, String> = HashMap::default();
    let places = (0..arguments.len()).map(|index| format!("argument {index}"));
    let places = places.chain((0..results.len()).map(|index| format!("result {index}")));
    for (part, place) in arguments.iter().chain(&results).zip(places) {
        let name = module.name(function);
        if let Some(value) = part.attribute(NAME).filter(|value| value.as_str().is_none()) {
            let message =
                format!("attribute `{NAME}` of {place} of `{name}` must be a string, not `{value}`");
            diagnostics.push(refuse(module, function, message));
        }
        let kind =
            part.attribute(KIND).filter(|kind| kind.as_str().is_none_or(|kind| !KINDS.contains(&kind)));
        if let Some(kind) = kind {
            let message = format!(
                "attribute `{KIND}` of {place} of `{name}` must be `\"input\"` or `\"weight\"`, not `{kind}`"
            );
            let near = diagnostics.nearest(kind.as_str().unwrap_or_default(), KINDS.iter().copied());
            let error = refuse(module, function, message);
            diagnostics.push(match near {
                Some(near) => error.note(format!("did you mean `\"{near}\"`?")),
                None => error,
            });
        }
        if let Some(other) = named.insert(&part.name, place.clone()) {
            let message = format!(
                "{other} and {place} of `{name}` are both called `{}`; give one another `{NAME}`",
                part.name
            );
            let code = VerifyCode::DuplicateSymbol;
            diagnostics.push(Diagnostic::error(code, module.span(function), message));
        }
    }
}
