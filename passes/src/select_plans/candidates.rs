//! What the search tries: grids with a lower bound each, and the choices within a grid.

use ipu_device::Bytes;
use ipu_device::memory_map::MemoryClass;
use ipu_device::orders::MatrixShape;
use ipu_dialects::mapped::layout::AxisSplit;

use super::error::{PlanCode, PlanError};
use super::options::{Pin, PinnedHome, PlanOptions, Prices};
use super::plan::{CastPlace, GemmPlan, Grid, Home, OperandPlan, Ownership, Packing, Side};
use super::prices::{
    CastShard, EXCHANGE_BYTES_PER_CYCLE, GemmBlock, PHASE_OVERHEAD_CYCLES, PriceBook, RECORDED_PHASE_CYCLES,
    phase_bound,
};
use super::problem::{GemmProblem, Source};

/// A grid and the least any plan on it can cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BoundedGrid {
    pub(crate) bound: u64,
    pub(crate) grid: Grid,
}

/// The grids that the options allow.
#[derive(Debug, Default)]
pub(crate) struct Grids {
    /// Cheapest bound first.
    pub(crate) bounded: Vec<BoundedGrid>,
    /// Of those whose blocks no kernel takes, the one with the smallest operands, and their bytes.
    pub(crate) smallest_refused: Option<(u64, Grid)>,
}

/// The grids that the options allow, with their bounds.
pub(crate) fn grids(
    problem: &GemmProblem,
    options: &PlanOptions,
    book: &mut PriceBook,
) -> Result<Grids, PlanError> {
    let limits = Grid {
        m: problem.m,
        n: problem.n.div_ceil(problem.column_grain()),
        k: problem.k.div_ceil(problem.inner_grain()),
    };
    if let Some(pin) = options.pin {
        let bounded = vec![BoundedGrid { bound: 0, grid: pin.grid }];
        return check_pin(pin, limits).map(|()| Grids { bounded, smallest_refused: None });
    }
    let tiles = u32::from(options.tiles);
    let inner_limit = if book.can_reduce() { limits.k } else { 1 };
    let mut grids = Grids::default();
    let least_cast = least_cast(problem, book);
    for k in 1..=inner_limit.min(tiles) {
        for n in 1..=limits.n.min(tiles / k) {
            for m in 1..=limits.m.min(tiles / (k * n)) {
                let grid = Grid { m, n, k };
                match lower_bound(problem, options, grid, least_cast, book) {
                    Some(bound) => grids.bounded.push(BoundedGrid { bound, grid }),
                    None => {
                        let refused = (operand_bytes(problem, grid), grid);
                        grids.smallest_refused = grids.smallest_refused.into_iter().chain([refused]).min();
                    }
                }
            }
        }
    }
    grids.bounded.sort_unstable();
    Ok(grids)
}

/// Bytes of the operands and the result of the largest block.
fn operand_bytes(problem: &GemmProblem, grid: Grid) -> u64 {
    let [rows, inner, columns] = block_sizes(problem, grid).map(u64::from);
    let (multiply, accumulate) = (u64::from(problem.multiply.bytes()), u64::from(problem.accumulate.bytes()));
    (rows * inner + inner * columns) * multiply + rows * columns * accumulate
}

fn check_pin(pin: Pin, limits: Grid) -> Result<(), PlanError> {
    let sides = [("m", pin.grid.m, limits.m), ("n", pin.grid.n, limits.n), ("k", pin.grid.k, limits.k)];
    match sides.iter().find(|(_, parts, most)| parts > most) {
        Some((axis, parts, most)) => Err(PlanError::new(
            PlanCode::BadPin,
            format!("grid {} cuts axis {axis} into {parts} parts, it has {most} units", pin.grid),
        )),
        None => Ok(()),
    }
}

fn block_sizes(problem: &GemmProblem, grid: Grid) -> [u32; 3] {
    [
        AxisSplit::new(problem.m, 1, grid.m).largest(),
        AxisSplit::new(problem.k, problem.inner_grain(), grid.k).largest(),
        AxisSplit::new(problem.n, problem.column_grain(), grid.n).largest(),
    ]
}

/// The least that a cast of an operand costs: that of its smallest shard, since prices grow with size.
fn least_cast(problem: &GemmProblem, book: &mut PriceBook) -> [u64; 2] {
    let sides =
        [(Side::Left, problem.lhs.element, 1), (Side::Right, problem.rhs.element, problem.column_grain())];
    sides.map(|(side, from, other)| {
        if from == problem.multiply {
            return 0;
        }
        let inner = problem.inner_grain();
        let shape =
            if side == Side::Left { MatrixShape::new(1, inner) } else { MatrixShape::new(inner, other) };
        let packings = [from, problem.multiply].map(|packed| super::plan::operand_order(side, packed));
        let to = problem.multiply;
        let after = super::plan::operand_order(side, to);
        let price = |order| book.cast(CastShard { from, to, order: (order, after), shape });
        packings.into_iter().filter_map(price).min().unwrap_or(0)
    })
}

/// A bound that no plan on the grid undercuts; `None` where no kernel multiplies its blocks.
fn lower_bound(
    problem: &GemmProblem,
    options: &PlanOptions,
    grid: Grid,
    least_cast: [u64; 2],
    book: &mut PriceBook,
) -> Option<u64> {
    let [rows, inner, columns] = block_sizes(problem, grid);
    let output = MemoryClass::Interleaved;
    let price =
        |weights, book: &mut PriceBook| book.gemm(GemmBlock { rows, inner, columns, weights, output });
    let gemm = price(MemoryClass::Interleaved, book)?.min(price(MemoryClass::Standard, book)?);
    // Casts of both operands may run on different tiles.
    let mut bound = gemm + least_cast.into_iter().fold(0, u64::max);
    let is_free = |source| source == Source::Weight || options.replicate_inputs;
    let width = |declared: ipu_device::numerics::ElementType| declared.bytes().min(problem.multiply.bytes());
    let mut gathered = 0;
    for (operand, elements, sharers) in
        [(problem.lhs, rows * inner, grid.n), (problem.rhs, inner * columns, grid.m)]
    {
        if !is_free(operand.source) && sharers > 1 {
            let bytes = elements * width(operand.element);
            // Some sharer's own slice is no more than its fair share.
            let own = if options.prices == Prices::Recorded { 0 } else { bytes / sharers };
            gathered += bytes - own;
        }
    }
    if gathered > 0 {
        bound += phase_floor(options.prices, u64::from(gathered), 0);
    }
    if grid.k > 1 {
        let block = rows * columns * problem.accumulate.bytes();
        let received = match options.prices {
            Prices::Recorded => block,
            Prices::Calibrated => block - block.div_ceil(grid.k),
        };
        bound += phase_floor(options.prices, u64::from(received), 0);
        // An owner sums at least its fair share.
        let share = MatrixShape::new(1, problem.accumulate.amp_inner()?.max(8));
        let order = super::plan::operand_order(Side::Left, problem.accumulate);
        bound += book.reduce(order, share, grid.k - 1)?;
    }
    Some(bound)
}

/// The least a phase costs in which one tile receives and one sends this much (for the recorded list: consumes).
fn phase_floor(prices: Prices, received: u64, sent: u64) -> u64 {
    let bytes = |count: u64| Bytes(u32::try_from(count).unwrap_or(u32::MAX));
    match prices {
        Prices::Recorded => RECORDED_PHASE_CYCLES + received.div_ceil(EXCHANGE_BYTES_PER_CYCLE),
        Prices::Calibrated => PHASE_OVERHEAD_CYCLES + phase_bound(0, bytes(received), bytes(sent)),
    }
}

/// A bound that the plan does not undercut, from the tile whose shards are all large; `None` where a step has no
/// kernel. Far cheaper than the cost, and close to it.
pub(crate) fn plan_bound(plan: &GemmPlan, book: &mut PriceBook) -> Option<u64> {
    let [rows, inner, columns] = [plan.rows(), plan.inner(), plan.columns()].map(AxisSplit::largest);
    let mut bound = book.gemm(plan.block(rows, inner, columns))?;
    let (mut gathered, mut sent, mut cast_home) = (0, 0, 0);
    for side in [Side::Left, Side::Right] {
        let operand = plan.operand(side);
        let largest = |axes: [AxisSplit; 2]| MatrixShape::new(axes[0].largest(), axes[1].largest());
        let (block, home) = (largest(plan.operand_grid(side).axes), largest(plan.home_axes(side)));
        let (from, to) = (plan.declared(side), plan.problem.multiply);
        let order = (plan.order(side, from), plan.order(side, to));
        // Homes of the two operands may lie on different tiles.
        match operand.cast {
            CastPlace::Nowhere => {}
            CastPlace::Home => {
                cast_home = book.cast(CastShard { from, to, order, shape: home })?.max(cast_home);
            }
            CastPlace::Block => bound += book.cast(CastShard { from, to, order, shape: block })?,
        }
        if operand.home.is_gathered() {
            let width = plan.moved(side).bytes();
            let own = block.rows.min(home.rows) * block.columns.min(home.columns) * width;
            let (block, home) = (block.rows * block.columns * width, home.rows * home.columns * width);
            // No tile keeps more of its own than a home shard.
            gathered += if book.prices == Prices::Recorded { block } else { block.saturating_sub(home) };
            sent = sent.max(if plan.operand_grid(side).sharers > 1 { home } else { 0 });
            // Tile 0 holds the first part of its own block, unless the homes are rotated or elsewhere.
            if matches!(operand.home, Home::Shared { rotated: false, .. } | Home::Spread { shift: 0, .. }) {
                bound += book.copy(own)?;
            }
        }
    }
    bound += cast_home;
    if plan.lhs.home.is_gathered() || plan.rhs.home.is_gathered() {
        bound += phase_floor(book.prices, u64::from(gathered), u64::from(sent));
    }
    if plan.grid.k > 1 {
        let [rows, columns] = plan.owned_axes().map(AxisSplit::largest);
        let share = rows * columns * plan.problem.accumulate.bytes();
        let partials = plan.grid.k - u32::from(book.prices == Prices::Calibrated);
        bound += phase_floor(book.prices, u64::from(partials) * u64::from(share), 0);
        let order = super::plan::operand_order(Side::Left, plan.problem.accumulate);
        bound += book.reduce(order, MatrixShape::new(rows, columns), plan.grid.k - 1)?;
    }
    Some(bound)
}

/// The sound plans on a grid.
pub(crate) fn plans(
    problem: &GemmProblem,
    options: &PlanOptions,
    grid: Grid,
    book: &PriceBook,
) -> Vec<GemmPlan> {
    let pin = options.pin;
    let mut found = Vec::new();
    for (ownership, row_grain) in ownerships(problem, grid, pin) {
        for packing in packings(problem, pin) {
            let base = GemmPlan {
                problem: *problem,
                grid,
                row_grain,
                lhs: placeholder(),
                rhs: placeholder(),
                ownership,
                output_memory: MemoryClass::Interleaved,
            };
            if !base.is_sound() {
                continue;
            }
            let [rows, inner, columns] = [base.rows(), base.inner(), base.columns()].map(AxisSplit::largest);
            let output_memory = book.gemm_output(base.block(rows, inner, columns));
            let base = GemmPlan { output_memory, ..base };
            let lefts = operand_plans(&base, Side::Left, options, packing);
            for rhs in operand_plans(&base, Side::Right, options, packing) {
                found.extend(lefts.iter().map(|&lhs| GemmPlan { lhs, rhs, ..base }));
            }
        }
    }
    found
}

fn placeholder() -> OperandPlan {
    OperandPlan {
        home: Home::Blocks,
        cast: CastPlace::Nowhere,
        packing: Packing::Declared,
        memory: MemoryClass::Standard,
    }
}

fn packings(problem: &GemmProblem, pin: Option<Pin>) -> Vec<Packing> {
    let cast = problem.lhs.element != problem.multiply || problem.rhs.element != problem.multiply;
    match pin.and_then(|pin| pin.packing) {
        _ if !cast => vec![Packing::Declared],
        Some(packing) => vec![packing],
        None => vec![Packing::Declared, Packing::Multiply],
    }
}

/// Owners of the result with the row grain they need: one row, or as many as inner parts so that shares nest.
fn ownerships(problem: &GemmProblem, grid: Grid, pin: Option<Pin>) -> Vec<(Ownership, u32)> {
    if grid.k == 1 {
        return vec![(Ownership::Whole, 1)];
    }
    let pinned = pin.and_then(|pin| pin.ownership);
    let wanted = |ownership: Ownership| pinned.is_none_or(|pinned| pinned == ownership);
    let mut found = Vec::new();
    if wanted(Ownership::ScatterRows) {
        found.push((Ownership::ScatterRows, 1));
        if problem.m.is_multiple_of(grid.k) {
            found.push((Ownership::ScatterRows, grid.k));
        }
    }
    if wanted(Ownership::ScatterColumns) {
        found.push((Ownership::ScatterColumns, 1));
    }
    if wanted(Ownership::Collapse) {
        found.push((Ownership::Collapse, 1));
    }
    // Two grains that cut the rows alike are one plan.
    let cuts = |grain| AxisSplit::new(problem.m, grain, grid.m);
    let alike = |grain| (0..grid.m).all(|part| cuts(1).range(part) == cuts(grain).range(part));
    found.retain(|&(_, grain)| grain == 1 || !alike(grain));
    found
}

/// The choices for one operand.
fn operand_plans(base: &GemmPlan, side: Side, options: &PlanOptions, packing: Packing) -> Vec<OperandPlan> {
    let memories = match (side, options.pin.and_then(|pin| pin.weights)) {
        (Side::Left, _) => vec![MemoryClass::Standard],
        (Side::Right, Some(memory)) => vec![memory],
        (Side::Right, None) => vec![MemoryClass::Standard, MemoryClass::Interleaved],
    };
    let declared = base.declared(side);
    let packing = if declared == base.problem.multiply { Packing::Declared } else { packing };
    let mut found = Vec::new();
    for home in homes(base, side, options) {
        for cast in casts(base, side, home, options.pin) {
            for &memory in &memories {
                found.push(OperandPlan { home, cast, packing, memory });
            }
        }
    }
    found
}

fn casts(base: &GemmPlan, side: Side, home: Home, pin: Option<Pin>) -> Vec<CastPlace> {
    if base.declared(side) == base.problem.multiply {
        return vec![CastPlace::Nowhere];
    }
    if !home.is_gathered() {
        return vec![CastPlace::Block];
    }
    match pin.and_then(|pin| pin.cast) {
        Some(cast) => vec![cast],
        None => vec![CastPlace::Home, CastPlace::Block],
    }
}

fn homes(base: &GemmPlan, side: Side, options: &PlanOptions) -> Vec<Home> {
    let grid = base.operand_grid(side);
    if base.source(side) == Source::Weight || options.replicate_inputs {
        return vec![if grid.sharers > 1 { Home::Resident } else { Home::Blocks }];
    }
    let computing = base.grid.tiles() as u32;
    if options.pin.is_some_and(|pin| pin.home == PinnedHome::Rows) {
        let first = if side == Side::Left { computing } else { grid.axes[0].units().min(computing) };
        return vec![Home::Spread { first, second: 1, shift: 0, tiles: computing }];
    }
    let mut found = Vec::new();
    if grid.sharers == 1 {
        found.push(Home::Blocks);
    } else {
        shared_homes(base, side, &mut found);
    }
    let tiles = u32::from(options.tiles);
    // With as many tiles to spare as compute, a home that ignores the blocks can be finer.
    if 2 * computing <= tiles {
        spread_homes(base, side, tiles, &mut found);
    }
    found
}

/// Parts of each block over its own sharers or the next block's.
fn shared_homes(base: &GemmPlan, side: Side, found: &mut Vec<Home>) {
    let grid = base.operand_grid(side);
    let units = grid.axes.map(|axis| axis.units_of(0));
    for second in 1..=units[1].min(grid.sharers) {
        let first = (grid.sharers / second).min(units[0]);
        // A second split that leaves the first no coarser is dominated by a finer one.
        let finer = second < units[1] && (grid.sharers / (second + 1)).min(units[0]) == first;
        if finer && !units[1].is_multiple_of(second) {
            continue;
        }
        found.push(Home::Shared { first, second, rotated: false });
        if grid.rotation(side).is_some() {
            found.push(Home::Shared { first, second, rotated: true });
        }
    }
}

/// Even shares of the whole tensor over the tiles that do not compute.
fn spread_homes(base: &GemmPlan, side: Side, tiles: u32, found: &mut Vec<Home>) {
    let grid = base.operand_grid(side);
    let computing = base.grid.tiles() as u32;
    let idle = tiles - computing;
    let first_units = if side == Side::Left { grid.axes[0].extent() } else { grid.axes[0].units() };
    let mut second = 1;
    while second <= grid.axes[1].units().min(idle) {
        let first = (idle / second).min(first_units);
        found.push(Home::Spread { first, second, shift: computing, tiles });
        second *= 2;
    }
}
