//! A second way to price a plan: expand its operations through their layouts, tile by tile and run by run.

use std::collections::BTreeMap;

use ipu_device::kernels::{Kernel, KernelEntry, ShardLayout};
use ipu_device::memory_map::MemoryClass;
use ipu_device::orders::MatrixShape;
use ipu_device::{Bytes, LogicalTile};
use ipu_dialects::mapped::layout::{GemmGrid, Placement, Transfers, partial_transfers, transfers};

use crate::select_plans::{
    GemmPlan, MappedOp, MappedOpKind, MappedTensor, PhaseCost, PhaseLoad, Prices, phase_bound,
};

/// What the expansion found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Expanded {
    pub(super) cycles: u64,
    pub(super) exchange: u64,
    pub(super) gather: Option<PhaseCost>,
    pub(super) scatter: Option<PhaseCost>,
}

struct Expansion {
    prices: Prices,
    placements: Vec<Placement>,
    tensors: Vec<MappedTensor>,
    work: [BTreeMap<LogicalTile, u64>; 3],
    gather: BTreeMap<LogicalTile, PhaseLoad>,
    scatter: BTreeMap<LogicalTile, PhaseLoad>,
}

pub(super) fn expand(plan: &GemmPlan, prices: Prices) -> Expanded {
    let (tensors, ops) = plan.mapped_ops().expect("a priced plan has kernels");
    let place = |tensor: &MappedTensor| {
        tensor.layout.place(&tensor.shape, tensor.element.bytes()).expect("a sound plan has sound layouts")
    };
    let placements = tensors.iter().map(place).collect();
    let mut expansion = Expansion {
        prices,
        placements,
        tensors,
        work: Default::default(),
        gather: BTreeMap::new(),
        scatter: BTreeMap::new(),
    };
    let converts = |op: &MappedOp| op.kind == MappedOpKind::ConvertLayout;
    let mut stretch = usize::from(!ops.iter().any(converts));
    for op in &ops {
        if converts(op) {
            stretch = 1;
        }
        match op.kind {
            MappedOpKind::ConvertLayout => expansion.convert(op),
            MappedOpKind::Cast { kernel } => expansion.cast(op, kernel, stretch),
            MappedOpKind::Gemm { kernel, .. } => expansion.gemm(op, kernel),
            MappedOpKind::Reduce { kernel } => {
                stretch = 2;
                expansion.reduce(op, kernel);
            }
        }
    }
    expansion.finish()
}

impl Expansion {
    fn shard(&self, tensor: usize, shard: u32) -> Option<ShardLayout> {
        let padded = self.placements[tensor].padded_shape(shard);
        let shape = MatrixShape::new(padded[0], padded[1]);
        let MappedTensor { element, layout, .. } = &self.tensors[tensor];
        (shape.elements() > 0).then(|| ShardLayout::new(*element, layout.order, shape))
    }

    fn kernel_cycles(&self, kernel: &str, operands: &[ShardLayout], classes: &[MemoryClass]) -> u64 {
        let entry = KernelEntry::find(kernel).expect("known kernel");
        let (kernel, scalars) = Kernel::bind(entry, operands).expect("kernel and layouts fit");
        match self.prices {
            Prices::Recorded => kernel.recorded_cycles(&scalars),
            Prices::Calibrated => kernel.cycles(&scalars, classes),
        }
        .expect("fits memory")
        .0
    }

    fn add(&mut self, stretch: usize, tile: LogicalTile, cycles: u64) {
        *self.work[stretch].entry(tile).or_default() += cycles;
    }

    /// Both price lists: 288 a call and 8 bytes a cycle.
    fn copy_cycles(bytes: u32) -> u64 {
        288 + u64::from(bytes).div_ceil(8)
    }

    fn convert(&mut self, op: &MappedOp) {
        let moves =
            transfers(&self.placements[op.operands[0]], &self.placements[op.result]).expect("whole words");
        assert!(moves.fill.is_empty(), "padding comes from home");
        let local = add_loads(&mut self.gather, &moves);
        for (tile, (bytes, _)) in local {
            self.add(1, tile, Self::copy_cycles(bytes));
        }
    }

    fn cast(&mut self, op: &MappedOp, kernel: &str, stretch: usize) {
        for shard in 0..self.placements[op.result].shard_count() {
            let tile = self.placements[op.result].tiles()[shard as usize];
            assert_eq!(self.placements[op.operands[0]].shard_on(tile), Some(shard), "a cast moves nothing");
            let (Some(to), Some(from)) = (self.shard(op.result, shard), self.shard(op.operands[0], shard))
            else {
                continue;
            };
            let cycles = self.kernel_cycles(kernel, &[to, from], &[]);
            self.add(stretch, tile, cycles);
        }
    }

    fn gemm(&mut self, op: &MappedOp, kernel: &str) {
        let values = [op.result, op.operands[0], op.operands[1]];
        let [result, left, right] = values.map(|value| &self.placements[value]);
        let grid = GemmGrid::derive(left, right, result).expect("the layouts of a plan are one grid");
        let classes = values.map(|value| self.tensors[value].layout.memory);
        for at in grid.tiles {
            let shards = values.map(|value| {
                let shard = self.placements[value].shard_on(at.tile).expect("operand on the tile");
                self.shard(value, shard).expect("no empty block")
            });
            let cycles = self.kernel_cycles(kernel, &shards, &classes);
            self.add(1, at.tile, cycles);
        }
    }

    fn reduce(&mut self, op: &MappedOp, kernel: &str) {
        let (from, to) = (self.placements[op.operands[0]].clone(), self.placements[op.result].clone());
        let partials = from.layout().replicas.count();
        let mut own: BTreeMap<LogicalTile, (u32, u32)> = BTreeMap::new();
        for partial in 0..partials {
            let moves = partial_transfers(&from, partial, &to).expect("whole words");
            own.extend(add_loads(&mut self.scatter, &moves));
        }
        for shard in 0..to.shard_count() {
            let tile = to.tiles()[shard as usize];
            let Some(sum) = self.shard(op.result, shard) else { continue };
            let (bytes, runs) = own[&tile];
            assert_eq!(u64::from(bytes), sum.bytes(), "one partner owns each share");
            if self.prices == Prices::Recorded || runs > 1 {
                self.add(2, tile, Self::copy_cycles(bytes));
            }
            let cycles = self.kernel_cycles(kernel, &[sum, sum, sum.repeated(partials - 1)], &[]);
            self.add(2, tile, cycles);
        }
    }

    fn finish(self) -> Expanded {
        let phase = |loads: &BTreeMap<LogicalTile, PhaseLoad>| {
            if loads.is_empty() {
                return None;
            }
            let most = |field: fn(&PhaseLoad) -> u32| loads.values().map(field).max().unwrap_or(0);
            let bound = |(tile, load): (&LogicalTile, &PhaseLoad)| {
                phase_bound(tile.physical().row(), Bytes(load.received), Bytes(load.sent))
            };
            let bound = loads.iter().map(bound).max().unwrap_or(0);
            let consumed = most(|load| load.consumed);
            Some(PhaseCost {
                cycles: match self.prices {
                    Prices::Recorded => 600 + u64::from(consumed.div_ceil(4)),
                    Prices::Calibrated => 286 + bound,
                },
                consumed,
                received: most(|load| load.received),
                sent: most(|load| load.sent),
                bound,
                moved: loads.values().map(|load| u64::from(load.received)).sum(),
            })
        };
        let (gather, scatter) = (phase(&self.gather), phase(&self.scatter));
        let exchange = [gather, scatter].iter().flatten().map(|phase| phase.cycles).sum::<u64>();
        let work = self.work.iter().map(|tiles| tiles.values().max().copied().unwrap_or(0)).sum::<u64>();
        Expanded { cycles: exchange + work, exchange, gather, scatter }
    }
}

/// Adds the bytes of a conversion; gives bytes and runs that stay on each tile.
fn add_loads(
    loads: &mut BTreeMap<LogicalTile, PhaseLoad>,
    moves: &Transfers,
) -> BTreeMap<LogicalTile, (u32, u32)> {
    for run in &moves.remote {
        loads.entry(run.source).or_default().sent += run.bytes.0;
        for &tile in &run.destinations {
            let load = loads.entry(tile).or_default();
            load.received += run.bytes.0;
            load.consumed += run.bytes.0;
        }
    }
    let mut local: BTreeMap<LogicalTile, (u32, u32)> = BTreeMap::new();
    for run in &moves.local {
        loads.entry(run.tile).or_default().consumed += run.bytes.0;
        let (bytes, runs) = local.entry(run.tile).or_default();
        *bytes += run.bytes.0;
        *runs += 1;
    }
    local
}
