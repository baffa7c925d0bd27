//! The index map of one shard: storage index to coordinate and back, and permutations between two maps.

use super::{AMP_COLUMNS, ElementOrder, MatrixShape, OrderError, Plain};

/// Where each element of a shard of a given shape lies. Exists only for a shape that fits the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexMap {
    order: ElementOrder,
    shape: MatrixShape,
    plain: Plain,
    transposed: bool,
}

/// For each storage index of a destination, the storage index of its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatherMap {
    sources: Vec<u32>,
}

impl GatherMap {
    /// The source index of a destination element that exists only as padding.
    pub const PADDING: u32 = u32::MAX;

    /// Source index of each destination index, or [`Self::PADDING`].
    #[must_use]
    pub fn sources(&self) -> &[u32] {
        &self.sources
    }

    /// Whether every element stays where it is.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.sources.iter().enumerate().all(|(to, &from)| to as u64 == u64::from(from))
    }

    /// `source` in the destination's order; padding and what `source` lacks becomes `padding`.
    #[must_use]
    pub fn apply<T: Copy>(&self, source: &[T], padding: T) -> Vec<T> {
        self.sources.iter().map(|&from| source.get(from as usize).copied().unwrap_or(padding)).collect()
    }

    /// As [`Self::apply`] on elements of `width` bytes, padding with zero bytes.
    #[must_use]
    pub fn apply_bytes(&self, source: &[u8], width: usize) -> Vec<u8> {
        let mut gathered = vec![0; self.sources.len() * width];
        for (to, &from) in gathered.chunks_exact_mut(width.max(1)).zip(&self.sources) {
            let start = from as usize * width;
            if let Some(bytes) = source.get(start..start + width) {
                to.copy_from_slice(bytes);
            }
        }
        gathered
    }
}

impl IndexMap {
    pub(super) fn new(order: ElementOrder, shape: MatrixShape) -> Result<Self, OrderError> {
        order.check(shape)?;
        let (plain, transposed) = order.plain();
        Ok(Self { order, shape, plain, transposed })
    }

    /// The order.
    #[must_use]
    pub fn order(&self) -> ElementOrder {
        self.order
    }

    /// The shape, padding included.
    #[must_use]
    pub fn shape(&self) -> MatrixShape {
        self.shape
    }

    /// Number of elements, padding included.
    #[must_use]
    pub fn elements(&self) -> u32 {
        self.shape.rows * self.shape.columns
    }

    /// The storage index of an element; `None` outside the shape.
    #[must_use]
    pub fn index_of(&self, row: u32, column: u32) -> Option<u32> {
        (row < self.shape.rows && column < self.shape.columns).then(|| self.locate(row, column))
    }

    /// The row and column of a storage index; `None` past the end.
    #[must_use]
    pub fn coordinate_of(&self, index: u32) -> Option<(u32, u32)> {
        (index < self.elements()).then(|| {
            let (row, column) = self.plain_coordinate(index);
            if self.transposed { (column, row) } else { (row, column) }
        })
    }

    /// The coordinates in storage order.
    pub fn coordinates(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.elements()).filter_map(|index| self.coordinate_of(index))
    }

    /// For each row-major index `row * columns + column`, the storage index.
    #[must_use]
    pub fn storage_indices(&self) -> Vec<u32> {
        let columns = self.shape.columns;
        (0..self.shape.rows)
            .flat_map(|row| (0..columns).map(move |column| self.locate(row, column)))
            .collect()
    }

    /// The permutation that turns storage of `self` into storage of `to`. An element of `to` outside this map's
    /// shape (its padding) has the source [`GatherMap::PADDING`].
    #[must_use]
    pub fn gather_map(&self, to: &Self) -> GatherMap {
        let mut sources = vec![GatherMap::PADDING; to.elements() as usize];
        for row in 0..to.shape.rows.min(self.shape.rows) {
            for column in 0..to.shape.columns.min(self.shape.columns) {
                if let Some(source) = sources.get_mut(to.locate(row, column) as usize) {
                    *source = self.locate(row, column);
                }
            }
        }
        GatherMap { sources }
    }

    /// Whether both maps put every element at the same index, so that a relabel between them changes nothing.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.shape == other.shape && (self.order == other.order || self.coordinates().eq(other.coordinates()))
    }

    /// The shape of the matrix that the plain order stores.
    fn plain_shape(&self) -> MatrixShape {
        if self.transposed { self.shape.transposed() } else { self.shape }
    }

    /// The storage index of an element inside the shape.
    fn locate(&self, row: u32, column: u32) -> u32 {
        let (row, column) = if self.transposed { (column, row) } else { (row, column) };
        let MatrixShape { rows, columns } = self.plain_shape();
        match self.plain {
            Plain::RowMajor => row * columns + column,
            Plain::AmpLeft { inner } => (column / inner) * rows * inner + row * inner + column % inner,
            Plain::AmpRight { inner } => {
                let block = (column / AMP_COLUMNS) * (rows / inner) + row / inner;
                block * AMP_COLUMNS * inner + (column % AMP_COLUMNS) * inner + row % inner
            }
            Plain::BlockMajor { rows: block_rows, columns: block_columns, inner } => {
                let row_groups = block_rows / inner;
                let panels = (columns / block_columns) * row_groups;
                let panel = (row / block_rows) * panels
                    + (column / block_columns) * row_groups
                    + (row % block_rows) / inner;
                panel * inner * block_columns + (column % block_columns) * inner + row % inner
            }
        }
    }

    /// The coordinate, in the matrix that the plain order stores, of a storage index inside it.
    fn plain_coordinate(&self, index: u32) -> (u32, u32) {
        let MatrixShape { rows, columns } = self.plain_shape();
        match self.plain {
            Plain::RowMajor => (index / columns, index % columns),
            Plain::AmpLeft { inner } => {
                let (panel, offset) = (index / (rows * inner), index % (rows * inner));
                (offset / inner, panel * inner + offset % inner)
            }
            Plain::AmpRight { inner } => {
                let (block, offset) = (index / (AMP_COLUMNS * inner), index % (AMP_COLUMNS * inner));
                let groups = rows / inner;
                (inner * (block % groups) + offset % inner, AMP_COLUMNS * (block / groups) + offset / inner)
            }
            Plain::BlockMajor { rows: block_rows, columns: block_columns, inner } => {
                let (panel, offset) = (index / (inner * block_columns), index % (inner * block_columns));
                let row_groups = block_rows / inner;
                let panels = (columns / block_columns) * row_groups;
                let within = panel % panels;
                (
                    block_rows * (panel / panels) + inner * (within % row_groups) + offset % inner,
                    block_columns * (within / row_groups) + offset / inner,
                )
            }
        }
    }
}
