//! Copies inside a tile, and zero fill. They move bytes of any type.
//!
//! Source of contracts and costs: hardware notes on tile kernels, section 5.

use smallvec::{SmallVec, smallvec};

use super::entry::UncheckedScalars;
use super::memory::read_operand;
use super::{
    Behaviour, Call, Constants, Family, KernelCode, KernelEntry, KernelError, KernelFault, KernelMemory,
    OperandSpec, OrderNeed, Role, ScalarSpec, ShardLayout,
};
use crate::memory_map::{MemoryClass, WORKERS};
use crate::units::Bytes;

const OUTPUT: usize = 0;
const INPUT: usize = 1;

/// Cycles of a copy call outside its loop.
const CALL_CYCLES: u64 = 288;
/// Bytes that a copy moves in a cycle, asymptotically.
const BYTES_PER_CYCLE: u64 = 8;
/// Bytes that six workers clear in a cycle.
const FILL_BYTES_PER_CYCLE: u64 = 48;

/// Copies consecutive units of `width` bytes. Scalar: their number.
struct Copy {
    width: u32,
}

/// Copies rows of consecutive units of `width` bytes. Scalars: units of a row, rows, source stride, destination
/// stride, all in units.
struct StridedCopy {
    width: u32,
}

/// Clears double words. Scalars: double words of every worker, workers that clear one more.
struct FillZero;

impl Behaviour for Copy {
    fn sizes(&self, call: &Call<'_>) -> Result<SmallVec<[u64; 4]>, KernelError> {
        let bytes = call.count(0) * u64::from(self.width);
        Ok(smallvec![bytes, bytes])
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
        if output != input {
            return Err(entry.layout_mismatch(OUTPUT, output, format_args!("the input's {input}")));
        }
        Ok((Constants::new(), smallvec![whole_units(entry, input, self.width)?]))
    }

    fn cycles(&self, call: &Call<'_>, _classes: &[MemoryClass]) -> u64 {
        CALL_CYCLES + (call.count(0) * u64::from(self.width)).div_ceil(BYTES_PER_CYCLE)
    }

    fn run(&self, call: &Call<'_>, memory: &mut dyn KernelMemory) -> Result<(), KernelFault> {
        let bytes = read_operand(memory, INPUT, call.count(0) * u64::from(self.width))?;
        memory.write(OUTPUT, 0, &bytes)
    }
}

impl StridedCopy {
    /// Bytes from the first row's start to the last row's end.
    fn span(&self, call: &Call<'_>, stride: u64) -> u64 {
        let (units, rows) = (call.count(0), call.count(1));
        (rows.saturating_sub(1) * stride + units) * u64::from(self.width)
    }
}

impl Behaviour for StridedCopy {
    fn sizes(&self, call: &Call<'_>) -> Result<SmallVec<[u64; 4]>, KernelError> {
        let (units, rows, source, destination) = (call.count(0), call.count(1), call.count(2), call.count(3));
        if rows > 1 && destination < units {
            let message = format!(
                "destination stride {destination} is below the row length {units}: rows would overlap"
            );
            return Err(KernelError::new(KernelCode::ScalarOutOfRange, message));
        }
        Ok(smallvec![self.span(call, destination), self.span(call, source)])
    }

    fn order_need(&self, _constants: &[u32], _operand: usize) -> OrderNeed {
        OrderNeed::Any
    }

    fn bind(
        &self,
        entry: &'static KernelEntry,
        _operands: &[ShardLayout],
    ) -> Result<(Constants, UncheckedScalars), KernelError> {
        let message =
            format!("`{}` copies parts of shards: its scalars cannot be derived from whole ones", entry.name);
        Err(KernelError::new(KernelCode::LayoutMismatch, message))
    }

    fn cycles(&self, call: &Call<'_>, _classes: &[MemoryClass]) -> u64 {
        CALL_CYCLES + (call.count(0) * call.count(1) * u64::from(self.width)).div_ceil(BYTES_PER_CYCLE)
    }

    fn run(&self, call: &Call<'_>, memory: &mut dyn KernelMemory) -> Result<(), KernelFault> {
        let width = u64::from(self.width);
        let row_bytes = call.count(0) * width;
        let mut rows = vec![0; (row_bytes * call.count(1)) as usize];
        for (row, bytes) in (0_u64..).zip(rows.chunks_exact_mut(row_bytes.max(1) as usize)) {
            memory.read(INPUT, (row * call.count(2) * width) as u32, bytes)?;
        }
        for (row, bytes) in (0_u64..).zip(rows.chunks_exact(row_bytes.max(1) as usize)) {
            memory.write(OUTPUT, (row * call.count(3) * width) as u32, bytes)?;
        }
        Ok(())
    }
}

impl FillZero {
    fn bytes(call: &Call<'_>) -> u64 {
        8 * (u64::from(WORKERS) * call.count(0) + call.count(1))
    }
}

impl Behaviour for FillZero {
    fn sizes(&self, call: &Call<'_>) -> Result<SmallVec<[u64; 4]>, KernelError> {
        Ok(smallvec![Self::bytes(call)])
    }

    fn order_need(&self, _constants: &[u32], _operand: usize) -> OrderNeed {
        OrderNeed::Any
    }

    fn bind(
        &self,
        entry: &'static KernelEntry,
        operands: &[ShardLayout],
    ) -> Result<(Constants, UncheckedScalars), KernelError> {
        let [output] = operands else { return Err(entry.wrong_operand_count(operands.len())) };
        let double_words = whole_units(entry, output, 8)?;
        let workers = i64::from(WORKERS);
        Ok((Constants::new(), smallvec![double_words / workers, double_words % workers]))
    }

    fn cycles(&self, call: &Call<'_>, _classes: &[MemoryClass]) -> u64 {
        super::LAUNCH_CYCLES + Self::bytes(call).div_ceil(FILL_BYTES_PER_CYCLE)
    }

    fn run(&self, call: &Call<'_>, memory: &mut dyn KernelMemory) -> Result<(), KernelFault> {
        memory.write(OUTPUT, 0, &vec![0; Self::bytes(call) as usize])
    }
}

/// The number of units of `width` bytes in a shard.
fn whole_units(entry: &KernelEntry, layout: &ShardLayout, width: u32) -> Result<i64, KernelError> {
    let bytes = layout.bytes();
    if !bytes.is_multiple_of(u64::from(width)) {
        return Err(entry.layout_mismatch(OUTPUT, layout, format_args!("a multiple of {width} bytes")));
    }
    Ok(i64::try_from(bytes / u64::from(width)).unwrap_or(i64::MAX))
}

const fn operand(name: &'static str, role: Role, align: u32) -> OperandSpec {
    OperandSpec { name, role, element: None, align: Bytes(align), tail: Bytes(0) }
}

const fn operands(width: u32) -> [OperandSpec; 2] {
    [operand("output", Role::Output, width), operand("input", Role::Input, width)]
}

const fn strided_scalars(row: &'static str) -> [ScalarSpec; 4] {
    [
        ScalarSpec::count(row, 1, 1, "units of a row"),
        ScalarSpec::count("rows", 1, 1, "rows"),
        ScalarSpec::count("source_stride", 0, 1, "units from one row's start to the next in the input"),
        ScalarSpec::count("destination_stride", 0, 1, "units from one row's start to the next in the output"),
    ]
}

macro_rules! copy_entries {
    ($($plain:ident $symbol:literal $elements:literal, $strided:ident $strided_symbol:literal $row:literal, $width:literal;)*) => {
        $(static $plain: KernelEntry = KernelEntry {
            name: $symbol,
            family: Family::Copy,
            doc: concat!("Copies units of ", $width, " bytes, as they lie."),
            constants: &[],
            operands: &operands($width),
            scalars: &[ScalarSpec::count($elements, 1, 1, "units to copy")],
            in_place: &[],
            distinct_elements: &[],
            accumulating: None,
            code_bytes: Bytes(192),
            behaviour: &Copy { width: $width },
        };
        static $strided: KernelEntry = KernelEntry {
            name: $strided_symbol,
            family: Family::StridedCopy,
            doc: concat!("Copies rows of units of ", $width, " bytes; strides count units. All rows are read before \
                         one is written."),
            constants: &[],
            operands: &operands($width),
            scalars: &strided_scalars($row),
            in_place: &[],
            distinct_elements: &[],
            accumulating: None,
            code_bytes: Bytes(256),
            behaviour: &StridedCopy { width: $width },
        };)*
        /// All copies, and the zero fill.
        pub(super) const ENTRIES: &[&KernelEntry] = &[$(&$plain, &$strided,)* &FILL_ZERO];
    };
}

copy_entries! {
    COPY_U64 "copy_u64" "dwords", COPY_STRIDED_U64 "copy_strided_u64" "row_dwords", 8;
    COPY_U32 "copy_u32" "words", COPY_STRIDED_U32 "copy_strided_u32" "row_words", 4;
    COPY_U16 "copy_u16" "halves", COPY_STRIDED_U16 "copy_strided_u16" "row_halves", 2;
}

static FILL_ZERO: KernelEntry = KernelEntry {
    name: "fill_zero_u64",
    family: Family::Fill,
    doc: "Clears `6 * dwords_per_worker + remainder_workers` double words.",
    constants: &[],
    operands: &[operand("output", Role::Output, 8)],
    scalars: &[
        ScalarSpec::count("dwords_per_worker", 0, 1, "double words that every worker clears"),
        ScalarSpec {
            name: "remainder_workers",
            least: 0,
            most: WORKERS as i32 - 1,
            multiple_of: 1,
            doc: "workers that clear one more",
        },
    ],
    in_place: &[],
    distinct_elements: &[],
    accumulating: None,
    code_bytes: Bytes(128),
    behaviour: &FillZero,
};
