//! The closed form of a plan's cost.
//!
//! Tiles fall into classes by whether each of their blocks is a large or a small part of its axis: at most eight.
//! Where one operand is gathered and no tile keeps a slice of it, one tile of each class stands for all (with the highest physical
//! row of the class, which delays its phase the most). Otherwise the pass goes over all tiles, with prices by class.
//! Both ways agree, and agree with the analysis of the expanded layouts: see the tests.

use ipu_device::numerics::ElementType;
use ipu_device::orders::MatrixShape;
use ipu_device::topology::ROWS;
use ipu_dialects::mapped::layout::AxisSplit;

use super::cost::{PlanCost, WorkCost};
use super::options::Prices;
use super::plan::{CastPlace, GemmPlan, Grid, Home, OperandGrid, Ownership, Side, operand_order};
use super::prices::{CastShard, PhaseCost, PhaseLoad, PriceBook};

/// The padded elements of a part as a range of positions.
fn padded(axis: AxisSplit, part: u32) -> (u32, u32) {
    let start = axis.start(part);
    (start, start + axis.padded(part))
}

fn overlap(a: (u32, u32), b: (u32, u32)) -> u32 {
    a.1.min(b.1).saturating_sub(a.0.max(b.0))
}

/// The two sizes of the parts of an axis: large, small.
fn sizes(axis: AxisSplit) -> [u32; 2] {
    [axis.padded(0), axis.padded(axis.parts() - 1)]
}

/// Index into [`sizes`] for a part.
fn class(axis: AxisSplit, part: u32) -> usize {
    usize::from(!axis.is_even() && part >= axis.large_parts())
}

/// First part and number of parts of each class of an axis that has any.
fn classes(axis: AxisSplit) -> impl Iterator<Item = (u32, u32)> {
    let large = if axis.is_even() { axis.parts() } else { axis.large_parts() };
    [(0, large), (large, axis.parts() - large)].into_iter().filter(|&(_, count)| count > 0)
}

/// What one operand contributes.
struct OperandCost {
    side: Side,
    home: Home,
    grid: OperandGrid,
    rotation: Option<(usize, u32)>,
    home_axes: [AxisSplit; 2],
    gathered: bool,
    moved_bytes: u32,
    /// Cast at home by class of the home shard.
    cast_home: Option<[[u64; 2]; 2]>,
    /// Cast of the block by class of the block.
    cast_block: [[u64; 2]; 2],
}

impl OperandCost {
    fn new(plan: &GemmPlan, side: Side, book: &mut PriceBook) -> Option<Self> {
        let operand = plan.operand(side);
        let (grid, home_axes) = (plan.operand_grid(side), plan.home_axes(side));
        let (from, to) = (plan.declared(side), plan.problem.multiply);
        let order = (plan.order(side, from), plan.order(side, to));
        let mut casts = |axes: [AxisSplit; 2]| -> Option<[[u64; 2]; 2]> {
            let mut prices = [[0; 2]; 2];
            for (first, row) in sizes(axes[0]).into_iter().zip(&mut prices) {
                for (second, price) in sizes(axes[1]).into_iter().zip(row.iter_mut()) {
                    let shape = MatrixShape::new(first, second);
                    *price = book.cast(CastShard { from, to, order, shape })?;
                }
            }
            Some(prices)
        };
        let (cast_home, cast_block) = match operand.cast {
            CastPlace::Nowhere => (None, [[0; 2]; 2]),
            CastPlace::Home => (Some(casts(home_axes)?), [[0; 2]; 2]),
            CastPlace::Block => (None, casts(grid.axes)?),
        };
        Some(Self {
            side,
            home: operand.home,
            rotation: grid.rotation(side),
            grid,
            home_axes,
            gathered: operand.home.is_gathered(),
            moved_bytes: plan.moved(side).bytes(),
            cast_home,
            cast_block,
        })
    }

    /// The blocks of the operand and the sharer number at a place of the grid.
    fn place(&self, [m, n, k]: [u32; 3]) -> ([u32; 2], u32) {
        if self.side == Side::Left { ([m, k], n) } else { ([k, n], m) }
    }

    /// Whether no tile holds a part of what it gathers.
    fn keeps_nothing(&self, computing: u32) -> bool {
        match self.home {
            Home::Resident | Home::Blocks => true,
            Home::Spread { first, second, shift, tiles } => {
                shift >= computing && shift + first * second <= tiles
            }
            Home::Shared { first, second, rotated } => match (rotated, self.rotation) {
                (true, Some((axis, distance))) => self.is_clear(axis, distance, [first, second]),
                _ => false,
            },
        }
    }

    /// Whether the home parts of every block stay clear of the block `distance` further along `axis`.
    fn is_clear(&self, axis: usize, distance: u32, factors: [u32; 2]) -> bool {
        let (blocks, homes, factor) = (self.grid.axes[axis], self.home_axes[axis], factors[axis]);
        (0..blocks.parts()).all(|part| {
            let held = (homes.start(part * factor), homes.start((part + 1) * factor));
            overlap(held, padded(blocks, (part + distance) % blocks.parts())) == 0
        })
    }

    /// The home part that a tile holds; `at` is its place in the grid if it computes.
    fn home_part(&self, tile: u32, at: Option<[u32; 3]>) -> Option<[u32; 2]> {
        match self.home {
            Home::Resident | Home::Blocks => None,
            Home::Spread { first, second, shift, tiles } => {
                let number = (tile + tiles - shift % tiles) % tiles;
                (tile < tiles && number < first * second).then(|| [number / second, number % second])
            }
            Home::Shared { first, second, rotated } => {
                let (mut block, sharer) = self.place(at?);
                if sharer >= first * second {
                    return None;
                }
                if let (true, Some((axis, distance))) = (rotated, self.rotation) {
                    let parts = self.grid.axes[axis].parts();
                    block[axis] = (block[axis] + parts - distance) % parts;
                }
                Some([block[0] * first + sharer / second, block[1] * second + sharer % second])
            }
        }
    }

    /// The tile of a home part.
    fn home_tile(&self, [row, column]: [u32; 2]) -> u32 {
        match self.home {
            Home::Resident | Home::Blocks => 0,
            Home::Spread { second, shift, tiles, .. } => (row * second + column + shift) % tiles,
            Home::Shared { first, second, rotated } => {
                let mut block = [row / first, column / second];
                if let (true, Some((axis, distance))) = (rotated, self.rotation) {
                    block[axis] = (block[axis] + distance) % self.grid.axes[axis].parts();
                }
                let sharer = row % first * second + column % second;
                let [first_stride, second_stride] = self.grid.strides;
                block[0] * first_stride + block[1] * second_stride + sharer * self.grid.sharer_stride
            }
        }
    }

    fn elements(axes: [AxisSplit; 2], part: [u32; 2]) -> u32 {
        axes[0].padded(part[0]) * axes[1].padded(part[1])
    }

    /// Elements of a home shard that a block needs.
    fn own_elements(&self, home: [u32; 2], block: [u32; 2]) -> u32 {
        let along = |axis: usize| {
            overlap(padded(self.home_axes[axis], home[axis]), padded(self.grid.axes[axis], block[axis]))
        };
        along(0) * along(1)
    }

    /// Adds the gather, copies and casts of the block at a place of the grid, of which `own` elements are there.
    fn visit_block(
        &self,
        at: [u32; 3],
        own: u32,
        work: &mut WorkCost,
        load: &mut PhaseLoad,
        book: &mut PriceBook,
    ) -> Option<()> {
        let (block, _) = self.place(at);
        let axes = self.grid.axes;
        work.cast_block += self.cast_block[class(axes[0], block[0])][class(axes[1], block[1])];
        if self.gathered {
            let elements = Self::elements(axes, block);
            load.consumed += elements * self.moved_bytes;
            load.received += (elements - own) * self.moved_bytes;
            work.copy_own += book.copy(own * self.moved_bytes)?;
        }
        Some(())
    }

    /// Adds what a tile does with the home part it holds, of which it keeps `own` elements.
    fn visit_home(&self, home: [u32; 2], own: u32, before: &mut WorkCost, load: &mut PhaseLoad) {
        let kept = if self.grid.sharers == 1 { own } else { 0 };
        load.sent += (Self::elements(self.home_axes, home) - kept) * self.moved_bytes;
        if let Some(prices) = &self.cast_home {
            before.cast_home += prices[class(self.home_axes[0], home[0])][class(self.home_axes[1], home[1])];
        }
    }
}

/// Prices a plan. `None` where no kernel of the registry takes one of its steps.
pub(crate) fn evaluate(plan: &GemmPlan, book: &mut PriceBook) -> Option<PlanCost> {
    let computing = plan.grid.tiles() as u32;
    let operands = [OperandCost::new(plan, Side::Left, book)?, OperandCost::new(plan, Side::Right, book)?];
    let by_class = operands.iter().all(|operand| operand.keeps_nothing(computing))
        && !operands.iter().all(|operand| operand.gathered);
    evaluate_by(plan, &operands, by_class, book)
}

/// Prices a plan tile by tile, whatever its classes: the tests compare.
#[cfg(test)]
pub(crate) fn evaluate_every_tile(plan: &GemmPlan, book: &mut PriceBook) -> Option<PlanCost> {
    let operands = [OperandCost::new(plan, Side::Left, book)?, OperandCost::new(plan, Side::Right, book)?];
    evaluate_by(plan, &operands, false, book)
}

fn evaluate_by(
    plan: &GemmPlan,
    operands: &[OperandCost; 2],
    by_class: bool,
    book: &mut PriceBook,
) -> Option<PlanCost> {
    let product = ProductCost::new(plan, book)?;
    let mut cost = PlanCost::default();
    let mut gather = PhaseCost::default();
    if by_class {
        gather_by_class(plan, operands, &product, &mut cost, &mut gather, book)?;
    } else {
        gather_by_tile(plan, operands, &product, &mut cost, &mut gather, book)?;
    }
    if operands.iter().any(|operand| operand.gathered) {
        cost.gather = Some(book.priced(gather));
    }
    if plan.grid.k > 1 {
        cost.scatter = Some(product.scatter(plan.grid, &mut cost, book)?);
    }
    cost.exchange = [cost.gather, cost.scatter].iter().flatten().map(|phase| phase.cycles).sum();
    cost.cycles = cost.exchange + cost.work.iter().map(WorkCost::cycles).sum::<u64>();
    Some(cost)
}

fn gather_by_class(
    plan: &GemmPlan,
    operands: &[OperandCost; 2],
    product: &ProductCost,
    cost: &mut PlanCost,
    gather: &mut PhaseCost,
    book: &mut PriceBook,
) -> Option<()> {
    let Grid { n: columns, k: inner, .. } = plan.grid;
    for (m, m_count) in classes(product.rows) {
        for (n, n_count) in classes(product.columns) {
            for (k, k_count) in classes(product.inner) {
                let mut work = product.work((m * columns + n) * inner + k, [m, n, k]);
                let mut load = PhaseLoad::default();
                for operand in operands {
                    operand.visit_block([m, n, k], 0, &mut work, &mut load, book)?;
                }
                cost.work[1].keep_slower(work);
                if load.received > 0 {
                    let row = highest_row(plan.grid, [(m, m_count), (n, n_count), (k, k_count)], book);
                    gather.add(row, load, m_count * n_count * k_count);
                }
            }
        }
    }
    for operand in operands.iter().filter(|operand| operand.gathered) {
        for (first, _) in classes(operand.home_axes[0]) {
            for (second, _) in classes(operand.home_axes[1]) {
                let tile = operand.home_tile([first, second]);
                let mut before = WorkCost { tile, ..WorkCost::default() };
                let mut load = PhaseLoad::default();
                operand.visit_home([first, second], 0, &mut before, &mut load);
                cost.work[0].keep_slower(before);
                gather.add(0, load, 1);
            }
        }
    }
    Some(())
}

/// The highest physical row of the tiles of a class, given as first part and number of parts of each side.
fn highest_row(grid: Grid, [rows, columns, inner]: [(u32, u32); 3], book: &PriceBook) -> u16 {
    let mut highest = 0;
    for m in rows.0..rows.0 + rows.1 {
        for n in columns.0..columns.0 + columns.1 {
            for k in inner.0..inner.0 + inner.1 {
                highest = highest.max(book.row((m * grid.n + n) * grid.k + k));
                if highest == ROWS - 1 {
                    return highest;
                }
            }
        }
    }
    highest
}

fn gather_by_tile(
    plan: &GemmPlan,
    operands: &[OperandCost; 2],
    product: &ProductCost,
    cost: &mut PlanCost,
    gather: &mut PhaseCost,
    book: &mut PriceBook,
) -> Option<()> {
    let Grid { n, k, .. } = plan.grid;
    let computing = plan.grid.tiles() as u32;
    let spread =
        |operand: &OperandCost| if let Home::Spread { tiles, .. } = operand.home { tiles } else { 0 };
    let tiles = operands.iter().map(spread).fold(computing, u32::max);
    for tile in 0..tiles {
        let at = (tile < computing).then(|| [tile / (n * k), tile / k % n, tile % k]);
        let mut before = WorkCost { tile, ..WorkCost::default() };
        let mut load = PhaseLoad::default();
        let mut work = at.map_or(before, |at| product.work(tile, at));
        for operand in operands {
            let home = if operand.gathered { operand.home_part(tile, at) } else { None };
            let own = match (home, at) {
                (Some(home), Some(at)) => operand.own_elements(home, operand.place(at).0),
                _ => 0,
            };
            if let Some(at) = at {
                operand.visit_block(at, own, &mut work, &mut load, book)?;
            }
            if let Some(home) = home {
                operand.visit_home(home, own, &mut before, &mut load);
            }
        }
        cost.work[0].keep_slower(before);
        cost.work[1].keep_slower(work);
        gather.add(book.row(tile), load, 1);
    }
    Some(())
}

/// What the product and its sum contribute.
struct ProductCost {
    ownership: Ownership,
    partials: u32,
    rows: AxisSplit,
    inner: AxisSplit,
    columns: AxisSplit,
    owned: [AxisSplit; 2],
    accumulate: ElementType,
    output: ElementType,
    prices: Prices,
    /// GEMM by class of rows, columns, inner.
    gemm: [[[u64; 2]; 2]; 2],
    /// Cast of the whole result block by class of rows and columns.
    cast_result: [[u64; 2]; 2],
}

impl ProductCost {
    fn new(plan: &GemmPlan, book: &mut PriceBook) -> Option<Self> {
        let (rows, inner, columns) = (plan.rows(), plan.inner(), plan.columns());
        let mut gemm = [[[0; 2]; 2]; 2];
        for (rows, by_columns) in sizes(rows).into_iter().zip(&mut gemm) {
            for (columns, by_inner) in sizes(columns).into_iter().zip(by_columns) {
                for (inner, price) in sizes(inner).into_iter().zip(by_inner) {
                    *price = book.gemm(plan.block(rows, inner, columns))?;
                }
            }
        }
        let mut cost = Self {
            ownership: plan.ownership,
            partials: plan.grid.k,
            rows,
            inner,
            columns,
            owned: plan.owned_axes(),
            accumulate: plan.problem.accumulate,
            output: plan.problem.output,
            prices: book.prices,
            gemm,
            cast_result: [[0; 2]; 2],
        };
        if cost.partials == 1 {
            let mut prices = [[0; 2]; 2];
            for (rows, by_columns) in sizes(rows).into_iter().zip(&mut prices) {
                for (columns, price) in sizes(columns).into_iter().zip(by_columns) {
                    *price = cost.result_cast(MatrixShape::new(rows, columns), book)?;
                }
            }
            cost.cast_result = prices;
        }
        Some(cost)
    }

    fn result_cast(&self, shape: MatrixShape, book: &mut PriceBook) -> Option<u64> {
        if self.accumulate == self.output {
            return Some(0);
        }
        let order = operand_order(Side::Left, self.accumulate);
        book.cast(CastShard { from: self.accumulate, to: self.output, order: (order, order), shape })
    }

    fn work(&self, tile: u32, [m, n, k]: [u32; 3]) -> WorkCost {
        let (rows, columns) = (class(self.rows, m), class(self.columns, n));
        WorkCost {
            tile,
            gemm: self.gemm[rows][columns][class(self.inner, k)],
            cast_result: self.cast_result[rows][columns],
            ..WorkCost::default()
        }
    }

    /// Rows and columns of the sum that a tile owns.
    fn owned_shape(&self, [m, n, k]: [u32; 3]) -> MatrixShape {
        let (rows, columns) = match self.ownership {
            Ownership::ScatterRows => (m * self.partials + k, n),
            Ownership::ScatterColumns => (m, n * self.partials + k),
            Ownership::Whole => (m, n),
            Ownership::Collapse if k == 0 => (m, n),
            Ownership::Collapse => return MatrixShape::new(0, 0),
        };
        MatrixShape::new(self.owned[0].padded(rows), self.owned[1].padded(columns))
    }

    fn scatter_load(&self, at: [u32; 3], owned: MatrixShape) -> PhaseLoad {
        let bytes = owned.rows * owned.columns * self.accumulate.bytes();
        let block = self.rows.padded(at[0]) * self.columns.padded(at[1]) * self.accumulate.bytes();
        PhaseLoad {
            consumed: self.partials * bytes,
            received: (self.partials - 1) * bytes,
            sent: block - bytes,
        }
    }

    /// Whether the tile's own share of its partial is one run of bytes.
    fn is_contiguous(&self, owned: MatrixShape) -> bool {
        let panel = self.accumulate.amp_inner().unwrap_or(1);
        self.ownership != Ownership::ScatterRows || owned.columns <= panel
    }

    /// The exchange of partials, and the slowest tile after it.
    fn scatter(&self, grid: Grid, cost: &mut PlanCost, book: &mut PriceBook) -> Option<PhaseCost> {
        let mut phase = PhaseCost::default();
        if self.ownership != Ownership::Collapse && self.owned.iter().all(|axis| axis.is_even()) {
            let owned = self.owned_shape([0; 3]);
            cost.work[2].keep_slower(self.sum(0, owned, book)?);
            let row = highest_row(grid, [(0, grid.m), (0, grid.n), (0, grid.k)], book);
            phase.add(row, self.scatter_load([0; 3], owned), grid.tiles() as u32);
            return Some(book.priced(phase));
        }
        let mut priced: [Option<(MatrixShape, WorkCost)>; 4] = [None; 4];
        let mut tile = 0;
        for m in 0..grid.m {
            for n in 0..grid.n {
                for k in 0..grid.k {
                    let owned = self.owned_shape([m, n, k]);
                    phase.add(book.row(tile), self.scatter_load([m, n, k], owned), 1);
                    let slot =
                        class(self.owned[0], m * grid.k + k) * 2 + class(self.owned[1], n * grid.k + k);
                    let slot = &mut priced[slot & 3];
                    if !slot.is_some_and(|(shape, _)| shape == owned) {
                        let after = self.sum(tile, owned, book)?;
                        cost.work[2].keep_slower(after);
                        *slot = Some((owned, after));
                    }
                    tile += 1;
                }
            }
        }
        Some(book.priced(phase))
    }

    fn sum(&self, tile: u32, owned: MatrixShape, book: &mut PriceBook) -> Option<WorkCost> {
        let mut after = WorkCost { tile, ..WorkCost::default() };
        if owned.elements() == 0 {
            return Some(after);
        }
        if self.prices == Prices::Recorded || !self.is_contiguous(owned) {
            after.copy_partial = book.copy(owned.rows * owned.columns * self.accumulate.bytes())?;
        }
        after.reduce = book.reduce(operand_order(Side::Left, self.accumulate), owned, self.partials - 1)?;
        after.cast_result = self.result_cast(owned, book)?;
        Some(after)
    }
}
