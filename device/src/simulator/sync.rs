//! Global syncs: when one passes, who is late, and what a deadlock says.
//!
//! A sync passes when every tile takes part in it: by waiting at it, or by an earlier `sans` that still counts. A
//! host sync passes besides only when the host releases it. When nothing can run and no sync can pass, the fault
//! names who waits for what and who is absent.

use std::collections::BTreeMap;

use crate::units::PhysicalTile;

use super::classes::{Class, Classes};
use super::core_state::{Wait, Zone};
use super::fault::{Fault, FaultCode, tile_group};

/// What can happen when no tile runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Barrier {
    /// A sync that passes by itself.
    Passes(Zone),
    /// A sync that waits for the host.
    AwaitsHost(Zone),
    /// Every supervisor has stopped.
    Stopped,
}

/// Finds the sync at which all tiles have arrived.
pub(crate) fn find(classes: &[Class]) -> Result<Barrier, Fault> {
    let explicit = |class: &Class| match class.core.wait {
        Wait::Global(zone) if class.core.answers == 0 => Some(zone),
        _ => None,
    };
    if classes.iter().all(|class| class.core.wait == Wait::Halted) {
        return Ok(Barrier::Stopped);
    }
    let Some(zone) = classes.iter().find_map(explicit) else { return Err(deadlock(classes)) };
    let arrived = |class: &Class| class.core.answers > 0 || explicit(class) == Some(zone);
    if !classes.iter().all(arrived) || zone == Zone::Group1Host {
        return Err(deadlock(classes));
    }
    Ok(if zone.needs_host() { Barrier::AwaitsHost(zone) } else { Barrier::Passes(zone) })
}

/// Lets the sync pass; returns the last arrival and the release.
pub(crate) fn pass(classes: &mut Classes, zone: Zone, latency: u64) -> (u64, u64) {
    let arrival = classes.all.iter().map(|class| class.core.cycle).max().unwrap_or(0);
    let release = arrival + latency;
    for class in &mut classes.all {
        class.core.release(zone, release);
    }
    (arrival, release)
}

/// What a tile waits for, as a message says it.
fn describe(class: &Class) -> String {
    let core = &class.core;
    let wait = match core.wait {
        Wait::Global(zone) if core.answers == 0 => format!("wait at {}", zone.name()),
        Wait::Global(zone) => {
            format!("wait at {} after a `sans` for {} more syncs", zone.name(), core.answers)
        }
        Wait::Answer => format!("take part by `sans` in {} more syncs", core.answers),
        Wait::Receive => {
            format!("wait for {} words of a host read (`sync 0`)", core.unit.registers.expected_words)
        }
        Wait::Halted => "have stopped".into(),
        Wait::Runnable | Wait::Settle | Wait::Split => "are running".into(),
    };
    match core.wait {
        Wait::Halted => wait,
        _ => format!("{wait} at {}", crate::Address(core.program_counter)),
    }
}

fn deadlock(classes: &[Class]) -> Fault {
    let mut groups: BTreeMap<(Wait, bool, String), Vec<PhysicalTile>> = BTreeMap::new();
    for class in classes {
        let key = (class.core.wait, class.core.answers > 0, describe(class));
        groups.entry(key).or_default().extend(&class.members);
    }
    let mut groups: Vec<(String, Vec<PhysicalTile>)> =
        groups.into_iter().map(|((_, _, text), tiles)| (text, tiles)).collect();
    groups.sort_by_key(|(_, tiles)| std::cmp::Reverse(tiles.len()));
    let text: Vec<String> =
        groups.iter().map(|(text, tiles)| format!("{} {text}", tile_group(tiles))).collect();
    let boot = classes.iter().any(|class| class.core.wait == Wait::Global(Zone::Group1Host));
    let cause =
        if boot { "the host releases no sync of group 1 once the program runs" } else { "no sync can pass" };
    let mut fault = Fault::of_machine(FaultCode::Deadlock, format!("{cause}: {}", text.join("; ")));
    // The absent ones are those outside the largest group.
    fault.tiles = groups.into_iter().skip(1).flat_map(|(_, tiles)| tiles).collect();
    fault.tiles.sort_unstable();
    let cycle = classes.iter().map(|class| class.core.cycle).max().unwrap_or(0);
    fault.at_cycle(cycle)
}
