//! `ipu compile`: a file down to a package.

use std::path::{Path, PathBuf};

use clap::Args;
use ipu_passes::manager::State;

use crate::compile::CompileOptions;
use crate::exit::{DriverCode, Exit, Failure};
use crate::files::write_whole;
use crate::load::load;
use crate::pass_options::PassOptions;
use crate::process::command_line;
use crate::render::{DiagnosticFormat, emit};

/// Compiles a file to a package.
#[derive(Debug, Args)]
pub struct CompileArguments {
    /// IR file, or - for standard input.
    file: String,
    /// Package to write; by default the file's name with `.ipuexe`.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    options: CompileOptions,
    #[command(flatten)]
    passes: PassOptions,
}

/// Runs the subcommand.
///
/// # Errors
/// The file is refused, cannot be compiled, or the package cannot be written.
pub fn run(arguments: &CompileArguments) -> Result<Exit, Failure> {
    let CompileArguments { options, passes, .. } = arguments;
    let (mut module, warnings) = load(&arguments.file, options.load_options())?;
    emit(&warnings, &module.sources, DiagnosticFormat::Text);
    let compilation = options.compilation(passes, "ipu compile", Vec::new(), &module, State::Code)?;
    let (run, _) = compilation.run(&mut module)?;
    let Some(mut package) = run.artifacts.package else {
        let message = "the pipeline makes no package; end it with `build-package`";
        return Err(Failure::new(Exit::Input, DriverCode::Usage, message));
    };
    if let Some(footer) = &mut package.footer {
        // Without the path of the program, so that equal compilations give equal files.
        footer.command = std::iter::once("ipu".to_owned()).chain(command_line()).collect();
    }
    let bytes =
        package.to_bytes().map_err(|error| Failure::new(Exit::Internal, error.code, error.to_string()))?;
    let output = match &arguments.output {
        Some(path) => path.clone(),
        None => Path::new(&arguments.file).with_extension("ipuexe"),
    };
    write_whole(&output, &bytes)?;
    tracing::info!(tiles = package.tiles.len(), bytes = bytes.len(), "package written");
    eprintln!("{}: {} bytes, {} tiles", output.display(), bytes.len(), package.tiles.len());
    Ok(Exit::Ok)
}
