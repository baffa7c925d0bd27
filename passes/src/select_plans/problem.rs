//! What is to be planned: one matrix product, its precisions and where its operands come from.

use ipu_device::numerics::ElementType;
use ipu_device::orders::AMP_COLUMNS;
use serde::Serialize;

use super::error::{PlanCode, PlanError};

/// Most elements of a padded tensor, so that sums of bytes stay small; more than a device can multiply at once.
const MOST_ELEMENTS: u64 = 1 << 26;

/// Where an operand comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The host writes it before every run: each element enters one tile, in its declared type.
    Input,
    /// Loaded once: may be replicated and laid out in any order for free.
    Weight,
}

/// One operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OperandType {
    /// Declared element type.
    pub element: ElementType,
    /// Where it comes from.
    pub source: Source,
}

/// `C[m, n] = A[m, k] x B[k, n]`. Leading axes of A and C are flattened into rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GemmProblem {
    /// Rows of A and C.
    pub m: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// Columns of B and C.
    pub n: u32,
    /// A.
    pub lhs: OperandType,
    /// B.
    pub rhs: OperandType,
    /// Type in which operands are multiplied.
    pub multiply: ElementType,
    /// Type of the accumulator and of partial results.
    pub accumulate: ElementType,
    /// Declared type of C.
    pub output: ElementType,
}

impl GemmProblem {
    /// Refuses sizes of zero, sizes whose tensors no device holds, and types that the AMP unit does not take.
    ///
    /// # Errors
    /// [`PlanCode::BadProblem`].
    pub fn check(&self) -> Result<(), PlanError> {
        let bad = |message: String| Err(PlanError::new(PlanCode::BadProblem, message));
        if self.m == 0 || self.k == 0 || self.n == 0 {
            return bad(format!(
                "a GEMM of {}x{}x{} has a side of 0, expected 1 or more",
                self.m, self.k, self.n
            ));
        }
        let padded = |extent: u32, grain: u32| u64::from(extent).next_multiple_of(u64::from(grain));
        let (m, k) = (u64::from(self.m), padded(self.k, self.inner_grain()));
        let n = padded(self.n, self.column_grain());
        if [m * k, k * n, m * n].into_iter().any(|elements| elements > MOST_ELEMENTS) {
            return bad(format!(
                "a GEMM of {}x{}x{} has a tensor of more than {MOST_ELEMENTS} elements, padding included, which no \
                 device holds",
                self.m, self.k, self.n
            ));
        }
        let types = [self.lhs.element, self.rhs.element, self.multiply, self.accumulate, self.output];
        match types.iter().find(|element| element.amp_inner().is_none()) {
            Some(element) => bad(format!("`{element}` is no type of the AMP unit")),
            None => Ok(()),
        }
    }

    /// Elements of a unit of the inner axis: the panel width that suits every type an operand has on the way.
    #[must_use]
    pub fn inner_grain(&self) -> u32 {
        let types = [self.lhs.element, self.rhs.element, self.multiply];
        types.iter().filter_map(|element| element.amp_inner()).max().unwrap_or(1)
    }

    /// Elements of a unit of the columns of B and C.
    #[must_use]
    pub fn column_grain(&self) -> u32 {
        self.accumulate.amp_inner().max(self.output.amp_inner()).unwrap_or(1).max(AMP_COLUMNS)
    }
}
