//! Planted miscompiles on the command line, and the campaign that bisects each of them.

use std::path::Path;

use ipu_dialects::ir::Module;
use ipu_dialects::spelling::nearest;
use ipu_passes::manager::{ManagerOptions, Pipeline, State, registry};
use ipu_passes::mutations::{self, Mutation};

use crate::bisect::bisect;
use crate::bisect::report::{Detected, OpAt};
use crate::exit::Failure;
use crate::load::{LoadOptions, load};
use crate::stages::Stages;

/// The mutation of that name, for command lines.
///
/// # Errors
/// There is none; the text names the nearest.
pub fn parse(name: &str) -> Result<&'static Mutation, String> {
    mutations::find(name).ok_or_else(|| {
        let near = nearest(name, mutations::all().iter().map(|mutation| mutation.name));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        format!("no mutation `{name}`{near} `ipu-opt --list-mutations` prints all of them")
    })
}

/// All mutations, one a line.
#[must_use]
pub fn list() -> String {
    let line = |mutation: &&Mutation| {
        let Mutation { name, pass, op, summary, .. } = mutation;
        format!("{name:26} {pass:28} {op:24} {summary}\n")
    };
    mutations::all().iter().map(line).collect()
}

/// What bisection made of one mutation.
#[derive(Debug, Clone)]
pub struct Attribution {
    /// The mutation.
    pub name: &'static str,
    /// The pass that it is planted in.
    pub pass: &'static str,
    /// The op that is wrong.
    pub op: &'static str,
    /// How it came to light; nothing if it did not.
    pub detected: Option<Detected>,
    /// The pass that was named.
    pub named_pass: Option<String>,
    /// The ops that were named: in the program that the pass left, and in what that became.
    pub named_ops: Vec<String>,
    /// Whether pass and op are right.
    pub correct: bool,
    /// Whether the pass is right.
    pub pass_correct: bool,
}

/// The passes that compile `module`, which was read from the file of `mutation`, to the state `last`, with the plan that it needs.
#[must_use]
pub fn pipeline(mutation: &Mutation, module: &Module, last: State) -> Pipeline {
    let mut pipeline = registry::default_pipeline(module, last);
    if let Some(plan) = mutation.plan {
        for entry in pipeline.entries.iter_mut().filter(|entry| entry.name == "select-plans") {
            entry.options.insert("plan".to_owned(), plan.to_owned());
        }
    }
    pipeline
}

/// Plants `mutation`, compiles its file below `folder`, and bisects.
///
/// # Errors
/// The file cannot be read, or has no data or reference.
pub fn attribute(mutation: &'static Mutation, folder: &Path) -> Result<Attribution, Failure> {
    let (mut module, _) = load(&folder.join(mutation.case).to_string_lossy(), LoadOptions::default())?;
    module.make_locations_explicit();
    let pipeline = pipeline(mutation, &module, State::Code);
    let options = ManagerOptions { mutation: Some(mutation), ..ManagerOptions::default() };
    let stages = Stages::run(module, &pipeline, &options)?;
    let finding = bisect(&stages, &options);
    let named_pass = finding.as_ref().map(|finding| finding.pass.clone());
    let ops: Vec<&OpAt> =
        finding.iter().flat_map(|finding| [&finding.op, &finding.emitted]).flatten().collect();
    let pass_correct = named_pass.as_deref() == Some(mutation.pass);
    let correct = pass_correct && ops.iter().any(|op| op.is_a(mutation.op));
    let named_ops = ops.iter().map(|op| op.name.clone()).collect();
    Ok(Attribution {
        name: mutation.name,
        pass: mutation.pass,
        op: mutation.op,
        detected: finding.as_ref().map(|finding| finding.detected),
        named_pass,
        named_ops,
        correct,
        pass_correct,
    })
}

/// The table of a campaign.
#[must_use]
pub fn table(all: &[Attribution]) -> String {
    let mut text = format!(
        "{:26} {:14} {:28} {:36} {}\n",
        "mutation", "detected by", "pass named", "ops named", "correct"
    );
    for one in all {
        let detected = one.detected.map_or("nothing", Detected::name);
        let pass = one.named_pass.as_deref().unwrap_or("-");
        let verdict = match (one.correct, one.pass_correct) {
            (true, _) => "yes".to_owned(),
            (false, true) => format!("pass only; op is {}", one.op),
            (false, false) => format!("NO; planted in {}, {}", one.pass, one.op),
        };
        text.push_str(&format!(
            "{:26} {detected:14} {pass:28} {:36} {verdict}\n",
            one.name,
            one.named_ops.join(" ")
        ));
    }
    let count = |what: &dyn Fn(&Attribution) -> bool| all.iter().filter(|one| what(one)).count();
    let detected = count(&|one| one.detected.is_some());
    let (correct, pass) = (count(&|one| one.correct), count(&|one| one.pass_correct));
    text.push_str(&format!(
        "{} mutations: {detected} detected, {pass} attributed to the right pass, {correct} to the right pass and op\n",
        all.len()
    ));
    text
}
