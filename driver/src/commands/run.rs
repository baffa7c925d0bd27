//! `ipu run`: run a file at its own level, compile it as far as passes go, run that too, and compare with its
//! reference.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use ipu_device::package::Package;
use ipu_device::runtime::DeviceLock;
use ipu_dialects::case::{Case, Level, Resources, ResultVerdict};
use ipu_dialects::ir::{Module, Type};
use ipu_dialects::tensor_data::TensorData;
use ipu_passes::lift_package;
use ipu_passes::manager::{Run, State};
use serde_json::{Map, Value, json};

use crate::bisect::places::{index_of, index_text};
use crate::compile::CompileOptions;
use crate::execute::{Execution, execute, execute_package, failure};
use crate::exit::{DriverCode, Exit, Failure};
use crate::figures::Figures;
use crate::files::write_standard_output;
use crate::load::load;
use crate::package_file::{is_package, read_package};
use crate::pass_options::PassOptions;
use crate::render::{DiagnosticFormat, emit};
use crate::repro::Reproducer;
use crate::rerun::flag;
use crate::simulated::{DeviceCounts, DeviceUse};

/// Runs a file and checks it against its reference.
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
    let case = read_case(&module)?;
    let reference = case.reference(&module).map_err(|finding| failure(Exit::Input, *finding, &module))?;
    let wanted = arguments.at.map(At::level);
    let mut report = Report::new(arguments, &case);
    let own = case.level;
    if wanted.map_or(own != Level::Graph, |level| level == own) {
        report.execute(&module, &case, &reference, None)?;
    }
    if wanted.is_none_or(|level| level > own) {
        let (compiled, figures) = compilation.run(&mut module)?;
        report.compiled(&compiled, &figures);
        let case = read_case(&module)?;
        if case.level > own {
            report.execute(&module, &case, &reference, compiled.artifacts.package.as_ref())?;
        }
    }
    report.finish(&case)
}

/// Runs a package as it is, with the data and the reference of the file that it was built from.
fn run_package(arguments: &RunArguments) -> Result<Exit, Failure> {
    let package = read_package(&arguments.file, false)?;
    let module = lift_package::module(&package).map_err(|error| {
        Failure::new(Exit::Input, error.code, format!("`{}`: {}", arguments.file, error.message))
    })?;
    let case = read_case(&module)?;
    let reference = case.reference(&module).map_err(|finding| failure(Exit::Input, *finding, &module))?;
    let mut report = Report::new(arguments, &case);
    report.execute(&module, &case, &reference, Some(&package))?;
    report.finish(&case)
}

/// The case of a module, with data from files beside the working folder.
pub fn read_case(module: &Module) -> Result<Case, Failure> {
    Case::read(module, &Files).map_err(|finding| failure(Exit::Input, *finding, module))
}

/// Collects what happened, for people and as JSON.
struct Report {
    json: bool,
    lock: Option<PathBuf>,
    sanitize: bool,
    started: Instant,
    text: String,
    object: Map<String, Value>,
    levels: Vec<Value>,
    passed: bool,
    ran: bool,
}

impl Report {
    fn new(arguments: &RunArguments, case: &Case) -> Self {
        let mut report = Self {
            json: arguments.json,
            lock: arguments.lock.clone(),
            sanitize: arguments.sanitize,
            started: Instant::now(),
            text: String::new(),
            object: Map::new(),
            levels: Vec::new(),
            passed: true,
            ran: false,
        };
        let mut hashes = Map::new();
        for argument in &case.arguments {
            let hash = argument.data.sha256();
            report.line(&format!("input   {:8} {}  sha256 {hash}", argument.name, shape(&argument.ty)));
            hashes.insert(argument.name.clone(), hash.into());
        }
        report.object.insert("input_sha256".into(), hashes.into());
        report
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn compiled(&mut self, run: &Run, figures: &Figures) {
        for time in &run.times {
            self.line(&format!("pass    {:28} {:>8} us", time.name, time.elapsed.as_micros()));
        }
        let stages: Vec<Value> = run
            .times
            .iter()
            .map(|time| json!({"name": time.name, "elapsed_us": time.elapsed.as_micros() as u64}))
            .collect();
        self.object.insert("stages".into(), stages.into());
        for entry in run.statistics.iter() {
            if let Value::String(text) = &entry.value {
                self.line(&format!("{}: {}", entry.name, text.trim_end()));
            }
        }
        if let Some(text) = figures.text() {
            self.line(&text);
        }
        figures.record(&run.statistics, &mut self.object);
        let statistics = serde_json::to_value(&run.statistics).unwrap_or_default();
        self.object.insert("statistics".into(), statistics);
    }

    fn execute(
        &mut self,
        module: &Module,
        case: &Case,
        reference: &[TensorData],
        package: Option<&Package>,
    ) -> Result<(), Failure> {
        let execution = match package {
            Some(package) => execute_package(module, case, package, reference, self.device()?)?,
            None if case.level == Level::Tile => execute(module, case, reference, self.device()?)?,
            None => execute(module, case, reference, DeviceUse::default())?,
        };
        self.ran = true;
        self.passed &= execution.passed();
        if let Some((counts, elapsed)) = &execution.device {
            self.simulated(counts);
            self.object.insert("device_us".into(), (elapsed.as_micros() as u64).into());
        }
        for result in &execution.verdicts {
            tracing::info!(
                level = execution.level.name(),
                name = result.name,
                passed = result.passed(),
                mismatches = result.verdict.mismatches,
                elements = result.verdict.elements,
                max_abs_error = result.verdict.max_abs_error,
                "numerical comparison completed"
            );
        }
        for (verdict, data) in execution.verdicts.iter().zip(&execution.results) {
            self.verdict(&execution, verdict, &data.shape);
            let hash = data.sha256();
            self.line(&format!("        result sha256 {hash}"));
            self.levels.push(json!({
                "level": execution.level.name(),
                "result": verdict.name,
                "verdict": if verdict.passed() { "pass" } else { "fail" },
                "mismatches": verdict.verdict.mismatches,
                "elements": verdict.verdict.elements,
                "max_abs_error": finite(verdict.verdict.max_abs_error),
                "result_sha256": hash,
            }));
        }
        Ok(())
    }

    fn device(&self) -> Result<DeviceUse, Failure> {
        let waiting =
            |path: &Path| eprintln!("waiting for the device: another run holds `{}`", path.display());
        let lock = self.lock.as_deref().map(|path| DeviceLock::acquire(path, waiting)).transpose();
        let lock = lock.map_err(|error| Failure::new(Exit::Input, DriverCode::Device, error.to_string()))?;
        Ok(DeviceUse { lock, sanitize: self.sanitize })
    }

    /// What the simulator counted. The body is what happens between the host's inputs and outputs: the last batch's words
    /// to their places, every step of the program.
    fn simulated(&mut self, device: &DeviceCounts) {
        let DeviceCounts { body, total, phases, tile_cycles } = device;
        self.line(&format!(
            "simulated {body} cycles between host inputs and outputs, {total} from start to end, host exchange included"
        ));
        for (index, cycles) in phases.iter().enumerate() {
            self.line(&format!(
                "        phase {index}: {cycles} cycles from its sync to the end of its last row"
            ));
        }
        self.object.insert("simulated_cycles".into(), (*body).into());
        self.object.insert("simulated_total_cycles".into(), (*total).into());
        self.object.insert("simulated_phase_cycles".into(), phases.clone().into());
        self.object.insert("simulated_tile_cycles".into(), (*tile_cycles).into());
    }

    fn verdict(&mut self, execution: &Execution, result: &ResultVerdict, shape: &[u64]) {
        let verdict = &result.verdict;
        let word = if result.passed() { "pass" } else { "FAIL" };
        self.line(&format!(
            "{:7} {:8} {word}  {}/{} outside tolerance, maximum absolute error {}  ({})",
            execution.level.name(),
            result.name,
            verdict.mismatches,
            verdict.elements,
            verdict.max_abs_error as f32,
            execution.how,
        ));
        if result.uncovered > 0 {
            self.line(&format!("        {} elements are in no shard", result.uncovered));
        }
        for mismatch in &verdict.first {
            let place = index_text(&index_of(shape, mismatch.index));
            let (reference, actual) = (mismatch.reference as f32, mismatch.actual as f32);
            let error = mismatch.error as f32;
            self.line(&format!(
                "        {} {place}: reference {reference}, actual {actual}, error {error}",
                mismatch.index
            ));
        }
    }

    fn finish(mut self, case: &Case) -> Result<Exit, Failure> {
        if !self.ran {
            let message =
                format!("the passes end at {} level, before the level asked for", case.level.name());
            return Err(Failure::new(Exit::Input, DriverCode::NothingToRun, message));
        }
        let elapsed = self.started.elapsed().as_micros() as u64;
        if self.json {
            if let Some(Value::Object(last)) = self.levels.last().cloned() {
                self.object.extend(last);
            }
            let verdict = if self.passed { "pass" } else { "fail" };
            self.object.insert("verdict".into(), verdict.into());
            self.object.insert("levels".into(), self.levels.into());
            self.object.insert("elapsed_us".into(), elapsed.into());
            self.text = format!("{}\n", Value::Object(self.object));
        }
        write_standard_output(self.text.as_bytes())?;
        if self.passed {
            return Ok(Exit::Ok);
        }
        eprintln!("result differs from the reference");
        Ok(Exit::No)
    }
}

fn finite(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { json!(value.to_string()) }
}

/// The lengths of the axes of a tensor, as in `128x64`.
pub(crate) fn shape(ty: &Type) -> String {
    ty.as_tensor().map_or_else(String::new, |tensor| {
        tensor.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
    })
}
