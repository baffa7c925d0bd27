//! Prices of what a plan consists of: kernel calls, local copies, exchange phases.
//!
//! Kernel prices are the registry's own. Two lists:
//!
//! * `recorded`: a phase costs 600 cycles and the operand bytes that the work after it consumes on the busiest tile,
//!   own slice included, at 4 a cycle; kernels at ideal prices. The own slice is copied;
//! * `calibrated`: a phase costs the bound of its schedule and a measured overhead. Bound: a receiver at physical row
//!   `R` needs 1 event to select, 52 + 2R until the first word is written, one for each further word, and 6 guards;
//!   a sender needs one event a word. Kernels at formulas fitted to hardware.

use ipu_device::hash::HashMap;
use ipu_device::kernels::{Family, Kernel, KernelEntry, ScalarValues, ShardLayout};
use ipu_device::memory_map::MemoryClass;
use ipu_device::numerics::ElementType;
use ipu_device::orders::{ElementOrder, MatrixShape};
use ipu_device::topology::{MUX_TO_WRITE, MUX_TO_WRITE_PER_ROW, TILE_COUNT};
use ipu_device::{Bytes, LogicalTile};

use super::error::{PlanCode, PlanError};
use super::options::Prices;

/// Cycles of the global sync of a phase in the recorded run's list.
pub const RECORDED_PHASE_CYCLES: u64 = 600;
/// Bytes a tile receives or sends in a cycle.
pub const EXCHANGE_BYTES_PER_CYCLE: u64 = 4;
/// Cycles between the scheduled end of a phase and its measured end: sync, setup and arrival spread. Source: notes on
/// the cost model, 230 to 300 measured.
pub const PHASE_OVERHEAD_CYCLES: u64 = 286;
/// Events after the last write before a row may end.
const GUARD_EVENTS: u64 = 6;

/// Bytes that a tile takes part in during a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PhaseLoad {
    /// Bytes of gathered operands or partials that the following work consumes, own slice included.
    pub consumed: u32,
    /// Bytes received from other tiles.
    pub received: u32,
    /// Bytes sent, each multicast once.
    pub sent: u32,
}

/// The lower bound of a phase on one tile, in events.
#[must_use]
pub fn phase_bound(row: u16, received: Bytes, sent: Bytes) -> u64 {
    let (received, sent) = (u64::from(received.words_ceil().0), u64::from(sent.words_ceil().0));
    let receive = if received == 0 {
        0
    } else {
        let latency = MUX_TO_WRITE + MUX_TO_WRITE_PER_ROW * i64::from(row);
        1 + latency.unsigned_abs() + (received - 1) + GUARD_EVENTS
    };
    receive.max(sent)
}

/// A kernel of the registry bound to shards, with its price.
#[derive(Debug, Clone)]
pub struct BoundKernel {
    /// The kernel.
    pub kernel: Kernel,
    /// Its scalars, FP8 scales at 0.
    pub scalars: ScalarValues,
    /// Cycles of a call.
    pub cycles: u64,
}

/// What a price depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Work {
    Gemm { rows: u32, inner: u32, columns: u32, weights: MemoryClass, output: MemoryClass },
    Cast { from: ElementType, to: ElementType, order: (ElementOrder, ElementOrder), shape: MatrixShape },
    Reduce { order: ElementOrder, shape: MatrixShape, remotes: u32 },
    Copy { bytes: u32 },
}

/// Prices of kernels, each asked of the registry once.
#[derive(Debug)]
pub(crate) struct PriceBook {
    pub(crate) prices: Prices,
    multiply: ElementType,
    accumulate: ElementType,
    gemm: &'static KernelEntry,
    reduce: Option<&'static KernelEntry>,
    copy: &'static KernelEntry,
    known: HashMap<Work, Option<u64>>,
    rows: Vec<u16>,
}

impl PriceBook {
    pub(crate) fn new(
        prices: Prices,
        multiply: ElementType,
        accumulate: ElementType,
    ) -> Result<Self, PlanError> {
        let first = |family: Family, elements: &[ElementType]| KernelEntry::of_types(family, elements).next();
        let missing =
            |what: String| PlanError::new(PlanCode::NoKernel, format!("the registry has no {what}"));
        let pair = [multiply; 2];
        let unit = |entry: &&KernelEntry| entry.operands.first().map(|operand| operand.align);
        let widest = KernelEntry::of_types(Family::Copy, &pair).max_by_key(unit);
        Ok(Self {
            prices,
            multiply,
            accumulate,
            gemm: first(Family::Gemm, &[accumulate, multiply, multiply])
                .ok_or_else(|| missing(format!("product of `{multiply}` into `{accumulate}`")))?,
            reduce: first(Family::Reduce, &[accumulate; 3]),
            copy: widest.ok_or_else(|| missing("copy".to_owned()))?,
            known: HashMap::default(),
            rows: (0..TILE_COUNT).map(|tile| LogicalTile(tile).physical().row()).collect(),
        })
    }

    /// Physical row of a tile.
    pub(crate) fn row(&self, tile: u32) -> u16 {
        self.rows.get(tile as usize).copied().unwrap_or(0)
    }

    /// Whether partials can be summed.
    pub(crate) fn can_reduce(&self) -> bool {
        self.reduce.is_some()
    }

    fn price(&self, kernel: &Kernel, scalars: &ScalarValues, classes: &[MemoryClass]) -> Option<u64> {
        let cycles = match self.prices {
            Prices::Recorded => kernel.recorded_cycles(scalars),
            Prices::Calibrated => kernel.cycles(scalars, classes),
        };
        cycles.ok().map(|cycles| cycles.0)
    }

    fn bound(
        &self,
        entry: &'static KernelEntry,
        operands: &[ShardLayout],
        classes: &[MemoryClass],
    ) -> Option<BoundKernel> {
        let (kernel, scalars) = Kernel::bind(entry, operands).ok()?;
        let cycles = self.price(&kernel, &scalars, classes)?;
        Some(BoundKernel { kernel, scalars, cycles })
    }

    fn resolve(&self, work: Work) -> Option<BoundKernel> {
        match work {
            Work::Gemm { rows, inner, columns, weights, output } => {
                let width = self.multiply.amp_inner()?;
                let panels = ElementOrder::AmpLeft { inner: self.accumulate.amp_inner()? };
                let operands = [
                    ShardLayout::new(self.accumulate, panels, MatrixShape::new(rows, columns)),
                    ShardLayout::new(
                        self.multiply,
                        ElementOrder::AmpLeft { inner: width },
                        MatrixShape::new(rows, inner),
                    ),
                    ShardLayout::new(
                        self.multiply,
                        ElementOrder::AmpRight { inner: width },
                        MatrixShape::new(inner, columns),
                    ),
                ];
                self.bound(self.gemm, &operands, &[output, MemoryClass::Standard, weights])
            }
            Work::Cast { from, to, order, shape } => {
                let operands = [ShardLayout::new(to, order.1, shape), ShardLayout::new(from, order.0, shape)];
                KernelEntry::of_types(Family::Cast, &[to, from])
                    .filter_map(|entry| self.bound(entry, &operands, &[]))
                    .min_by_key(|bound| bound.cycles)
            }
            Work::Reduce { order, shape, remotes } => {
                let own = ShardLayout::new(self.accumulate, order, shape);
                self.bound(self.reduce?, &[own, own, own.repeated(remotes)], &[])
            }
            Work::Copy { bytes } => {
                let unit = self.copy.operands.first()?.align.0.max(1);
                let scalars =
                    ScalarValues::from_values(self.copy, &[i64::from(bytes.div_ceil(unit))]).ok()?;
                let kernel = Kernel::new(self.copy, &[]).ok()?;
                let cycles = self.price(&kernel, &scalars, &[])?;
                Some(BoundKernel { kernel, scalars, cycles })
            }
        }
    }

    fn cycles(&mut self, work: Work) -> Option<u64> {
        if let Some(&known) = self.known.get(&work) {
            return known;
        }
        let cycles = self.resolve(work).map(|bound| bound.cycles);
        self.known.insert(work, cycles);
        cycles
    }

    /// Cycles of one GEMM call; `None` where no kernel takes these shapes. Nothing for an empty block.
    pub(crate) fn gemm(&mut self, block: GemmBlock) -> Option<u64> {
        if block.is_empty() { Some(0) } else { self.cycles(block.work()) }
    }

    /// The kernel of a GEMM block.
    pub(crate) fn gemm_kernel(&self, block: GemmBlock) -> Option<BoundKernel> {
        self.resolve(block.work())
    }

    /// The memory class that the output of a GEMM block must have.
    pub(crate) fn gemm_output(&self, block: GemmBlock) -> MemoryClass {
        use ipu_device::kernels::ClassNeed;
        match self.resolve(block.work()).map(|bound| bound.kernel.class_need(0)) {
            Some(ClassNeed::Interleaved) => MemoryClass::Interleaved,
            _ => MemoryClass::Standard,
        }
    }

    /// Cycles of a cast of one shard.
    pub(crate) fn cast(&mut self, cast: CastShard) -> Option<u64> {
        if cast.shape.elements() == 0 { Some(0) } else { self.cycles(cast.work()) }
    }

    /// The kernel of a cast.
    pub(crate) fn cast_kernel(&self, cast: CastShard) -> Option<BoundKernel> {
        self.resolve(cast.work())
    }

    /// Cycles of a sum of `remotes + 1` partials of this shape.
    pub(crate) fn reduce(&mut self, order: ElementOrder, shape: MatrixShape, remotes: u32) -> Option<u64> {
        if shape.elements() == 0 { Some(0) } else { self.cycles(Work::Reduce { order, shape, remotes }) }
    }

    /// The kernel of a sum.
    pub(crate) fn reduce_kernel(
        &self,
        order: ElementOrder,
        shape: MatrixShape,
        remotes: u32,
    ) -> Option<BoundKernel> {
        self.resolve(Work::Reduce { order, shape, remotes })
    }

    /// Cycles of a local copy; nothing for no bytes.
    pub(crate) fn copy(&mut self, bytes: u32) -> Option<u64> {
        if bytes == 0 { Some(0) } else { self.cycles(Work::Copy { bytes }) }
    }

    /// A phase with its price.
    pub(crate) fn priced(&self, phase: PhaseCost) -> PhaseCost {
        let cycles = match self.prices {
            Prices::Recorded => {
                RECORDED_PHASE_CYCLES + u64::from(phase.consumed).div_ceil(EXCHANGE_BYTES_PER_CYCLE)
            }
            Prices::Calibrated => PHASE_OVERHEAD_CYCLES + phase.bound,
        };
        PhaseCost { cycles, ..phase }
    }
}

/// One GEMM call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GemmBlock {
    pub(crate) rows: u32,
    pub(crate) inner: u32,
    pub(crate) columns: u32,
    pub(crate) weights: MemoryClass,
    pub(crate) output: MemoryClass,
}

impl GemmBlock {
    fn is_empty(self) -> bool {
        self.rows == 0 || self.inner == 0 || self.columns == 0
    }

    fn work(self) -> Work {
        let Self { rows, inner, columns, weights, output } = self;
        Work::Gemm { rows, inner, columns, weights, output }
    }
}

/// One cast of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CastShard {
    pub(crate) from: ElementType,
    pub(crate) to: ElementType,
    /// Order before and after.
    pub(crate) order: (ElementOrder, ElementOrder),
    pub(crate) shape: MatrixShape,
}

impl CastShard {
    fn work(self) -> Work {
        let Self { from, to, order, shape } = self;
        Work::Cast { from, to, order, shape }
    }
}

/// Cycles of a phase and what they come from: maxima over tiles, but for `moved`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct PhaseCost {
    /// Price.
    pub cycles: u64,
    /// Operand bytes that the busiest tile consumes after the phase, own slice included.
    pub consumed: u32,
    /// Bytes that the busiest receiver gets from other tiles.
    pub received: u32,
    /// Bytes that the busiest sender sends.
    pub sent: u32,
    /// Lower bound of the schedule, in events.
    pub bound: u64,
    /// Bytes received by all tiles together.
    pub moved: u64,
}

impl PhaseCost {
    /// Adds `tiles` tiles with this load, the farthest of them on physical row `row`.
    pub(crate) fn add(&mut self, row: u16, load: PhaseLoad, tiles: u32) {
        self.consumed = self.consumed.max(load.consumed);
        self.received = self.received.max(load.received);
        self.sent = self.sent.max(load.sent);
        self.moved += u64::from(load.received) * u64::from(tiles);
        self.bound = self.bound.max(phase_bound(row, Bytes(load.received), Bytes(load.sent)));
    }
}
