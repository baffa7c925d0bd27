//! The grid of a GEMM, read from the layouts of its operands and its result.
//!
//! A is cut `[.., m, k]`, B `[k, n]`, C `[.., m, n]`; a tile computes the block `(m, n, k)` whose operand shards it
//! holds. A's copies are the `n` of the grid, B's the `m`, C's partials the `k`. The order in which the tiles of a
//! layout number copies and partials is free: only which shards meet on a tile counts.

use ipu_device::LogicalTile;

use super::error::{LayoutCode, LayoutError};
use super::placement::Placement;
use super::{AxisSplit, Replicas};

/// The work of one tile: its place in the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GridTile {
    /// The tile.
    pub tile: LogicalTile,
    /// Row block: leading parts of A flattened.
    pub m: u32,
    /// Column block.
    pub n: u32,
    /// Inner block.
    pub k: u32,
}

/// The grid of a GEMM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GemmGrid {
    /// Row blocks.
    pub m: u32,
    /// Column blocks.
    pub n: u32,
    /// Inner blocks.
    pub k: u32,
    /// Every tile that computes, in order of `(m, n, k)`.
    pub tiles: Vec<GridTile>,
}

impl GemmGrid {
    /// Reads the grid from the layouts.
    ///
    /// # Errors
    /// The layouts do not fit together; the text names the operand and the tile.
    pub fn derive(lhs: &Placement, rhs: &Placement, result: &Placement) -> Result<Self, LayoutError> {
        let (lhs_lead, inner) = split_axes(lhs, "left operand")?;
        let (rhs_lead, columns) = split_axes(rhs, "right operand")?;
        let (result_lead, result_columns) = split_axes(result, "result")?;
        let [rhs_inner] = rhs_lead else {
            return Err(mismatch("the right operand must be a matrix, K by N".into()));
        };
        same_axis(inner, *rhs_inner, "the inner axis of the left and right operand")?;
        same_axis(columns, result_columns, "the columns of the right operand and the result")?;
        if lhs_lead.len() != result_lead.len() {
            return Err(mismatch("the left operand and the result differ in rank".into()));
        }
        for (&left, &right) in lhs_lead.iter().zip(result_lead) {
            same_axis(left, right, "the rows of the left operand and the result")?;
        }
        let m = lhs_lead.iter().map(|axis| axis.parts()).product();
        let (n, k) = (columns.parts(), inner.parts());
        check_replicas(lhs, rhs, result, (m, n, k))?;
        let mut tiles = Vec::with_capacity((m * n * k) as usize);
        for (shard, &tile) in (0u32..).zip(lhs.tiles()) {
            let part = shard / lhs.layout().replicas.count();
            tiles.push(meet(tile, part / k, part % k, n, rhs, result)?);
        }
        tiles.sort_unstable_by_key(|at| (at.m, at.n, at.k));
        if tiles.windows(2).any(|pair| (pair[0].m, pair[0].n, pair[0].k) == (pair[1].m, pair[1].n, pair[1].k))
        {
            return Err(mismatch("two tiles hold the same blocks of both operands".into()));
        }
        Ok(Self { m, n, k, tiles })
    }
}

fn mismatch(message: String) -> LayoutError {
    LayoutError::new(LayoutCode::Grid, message)
}

fn split_axes<'a>(placement: &'a Placement, what: &str) -> Result<(&'a [AxisSplit], AxisSplit), LayoutError> {
    match placement.axes().split_last() {
        Some((&last, lead)) if !lead.is_empty() => Ok((lead, last)),
        _ => Err(mismatch(format!("the {what} of a GEMM needs two axes or more"))),
    }
}

/// The two axes are cut at the same elements, and padded alike.
fn same_axis(left: AxisSplit, right: AxisSplit, what: &str) -> Result<(), LayoutError> {
    let parts = left.parts() == right.parts() && left.extent() == right.extent();
    let cuts = |part: u32| left.range(part) == right.range(part);
    if parts && (0..left.parts()).all(cuts) {
        return Ok(());
    }
    Err(mismatch(format!(
        "{what} are cut differently: {} elements into {} parts of grain {}, {} elements into {} parts of grain {}",
        left.extent(),
        left.parts(),
        left.grain(),
        right.extent(),
        right.parts(),
        right.grain()
    )))
}

fn check_replicas(
    lhs: &Placement,
    rhs: &Placement,
    result: &Placement,
    (m, n, k): (u32, u32, u32),
) -> Result<(), LayoutError> {
    let check = |what: &str, placement: &Placement, wanted: Replicas| {
        let found = placement.layout().replicas;
        if found == wanted || (found.count() == 1 && wanted.count() == 1) {
            return Ok(());
        }
        Err(mismatch(format!("the {what} has {found:?}, the other layouts imply {wanted:?}")))
    };
    check("left operand", lhs, Replicas::Copies(n))?;
    check("right operand", rhs, Replicas::Copies(m))?;
    check("result", result, Replicas::Partial(k))
}

fn meet(
    tile: LogicalTile,
    m: u32,
    k: u32,
    columns: u32,
    rhs: &Placement,
    result: &Placement,
) -> Result<GridTile, LayoutError> {
    let Some(right) = rhs.shard_on(tile) else {
        return Err(mismatch(format!("tile {tile} holds a left operand but no right operand")));
    };
    let right = right / rhs.layout().replicas.count();
    let (right_k, n) = (right / columns, right % columns);
    if right_k != k {
        return Err(mismatch(format!(
            "tile {tile} holds inner block {k} of the left operand and {right_k} of the right operand"
        )));
    }
    let Some(output) = result.shard_on(tile) else {
        return Err(mismatch(format!("tile {tile} holds operands but no result")));
    };
    let output = output / result.layout().replicas.count();
    if (output / columns, output % columns) != (m, n) {
        return Err(mismatch(format!(
            "tile {tile} computes block ({m}, {n}) and holds block ({}, {}) of the result",
            output / columns,
            output % columns
        )));
    }
    Ok(GridTile { tile, m, n, k })
}
