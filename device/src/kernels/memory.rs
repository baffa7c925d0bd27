//! The memory that a running kernel sees: operands by index, bytes by offset from the operand's pointer.

use super::KernelFault;

/// Memory as a kernel sees it. The simulator maps pointers to addresses, an interpreter of buffers maps slices.
pub trait KernelMemory {
    /// Fills `into` with the bytes at `offset` of an operand.
    ///
    /// # Errors
    /// [`KernelFault::Memory`] with the reason: unmapped, never written, misaligned.
    fn read(&mut self, operand: usize, offset: u32, into: &mut [u8]) -> Result<(), KernelFault>;

    /// Stores `from` at `offset` of an operand.
    ///
    /// # Errors
    /// [`KernelFault::Memory`] with the reason.
    fn write(&mut self, operand: usize, offset: u32, from: &[u8]) -> Result<(), KernelFault>;
}

/// Operands as separate byte vectors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BufferMemory {
    /// The operands, in operand order.
    pub operands: Vec<Vec<u8>>,
}

impl BufferMemory {
    /// Memory of these operands.
    #[must_use]
    pub fn new(operands: Vec<Vec<u8>>) -> Self {
        Self { operands }
    }

    fn slice(&mut self, operand: usize, offset: u32, bytes: usize) -> Result<&mut [u8], KernelFault> {
        let size = self.operands.get(operand).map_or(0, Vec::len);
        let start = offset as usize;
        self.operands
            .get_mut(operand)
            .and_then(|buffer| buffer.get_mut(start..start.checked_add(bytes)?))
            .ok_or_else(|| KernelFault::Memory {
                operand,
                offset,
                bytes: bytes as u32,
                reason: format!("the buffer has {size} bytes"),
            })
    }
}

impl KernelMemory for BufferMemory {
    fn read(&mut self, operand: usize, offset: u32, into: &mut [u8]) -> Result<(), KernelFault> {
        into.copy_from_slice(self.slice(operand, offset, into.len())?);
        Ok(())
    }

    fn write(&mut self, operand: usize, offset: u32, from: &[u8]) -> Result<(), KernelFault> {
        self.slice(operand, offset, from.len())?.copy_from_slice(from);
        Ok(())
    }
}

/// The first `bytes` of an operand.
pub(crate) fn read_operand(
    memory: &mut dyn KernelMemory,
    operand: usize,
    bytes: u64,
) -> Result<Vec<u8>, KernelFault> {
    let mut content = vec![0; bytes as usize];
    memory.read(operand, 0, &mut content)?;
    Ok(content)
}
