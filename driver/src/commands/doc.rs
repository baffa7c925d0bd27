//! `ipu doc`: the reference, generated from the declarations.

use std::path::PathBuf;

use clap::Args;
use ipu_device::assumptions;
use ipu_dialects::declaration::dialect_markdown;
use ipu_dialects::registry::Registry;

use crate::exit::{DriverCode, Exit, Failure};
use crate::files::{write_standard_output, write_whole};

/// Prints the reference of a dialect, or the list of assumptions about the chip.
#[derive(Debug, Args)]
pub struct DocArguments {
    /// The dialect.
    dialect: Option<String>,
    /// List what is assumed where sources about the chip disagree.
    #[arg(long)]
    assumptions: bool,
    /// Write the page of every dialect into this folder.
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
}

/// Runs the subcommand.
///
/// # Errors
/// No dialect has that name, or a page cannot be written.
pub fn run(arguments: &DocArguments) -> Result<Exit, Failure> {
    if let Some(folder) = &arguments.write {
        for dialect in Registry::standard().dialects() {
            let page = folder.join(format!("{}.md", dialect.name));
            write_whole(&page, dialect_markdown(dialect).as_bytes())?;
        }
        return Ok(Exit::Ok);
    }
    let text = if arguments.assumptions {
        assumptions::ALL
            .iter()
            .map(|entry| format!("{}: {}\n    {}\n", entry.name, entry.choice, entry.sources))
            .collect()
    } else {
        let names = Registry::standard().dialects().iter().map(|dialect| dialect.name);
        let names = names.collect::<Vec<_>>().join("`, `");
        let Some(name) = &arguments.dialect else {
            let message = format!("name a dialect (`{names}`) or give `--assumptions`");
            return Err(Failure::new(Exit::Input, DriverCode::Usage, message));
        };
        let Some(dialect) = Registry::standard().dialect(name) else {
            let message = format!("no dialect `{name}`; there are `{names}`");
            return Err(Failure::new(Exit::Input, DriverCode::Usage, message));
        };
        dialect_markdown(dialect)
    };
    write_standard_output(text.as_bytes())?;
    Ok(Exit::Ok)
}
