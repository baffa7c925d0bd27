//! Runs pipelines: resolves names and options first, then pass by pass with checks and instrumentation.
//!
//! Rules kept here: nothing runs unless the whole pipeline resolves; a pass sees only states that it declares to
//! take; with `verify_each` an invalid result is reported as the pass's own bug.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ipu_dialects::diagnostics::{Diagnostic, Diagnostics};
use ipu_dialects::ir::Module;
use ipu_dialects::source::Span;
use ipu_dialects::spelling::nearest;
use ipu_dialects::verifier::{VerifyOptions, verify};

use super::codes::PassCode;
use super::crash::PlantedCrash;
use super::pass::{Artifacts, Fuel, Pass, PassContext, PassFailure, PassInfo};
use super::pipeline::{Pipeline, PipelineEntry};
use super::registry;
use super::state::State;
use super::statistics::Statistics;

/// Watches a pipeline run; the driver prints and dumps from here.
pub trait Instrumentation {
    /// Before a pass; the first call sees the input.
    fn before_pass(&mut self, _index: usize, _entry: &PipelineEntry, _module: &Module) {}
    /// After a pass that did not fail.
    fn after_pass(&mut self, _index: usize, _entry: &PipelineEntry, _module: &Module) {}
    /// After a pass that failed, with the module as it left it.
    fn failed_pass(&mut self, _index: usize, _entry: &PipelineEntry, _module: &Module) {}
}

/// Watches nothing.
#[derive(Debug, Default)]
pub struct Silent;
impl Instrumentation for Silent {}

/// How a pipeline runs.
#[derive(Debug, Clone)]
pub struct ManagerOptions {
    /// Verify after each pass.
    pub verify_each: bool,
    /// Rewrites all passes together may make.
    pub fuel: Option<u64>,
    /// Run the passes that a pass's input lacks.
    pub with_prerequisites: bool,
    /// Stop after the first pass of that name.
    pub stop_after: Option<String>,
    /// Let ops, types and attributes that no dialect declares pass the verifier.
    pub allow_unregistered: bool,
    /// Names of the passes whose remarks are kept.
    pub remarks: BTreeSet<&'static str>,
    /// A crash to plant.
    pub crash: Option<PlantedCrash>,
    /// A miscompile to plant.
    #[cfg(feature = "mutations")]
    pub mutation: Option<&'static crate::mutations::Mutation>,
}

impl Default for ManagerOptions {
    fn default() -> Self {
        Self {
            verify_each: true,
            fuel: None,
            with_prerequisites: false,
            stop_after: None,
            allow_unregistered: false,
            remarks: BTreeSet::new(),
            crash: None,
            #[cfg(feature = "mutations")]
            mutation: None,
        }
    }
}

impl ManagerOptions {
    fn plants_nothing(&self) -> bool {
        #[cfg(feature = "mutations")]
        let mutated = self.mutation.is_some();
        #[cfg(not(feature = "mutations"))]
        let mutated = false;
        self.crash.is_none() && !mutated
    }
}

/// What a run carries from pass to pass.
struct Progress {
    fuel: Fuel,
    /// Whether the module is as it was when it was last verified.
    verified: bool,
}

/// How long a pass took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageTime {
    /// The pass.
    pub name: &'static str,
    /// Time in the pass itself.
    pub elapsed: Duration,
    /// Time verifying its result.
    pub verify: Duration,
}

/// What a pipeline run left besides the module.
#[derive(Debug, Default)]
pub struct Run {
    /// Figures of the passes.
    pub statistics: Statistics,
    /// Times, in order.
    pub times: Vec<StageTime>,
    /// Warnings, and errors if it failed.
    pub diagnostics: Diagnostics,
    /// What passes say about what they did not do, as far as asked for.
    pub remarks: Diagnostics,
    /// Files of other formats.
    pub artifacts: Artifacts,
    /// Why it ended early.
    pub failure: Option<RunFailure>,
}

/// Why a run ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunFailure {
    /// A pipeline that does not resolve, or input that a pass does not take.
    Input,
    /// No plan, no schedule or no placement.
    CannotCompile,
    /// A pass left an invalid module.
    InvalidResult,
}

/// A pipeline with every name and option resolved.
pub struct ResolvedPipeline {
    stages: Vec<Stage>,
}

struct Stage {
    info: &'static PassInfo,
    entry: PipelineEntry,
    pass: Box<dyn Pass>,
}

impl ResolvedPipeline {
    /// Looks up the passes of `pipeline` and reads their options.
    ///
    /// # Errors
    /// Every unknown pass and every refused option, each with its place in the pipeline's text: the spans are
    /// `entry.range` of `source`.
    pub fn new(pipeline: &Pipeline, source: impl Fn(&PipelineEntry) -> Span) -> Result<Self, Diagnostics> {
        let mut diagnostics = Diagnostics::new();
        let mut stages = Vec::new();
        for entry in &pipeline.entries {
            match stage(entry, source(entry)) {
                Ok(stage) => stages.push(stage),
                Err(diagnostic) => diagnostics.push(*diagnostic),
            }
        }
        if diagnostics.has_errors() { Err(diagnostics) } else { Ok(Self { stages }) }
    }

    /// Runs the pipeline on `module`; `artifacts` holds what the first pass takes besides.
    pub fn run(
        &self,
        module: &mut Module,
        options: &ManagerOptions,
        artifacts: Artifacts,
        watch: &mut dyn Instrumentation,
    ) -> Run {
        let mut run = Run { artifacts, ..Run::default() };
        let mut progress = Progress { fuel: Fuel::new(options.fuel), verified: false };
        for (index, stage) in self.stages.iter().enumerate() {
            run.failure = run_stage(stage, index, module, options, &mut run, &mut progress, watch).err();
            let stop = options.stop_after.as_deref() == Some(stage.info.name);
            if run.failure.is_some() || stop {
                break;
            }
        }
        run
    }
}

fn stage(entry: &PipelineEntry, span: Span) -> Result<Stage, Box<Diagnostic>> {
    let Some(info) = registry::find(&entry.name) else {
        let mut diagnostic =
            Diagnostic::error(PassCode::UnknownPass, span, format!("unknown pass `{}`", entry.name));
        if let Some(near) = nearest(&entry.name, registry::all().iter().map(|info| info.name)) {
            diagnostic = diagnostic.note(format!("did you mean `{near}`?"));
        }
        return Err(Box::new(diagnostic.note("`--list-passes` prints all of them")));
    };
    match (info.create)(&entry.options) {
        Ok(pass) => Ok(Stage { info, entry: entry.clone(), pass }),
        Err(error) => {
            let message = format!("pass `{}`: {error}", info.name);
            Err(Box::new(Diagnostic::error(PassCode::BadOption, span, message)))
        }
    }
}

fn run_stage(
    stage: &Stage,
    index: usize,
    module: &mut Module,
    options: &ManagerOptions,
    run: &mut Run,
    progress: &mut Progress,
    watch: &mut dyn Instrumentation,
) -> Result<(), RunFailure> {
    watch.before_pass(index, &stage.entry, module);
    if let Some(missing) = missing_state(stage.info, module) {
        if !options.with_prerequisites {
            run.diagnostics.push(missing.diagnostic(stage.info, module));
            watch.failed_pass(index, &stage.entry, module);
            return Err(RunFailure::Input);
        }
        run_prerequisites(stage.info, module, options, run, progress)?;
    }
    let result = run_pass(stage.info, stage.pass.as_ref(), module, options, run, progress);
    match result {
        Ok(()) => watch.after_pass(index, &stage.entry, module),
        Err(_) => watch.failed_pass(index, &stage.entry, module),
    }
    result
}

fn run_pass(
    info: &'static PassInfo,
    pass: &dyn Pass,
    module: &mut Module,
    options: &ManagerOptions,
    run: &mut Run,
    progress: &mut Progress,
) -> Result<(), RunFailure> {
    let span = tracing::info_span!("pass", name = info.name).entered();
    let started = Instant::now();
    let mut context = PassContext {
        pass: info.name,
        diagnostics: &mut run.diagnostics,
        statistics: &mut run.statistics,
        artifacts: &mut run.artifacts,
        fuel: &mut progress.fuel,
        changed: true,
        remarks: options.remarks.contains(info.name).then_some(&mut run.remarks),
    };
    options.crash.iter().for_each(|crash| crash.before(info.name));
    let result = pass.run(module, &mut context);
    // What is planted changes the module behind the pass's back.
    progress.verified &= !context.changed && options.plants_nothing();
    let elapsed = started.elapsed();
    tracing::info!(
        phase = info.name.replace('-', "_"),
        elapsed_ms = elapsed.as_millis() as u64,
        success = result.is_ok(),
        "compiler phase completed"
    );
    drop(span);
    let started = Instant::now();
    #[cfg(feature = "mutations")]
    if let Some(mutation) = options.mutation.filter(|_| result.is_ok()) {
        mutation.apply(info.name, module, &mut run.artifacts);
    }
    options.crash.iter().for_each(|crash| crash.after(info.name, module));
    let mut outcome = result.map_err(|failure| match failure {
        PassFailure::Input => RunFailure::Input,
        PassFailure::CannotCompile => RunFailure::CannotCompile,
    });
    if outcome.is_ok() && options.verify_each && !progress.verified {
        let verify_options = VerifyOptions { allow_unregistered: options.allow_unregistered };
        outcome = verify_result(info, module, verify_options, &mut run.diagnostics);
        progress.verified = outcome.is_ok();
    }
    run.times.push(StageTime { name: info.name, elapsed, verify: started.elapsed() });
    outcome
}

fn verify_result(
    info: &PassInfo,
    module: &Module,
    options: VerifyOptions,
    diagnostics: &mut Diagnostics,
) -> Result<(), RunFailure> {
    let _span = tracing::debug_span!("verify", name = info.name).entered();
    let Err(findings) = verify(module, options) else { return Ok(()) };
    let message = format!("pass `{}` left an invalid module; this is a bug of the pass", info.name);
    diagnostics.push(Diagnostic::error(PassCode::InvalidResult, Span::NONE, message));
    diagnostics.append(findings);
    Err(RunFailure::InvalidResult)
}

/// The first state of a pass's input that the module is not in.
struct Missing {
    state: State,
    finding: super::state::Lack,
}

impl Missing {
    fn diagnostic(&self, info: &PassInfo, module: &Module) -> Diagnostic {
        let flags = registry::prerequisites(self.state, module);
        let message =
            format!("pass `{}` takes {}, but {}", info.name, self.state.describe(), self.finding.reason);
        let span = self.finding.op.map_or(Span::NONE, |op| module.span(op));
        let diagnostic = Diagnostic::error(PassCode::MissingState, span, message);
        if flags.is_empty() {
            return diagnostic.note("no pass supplies it from here");
        }
        let flags: Vec<String> = flags.iter().map(|info| format!("--{}", info.name)).collect();
        diagnostic
            .note(format!("`{}` before `--{}` supplies it", flags.join(" "), info.name))
            .note("`--with-prerequisites` runs what is missing")
    }
}

fn missing_state(info: &PassInfo, module: &Module) -> Option<Missing> {
    info.requires.iter().find_map(|&state| state.lacking(module).map(|finding| Missing { state, finding }))
}

fn run_prerequisites(
    info: &'static PassInfo,
    module: &mut Module,
    options: &ManagerOptions,
    run: &mut Run,
    progress: &mut Progress,
) -> Result<(), RunFailure> {
    while let Some(missing) = missing_state(info, module) {
        let needed = registry::prerequisites(missing.state, module);
        if needed.is_empty() {
            run.diagnostics.push(missing.diagnostic(info, module));
            return Err(RunFailure::Input);
        }
        for pass_info in needed {
            let pass = (pass_info.create)(&indexmap::IndexMap::new()).map_err(|error| {
                run.diagnostics.push(Diagnostic::error(PassCode::BadOption, Span::NONE, error.0));
                RunFailure::Input
            })?;
            run_pass(pass_info, pass.as_ref(), module, options, run, progress)?;
        }
        if missing.state.lacking(module).is_some() {
            run.diagnostics.push(missing.diagnostic(info, module));
            return Err(RunFailure::InvalidResult);
        }
    }
    Ok(())
}
