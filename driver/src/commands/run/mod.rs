//! `ipu run`: run a file at its own level, compile it as far as passes go, run that too, and compare with its
//! reference and with its `// run:` lines.

mod report;

use std::path::PathBuf;

use clap::Args;
use ipu_dialects::case::run_lines::RunLine;
use ipu_dialects::case::{Case, Level, Resources};
use ipu_dialects::ir::{Module, SymbolTable, Type};
use ipu_dialects::tensor_data::TensorData;
use ipu_passes::lift_package;
use ipu_passes::manager::State;

use crate::compile::CompileOptions;
use crate::execute::failure;
use crate::exit::{DriverCode, Exit, Failure};
use crate::load::load;
use crate::package_file::{is_package, read_package};
use crate::pass_options::PassOptions;
use crate::render::{DiagnosticFormat, emit};
use crate::repro::Reproducer;
use crate::rerun::flag;
use report::Report;

/// Runs a file and checks it against its reference and its `// run:` lines.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// IR file, or - for standard input; or a package, `X.ipuexe`.
    file: String,
    /// Run only at this level, compiling down to it first.
    #[arg(long, value_enum)]
    at: Option<At>,
    #[command(flatten)]
    options: CompileOptions,
    #[command(flatten)]
    passes: PassOptions,
    /// Hold this lock file while the device is used; wait if another run has it.
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
    /// Hold the device's accesses to buffers and their lifetimes, where the program says them.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    sanitize: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// A level to run at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum At {
    Graph,
    Mapped,
    Exchange,
    Tile,
}

impl At {
    fn level(self) -> Level {
        match self {
            Self::Graph => Level::Graph,
            Self::Mapped => Level::Mapped,
            Self::Exchange => Level::Exchange,
            Self::Tile => Level::Tile,
        }
    }

    /// The last state of a program of that level.
    fn last_state(self) -> State {
        match self {
            Self::Graph => State::Graph,
            Self::Mapped => State::Mapped,
            Self::Exchange => State::Placed,
            Self::Tile => State::Code,
        }
    }
}

impl RunArguments {
    /// The flags of this program alone that change what it says, as words of a command line.
    fn flags(&self) -> Vec<String> {
        let at = self.at.map(|at| flag("at", at.level().name()));
        at.into_iter().chain((!self.sanitize).then(|| flag("sanitize", "false"))).collect()
    }
}

/// Files beside the working folder.
struct Files;

impl Resources for Files {
    fn file(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(path).map_err(|error| error.to_string())
    }
}

/// Runs the subcommand.
///
/// # Errors
/// The file is refused, cannot be compiled, or faults.
pub fn run(arguments: &RunArguments) -> Result<Exit, Failure> {
    let RunArguments { options, passes, .. } = arguments;
    if is_package(&arguments.file) {
        passes.write_reproducer(&mut Reproducer::without_input("ipu run"))?;
        return run_package(arguments);
    }
    let (mut module, warnings) = load(&arguments.file, options.load_options())?;
    emit(&warnings, &module.sources, DiagnosticFormat::Text);
    let last = arguments.at.map_or(State::Code, At::last_state);
    let compilation = options.compilation(passes, "ipu run", arguments.flags(), &module, last)?;
    let lines = RunLine::read_all(&module, options.load_options().parse_options(), &Files)
        .map_err(|findings| Failure::of(Exit::Input, findings, &module.sources))?;
    // Without data of its own, a file is its lines, which run below their level only if that is asked for.
    let subject =
        (lines.is_empty() || Case::has_data(&module)).then(|| Subject::read(&module)).transpose()?;
    let own = entry_level(&module);
    let wanted = arguments.at.map(At::level);
    let at_own = wanted.map_or(subject.is_none() || own != Some(Level::Graph), |level| Some(level) == own);
    let mut report = Report::new(arguments, subject.as_ref());
    report.run_lines(&module, &lines, None)?;
    if let Some(subject) = subject.as_ref().filter(|_| at_own) {
        report.execute(&module, subject, None)?;
    }
    let mut reached = own;
    if wanted.map_or(subject.is_some(), |level| Some(level) > own) {
        let (compiled, figures) = compilation.run(&mut module)?;
        report.compiled(&compiled, &figures);
        reached = entry_level(&module);
        if reached > own {
            let package = compiled.artifacts.package.as_ref();
            if let Some(subject) = subject {
                report.execute(&module, &Subject { case: read_case(&module)?, ..subject }, package)?;
            }
            let of_main = lines.into_iter().filter(|line| line.symbol == "main").collect::<Vec<_>>();
            report.run_lines(&module, &of_main, package)?;
        }
    }
    if !at_own && reached <= own {
        let reached = reached.map_or("no", Level::name);
        let message = format!("the passes end at {reached} level, before the level asked for");
        return Err(Failure::new(Exit::Input, DriverCode::NothingToRun, message));
    }
    report.finish()
}

/// Runs a package as it is, with the data and the reference of the file that it was built from.
fn run_package(arguments: &RunArguments) -> Result<Exit, Failure> {
    let package = read_package(&arguments.file, false)?;
    let module = lift_package::module(&package).map_err(|error| {
        Failure::new(Exit::Input, error.code, format!("`{}`: {}", arguments.file, error.message))
    })?;
    let subject = Subject::read(&module)?;
    let mut report = Report::new(arguments, Some(&subject));
    report.execute(&module, &subject, Some(&package))?;
    report.finish()
}

/// The level of `@main`, if there is one.
fn entry_level(module: &Module) -> Option<Level> {
    Level::of(module, SymbolTable::of(module, module.root()).get("main")?)
}

/// A case and what must come of it.
struct Subject {
    case: Case,
    reference: Vec<TensorData>,
}

impl Subject {
    fn read(module: &Module) -> Result<Self, Failure> {
        let case = read_case(module)?;
        let reference = case.reference(module).map_err(|finding| failure(Exit::Input, *finding, module))?;
        Ok(Self { case, reference })
    }
}

/// The case of a module, with data from files beside the working folder.
pub fn read_case(module: &Module) -> Result<Case, Failure> {
    Case::read(module, &Files).map_err(|finding| failure(Exit::Input, *finding, module))
}

/// The lengths of the axes of a tensor, as in `128x64`.
pub(crate) fn shape(ty: &Type) -> String {
    ty.as_tensor().map_or_else(String::new, |tensor| {
        tensor.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
    })
}
