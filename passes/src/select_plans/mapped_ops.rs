//! A plan as the operations of the `mapped` dialect, in program order, as plain values.

use ipu_device::numerics::ElementType;
use ipu_device::orders::MatrixShape;
use ipu_dialects::mapped::layout::Layout;

use super::error::{PlanCode, PlanError};
use super::options::Prices;
use super::plan::{CastPlace, GemmPlan, Side, operand_order};
use super::prices::{BoundKernel, CastShard, PriceBook};

/// A tensor on tiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedTensor {
    /// A name for the value: `a`, `a.cast`, `a.block`, `b`, `c.partial`, `c`.
    pub name: &'static str,
    /// Logical rows and columns.
    pub shape: [u32; 2],
    /// Element type; the scale is the graph's.
    pub element: ElementType,
    /// Where it lives.
    pub layout: Layout,
}

/// What an operation does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MappedOpKind {
    /// `mapped.convert_layout`: moves the operand to the result's layout.
    ConvertLayout,
    /// `mapped.cast`.
    Cast {
        /// Registry entry.
        kernel: &'static str,
    },
    /// `mapped.gemm` of operands left, right.
    Gemm {
        /// Registry entry.
        kernel: &'static str,
        /// Rows, columns, inner elements of the largest call.
        block: [u32; 3],
    },
    /// `mapped.reduce`, all partials at once.
    Reduce {
        /// Registry entry.
        kernel: &'static str,
    },
}

/// One operation. Operands and result are indices into the tensors of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedOp {
    /// What it does.
    pub kind: MappedOpKind,
    /// Operands.
    pub operands: Vec<usize>,
    /// Result.
    pub result: usize,
}

struct Builder {
    tensors: Vec<MappedTensor>,
    ops: Vec<MappedOp>,
}

impl Builder {
    fn tensor(&mut self, tensor: MappedTensor) -> usize {
        self.tensors.push(tensor);
        self.tensors.len() - 1
    }

    fn op(&mut self, kind: MappedOpKind, operands: Vec<usize>, tensor: MappedTensor) -> usize {
        let result = self.tensor(tensor);
        self.ops.push(MappedOp { kind, operands, result });
        result
    }
}

impl GemmPlan {
    /// The program: tensors (0 is A, 1 is B as they stand before the run, the last is C) and operations in order.
    ///
    /// # Errors
    /// [`PlanCode::NoKernel`].
    pub fn mapped_ops(&self) -> Result<(Vec<MappedTensor>, Vec<MappedOp>), PlanError> {
        let book = PriceBook::new(Prices::Calibrated, self.problem.multiply, self.problem.accumulate)?;
        let mut builder = Builder { tensors: Vec::new(), ops: Vec::new() };
        let mut values = [Side::Left, Side::Right].map(|side| builder.tensor(self.home_tensor(side)));
        // Casts at home come before every gather, so that one phase gathers both operands.
        for (side, value) in [Side::Left, Side::Right].into_iter().zip(&mut values) {
            if self.operand(side).cast == CastPlace::Home {
                let layout = self.home_layout(side, self.problem.multiply);
                *value = self.cast_op(side, *value, layout, ["a.cast", "b.cast"], &book, &mut builder)?;
            }
        }
        for (side, value) in [Side::Left, Side::Right].into_iter().zip(&mut values) {
            if self.operand(side).home.is_gathered() {
                let element = self.moved(side);
                let tensor = self.operand_tensor(
                    side,
                    ["a.block", "b.block"],
                    element,
                    self.block_layout(side, element),
                );
                *value = builder.op(MappedOpKind::ConvertLayout, vec![*value], tensor);
            }
        }
        for (side, value) in [Side::Left, Side::Right].into_iter().zip(&mut values) {
            if self.operand(side).cast == CastPlace::Block {
                let layout = self.block_layout(side, self.problem.multiply);
                *value =
                    self.cast_op(side, *value, layout, ["a.operand", "b.operand"], &book, &mut builder)?;
            }
        }
        self.product_ops(values, &book, &mut builder)?;
        Ok((builder.tensors, builder.ops))
    }

    fn product_ops(
        &self,
        operands: [usize; 2],
        book: &PriceBook,
        builder: &mut Builder,
    ) -> Result<(), PlanError> {
        let [rows, inner, columns] = [self.rows(), self.inner(), self.columns()].map(|axis| axis.largest());
        let gemm = need(book.gemm_kernel(self.block(rows, inner, columns)), "the product")?;
        let (accumulate, output) = (self.problem.accumulate, self.problem.output);
        let split = self.grid.k > 1;
        let result = |name, element, layout| MappedTensor {
            name,
            shape: [self.problem.m, self.problem.n],
            element,
            layout,
        };
        let name = if split {
            "c.partial"
        } else if accumulate == output {
            "c"
        } else {
            "c.sum"
        };
        let kind = MappedOpKind::Gemm { kernel: gemm.kernel.entry().name, block: [rows, columns, inner] };
        let mut value = builder.op(kind, operands.to_vec(), result(name, accumulate, self.product_layout()));
        let [owned_rows, owned_columns] = self.owned_axes().map(|axis| axis.largest());
        let owned = MatrixShape::new(owned_rows, owned_columns);
        let order = operand_order(Side::Left, accumulate);
        if split {
            let sum = need(book.reduce_kernel(order, owned, self.grid.k - 1), "the sum of partials")?;
            let name = if accumulate == output { "c" } else { "c.sum" };
            let kind = MappedOpKind::Reduce { kernel: sum.kernel.entry().name };
            value = builder.op(kind, vec![value], result(name, accumulate, self.owned_layout(accumulate)));
        }
        if accumulate != output {
            let cast = CastShard { from: accumulate, to: output, order: (order, order), shape: owned };
            let bound = need(book.cast_kernel(cast), "the cast of the result")?;
            let kind = MappedOpKind::Cast { kernel: bound.kernel.entry().name };
            builder.op(kind, vec![value], result("c", output, self.owned_layout(output)));
        }
        Ok(())
    }

    fn home_tensor(&self, side: Side) -> MappedTensor {
        let element = self.declared(side);
        self.operand_tensor(side, ["a", "b"], element, self.home_layout(side, element))
    }

    fn operand_tensor(
        &self,
        side: Side,
        names: [&'static str; 2],
        element: ElementType,
        layout: Layout,
    ) -> MappedTensor {
        let [left, right] = names;
        let problem = &self.problem;
        match side {
            Side::Left => MappedTensor { name: left, shape: [problem.m, problem.k], element, layout },
            Side::Right => MappedTensor { name: right, shape: [problem.k, problem.n], element, layout },
        }
    }

    fn cast_op(
        &self,
        side: Side,
        value: usize,
        layout: Layout,
        names: [&'static str; 2],
        book: &PriceBook,
        builder: &mut Builder,
    ) -> Result<usize, PlanError> {
        let (from, to) = (self.declared(side), self.problem.multiply);
        let axes = if self.operand(side).cast == CastPlace::Home {
            self.home_axes(side)
        } else {
            self.operand_grid(side).axes
        };
        let shape = MatrixShape::new(axes[0].largest(), axes[1].largest());
        let order = (self.order(side, from), self.order(side, to));
        let bound = need(book.cast_kernel(CastShard { from, to, order, shape }), "the cast of an operand")?;
        let kind = MappedOpKind::Cast { kernel: bound.kernel.entry().name };
        Ok(builder.op(kind, vec![value], self.operand_tensor(side, names, to, layout)))
    }
}

fn need(kernel: Option<BoundKernel>, what: &str) -> Result<BoundKernel, PlanError> {
    kernel.ok_or_else(|| PlanError::new(PlanCode::NoKernel, format!("no kernel does {what}")))
}
