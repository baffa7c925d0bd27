//! Kinds of error of pipelines and the pass manager.

ipu_device::coded_enum! {
    /// What can be wrong with a pipeline or its run.
    pub enum PassCode {
        /// No pass has that name.
        UnknownPass = "P0001", "unknown pass",
        /// A pass does not take that option or value.
        BadOption = "P0002", "bad pass option",
        /// The text of a pipeline does not parse.
        BadPipeline = "P0003", "malformed pipeline",
        /// The input is in an earlier state than the pass takes.
        MissingState = "P0004", "input in an earlier state",
        /// A pass left an invalid module.
        InvalidResult = "P0005", "pass left an invalid module",
    }
}
