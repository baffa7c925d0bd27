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

/// What the tiles of a class are doing, as a message says it.
fn describe(class: &Class) -> String {
    let core = &class.core;
    let doing = match core.wait {
        Wait::Halted => return "stopped".into(),
        Wait::Global(zone) if core.answers == 0 => format!("at {}", zone.name()),
        Wait::Global(zone) => format!("at {}, taking part by `sans` in {}", zone.name(), syncs(core.answers)),
        Wait::Answer => format!("taking part by `sans` in {}", syncs(core.answers)),
        Wait::Receive => {
            format!("waiting for {} words of a host read (`sync 0`)", core.unit.registers.expected_words)
        }
        Wait::Runnable | Wait::Settle | Wait::Split => "running".into(),
    };
    format!("{doing}, instruction at {}", crate::Address(core.program_counter))
}

fn syncs(count: u32) -> String {
    if count == 1 { "1 more sync".into() } else { format!("{count} more syncs") }
}

/// Tiles that do the same, and whether they take part in the sync that most tiles wait for.
struct Group {
    arrived: bool,
    doing: String,
    tiles: Vec<PhysicalTile>,
}

fn deadlock(classes: &[Class]) -> Fault {
    let zone = awaited_zone(classes);
    let mut groups: BTreeMap<(bool, String), Vec<PhysicalTile>> = BTreeMap::new();
    for class in classes {
        let at_zone = zone.is_some_and(|zone| class.core.wait == Wait::Global(zone));
        let arrived = zone.is_some() && (class.core.answers > 0 || at_zone);
        groups.entry((arrived, describe(class))).or_default().extend(&class.members);
    }
    let mut groups: Vec<Group> =
        groups.into_iter().map(|((arrived, doing), tiles)| Group { arrived, doing, tiles }).collect();
    groups.sort_by_key(|group| (group.arrived, std::cmp::Reverse(group.tiles.len())));
    let list = |arrived: bool| {
        let listed = groups.iter().filter(|group| group.arrived == arrived);
        listed
            .map(|group| format!("{} {}", tile_group(&group.tiles), group.doing))
            .collect::<Vec<_>>()
            .join("; ")
    };
    let message = match zone {
        None => format!("no tile waits at a sync that could pass: {}", list(false)),
        Some(Zone::Group1Host) => {
            format!("the host releases no sync of group 1 once the program runs: {}", list(true))
        }
        Some(zone) => {
            format!("{} cannot pass; absent: {}; waiting: {}", zone.name(), list(false), list(true))
        }
    };
    let mut fault = Fault::of_machine(FaultCode::Deadlock, message);
    let to_blame = |group: &&Group| !group.arrived || zone == Some(Zone::Group1Host);
    fault.tiles = groups.iter().filter(to_blame).flat_map(|group| group.tiles.iter().copied()).collect();
    fault.tiles.sort_unstable();
    let cycle = classes.iter().map(|class| class.core.cycle).max().unwrap_or(0);
    fault.at_cycle(cycle)
}

/// The zone at which most tiles wait.
fn awaited_zone(classes: &[Class]) -> Option<Zone> {
    let mut counts: BTreeMap<Zone, usize> = BTreeMap::new();
    for class in classes {
        if let Wait::Global(zone) = class.core.wait {
            *counts.entry(zone).or_default() += class.members.len();
        }
    }
    counts.into_iter().max_by_key(|&(zone, count)| (count, std::cmp::Reverse(zone))).map(|(zone, _)| zone)
}
