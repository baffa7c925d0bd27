//! IR text: what parses can be verified, and each of its printed forms reads back as what was printed.

use ipu_dialects::ir::Module;
use ipu_dialects::parser::parse_module;
use ipu_dialects::printer::{print_generic, print_module};
use ipu_dialects::verifier::{VerifyOptions, verify};

use super::{Broken, Seen, difference};
use crate::commands::fmt::formatted;
use crate::exit::Exit;
use crate::files::decoded;
use crate::load::LoadOptions;

/// Name of the input in messages.
const NAME: &str = "input.ir";

/// Reads `bytes` as IR: as declared, else with undeclared ops, types and attributes.
///
/// # Errors
/// A property broke.
pub fn check(bytes: &[u8]) -> Result<Seen, Broken> {
    let mut seen = Seen::default();
    let text = match decoded(NAME, bytes.to_vec()) {
        Ok(text) => text,
        Err(failure) => {
            seen.refused(&failure);
            return Ok(seen);
        }
    };
    for allow_unregistered in [false, true] {
        let options = LoadOptions { allow_unregistered, ..LoadOptions::default() };
        let (module, findings) = parse_module(NAME, text.clone(), options.parse_options());
        seen.show(&findings, &module.sources);
        if findings.has_errors() {
            continue;
        }
        seen.accepted = true;
        let (Ok((_, verdict)) | Err(verdict)) = verify(&module, VerifyOptions { allow_unregistered });
        seen.show(&verdict, &module.sources);
        formats(&text)?;
        survives(module)?;
        break;
    }
    Ok(seen)
}

/// `ipu fmt` finds no fault of its own: the program, its comments and its text are stable.
fn formats(text: &str) -> Result<(), Broken> {
    let Err(failure) = formatted(NAME, text) else { return Ok(()) };
    let how = failure.diagnostics.render(&failure.sources);
    match failure.exit {
        Exit::Internal => Err(Broken::new("the pretty form is the same program", how)),
        _ => Err(Broken::new("what parses can be formatted", how)),
    }
}

/// The canonical form and the one with explicit locations read back as they were printed.
pub(super) fn survives(mut module: Module) -> Result<(), Broken> {
    again("the generic form prints again", print_generic(&module, true), |module| {
        print_generic(module, true)
    })?;
    module.make_locations_explicit();
    again("the pretty form with locations prints again", print_module(&module), print_module)
}

fn again(property: &'static str, text: String, print: impl Fn(&Module) -> String) -> Result<(), Broken> {
    let options = LoadOptions { allow_unregistered: true, ..LoadOptions::default() };
    let (module, findings) = parse_module(NAME, text.as_str(), options.parse_options());
    if findings.has_errors() {
        return Err(Broken::new(property, findings.render(&module.sources)));
    }
    let printed = print(&module);
    if printed == text { Ok(()) } else { Err(Broken::new(property, difference(&text, &printed))) }
}
