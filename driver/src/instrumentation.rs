//! What a user sees while a pipeline runs: IR before and after passes on standard error, numbered files in a folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ipu_dialects::ir::Module;
use ipu_dialects::printer::{PrintOptions, print_with};
use ipu_passes::manager::{Instrumentation, Pipeline, PipelineEntry};

use crate::exit::Failure;
use crate::files::write_whole;
use crate::rerun::{first_line, pipeline_flag};

/// When IR is printed.
#[derive(Debug, Clone, Default)]
pub struct PrintWhen {
    /// Before these passes.
    pub before: BTreeSet<String>,
    /// After these passes.
    pub after: BTreeSet<String>,
    /// Before every pass.
    pub before_all: bool,
    /// After every pass.
    pub after_all: bool,
    /// After a pass only if it changed something.
    pub only_changed: bool,
    /// After a pass that failed.
    pub after_failure: bool,
}

/// The text of a module, as a span of the time table.
#[must_use]
pub fn printed(module: &Module, options: PrintOptions) -> String {
    let _span = tracing::debug_span!("print").entered();
    print_with(module, options)
}

/// Prints and dumps as asked.
pub struct Watch<'a> {
    when: &'a PrintWhen,
    print: PrintOptions,
    dump: Option<Dump<'a>>,
    last: Option<String>,
    /// The first dump that could not be written.
    pub failure: Option<Failure>,
}

/// A folder of numbered files, one a pass.
struct Dump<'a> {
    folder: PathBuf,
    pipeline: &'a Pipeline,
}

impl<'a> Watch<'a> {
    /// Watches `pipeline`; files go to `dump`, if there is one.
    #[must_use]
    pub fn new(
        when: &'a PrintWhen,
        print: PrintOptions,
        dump: Option<&Path>,
        pipeline: &'a Pipeline,
    ) -> Self {
        let dump = dump.map(|folder| Dump { folder: folder.to_owned(), pipeline });
        Self { when, print, dump, last: None, failure: None }
    }

    fn show(&self, moment: &str, entry: &PipelineEntry, module: &Module) {
        eprintln!("// ----- IR {moment} {entry} -----\n{}", printed(module, self.print));
    }

    /// Step `index` is the input (0) or the result of pass `index - 1`.
    fn dump(&mut self, index: usize, name: &str, module: &Module) {
        let Some(dump) = &self.dump else { return };
        if let Err(failure) = dump.write(index, name, &printed(module, self.print)) {
            self.failure.get_or_insert(failure);
        }
    }
}

impl Dump<'_> {
    fn write(&self, index: usize, name: &str, text: &str) -> Result<(), Failure> {
        write_dump(&self.folder, self.pipeline, index, name, text)
    }
}

/// The file of step `index` of a pipeline: the input (0) or the result of pass `index - 1`.
#[must_use]
pub fn dump_name(index: usize, name: &str) -> String {
    format!("{index:02}-{name}.ir")
}

/// Writes the IR of step `index` into `folder`, with the command that goes on from there in its first line.
///
/// # Errors
/// The folder or the file cannot be written.
pub fn write_dump(
    folder: &Path,
    pipeline: &Pipeline,
    index: usize,
    name: &str,
    text: &str,
) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| {
        let message = format!("cannot create folder `{}`: {error}", folder.display());
        Failure::new(crate::exit::Exit::Input, crate::exit::DriverCode::Unwritable, message)
    })?;
    let file = dump_name(index, name);
    let rest = Pipeline { entries: pipeline.entries.get(index..).unwrap_or_default().to_vec() };
    let header = first_line("ipu-opt", &[pipeline_flag(&rest)], &file);
    write_whole(&folder.join(file), (header + text).as_bytes())
}

impl Instrumentation for Watch<'_> {
    fn before_pass(&mut self, index: usize, entry: &PipelineEntry, module: &Module) {
        if index == 0 {
            self.dump(0, "input", module);
        }
        if self.when.before_all || self.when.before.contains(&entry.name) {
            self.show("before", entry, module);
        }
        if self.when.only_changed && self.last.is_none() {
            self.last = Some(printed(module, self.print));
        }
    }

    fn after_pass(&mut self, index: usize, entry: &PipelineEntry, module: &Module) {
        self.dump(index + 1, &entry.name, module);
        let wanted = self.when.after_all || self.when.after.contains(&entry.name);
        if self.when.only_changed {
            let text = printed(module, self.print);
            if wanted && self.last.as_ref() != Some(&text) {
                self.show("after", entry, module);
            }
            self.last = Some(text);
        } else if wanted {
            self.show("after", entry, module);
        }
    }

    fn failed_pass(&mut self, _index: usize, entry: &PipelineEntry, module: &Module) {
        if self.when.after_failure {
            self.show("after failure of", entry, module);
        }
    }
}
