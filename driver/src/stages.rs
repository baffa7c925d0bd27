//! A compilation stage by stage: what every pass left, executed at its own level on the same data.
//!
//! From the storage of `mapped` down results must be equal bit for bit, and so must graphs among each other; every level is
//! compared with the reference.

use ipu_device::numerics::ulp_distance;
use ipu_device::package::Package;
use ipu_dialects::case::{Case, Level};
use ipu_dialects::diagnostics::Diagnostics;
use ipu_dialects::graph::meaning::{Precision, evaluate};
use ipu_dialects::ir::Module;
use ipu_dialects::mapped::meaning::evaluate_logical;
use ipu_dialects::source::Span;
use ipu_dialects::tensor_data::TensorData;
use ipu_passes::manager::{
    Artifacts, ManagerOptions, Pipeline, PipelineEntry, ResolvedPipeline, Run, RunFailure, Silent,
};

use crate::commands::run::read_case;
use crate::execute::{Execution, execute, execute_package, failure};
use crate::exit::{Exit, Failure};
use crate::simulated::DeviceUse;

/// What one pass left.
#[derive(Debug)]
pub struct Stage {
    /// The pass; nothing for the input and for packages from elsewhere.
    pub entry: Option<PipelineEntry>,
    /// The module after the pass, as far as the pass came.
    pub module: Module,
    /// The program with its data; nothing if the pass refused, or if the module is no case.
    pub case: Option<Case>,
    /// The package, if the pass made one.
    pub package: Option<Package>,
    /// What became of it.
    pub outcome: Outcome,
    /// The results of a graph in the precision that its ops declare.
    declared: Option<Vec<TensorData>>,
    /// Elements whose bits differ from those of the stage before, of a graph in either precision; nothing where bits may
    /// differ.
    pub differ: Option<u64>,
}

/// What became of a stage.
#[derive(Debug)]
pub enum Outcome {
    /// The pass gave up, or left a module that does not verify.
    Refused(RunFailure, Diagnostics),
    /// The program faulted, or cannot be executed.
    Faulted(Failure),
    /// It ran.
    Ran(Execution),
}

impl Stage {
    /// `input`, the name of the pass, or `package`.
    #[must_use]
    pub fn name(&self) -> &str {
        match (&self.entry, &self.package) {
            (Some(entry), _) => &entry.name,
            (None, Some(_)) => "package",
            (None, None) => "input",
        }
    }

    /// The execution, if there was one.
    #[must_use]
    pub fn execution(&self) -> Option<&Execution> {
        match &self.outcome {
            Outcome::Ran(execution) => Some(execution),
            _ => None,
        }
    }

    /// The case, if the stage is a mapped program that ran.
    #[must_use]
    pub fn mapped_case(&self) -> Option<&Case> {
        self.execution().filter(|execution| execution.level == Level::Mapped)?;
        self.case.as_ref()
    }

    /// Whether it is a mapped program whose results in storage are other bits than its results on coordinates. An op may store
    /// something else than it says and another may undo it, or nobody use it.
    #[must_use]
    pub fn stores_otherwise(&self) -> bool {
        let logical =
            self.mapped_case().map(|case| evaluate_logical(&self.module, case.entry, &case.inputs()));
        let stored = self.execution().map(|execution| &execution.results);
        matches!((logical, stored), (Some(Ok(logical)), Some(stored)) if logical != *stored)
    }

    /// Whether it ran, agrees with the stage before, and is within tolerance of the reference.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.differ.unwrap_or(0) == 0 && self.execution().is_some_and(Execution::passed)
    }
}

/// All stages of a compilation, up to the first that cannot be executed.
#[derive(Debug)]
pub struct Stages {
    /// The case as it was given, with its data.
    pub case: Case,
    /// What results must be.
    pub reference: Vec<TensorData>,
    /// The input, then what each pass left.
    pub list: Vec<Stage>,
}

impl Stages {
    /// Runs the passes of `pipeline` on `module` one by one and executes what each leaves.
    ///
    /// # Errors
    /// The module is no case with data and a reference, or the pipeline does not resolve.
    pub fn run(module: Module, pipeline: &Pipeline, options: &ManagerOptions) -> Result<Self, Failure> {
        let case = read_case(&module)?;
        let reference = case.reference(&module).map_err(|finding| failure(Exit::Input, *finding, &module))?;
        let mut stages = Self { case, reference, list: Vec::new() };
        stages.add(None, module, None);
        for entry in &pipeline.entries {
            let Some(last) = stages.list.last().filter(|stage| stage.execution().is_some()) else { break };
            let mut module = last.module.clone();
            let run = run_pass(&mut module, entry, options)
                .map_err(|findings| Failure::of(Exit::Input, findings, &module.sources))?;
            match run.failure {
                Some(refused) => stages.list.push(Stage {
                    entry: Some(entry.clone()),
                    module,
                    case: None,
                    package: None,
                    outcome: Outcome::Refused(refused, run.diagnostics),
                    declared: None,
                    differ: None,
                }),
                None => stages.add(Some(entry.clone()), module, run.artifacts.package),
            }
        }
        Ok(stages)
    }

    /// Adds a package that was made elsewhere, with the module that it lifts to, as the last stage.
    pub fn add_package(&mut self, module: Module, package: Package) {
        self.add(None, module, Some(package));
    }

    /// Executes what a pass left.
    fn add(&mut self, entry: Option<PipelineEntry>, module: Module, package: Option<Package>) {
        let stage = self.examine(self.list.last(), entry, module, package);
        self.list.push(stage);
    }

    /// Whether `module`, made from what `before` holds, computes something else or faults.
    #[must_use]
    pub fn changes(&self, before: &Stage, module: Module) -> bool {
        let stage = self.examine(Some(before), None, module, None);
        stage.execution().is_none() || stage.differ.unwrap_or(0) > 0
    }

    fn examine(
        &self,
        before: Option<&Stage>,
        entry: Option<PipelineEntry>,
        module: Module,
        package: Option<Package>,
    ) -> Stage {
        let (case, executed) = match read_case(&module) {
            Ok(case) => {
                let executed = self.execute(&module, &case, package.as_ref());
                (Some(case), executed)
            }
            Err(failure) => (None, Err(failure)),
        };
        let outcome = executed.map_or_else(Outcome::Faulted, Outcome::Ran);
        let declared = case.as_ref().and_then(|case| declared(&module, case));
        let mut stage = Stage { entry, module, case, package, outcome, declared, differ: None };
        if let (Some(last), Some(now)) = (before.and_then(Stage::execution), stage.execution()) {
            // Between a graph and its mapped program rounding differs.
            let comparable = last.level == now.level || last.level >= Level::Mapped;
            stage.differ = comparable.then(|| differing(&last.results, &now.results));
            let declared = before.and_then(|before| before.declared.as_ref()).zip(stage.declared.as_ref());
            if let Some((before, now)) = declared {
                stage.differ = stage.differ.max(Some(differing(before, now)));
            }
        }
        stage
    }

    fn execute(&self, module: &Module, case: &Case, package: Option<&Package>) -> Result<Execution, Failure> {
        match package {
            Some(package) => execute_package(module, case, package, &self.reference, DeviceUse::default()),
            None => execute(module, case, &self.reference, DeviceUse::default()),
        }
    }

    /// Whether every stage ran and passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.list.iter().all(Stage::passed)
    }

    /// Largest distance of `results` from the reference in units of the last place; where either is NaN there is none.
    #[must_use]
    pub fn ulps(&self, results: &[TensorData]) -> u32 {
        let of_result = |(reference, result): (&TensorData, &TensorData)| {
            let numbers = reference.values().into_iter().zip(result.values()).enumerate();
            let numbers = numbers.filter(|(_, (wanted, found))| !wanted.is_nan() && !found.is_nan());
            let element = reference.element.element;
            let distance = |(index, _)| {
                let (wanted, found) = self::element(reference, index).zip(self::element(result, index))?;
                Some(ulp_distance(element, bits(wanted), bits(found)))
            };
            numbers.filter_map(distance).max().unwrap_or(0)
        };
        self.reference.iter().zip(results).map(of_result).max().unwrap_or(0)
    }
}

/// Runs one pass alone.
///
/// # Errors
/// The pass is unknown, or does not take its options.
pub(crate) fn run_pass(
    module: &mut Module,
    entry: &PipelineEntry,
    options: &ManagerOptions,
) -> Result<Run, Diagnostics> {
    let pipeline = Pipeline { entries: vec![entry.clone()] };
    let resolved = ResolvedPipeline::new(&pipeline, |_| Span::NONE)?;
    Ok(resolved.run(module, options, Artifacts::default(), &mut Silent))
}

/// The results of a graph in the precision that its ops declare.
fn declared(module: &Module, case: &Case) -> Option<Vec<TensorData>> {
    let graph = (case.level == Level::Graph).then_some(case)?;
    evaluate(module, graph.entry, &graph.inputs(), Precision::Declared).ok()
}

/// Elements that are not the same bits; all of a result that the other has not.
fn differing(before: &[TensorData], after: &[TensorData]) -> u64 {
    let count = |(one, other): (&TensorData, &TensorData)| {
        let width = one.element.element.bytes() as usize;
        if one.bytes.len() != other.bytes.len() {
            return one.element_count();
        }
        let elements = one.bytes.chunks(width).zip(other.bytes.chunks(width));
        elements.filter(|(one, other)| one != other).count() as u64
    };
    before.iter().zip(after).map(count).sum()
}

/// The bytes of element number `at`, in row-major order.
pub(crate) fn element(data: &TensorData, at: usize) -> Option<&[u8]> {
    let width = data.element.element.bytes() as usize;
    data.bytes.get(at * width..(at + 1) * width)
}

/// Little-endian bytes as bits.
pub(crate) fn bits(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u32::from(byte))
}
