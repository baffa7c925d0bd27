//! Executes `// run:` lines and holds what comes of them to what they say.

use ipu_device::numerics::Tolerance;
use ipu_device::package::Package;
use ipu_dialects::case::Level;
use ipu_dialects::case::run_lines::{Comparison, RunLine};
use ipu_dialects::diagnostics::{Diagnostic, Diagnostics};
use ipu_dialects::ir::Module;
use ipu_dialects::tensor_data::TensorData;

use crate::bisect::places::{index_of, index_text};
use crate::execute::{execute, execute_package, failure};
use crate::exit::{DriverCode, Exit, Failure};
use crate::simulated::DeviceUse;

/// Elements that a finding lists.
const LISTED: usize = 4;

/// What became of a line.
#[derive(Debug)]
pub struct Checked {
    /// The level at which it was executed.
    pub level: Level,
    /// How, in words.
    pub how: &'static str,
    /// Elements of all results.
    pub elements: usize,
    /// Those that are not as the line says.
    pub differing: usize,
    /// A finding for each result that is not as the line says.
    pub findings: Diagnostics,
}

/// Executes `line` at the level that what it calls has in `module`; `package` is that of the module, if it is built already.
///
/// # Errors
/// The program faults, or has no such call any more.
pub fn check(
    module: &Module,
    line: &RunLine,
    package: Option<&Package>,
    device: DeviceUse,
) -> Result<Checked, Failure> {
    let case = line.case(module).ok_or_else(|| {
        let message = format!("`@{}` does not take and give what this line says", line.symbol);
        failure(Exit::Input, Diagnostic::error(DriverCode::NothingToRun, line.span, message), module)
    })?;
    let execution = match package {
        Some(package) => execute_package(module, &case, package, &line.expected, device),
        None => execute(module, &case, &line.expected, device),
    };
    let execution = execution.map_err(|mut failure| {
        failure.diagnostics.push(Diagnostic::error(DriverCode::RunLine, line.span, "this call faults"));
        failure
    })?;
    let (level, how) = (execution.level, execution.how);
    let mut checked = Checked { level, how, elements: 0, differing: 0, findings: Diagnostics::new() };
    for (index, (expected, &place)) in line.expected.iter().zip(&line.places).enumerate() {
        let nothing = TensorData { shape: Vec::new(), element: expected.element, bytes: Vec::new() };
        let actual = execution.results.get(index).unwrap_or(&nothing);
        let tolerance = case.results.get(index).map_or(Tolerance::EXACT, |result| result.tolerance);
        let differing = match line.comparison {
            Comparison::Bits => expected.differences(actual),
            Comparison::Tolerance => outside(tolerance, expected, actual),
        };
        let uncovered = execution.verdicts.get(index).map_or(0, |verdict| verdict.uncovered);
        checked.elements += expected.element_count() as usize;
        checked.differing += differing.len();
        if differing.is_empty() && uncovered == 0 {
            continue;
        }
        let rule = match line.comparison {
            Comparison::Bits => "differ".to_owned(),
            Comparison::Tolerance => {
                format!("differ by more than {} + {} of the value", tolerance.absolute, tolerance.relative)
            }
        };
        let count = expected.element_count();
        let message = format!(
            "`@{}` does not give what its run line says: {} of {count} elements {rule}",
            line.symbol,
            differing.len()
        );
        let mut finding = Diagnostic::error(DriverCode::RunLine, place, message);
        finding.notes = listed(expected, actual, &differing);
        if uncovered > 0 {
            finding = finding.note(format!("{uncovered} elements are in no shard"));
        }
        checked.findings.push(finding.note(format!("at {} level: {how}", level.name())));
    }
    Ok(checked)
}

/// Row-major indices of the elements of `actual` that `tolerance` does not allow for `expected`.
fn outside(tolerance: Tolerance, expected: &TensorData, actual: &TensorData) -> Vec<usize> {
    let (expected, actual) = (expected.values(), actual.values());
    let allowed =
        |&index: &usize| actual.get(index).is_some_and(|&actual| tolerance.accepts(expected[index], actual));
    (0..expected.len()).filter(|index| !allowed(index)).collect()
}

/// The first of the elements `differing`, one a text.
fn listed(expected: &TensorData, actual: &TensorData, differing: &[usize]) -> Vec<String> {
    let (wanted, came) = (expected.values(), actual.values());
    let value =
        |values: &[f64], index: usize| values.get(index).map_or("nothing".to_owned(), |&value| shown(value));
    let mut texts: Vec<String> = differing
        .iter()
        .take(LISTED)
        .map(|&index| {
            let place = index_text(&index_of(&expected.shape, index));
            format!("{place}: expected {}, came {}", value(&wanted, index), value(&came, index))
        })
        .collect();
    if differing.len() > LISTED {
        texts.push(format!("and {} more", differing.len() - LISTED));
    }
    texts
}

/// A value with as many digits as its type has.
fn shown(value: f64) -> String {
    let short = value as f32;
    if f64::from(short) == value { short.to_string() } else { value.to_string() }
}
