//! Package files: reading them with clear errors.

use std::path::Path;

use ipu_device::package::Package;

use crate::exit::{Exit, Failure};
use crate::files::read_bytes;

/// What the name of a package ends in.
pub const EXTENSION: &str = "ipuexe";

/// Whether `path` names a package rather than a text.
#[must_use]
pub fn is_package(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == EXTENSION)
}

/// Reads a package; `foreign` takes one without our footer.
///
/// # Errors
/// The file is unreadable, damaged, or of another compiler.
pub fn read_package(path: &str, foreign: bool) -> Result<Package, Failure> {
    let package = package_of(path, &read_bytes(Path::new(path))?, foreign)?;
    tracing::info!(tiles = package.tiles.len(), compiler_version = package.compiler_version, "package read");
    Ok(package)
}

/// The package that the bytes of a file called `name` are; `foreign` takes one without our footer.
///
/// # Errors
/// They are damaged, or of another compiler.
pub fn package_of(name: &str, bytes: &[u8], foreign: bool) -> Result<Package, Failure> {
    let package = if foreign { Package::from_foreign_bytes(bytes) } else { Package::from_bytes(bytes) };
    package.map_err(|error| Failure::new(Exit::Input, error.code, format!("`{name}`: {error}")))
}
