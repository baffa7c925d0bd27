//! The shape of a registry entry and what its family must answer.

use std::fmt;
use std::hash::{Hash, Hasher};

use smallvec::SmallVec;

use super::{Call, Constants, KernelCode, KernelError, KernelFault, KernelMemory};
use crate::memory_map::MemoryClass;
use crate::numerics::ElementType;
use crate::orders::{ElementOrder, MatrixShape};
use crate::units::Bytes;

/// Number of the register that holds the first argument, the output pointer: m2.
pub const FIRST_ARGUMENT_REGISTER: u8 = 2;
/// Number of the last register that can hold an argument: m9.
pub const LAST_ARGUMENT_REGISTER: u8 = 9;

/// What a kernel is for. Callers choose kernels by family and operand types, never by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Matrix product; an entry that overwrites names the one that accumulates.
    Gemm,
    /// Conversion between element types.
    Cast,
    /// Copy of consecutive bytes.
    Copy,
    /// Copy of rows at strides.
    StridedCopy,
    /// Zero fill.
    Fill,
    /// Change of element order.
    Rearrange,
    /// Sum of partial results.
    Reduce,
}

/// How a kernel uses an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Written; its former content does not matter.
    Output,
    /// Read, then written.
    Accumulator,
    /// Read.
    Input,
}

impl Role {
    /// Whether the kernel reads it.
    #[must_use]
    pub const fn reads(self) -> bool {
        !matches!(self, Self::Output)
    }

    /// Whether the kernel writes it.
    #[must_use]
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Input)
    }
}

/// The memory class that an operand needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassNeed {
    /// Any memory, at the same cost.
    Any,
    /// Any memory; the interleaved region makes the call faster.
    FasterInterleaved,
    /// The interleaved region only.
    Interleaved,
}

impl ClassNeed {
    /// Whether memory of that class will do.
    #[must_use]
    pub fn accepts(self, class: MemoryClass) -> bool {
        self != Self::Interleaved || class == MemoryClass::Interleaved
    }
}

/// The element order that an operand needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OrderNeed {
    /// Any order: the kernel works on elements or bytes in the order in which they lie.
    Any,
    /// This order of a matrix of this shape.
    Fixed {
        /// The order.
        order: ElementOrder,
        /// The shape.
        shape: MatrixShape,
    },
    /// The order of another operand, whatever it is.
    SameAs {
        /// Index of the other operand.
        operand: usize,
    },
    /// The order of another operand with inner width `inner` in place of its own.
    Regrouped {
        /// Index of the other operand.
        from: usize,
        /// Inner width of this operand.
        inner: u32,
    },
    /// Any order with panels or micro blocks of this inner width.
    Inner {
        /// Inner width.
        inner: u32,
    },
    /// This order, of any shape that fits it.
    Kind {
        /// The order.
        order: ElementOrder,
    },
}

/// One operand of an entry.
#[derive(Debug, Clone, Copy)]
pub struct OperandSpec {
    /// Its name.
    pub name: &'static str,
    /// How it is used.
    pub role: Role,
    /// Element type; `None` where the kernel moves bytes of any type.
    pub element: Option<ElementType>,
    /// Alignment of its pointer.
    pub align: Bytes,
    /// Read-ahead past its end.
    pub tail: Bytes,
}

/// One compile-time constant of an entry, part of the symbol.
#[derive(Debug, Clone, Copy)]
pub struct ConstantSpec {
    /// The letter that introduces it in a symbol.
    pub letter: char,
    /// What it counts.
    pub name: &'static str,
    /// It must be a positive multiple of this.
    pub multiple_of: u32,
}

/// One scalar argument of an entry, passed in a register.
#[derive(Debug, Clone, Copy)]
pub struct ScalarSpec {
    /// Its name.
    pub name: &'static str,
    /// Smallest value.
    pub least: i32,
    /// Largest value.
    pub most: i32,
    /// It must be a multiple of this.
    pub multiple_of: u32,
    /// What it means, with its unit.
    pub doc: &'static str,
}

impl ScalarSpec {
    /// A count from `least` up to what a 20-bit immediate holds, a multiple of `multiple_of`.
    pub(crate) const fn count(name: &'static str, least: i32, multiple_of: u32, doc: &'static str) -> Self {
        Self { name, least, most: super::MAX_CONSTANT as i32, multiple_of, doc }
    }

    /// A power-of-two exponent of FP8 data, -32..31.
    pub(crate) const fn scale(name: &'static str, doc: &'static str) -> Self {
        Self {
            name,
            least: crate::numerics::FP8_SCALE_MIN,
            most: crate::numerics::FP8_SCALE_MAX,
            multiple_of: 1,
            doc,
        }
    }
}

/// One operand's shard as a caller describes it for [`super::Kernel::bind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardLayout {
    /// Element type.
    pub element: ElementType,
    /// Power-of-two scale exponent of FP8 data, else 0.
    pub scale: i32,
    /// Element order.
    pub order: ElementOrder,
    /// Shape, padding included.
    pub shape: MatrixShape,
    /// How many shards of this layout lie one behind the other: 1, but for the remote partials of a reduction.
    pub count: u32,
}

impl ShardLayout {
    /// One shard, unscaled.
    #[must_use]
    pub const fn new(element: ElementType, order: ElementOrder, shape: MatrixShape) -> Self {
        Self { element, scale: 0, order, shape, count: 1 }
    }

    /// The same with a scale exponent.
    #[must_use]
    pub const fn scaled(self, scale: i32) -> Self {
        Self { scale, ..self }
    }

    /// `count` such shards one behind the other.
    #[must_use]
    pub const fn repeated(self, count: u32) -> Self {
        Self { count, ..self }
    }

    /// Bytes of storage, without tail.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.shape
            .elements()
            .saturating_mul(u64::from(self.element.bytes()))
            .saturating_mul(u64::from(self.count))
    }
}

impl fmt::Display for ShardLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count != 1 {
            write!(f, "{} x ", self.count)?;
        }
        write!(f, "{}x{} as `{}`", self.shape, self.element, self.order)
    }
}

/// One kernel of the registry.
pub struct KernelEntry {
    /// The symbol without constants.
    pub name: &'static str,
    /// What it is for.
    pub family: Family,
    /// What it does, its arithmetic and the source of its cost, in Markdown.
    pub doc: &'static str,
    /// Compile-time constants, in the order of the symbol.
    pub constants: &'static [ConstantSpec],
    /// Operands in ABI order: the output first.
    pub operands: &'static [OperandSpec],
    /// Scalar arguments in ABI order, after the operands.
    pub scalars: &'static [ScalarSpec],
    /// Pairs of operands (output, input) that may start at the same address.
    pub in_place: &'static [(usize, usize)],
    /// Pairs of operands that must lie in different effective memory elements.
    pub distinct_elements: &'static [(usize, usize)],
    /// The entry that adds to its output in place of overwriting it, where there is one.
    pub accumulating: Option<&'static str>,
    /// Bytes of code to reserve.
    pub code_bytes: Bytes,
    pub(crate) behaviour: &'static dyn Behaviour,
}

/// What a family answers about its calls. Constants and scalars are in range when these are called.
pub(crate) trait Behaviour: Sync {
    /// Bytes that a call touches from each operand's pointer, in operand order.
    fn sizes(&self, call: &Call<'_>) -> Result<SmallVec<[u64; 4]>, KernelError>;

    /// The memory class that an operand needs.
    fn class_need(&self, _constants: &[u32], _operand: usize) -> ClassNeed {
        ClassNeed::Any
    }

    /// The element order that an operand needs.
    fn order_need(&self, constants: &[u32], operand: usize) -> OrderNeed;

    /// Constants and scalars for operands with these layouts; number and element types are checked.
    fn bind(
        &self,
        entry: &'static KernelEntry,
        operands: &[ShardLayout],
    ) -> Result<(Constants, UncheckedScalars), KernelError>;

    /// Calibrated cycles of a call.
    fn cycles(&self, call: &Call<'_>, classes: &[MemoryClass]) -> u64;

    /// Cycles of a call in the recorded run's price list.
    fn recorded_cycles(&self, call: &Call<'_>) -> u64 {
        self.cycles(call, &[])
    }

    /// Executes a call.
    fn run(&self, call: &Call<'_>, memory: &mut dyn KernelMemory) -> Result<(), KernelFault>;
}

/// Scalar values in ABI order, before their ranges are checked.
pub(crate) type UncheckedScalars = SmallVec<[i64; 4]>;

impl KernelEntry {
    /// The entry of that name (a symbol without constants).
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        super::entries().find(|entry| entry.name == name)
    }

    /// The entries of a family whose operands have these element types, in operand order, in registry order.
    /// Entries that accumulate come after those that overwrite; an operand of any type matches.
    pub fn of_types(family: Family, elements: &[ElementType]) -> impl Iterator<Item = &'static Self> {
        super::entries().filter(move |entry| {
            let fits = |(spec, element): (&OperandSpec, &ElementType)| {
                spec.element.is_none_or(|own| own == *element)
            };
            entry.family == family
                && entry.operands.len() == elements.len()
                && entry.operands.iter().zip(elements).all(fits)
        })
    }

    /// The form of its symbols, such as `gemm_f16_f16_k<K block>_c<columns>_r<rows>`.
    #[must_use]
    pub fn symbol_scheme(&self) -> String {
        let mut scheme = self.name.to_owned();
        for spec in self.constants {
            scheme.push_str(&format!("_{}<{}>", spec.letter, spec.name));
        }
        scheme
    }

    /// Number of the register (2 for m2) that holds the pointer of an operand.
    #[must_use]
    pub fn operand_register(&self, operand: usize) -> Option<u8> {
        (operand < self.operands.len()).then(|| FIRST_ARGUMENT_REGISTER + operand as u8)
    }

    /// Number of the register that holds a scalar.
    #[must_use]
    pub fn scalar_register(&self, scalar: usize) -> Option<u8> {
        (scalar < self.scalars.len()).then(|| FIRST_ARGUMENT_REGISTER + (self.operands.len() + scalar) as u8)
    }

    /// Number and element types of the operands.
    pub(super) fn check_operand_types(&self, operands: &[ShardLayout]) -> Result<(), KernelError> {
        let wrong = |message| Err(KernelError::new(KernelCode::WrongOperands, message));
        if operands.len() != self.operands.len() {
            return Err(self.wrong_operand_count(operands.len()));
        }
        for (spec, layout) in self.operands.iter().zip(operands) {
            if spec.element.is_some_and(|element| element != layout.element) {
                let wanted = spec.element.map_or("", ElementType::name);
                return wrong(format!(
                    "operand `{}` of `{}` has element type `{}`; expected `{wanted}`",
                    spec.name, self.name, layout.element
                ));
            }
            if let Err(error) = layout.element.check_scale(layout.scale) {
                return wrong(format!("operand `{}` of `{}`: {error}", spec.name, self.name));
            }
            if let Err(error) = layout.order.check(layout.shape) {
                return Err(KernelError::new(
                    KernelCode::LayoutMismatch,
                    format!("operand `{}` of `{}`: {error}", spec.name, self.name),
                ));
            }
        }
        Ok(())
    }

    /// The error for a wrong number of operands.
    pub(super) fn wrong_operand_count(&self, found: usize) -> KernelError {
        let message = format!("`{}` takes {} operands, found {found}", self.name, self.operands.len());
        KernelError::new(KernelCode::WrongOperands, message)
    }

    /// The error for an operand whose layout is not the wanted one.
    pub(super) fn layout_mismatch(
        &self,
        operand: usize,
        found: &ShardLayout,
        wanted: impl fmt::Display,
    ) -> KernelError {
        let name = self.operands.get(operand).map_or("?", |spec| spec.name);
        KernelError::new(
            KernelCode::LayoutMismatch,
            format!("operand `{name}` of `{}` is {found}; expected {wanted}", self.name),
        )
    }
}

impl PartialEq for KernelEntry {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for KernelEntry {}

impl PartialOrd for KernelEntry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for KernelEntry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.name.cmp(other.name)
    }
}

impl Hash for KernelEntry {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for KernelEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KernelEntry({})", self.name)
    }
}
