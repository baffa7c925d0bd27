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

ipu_device::coded_enum! {
    /// What passes say, if asked, about what they did not do.
    pub enum RemarkCode {
        /// Phases that follow each other do not become one.
        PhasesApart = "P1201", "phases stay apart",
        /// Transfers that read the same or adjacent words do not become one.
        TransfersApart = "P1202", "transfers stay apart",
        /// Fewer transfers would do, but not in fewer events.
        RewriteGivenUp = "P1203", "rewriting given up",
        /// No phase can be shorter at other addresses.
        NothingToGain = "P1211", "no gain from other addresses",
        /// Storage would have to move for a shorter phase, and is not moved.
        NotReplaced = "P1212", "re-placement not kept",
        /// A finalist is not the program.
        PlanNotChosen = "P1221", "plan not chosen",
        /// Candidates were rejected before they were finalists.
        PlansRejected = "P1222", "plans rejected",
    }
}
