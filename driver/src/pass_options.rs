//! How a pipeline runs and what is shown of it, with the same flags in `ipu-opt`, `ipu compile` and `ipu run`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use clap::Args;
use ipu_dialects::diagnostics::Diagnostic;
use ipu_dialects::ir::Module;
use ipu_dialects::printer::PrintOptions;
use ipu_dialects::source::Span;
use ipu_passes::manager::{
    Artifacts, Instrumentation, ManagerOptions, Pipeline, PipelineEntry, PlantedCrash, ResolvedPipeline, Run,
    RunFailure, registry,
};
use regex::Regex;

use crate::execute::failure;
use crate::exit::{DriverCode, Exit, Failure};
use crate::instrumentation::{PrintWhen, Watch};
use crate::opt::exit_of;
use crate::render::{DiagnosticFormat, emit};
use crate::repro::{Reproducer, panic_message};
use crate::rerun::flag;
use crate::statistics::{StatisticsFormat, write_statistics};

/// How passes run, and what is shown of them.
#[derive(Debug, Clone, Args)]
pub struct PassOptions {
    /// Print IR before that pass.
    #[arg(long, value_name = "PASS")]
    print_ir_before: Vec<String>,
    /// Print IR after that pass.
    #[arg(long, value_name = "PASS")]
    print_ir_after: Vec<String>,
    /// Print IR before every pass.
    #[arg(long)]
    print_ir_before_all: bool,
    /// Print IR after every pass.
    #[arg(long)]
    print_ir_after_all: bool,
    /// Print IR after every pass that changes it.
    #[arg(long)]
    print_ir_after_change: bool,
    /// Print IR after a pass that fails.
    #[arg(long)]
    print_ir_after_failure: bool,
    /// Verify after each pass.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    verify_each: bool,
    /// Print what passes counted.
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "json"
    )]
    stats: Option<StatisticsFormat>,
    /// Print what passes did not do and why; of passes whose name matches, or of all.
    #[arg(long, value_name = "REGEX", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    remarks: Option<Regex>,
    /// Stop after that pass.
    #[arg(long, value_name = "PASS")]
    stop_after: Option<String>,
    /// Allow passes N rewrites in all, for bisection.
    #[arg(long, value_name = "N")]
    fuel: Option<u64>,
    /// Run the passes that a pass's input lacks.
    #[arg(long)]
    with_prerequisites: bool,
    /// Write the input and the command that does the same again to one file, which `--rerun` takes.
    #[arg(long, value_name = "FILE")]
    repro: Option<PathBuf>,
    /// Test mode: crash in a pass, `panic:PASS` or `invalid:PASS`.
    #[arg(long, value_name = "CRASH", hide = true)]
    plant_crash: Option<PlantedCrash>,
}

impl PassOptions {
    /// The flags that change what passes do, as words of a command line.
    #[must_use]
    pub fn flags(&self) -> Vec<String> {
        let verify = (!self.verify_each).then(|| flag("verify-each", "false"));
        let prerequisites = self.with_prerequisites.then(|| "--with-prerequisites".to_owned());
        let stop = self.stop_after.as_ref().map(|pass| flag("stop-after", pass));
        let fuel = self.fuel.map(|fuel| flag("fuel", &fuel.to_string()));
        let crash = self.plant_crash.as_ref().map(|crash| flag("plant-crash", &crash.to_string()));
        [verify, prerequisites, stop, fuel, crash].into_iter().flatten().collect()
    }

    /// Whether places in the text are kept through passes, because IR is shown or must come out as from the reproducer.
    #[must_use]
    pub fn keeps_locations(&self) -> bool {
        let all = self.print_ir_before_all || self.print_ir_after_all || self.print_ir_after_change;
        let some = !self.print_ir_before.is_empty() || !self.print_ir_after.is_empty();
        all || some || self.print_ir_after_failure || self.repro.is_some()
    }

    /// Writes `reproducer` if that is asked for.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_reproducer(&self, reproducer: &mut Reproducer) -> Result<(), Failure> {
        self.repro.as_ref().map_or(Ok(()), |path| reproducer.write(path))
    }

    fn print_when(&self) -> PrintWhen {
        PrintWhen {
            before: self.print_ir_before.iter().cloned().collect(),
            after: self.print_ir_after.iter().cloned().collect(),
            before_all: self.print_ir_before_all,
            after_all: self.print_ir_after_all || self.print_ir_after_change,
            only_changed: self.print_ir_after_change,
            after_failure: self.print_ir_after_failure,
        }
    }

    fn manager_options(&self, base: ManagerOptions) -> ManagerOptions {
        let wanted = |name: &&str| self.remarks.as_ref().is_some_and(|pattern| pattern.is_match(name));
        ManagerOptions {
            verify_each: self.verify_each,
            fuel: self.fuel,
            with_prerequisites: self.with_prerequisites,
            stop_after: self.stop_after.clone(),
            crash: self.plant_crash.clone(),
            remarks: registry::all().iter().map(|info| info.name).filter(wanted).collect(),
            ..base
        }
    }
}

/// A pipeline that is about to run as a command line asks.
pub struct PipelineRun<'a> {
    /// How.
    pub options: &'a PassOptions,
    /// What else the manager is told.
    pub manager: ManagerOptions,
    /// The passes.
    pub pipeline: &'a Pipeline,
    /// The same, resolved.
    pub resolved: &'a ResolvedPipeline,
    /// How IR is printed.
    pub print: PrintOptions,
    /// Where the IR after each pass goes.
    pub dump_dir: Option<&'a Path>,
    /// How findings are shown.
    pub format: DiagnosticFormat,
}

impl PipelineRun<'_> {
    /// Runs the passes and shows what is asked for; a crash leaves `reproducer`.
    ///
    /// # Errors
    /// A pass refuses the module or crashes, or a dump cannot be written.
    pub fn run(
        self,
        module: &mut Module,
        artifacts: Artifacts,
        watch: &mut dyn Instrumentation,
        reproducer: &mut Reproducer,
    ) -> Result<Run, Failure> {
        let when = self.options.print_when();
        let shown = Watch::new(&when, self.print, self.dump_dir, self.pipeline);
        let mut watch = Watches { first: watch, shown, running: None };
        let options = self.options.manager_options(self.manager);
        let passes = AssertUnwindSafe(|| self.resolved.run(module, &options, artifacts, &mut watch));
        let result = catch_unwind(passes);
        let Watches { shown, running, .. } = watch;
        let run = result.map_err(|payload| {
            let pass = running.unwrap_or_default();
            let message = format!("pass `{pass}` panicked: {}", panic_message(payload.as_ref()));
            let finding = Diagnostic::error(DriverCode::Internal, Span::NONE, message);
            failure(Exit::Internal, finding, module).with_last_words(reproducer.last_words())
        })?;
        emit(&run.remarks, &module.sources, self.format);
        if let Some(format) = self.options.stats {
            write_statistics(&run.statistics, format);
        }
        if let Some(failure) = shown.failure {
            return Err(failure);
        }
        let Some(why) = run.failure else { return Ok(run) };
        let failed = Failure::of(exit_of(why), run.diagnostics, &module.sources);
        Err(match why {
            RunFailure::InvalidResult => failed.with_last_words(reproducer.last_words()),
            RunFailure::Input | RunFailure::CannotCompile => failed,
        })
    }
}

/// Two watches of one run, and the pass that runs.
struct Watches<'a, 'b> {
    first: &'a mut dyn Instrumentation,
    shown: Watch<'b>,
    running: Option<String>,
}

impl Instrumentation for Watches<'_, '_> {
    fn before_pass(&mut self, index: usize, entry: &PipelineEntry, module: &Module) {
        self.running = Some(entry.name.clone());
        self.first.before_pass(index, entry, module);
        self.shown.before_pass(index, entry, module);
    }

    fn after_pass(&mut self, index: usize, entry: &PipelineEntry, module: &Module) {
        self.first.after_pass(index, entry, module);
        self.shown.after_pass(index, entry, module);
    }

    fn failed_pass(&mut self, index: usize, entry: &PipelineEntry, module: &Module) {
        self.first.failed_pass(index, entry, module);
        self.shown.failed_pass(index, entry, module);
    }
}
