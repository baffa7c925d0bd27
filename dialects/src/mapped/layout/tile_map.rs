//! Which tile holds each shard: an expression in the shard's index, and a table where no expression can say it.

use std::fmt;

use ipu_device::LogicalTile;

use super::error::{LayoutCode, LayoutError};
use crate::ipu::AffineExpr;

/// The tile of every shard.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TileMap {
    /// Names of the ids: the axes in order, then the replica where there is one.
    pub ids: Vec<String>,
    /// The tile, or the index into `through`.
    pub expression: AffineExpr,
    /// Tiles by index, for maps that no expression says.
    pub through: Option<Vec<u16>>,
}

impl TileMap {
    /// The map `(ids) -> expression`.
    #[must_use]
    pub fn new(ids: &[&str], expression: AffineExpr) -> Self {
        Self { ids: ids.iter().map(|&id| id.to_owned()).collect(), expression, through: None }
    }

    /// The tile of the shard with this index.
    ///
    /// # Errors
    /// The expression overflows, names a missing id, or gives no tile of the device.
    pub fn tile(&self, ids: &[i64]) -> Result<LogicalTile, LayoutError> {
        let bad = |what: String| LayoutError::new(LayoutCode::Tile, format!("shard {ids:?}: {what}"));
        let value = self.expression.evaluate(ids).map_err(|error| bad(error.to_string()))?;
        let tile = match &self.through {
            None => value,
            Some(table) => usize::try_from(value)
                .ok()
                .and_then(|index| table.get(index))
                .map(|&tile| i64::from(tile))
                .ok_or_else(|| bad(format!("index {value} is outside the table of {} tiles", table.len())))?,
        };
        u64::try_from(tile)
            .ok()
            .and_then(LogicalTile::new)
            .ok_or_else(|| bad(format!("tile {tile} does not exist, expected 0 to 1471")))
    }
}

impl fmt::Display for TileMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}) -> {}", self.ids.join(", "), self.expression.display(&self.ids))?;
        match &self.through {
            Some(table) => write!(f, ", through = {table:?}"),
            None => Ok(()),
        }
    }
}
