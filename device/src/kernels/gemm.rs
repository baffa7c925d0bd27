//! GEMM on the AMP unit: `output (+)= left x right`, output columns in groups of 16, inner elements in steps of `u`.
//!
//! Every step adds `u` inner products to a partial, which is stored in the partial format between steps: an f16
//! partial is rounded after each step. Source of contracts and costs: hardware notes on tile kernels, section 3;
//! of the arithmetic: notes on AMP, sections 2 to 6, and the recorded FP8 run.

use smallvec::{SmallVec, smallvec};

use super::arithmetic::{add_to_f32, flush, round_to_f16, sum_to_f32, to_f16};
use super::entry::UncheckedScalars;
use super::memory::read_operand;
use super::{
    Behaviour, Call, ClassNeed, ConstantSpec, Constants, Family, KernelEntry, KernelError, KernelFault,
    KernelMemory, OperandSpec, OrderNeed, Role, ScalarSpec, ShardLayout,
};
use crate::assumptions::{AMP_INNER_ROUNDING, AmpInnerRounding};
use crate::memory_map::MemoryClass;
use crate::numerics::{ElementType, power_of_two};
use crate::orders::{AMP_COLUMNS, ElementOrder, MatrixShape};
use crate::units::Bytes;

const OUTPUT: usize = 0;
const LEFT: usize = 1;
const RIGHT: usize = 2;

/// Columns of a micro step, as an array length.
const COLUMNS: usize = AMP_COLUMNS as usize;
/// Cycles of a call outside its micro steps.
const CALL_CYCLES: u64 = 294;
/// Cycles of a micro step outside its rows, coefficients in interleaved memory.
const STEP_CYCLES_INTERLEAVED: u64 = 160;
/// Four times the cycles of a micro step outside its rows, coefficients in standard memory.
const STEP_QUARTERS_STANDARD: u64 = 1063;

/// A GEMM of one operand type and one partial type.
struct Gemm {
    operand: ElementType,
    partial: ElementType,
    accumulate: bool,
}

/// The constants of a call.
#[derive(Clone, Copy)]
struct Block {
    inner: u64,
    columns: u64,
    rows: u64,
}

impl Block {
    fn of(constants: &[u32]) -> Self {
        let at = |index: usize| constants.get(index).copied().map_or(0, u64::from);
        Self { inner: at(0), columns: at(1), rows: at(2) }
    }
}

impl Gemm {
    /// Inner elements of a micro step.
    fn step(&self) -> u32 {
        self.operand.amp_inner().unwrap_or(1)
    }

    /// Inner elements of one AMP instruction: 8 bytes, but one f32.
    fn instruction(&self) -> u32 {
        if self.operand == ElementType::F32 { 1 } else { 8 / self.operand.bytes() }
    }

    /// Order and shape of each operand.
    fn layout(&self, constants: &[u32], operand: usize) -> (ElementOrder, MatrixShape) {
        let at = |index: usize| constants.get(index).copied().unwrap_or(0);
        let (inner, columns, rows) = (at(0), at(1), at(2));
        let step = self.step();
        match operand {
            LEFT => (ElementOrder::AmpLeft { inner: step }, MatrixShape::new(rows, inner)),
            RIGHT => (ElementOrder::AmpRight { inner: step }, MatrixShape::new(inner, columns)),
            _ => {
                let width = self.partial.amp_inner().unwrap_or(1);
                (ElementOrder::AmpLeft { inner: width }, MatrixShape::new(rows, columns))
            }
        }
    }

    fn ideal_flops_per_cycle(&self) -> u64 {
        match self.operand.bytes() {
            1 => 256,
            2 => 128,
            _ => 32,
        }
    }
}

impl Behaviour for Gemm {
    fn sizes(&self, call: &Call<'_>) -> Result<SmallVec<[u64; 4]>, KernelError> {
        let block = Block::of(call.constants);
        let operand = u64::from(self.operand.bytes());
        Ok(smallvec![
            block.rows * block.columns * u64::from(self.partial.bytes()),
            block.rows * block.inner * operand,
            block.inner * block.columns * operand,
        ])
    }

    fn class_need(&self, constants: &[u32], operand: usize) -> ClassNeed {
        let steps = constants.first().copied().unwrap_or(0) / self.step();
        match operand {
            OUTPUT if self.accumulate || steps > 1 => ClassNeed::Interleaved,
            RIGHT => ClassNeed::FasterInterleaved,
            _ => ClassNeed::Any,
        }
    }

    fn order_need(&self, constants: &[u32], operand: usize) -> OrderNeed {
        let (order, shape) = self.layout(constants, operand);
        OrderNeed::Fixed { order, shape }
    }

    fn bind(
        &self,
        entry: &'static KernelEntry,
        operands: &[ShardLayout],
    ) -> Result<(Constants, UncheckedScalars), KernelError> {
        let [output, left, right] = operands else {
            return Err(entry.wrong_operand_count(operands.len()));
        };
        let constants: Constants = smallvec![left.shape.columns, output.shape.columns, output.shape.rows];
        for (index, found) in operands.iter().enumerate() {
            let (order, shape) = self.layout(&constants, index);
            if found.order != order || found.shape != shape || found.count != 1 {
                return Err(entry.layout_mismatch(index, found, format_args!("{shape} as `{order}`")));
            }
        }
        let scaled = self.operand.fp8().is_some();
        let product_scale = i64::from(left.scale) + i64::from(right.scale);
        Ok((constants, if scaled { smallvec![product_scale] } else { smallvec![] }))
    }

    fn cycles(&self, call: &Call<'_>, classes: &[MemoryClass]) -> u64 {
        let block = Block::of(call.constants);
        let interleaved = classes.get(RIGHT) == Some(&MemoryClass::Interleaved);
        // f32 takes two 8-wide steps of twice the instructions for 16 inner elements, with twice the coefficients;
        // f32 partials drain half as many columns an instruction, so each step runs twice.
        let (groups, row_factor, step_factor) = match (self.operand, self.partial) {
            (ElementType::F32, _) => (block.inner.div_ceil(16), 4, 2),
            (_, ElementType::F32) => (block.inner.div_ceil(u64::from(self.step())), 2, 2),
            _ => (block.inner.div_ceil(u64::from(self.step())), 1, 1),
        };
        let column_groups = block.columns.div_ceil(u64::from(AMP_COLUMNS));
        let rows = block.rows * row_factor;
        let group_cycles = if interleaved {
            column_groups * (4 * rows + STEP_CYCLES_INTERLEAVED * step_factor)
        } else {
            (block.columns * rows).div_ceil(4)
                + (column_groups * STEP_QUARTERS_STANDARD * step_factor).div_ceil(4)
        };
        CALL_CYCLES + groups * group_cycles
    }

    fn recorded_cycles(&self, call: &Call<'_>) -> u64 {
        let block = Block::of(call.constants);
        (2 * block.rows * block.inner * block.columns).div_ceil(self.ideal_flops_per_cycle())
            + super::LAUNCH_CYCLES
    }

    fn run(&self, call: &Call<'_>, memory: &mut dyn KernelMemory) -> Result<(), KernelFault> {
        let sizes = self.sizes(call)?;
        let size = |operand: usize| sizes.get(operand).copied().unwrap_or(0);
        let left = Operand::decode(self.operand, &read_operand(memory, LEFT, size(LEFT))?);
        let right = Operand::decode(self.operand, &read_operand(memory, RIGHT, size(RIGHT))?);
        let mut partials = if self.accumulate {
            read_partials(self.partial, &read_operand(memory, OUTPUT, size(OUTPUT))?)
        } else {
            vec![0.0; (size(OUTPUT) / u64::from(self.partial.bytes())) as usize]
        };
        self.multiply(&Block::of(call.constants), power_of_two(call.signed(0)), &left, &right, &mut partials);
        memory.write(OUTPUT, 0, &write_partials(self.partial, &partials))
    }
}

/// An operand in storage order, decoded.
struct Operand {
    values: Vec<f64>,
}

impl Operand {
    fn decode(element: ElementType, bytes: &[u8]) -> Self {
        let mut values = crate::numerics::decode_elements(element, 0, bytes).unwrap_or_default();
        if element == ElementType::F32 {
            for value in &mut values {
                *value = f64::from(flush(*value as f32));
            }
        }
        Self { values }
    }
}

impl Gemm {
    /// Adds the product to `partials`, which lie in the order of the output.
    ///
    /// Walks storage: in these orders a row's `u` inner elements, and a column's, are contiguous. The tests compare
    /// with a product over coordinates taken from the index maps.
    fn multiply(&self, block: &Block, scale: f64, left: &Operand, right: &Operand, partials: &mut [f32]) {
        let step = self.step() as usize;
        let rows = block.rows as usize;
        let groups = block.inner as usize / step;
        let rounding_group = match AMP_INNER_ROUNDING {
            AmpInnerRounding::EachInstruction => self.instruction() as usize,
            AmpInnerRounding::EachStep => step,
        };
        let spans: Vec<Span> = left.values.chunks_exact(rounding_group).map(Span::of).collect();
        let mut micro = MicroStep::new(step, rounding_group, scale);
        for (column_group, output) in partials.chunks_exact_mut(rows * COLUMNS).enumerate() {
            let right_group = right.values.chunks_exact(COLUMNS * step).skip(column_group * groups);
            let left_panels =
                left.values.chunks_exact(rows * step).zip(spans.chunks_exact(rows * step / rounding_group));
            for (coefficients, (panel, spans)) in right_group.zip(left_panels) {
                micro.load(coefficients);
                self.multiply_panel(&micro, panel, spans, output);
            }
        }
    }

    /// One micro step over all rows: `panel` holds `step` inputs a row, `output` 16 columns in panels of its order.
    fn multiply_panel(&self, micro: &MicroStep, panel: &[f64], spans: &[Span], output: &mut [f32]) {
        let width = self.partial.amp_inner().unwrap_or(1) as usize;
        let rows = output.len() / COLUMNS;
        let inputs =
            panel.chunks_exact(micro.step).zip(spans.chunks_exact(micro.step / micro.rounding_group));
        for (row, (inputs, spans)) in inputs.enumerate() {
            let mut accumulators = [0.0; COLUMNS];
            for (part, chunk) in accumulators.chunks_exact_mut(width).enumerate() {
                let start = (part * rows + row) * width;
                chunk.copy_from_slice(&output[start..start + width]);
            }
            micro.multiply_row(inputs, spans, &mut accumulators);
            for (part, chunk) in accumulators.chunks_exact(width).enumerate() {
                let start = (part * rows + row) * width;
                for (slot, &value) in output[start..start + width].iter_mut().zip(chunk) {
                    *slot = if self.partial == ElementType::F16 { round_to_f16(value) } else { value };
                }
            }
        }
    }
}

/// The bits that some values span: all are multiples of `2^low` and below `2^high` in magnitude.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Span {
    low: i32,
    high: i32,
}

impl Span {
    /// Of no value but zero.
    const EMPTY: Self = Self { low: 0, high: -4096 };
    /// Of values that are not all finite.
    const UNBOUNDED: Self = Self { low: 0, high: 4096 };

    fn of(values: &[f64]) -> Self {
        values.iter().fold(Self::EMPTY, |span, &value| span.with(value))
    }

    fn with(self, value: f64) -> Self {
        if value == 0.0 {
            return self;
        }
        if !value.is_finite() {
            return Self::UNBOUNDED;
        }
        // Decoded operands are zero or normal in f64.
        let exponent = ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
        let fraction = value.to_bits() & ((1 << 52) - 1);
        let low = exponent - if fraction == 0 { 0 } else { 52 - fraction.trailing_zeros() as i32 };
        if self == Self::EMPTY {
            return Self { low, high: exponent + 1 };
        }
        Self { low: self.low.min(low), high: self.high.max(exponent + 1) }
    }

    /// Whether f64 adds `count` products of values of the two spans exactly, in any order.
    fn adds_exactly(self, other: Self, count: usize) -> bool {
        let carry = count.next_power_of_two().trailing_zeros() as i32;
        self.high + other.high + carry - (self.low + other.low) <= f64::MANTISSA_DIGITS as i32
    }
}

/// The coefficients of one micro step: 16 columns x `step` inner elements.
struct MicroStep {
    step: usize,
    /// Inner elements whose exact dot product is added with one rounding.
    rounding_group: usize,
    scale: f64,
    /// Coefficients by inner element, then column.
    coefficients: Vec<[f64; COLUMNS]>,
    /// Of each rounding group, over all columns.
    spans: Vec<Span>,
}

impl MicroStep {
    fn new(step: usize, rounding_group: usize, scale: f64) -> Self {
        let spans = vec![Span::EMPTY; step / rounding_group];
        Self { step, rounding_group, scale, coefficients: vec![[0.0; COLUMNS]; step], spans }
    }

    /// Takes 16 columns of `step` inner coefficients each.
    fn load(&mut self, stored: &[f64]) {
        for (column, inner) in stored.chunks_exact(self.step).enumerate() {
            for (row, &value) in self.coefficients.iter_mut().zip(inner) {
                row[column] = value;
            }
        }
        for (span, group) in self.spans.iter_mut().zip(self.coefficients.chunks_exact(self.rounding_group)) {
            *span = Span::of(group.as_flattened());
        }
    }

    /// Adds one row's products to the 16 accumulators. `spans` are those of the inputs' rounding groups.
    fn multiply_row(&self, inputs: &[f64], spans: &[Span], accumulators: &mut [f32; COLUMNS]) {
        let groups =
            inputs.chunks_exact(self.rounding_group).zip(self.coefficients.chunks_exact(self.rounding_group));
        for ((inputs, coefficients), (span, other)) in groups.zip(spans.iter().zip(&self.spans)) {
            // A single product of two f32 is exact whatever its neighbours are.
            if self.rounding_group > 1 && !span.adds_exactly(*other, self.rounding_group) {
                self.multiply_wide(inputs, coefficients, accumulators);
                continue;
            }
            let mut dots = [0.0; COLUMNS];
            for (&input, row) in inputs.iter().zip(coefficients) {
                for (dot, &coefficient) in dots.iter_mut().zip(row) {
                    *dot += input * coefficient;
                }
            }
            for (accumulator, dot) in accumulators.iter_mut().zip(dots) {
                *accumulator = add_to_f32(*accumulator, dot * self.scale);
            }
        }
    }

    /// As [`Self::multiply_row`] on one rounding group, for products too far apart for f64, or not finite.
    fn multiply_wide(
        &self,
        inputs: &[f64],
        coefficients: &[[f64; COLUMNS]],
        accumulators: &mut [f32; COLUMNS],
    ) {
        for (column, accumulator) in accumulators.iter_mut().enumerate() {
            let terms: SmallVec<[f64; 32]> = inputs
                .iter()
                .zip(coefficients)
                .map(|(input, row)| input * row[column] * self.scale)
                .collect();
            *accumulator = sum_to_f32(*accumulator, &terms);
        }
    }
}

fn read_partials(element: ElementType, bytes: &[u8]) -> Vec<f32> {
    let values = crate::numerics::decode_elements(element, 0, bytes).unwrap_or_default();
    values
        .into_iter()
        .map(|value| if element == ElementType::F32 { flush(value as f32) } else { value as f32 })
        .collect()
}

fn write_partials(element: ElementType, partials: &[f32]) -> Vec<u8> {
    if element == ElementType::F16 {
        partials.iter().flat_map(|&value| to_f16(f64::from(value)).to_le_bytes()).collect()
    } else {
        partials.iter().flat_map(|&value| value.to_le_bytes()).collect()
    }
}

const fn constants(step: u32) -> [ConstantSpec; 3] {
    [
        ConstantSpec { letter: 'k', name: "K block", multiple_of: step },
        ConstantSpec { letter: 'c', name: "output columns", multiple_of: AMP_COLUMNS },
        ConstantSpec { letter: 'r', name: "rows", multiple_of: 1 },
    ]
}

const fn operands(operand: ElementType, partial: ElementType, accumulate: bool) -> [OperandSpec; 3] {
    let align = Bytes(32);
    let role = if accumulate { Role::Accumulator } else { Role::Output };
    // The left operand is read ahead by 8 elements.
    let tail = Bytes(8 * operand.bytes());
    [
        OperandSpec { name: "output", role, element: Some(partial), align, tail: Bytes(0) },
        OperandSpec { name: "left", role: Role::Input, element: Some(operand), align, tail },
        OperandSpec { name: "right", role: Role::Input, element: Some(operand), align, tail: Bytes(0) },
    ]
}

const PRODUCT_SCALE: &[ScalarSpec] = &[ScalarSpec::scale(
    "product_scale",
    "exponent of the power of two that multiplies every product: the sum of both operands' scale exponents",
)];

const DOC: &str = "`output = left x right` on the AMP unit (the `_acc` form adds to `output`). Symbol constants: K \
block, output columns, rows. Every micro step of 32 bytes of inner elements adds exact products to f32 accumulators, \
one rounding an AMP instruction, and stores the partial in its own format: f16 rounds to nearest even after each step. \
`left` is `amp_left<u>`, `right` is `amp_right<u>`, `output` is `amp_left` of the partial's width. `output` and `left` \
must lie in different memory elements; an output that is read back (accumulating, or more than one step) must be \
interleaved.";

macro_rules! gemm_entries {
    ($($name:ident, $symbol:literal, $acc_name:ident, $acc_symbol:literal, $operand:ident, $partial:ident, $scalars:expr;)*) => {
        $(
            gemm_entries!(@one $name, $symbol, Some($acc_symbol), $operand, $partial, false, $scalars);
            gemm_entries!(@one $acc_name, $acc_symbol, None, $operand, $partial, true, $scalars);
        )*
        /// All GEMM entries.
        pub(super) const ENTRIES: &[&KernelEntry] = &[$(&$name, &$acc_name,)*];
    };
    (@one $name:ident, $symbol:expr, $accumulating:expr, $operand:ident, $partial:ident, $accumulate:literal, $scalars:expr) => {
        static $name: KernelEntry = KernelEntry {
            name: $symbol,
            family: Family::Gemm,
            doc: DOC,
            constants: &constants(32 / ElementType::$operand.bytes()),
            operands: &operands(ElementType::$operand, ElementType::$partial, $accumulate),
            scalars: $scalars,
            in_place: &[],
            distinct_elements: &[(OUTPUT, LEFT)],
            accumulating: $accumulating,
            code_bytes: Bytes(768),
            behaviour: &Gemm {
                operand: ElementType::$operand,
                partial: ElementType::$partial,
                accumulate: $accumulate,
            },
        };
    };
}

gemm_entries! {
    F16_F16, "gemm_f16_f16", F16_F16_ACC, "gemm_f16_f16_acc", F16, F16, &[];
    F16_F32, "gemm_f16_f32", F16_F32_ACC, "gemm_f16_f32_acc", F16, F32, &[];
    F143_F16, "gemm_f143_f16", F143_F16_ACC, "gemm_f143_f16_acc", F143, F16, PRODUCT_SCALE;
    F152_F16, "gemm_f152_f16", F152_F16_ACC, "gemm_f152_f16_acc", F152, F16, PRODUCT_SCALE;
    F32_F32, "gemm_f32_f32", F32_F32_ACC, "gemm_f32_f32_acc", F32, F32, &[];
}
