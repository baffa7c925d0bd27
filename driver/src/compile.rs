//! Compiling a module as a command line asks: which passes, with which choices, what is kept on the way.

use std::path::{Path, PathBuf};

use clap::Args;
use ipu_dialects::ir::Module;
use ipu_dialects::printer::PrintOptions;
use ipu_passes::manager::{
    Artifacts, Instrumentation, ManagerOptions, Pipeline, PipelineEntry, ResolvedPipeline, Run, State,
    registry,
};
use ipu_passes::select_plans::Prices;

use crate::exit::{DriverCode, Exit, Failure};
use crate::figures::Figures;
use crate::instrumentation::{PrintWhen, Watch};
use crate::opt::{exit_of, resolve_text};

/// Which passes run, and with which choices.
#[derive(Debug, Args)]
pub struct CompileOptions {
    /// Passes to run instead of the default pipeline.
    #[arg(long, value_name = "PIPELINE")]
    pass_pipeline: Option<String>,
    /// Run the passes that the first line of the file names, as in dumps and reduced files.
    #[arg(long, conflicts_with = "pass_pipeline")]
    rerun: bool,
    /// Choices that the plan must keep, such as grid=8x4x2.
    #[arg(long, value_name = "KEY=VALUE,...")]
    plan: Option<String>,
    /// Price list that plans are compared by.
    #[arg(long, value_enum, default_value_t)]
    prices: PriceList,
    /// Write the IR after each pass to numbered files.
    #[arg(long, value_name = "FOLDER")]
    dump_dir: Option<PathBuf>,
    /// Plant this miscompile in the pass that it is for.
    #[cfg(feature = "mutations")]
    #[arg(long, value_name = "NAME", value_parser = crate::mutations::parse)]
    mutate: Option<&'static ipu_passes::mutations::Mutation>,
}

/// A price list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum PriceList {
    /// Formulas fitted to hardware, phases by their schedules.
    #[default]
    Calibrated,
    /// The counting rule of the recorded run.
    Recorded,
}

impl CompileOptions {
    /// The price list asked for.
    #[must_use]
    pub fn prices(&self) -> Prices {
        match self.prices {
            PriceList::Calibrated => Prices::Calibrated,
            PriceList::Recorded => Prices::Recorded,
        }
    }

    /// Runs the passes asked for, else the default pipeline from the module's level down to `last`.
    ///
    /// # Errors
    /// The pipeline does not resolve, a pass refuses the module, or a dump cannot be written.
    pub fn compile(&self, module: &mut Module, last: State) -> Result<(Run, Figures), Failure> {
        let (pipeline, resolved) = self.pipeline(module, last)?;
        let when = PrintWhen::default();
        let print = PrintOptions { generic: false, locations: true };
        if self.dump_dir.is_some() {
            module.make_locations_explicit();
        }
        let mut watch = Both {
            figures: Figures::new(self.prices()),
            dump: Watch::new(&when, print, self.dump_dir.as_deref(), &pipeline),
        };
        let run = resolved.run(module, &self.manager_options(), Artifacts::default(), &mut watch);
        let Both { mut figures, dump } = watch;
        if let Some(failure) = dump.failure {
            return Err(failure);
        }
        if let Some(failure) = run.failure {
            return Err(Failure::of(exit_of(failure), run.diagnostics, &module.sources));
        }
        figures.observe(module);
        figures.log();
        Ok((run, figures))
    }

    /// How the pass manager runs them.
    #[must_use]
    pub fn manager_options(&self) -> ManagerOptions {
        ManagerOptions {
            #[cfg(feature = "mutations")]
            mutation: self.mutate,
            ..ManagerOptions::default()
        }
    }

    /// The flag that makes other programs plant the same miscompile, with a space before it; empty if there is none.
    #[must_use]
    pub fn mutation_flag(&self) -> String {
        #[cfg(feature = "mutations")]
        if let Some(mutation) = self.mutate {
            return format!(" --mutate={}", mutation.name);
        }
        String::new()
    }

    /// Where dumps go.
    #[must_use]
    pub fn dump_dir(&self) -> Option<&Path> {
        self.dump_dir.as_deref()
    }

    /// The passes asked for, else the default pipeline from the module's level down to `last`.
    ///
    /// # Errors
    /// The pipeline does not resolve.
    pub fn pipeline(&self, module: &Module, last: State) -> Result<(Pipeline, ResolvedPipeline), Failure> {
        if self.rerun {
            return resolve_text("the first line of the file", noted_pipeline(module)?);
        }
        if let Some(text) = &self.pass_pipeline {
            return resolve_text("--pass-pipeline", text);
        }
        let mut pipeline = registry::default_pipeline(module, last);
        for entry in pipeline.entries.iter_mut().filter(|entry| entry.name == "select-plans") {
            entry.options.insert("prices".to_owned(), self.prices().name().to_owned());
            if let Some(plan) = &self.plan {
                entry.options.insert("plan".to_owned(), plan.clone());
            }
        }
        let resolved = ResolvedPipeline::new(&pipeline, |_| ipu_dialects::source::Span::NONE)
            .map_err(|findings| Failure::of(Exit::Input, findings, &module.sources))?;
        Ok((pipeline, resolved))
    }
}

/// The pipeline in the first line of the file that `module` was read from.
fn noted_pipeline(module: &Module) -> Result<&str, Failure> {
    const FLAG: &str = "--pass-pipeline='";
    let first = module.sources.files().next().and_then(|(_, file)| file.text.lines().next());
    let noted = first.filter(|line| line.starts_with("//")).and_then(|line| line.split_once(FLAG));
    noted.and_then(|(_, rest)| rest.split_once('\'')).map(|(pipeline, _)| pipeline).ok_or_else(|| {
        let message = "the first line of the file names no passes; `--rerun` takes files that start with \
                       `// ... --pass-pipeline='...'`, as dumps and reduced files do";
        Failure::new(Exit::Input, DriverCode::Usage, message)
    })
}

/// Figures and dumps of one run.
struct Both<'a> {
    figures: Figures,
    dump: Watch<'a>,
}

impl Instrumentation for Both<'_> {
    fn before_pass(&mut self, index: usize, entry: &PipelineEntry, module: &Module) {
        self.figures.before_pass(index, entry, module);
        self.dump.before_pass(index, entry, module);
    }

    fn after_pass(&mut self, index: usize, entry: &PipelineEntry, module: &Module) {
        self.dump.after_pass(index, entry, module);
    }
}
