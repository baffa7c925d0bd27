//! From a wrong result to its cause: the pass, its rewrite, the op, the element, tile, address, transfer and event.
//!
//! | module | compares |
//! |---|---|
//! | `graph` | graphs value by value, and a mapped program with its graph |
//! | `mapped` | the storage meaning of each op with its logical one |
//! | `exchange` | buffers with shards, and buffers with buffers |
//! | `expected`, `device` | the memory of a package that runs, phase by phase, with what the placed program says |
//! | `words`, `rows`, `package` | words of phases, rows, segments, with the same |
//! | `blame` | wrong bytes and faults with calls, bindings and code |
//! | `fuel` | a pass with itself, allowed fewer rewrites |
//! | `places` | bytes with elements and addresses |
//!
//! Nothing here knows how a pass works: a stage is compared with the stage before by what both compute. The first stage that
//! differs names the pass; inside it the first bytes that differ in order of the program name the op.

mod blame;
mod device;
mod exchange;
mod expected;
mod fuel;
mod graph;
mod mapped;
mod package;
pub(crate) mod places;
pub mod report;
mod rows;
mod words;

use ipu_device::package::Package;
use ipu_dialects::case::{Case, Level};
use ipu_dialects::diagnostics::{Diagnostic, Diagnostics, Severity};
use ipu_dialects::exchange::Program;
use ipu_dialects::ir::{Module, OpId, Type};
use ipu_dialects::parser::{ParseOptions, parse_module};
use ipu_dialects::printer::{PrintOptions, print_with};
use ipu_dialects::registry::Registry;
use ipu_dialects::source::Span;
use ipu_dialects::verifier::{VerifyOptions, verify};
use ipu_passes::manager::state::main_program;
use ipu_passes::manager::{ManagerOptions, PipelineEntry, RunFailure, State};

use crate::commands::run::read_case;
use crate::execute::{execute, package_of, timed};
use crate::exit::Failure;
use crate::simulated::DeviceUse;
use crate::stages::{Outcome, Stage, Stages};
use device::Lowered;
use exchange::Executed;
use places::{Places, first_difference, index_of};
use report::{Detected, ElementAt, Finding, OpAt};

/// The first thing that is wrong, in order of the stages; nothing if all is well. `options` are those that the stages were
/// made with.
#[must_use]
pub fn bisect(stages: &Stages, options: &ManagerOptions) -> Option<Finding> {
    let bisection = Bisection { stages, options, places: Places::of(stages) };
    let all = 0..stages.list.len();
    // Bits that differ are a miscompile; a distance from the reference may be the rounding that the graph asks for.
    let mut finding = all
        .clone()
        .find_map(|index| bisection.stage(index))
        .or_else(|| all.clone().find_map(|index| bisection.outside_tolerance(index)))?;
    bisection.result_element(&mut finding);
    finding.rewrite = bisection.rewrite(&finding);
    Some(finding)
}

struct Bisection<'s> {
    stages: &'s Stages,
    options: &'s ManagerOptions,
    places: Places,
}

impl<'s> Bisection<'s> {
    fn at(&self, index: usize) -> Option<&'s Stage> {
        self.stages.list.get(index)
    }

    fn before(&self, index: usize) -> Option<&'s Stage> {
        self.at(index.checked_sub(1)?)
    }

    /// What is wrong with stage `index`.
    fn stage(&self, index: usize) -> Option<Finding> {
        let stage = self.at(index)?;
        match &stage.outcome {
            Outcome::Refused(failure, findings) => Some(self.refused(index, stage, *failure, findings)),
            Outcome::Faulted(failure) => Some(self.faulted(index, stage, failure)),
            Outcome::Ran(_) => {
                let differs = || (stage.differ.unwrap_or(0) > 0).then(|| self.values(index, stage));
                if let (None, Some(package)) = (&stage.entry, &stage.package) {
                    return self.other_options(index, stage, package).or_else(differs);
                }
                let own = || {
                    let case = stage.mapped_case().filter(|_| stage.stores_otherwise())?;
                    mapped::op_at_fault(&stage.module, case, &self.places, (index, stage.name()))
                };
                own().or_else(differs).or_else(|| self.unsaid(index, stage))
            }
        }
    }

    /// A stage that is further from the reference than the one before, and no bits say why.
    fn outside_tolerance(&self, index: usize) -> Option<Finding> {
        let stage = self.at(index).filter(|stage| !stage.passed())?;
        let summary = "no op stores something else than it says: rounding in the declared types, a tolerance that is too tight, \
                       or a wrong plan";
        let mut finding = Finding::new(index, stage.name(), Detected::Tolerance, String::new());
        self.compare(index, stage, &mut finding);
        summary.clone_into(&mut finding.summary);
        Some(finding)
    }

    /// What is wrong although the values are not: another interface, another precision, a row that does other things too.
    fn unsaid(&self, index: usize, stage: &Stage) -> Option<Finding> {
        let before = self.before(index)?;
        let (old, case) = (before.case.as_ref()?, stage.case.as_ref()?);
        let found = |op: OpAt, summary: String| {
            let mut finding = Finding::new(index, stage.name(), Detected::StaticCheck, summary);
            finding.op = Some(op);
            Some(finding)
        };
        if let Some(difference) = interface_difference(old, case) {
            return found(OpAt::of(&stage.module, case.entry), difference);
        }
        match (old.level, case.level) {
            (Level::Graph, Level::Mapped) => {
                let graph = (&before.module, old);
                let (op, difference) = graph::wrong_precision(graph, (&stage.module, case))?;
                found(OpAt::of(&stage.module, op), difference)
            }
            (_, Level::Tile) => {
                let mut finding = Finding::new(index, stage.name(), Detected::StaticCheck, String::new());
                self.lowered(index, stage, |lowered| lowered.check_rows(&mut finding))?.then_some(finding)
            }
            _ => None,
        }
    }

    /// A package from elsewhere whose tensors are not laid out as the passes do now.
    fn other_options(&self, index: usize, stage: &Stage, package: &Package) -> Option<Finding> {
        let parts = |case: &Case| -> Vec<(String, Type)> {
            let arguments =
                case.arguments.iter().map(|argument| (argument.name.clone(), argument.ty.clone()));
            arguments
                .chain(case.results.iter().map(|result| (result.name.clone(), result.ty.clone())))
                .collect()
        };
        let (wanted, found) = (parts(self.before(index)?.case.as_ref()?), parts(stage.case.as_ref()?));
        let (name, _) = wanted.iter().zip(&found).find(|(wanted, found)| wanted != found)?.0;
        let summary = format!(
            "`{name}` has another layout than the passes give it now: the package is of another plan"
        );
        let mut finding = Finding::new(index, "package", Detected::StaticCheck, summary);
        let command = package.footer.as_ref().map(|footer| footer.command.join(" "));
        let command = command.filter(|command| !command.is_empty());
        finding
            .notes
            .extend(command.map(|command| format!("made by `{command}`; bisect with the same options")));
        Some(finding)
    }

    fn values(&self, index: usize, stage: &Stage) -> Finding {
        let mut finding = Finding::new(index, stage.name(), Detected::Values, "results differ".to_owned());
        self.compare(index, stage, &mut finding);
        finding
    }

    /// Fills `finding` with the first difference between a stage and the one before.
    fn compare(&self, index: usize, stage: &Stage, finding: &mut Finding) -> Option<()> {
        let before = self.before(index)?;
        let (old_case, case) = (before.case.as_ref()?, stage.case.as_ref()?);
        match (old_case.level, case.level) {
            (Level::Graph, Level::Graph) => {
                graph::compare_graphs((&before.module, old_case), (&stage.module, case), finding)
            }
            (Level::Graph, Level::Mapped) => {
                graph::compare_mapped((&before.module, old_case), (&stage.module, case), finding)
            }
            (Level::Mapped, Level::Exchange) => {
                let (_, after, timing) = timed(Program::read(&stage.module, case.entry).ok()?);
                let after = Executed::new(&after, timing, case)?;
                let mapped = (&before.module, old_case);
                exchange::compare_mapped(mapped, (&stage.module, &after), &self.places, finding);
                Some(())
            }
            (Level::Exchange, Level::Exchange) => {
                let (_, old, old_timing) = timed(Program::read(&before.module, old_case.entry).ok()?);
                let (_, new, timing) = timed(Program::read(&stage.module, case.entry).ok()?);
                let (old, new) =
                    (Executed::new(&old, old_timing, old_case)?, Executed::new(&new, timing, case)?);
                exchange::compare_programs(
                    (&before.module, &old),
                    (&stage.module, &new),
                    &self.places,
                    finding,
                );
                Some(())
            }
            (_, Level::Tile) => self.compare_device(index, stage, case, finding),
            _ => None,
        }
    }

    fn compare_device(&self, index: usize, stage: &Stage, case: &Case, finding: &mut Finding) -> Option<()> {
        let made;
        let package = match &stage.package {
            Some(package) => package,
            None => {
                made = package_of(&stage.module, case).ok()?;
                &made
            }
        };
        let compare = |lowered: &Lowered<'_>| lowered.compare(package, stage.package.is_some(), finding);
        self.lowered(index, stage, compare)?.then_some(())
    }

    /// The placed program above a stage of tiles, for `look`.
    fn lowered<T>(&self, index: usize, stage: &Stage, look: impl FnOnce(&Lowered<'_>) -> T) -> Option<T> {
        let mut above = self.stages.list.get(..index)?.iter().rev();
        let placed = above.find(|stage| State::Placed.lacking(&stage.module).is_none())?;
        let case = placed.case.as_ref()?;
        let program = Program::read(&placed.module, case.entry).ok()?;
        Some(look(&Lowered {
            placed_module: &placed.module,
            placed: &program,
            case,
            tile_module: &stage.module,
            places: &self.places,
        }))
    }

    /// A stage that faults when it runs.
    fn faulted(&self, index: usize, stage: &Stage, failure: &Failure) -> Finding {
        let again = first_error_in(&stage.module, |module| {
            let case = read_case(module);
            let run =
                case.and_then(|case| execute(module, &case, &self.stages.reference, DeviceUse::default()));
            run.err().map(|failure| failure.diagnostics)
        });
        let (message, op) = again.unwrap_or_else(|| {
            (first_error(&failure.diagnostics).map_or_else(String::new, |found| found.message.clone()), None)
        });
        let mut finding = Finding::new(index, stage.name(), Detected::Fault, message);
        finding.op = op;
        let summary = finding.summary.clone();
        self.compare(index, stage, &mut finding);
        finding.detected = Detected::Fault;
        if finding.summary != summary {
            finding.notes.push(summary);
        }
        finding
    }

    /// A pass that left an invalid module, or refuses what an earlier pass left.
    fn refused(&self, index: usize, stage: &Stage, failure: RunFailure, findings: &Diagnostics) -> Finding {
        let invalid = failure == RunFailure::InvalidResult;
        let again = if invalid {
            first_error_in(&stage.module, |module| verify(module, VerifyOptions::default()).err())
        } else {
            self.before(index).zip(stage.entry.as_ref()).and_then(|(before, entry)| {
                first_error_in(&before.module, |module| Some(fuel::findings(module, entry, self.options)))
            })
        };
        // Of an invalid result the first error says that the pass is to blame, the second why.
        let mut errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
        let said = if invalid { errors.nth(1) } else { errors.next() };
        let (message, op) =
            again.unwrap_or_else(|| (said.map_or_else(String::new, |found| found.message.clone()), None));
        let code = said.map_or("", |found| found.code);
        let blamed = if invalid { None } else { self.decided_at(index, code) };
        let (at, detected) = match (invalid, blamed) {
            (true, _) => (index, Detected::Verifier),
            (false, Some(blamed)) => (blamed, Detected::StaticCheck),
            (false, None) => (index, Detected::Refusal),
        };
        let pass = self.at(at).map_or("input", Stage::name);
        let mut finding = Finding::new(at, pass, detected, message);
        finding.op = op;
        if detected == Detected::StaticCheck {
            finding.notes.push(format!("pass `{}` refuses it with {code}", stage.name()));
        }
        finding
    }

    /// The stage that decided what the error `code`, found in stage `index`, is about: the last that changed times for rules
    /// of schedules, the last that changed addresses for those of memory; nothing for other errors.
    fn decided_at(&self, index: usize, code: &str) -> Option<usize> {
        let programs: Vec<Option<Program>> = (0..index)
            .map(|at| {
                let module = &self.at(at)?.module;
                main_program(module).and_then(|op| Program::read(module, op).ok())
            })
            .collect();
        let changed = |what: &dyn Fn(&Program) -> Vec<u32>| {
            let columns: Vec<Option<Vec<u32>>> =
                programs.iter().map(|program| program.as_ref().map(what)).collect();
            (1..index).rev().find(|&at| columns[at].is_some() && columns[at] != columns[at - 1])
        };
        if code.starts_with("D02") {
            return changed(&|program| {
                program.phases().flat_map(|phase| phase.transfers.send.clone()).collect()
            });
        }
        let of_memory = code == "P0804" || code.starts_with("V03");
        of_memory.then(|| changed(&addresses)).flatten()
    }

    /// The first wrong element of the program's results, and where it is.
    fn result_element(&self, finding: &mut Finding) {
        let Some(stage) = self.at(finding.stage) else { return };
        let Some(execution) = stage.execution() else { return };
        let before = self.before(finding.stage).and_then(Stage::execution);
        let names = self.stages.case.results.iter().map(|result| &result.name);
        let exact = before.filter(|_| stage.differ.is_some());
        let wanted = exact.map_or(&self.stages.reference, |before| &before.results);
        for (position, (name, (wanted, found))) in
            names.zip(wanted.iter().zip(&execution.results)).enumerate()
        {
            let element =
                match execution.verdicts.get(position).and_then(|result| result.verdict.first.first()) {
                    Some(worst) if exact.is_none() => {
                        let count = execution.verdicts[position].verdict.mismatches as u64;
                        element_of(name, wanted, found, worst.index, count)
                    }
                    None if exact.is_none() => None,
                    _ => first_difference(name, wanted, found),
                };
            if let Some(element) = element {
                finding.result_place = self.places.result(name, &element.index);
                finding.result = Some(element);
                return;
            }
        }
    }

    fn rewrite(&self, finding: &Finding) -> Option<report::Rewrite> {
        if !matches!(finding.detected, Detected::Values | Detected::Fault) {
            return None;
        }
        let before = self.before(finding.stage)?;
        let entry: &PipelineEntry = self.at(finding.stage)?.entry.as_ref()?;
        let wrong = |module: &Module| self.stages.changes(before, module.clone());
        fuel::first_rewrite(&before.module, entry, self.options, &wrong)
    }
}

/// The module as its text reads, so that every op has a place of its own.
fn reread(module: &Module) -> Option<Module> {
    let text = print_with(module, PrintOptions { generic: false, locations: true });
    let options = ParseOptions { registry: Registry::standard(), allow_unregistered: false };
    let (module, findings) = parse_module("stage", text, options);
    (!findings.has_errors()).then_some(module)
}

/// The first error that `look` finds in `module` as its text reads, and the op that it is about.
fn first_error_in(
    module: &Module,
    look: impl FnOnce(&Module) -> Option<Diagnostics>,
) -> Option<(String, Option<OpAt>)> {
    let module = reread(module)?;
    let findings = look(&module)?;
    let found = first_error(&findings)?;
    Some((found.message.clone(), op_at(&module, found)))
}

/// How the interface of a program is another one than before.
fn interface_difference(before: &Case, after: &Case) -> Option<String> {
    for (wanted, found) in before.arguments.iter().zip(&after.arguments) {
        if (&wanted.name, wanted.kind) != (&found.name, found.kind) {
            return Some(format!("the argument `{}` has become `{}`", wanted.name, found.name));
        }
        if wanted.data != found.data {
            return Some(format!("the argument `{}` has other data", found.name));
        }
    }
    for (wanted, found) in before.results.iter().zip(&after.results) {
        if (&wanted.name, wanted.tolerance) != (&found.name, found.tolerance) {
            return Some(format!("the result `{}` has another name or tolerance", found.name));
        }
    }
    let counts = |case: &Case| (case.arguments.len(), case.results.len());
    (counts(before) != counts(after)).then(|| "the program has other arguments or results".to_owned())
}

fn addresses(program: &Program) -> Vec<u32> {
    let of_buffer = |buffer: &ipu_dialects::exchange::Buffer| {
        let tiles = buffer.tiles.iter().map(|&tile| buffer.address(tile).map_or(0, |address| address.0));
        tiles.collect::<Vec<u32>>()
    };
    program.buffers.iter().flat_map(of_buffer).collect()
}

fn element_of(
    name: &str,
    wanted: &ipu_dialects::tensor_data::TensorData,
    found: &ipu_dialects::tensor_data::TensorData,
    at: usize,
    wrong: u64,
) -> Option<ElementAt> {
    Some(ElementAt {
        tensor: format!("`{name}`"),
        index: index_of(&wanted.shape, at),
        expected: places::number_of(wanted, at)?,
        actual: places::number_of(found, at),
        wrong: Some(wrong),
    })
}

fn first_error(diagnostics: &Diagnostics) -> Option<&Diagnostic> {
    diagnostics.iter().find(|finding| finding.severity == Severity::Error)
}

/// The op that a finding is about: of those at its place the one that the text names, else the first.
fn op_at(module: &Module, finding: &Diagnostic) -> Option<OpAt> {
    if finding.primary == Span::NONE {
        return None;
    }
    let at_place: Vec<OpId> =
        module.walk(module.root()).filter(|&op| module.span(op) == finding.primary).collect();
    let named = |op: &&OpId| {
        let name = module.name(**op);
        finding.message.contains(&format!("`{name}`"))
            || module
                .symbol_name(**op)
                .is_some_and(|symbol| finding.message.contains(&format!("`@{symbol}`")))
    };
    let op = at_place.iter().find(named).or(at_place.first())?;
    Some(OpAt::of(module, *op))
}
