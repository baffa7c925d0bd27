//! What `ipu run` says, for people and as JSON.

use std::path::{Path, PathBuf};
use std::time::Instant;

use ipu_device::package::Package;
use ipu_device::runtime::DeviceLock;
use ipu_dialects::case::run_lines::{Comparison, RunLine};
use ipu_dialects::case::{Level, ResultVerdict};
use ipu_dialects::diagnostics::Diagnostics;
use ipu_dialects::ir::Module;
use ipu_passes::manager::Run;
use serde_json::{Map, Value, json};

use super::{RunArguments, Subject, shape};
use crate::bisect::places::{index_of, index_text};
use crate::execute::{Execution, execute, execute_package};
use crate::exit::{DriverCode, Exit, Failure};
use crate::figures::Figures;
use crate::files::write_standard_output;
use crate::render::{DiagnosticFormat, emit};
use crate::run_lines::check;
use crate::simulated::{DeviceCounts, DeviceUse};

/// Collects what happened, for people and as JSON.
pub(super) struct Report {
    json: bool,
    lock: Option<PathBuf>,
    sanitize: bool,
    started: Instant,
    text: String,
    object: Map<String, Value>,
    levels: Vec<Value>,
    runs: Vec<Value>,
    passed: bool,
}

impl Report {
    pub(super) fn new(arguments: &RunArguments, subject: Option<&Subject>) -> Self {
        let mut report = Self {
            json: arguments.json,
            lock: arguments.lock.clone(),
            sanitize: arguments.sanitize,
            started: Instant::now(),
            text: String::new(),
            object: Map::new(),
            levels: Vec::new(),
            runs: Vec::new(),
            passed: true,
        };
        let mut hashes = Map::new();
        for argument in subject.iter().flat_map(|subject| &subject.case.arguments) {
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

    pub(super) fn compiled(&mut self, run: &Run, figures: &Figures) {
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

    pub(super) fn execute(
        &mut self,
        module: &Module,
        Subject { case, reference }: &Subject,
        package: Option<&Package>,
    ) -> Result<(), Failure> {
        let execution = match package {
            Some(package) => execute_package(module, case, package, reference, self.device()?)?,
            None if case.level == Level::Tile => execute(module, case, reference, self.device()?)?,
            None => execute(module, case, reference, DeviceUse::default())?,
        };
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

    /// Executes lines at the level that what they call has in `module`, whose package is `package` if there is one.
    pub(super) fn run_lines(
        &mut self,
        module: &Module,
        lines: &[RunLine],
        package: Option<&Package>,
    ) -> Result<(), Failure> {
        let mut findings = Diagnostics::new();
        for line in lines {
            let checked = check(module, line, package, self.device()?)?;
            let number = module.sources.locate(line.span).map_or(0, |(_, place)| place.line);
            let passed = checked.findings.is_empty();
            let (level, word) = (checked.level.name(), if passed { "pass" } else { "FAIL" });
            let rule = match line.comparison {
                Comparison::Bits => "differ",
                Comparison::Tolerance => "outside tolerance",
            };
            let counts = format!("{}/{}", checked.differing, checked.elements);
            self.line(&format!(
                "{level:7} @{:7} {word}  line {number}: {counts} {rule}  ({})",
                line.symbol, checked.how
            ));
            self.runs.push(json!({
                "line": number,
                "symbol": line.symbol,
                "level": level,
                "verdict": if passed { "pass" } else { "fail" },
                "mismatches": checked.differing,
                "elements": checked.elements,
            }));
            self.passed &= passed;
            findings.append(checked.findings);
        }
        emit(&findings, &module.sources, DiagnosticFormat::Text);
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

    pub(super) fn finish(mut self) -> Result<Exit, Failure> {
        let elapsed = self.started.elapsed().as_micros() as u64;
        if self.json {
            if let Some(Value::Object(last)) = self.levels.last().cloned() {
                self.object.extend(last);
            }
            let verdict = if self.passed { "pass" } else { "fail" };
            self.object.insert("verdict".into(), verdict.into());
            self.object.insert("levels".into(), self.levels.into());
            self.object.insert("runs".into(), self.runs.into());
            self.object.insert("elapsed_us".into(), elapsed.into());
            self.text = format!("{}\n", Value::Object(self.object));
        }
        write_standard_output(self.text.as_bytes())?;
        if self.passed {
            return Ok(Exit::Ok);
        }
        eprintln!("result differs from what the file says");
        Ok(Exit::No)
    }
}

fn finite(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { json!(value.to_string()) }
}
