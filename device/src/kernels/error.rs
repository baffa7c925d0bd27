//! What can go wrong with a kernel: in its description ([`KernelError`]) or while it runs ([`KernelFault`]).

use std::fmt;

crate::coded_enum! {
    /// What can be wrong with a kernel, its scalars or its operands.
    pub enum KernelCode {
        /// No entry has this symbol.
        UnknownKernel = "D0621", "unknown kernel",
        /// A compile-time constant is out of range.
        BadConstant = "D0622", "kernel constant out of range",
        /// A scalar argument is unknown, missing or given twice.
        WrongScalars = "D0623", "kernel scalars do not match its arguments",
        /// A scalar argument is out of range or does not fit the others.
        ScalarOutOfRange = "D0624", "kernel scalar out of range",
        /// Scalars made for one kernel were given to another.
        ForeignScalars = "D0625", "scalars of another kernel",
        /// Number or element type of operands differ from the kernel's.
        WrongOperands = "D0626", "kernel operands do not match",
        /// An operand's element order or shape is not what the kernel works on.
        LayoutMismatch = "D0627", "operand layout does not fit the kernel",
        /// An operand is larger than tile memory.
        OperandTooLarge = "D0628", "kernel operand larger than tile memory",
        /// The memory refused an access of a running kernel.
        MemoryRefused = "D0629", "memory access of a kernel refused",
    }
}

/// An error in the description of a kernel or a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelError {
    /// Its kind.
    pub code: KernelCode,
    /// What is wrong, what was expected, the fix.
    pub message: String,
}

impl KernelError {
    /// An error of that kind.
    #[must_use]
    pub fn new(code: KernelCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for KernelError {}

/// A fault of a running kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelFault {
    /// The call itself is not valid: its registers hold values that the kernel cannot work with.
    Call(KernelError),
    /// The memory refused an access.
    Memory {
        /// Index of the operand.
        operand: usize,
        /// First byte of the access, from the operand's pointer.
        offset: u32,
        /// Bytes of the access.
        bytes: u32,
        /// Why, from the implementation of the memory.
        reason: String,
    },
}

impl KernelFault {
    /// The kind of fault.
    #[must_use]
    pub fn code(&self) -> KernelCode {
        match self {
            Self::Call(error) => error.code,
            Self::Memory { .. } => KernelCode::MemoryRefused,
        }
    }
}

impl From<KernelError> for KernelFault {
    fn from(error: KernelError) -> Self {
        Self::Call(error)
    }
}

impl fmt::Display for KernelFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(error) => error.fmt(f),
            Self::Memory { operand, offset, bytes, reason } => {
                write!(
                    f,
                    "access to bytes {offset}..{} of operand {operand}: {reason}",
                    u64::from(*offset) + u64::from(*bytes)
                )
            }
        }
    }
}

impl std::error::Error for KernelFault {}
