//! Sums of partial results: the first partial in place, the others packed one behind the other.
//!
//! Source of contract and cost: hardware notes on tile kernels, section 6.

use half::f16;
use smallvec::{SmallVec, smallvec};

use super::arithmetic::{add_to_f32, flush, to_f16};
use super::entry::UncheckedScalars;
use super::memory::read_operand;
use super::{
    Behaviour, Call, Constants, Family, KernelEntry, KernelError, KernelFault, KernelMemory, OperandSpec,
    OrderNeed, Role, ScalarSpec, ShardLayout,
};
use crate::memory_map::{MemoryClass, WORKERS};
use crate::numerics::ElementType;
use crate::units::Bytes;

const OUTPUT: usize = 0;
const FIRST: usize = 1;
const REMOTE: usize = 2;

/// Cycles of a call outside its loop.
const CALL_CYCLES: u64 = 282;

/// Adds partials of one type. Scalars: remote partials, elements of each.
struct ReduceAdd {
    element: ElementType,
}

impl ReduceAdd {
    /// Elements of 16 bytes, one step of a worker.
    fn step(&self) -> u64 {
        16 / u64::from(self.element.bytes())
    }

    /// Adds stored partials to stored sums, one rounding an element.
    fn add(&self, sums: &mut [u8], partial: &[u8]) {
        if self.element == ElementType::F16 {
            for (sum, addend) in sums.as_chunks_mut::<2>().0.iter_mut().zip(partial.as_chunks::<2>().0) {
                // The exact sum of two f16 fits an f64.
                let exact = f16::from_le_bytes(*sum).to_f64() + f16::from_le_bytes(*addend).to_f64();
                *sum = to_f16(exact).to_le_bytes();
            }
            return;
        }
        for (sum, addend) in sums.as_chunks_mut::<4>().0.iter_mut().zip(partial.as_chunks::<4>().0) {
            let (first, second) = (flush(f32::from_le_bytes(*sum)), flush(f32::from_le_bytes(*addend)));
            *sum = add_to_f32(first, f64::from(second)).to_le_bytes();
        }
    }
}

impl Behaviour for ReduceAdd {
    fn sizes(&self, call: &Call<'_>) -> Result<SmallVec<[u64; 4]>, KernelError> {
        let bytes = call.count(1) * u64::from(self.element.bytes());
        Ok(smallvec![bytes, bytes, bytes * call.count(0)])
    }

    fn order_need(&self, _constants: &[u32], operand: usize) -> OrderNeed {
        if operand == FIRST { OrderNeed::Any } else { OrderNeed::SameAs { operand: FIRST } }
    }

    fn bind(
        &self,
        entry: &'static KernelEntry,
        operands: &[ShardLayout],
    ) -> Result<(Constants, UncheckedScalars), KernelError> {
        let [output, first, remote] = operands else { return Err(entry.wrong_operand_count(operands.len())) };
        if output != first {
            return Err(entry.layout_mismatch(OUTPUT, output, format_args!("the first partial's {first}")));
        }
        if (remote.order, remote.shape) != (first.order, first.shape) {
            return Err(entry.layout_mismatch(
                REMOTE,
                remote,
                format_args!("shards like the first partial's {first}"),
            ));
        }
        let elements = i64::try_from(first.shape.elements()).unwrap_or(i64::MAX);
        Ok((Constants::new(), smallvec![i64::from(remote.count), elements]))
    }

    fn cycles(&self, call: &Call<'_>, _classes: &[MemoryClass]) -> u64 {
        let workers = u64::from(WORKERS);
        let steps = call.count(1).div_ceil(workers * self.step());
        CALL_CYCLES + workers * steps * (11 + 2 * call.count(0))
    }

    fn run(&self, call: &Call<'_>, memory: &mut dyn KernelMemory) -> Result<(), KernelFault> {
        let bytes = call.count(1) * u64::from(self.element.bytes());
        let mut sums = read_operand(memory, FIRST, bytes)?;
        let remote = read_operand(memory, REMOTE, bytes * call.count(0))?;
        for partial in remote.chunks_exact(bytes.max(1) as usize) {
            self.add(&mut sums, partial);
        }
        memory.write(OUTPUT, 0, &sums)
    }
}

const fn operands(element: ElementType) -> [OperandSpec; 3] {
    let (align, tail, element) = (Bytes(8), Bytes(0), Some(element));
    [
        OperandSpec { name: "output", role: Role::Output, element, align, tail },
        OperandSpec { name: "first", role: Role::Input, element, align, tail },
        OperandSpec { name: "remote", role: Role::Input, element, align, tail },
    ]
}

const DOC: &str = "`output = first + remote[0] + remote[1] + ...`, element by element in the order in which they lie, \
each addition rounded to the partial type. `remote` holds the remote partials one behind the other.";

macro_rules! reduce_entries {
    ($($name:ident $symbol:literal $element:ident $multiple:literal;)*) => {
        $(static $name: KernelEntry = KernelEntry {
            name: $symbol,
            family: Family::Reduce,
            doc: DOC,
            constants: &[],
            operands: &operands(ElementType::$element),
            scalars: &[
                ScalarSpec::count("remotes", 1, 1, "remote partials"),
                ScalarSpec::count("elements", 1, $multiple, "elements of one partial"),
            ],
            in_place: &[(OUTPUT, FIRST)],
            distinct_elements: &[],
            accumulating: None,
            code_bytes: Bytes(256),
            behaviour: &ReduceAdd { element: ElementType::$element },
        };)*
        /// All reductions.
        pub(super) const ENTRIES: &[&KernelEntry] = &[$(&$name,)*];
    };
}

reduce_entries! {
    F16 "reduce_add_f16" F16 8;
    F32 "reduce_add_f32" F32 4;
}
