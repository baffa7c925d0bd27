//! The pass manager: what a pass is, which there are, and how a pipeline of them runs.

pub mod codes;
mod crash;
pub mod options;
mod pass;
pub mod pipeline;
pub mod registry;
mod runner;
pub mod state;
pub mod statistics;

pub use codes::{PassCode, RemarkCode};
pub use crash::PlantedCrash;
pub use options::{OptionError, OptionInfo};
pub use pass::{Artifacts, CreatePass, Fuel, Pass, PassContext, PassFailure, PassInfo};
pub use pipeline::{Pipeline, PipelineEntry, PipelineError};
pub use runner::{Instrumentation, ManagerOptions, ResolvedPipeline, Run, RunFailure, Silent, StageTime};
pub use state::State;
pub use statistics::{Statistic, Statistics};
