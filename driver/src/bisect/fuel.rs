//! Inside a pass: the first of its rewrites that changes what the program computes.

use ipu_dialects::diagnostics::Diagnostics;
use ipu_dialects::ir::Module;
use ipu_passes::manager::{ManagerOptions, PipelineEntry};

use super::report::Rewrite;
use crate::diff::start_of;
use crate::reduce::text;
use crate::stages::run_pass;

/// Lines of a change that are shown.
const SHOWN: usize = 8;
/// Characters of a line that are shown.
const WIDTH: usize = 120;
/// Most rewrites that are looked at.
const MOST: u64 = 1 << 20;

/// The first rewrite of `entry` on `module` after which `wrong` holds; nothing if the pass counts none, or if it is wrong
/// without any.
pub(super) fn first_rewrite(
    module: &Module,
    entry: &PipelineEntry,
    options: &ManagerOptions,
    wrong: &dyn Fn(&Module) -> bool,
) -> Option<Rewrite> {
    let with = |fuel: u64| run(module, entry, &ManagerOptions { fuel: Some(fuel), ..options.clone() });
    let all = text(&run(module, entry, options)?);
    let none = with(0)?;
    if text(&none) == all || wrong(&none) {
        return None;
    }
    let mut enough = 1;
    while enough < MOST && text(&with(enough)?) != all {
        enough *= 2;
    }
    let (mut right, mut bad) = (enough / 2, enough);
    if wrong(&with(right)?) {
        right = 0;
    }
    while right + 1 < bad {
        let middle = right + (bad - right) / 2;
        if wrong(&with(middle)?) { bad = middle } else { right = middle }
    }
    Some(Rewrite { number: bad, change: change(&text(&with(bad - 1)?), &text(&with(bad)?)) })
}

fn run(module: &Module, entry: &PipelineEntry, options: &ManagerOptions) -> Option<Module> {
    let mut module = module.clone();
    let run = run_pass(&mut module, entry, options).ok()?;
    run.failure.is_none().then_some(module)
}

/// What the pass says about `module`.
pub(super) fn findings(module: &Module, entry: &PipelineEntry, options: &ManagerOptions) -> Diagnostics {
    run_pass(&mut module.clone(), entry, options).map_or_else(|findings| findings, |run| run.diagnostics)
}

/// Lines that go and lines that come.
fn change(before: &str, after: &str) -> Vec<String> {
    let only = |one: &str, other: &str, sign: char| -> Vec<String> {
        let there: std::collections::BTreeSet<&str> = other.lines().collect();
        one.lines()
            .filter(|line| !there.contains(line))
            .map(|line| format!("{sign} {}", start_of(line.trim(), WIDTH)))
            .collect()
    };
    let mut change = only(before, after, '-');
    change.extend(only(after, before, '+'));
    if change.len() > SHOWN {
        let more = change.len() - SHOWN;
        change.truncate(SHOWN);
        change.push(format!("and {more} lines more"));
    }
    change
}
