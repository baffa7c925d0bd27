//! `ipu explain CODE`: the page of an error code.

use clap::Args;

use crate::exit::{Exit, Failure};
use crate::explain::explain;
use crate::files::write_standard_output;

/// Prints what an error code means, with an example that fails and one that is mended.
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// The code, such as `E0201`, or `list` for all of them.
    code: String,
}

/// Runs the subcommand.
///
/// # Errors
/// There is no such code.
pub fn run(arguments: &ExplainArguments) -> Result<Exit, Failure> {
    write_standard_output(explain(&arguments.code)?.as_bytes())?;
    Ok(Exit::Ok)
}
