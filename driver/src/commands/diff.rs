//! `ipu diff`: what differs between two stages or two files of one level.

use clap::Args;
use ipu_dialects::case::Level;
use ipu_dialects::ir::Module;
use ipu_passes::manager::state::main_program;

use crate::diff::{Difference, differences};
use crate::exit::{DriverCode, Exit, Failure};
use crate::files::write_standard_output;
use crate::load::{LoadOptions, load};

/// Compares two files by the origin of their ops instead of by lines.
///
/// Says which ops only one has, and of the others which operands, types, layout fields, addresses, times and attributes changed.
#[derive(Debug, Args)]
pub struct DiffArguments {
    /// The first file.
    before: String,
    /// The second file.
    after: String,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
///
/// # Errors
/// A file is refused, or the two are of different levels.
pub fn run(arguments: &DiffArguments) -> Result<Exit, Failure> {
    let read = |path: &str| load(path, LoadOptions::default()).map(|(module, _)| module);
    let (before, after) = (read(&arguments.before)?, read(&arguments.after)?);
    let (old, new) = (level(&before), level(&after));
    if old != new {
        let name = |level: Option<Level>| level.map_or("no program", Level::name);
        let message = format!(
            "`{}` is of level {}, `{}` of {}; only files of one level can be compared",
            arguments.before,
            name(old),
            arguments.after,
            name(new)
        );
        return Err(Failure::new(Exit::Input, DriverCode::Usage, message));
    }
    let found = differences(&before, &after);
    let text = if arguments.json {
        format!("{}\n", serde_json::json!({"differences": found}))
    } else if found.is_empty() {
        "no difference\n".to_owned()
    } else {
        found.iter().map(|difference| difference.text() + "\n").collect()
    };
    write_standard_output(text.as_bytes())?;
    Ok(exit(&found))
}

fn exit(found: &[Difference]) -> Exit {
    if found.is_empty() { Exit::Ok } else { Exit::No }
}

fn level(module: &Module) -> Option<Level> {
    main_program(module).and_then(|op| Level::of(module, op))
}
