//! What can be wrong with an op of `mapped`.

use std::fmt;

use ipu_device::Coded;
use ipu_device::kernels::{KernelError, KernelFault};

use super::layout::LayoutError;
use crate::diagnostics::Diagnostic;
use crate::source::Span;

ipu_device::coded_enum! {
    /// Kinds of errors and lints of `mapped` ops.
    pub enum MappedCode {
        /// A value has no layout, or an element type that tiles do not store.
        NoLayout = "V0601", "tensor without a layout on tiles",
        /// Types or layouts of operands and results do not agree.
        Disagree = "V0602", "types or layouts of an op do not agree",
        /// The named kernel is not in the registry or is for something else.
        Kernel = "V0603", "no such kernel for this op",
        /// The block is not one that the kernel can be called with.
        Block = "V0604", "block does not fit the shards",
        /// Bytes that no copy or fill kernel can move.
        Movement = "V0605", "no kernel moves these bytes",
        /// A relabel gives the bytes another order: legal, and it changes the value.
        RelabelReorders = "V0606", "relabel changes the order of elements",
        /// A misplaced op.
        Misplaced = "V0607", "op in the wrong place",
        /// A storage meaning that read what nothing wrote, or a kernel that refused its memory.
        Fault = "V0608", "fault while executing an op",
    }
}

/// Why an op of `mapped` has no work or no meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MappedError {
    /// A layout, or layouts that must fit together.
    Layout(LayoutError),
    /// A kernel and its operands.
    Kernel(KernelError),
    /// A rule of the op.
    Op(MappedCode, String),
}

impl MappedError {
    pub(crate) fn new(code: MappedCode, message: impl Into<String>) -> Self {
        Self::Op(code, message.into())
    }

    /// The kind.
    #[must_use]
    pub fn coded(&self) -> &dyn Coded {
        match self {
            Self::Layout(error) => &error.code,
            Self::Kernel(error) => &error.code,
            Self::Op(code, _) => code,
        }
    }

    /// The error at `span`.
    #[must_use]
    pub fn at(&self, span: Span) -> Diagnostic {
        match self {
            Self::Layout(error) => Diagnostic::error(error.code, span, error.message.clone()),
            Self::Kernel(error) => Diagnostic::error(error.code, span, error.message.clone()),
            Self::Op(code, message) => Diagnostic::error(*code, span, message.clone()),
        }
    }
}

impl fmt::Display for MappedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layout(error) => f.write_str(&error.message),
            Self::Kernel(error) => f.write_str(&error.message),
            Self::Op(_, message) => f.write_str(message),
        }
    }
}

impl std::error::Error for MappedError {}

impl From<LayoutError> for MappedError {
    fn from(error: LayoutError) -> Self {
        Self::Layout(error)
    }
}

impl From<KernelError> for MappedError {
    fn from(error: KernelError) -> Self {
        Self::Kernel(error)
    }
}

impl From<KernelFault> for MappedError {
    fn from(fault: KernelFault) -> Self {
        Self::new(MappedCode::Fault, fault.to_string())
    }
}
