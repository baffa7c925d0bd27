//! Compiling a module as a command line asks: which passes, with which choices, what is kept on the way.

use std::path::{Path, PathBuf};

use clap::Args;
use ipu_dialects::ir::Module;
use ipu_dialects::printer::PrintOptions;
use ipu_passes::manager::{Artifacts, ManagerOptions, Pipeline, ResolvedPipeline, Run, State, registry};
use ipu_passes::select_plans::Prices;

use crate::exit::{Exit, Failure};
use crate::figures::Figures;
use crate::load::LoadOptions;
use crate::opt::resolve_text;
use crate::pass_options::{PassOptions, PipelineRun};
use crate::render::DiagnosticFormat;
use crate::repro::Reproducer;
use crate::rerun::{flag, pipeline_flag};

/// Which passes run, and with which choices.
#[derive(Debug, Args)]
pub struct CompileOptions {
    /// Passes to run instead of the default pipeline.
    #[arg(long, value_name = "PIPELINE")]
    pass_pipeline: Option<String>,
    /// Take passes and flags from the first line of the file, as in dumps, reproducers and reduced files.
    #[arg(long)]
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

    /// What `program` is about to do with `module`, as it was loaded: the passes asked for, else the default pipeline from its
    /// level down to `last`. A reproducer is written now, if it is asked for; `flags` are those of the program alone.
    ///
    /// # Errors
    /// The pipeline does not resolve, or the reproducer cannot be written.
    pub fn compilation<'a>(
        &'a self,
        passes: &'a PassOptions,
        program: &'static str,
        flags: Vec<String>,
        module: &Module,
        last: State,
    ) -> Result<Compilation<'a>, Failure> {
        let (pipeline, resolved) = self.pipeline(module, last)?;
        let mut all = vec![pipeline_flag(&pipeline)];
        if self.prices != PriceList::default() {
            all.push(flag("prices", self.prices().name()));
        }
        all.extend(passes.flags());
        #[cfg(feature = "mutations")]
        all.extend(self.mutate.map(|mutation| flag("mutate", mutation.name)));
        all.extend(flags);
        let mut reproducer = Reproducer::new(program, all, module, self.load_options());
        passes.write_reproducer(&mut reproducer)?;
        Ok(Compilation { options: self, passes, pipeline, resolved, reproducer })
    }

    /// How the file is loaded.
    #[must_use]
    pub fn load_options(&self) -> LoadOptions {
        LoadOptions { rerun: self.rerun, ..LoadOptions::default() }
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

/// A compilation that is about to run.
pub struct Compilation<'a> {
    options: &'a CompileOptions,
    passes: &'a PassOptions,
    pipeline: Pipeline,
    resolved: ResolvedPipeline,
    reproducer: Reproducer,
}

impl Compilation<'_> {
    /// Runs the passes.
    ///
    /// # Errors
    /// A pass refuses the module or crashes, or a dump cannot be written.
    pub fn run(mut self, module: &mut Module) -> Result<(Run, Figures), Failure> {
        let dump_dir = self.options.dump_dir();
        if dump_dir.is_some() || self.passes.keeps_locations() {
            module.make_locations_explicit();
        }
        let run = PipelineRun {
            options: self.passes,
            manager: self.options.manager_options(),
            pipeline: &self.pipeline,
            resolved: &self.resolved,
            print: PrintOptions { generic: false, locations: true },
            dump_dir,
            format: DiagnosticFormat::Text,
        };
        let mut figures = Figures::new(self.options.prices());
        let run = run.run(module, Artifacts::default(), &mut figures, &mut self.reproducer)?;
        figures.observe(module);
        figures.log();
        Ok((run, figures))
    }
}
