//! `mapped.reduce`: partials travel to the owner of each part of the sum, which adds them.
//!
//! The first term is the partial that the owner holds itself, read in place where the part is contiguous there, copied
//! to scratch `own` where it is not; without an own partial it is the first remote one. The others follow in order of
//! their number.

use std::collections::BTreeMap;

use ipu_device::kernels::{Kernel, KernelEntry};
use ipu_device::memory_map::MemoryClass;
use ipu_device::{Bytes, LogicalTile};
use smallvec::SmallVec;

use super::copies::copies;
use super::{Move, Scratch, Stage, Storage, TileCall, Work};
use crate::mapped::codes::{MappedCode, MappedError};
use crate::mapped::layout::{LocalRun, Replicas, Transfers, partial_transfers};
use crate::mapped::sharded::ShardedTensor;

const PARTIALS: Storage = Storage::Operand(0);
const REMOTE: Storage = Storage::Scratch(0);
const OWN: Storage = Storage::Scratch(1);

/// What one owner adds.
struct Owner {
    shard: u32,
    /// Bytes of its part.
    bytes: u32,
    /// The partial it holds itself, and where the part starts in it if it is contiguous there.
    own: Option<(u32, Option<u32>)>,
}

impl Owner {
    /// Place of `partial` among the remote ones.
    fn slot(&self, partial: u32) -> u32 {
        match self.own {
            Some((own, _)) if partial > own => partial - 1,
            _ => partial,
        }
    }

    fn remotes(&self, partials: u32) -> u32 {
        partials - u32::from(self.own.is_some())
    }
}

pub(super) fn work(
    entry: &'static KernelEntry,
    one_by_one: bool,
    from: &ShardedTensor,
    to: &ShardedTensor,
) -> Result<Work, MappedError> {
    let Replicas::Partial(partials) = from.placement.layout().replicas else {
        let message =
            "the operand of a reduction has no partials; `mapped.convert_layout` moves whole values";
        return Err(MappedError::new(MappedCode::Disagree, message));
    };
    if from.element != to.element || matches!(to.placement.layout().replicas, Replicas::Partial(_)) {
        let message = "a reduction keeps the element type and gives whole values";
        return Err(MappedError::new(MappedCode::Disagree, message));
    }
    let mut arrivals = Vec::with_capacity(partials as usize);
    for partial in 0..partials {
        arrivals.push(partial_transfers(&from.placement, partial, &to.placement)?);
    }
    let owners = find_owners(to, &arrivals);
    let reduction = Reduction { entry, partials, to, owners: &owners, one_by_one };
    reduction.work(&arrivals)
}

fn find_owners(to: &ShardedTensor, arrivals: &[Transfers]) -> BTreeMap<LogicalTile, Owner> {
    let mut owners: BTreeMap<LogicalTile, Owner> = to
        .shards()
        .map(|(shard, tile)| (tile, Owner { shard, bytes: to.placement.shard_bytes(shard).0, own: None }))
        .collect();
    for (partial, arrival) in (0u32..).zip(arrivals) {
        let mut local: BTreeMap<LogicalTile, Vec<&LocalRun>> = BTreeMap::new();
        for run in &arrival.local {
            local.entry(run.tile).or_default().push(run);
        }
        for (tile, runs) in local {
            let Some(owner) = owners.get_mut(&tile) else { continue };
            let covered: u32 = runs.iter().map(|run| run.bytes.0).sum();
            if owner.own.is_some() || covered != owner.bytes {
                continue;
            }
            let contiguous = if let [run] = runs.as_slice() { Some(run.source_offset.0) } else { None };
            // The kernels want double words.
            owner.own = Some((partial, contiguous.filter(|offset| offset.is_multiple_of(8))));
        }
    }
    owners
}

struct Reduction<'a> {
    entry: &'static KernelEntry,
    partials: u32,
    to: &'a ShardedTensor,
    owners: &'a BTreeMap<LogicalTile, Owner>,
    one_by_one: bool,
}

impl Reduction<'_> {
    fn work(&self, arrivals: &[Transfers]) -> Result<Work, MappedError> {
        let mut work = Work { scratch: self.scratch(), stages: Vec::new() };
        let mut stages: Vec<Stage> = Vec::new();
        for (partial, arrival) in (0u32..).zip(arrivals) {
            self.gather(partial, arrival, &mut stages)?;
        }
        // Sums of a single term need no arrival.
        stage_at(&mut stages, 0);
        for (step, stage) in (0u32..).zip(&mut stages) {
            for (&tile, owner) in self.owners {
                stage.calls.extend(self.additions(tile, owner, step)?);
            }
        }
        stages.into_iter().for_each(|stage| work.push(stage));
        Ok(work)
    }

    fn scratch(&self) -> Vec<Scratch> {
        let mut remote = BTreeMap::new();
        let mut own = BTreeMap::new();
        for (&tile, owner) in self.owners {
            let remotes = owner.remotes(self.partials);
            // Without an own partial the first remote one keeps its place while the others come.
            let kept = u32::from(owner.own.is_none());
            let slots = if self.one_by_one { remotes.min(1 + kept) } else { remotes };
            if slots > 0 {
                remote.insert(tile, Bytes(slots * owner.bytes));
            }
            if matches!(owner.own, Some((_, None))) {
                own.insert(tile, Bytes(owner.bytes));
            }
        }
        let memory = MemoryClass::Standard;
        let mut scratch = vec![Scratch { name: "remote", memory, bytes: remote }];
        if !own.is_empty() {
            scratch.push(Scratch { name: "own", memory, bytes: own });
        }
        scratch
    }

    /// The stage in which the partial in `slot` arrives, and its place in the scratch.
    fn arrival(&self, owner: &Owner, slot: u32) -> (u32, u32) {
        if !self.one_by_one {
            return (0, slot);
        }
        match owner.own {
            Some(_) => (slot, 0),
            None => (slot.saturating_sub(1), slot.min(1)),
        }
    }

    /// Moves and copies of one partial.
    fn gather(&self, partial: u32, arrival: &Transfers, stages: &mut Vec<Stage>) -> Result<(), MappedError> {
        for run in &arrival.remote {
            let mut groups: BTreeMap<(u32, u32), SmallVec<[LogicalTile; 4]>> = BTreeMap::new();
            for &tile in &run.destinations {
                let Some(owner) = self.owners.get(&tile) else { continue };
                let (stage, slot) = self.arrival(owner, owner.slot(partial));
                let key = (stage, slot * owner.bytes);
                groups.entry(key).or_default().push(tile);
            }
            for ((stage, base), destinations) in groups {
                stage_at(stages, stage).moves.push(Move {
                    source: run.source,
                    from: PARTIALS,
                    source_offset: run.source_offset,
                    destinations,
                    to: REMOTE,
                    destination_offset: Bytes(base) + run.destination_offset,
                    bytes: run.bytes,
                });
            }
        }
        self.copy_local(partial, &arrival.local, stages)
    }

    /// Copies of what lies on its owner already and is not read in place.
    fn copy_local(
        &self,
        partial: u32,
        runs: &[LocalRun],
        stages: &mut Vec<Stage>,
    ) -> Result<(), MappedError> {
        for group in runs.chunk_by(|a, b| a.tile == b.tile) {
            let Some(tile) = group.first().map(|run| run.tile) else { continue };
            let Some(owner) = self.owners.get(&tile) else { continue };
            let (stage, to, base) = match owner.own {
                Some((own, Some(_))) if own == partial => continue,
                Some((own, None)) if own == partial => (0, OWN, 0),
                _ => {
                    let (stage, slot) = self.arrival(owner, owner.slot(partial));
                    (stage, REMOTE, slot * owner.bytes)
                }
            };
            let moved = |run: &LocalRun| LocalRun {
                destination_offset: run.destination_offset + Bytes(base),
                ..*run
            };
            let runs: Vec<LocalRun> = group.iter().map(moved).collect();
            stage_at(stages, stage).calls.extend(copies(&runs, PARTIALS, to)?);
        }
        Ok(())
    }

    /// The call of an owner in a stage.
    fn additions(
        &self,
        tile: LogicalTile,
        owner: &Owner,
        step: u32,
    ) -> Result<Option<TileCall>, MappedError> {
        let remotes = owner.remotes(self.partials);
        let first = match owner.own {
            Some((_, Some(offset))) => (PARTIALS, offset),
            Some((_, None)) => (OWN, 0),
            None => (REMOTE, 0),
        };
        let kept = u32::from(owner.own.is_none());
        let added = remotes - kept;
        if added == 0 {
            // A single term: the sum is its copy.
            let run = LocalRun {
                tile,
                source_offset: Bytes(first.1),
                destination_offset: Bytes(0),
                bytes: Bytes(owner.bytes),
            };
            return match step {
                0 => Ok(copies(&[run], first.0, Storage::Result)?.pop()),
                _ => Ok(None),
            };
        }
        let (count, steps) = if self.one_by_one { (1, added) } else { (added, 1) };
        if step >= steps {
            return Ok(None);
        }
        let Some(layout) = self.to.shard_layout(owner.shard) else { return Ok(None) };
        let (kernel, scalars) = Kernel::bind(self.entry, &[layout, layout, layout.repeated(count)])?;
        let first = if step == 0 { first } else { (Storage::Result, 0) };
        let places = [(Storage::Result, 0), first, (REMOTE, kept * owner.bytes)];
        TileCall::new(tile, kernel, scalars, &places).map(Some)
    }
}

fn stage_at(stages: &mut Vec<Stage>, index: u32) -> &mut Stage {
    let index = index as usize;
    if stages.len() <= index {
        stages.resize_with(index + 1, Stage::default);
    }
    &mut stages[index]
}
