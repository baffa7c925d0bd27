//! Kernel calls as families.

use indexmap::IndexMap;
use ipu_device::LogicalTile;
use ipu_device::kernels::{Kernel, ScalarValues};
use ipu_device::topology::TILE_COUNT;
use smallvec::SmallVec;

use super::{Emitter, sizes_of, tile_number};
use crate::declaration::Op;
use crate::exchange::families::{family_of, fit_or_table};
use crate::exchange::index::{Index, MemberSlice};
use crate::exchange::members::{RunFamily, RunTiles};
use crate::exchange::ops::RunOp;
use crate::exchange::program::{BufferId, Run};
use crate::ipu::TileSet;
use crate::ir::{Attribute, BlockId, InsertionPoint, Name, OpId};

/// What calls of one op have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    op: OpId,
    kernel: Kernel,
    scalars: ScalarValues,
    operands: SmallVec<[(BufferId, u32); 3]>,
}

impl Key {
    fn of(run: &Run) -> Self {
        Self {
            op: run.op,
            kernel: run.kernel.clone(),
            scalars: run.scalars.clone(),
            operands: run.operands.iter().map(|slice| (slice.buffer, slice.bytes)).collect(),
        }
    }
}

/// Calls in groups of one op each, such that the calls of one tile keep their order.
fn group(runs: &[Run]) -> Vec<(Key, Vec<&Run>)> {
    let mut groups: Vec<(Key, Vec<&Run>)> = Vec::new();
    let mut latest: IndexMap<Key, usize> = IndexMap::new();
    let mut last_of_tile = vec![0usize; usize::from(TILE_COUNT)];
    for run in runs {
        let key = Key::of(run);
        let earliest = last_of_tile.get(usize::from(run.tile.0)).copied().unwrap_or(0);
        let at = match latest.get(&key).copied().filter(|&at| at >= earliest) {
            Some(at) => at,
            None => {
                groups.push((key.clone(), Vec::new()));
                latest.insert(key, groups.len() - 1);
                groups.len() - 1
            }
        };
        groups[at].1.push(run);
        if let Some(last) = last_of_tile.get_mut(usize::from(run.tile.0)) {
            *last = at;
        }
    }
    groups
}

impl Emitter<'_> {
    pub(super) fn runs(&mut self, block: BlockId, runs: &[Run]) {
        for (key, runs) in group(runs) {
            let family = self.run_family(&key, &runs);
            let scalars: Vec<(Name, Attribute)> = key
                .scalars
                .named()
                .map(|(name, value)| (Name::of(name), Attribute::i64(value.into())))
                .collect();
            let scalars = (!scalars.is_empty()).then(|| Attribute::dictionary(scalars));
            let values: Vec<_> = key.operands.iter().map(|&(buffer, _)| self.value(buffer)).collect();
            let state = RunOp::state()
                .operands(values)
                .attribute("kernel", Attribute::symbol(&key.kernel.symbol()))
                .attribute("family", Attribute::dialect(family))
                .maybe_attribute("scalars", scalars);
            self.build(InsertionPoint::BlockEnd(block), key.op, state);
        }
    }

    fn run_family(&self, key: &Key, runs: &[&Run]) -> RunFamily {
        let tiles: Vec<LogicalTile> = runs.iter().map(|run| run.tile).collect();
        let mut columns: Vec<Vec<i64>> = vec![tiles.iter().map(|&tile| tile_number(tile)).collect()];
        for at in 0..key.operands.len() {
            columns.push(runs.iter().map(|run| i64::from(run.operands[at].offset)).collect());
        }
        let constant = |column: &Vec<i64>| column.iter().all(|value| Some(value) == column.first());
        let set = columns.iter().skip(1).all(constant).then(|| TileSet::from_tiles(tiles)).flatten();
        let (tiles, sizes) = match set {
            Some(set) => (RunTiles::Set(set), Vec::new()),
            None => {
                let sizes = sizes_of(&columns);
                (RunTiles::Family(family_of(&sizes), fit_or_table(&columns[0], &sizes)), sizes)
            }
        };
        let slice = |(&(buffer, bytes), column): (&(BufferId, u32), &Vec<i64>)| {
            let whole = self.program.buffer(buffer).bytes.0 == bytes;
            let start = match (&tiles, column.first()) {
                (RunTiles::Set(_), Some(&first)) => Index::constant(first),
                _ => fit_or_table(column, &sizes),
            };
            (!whole).then_some(MemberSlice { start, length: bytes })
        };
        let slices = key.operands.iter().zip(columns.iter().skip(1)).map(slice).collect();
        RunFamily { tiles, slices }
    }
}
