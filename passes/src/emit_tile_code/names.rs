//! Names of the sections that come into being, and how code refers to what is there already.
//!
//! The assembler has one space of names. Rows and kernels, which have names of the user's, are marked in it, so that a row
//! called `complete` is not taken for the runtime's. Afterwards marks are gone, and a section whose name is taken in the
//! program has another one.

use std::sync::Arc;

use ipu_device::hash::{HashMap, HashSet};
use ipu_dialects::tile::{Body, Section, TileProgram};

/// Marks names of rows and kernels; no name of the runtime starts with it.
const MARK: char = '@';

/// The assembler's name of row or kernel `name`.
pub(super) fn marked(name: &str) -> String {
    format!("{MARK}{name}")
}

/// The row or kernel that the assembler calls `name`.
pub(super) fn unmarked(name: &str) -> Option<&str> {
    name.strip_prefix(MARK)
}

/// Names in a program.
pub(super) struct Names {
    taken: HashSet<Arc<str>>,
    /// What sections that come into being are called.
    given: HashMap<Arc<str>, Arc<str>>,
}

impl Names {
    pub(super) fn of(program: &TileProgram) -> Self {
        let bindings = program.bindings.iter().map(|binding| binding.name.as_str().into());
        let kernels = program.kernels.iter().map(|kernel| Arc::clone(&kernel.symbol));
        let own = program.images.iter().flat_map(|image| &image.sections);
        let sections = program.common.iter().chain(own).map(|section| Arc::clone(&section.symbol));
        Self { taken: bindings.chain(kernels).chain(sections).collect(), given: HashMap::default() }
    }

    /// Gives sections from the assembler, and what their lines name, the names of the program.
    pub(super) fn settle(&mut self, sections: &mut [Section]) {
        for section in sections {
            section.symbol = self.name(&section.symbol);
            let (Body::Row(lines) | Body::Code(lines)) = &mut section.body else { continue };
            for symbol in lines.iter_mut().filter_map(|line| line.symbol.as_mut()) {
                *symbol = self.name(symbol);
            }
        }
    }

    fn name(&mut self, name: &Arc<str>) -> Arc<str> {
        if let Some(known) = self.given.get(name) {
            return Arc::clone(known);
        }
        let settled: Arc<str> = match unmarked(name) {
            Some(there) => there.into(),
            None => {
                let others = (2_u32..).map(|number| format!("{name}_{number}").into());
                let mut names = std::iter::once(Arc::clone(name)).chain(others);
                let free = names.find(|name| !self.taken.contains(name)).unwrap_or_default();
                self.taken.insert(Arc::clone(&free));
                free
            }
        };
        self.given.insert(Arc::clone(name), Arc::clone(&settled));
        settled
    }
}
