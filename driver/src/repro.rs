//! Reproducers: one text file that holds all that a run depends on, written on request or when a pass crashes.
//!
//! The file is the input as it entered, with explicit locations, under the lines of [`rerun`]: the command with the passes and every
//! flag that changes the outcome, the version of the tool, and the hashes of data files. Rerunning it gives the same bytes, and so does
//! its own reproducer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ipu_dialects::ir::Module;
use ipu_dialects::parser::parse_part;
use ipu_dialects::printer::{PrintOptions, print_with};
use ipu_dialects::source::{SourceMap, SourceText};
use ipu_dialects::tensor_data::sha256;
use regex::Regex;

use crate::chunks::Chunk;
use crate::exit::{DriverCode, Exit, Failure};
use crate::files::{quoted, write_whole};
use crate::load::LoadOptions;
use crate::process;
use crate::rerun;

/// Names the folder for reproducers of crashes; the system's folder for temporary files without it.
const FOLDER_VARIABLE: &str = "IPU_REPRO_DIR";

/// All that makes a run.
#[derive(Debug)]
pub struct Reproducer {
    program: &'static str,
    flags: Vec<String>,
    /// Name and text of the input; nothing if it is no text.
    input: Option<(Arc<str>, SourceText)>,
    options: LoadOptions,
    /// The part of the input that is kept, where it is not all.
    chunk: Option<Chunk>,
    /// Where it was written already.
    written: Option<PathBuf>,
}

impl Reproducer {
    /// A run of `program`, as in `ipu run`, with `flags` on `module` as it was loaded.
    #[must_use]
    pub fn new(program: &'static str, mut flags: Vec<String>, module: &Module, options: LoadOptions) -> Self {
        flags.extend(process::flags());
        let input = module.sources.files().next().map(|(_, file)| (file.name.clone(), file.text.clone()));
        if options.allow_unregistered {
            flags.push("--allow-unregistered-dialect".to_owned());
        }
        Self { program, flags, input, options, chunk: None, written: None }
    }

    /// Keeps only `chunk` of the input, if there is one; the file has its number before the extension.
    pub fn of_chunk(&mut self, chunk: Option<&Chunk>) {
        self.chunk = chunk.cloned();
    }

    /// A run of `program` on what is no text, such as a package; it cannot be written.
    #[must_use]
    pub fn without_input(program: &'static str) -> Self {
        Self::new(program, Vec::new(), &Module::new(), LoadOptions::default())
    }

    /// Writes the reproducer to `path`.
    ///
    /// # Errors
    /// The input is no text, or the file cannot be written.
    pub fn write(&mut self, path: &Path) -> Result<(), Failure> {
        let Some(ir) = self.ir() else {
            let message =
                "`--repro` keeps an input that is IR; of a package, its own bytes are the reproducer";
            return Err(Failure::new(Exit::Input, DriverCode::Usage, message));
        };
        let numbered = self.chunk.as_ref().map(|chunk| {
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            path.with_extension(format!("{}.{extension}", chunk.number).trim_end_matches('.'))
        });
        let path = numbered.as_deref().unwrap_or(path);
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        write_whole(path, self.text(&name, &ir).as_bytes())?;
        self.written = Some(path.to_owned());
        Ok(())
    }

    /// Sees to it that there is a reproducer and says where, and how to run it: the last lines of a crash.
    #[must_use]
    pub fn last_words(&mut self) -> String {
        if self.written.is_none()
            && let Some(ir) = self.ir()
        {
            let folder = std::env::var_os(FOLDER_VARIABLE).map_or_else(std::env::temp_dir, PathBuf::from);
            let digest = sha256(self.text("", &ir).as_bytes());
            let path = folder.join(format!("ipu-repro-{}.ir", &digest[..12]));
            let made = std::fs::create_dir_all(&folder).is_ok() && self.write(&path).is_ok();
            if !made {
                eprintln!("no reproducer can be written to `{}`", path.display());
            }
        }
        match &self.written {
            Some(path) => {
                let path = path.to_string_lossy();
                format!("reproducer: {path}\nrerun: {} --rerun {}\n", self.program, quoted(&path))
            }
            None => format!("rerun: {}\n", process::whole_command_line()),
        }
    }

    fn text(&self, name: &str, ir: &str) -> String {
        let lines = rerun::first_line(self.program, &self.flags, name);
        lines + &rerun::further_lines(data_files(ir).into_iter()) + ir
    }

    /// The input with explicit locations; as it was read, if the parser or the printer is what crashes.
    fn ir(&self) -> Option<String> {
        let (name, text) = self.input.as_ref()?;
        let part = self.chunk.as_ref().map_or(0..text.len(), |chunk| chunk.part.clone());
        let print = || {
            let mut sources = SourceMap::default();
            let file = sources.add(name, text.clone());
            let (mut module, findings) =
                parse_part(sources, file, part.clone(), self.options.parse_options());
            module.make_locations_explicit();
            let print = PrintOptions { generic: false, locations: true };
            (!findings.has_errors()).then(|| print_with(&module, print))
        };
        let printed = catch_unwind(AssertUnwindSafe(print)).ok().flatten();
        Some(printed.unwrap_or_else(|| text.get(part).unwrap_or_default().to_owned()))
    }
}

/// Paths of the data files that `ir` refers to, in order, each once.
fn data_files(ir: &str) -> Vec<&str> {
    let Ok(reference) = Regex::new(r#"#ipu\.npy<"([^"\\\n]*)">"#) else { return Vec::new() };
    let mut paths: Vec<&str> = Vec::new();
    for found in reference.captures_iter(ir) {
        let path = found.get(1).map_or("", |path| path.as_str());
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// What a panic says.
#[must_use]
pub fn panic_message(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message")
}
