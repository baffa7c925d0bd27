//! Casts between precisions: flat ones, which keep the order of elements, and panel regrouping.
//!
//! A packed order depends on precision, so a flat cast of a packed f16 operand is *not* the FP8 operand of the same
//! matrix; the panels cast merges pairs of 16-wide panels into 32-wide ones. FP8 scales are call arguments.
//! Source of contracts and costs: hardware notes on tile kernels, section 4.

use smallvec::{SmallVec, smallvec};

use super::arithmetic::{flush, to_f16, to_f32};
use super::entry::UncheckedScalars;
use super::memory::read_operand;
use super::{
    Behaviour, Call, Constants, Family, KernelCode, KernelEntry, KernelError, KernelFault, KernelMemory,
    OperandSpec, OrderNeed, Role, ScalarSpec, ShardLayout,
};
use crate::assumptions::F16_OVERFLOW;
use crate::memory_map::{MemoryClass, WORKERS};
use crate::numerics::{ElementType, decode_elements};
use crate::orders::{AMP_COLUMNS, ElementOrder, MatrixShape};
use crate::units::Bytes;

const OUTPUT: usize = 0;
const INPUT: usize = 1;

/// Cycles of a hand-written cast outside its loop.
const CALL_CYCLES: u64 = 330;
/// Ideal elements a cycle in the recorded run's price list.
const RECORDED_ELEMENTS_PER_CYCLE: u64 = 8;
/// Inner width of the f16 orders that the panels cast reads.
const SOURCE_INNER: u32 = 16;
/// Inner width of the FP8 orders that it writes.
const DESTINATION_INNER: u32 = 32;
/// Up to this many rows a worker takes whole panels, where there is one for each.
const WHOLE_PANEL_ROWS: u64 = 32;

/// A cast that writes element `i` of the input as element `i` of the output. Scalars: elements, then the scale
/// exponent of the FP8 side where there is one.
struct FlatCast {
    from: ElementType,
    to: ElementType,
}

/// A cast from f16 panels 16 wide to FP8 panels 32 wide. Scalars: elements, panel rows, scale exponent.
struct PanelsCast {
    to: ElementType,
}

/// Converts stored elements, each with one rounding. `scale` belongs to the FP8 side.
fn convert(from: ElementType, to: ElementType, scale: i32, bytes: &[u8]) -> Vec<u8> {
    let source_scale = if from.fp8().is_some() { scale } else { 0 };
    let mut values = decode_elements(from, source_scale, bytes).unwrap_or_default();
    if from == ElementType::F32 {
        for value in &mut values {
            *value = f64::from(flush(*value as f32));
        }
    }
    if let Some(format) = to.fp8() {
        return values.into_iter().map(|value| format.encode(value, scale, F16_OVERFLOW)).collect();
    }
    if to == ElementType::F16 {
        return values.into_iter().flat_map(|value| to_f16(value).to_le_bytes()).collect();
    }
    values.into_iter().flat_map(|value| to_f32(value).to_le_bytes()).collect()
}

impl Behaviour for FlatCast {
    fn sizes(&self, call: &Call<'_>) -> Result<SmallVec<[u64; 4]>, KernelError> {
        let elements = call.count(0);
        Ok(smallvec![elements * u64::from(self.to.bytes()), elements * u64::from(self.from.bytes())])
    }

    fn order_need(&self, _constants: &[u32], operand: usize) -> OrderNeed {
        if operand == OUTPUT { OrderNeed::SameAs { operand: INPUT } } else { OrderNeed::Any }
    }

    fn bind(
        &self,
        entry: &'static KernelEntry,
        operands: &[ShardLayout],
    ) -> Result<(Constants, UncheckedScalars), KernelError> {
        let [output, input] = operands else { return Err(entry.wrong_operand_count(operands.len())) };
        if (output.order, output.shape, output.count) != (input.order, input.shape, input.count) {
            let wanted =
                format_args!("the input's {} as `{}`: a flat cast keeps the order", input.shape, input.order);
            return Err(entry.layout_mismatch(OUTPUT, output, wanted));
        }
        let mut scalars: UncheckedScalars = smallvec![element_count(input)];
        if self.from.fp8().is_some() {
            scalars.push(i64::from(input.scale));
        } else if self.to.fp8().is_some() {
            scalars.push(i64::from(output.scale));
        }
        Ok((Constants::new(), scalars))
    }

    fn cycles(&self, call: &Call<'_>, _classes: &[MemoryClass]) -> u64 {
        let elements = call.count(0);
        match (self.from, self.to) {
            (ElementType::F16, ElementType::F143 | ElementType::F152) => {
                CALL_CYCLES + 24 * elements.div_ceil(48)
            }
            (ElementType::F32, ElementType::F16) => CALL_CYCLES + 48 * elements.div_ceil(12),
            _ => {
                let bytes = u64::from(self.from.bytes() + self.to.bytes());
                super::LAUNCH_CYCLES + (elements * bytes).div_ceil(8)
            }
        }
    }

    fn recorded_cycles(&self, call: &Call<'_>) -> u64 {
        call.count(0).div_ceil(RECORDED_ELEMENTS_PER_CYCLE) + super::LAUNCH_CYCLES
    }

    fn run(&self, call: &Call<'_>, memory: &mut dyn KernelMemory) -> Result<(), KernelFault> {
        let source = read_operand(memory, INPUT, call.count(0) * u64::from(self.from.bytes()))?;
        memory.write(OUTPUT, 0, &convert(self.from, self.to, call.signed(1), &source))
    }
}

impl PanelsCast {
    /// Rows of a panel in storage of `order` and `shape`; `None` for orders without panels.
    fn panel_rows(order: ElementOrder, shape: MatrixShape) -> Option<u32> {
        match order {
            ElementOrder::AmpLeft { .. } => Some(shape.rows),
            ElementOrder::TransposedLeft { .. } => Some(shape.columns),
            ElementOrder::AmpRight { .. } | ElementOrder::TransposedRight { .. } => Some(AMP_COLUMNS),
            ElementOrder::BlockMajor { columns, .. } | ElementOrder::TransposedBlockMajor { columns, .. } => {
                Some(columns)
            }
            ElementOrder::RowMajor | ElementOrder::ColumnMajor => None,
        }
    }
}

impl Behaviour for PanelsCast {
    fn sizes(&self, call: &Call<'_>) -> Result<SmallVec<[u64; 4]>, KernelError> {
        let (elements, panel) = (call.count(0), call.count(1) * u64::from(DESTINATION_INNER));
        if panel == 0 || !elements.is_multiple_of(panel) {
            let message = format!(
                "{elements} elements are not whole panels of {} rows x {DESTINATION_INNER}; expected a multiple of \
                 {panel}",
                call.count(1)
            );
            return Err(KernelError::new(KernelCode::ScalarOutOfRange, message));
        }
        Ok(smallvec![elements, 2 * elements])
    }

    fn order_need(&self, _constants: &[u32], operand: usize) -> OrderNeed {
        if operand == OUTPUT {
            OrderNeed::Regrouped { from: INPUT, inner: DESTINATION_INNER }
        } else {
            OrderNeed::Inner { inner: SOURCE_INNER }
        }
    }

    fn bind(
        &self,
        entry: &'static KernelEntry,
        operands: &[ShardLayout],
    ) -> Result<(Constants, UncheckedScalars), KernelError> {
        let [output, input] = operands else { return Err(entry.wrong_operand_count(operands.len())) };
        let rows = Self::panel_rows(input.order, input.shape);
        let Some(rows) = rows.filter(|_| input.order.inner() == Some(SOURCE_INNER)) else {
            return Err(entry.layout_mismatch(INPUT, input, "panels 16 wide, such as `amp_left<16>`"));
        };
        let order = input.order.with_inner(DESTINATION_INNER);
        if (output.order, output.shape, output.count) != (order, input.shape, input.count) {
            return Err(entry.layout_mismatch(OUTPUT, output, format_args!("{} as `{order}`", input.shape)));
        }
        Ok((Constants::new(), smallvec![element_count(input), i64::from(rows), i64::from(output.scale)]))
    }

    fn cycles(&self, call: &Call<'_>, _classes: &[MemoryClass]) -> u64 {
        let (rows, workers) = (call.count(1), u64::from(WORKERS));
        let panels = call.count(0) / (u64::from(DESTINATION_INNER) * rows).max(1);
        if rows <= WHOLE_PANEL_ROWS && panels >= workers {
            CALL_CYCLES + panels.div_ceil(workers) * (120 + 84 * rows)
        } else {
            CALL_CYCLES + panels * (120 + 84 * rows.div_ceil(workers))
        }
    }

    fn recorded_cycles(&self, call: &Call<'_>) -> u64 {
        call.count(0).div_ceil(RECORDED_ELEMENTS_PER_CYCLE) + super::LAUNCH_CYCLES
    }

    fn run(&self, call: &Call<'_>, memory: &mut dyn KernelMemory) -> Result<(), KernelFault> {
        let source = read_operand(memory, INPUT, 2 * call.count(0))?;
        let narrow = convert(ElementType::F16, self.to, call.signed(2), &source);
        // Two panels of `rows` x 16 become one of `rows` x 32.
        let half = SOURCE_INNER as usize;
        let panel = call.count(1) as usize * half;
        let mut regrouped = Vec::with_capacity(narrow.len());
        for pair in narrow.chunks_exact((2 * panel).max(1)) {
            let (first, second) = pair.split_at(panel);
            for (low, high) in first.chunks_exact(half).zip(second.chunks_exact(half)) {
                regrouped.extend_from_slice(low);
                regrouped.extend_from_slice(high);
            }
        }
        memory.write(OUTPUT, 0, &regrouped)
    }
}

fn element_count(layout: &ShardLayout) -> i64 {
    i64::try_from(layout.shape.elements().saturating_mul(u64::from(layout.count))).unwrap_or(i64::MAX)
}

const fn operands(from: ElementType, to: ElementType) -> [OperandSpec; 2] {
    let (align, tail) = (Bytes(8), Bytes(0));
    [
        OperandSpec { name: "output", role: Role::Output, element: Some(to), align, tail },
        OperandSpec { name: "input", role: Role::Input, element: Some(from), align, tail },
    ]
}

const ELEMENTS: ScalarSpec = ScalarSpec::count("elements", 1, 1, "elements to convert");
const SCALE: ScalarSpec = ScalarSpec::scale("scale", "scale exponent of the FP8 operand");
const PANEL_ROWS: ScalarSpec = ScalarSpec::count(
    "panel_rows",
    1,
    1,
    "rows of a panel: rows of `amp_left`, 16 of `amp_right`, the column block of `block_major`, columns of \
     `transposed_left`",
);

const FLAT_DOC: &str = "Converts element by element, in the order in which they lie; one rounding to nearest even. FP8 \
values are `code * 2^scale`. A packed operand keeps its old panel width, which is not the order of the new precision.";

const PANELS_DOC: &str = "Converts f16 panels 16 wide to FP8 panels 32 wide: every two panels of `panel_rows` x 16 \
become one of `panel_rows` x 32; one rounding to nearest even.";

macro_rules! cast_entries {
    (flat { $($flat:ident $symbol:literal $from:ident $to:ident [$($scale:ident)?];)* }
     panels { $($panels:ident $panels_symbol:literal $panels_to:ident;)* }) => {
        $(static $flat: KernelEntry = KernelEntry {
            name: $symbol,
            family: Family::Cast,
            doc: FLAT_DOC,
            constants: &[],
            operands: &operands(ElementType::$from, ElementType::$to),
            scalars: &[ELEMENTS, $($scale)?],
            in_place: &[],
            distinct_elements: &[],
            accumulating: None,
            code_bytes: Bytes(384),
            behaviour: &FlatCast { from: ElementType::$from, to: ElementType::$to },
        };)*
        $(static $panels: KernelEntry = KernelEntry {
            name: $panels_symbol,
            family: Family::Cast,
            doc: PANELS_DOC,
            constants: &[],
            operands: &operands(ElementType::F16, ElementType::$panels_to),
            scalars: &[ELEMENTS, PANEL_ROWS, SCALE],
            in_place: &[],
            distinct_elements: &[],
            accumulating: None,
            code_bytes: Bytes(512),
            behaviour: &PanelsCast { to: ElementType::$panels_to },
        };)*
        /// All cast entries.
        pub(super) const ENTRIES: &[&KernelEntry] = &[$(&$flat,)* $(&$panels,)*];
    };
}

cast_entries! {
    flat {
        F16_F143 "cast_f16_f143_flat" F16 F143 [SCALE];
        F16_F152 "cast_f16_f152_flat" F16 F152 [SCALE];
        F32_F16 "cast_f32_f16" F32 F16 [];
        F16_F32 "cast_f16_f32" F16 F32 [];
        F143_F16 "cast_f143_f16" F143 F16 [SCALE];
        F152_F16 "cast_f152_f16" F152 F16 [SCALE];
        F143_F32 "cast_f143_f32" F143 F32 [SCALE];
        F152_F32 "cast_f152_f32" F152 F32 [SCALE];
        F32_F143 "cast_f32_f143" F32 F143 [SCALE];
        F32_F152 "cast_f32_f152" F32 F152 [SCALE];
    }
    panels {
        F16_F143_PANELS "cast_f16_f143_panels" F143;
        F16_F152_PANELS "cast_f16_f152_panels" F152;
    }
}
