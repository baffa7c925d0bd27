//! Reference kernels: a symbol whose code is a trap runs its registry arithmetic instead, at its calibrated cost.
//!
//! The code at a symbol decides: a word that is no trap is executed instruction by instruction.

use crate::hash::HashMap;

use crate::kernels::{Kernel, KernelFault, KernelMemory, OperandExtent, ScalarValues};
use crate::memory_map::{Element, INTERLEAVED_BASE, MemoryClass};
use crate::units::{Address, PhysicalTile};

use super::arithmetic::Registers;
use super::fault::{Fault, FaultCode};
use super::memory::{MemoryError, TileMemory};

/// Which kernel lies at which address, on every tile.
#[derive(Debug, Clone, Default)]
pub struct KernelSymbols {
    kernels: HashMap<u32, Kernel>,
}

impl KernelSymbols {
    /// The symbols among `symbols` that are kernels of the registry; others are ignored.
    pub fn new<'a>(symbols: impl IntoIterator<Item = (&'a str, Address)>) -> Self {
        let kernels = symbols
            .into_iter()
            .filter_map(|(name, address)| Some((address.0, Kernel::parse(name).ok()?)))
            .collect();
        Self { kernels }
    }

    /// The kernel at `address`.
    #[must_use]
    pub fn at(&self, address: Address) -> Option<&Kernel> {
        self.kernels.get(&address.0)
    }
}

/// Runs `kernel` on its argument registers; returns the cycles of the call.
pub(crate) fn call(
    kernel: &Kernel,
    registers: &Registers,
    memory: &mut TileMemory,
    tile: PhysicalTile,
) -> Result<u64, Fault> {
    let arguments = registers.arguments();
    let refuse =
        |message: String| Fault::on(tile, FaultCode::Kernel, format!("kernel `{kernel}`: {message}"));
    let count = kernel.entry().operands.len();
    let (pointers, scalars) =
        arguments.split_at_checked(count).ok_or_else(|| refuse("too many operands".into()))?;
    let scalars =
        ScalarValues::from_registers(kernel.entry(), scalars).map_err(|error| refuse(error.to_string()))?;
    let extents = kernel.extents(&scalars).map_err(|error| refuse(error.to_string()))?;
    for (extent, &pointer) in extents.iter().zip(pointers) {
        check_operand(extent, pointer).map_err(|(code, message)| {
            Fault::on(tile, code, format!("kernel `{kernel}`: {message}")).at_address(Address(pointer))
        })?;
    }
    for &(one, other) in kernel.entry().distinct_elements {
        if let Some((element, message)) = shared_element(&extents, pointers, one, other) {
            return Err(refuse(message).at_address(element));
        }
    }
    let classes: Vec<MemoryClass> = pointers.iter().map(|&pointer| class_of(pointer)).collect();
    let cycles = kernel.cycles(&scalars, &classes).map_err(|error| refuse(error.to_string()))?;
    let mut view = KernelView { memory, pointers, extents: &extents, error: None };
    match kernel.run(&scalars, &mut view) {
        Ok(()) => Ok(cycles.0),
        Err(fault) => {
            let Some((operand, error)) = view.error else { return Err(refuse(fault.to_string())) };
            let name = extents.get(operand).map_or("?", |extent| extent.name);
            let what = format!("kernel `{kernel}`, operand `{name}` at {}", Address(pointers[operand]));
            Err(Fault::memory(tile, error, &what))
        }
    }
}

fn check_operand(extent: &OperandExtent, pointer: u32) -> Result<(), (FaultCode, String)> {
    let (name, at) = (extent.name, Address(pointer));
    if !at.is_aligned(extent.align) {
        let message = format!("operand `{name}` at {at} is not aligned to {}", extent.align);
        return Err((FaultCode::Misaligned, message));
    }
    if !extent.class.accepts(class_of(pointer)) {
        let message =
            format!("operand `{name}` at {at} must lie in interleaved memory, from {INTERLEAVED_BASE} up");
        return Err((FaultCode::Kernel, message));
    }
    Ok(())
}

fn class_of(pointer: u32) -> MemoryClass {
    if pointer < INTERLEAVED_BASE.0 { MemoryClass::Standard } else { MemoryClass::Interleaved }
}

/// Whether two operands that a kernel accesses in the same cycle share an element.
fn shared_element(
    extents: &[OperandExtent],
    pointers: &[u32],
    one: usize,
    other: usize,
) -> Option<(Address, String)> {
    let elements = |operand: usize| {
        let (start, bytes) = (*pointers.get(operand)?, extents.get(operand)?.bytes.0.max(1));
        let end = Element::of(Address(start.saturating_add(bytes - 1)))?;
        Some((Element::of(Address(start))?, end, start, extents[operand].name))
    };
    let (first, last, start, name) = elements(one)?;
    let (other_first, other_last, other_start, other_name) = elements(other)?;
    let shared = first.index() <= other_last.index() && other_first.index() <= last.index();
    shared.then(|| {
        let element = if other_first.index() >= first.index() { other_first } else { first };
        let message = format!(
            "operands `{name}` at {} and `{other_name}` at {} share {element}; they are accessed in the same cycle",
            Address(start),
            Address(other_start)
        );
        (Address(start.max(other_start)), message)
    })
}

/// Operands of a call as ranges of tile memory.
struct KernelView<'a> {
    memory: &'a mut TileMemory,
    pointers: &'a [u32],
    extents: &'a [OperandExtent],
    /// The access that was refused.
    error: Option<(usize, MemoryError)>,
}

impl KernelView<'_> {
    fn refused(&mut self, operand: usize, offset: u32, bytes: usize, error: MemoryError) -> KernelFault {
        self.error = Some((operand, error));
        KernelFault::Memory { operand, offset, bytes: bytes as u32, reason: format!("{error:?}") }
    }

    fn address(&self, operand: usize, offset: u32) -> Address {
        Address(self.pointers.get(operand).copied().unwrap_or(0).wrapping_add(offset))
    }
}

impl KernelMemory for KernelView<'_> {
    fn read(&mut self, operand: usize, offset: u32, into: &mut [u8]) -> Result<(), KernelFault> {
        let address = self.address(operand, offset);
        let size = self.extents.get(operand).map_or(0, |extent| extent.bytes.0);
        let inside = (size.saturating_sub(offset) as usize).min(into.len());
        let (wanted, ahead) = into.split_at_mut(inside);
        if let Err(error) = self.memory.read(address, wanted) {
            return Err(self.refused(operand, offset, inside, error));
        }
        self.memory.read_ahead(Address(address.0.wrapping_add(inside as u32)), ahead);
        Ok(())
    }

    fn write(&mut self, operand: usize, offset: u32, from: &[u8]) -> Result<(), KernelFault> {
        let address = self.address(operand, offset);
        self.memory.write(address, from).map_err(|error| self.refused(operand, offset, from.len(), error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::POISON;

    #[test]
    fn a_read_ahead_past_an_operand_is_poison_and_a_read_inside_it_must_find_written_bytes() {
        let mut memory = TileMemory::new();
        memory.write(Address(0x60000), &[7; 16]).unwrap();
        let kernel = Kernel::parse("copy_u64").unwrap();
        let scalars = ScalarValues::from_registers(kernel.entry(), &[3]).unwrap();
        let extents = kernel.extents(&scalars).unwrap();
        let pointers = [0x64000, 0x60000];
        let mut view =
            KernelView { memory: &mut memory, pointers: &pointers, extents: &extents, error: None };
        let mut bytes = [0; 8];
        view.read(1, 8, &mut bytes).unwrap();
        assert_eq!(bytes, [7; 8]);
        view.read(1, 24, &mut bytes).unwrap();
        assert_eq!(bytes, [POISON; 8]);
        view.read(1, 16, &mut bytes).unwrap_err();
        assert_eq!(view.error, Some((1, MemoryError::Unwritten(Address(0x60010)))));
    }

    #[test]
    fn a_kernel_that_reads_unwritten_memory_names_operand_address_and_tile() {
        let mut memory = TileMemory::new();
        memory.write(Address(0x60000), &[7; 16]).unwrap();
        let kernel = Kernel::parse("copy_u64").unwrap();
        let mut registers = Registers::default();
        for (register, value) in [(2, 0x64000), (3, 0x60000), (4, 3)] {
            registers.set(crate::isa::Register::new(register).unwrap(), value);
        }
        let fault = call(&kernel, &registers, &mut memory, PhysicalTile(64)).unwrap_err();
        let name = kernel.entry().operands[1].name;
        assert_eq!(
            fault.to_string(),
            format!(
                "read of unwritten memory on tile 2 (physical 64): kernel `copy_u64`, operand `{name}` at 0x60000: \
                 address 0x60010 (element 24) was never written"
            )
        );
    }
}
