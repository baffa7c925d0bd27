//! Packages: what is read keeps the rules, is written as the same package, can be shown, and what is lifted can be built again.

use ipu_device::package::{Package, PackageError};
use ipu_dialects::ir::Module;
use ipu_dialects::printer::print_module;
use ipu_dialects::tile::TileProgram;
use ipu_dialects::tile::ops::ProgramOp;
use ipu_passes::{build_package, lift_package};

use super::{Broken, Seen, difference, ir};
use crate::commands::inspect::everything;
use crate::exit::{Exit, Failure};
use crate::package_file::package_of;

/// Reads `bytes` as a package of ours, else as one of another compiler.
///
/// # Errors
/// A property broke.
pub fn check(bytes: &[u8]) -> Result<Seen, Broken> {
    let mut seen = Seen::default();
    for foreign in [false, true] {
        match package_of("input.ipuexe", bytes, foreign) {
            Err(failure) => seen.refused(&failure),
            Ok(package) => {
                seen.accepted = true;
                written_again(&package)?;
                let _ = everything(&package);
                lifted(&package, &mut seen)?;
                break;
            }
        }
    }
    Ok(seen)
}

fn written_again(package: &Package) -> Result<(), Broken> {
    let broken = |error: PackageError| Broken::new("a package is written as it was read", error.to_string());
    package.validate().map_err(broken)?;
    let again = match package.footer {
        Some(_) => package.to_bytes().and_then(|bytes| Package::from_bytes(&bytes)),
        None => package.message_bytes().and_then(|bytes| Package::from_foreign_bytes(&bytes)),
    };
    if again.map_err(broken)? == *package {
        return Ok(());
    }
    Err(Broken::new("a package is written as it was read", "it became another"))
}

/// The text of a package reads back, and the package that is built of it has the same text.
fn lifted(package: &Package, seen: &mut Seen) -> Result<(), Broken> {
    let module = match lift_package::module(package) {
        Ok(module) => module,
        Err(error) => {
            seen.refused(&Failure::new(Exit::Input, error.code, error.message));
            return Ok(());
        }
    };
    ir::survives(module.clone())?;
    const PROPERTY: &str = "a lifted package can be built again";
    let broken = |how: String| Broken::new(PROPERTY, how);
    let built = built(&module).map_err(broken)?;
    let again = lift_package::module(&built).map_err(|error| broken(error.to_string()))?;
    let (first, second) = (print_module(&module), print_module(&again));
    if first == second { Ok(()) } else { Err(broken(difference(&first, &second))) }
}

/// The package of the one tile program of `module`.
fn built(module: &Module) -> Result<Package, String> {
    let program = module.direct_children(module.root()).find(|&op| module.is::<ProgramOp>(op));
    let program = program.ok_or("there is no program")?;
    let program = TileProgram::read(module, program).map_err(|findings| findings.render(&module.sources))?;
    build_package::build(module, &program).map_err(|error| error.to_string())
}
