//! The kernel registry: one entry a kernel, read by planner, verifier, meanings, simulator and documentation.
//!
//! Rules this folder keeps:
//! - nobody outside matches on a kernel's name: what a kernel needs, does and costs is asked of its entry;
//! - an entry is a symbol without its compile-time constants (`gemm_f143_f16`); a [`Kernel`] is an entry with them
//!   (`gemm_f143_f16_k64_c16_r16`); scalar arguments ([`ScalarValues`]) stay call arguments, FP8 scales among them;
//! - the ABI is register m2 for the output, m3.. for the inputs in operand order, then the scalars, at most m9;
//! - arithmetic is bit-exact and the same at every level that runs the kernel; inputs are read before outputs are
//!   written, so an operand pair listed in [`KernelEntry::in_place`] may share its storage.
//!
//! ```
//! use ipu_device::kernels::{Kernel, ScalarValues};
//! use ipu_device::memory_map::MemoryClass::{Interleaved, Standard};
//!
//! let gemm = Kernel::parse("gemm_f143_f16_k64_c16_r16").unwrap();
//! let scalars = ScalarValues::from_named(gemm.entry(), [("product_scale", -8)]).unwrap();
//! assert_eq!(gemm.symbol(), "gemm_f143_f16_k64_c16_r16");
//! assert_eq!(gemm.extents(&scalars).unwrap()[1].bytes.0, 1024);
//! assert_eq!(gemm.cycles(&scalars, &[Interleaved, Standard, Standard]).unwrap().0, 954);
//! ```

mod arithmetic;
mod cast;
mod copy;
mod entry;
mod error;
mod gemm;
mod memory;
mod rearrange;
mod reduce;
mod scalars;

use std::fmt;

use smallvec::SmallVec;

use crate::memory_map::{MEMORY_BASE, MEMORY_END, MemoryClass};
use crate::units::{Bytes, Cycles};

pub(crate) use entry::Behaviour;
pub use entry::{
    ClassNeed, ConstantSpec, FIRST_ARGUMENT_REGISTER, Family, KernelEntry, LAST_ARGUMENT_REGISTER,
    OperandSpec, OrderNeed, Role, ScalarSpec, ShardLayout,
};
pub use error::{KernelCode, KernelError, KernelFault};
pub use memory::{BufferMemory, KernelMemory};
pub use scalars::ScalarValues;

/// Largest value of a compile-time constant; a symbol with a larger one is refused.
pub const MAX_CONSTANT: u32 = 0xf_ffff;

/// Supervisor overhead of a launch in formulas without measured constants.
pub(crate) const LAUNCH_CYCLES: u64 = 11;

/// Compile-time constants, in the order of [`KernelEntry::constants`].
pub(crate) type Constants = SmallVec<[u32; 4]>;

/// All entries, by family.
pub fn entries() -> impl Iterator<Item = &'static KernelEntry> {
    [gemm::ENTRIES, cast::ENTRIES, copy::ENTRIES, rearrange::ENTRIES, reduce::ENTRIES]
        .into_iter()
        .flat_map(|family| family.iter().copied())
}

/// A kernel: an entry and values for its compile-time constants. One object on the tile.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kernel {
    entry: &'static KernelEntry,
    constants: Constants,
}

/// What one operand of a call occupies and needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperandExtent {
    /// The operand's name.
    pub name: &'static str,
    /// Whether it is read, written, or both.
    pub role: Role,
    /// Bytes from its pointer that the call reads or writes, gaps of strided access included.
    pub bytes: Bytes,
    /// Bytes past those that the call may fetch without using them; they must be mapped and may be undefined.
    pub tail: Bytes,
    /// Alignment of its pointer.
    pub align: Bytes,
    /// Memory class that it needs.
    pub class: ClassNeed,
}

/// A call of a kernel as its family's code sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) constants: &'a [u32],
    pub(crate) scalars: &'a [i32],
}

impl Call<'_> {
    /// The scalar at `index`, which its range makes non-negative.
    pub(crate) fn count(&self, index: usize) -> u64 {
        u64::try_from(self.signed(index)).unwrap_or(0)
    }

    /// The scalar at `index`.
    pub(crate) fn signed(&self, index: usize) -> i32 {
        self.scalars.get(index).copied().unwrap_or(0)
    }
}

impl Kernel {
    /// The kernel of that symbol.
    ///
    /// # Errors
    /// [`KernelCode::UnknownKernel`] or [`KernelCode::BadConstant`].
    pub fn parse(symbol: &str) -> Result<Self, KernelError> {
        let mut named_entry = None;
        for entry in entries() {
            let Some(suffix) = symbol.strip_prefix(entry.name) else { continue };
            match parse_constants(entry, suffix) {
                Some(constants) => return Self::new(entry, &constants),
                None if suffix.is_empty() || suffix.starts_with('_') => named_entry = Some(entry),
                None => {}
            }
        }
        Err(named_entry.map_or_else(
            || KernelError::new(KernelCode::UnknownKernel, format!("unknown kernel `{symbol}`")),
            |entry| {
                let scheme = entry.symbol_scheme();
                KernelError::new(
                    KernelCode::UnknownKernel,
                    format!(
                        "unknown kernel `{symbol}`; symbols of `{}` have the form `{scheme}`",
                        entry.name
                    ),
                )
            },
        ))
    }

    /// The kernel of an entry with the constants in the entry's order.
    ///
    /// # Errors
    /// [`KernelCode::BadConstant`]: their number, or a value that is zero, too large or not a multiple of its grain.
    pub fn new(entry: &'static KernelEntry, constants: &[u32]) -> Result<Self, KernelError> {
        if constants.len() != entry.constants.len() {
            let message = format!(
                "`{}` takes {} constants, found {}",
                entry.name,
                entry.constants.len(),
                constants.len()
            );
            return Err(KernelError::new(KernelCode::BadConstant, message));
        }
        for (spec, &value) in entry.constants.iter().zip(constants) {
            if value == 0 || value > MAX_CONSTANT || !value.is_multiple_of(spec.multiple_of) {
                let message = format!(
                    "constant `{}` ({}) of `{}` is {value}; expected a positive multiple of {} up to {MAX_CONSTANT}",
                    spec.letter, spec.name, entry.name, spec.multiple_of
                );
                return Err(KernelError::new(KernelCode::BadConstant, message));
            }
        }
        Ok(Self { entry, constants: constants.into() })
    }

    /// The kernel and scalars of `entry` for operands with these layouts, in operand order: the one check that a
    /// kernel and its operands' layouts fit.
    ///
    /// # Errors
    /// [`KernelCode::LayoutMismatch`] names the operand, its order or shape, and what the kernel needs.
    pub fn bind(
        entry: &'static KernelEntry,
        operands: &[ShardLayout],
    ) -> Result<(Self, ScalarValues), KernelError> {
        entry.check_operand_types(operands)?;
        let (constants, scalars) = entry.behaviour.bind(entry, operands)?;
        let kernel = Self::new(entry, &constants)?;
        let scalars = ScalarValues::from_values(entry, &scalars)?;
        kernel.extents(&scalars)?;
        Ok((kernel, scalars))
    }

    /// The cheapest kernel of a family, by calibrated price in standard memory, that works on operands with these
    /// layouts; among equals the first of the registry.
    ///
    /// # Errors
    /// The first mismatch of the last entry with these element types, or [`KernelCode::UnknownKernel`] if no entry
    /// has them.
    pub fn select(family: Family, operands: &[ShardLayout]) -> Result<(Self, ScalarValues), KernelError> {
        let elements: SmallVec<[_; 4]> = operands.iter().map(|layout| layout.element).collect();
        let names: Vec<&str> = elements.iter().map(|element| element.name()).collect();
        let message = format!("no kernel of family {family:?} takes operands of types {}", names.join(", "));
        let mut failure = KernelError::new(KernelCode::UnknownKernel, message);
        let mut best: Option<(Cycles, Self, ScalarValues)> = None;
        for entry in KernelEntry::of_types(family, &elements) {
            let bound = Self::bind(entry, operands)
                .and_then(|(kernel, scalars)| Ok((kernel.cycles(&scalars, &[])?, kernel, scalars)));
            match bound {
                Ok(found) if best.as_ref().is_none_or(|(cycles, ..)| found.0 < *cycles) => best = Some(found),
                Ok(_) => {}
                Err(error) => failure = error,
            }
        }
        best.map(|(_, kernel, scalars)| (kernel, scalars)).ok_or(failure)
    }

    /// The kernel with the same constants that adds to its output, where there is one.
    #[must_use]
    pub fn accumulating(&self) -> Option<Self> {
        let entry = KernelEntry::find(self.entry.accumulating?)?;
        Self::new(entry, &self.constants).ok()
    }

    /// The symbol.
    #[must_use]
    pub fn symbol(&self) -> String {
        let mut symbol = self.entry.name.to_owned();
        for (spec, value) in self.entry.constants.iter().zip(&self.constants) {
            symbol.push_str(&format!("_{}{value}", spec.letter));
        }
        symbol
    }

    /// The entry.
    #[must_use]
    pub fn entry(&self) -> &'static KernelEntry {
        self.entry
    }

    /// The constants, in the entry's order.
    #[must_use]
    pub fn constants(&self) -> &[u32] {
        &self.constants
    }

    /// The constant of that letter.
    #[must_use]
    pub fn constant(&self, letter: char) -> Option<u32> {
        let index = self.entry.constants.iter().position(|spec| spec.letter == letter)?;
        self.constants.get(index).copied()
    }

    /// The memory class that an operand needs.
    #[must_use]
    pub fn class_need(&self, operand: usize) -> ClassNeed {
        self.entry.behaviour.class_need(&self.constants, operand)
    }

    /// The element order that each operand needs, in operand order.
    #[must_use]
    pub fn order_needs(&self) -> Vec<OrderNeed> {
        (0..self.entry.operands.len())
            .map(|operand| self.entry.behaviour.order_need(&self.constants, operand))
            .collect()
    }

    /// Bytes of code to reserve for the kernel.
    #[must_use]
    pub fn code_bytes(&self) -> Bytes {
        self.entry.code_bytes
    }

    /// What each operand of a call with these scalars occupies and needs, in operand order.
    ///
    /// # Errors
    /// [`KernelCode`]: scalars of another kernel, scalars that do not fit each other, or an operand larger than tile
    /// memory.
    pub fn extents(&self, scalars: &ScalarValues) -> Result<SmallVec<[OperandExtent; 4]>, KernelError> {
        let call = self.call(scalars)?;
        let sizes = self.entry.behaviour.sizes(&call)?;
        let memory = u64::from(MEMORY_END.0 - MEMORY_BASE.0);
        let mut extents = SmallVec::new();
        for (index, (spec, &bytes)) in self.entry.operands.iter().zip(&sizes).enumerate() {
            if bytes > memory {
                let message = format!(
                    "operand `{}` of `{}` takes {bytes} bytes; tile memory has {memory}",
                    spec.name,
                    self.symbol()
                );
                return Err(KernelError::new(KernelCode::OperandTooLarge, message));
            }
            extents.push(OperandExtent {
                name: spec.name,
                role: spec.role,
                bytes: Bytes(bytes as u32),
                tail: spec.tail,
                align: spec.align,
                class: self.class_need(index),
            });
        }
        Ok(extents)
    }

    /// Runs the kernel's arithmetic on `memory`, whose operand `i` is the entry's operand `i`.
    ///
    /// # Errors
    /// [`KernelFault`]: the call is not valid, or `memory` refused an access.
    pub fn run(&self, scalars: &ScalarValues, memory: &mut dyn KernelMemory) -> Result<(), KernelFault> {
        self.extents(scalars)?;
        self.entry.behaviour.run(&self.call(scalars)?, memory)
    }

    /// Predicted cycles of one call, launch and rendezvous included, by the calibrated formulas.
    /// `classes` are the memory classes of the operands in operand order; a missing one counts as standard.
    ///
    /// # Errors
    /// As [`Self::extents`].
    pub fn cycles(&self, scalars: &ScalarValues, classes: &[MemoryClass]) -> Result<Cycles, KernelError> {
        self.extents(scalars)?;
        Ok(Cycles(self.entry.behaviour.cycles(&self.call(scalars)?, classes)))
    }

    /// Cycles of one call by the counting rule of the recorded run: ideal prices for GEMM and casts.
    ///
    /// # Errors
    /// As [`Self::extents`].
    pub fn recorded_cycles(&self, scalars: &ScalarValues) -> Result<Cycles, KernelError> {
        self.extents(scalars)?;
        Ok(Cycles(self.entry.behaviour.recorded_cycles(&self.call(scalars)?)))
    }

    fn call<'a>(&'a self, scalars: &'a ScalarValues) -> Result<Call<'a>, KernelError> {
        if scalars.entry() != self.entry {
            let message =
                format!("scalars of `{}` given to kernel `{}`", scalars.entry().name, self.symbol());
            return Err(KernelError::new(KernelCode::ForeignScalars, message));
        }
        Ok(Call { constants: &self.constants, scalars: scalars.values() })
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.symbol())
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({})", self.symbol())
    }
}

/// The constants that `suffix` (`_k64_c16_r16`) gives to `entry`; `None` unless it has exactly the entry's letters
/// in order and canonical decimal numbers.
fn parse_constants(entry: &KernelEntry, suffix: &str) -> Option<Constants> {
    let mut rest = suffix;
    let mut constants = Constants::new();
    for spec in entry.constants {
        rest = rest.strip_prefix('_')?.strip_prefix(spec.letter)?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (digits, after) = rest.split_at_checked(end)?;
        let value: u32 = digits.parse().ok()?;
        if digits.starts_with('0') && digits.len() > 1 {
            return None;
        }
        constants.push(value);
        rest = after;
    }
    rest.is_empty().then_some(constants)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_parse_to_themselves() {
        for symbol in [
            "gemm_f143_f16_k64_c16_r16",
            "gemm_f16_f16_acc_k48_c32_r7",
            "cast_f16_f143_panels",
            "cast_f32_f16",
            "copy_strided_u64",
            "pack_block_major_f16_k64_c16",
            "reduce_add_f16",
            "fill_zero_u64",
        ] {
            assert_eq!(Kernel::parse(symbol).map(|kernel| kernel.symbol()), Ok(symbol.to_owned()));
        }
    }

    #[test]
    fn what_is_no_symbol_is_refused_with_its_kind() {
        for (symbol, code) in [
            ("", KernelCode::UnknownKernel),
            ("gemm", KernelCode::UnknownKernel),
            ("gemm_f143_f16", KernelCode::UnknownKernel),
            ("gemm_f143_f16_k64_c16", KernelCode::UnknownKernel),
            ("gemm_f143_f16_k64_c16_r016", KernelCode::UnknownKernel),
            ("gemm_f143_f16_k64_c16_r99999999999", KernelCode::UnknownKernel),
            ("copy_u64_k16", KernelCode::UnknownKernel),
            ("gemm_f143_f16_k48_c16_r16", KernelCode::BadConstant),
            ("gemm_f143_f16_k64_c8_r16", KernelCode::BadConstant),
            ("gemm_f143_f16_k64_c16_r0", KernelCode::BadConstant),
            ("gemm_f143_f16_k64_c16_r4000000000", KernelCode::BadConstant),
        ] {
            assert_eq!(Kernel::parse(symbol).map_err(|error| error.code), Err(code), "{symbol}");
        }
    }

    #[test]
    fn every_entry_fits_the_registers_and_names_what_exists() {
        let mut names = std::collections::BTreeSet::new();
        for entry in entries() {
            assert!(names.insert(entry.name), "`{}` stands twice", entry.name);
            let arguments = entry.operands.len() + entry.scalars.len();
            assert!(
                arguments <= usize::from(LAST_ARGUMENT_REGISTER - FIRST_ARGUMENT_REGISTER) + 1,
                "{}",
                entry.name
            );
            assert!(
                entry.operands[0].role.writes() && entry.operands[1..].iter().all(|spec| !spec.role.writes())
            );
            assert!(entry.accumulating.is_none_or(|name| KernelEntry::find(name).is_some()));
            assert!(entry.code_bytes.0.is_multiple_of(8) && !entry.doc.is_empty());
        }
    }
}
