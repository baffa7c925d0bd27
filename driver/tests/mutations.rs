//! Every planted miscompile is one: the compiler refuses it, its run faults, or its results are other bits than without it; or a
//! check says that the program is wrong although these results are right. And bisection names the pass and the op that it was
//! planted in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use ipu_dialects::source::Span;
use ipu_dialects::tensor_data::TensorData;
use ipu_driver::bisect::report::Detected;
use ipu_driver::commands::run::read_case;
use ipu_driver::execute::{execute, execute_package};
use ipu_driver::load::{LoadOptions, load};
use ipu_driver::mutations::{attribute, pipeline};
use ipu_driver::simulated::DeviceUse;
use ipu_passes::manager::{Artifacts, ManagerOptions, ResolvedPipeline, Silent, State, registry};
use ipu_passes::mutations::{self, Mutation};
use libtest_mimic::{Arguments, Failed, Trial};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../test-ir")
}

/// Result bits of the case of `mutation`, compiled with it or without to the state `last`; nothing if that is refused or faults.
/// Data goes to the argument of its name.
fn results(mutation: &'static Mutation, planted: bool, last: State) -> Option<Vec<TensorData>> {
    let path = folder().join(mutation.case);
    let (mut module, _) = load(path.to_str()?, LoadOptions::default()).ok()?;
    let given = read_case(&module).ok()?;
    let reference = given.reference(&module).ok()?;
    let passes = pipeline(mutation, &module, last);
    let resolved = ResolvedPipeline::new(&passes, |_| Span::NONE).ok()?;
    let options = ManagerOptions { mutation: planted.then_some(mutation), ..ManagerOptions::default() };
    let run = resolved.run(&mut module, &options, Artifacts::default(), &mut Silent);
    if run.failure.is_some() {
        return None;
    }
    let mut case = read_case(&module).ok()?;
    for argument in &mut case.arguments {
        let data = &given.arguments.iter().find(|given| given.name == argument.name)?.data;
        (data.shape == argument.data.shape).then(|| argument.data = data.clone())?;
    }
    let execution = match &run.artifacts.package {
        Some(package) => execute_package(&module, &case, package, &reference, DeviceUse::default()),
        None => execute(&module, &case, &reference, DeviceUse::default()),
    };
    Some(execution.ok()?.results)
}

/// How far a file comes without a mutation, and its result bits there: a package, or a graph that there is no plan for.
type Right = (State, Vec<TensorData>);

/// [`Right`], once for each file and plan.
fn right(mutation: &'static Mutation) -> Option<Right> {
    type Known = BTreeMap<(&'static str, Option<&'static str>), Right>;
    static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
    let key = (mutation.case, mutation.plan);
    let known = KNOWN.lock().ok()?.get(&key).cloned();
    known.or_else(|| {
        let to = |last: State| Some((last, results(mutation, false, last)?));
        let right = to(State::Code).or_else(|| to(State::Graph))?;
        KNOWN.lock().ok()?.insert(key, right.clone());
        Some(right)
    })
}

fn is_a_miscompile_and_attributed(mutation: &'static Mutation) -> Result<(), Failed> {
    let (last, right) = right(mutation).ok_or("the file does not compile and run without the mutation")?;
    let same_bits = results(mutation, true, last).is_some_and(|wrong| wrong == right);
    let found = attribute(mutation, &folder()).map_err(|failure| format!("{:?}", failure.diagnostics))?;
    if same_bits && matches!(found.detected, None | Some(Detected::Values)) {
        return Err("the results are the same bits with and without the mutation".into());
    }
    if found.correct {
        return Ok(());
    }
    Err(format!(
        "planted in {}, {}; named {:?}, {:?}",
        found.pass, found.op, found.named_pass, found.named_ops
    )
    .into())
}

/// Names, passes, and enough of them in every pass that makes programs.
fn the_list_covers_every_pass() -> Result<(), Failed> {
    let all = mutations::all();
    if all.len() < 40 {
        return Err(format!("{} mutations", all.len()).into());
    }
    for pass in registry::all().iter().map(|info| info.name).filter(|&name| name != "lift-package") {
        let count = all.iter().filter(|mutation| mutation.pass == pass).count();
        if count < 2 {
            return Err(format!("{count} mutations in `{pass}`").into());
        }
    }
    let twice =
        all.iter().find(|one| mutations::find(one.name).is_none_or(|found| found.summary != one.summary));
    twice.map_or(Ok(()), |one| Err(format!("`{}` is there twice", one.name).into()))
}

fn main() {
    let mut trials = vec![Trial::test("the_list_covers_every_pass", the_list_covers_every_pass)];
    trials.extend(
        mutations::all()
            .into_iter()
            .map(|mutation| Trial::test(mutation.name, move || is_a_miscompile_and_attributed(mutation))),
    );
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
