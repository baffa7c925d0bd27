//! All passes, and the default pipeline.

use ipu_dialects::ir::Module;

use super::pass::PassInfo;
use super::pipeline::Pipeline;
use super::state::State;

/// All passes in pipeline order.
static PASSES: &[&PassInfo] = &[
    &crate::canonicalize::INFO,
    &crate::select_plans::INFO,
    &crate::expand_plans::INFO,
    &crate::optimize_exchanges::INFO,
    &crate::schedule_exchanges::INFO,
    &crate::place_storage::INFO,
    &crate::optimize_exchange_placement::INFO,
    &crate::lower_exchanges::INFO,
    &crate::emit_tile_code::INFO,
    &crate::build_package::INFO,
    &crate::lift_package::INFO,
];

/// All passes in pipeline order.
#[must_use]
pub fn all() -> &'static [&'static PassInfo] {
    PASSES
}

/// The pass of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static PassInfo> {
    PASSES.iter().copied().find(|info| info.name == name)
}

/// The passes from a graph to a package.
const DEFAULT: &[&str] = &[
    "canonicalize",
    "select-plans",
    "expand-plans",
    "optimize-exchanges",
    "schedule-exchanges",
    "place-storage",
    "optimize-exchange-placement",
    "schedule-exchanges",
    "lower-exchanges",
    "emit-tile-code",
    "build-package",
];

/// The default pipeline, from the level of `module` on, without passes that lead past `last`.
#[must_use]
pub fn default_pipeline(module: &Module, last: State) -> Pipeline {
    let mut states = State::of(module);
    let mut entries = Vec::new();
    for name in DEFAULT {
        let Some(info) = find(name) else { continue };
        let takes = info.requires.iter().all(|state| states.contains(state));
        if takes && info.provides.iter().all(|&state| state <= last) {
            states.extend(info.provides);
            entries.push(super::PipelineEntry {
                name: info.name.to_owned(),
                options: indexmap::IndexMap::new(),
                range: 0..0,
            });
        }
    }
    Pipeline { entries }
}

/// The passes of the default pipeline that bring `module` to `state`, without those that only improve.
#[must_use]
pub fn prerequisites(state: State, module: &Module) -> Vec<&'static PassInfo> {
    let states = State::of(module);
    let mut wanted = vec![state];
    let mut chain: Vec<&'static PassInfo> = Vec::new();
    for name in DEFAULT.iter().rev() {
        let Some(info) = find(name) else { continue };
        let supplies = info.provides.iter().any(|provided| wanted.contains(provided));
        if supplies && !chain.iter().any(|there| there.name == info.name) {
            wanted.retain(|state| !info.provides.contains(state));
            wanted.extend(info.requires.iter().filter(|state| !states.contains(state)));
            chain.push(info);
        }
        if wanted.is_empty() {
            break;
        }
    }
    chain.reverse();
    if wanted.is_empty() { chain } else { Vec::new() }
}
