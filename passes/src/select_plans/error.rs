//! Why there is no plan.

use std::fmt;

use ipu_device::Coded as _;
use ipu_device::kernels::KernelError;
use ipu_dialects::mapped::layout::LayoutError;

ipu_device::coded_enum! {
    /// Kinds of planning errors.
    pub enum PlanCode {
        /// The operation cannot be computed whatever the plan.
        BadProblem = "P0601", "operation cannot be planned",
        /// No kernel of the registry does a step of the plan.
        NoKernel = "P0602", "no kernel for a step of the plan",
        /// Every candidate needs more memory than a tile has.
        DoesNotFit = "P0603", "no plan fits the tiles",
        /// A pin contradicts the operation or the device.
        BadPin = "P0604", "pinned plan is not possible",
        /// An option is out of range.
        BadOption = "P0605", "planning option out of range",
        /// A plan's own layouts do not fit together: an error of the compiler.
        Inconsistent = "P0606", "layouts of a plan do not fit together",
        /// The pass does not take a program of this form yet.
        Unsupported = "P0610", "program cannot be planned yet",
    }
}

/// A planning error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError {
    /// The kind.
    pub code: PlanCode,
    /// What is wrong, what was expected, and the fix where it is known.
    pub message: String,
}

impl PlanError {
    pub(crate) fn new(code: PlanCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.title(), self.message)
    }
}

impl std::error::Error for PlanError {}

impl From<KernelError> for PlanError {
    fn from(error: KernelError) -> Self {
        Self::new(PlanCode::NoKernel, error.message)
    }
}

impl From<LayoutError> for PlanError {
    fn from(error: LayoutError) -> Self {
        Self::new(PlanCode::Inconsistent, error.to_string())
    }
}
