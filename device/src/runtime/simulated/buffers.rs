//! Attached host memory, and how tiles see it: buffers follow each other in index order.

use std::collections::BTreeMap;

use crate::runtime::error::{RuntimeCode, RuntimeError};
use crate::runtime::machine::{HostAccessError, HostMemory};

#[derive(Debug, Default)]
pub(super) struct AttachedBuffers {
    buffers: BTreeMap<u32, Vec<u8>>,
}

impl AttachedBuffers {
    pub(super) fn attach(&mut self, index: u32, size: usize) -> Result<(), RuntimeError> {
        if self.buffers.contains_key(&index) {
            let message = "a buffer is attached under this index already";
            return Err(RuntimeError::new(RuntimeCode::Access, format!("buffer {index}"), message));
        }
        self.buffers.insert(index, vec![0; size]);
        Ok(())
    }

    pub(super) fn detach(&mut self, index: u32) {
        self.buffers.remove(&index);
    }

    pub(super) fn clear(&mut self) {
        self.buffers.clear();
    }

    pub(super) fn get(&self, index: u32) -> Option<&[u8]> {
        self.buffers.get(&index).map(Vec::as_slice)
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut [u8]> {
        self.buffers.get_mut(&index).map(Vec::as_mut_slice)
    }

    /// The bytes at exchange offset `offset`, inside one buffer.
    fn range(&mut self, offset: u64, size: usize) -> Result<&mut [u8], HostAccessError> {
        let attached = self.buffers.values().map(|buffer| buffer.len() as u64).sum();
        let mut inside = offset;
        for buffer in self.buffers.values_mut() {
            match inside.checked_sub(buffer.len() as u64) {
                Some(rest) => inside = rest,
                None => {
                    let end = (inside as usize).checked_add(size);
                    let range = end.and_then(|end| buffer.get_mut(inside as usize..end));
                    return range.ok_or(HostAccessError { offset, size: size as u64, attached });
                }
            }
        }
        Err(HostAccessError { offset, size: size as u64, attached })
    }
}

impl HostMemory for AttachedBuffers {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), HostAccessError> {
        into.copy_from_slice(self.range(offset, into.len())?);
        Ok(())
    }

    fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), HostAccessError> {
        self.range(offset, from.len())?.copy_from_slice(from);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_follow_each_other_in_index_order() {
        let mut buffers = AttachedBuffers::default();
        buffers.attach(1, 8).unwrap();
        buffers.attach(0, 4).unwrap();
        buffers.write(6, &[1, 2]).unwrap();
        assert_eq!(buffers.get(1).unwrap(), [0, 0, 1, 2, 0, 0, 0, 0]);
        let mut word = [0; 4];
        buffers.read(4, &mut word).unwrap();
        assert_eq!(word, [0, 0, 1, 2]);
        assert!(buffers.attach(0, 4).is_err());
    }

    #[test]
    fn a_packet_may_not_leave_its_buffer() {
        let mut buffers = AttachedBuffers::default();
        buffers.attach(0, 4).unwrap();
        buffers.attach(1, 8).unwrap();
        for (offset, size) in [(2, 4), (11, 2), (12, 1), (u64::MAX, 1)] {
            let error = HostAccessError { offset, size, attached: 12 };
            assert_eq!(buffers.write(offset, &vec![0; size as usize]), Err(error));
        }
    }
}
