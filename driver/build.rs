//! Makes the table of error pages from `docs/errors`, so that `--explain` needs no files beside the program.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/errors").canonicalize()?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut pages: Vec<PathBuf> =
        std::fs::read_dir(&folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    let mut table = String::from("&[\n");
    for path in pages {
        let code = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if code != "README" {
            let _ = writeln!(table, "    ({code:?}, include_str!({:?})),", path.display().to_string());
        }
    }
    table.push(']');
    let out = std::env::var_os("OUT_DIR").unwrap_or_default();
    std::fs::write(Path::new(&out).join("error_pages.rs"), table)
}
