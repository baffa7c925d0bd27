//! What can go wrong between host and device.

use std::fmt;

use crate::coded::Coded;
use crate::package::PackageError;

use super::machine::MachineFault;

crate::coded_enum! {
    /// What can go wrong between host and device.
    pub enum RuntimeCode {
        /// The lock file cannot be opened or locked.
        Lock = "D0350", "device lock failed",
        /// There is no device.
        NoDevice = "D0351", "no device",
        /// The kernel driver or the operating system refused.
        Io = "D0352", "device request failed",
        /// A register did not reach its value in time.
        Timeout = "D0353", "device did not answer in time",
        /// The control unit answered the reset with something else.
        Reset = "D0354", "unexpected reset response",
        /// The file of device configuration writes is malformed.
        Configuration = "D0355", "malformed device configuration",
        /// There is no boot program, or it does not fit.
        BootProgram = "D0356", "wrong boot program",
        /// A register was accessed at a wrong offset, or a buffer index is taken.
        Access = "D0357", "wrong device access",
        /// The boot program refused a descriptor or frame.
        Boot = "D0358", "boot program refused the load",
        /// The tile program ended although the host had more to say.
        ProgramEnded = "D0359", "program ended early",
        /// Tiles still run after the last call.
        NotHalted = "D0360", "program did not end",
        /// A call does not exist, or its bytes or phases are wrong.
        Call = "D0361", "wrong host call",
        /// A page is too large.
        Page = "D0362", "wrong host page",
        /// The package asks for something that only a simulator can do.
        SimulatorOnly = "D0363", "not executable on hardware",
    }
}

/// A run that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuntimeError {
    /// The host's protocol failed.
    Protocol {
        /// The kind.
        code: RuntimeCode,
        /// The step: `bootloader batch 3`, `host call run phase 1/3`.
        at: String,
        /// What is wrong and what was expected.
        message: String,
        /// How to mend it, if known.
        fix: Option<&'static str>,
    },
    /// The package cannot be run.
    Package(PackageError),
    /// The simulated tiles are at fault.
    Fault(MachineFault),
}

impl RuntimeError {
    pub(super) fn new(code: RuntimeCode, at: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Protocol { code, at: at.into(), message: message.into(), fix: None }
    }

    pub(super) fn fix(mut self, advice: &'static str) -> Self {
        if let Self::Protocol { fix, .. } = &mut self {
            *fix = Some(advice);
        }
        self
    }

    /// The stable code of the kind.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Protocol { code, .. } => code.code(),
            Self::Package(error) => error.code.code(),
            Self::Fault(fault) => fault.code,
        }
    }

    /// Whether the simulated tiles are at fault: the program is wrong, not the way it was run.
    #[must_use]
    pub fn is_program_fault(&self) -> bool {
        match self {
            Self::Protocol { code, .. } => matches!(code, RuntimeCode::ProgramEnded | RuntimeCode::NotHalted),
            Self::Package(_) => false,
            Self::Fault(_) => true,
        }
    }
}

impl fmt::Display for RuntimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol { code, at, message, fix } => {
                write!(f, "{}: {at}: {message}", code.title())?;
                fix.map_or(Ok(()), |fix| write!(f, "; {fix}"))
            }
            Self::Package(error) => error.fmt(f),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for RuntimeError {}

impl From<PackageError> for RuntimeError {
    fn from(error: PackageError) -> Self {
        Self::Package(error)
    }
}

impl From<MachineFault> for RuntimeError {
    fn from(fault: MachineFault) -> Self {
        Self::Fault(fault)
    }
}
