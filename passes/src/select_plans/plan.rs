//! One plan of a GEMM: every decision of the search, and the layouts they imply.
//!
//! Tile of block `(m, n, k)` of grid `M x N x K`: `(m*N + n)*K + k`. Both operands are seen alike: an operand has a
//! first and a second axis, cut into parts with tile strides, and *sharers*: the tiles that need the same block.
//!
//! | operand | first axis | second axis | sharers |
//! |---|---|---|---|
//! | left | m, stride N*K | k, stride 1 | n, stride K |
//! | right | k, stride 1 | n, stride K | m, stride N*K |

use std::fmt;
use std::str::FromStr;

use ipu_device::memory_map::MemoryClass;
use ipu_device::numerics::ElementType;
use ipu_device::orders::ElementOrder;
use ipu_dialects::ipu::AffineExpr;
use ipu_dialects::mapped::layout::{AxisSplit, Layout, Padding, Replicas, TileMap};
use serde::{Deserialize, Serialize};

use super::error::{PlanCode, PlanError};
use super::problem::{GemmProblem, Source};

/// Parts of the three sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Grid {
    /// Row blocks.
    pub m: u32,
    /// Column blocks.
    pub n: u32,
    /// Inner blocks.
    pub k: u32,
}

impl Grid {
    /// Tiles that compute.
    #[must_use]
    pub fn tiles(self) -> u64 {
        u64::from(self.m) * u64::from(self.n) * u64::from(self.k)
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.m, self.n, self.k)
    }
}

impl FromStr for Grid {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let sides: Vec<u32> = text.split('x').filter_map(|side| side.parse().ok()).collect();
        match sides.as_slice() {
            &[m, n, k] if text.split('x').count() == 3 && m.min(n).min(k) > 0 && m.max(n).max(k) <= 1472 => {
                Ok(Self { m, n, k })
            }
            _ => Err(PlanError::new(
                PlanCode::BadPin,
                format!("`{text}` is no grid, expected three numbers from 1 to 1472 such as `8x4x2`"),
            )),
        }
    }
}

/// One of the operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// A.
    Left,
    /// B.
    Right,
}

/// Where an operand is before the program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Home {
    /// A copy of its block on every tile that needs it: weights, or inputs that the host replicates.
    Resident,
    /// Its block on the one tile that needs it.
    Blocks,
    /// Every block cut in `first` x `second` parts, spread over its sharers, or over the sharers of the block half
    /// way round (`rotated`), so that no tile keeps a slice of its own.
    Shared {
        /// Parts of a block along the first axis.
        first: u32,
        /// Parts of a block along the second axis.
        second: u32,
        /// Whether the parts lie on the sharers of another block.
        rotated: bool,
    },
    /// The tensor cut in `first` x `second` parts whatever the blocks; part `i`, row-major, lies on tile
    /// `(i + shift) mod tiles`.
    Spread {
        /// Parts along the first axis.
        first: u32,
        /// Parts along the second axis.
        second: u32,
        /// Tile of part 0.
        shift: u32,
        /// Tiles around which the parts are laid.
        tiles: u32,
    },
}

impl Home {
    /// Whether the operand must be gathered by an exchange.
    #[must_use]
    pub fn is_gathered(self) -> bool {
        !matches!(self, Self::Resident | Self::Blocks)
    }
}

/// Where an operand is cast to the multiply type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CastPlace {
    /// Its declared type is the multiply type.
    Nowhere,
    /// At home, before the exchange: moves the narrower type.
    Home,
    /// The gathered block on every tile that uses it.
    Block,
}

impl CastPlace {
    /// The name in pins and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nowhere => "nowhere",
            Self::Home => "home",
            Self::Block => "block",
        }
    }
}

/// In which panels an operand lies before it is cast. The host packs in any order for free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Packing {
    /// Panels as wide as its declared type has them: the cast regroups them.
    Declared,
    /// Panels as wide as the multiply type has them: the cast keeps the order of elements.
    Multiply,
}

impl Packing {
    /// The name in pins and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::Multiply => "multiply",
        }
    }
}

/// Who owns the sum of the partial results of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ownership {
    /// The inner axis is whole: there are no partials.
    Whole,
    /// Inner partner `k` owns rows `k*R/K..` of the block.
    ScatterRows,
    /// Inner partner `k` owns columns `k*C/K..` of the block.
    ScatterColumns,
    /// Inner partner 0 owns the block.
    Collapse,
}

impl Ownership {
    const ALL: [Self; 4] = [Self::Whole, Self::ScatterRows, Self::ScatterColumns, Self::Collapse];

    /// The name in pins and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::ScatterRows => "scatter_rows",
            Self::ScatterColumns => "scatter_columns",
            Self::Collapse => "collapse",
        }
    }

    /// The choice of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ownership| ownership.name() == name)
    }
}

/// Decisions about one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct OperandPlan {
    /// Where it is before the run.
    pub home: Home,
    /// Where it is cast.
    pub cast: CastPlace,
    /// In which panels it lies before the cast.
    pub packing: Packing,
    /// Memory of the block that the GEMM reads.
    pub memory: MemoryClass,
}

/// One plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GemmPlan {
    /// What is planned.
    pub problem: GemmProblem,
    /// The grid.
    pub grid: Grid,
    /// Rows of a unit of the row split: 1, or the inner parts where rows are scattered over them.
    pub row_grain: u32,
    /// Left operand.
    pub lhs: OperandPlan,
    /// Right operand.
    pub rhs: OperandPlan,
    /// Owner of the result.
    pub ownership: Ownership,
    /// Memory of the GEMM's output.
    pub output_memory: MemoryClass,
}

/// The tiles of one operand's blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OperandGrid {
    /// Cut of the two axes.
    pub(crate) axes: [AxisSplit; 2],
    /// Tile strides of the two axes.
    pub(crate) strides: [u32; 2],
    /// Tiles that need the same block.
    pub(crate) sharers: u32,
    /// Tile stride from one sharer to the next.
    pub(crate) sharer_stride: u32,
}

impl OperandGrid {
    /// The axis along which rotated parts move on, and by how many blocks: half of them, so that parts that reach
    /// over the edge of their block stay clear of it. `None` where there is only one block.
    pub(crate) fn rotation(&self, side: Side) -> Option<(usize, u32)> {
        let axes = if side == Side::Left { [0, 1] } else { [1, 0] };
        let parts = |axis: usize| self.axes.get(axis).map_or(1, |axis| axis.parts());
        axes.into_iter().find(|&axis| parts(axis) > 1).map(|axis| (axis, parts(axis) / 2))
    }
}

impl GemmPlan {
    /// The operand's decisions.
    #[must_use]
    pub fn operand(&self, side: Side) -> OperandPlan {
        if side == Side::Left { self.lhs } else { self.rhs }
    }

    /// Declared type of an operand.
    #[must_use]
    pub fn declared(&self, side: Side) -> ElementType {
        if side == Side::Left { self.problem.lhs.element } else { self.problem.rhs.element }
    }

    /// The type in which an operand is gathered.
    #[must_use]
    pub fn moved(&self, side: Side) -> ElementType {
        if self.operand(side).cast == CastPlace::Home { self.problem.multiply } else { self.declared(side) }
    }

    /// Cut of the rows of A and of the blocks of C.
    #[must_use]
    pub fn rows(&self) -> AxisSplit {
        AxisSplit::new(self.problem.m, self.row_grain, self.grid.m)
    }

    /// Cut of the inner axis.
    #[must_use]
    pub fn inner(&self) -> AxisSplit {
        AxisSplit::new(self.problem.k, self.problem.inner_grain(), self.grid.k)
    }

    /// Cut of the columns.
    #[must_use]
    pub fn columns(&self) -> AxisSplit {
        AxisSplit::new(self.problem.n, self.problem.column_grain(), self.grid.n)
    }

    pub(crate) fn operand_grid(&self, side: Side) -> OperandGrid {
        let Grid { m, n, k } = self.grid;
        match side {
            Side::Left => OperandGrid {
                axes: [self.rows(), self.inner()],
                strides: [n * k, 1],
                sharers: n,
                sharer_stride: k,
            },
            Side::Right => OperandGrid {
                axes: [self.inner(), self.columns()],
                strides: [1, k],
                sharers: m,
                sharer_stride: n * k,
            },
        }
    }

    /// Cut of an operand's home, both axes.
    pub(crate) fn home_axes(&self, side: Side) -> [AxisSplit; 2] {
        let [first, second] = self.operand_grid(side).axes;
        let grain = if side == Side::Left { 1 } else { first.grain() };
        match self.operand(side).home {
            Home::Resident | Home::Blocks => [first, second],
            Home::Shared { first: a, second: b, .. } => [
                AxisSplit::new(first.extent(), grain, first.parts() * a),
                AxisSplit::new(second.extent(), second.grain(), second.parts() * b),
            ],
            Home::Spread { first: a, second: b, .. } => {
                [AxisSplit::new(first.extent(), grain, a), AxisSplit::new(second.extent(), second.grain(), b)]
            }
        }
    }

    /// Layout of the block that the GEMM reads, or that is gathered, in `element`.
    #[must_use]
    pub fn block_layout(&self, side: Side, element: ElementType) -> Layout {
        let grid = self.operand_grid(side);
        let names = if side == Side::Left { ["m", "k"] } else { ["k", "n"] };
        let mut tile = scaled(0, grid.strides[0]).plus(&scaled(1, grid.strides[1]));
        let mut ids = names.to_vec();
        let mut replicas = Replicas::One;
        if grid.sharers > 1 {
            replicas = Replicas::Copies(grid.sharers);
            ids.push("c");
            tile = tile.plus(&scaled(2, grid.sharer_stride));
        }
        let multiplied = element == self.problem.multiply;
        let memory = if multiplied { self.operand(side).memory } else { MemoryClass::Standard };
        self.layout(side, element, grid.axes, replicas, TileMap::new(&ids, tile.simplified()), memory)
    }

    /// Layout of an operand's home in `element`, its declared type or the multiply type.
    #[must_use]
    pub fn home_layout(&self, side: Side, element: ElementType) -> Layout {
        let grid = self.operand_grid(side);
        let axes = self.home_axes(side);
        let ids: [&str; 2] = if side == Side::Left { ["r", "k"] } else { ["k", "c"] };
        let tile = match self.operand(side).home {
            Home::Resident | Home::Blocks => return self.block_layout(side, element),
            Home::Spread { second, shift, tiles, .. } => {
                let number = scaled(0, second).plus(&AffineExpr::id(1)).plus(&constant(shift));
                let number = if second == 1 { AffineExpr::id(0).plus(&constant(shift)) } else { number };
                let parts = axes[0].parts() * axes[1].parts();
                if parts + shift > tiles { modulo(number, tiles) } else { number }
            }
            Home::Shared { first, second, rotated } => {
                let mut blocks = [divided(AffineExpr::id(0), first), divided(AffineExpr::id(1), second)];
                if let (true, Some((axis, distance))) = (rotated, grid.rotation(side)) {
                    let moved = blocks[axis].clone().plus(&constant(distance));
                    blocks[axis] = modulo(moved, grid.axes[axis].parts());
                }
                let sharer = modulo(AffineExpr::id(0), first)
                    .times(&constant(second))
                    .plus(&modulo(AffineExpr::id(1), second));
                let [first_block, second_block] = blocks;
                first_block
                    .times(&constant(grid.strides[0]))
                    .plus(&second_block.times(&constant(grid.strides[1])))
                    .plus(&sharer.simplified().times(&constant(grid.sharer_stride)))
            }
        };
        let tiles = TileMap::new(&ids, tile.simplified());
        self.layout(side, element, axes, Replicas::One, tiles, MemoryClass::Standard)
    }

    /// Layout of what the GEMM writes.
    #[must_use]
    pub fn product_layout(&self) -> Layout {
        let Grid { n, k, .. } = self.grid;
        let mut tile = scaled(0, n * k).plus(&scaled(1, k));
        let mut ids = vec!["m", "n"];
        let mut replicas = Replicas::One;
        if k > 1 {
            replicas = Replicas::Partial(k);
            ids.push("p");
            tile = tile.plus(&AffineExpr::id(2));
        }
        let axes = [self.rows(), self.columns()];
        let tiles = TileMap::new(&ids, tile.simplified());
        result(axes, replicas, tiles, self.problem.accumulate, self.output_memory)
    }

    /// Cut of the rows and columns of the summed result.
    pub(crate) fn owned_axes(&self) -> [AxisSplit; 2] {
        let Grid { m, n, k } = self.grid;
        let (rows, columns) = (self.rows(), self.columns());
        match self.ownership {
            Ownership::Whole | Ownership::Collapse => [rows, columns],
            Ownership::ScatterRows => [AxisSplit::new(rows.extent(), 1, m * k), columns],
            Ownership::ScatterColumns => [rows, AxisSplit::new(columns.extent(), columns.grain(), n * k)],
        }
    }

    /// Layout of the summed result in `element`.
    #[must_use]
    pub fn owned_layout(&self, element: ElementType) -> Layout {
        let Grid { n, k, .. } = self.grid;
        let over = |id: u16| divided(AffineExpr::id(id), k);
        let partner = |id: u16| modulo(AffineExpr::id(id), k);
        let tile = match self.ownership {
            Ownership::Whole | Ownership::Collapse => scaled(0, n * k).plus(&scaled(1, k)),
            Ownership::ScatterRows => over(0).times(&constant(n * k)).plus(&scaled(1, k)).plus(&partner(0)),
            Ownership::ScatterColumns => {
                scaled(0, n * k).plus(&over(1).times(&constant(k))).plus(&partner(1))
            }
        };
        let memory = match self.ownership {
            Ownership::Whole if element == self.problem.accumulate => self.output_memory,
            _ => MemoryClass::Standard,
        };
        let tiles = TileMap::new(&["m", "n"], tile.simplified());
        result(self.owned_axes(), Replicas::One, tiles, self.problem.accumulate, memory)
    }

    /// The element order of an operand in `element`, its declared type or the multiply type.
    pub(crate) fn order(&self, side: Side, element: ElementType) -> ElementOrder {
        let packed = match self.operand(side).packing {
            Packing::Declared => element,
            Packing::Multiply => self.problem.multiply,
        };
        operand_order(side, packed)
    }

    /// The source of an operand.
    #[must_use]
    pub fn source(&self, side: Side) -> Source {
        if side == Side::Left { self.problem.lhs.source } else { self.problem.rhs.source }
    }

    fn layout(
        &self,
        side: Side,
        element: ElementType,
        axes: [AxisSplit; 2],
        replicas: Replicas,
        tiles: TileMap,
        memory: MemoryClass,
    ) -> Layout {
        let padded = axes.iter().any(|axis| !axis.extent().is_multiple_of(axis.grain()));
        Layout {
            split: axes.iter().map(|axis| axis.parts()).collect(),
            grain: axes.iter().map(|axis| axis.grain()).collect(),
            replicas,
            tiles,
            order: self.order(side, element),
            pad: if padded { Padding::Zero } else { Padding::None },
            memory,
        }
    }
}

/// The order in which the AMP unit reads an operand of this type.
pub(crate) fn operand_order(side: Side, element: ElementType) -> ElementOrder {
    let inner = element.amp_inner().unwrap_or(1);
    match side {
        Side::Left => ElementOrder::AmpLeft { inner },
        Side::Right => ElementOrder::AmpRight { inner },
    }
}

/// The layout of a product in panels of type `panels`, which later casts keep.
fn result(
    axes: [AxisSplit; 2],
    replicas: Replicas,
    tiles: TileMap,
    panels: ElementType,
    memory: MemoryClass,
) -> Layout {
    Layout {
        split: axes.iter().map(|axis| axis.parts()).collect(),
        grain: axes.iter().map(|axis| axis.grain()).collect(),
        replicas,
        tiles,
        order: operand_order(Side::Left, panels),
        pad: Padding::None,
        memory,
    }
}

fn constant(value: u32) -> AffineExpr {
    AffineExpr::constant(i64::from(value))
}

fn scaled(id: u16, factor: u32) -> AffineExpr {
    constant(factor).times(&AffineExpr::id(id)).simplified()
}

fn divided(expression: AffineExpr, by: u32) -> AffineExpr {
    let whole = expression.clone();
    expression.floor_divided_by(i64::from(by)).unwrap_or(whole)
}

fn modulo(expression: AffineExpr, by: u32) -> AffineExpr {
    let whole = expression.clone();
    expression.modulo(i64::from(by)).unwrap_or(whole)
}
