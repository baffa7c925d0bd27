//! What a pass is: its contract as data, its options, and its one function.

use indexmap::IndexMap;
use ipu_device::Coded;
use ipu_device::package::Package;
use ipu_dialects::diagnostics::{Diagnostic, Diagnostics};
use ipu_dialects::ir::{Module, OpId};
use serde_json::Value;

use super::options::{OptionError, OptionInfo};
use super::state::{State, main_program};
use super::statistics::Statistics;

/// A pass with its options set.
pub trait Pass {
    /// Changes `module` as the pass's contract says.
    ///
    /// # Errors
    /// The program cannot be lowered this way; the findings are in `context`.
    fn run(&self, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), PassFailure>;
}

/// Makes a pass from the options of a pipeline entry.
pub type CreatePass = fn(&IndexMap<String, String>) -> Result<Box<dyn Pass>, OptionError>;

/// A pass as the manager, the command line and the reference know it.
#[derive(Debug)]
pub struct PassInfo {
    /// Name, which is the flag without its dashes, the file, and the page.
    pub name: &'static str,
    /// The contract in one line.
    pub summary: &'static str,
    /// States the input must be in.
    pub requires: &'static [State],
    /// States the output is in that the input need not be.
    pub provides: &'static [State],
    /// Its options.
    pub options: &'static [OptionInfo],
    /// What its options are if nothing is said, as an object.
    pub defaults: fn() -> Value,
    /// Makes the pass with the options of a pipeline entry.
    pub create: CreatePass,
}

/// That a pass gave up; why stands in the diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassFailure {
    /// The input is not what the pass takes.
    Input,
    /// There is no plan, no schedule or no placement.
    CannotCompile,
}

/// Files of other formats that passes make or take.
#[derive(Debug, Default)]
pub struct Artifacts {
    /// The package that `build-package` made, or that `lift-package` takes apart.
    pub package: Option<Package>,
}

/// How many rewrites passes may still make; bisection lowers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fuel(Option<u64>);

impl Fuel {
    /// No limit, or at most that many rewrites.
    #[must_use]
    pub fn new(limit: Option<u64>) -> Self {
        Self(limit)
    }

    /// Whether one more rewrite may be made; counts it.
    pub fn take(&mut self) -> bool {
        match &mut self.0 {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }
}

/// What a pass works with besides the module.
pub struct PassContext<'a> {
    /// The pass that runs.
    pub pass: &'static str,
    /// Findings.
    pub diagnostics: &'a mut Diagnostics,
    /// Figures.
    pub statistics: &'a mut Statistics,
    /// Files of other formats.
    pub artifacts: &'a mut Artifacts,
    /// Rewrites left.
    pub fuel: &'a mut Fuel,
    /// Whether the pass may have changed the module; see [`PassContext::leaves_module`].
    pub(super) changed: bool,
    /// Where remarks go, if somebody wants those of this pass.
    pub remarks: Option<&'a mut Diagnostics>,
}

impl PassContext<'_> {
    /// Records a figure of this pass.
    pub fn record(&mut self, name: &'static str, value: impl Into<Value>) {
        self.statistics.record(self.pass, name, value);
    }

    /// Reads the main program of `module` by `read`.
    ///
    /// # Errors
    /// It cannot be read; the findings are recorded.
    pub fn read_main<T>(
        &mut self,
        module: &Module,
        read: impl FnOnce(&Module, OpId) -> Result<T, Diagnostics>,
    ) -> Result<T, PassFailure> {
        let _span = tracing::debug_span!("read").entered();
        let main = main_program(module).unwrap_or_else(|| module.root());
        read(module, main).map_err(|findings| {
            self.diagnostics.append(findings);
            PassFailure::Input
        })
    }

    /// States that the pass leaves the module as it was; what is known of the module then still holds.
    pub fn leaves_module(&mut self) {
        self.changed = false;
    }

    /// Says what was not done and why; `remark` is made only if somebody asked. To be made with [`Diagnostic::remark`].
    pub fn remark(&mut self, remark: impl FnOnce() -> Diagnostic) {
        if let Some(remarks) = &mut self.remarks {
            remarks.push(remark());
        }
    }

    /// Whether somebody wants remarks of this pass, for what is worth computing only then.
    #[must_use]
    pub fn wants_remarks(&self) -> bool {
        self.remarks.is_some()
    }

    /// Reports that `op` is not what the pass takes.
    pub fn refuse(
        &mut self,
        module: &Module,
        op: OpId,
        code: impl Coded,
        message: impl Into<String>,
    ) -> PassFailure {
        self.diagnostics.push(Diagnostic::error(code, module.span(op), message));
        PassFailure::Input
    }

    /// Reports why the program cannot be compiled.
    pub fn cannot_compile(&mut self, diagnostic: Diagnostic) -> PassFailure {
        self.diagnostics.push(diagnostic);
        PassFailure::CannotCompile
    }
}
