//! Rearrangements of f16 matrices between row-major and the packed orders.
//!
//! Packing clears padding; unpacking drops it. Source of contracts and costs: hardware notes on tile kernels,
//! section 5.

use smallvec::{SmallVec, smallvec};

use super::entry::UncheckedScalars;
use super::memory::read_operand;
use super::{
    Behaviour, Call, ConstantSpec, Constants, Family, KernelCode, KernelEntry, KernelError, KernelFault,
    KernelMemory, OperandSpec, OrderNeed, Role, ScalarSpec, ShardLayout,
};
use crate::memory_map::MemoryClass;
use crate::numerics::ElementType;
use crate::orders::{ElementOrder, GatherMap, IndexMap, MatrixShape};
use crate::units::Bytes;

const OUTPUT: usize = 0;
const INPUT: usize = 1;
/// Bytes of an element.
const ELEMENT_BYTES: u64 = 2;
/// Inner width of the packed f16 orders.
const INNER: u32 = 16;

/// The packed order of a rearrangement.
#[derive(Clone, Copy, PartialEq)]
enum Packed {
    Left,
    Right,
    /// Row block and column block are the symbol's constants.
    BlockMajor,
    TransposedLeft,
}

/// Which side is packed.
#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Pack,
    Unpack,
}

/// One rearrangement. Scalars: rows and columns of the row-major matrix, rows and columns with padding.
struct Rearrange {
    packed: Packed,
    direction: Direction,
}

impl Rearrange {
    fn order(&self, constants: &[u32]) -> ElementOrder {
        let at = |index: usize| constants.get(index).copied().unwrap_or(INNER);
        match self.packed {
            Packed::Left => ElementOrder::AmpLeft { inner: INNER },
            Packed::Right => ElementOrder::AmpRight { inner: INNER },
            Packed::TransposedLeft => ElementOrder::TransposedLeft { inner: INNER },
            Packed::BlockMajor => ElementOrder::BlockMajor { rows: at(0), columns: at(1), inner: INNER },
        }
    }

    fn packed_operand(&self) -> usize {
        if self.direction == Direction::Pack { OUTPUT } else { INPUT }
    }

    /// The maps of the row-major and of the packed side.
    fn maps(&self, call: &Call<'_>) -> Result<(IndexMap, IndexMap), KernelError> {
        let at = |index: usize| u32::try_from(call.count(index)).unwrap_or(0);
        let plain = MatrixShape::new(at(0), at(1));
        let padded = MatrixShape::new(at(2), at(3));
        let bad = |message| KernelError::new(KernelCode::ScalarOutOfRange, message);
        if plain.rows > padded.rows || plain.columns > padded.columns {
            return Err(bad(format!("padded shape {padded} is smaller than the matrix {plain}")));
        }
        let map = |order: ElementOrder, shape| order.map(shape).map_err(|error| bad(error.to_string()));
        Ok((map(ElementOrder::RowMajor, plain)?, map(self.order(call.constants), padded)?))
    }
}

impl Behaviour for Rearrange {
    fn sizes(&self, call: &Call<'_>) -> Result<SmallVec<[u64; 4]>, KernelError> {
        let (plain, packed) = self.maps(call)?;
        let bytes = |map: &IndexMap| ELEMENT_BYTES * u64::from(map.elements());
        Ok(match self.direction {
            Direction::Pack => smallvec![bytes(&packed), bytes(&plain)],
            Direction::Unpack => smallvec![bytes(&plain), bytes(&packed)],
        })
    }

    fn order_need(&self, constants: &[u32], operand: usize) -> OrderNeed {
        let order =
            if operand == self.packed_operand() { self.order(constants) } else { ElementOrder::RowMajor };
        OrderNeed::Kind { order }
    }

    fn bind(
        &self,
        entry: &'static KernelEntry,
        operands: &[ShardLayout],
    ) -> Result<(Constants, UncheckedScalars), KernelError> {
        let [output, input] = operands else { return Err(entry.wrong_operand_count(operands.len())) };
        let (packed, plain) =
            if self.direction == Direction::Pack { (output, input) } else { (input, output) };
        let constants: Constants = match packed.order {
            ElementOrder::BlockMajor { rows, columns, .. } if self.packed == Packed::BlockMajor => {
                smallvec![rows, columns]
            }
            _ => Constants::new(),
        };
        for (operand, found) in operands.iter().enumerate() {
            let order = if operand == self.packed_operand() {
                self.order(&constants)
            } else {
                ElementOrder::RowMajor
            };
            if found.order != order || found.count != 1 {
                return Err(entry.layout_mismatch(operand, found, format_args!("one matrix as `{order}`")));
            }
        }
        let scalars = [plain.shape.rows, plain.shape.columns, packed.shape.rows, packed.shape.columns];
        Ok((constants, scalars.into_iter().map(i64::from).collect()))
    }

    fn cycles(&self, call: &Call<'_>, _classes: &[MemoryClass]) -> u64 {
        let (rows, columns) = (call.count(0), call.count(1));
        match (self.direction, self.packed) {
            (Direction::Unpack, _) => 300 + rows.div_ceil(12) * (100 + 90 * columns.div_ceil(2)),
            (Direction::Pack, Packed::Right) => super::LAUNCH_CYCLES + 3 * rows * columns,
            (Direction::Pack, Packed::BlockMajor) => {
                let pair = if columns == 16 { 60 } else { 12 + columns.div_ceil(16) * 140 };
                300 + rows.div_ceil(12) * 6 * pair
            }
            (Direction::Pack, _) => super::LAUNCH_CYCLES + 4 * rows * columns,
        }
    }

    fn run(&self, call: &Call<'_>, memory: &mut dyn KernelMemory) -> Result<(), KernelFault> {
        let (plain, packed) = self.maps(call)?;
        let (from, to) = if self.direction == Direction::Pack { (plain, packed) } else { (packed, plain) };
        let source = read_operand(memory, INPUT, ELEMENT_BYTES * u64::from(from.elements()))?;
        let gather: GatherMap = from.gather_map(&to);
        memory.write(OUTPUT, 0, &gather.apply_bytes(&source, ELEMENT_BYTES as usize))
    }
}

const OPERANDS: &[OperandSpec] = &[
    OperandSpec {
        name: "output",
        role: Role::Output,
        element: Some(ElementType::F16),
        align: Bytes(8),
        tail: Bytes(0),
    },
    OperandSpec {
        name: "input",
        role: Role::Input,
        element: Some(ElementType::F16),
        align: Bytes(8),
        tail: Bytes(0),
    },
];

const SCALARS: &[ScalarSpec] = &[
    ScalarSpec::count("rows", 1, 1, "rows of the row-major matrix"),
    ScalarSpec::count("columns", 1, 1, "columns of the row-major matrix"),
    ScalarSpec::count("padded_rows", 1, 1, "rows of the packed matrix, padding included"),
    ScalarSpec::count("padded_columns", 1, 1, "columns of the packed matrix, padding included"),
];

const BLOCK_CONSTANTS: &[ConstantSpec] = &[
    ConstantSpec { letter: 'k', name: "rows of a block", multiple_of: INNER },
    ConstantSpec { letter: 'c', name: "columns of a group", multiple_of: 1 },
];

const PACK_DOC: &str = "Packs a row-major f16 matrix; padding becomes zero.";
const UNPACK_DOC: &str = "Unpacks an f16 matrix to row-major order; padding is dropped.";

macro_rules! rearrange_entries {
    ($($name:ident $symbol:literal $packed:ident $direction:ident $constants:expr, $doc:expr;)*) => {
        $(static $name: KernelEntry = KernelEntry {
            name: $symbol,
            family: Family::Rearrange,
            doc: $doc,
            constants: $constants,
            operands: OPERANDS,
            scalars: SCALARS,
            in_place: &[],
            distinct_elements: &[],
            accumulating: None,
            code_bytes: Bytes(512),
            behaviour: &Rearrange { packed: Packed::$packed, direction: Direction::$direction },
        };)*
        /// All rearrangements.
        pub(super) const ENTRIES: &[&KernelEntry] = &[$(&$name,)*];
    };
}

rearrange_entries! {
    PACK_LEFT "pack_amp_left_f16" Left Pack &[], PACK_DOC;
    PACK_RIGHT "pack_amp_right_f16" Right Pack &[], PACK_DOC;
    PACK_BLOCK "pack_block_major_f16" BlockMajor Pack BLOCK_CONSTANTS, PACK_DOC;
    UNPACK_LEFT "unpack_amp_left_f16" Left Unpack &[], UNPACK_DOC;
    UNPACK_TRANSPOSED "unpack_transposed_left_f16" TransposedLeft Unpack &[], UNPACK_DOC;
}
