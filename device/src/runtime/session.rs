//! The host's side of a running program: pages, calls, batches.
//!
//! One mark of sync group 2 lets one host sync of the tiles pass. A batch takes two: its entry sync, before which
//! the host has put inputs in place, and its closing sync, after which outputs are in place. Source: hardware
//! notes on host exchange, section 3.

use crate::package::{HostCall, HostExchange, HostSlice};

use super::device::{Device, wait_mark};
use super::error::{RuntimeCode, RuntimeError};
use super::registers::{EXCHANGE_WINDOW, EXCHANGE_WINDOW_BUFFERS, GROUP_1, GROUP_2};
use super::transport::{Request, Transport};

/// Largest page that is attached: what the loader's own buffer takes, rounded up.
const PAGE_MAX: u64 = 64 << 20;

/// A started program with its pages attached. Dropping it detaches them in reverse.
#[derive(Debug)]
pub struct HostSession<'device, 'package, T: Transport> {
    device: &'device mut Device<T>,
    exchange: &'package HostExchange,
    attached: Vec<u32>,
}

impl<T: Transport> Device<T> {
    /// Starts the loaded program and lets it pass its start-up sync with all pages attached.
    ///
    /// # Errors
    /// If a page cannot be attached or the tiles do not arrive.
    pub fn start_session<'device, 'package>(
        &'device mut self,
        exchange: &'package HostExchange,
    ) -> Result<HostSession<'device, 'package, T>, RuntimeError> {
        let at = || "host session start".to_owned();
        let transport = self.transport_mut();
        transport.write(EXCHANGE_WINDOW, EXCHANGE_WINDOW_BUFFERS)?;
        transport.write(GROUP_1, 1)?;
        wait_mark(transport, GROUP_2, at)?;
        let mut session = HostSession { device: self, exchange, attached: Vec::new() };
        session.attach_pages()?;
        session.give_mark(at)?;
        tracing::info!(startup_mark = exchange.startup_mark, "host exchange session started");
        Ok(session)
    }
}

impl<T: Transport> HostSession<'_, '_, T> {
    /// Makes the call `name` with its input bytes and gives back its output bytes.
    ///
    /// # Errors
    /// If there is no such call, the input has the wrong length, the call's phases do not fit its batches, or
    /// the tiles do not follow.
    pub fn call(&mut self, name: &str, input: &[u8]) -> Result<Vec<u8>, RuntimeError> {
        let refuse = |message: String| {
            RuntimeError::new(RuntimeCode::Call, format!("host call `{}`", name.escape_debug()), message)
        };
        let call = self.exchange.call(name).ok_or_else(|| {
            let names: Vec<&str> = self.exchange.calls.iter().map(|call| call.name.as_str()).collect();
            refuse(format!("the package has no such call, it has {names:?}"))
        })?;
        if call.input_length() != input.len() as u64 {
            return Err(refuse(format!(
                "the input has {} bytes, expected {}",
                input.len(),
                call.input_length()
            )));
        }
        let given: u64 = call.outputs.iter().map(|slice| slice.size).sum();
        if call.output_length() > given {
            return Err(refuse(format!("{} bytes of output, but slices give {given}", call.output_length())));
        }
        let syncs = 2 * (call.input_batch_ends.len() + call.output_batch_ends.len());
        let phases = call.phases as usize;
        if phases != syncs && phases + 1 != syncs {
            return Err(refuse(format!("{phases} phases, but its batches have {syncs} syncs")));
        }
        tracing::info!(name, command = call.command, phases, "host call invoked");
        let mut output = vec![0; call.output_length() as usize];
        self.write_command(call.command)?;
        for phase in 0..syncs {
            self.phase(call, phase, input, &mut output)?;
        }
        if let Some(last) = call.output_batch_ends.len().checked_sub(1) {
            self.capture(batch(&call.outputs, &call.output_batch_ends, last), &mut output)?;
        }
        Ok(output)
    }

    /// The device, for what lies outside of calls.
    pub fn device(&mut self) -> &mut Device<T> {
        self.device
    }

    /// One sync of a call. An even phase enters a batch: first its inputs are put in place, or the outputs of
    /// the batch before are taken away, since both use the same pages. The phase past the last counted one is
    /// the final release, which closes the last output batch.
    fn phase(
        &mut self,
        call: &HostCall,
        phase: usize,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), RuntimeError> {
        let at = || match phase < call.phases as usize {
            true => format!("host call `{}` phase {phase}/{}", call.name, call.phases),
            false => format!("host call `{}` final release", call.name),
        };
        wait_mark(self.device.transport_mut(), GROUP_2, at)?;
        if phase.is_multiple_of(2) {
            let (number, inputs) = (phase / 2, call.input_batch_ends.len());
            if number < inputs {
                self.supply(batch(&call.inputs, &call.input_batch_ends, number), input)?;
            } else if number > inputs {
                self.capture(batch(&call.outputs, &call.output_batch_ends, number - inputs - 1), output)?;
            }
        }
        self.give_mark(at)
    }

    fn give_mark(&mut self, at: impl FnOnce() -> String) -> Result<(), RuntimeError> {
        let transport = self.device.transport_mut();
        transport.fence();
        transport.write(GROUP_2, 1)?;
        wait_mark(transport, GROUP_2, at)
    }

    fn attach_pages(&mut self) -> Result<(), RuntimeError> {
        self.device.transport_mut().request(Request::DetachAllBuffers)?;
        for &index in &self.exchange.attach_order {
            if self.attached.contains(&index) {
                continue;
            }
            let size =
                self.exchange.pages.iter().find(|page| page.index == index).map_or(0, |page| page.size);
            if size == 0 || size > PAGE_MAX {
                let message = format!("its size is {size}, but must be 1 to {PAGE_MAX} bytes");
                return Err(RuntimeError::new(RuntimeCode::Page, format!("page {index}"), message));
            }
            let transport = self.device.transport_mut();
            transport.write(EXCHANGE_WINDOW, EXCHANGE_WINDOW_BUFFERS)?;
            transport.attach_buffer(index, size as usize)?;
            self.attached.push(index);
        }
        tracing::info!(pages = self.attached.len(), "host pages attached");
        Ok(())
    }

    fn write_command(&mut self, command: u32) -> Result<(), RuntimeError> {
        let (index, offset) = (self.exchange.command_page, self.exchange.command_offset);
        let target = self.page(index)?.get_mut(offset as usize..).and_then(|page| page.get_mut(..4));
        target.ok_or_else(|| outside(index))?.copy_from_slice(&command.to_le_bytes());
        self.device.transport_mut().fence();
        Ok(())
    }

    fn supply(&mut self, slices: &[HostSlice], input: &[u8]) -> Result<(), RuntimeError> {
        for slice in slices {
            let source = range(input, slice.file_offset, slice.size).ok_or_else(|| outside(slice.page))?;
            let page = self.page(slice.page)?;
            let end = slice.page_offset.saturating_add(slice.size) as usize;
            let target = page.get_mut(slice.page_offset as usize..end).ok_or_else(|| outside(slice.page))?;
            target.copy_from_slice(source);
        }
        Ok(())
    }

    fn capture(&mut self, slices: &[HostSlice], output: &mut [u8]) -> Result<(), RuntimeError> {
        for slice in slices {
            let page = self.page(slice.page)?;
            let source = range(page, slice.page_offset, slice.size).ok_or_else(|| outside(slice.page))?;
            let end = slice.file_offset.saturating_add(slice.size) as usize;
            let target =
                output.get_mut(slice.file_offset as usize..end).ok_or_else(|| outside(slice.page))?;
            target.copy_from_slice(source);
        }
        Ok(())
    }

    fn page(&mut self, index: u32) -> Result<&mut [u8], RuntimeError> {
        self.device.transport_mut().buffer(index).ok_or_else(|| {
            RuntimeError::new(RuntimeCode::Page, format!("page {index}"), "the page is not attached")
                .fix("name it in the package's attach order")
        })
    }
}

impl<T: Transport> Drop for HostSession<'_, '_, T> {
    fn drop(&mut self) {
        while let Some(index) = self.attached.pop() {
            self.device.transport_mut().detach_buffer(index);
        }
    }
}

fn outside(page: u32) -> RuntimeError {
    RuntimeError::new(
        RuntimeCode::Page,
        format!("page {page}"),
        "a transfer leaves the page or its byte string",
    )
}

fn range(bytes: &[u8], start: u64, size: u64) -> Option<&[u8]> {
    bytes.get(usize::try_from(start).ok()?..usize::try_from(start.checked_add(size)?).ok()?)
}

/// The slices of batch `number`.
fn batch<'a>(slices: &'a [HostSlice], ends: &[u32], number: usize) -> &'a [HostSlice] {
    let end = ends.get(number).map_or(0, |&end| end as usize);
    let start = number.checked_sub(1).and_then(|before| ends.get(before)).map_or(0, |&end| end as usize);
    slices.get(start..end).unwrap_or_default()
}
