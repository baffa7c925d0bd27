//! The pass manager: what a pass is, which there are, and how a pipeline of them runs.

pub mod pipeline;

pub use pipeline::{Pipeline, PipelineEntry, PipelineError};
