//! Element orders: in which order a shard's elements lie in memory, and the exact index maps both ways.
//!
//! Rules this folder keeps:
//! - a storage index and a coordinate meet only in [`IndexMap`]; nobody else computes one from the other;
//! - an order depends on precision only through its inner width `u` (8 for f32, 16 for f16, 32 for FP8: always
//!   32 bytes), so the same bytes in another precision are another order;
//! - a map exists only for a shape that satisfies the order's constraints; [`ElementOrder::padded_shape`] gives
//!   the smallest such shape.
//!
//! Source: `osmarks/ipu-stack` layouts, checked against the recorded FP8 run.

mod index_map;
mod name;

pub use index_map::{GatherMap, IndexMap};

crate::coded_enum! {
    /// What can be wrong with an element order.
    pub enum OrderCode {
        /// The text is not the name of an order.
        UnknownOrder = "D0611", "unknown element order",
        /// A parameter of the order is out of range.
        BadParameter = "D0612", "element order parameter out of range",
        /// The shape does not satisfy the order's constraints.
        ShapeMismatch = "D0613", "shape does not fit the element order",
    }
}

/// An error of this folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderError {
    /// Its kind.
    pub code: OrderCode,
    /// What is wrong, what was expected, the fix.
    pub message: String,
}

impl std::fmt::Display for OrderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for OrderError {}

/// Output columns that one AMP micro step computes, and the block of an AMP-right operand.
pub const AMP_COLUMNS: u32 = 16;

/// The shape of a shard as an order sees it. Leading axes are flattened into rows by the caller, or kept as separate
/// matrices where [`ElementOrder::keeps_matrices_apart`] says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MatrixShape {
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
}

impl MatrixShape {
    /// A shape of `rows` x `columns`.
    #[must_use]
    pub const fn new(rows: u32, columns: u32) -> Self {
        Self { rows, columns }
    }

    /// Number of elements.
    #[must_use]
    pub const fn elements(self) -> u64 {
        self.rows as u64 * self.columns as u64
    }

    /// Rows and columns exchanged.
    #[must_use]
    pub const fn transposed(self) -> Self {
        Self { rows: self.columns, columns: self.rows }
    }
}

impl std::fmt::Display for MatrixShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.rows, self.columns)
    }
}

/// The order of a shard's elements in memory. `inner` is the AMP micro width `u`.
///
/// A transposed order stores the transposed matrix in the plain order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ElementOrder {
    /// Columns fastest.
    RowMajor,
    /// Rows fastest.
    ColumnMajor,
    /// AMP activations and results: panels of `inner` columns, rows inside, columns fastest.
    AmpLeft {
        /// Panel width.
        inner: u32,
    },
    /// AMP coefficients of a `K x N` matrix: for each 16 columns, for each `inner` rows, 16 columns x `inner` rows,
    /// rows fastest.
    AmpRight {
        /// Rows of a micro block.
        inner: u32,
    },
    /// Streamed coefficients: blocks of `rows` whole rows, each in groups of `columns` columns, each in groups of
    /// `inner` rows; rows fastest. One row block is an AMP-right matrix.
    BlockMajor {
        /// Rows of a block.
        rows: u32,
        /// Columns of a column group.
        columns: u32,
        /// Rows of a micro block.
        inner: u32,
    },
    /// AMP-left of the transposed matrix.
    TransposedLeft {
        /// Panel height.
        inner: u32,
    },
    /// AMP-right of the transposed matrix: coefficients of a logical `N x K` matrix, such as attention keys.
    TransposedRight {
        /// Columns of a micro block.
        inner: u32,
    },
    /// Block-major of the transposed matrix.
    TransposedBlockMajor {
        /// Columns of a block.
        rows: u32,
        /// Rows of a row group.
        columns: u32,
        /// Columns of a micro block.
        inner: u32,
    },
}

/// The orders that are not transposed; a transposed order is one of these on the transposed matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plain {
    RowMajor,
    AmpLeft { inner: u32 },
    AmpRight { inner: u32 },
    BlockMajor { rows: u32, columns: u32, inner: u32 },
}

impl Plain {
    /// Rows and columns must be multiples of these.
    fn grain(self) -> MatrixShape {
        match self {
            Self::RowMajor => MatrixShape::new(1, 1),
            Self::AmpLeft { inner } => MatrixShape::new(1, inner),
            Self::AmpRight { inner } => MatrixShape::new(inner, AMP_COLUMNS),
            Self::BlockMajor { rows, columns, .. } => MatrixShape::new(rows, columns),
        }
    }
}

impl ElementOrder {
    /// The plain order, and whether the matrix is transposed first.
    fn plain(self) -> (Plain, bool) {
        match self {
            Self::RowMajor => (Plain::RowMajor, false),
            Self::ColumnMajor => (Plain::RowMajor, true),
            Self::AmpLeft { inner } => (Plain::AmpLeft { inner }, false),
            Self::TransposedLeft { inner } => (Plain::AmpLeft { inner }, true),
            Self::AmpRight { inner } => (Plain::AmpRight { inner }, false),
            Self::TransposedRight { inner } => (Plain::AmpRight { inner }, true),
            Self::BlockMajor { rows, columns, inner } => (Plain::BlockMajor { rows, columns, inner }, false),
            Self::TransposedBlockMajor { rows, columns, inner } => {
                (Plain::BlockMajor { rows, columns, inner }, true)
            }
        }
    }

    /// The same order on the transposed matrix.
    #[must_use]
    pub fn transposed(self) -> Self {
        match self {
            Self::RowMajor => Self::ColumnMajor,
            Self::ColumnMajor => Self::RowMajor,
            Self::AmpLeft { inner } => Self::TransposedLeft { inner },
            Self::TransposedLeft { inner } => Self::AmpLeft { inner },
            Self::AmpRight { inner } => Self::TransposedRight { inner },
            Self::TransposedRight { inner } => Self::AmpRight { inner },
            Self::BlockMajor { rows, columns, inner } => Self::TransposedBlockMajor { rows, columns, inner },
            Self::TransposedBlockMajor { rows, columns, inner } => Self::BlockMajor { rows, columns, inner },
        }
    }

    /// The inner width `u`; `None` for the orders that have none.
    #[must_use]
    pub fn inner(self) -> Option<u32> {
        match self.plain().0 {
            Plain::RowMajor => None,
            Plain::AmpLeft { inner } | Plain::AmpRight { inner } | Plain::BlockMajor { inner, .. } => {
                Some(inner)
            }
        }
    }

    /// The same kind of order with another inner width; the order itself where it has none.
    #[must_use]
    pub fn with_inner(self, inner: u32) -> Self {
        match self {
            Self::RowMajor | Self::ColumnMajor => self,
            Self::AmpLeft { .. } => Self::AmpLeft { inner },
            Self::TransposedLeft { .. } => Self::TransposedLeft { inner },
            Self::AmpRight { .. } => Self::AmpRight { inner },
            Self::TransposedRight { .. } => Self::TransposedRight { inner },
            Self::BlockMajor { rows, columns, .. } => Self::BlockMajor { rows, columns, inner },
            Self::TransposedBlockMajor { rows, columns, .. } => {
                Self::TransposedBlockMajor { rows, columns, inner }
            }
        }
    }

    /// Whether a tensor of more than two axes is stored matrix by matrix (coefficient formats). Otherwise the leading
    /// axes are flattened into rows.
    #[must_use]
    pub fn keeps_matrices_apart(self) -> bool {
        let (plain, transposed) = self.plain();
        transposed || matches!(plain, Plain::AmpRight { .. } | Plain::BlockMajor { .. })
    }

    /// Rows and columns of a shard must be multiples of these.
    #[must_use]
    pub fn grain(self) -> MatrixShape {
        let (plain, transposed) = self.plain();
        if transposed { plain.grain().transposed() } else { plain.grain() }
    }

    /// The smallest shape that holds `shape` and satisfies the constraints; `None` past 2^32 rows or columns, or for
    /// an order with a zero parameter.
    #[must_use]
    pub fn padded_shape(self, shape: MatrixShape) -> Option<MatrixShape> {
        let grain = self.grain();
        Some(MatrixShape {
            rows: shape.rows.checked_next_multiple_of(grain.rows)?,
            columns: shape.columns.checked_next_multiple_of(grain.columns)?,
        })
    }

    /// Whether the parameters are in range.
    ///
    /// # Errors
    /// [`OrderCode::BadParameter`] names the parameter and its range.
    pub fn check_parameters(self) -> Result<(), OrderError> {
        let bad = |message| Err(OrderError { code: OrderCode::BadParameter, message });
        if let Some(inner) = self.inner()
            && !matches!(inner, 8 | 16 | 32)
        {
            return bad(format!("`{self}` has inner width {inner}; expected 8 (f32), 16 (f16) or 32 (FP8)"));
        }
        let Plain::BlockMajor { rows, columns, inner } = self.plain().0 else { return Ok(()) };
        if rows == 0 || !rows.is_multiple_of(inner) {
            return bad(format!(
                "`{self}` has blocks of {rows} rows; expected a multiple of the inner width {inner}"
            ));
        }
        if columns == 0 {
            return bad(format!("`{self}` has column groups of 0 columns; expected at least 1"));
        }
        Ok(())
    }

    /// Whether a shard of `shape` can be stored in this order without padding.
    ///
    /// # Errors
    /// [`OrderCode`]: a parameter out of range, or a shape that is not a multiple of the grain, with the padded
    /// shape that would do.
    pub fn check(self, shape: MatrixShape) -> Result<(), OrderError> {
        self.check_parameters()?;
        let mismatch = |message| Err(OrderError { code: OrderCode::ShapeMismatch, message });
        if shape.elements() > u64::from(u32::MAX) {
            return mismatch(format!("a shard of {shape} has more than 2^32 elements"));
        }
        match self.padded_shape(shape) {
            Some(padded) if padded == shape => Ok(()),
            Some(padded) => {
                let grain = self.grain();
                mismatch(format!(
                    "a shard of {shape} cannot be stored as `{self}`: rows must be a multiple of {} and columns of \
                     {}; pad it to {padded}",
                    grain.rows, grain.columns
                ))
            }
            None => mismatch(format!("a shard of {shape} cannot be padded for `{self}`")),
        }
    }

    /// The index map of a shard of `shape`.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn map(self, shape: MatrixShape) -> Result<IndexMap, OrderError> {
        IndexMap::new(self, shape)
    }
}
