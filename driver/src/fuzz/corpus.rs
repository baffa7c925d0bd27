//! What a campaign starts from: saved files, the programs of the repository, packages built of tile programs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ipu_device::PhysicalTile;
use ipu_device::package::Package;
use ipu_passes::build_package;
use ipu_passes::manager::registry;

use super::Target;
use crate::exit::{DriverCode, Exit, Failure};
use crate::files::read_bytes;
use crate::load::{LoadOptions, load};
use crate::selftest::passes;

/// Where saved inputs are: a folder a target.
const SAVED: &str = "driver/tests/fuzz";
/// Where programs are, and pages with programs in them.
const PROGRAMS: [&str; 3] = ["test-ir", "lit", "docs"];
/// Tile programs that packages are built of.
const BUILT: [&str; 1] = ["test-ir/example/gemm-tile.ir"];
/// Longest program that is taken; damage to a longer one would show the same, later.
const LONGEST: usize = 40 << 10;

/// The inputs that a campaign of `target` starts from, with their names, in a fixed order; `root` is the repository.
///
/// # Errors
/// A file or folder cannot be read, or no package can be built of a program.
pub fn seeds(target: Target, root: &Path) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let named = |path: PathBuf| -> Result<(String, Vec<u8>), Failure> {
        let bytes = read_bytes(&path)?;
        Ok((path.strip_prefix(root).unwrap_or(&path).display().to_string(), bytes))
    };
    let saved = files_below(&root.join(SAVED).join(target.name()))?.into_iter();
    let mut seeds: Vec<_> = saved.map(named).collect::<Result<_, _>>()?;
    match target {
        Target::Ir => {
            for folder in PROGRAMS {
                for path in files_below(&root.join(folder))? {
                    seeds.extend(programs(named(path)?));
                }
            }
        }
        Target::Pipeline => seeds.extend(pipelines()),
        Target::Package => {
            for name in BUILT {
                seeds.extend(packages(name, &root.join(name))?);
            }
        }
    }
    Ok(seeds)
}

/// All files below a folder, in order of their paths.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: std::io::Error| {
        let message =
            format!("cannot read `{}`: {error}; run it in the root of the repository", folder.display());
        Failure::new(Exit::Input, DriverCode::Unreadable, message)
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            paths.extend(files_below(&path)?);
        } else {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The programs in a file: itself, or the blocks of a page.
fn programs((name, bytes): (String, Vec<u8>)) -> Vec<(String, Vec<u8>)> {
    if name.ends_with(".md") {
        let page = String::from_utf8_lossy(&bytes);
        let blocks = page.split("```ir\n").skip(1).filter_map(|rest| rest.split("```").next());
        return blocks.map(|block| (name.clone(), block.as_bytes().to_vec())).collect();
    }
    let taken = name.ends_with(".ir") && bytes.len() <= LONGEST;
    taken.then_some((name, bytes)).into_iter().collect()
}

/// A pipeline of all passes, and each pass with its options as they are if nothing is said.
fn pipelines() -> Vec<(String, Vec<u8>)> {
    let names: Vec<&str> = registry::all().iter().map(|info| info.name).collect();
    let one = registry::all().iter().map(|info| {
        let defaults = (info.defaults)();
        let options = defaults.as_object().into_iter().flatten();
        let options: Vec<String> = options.map(|(key, value)| format!("{key}={value}")).collect();
        (info.name.to_owned(), format!("{}{{{}}}", info.name, options.join(" ")).into_bytes())
    });
    one.chain([("all passes".to_owned(), names.join(",").into_bytes())]).collect()
}

/// The package of a tile program, and the same without tiles that nothing is bound to, so that damage often falls on structure.
fn packages(name: &str, path: &Path) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let refused = |what: String| {
        Failure::new(Exit::Internal, DriverCode::Internal, format!("no package of `{name}`: {what}"))
    };
    let (mut module, _) = load(&path.display().to_string(), LoadOptions::default())?;
    let built = passes(&mut module, build_package::INFO.name).map_err(refused)?;
    let whole = built.and_then(|artifacts| artifacts.package);
    let whole = whole.ok_or_else(|| refused("the pass made none".to_owned()))?;
    let bound: BTreeSet<PhysicalTile> =
        whole.bindings().flat_map(|(_, binding)| &binding.slices).map(|slice| slice.tile).collect();
    let mut few = whole.clone();
    few.tiles.retain(|image| bound.contains(&image.tile));
    let bytes = |package: &Package| package.to_bytes().map_err(|error| refused(error.to_string()));
    Ok(vec![(name.to_owned(), bytes(&whole)?), (format!("{name}, few tiles"), bytes(&few)?)])
}
