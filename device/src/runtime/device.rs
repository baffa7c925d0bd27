//! An open device: from opening to initialised, and what is asked of it after the last call.

use crate::package::Package;
use crate::units::PhysicalTile;

use super::configuration::Configuration;
use super::error::{RuntimeCode, RuntimeError};
use super::lock::DeviceLock;
use super::registers::{
    CCSR, DebugRegister, EXCEPTION_INVALID_PC, GROUP_1, GROUP_2, HALT_LIMIT, MARK, MARK_LIMIT, POLL,
    context_state, exception_kind,
};
use super::transport::{Request, Transport};

/// First word that resets the device's control unit; its upper half comes back.
const RESET_COMMAND: u32 = 0x4078_020e;

/// An open device. Dropping it closes the transport first and then releases the lock.
#[derive(Debug)]
pub struct Device<T> {
    transport: T,
    lock: Option<DeviceLock>,
}

impl<T: Transport> Device<T> {
    /// Opens a device under `lock` and attaches this process to it.
    ///
    /// # Errors
    /// If `open` fails or the driver refuses.
    pub fn open(
        lock: Option<DeviceLock>,
        open: impl FnOnce() -> Result<T, RuntimeError>,
    ) -> Result<Self, RuntimeError> {
        let mut transport = open()?;
        tracing::info!(simulated = transport.is_simulated(), "device opened");
        transport.request(Request::UserAttach)?;
        transport.request(Request::SetDeviceId)?;
        tracing::info!("device attached");
        Ok(Self { transport, lock })
    }

    /// The transport.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// The lock under which the device was opened.
    pub fn lock(&self) -> Option<&DeviceLock> {
        self.lock.as_ref()
    }

    pub(super) fn transport_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    /// Closes the device: the lock is released, the transport given back.
    pub fn close(self) -> T {
        self.transport
    }

    /// Resets the device.
    ///
    /// # Errors
    /// If the control unit answers with something else or the driver refuses.
    pub fn initialise(&mut self) -> Result<(), RuntimeError> {
        let transport = &mut self.transport;
        transport.request(Request::StopMonitoring)?;
        let received = transport.mailbox([RESET_COMMAND, 0, 0, 0, 0])?[0];
        if received >> 16 != RESET_COMMAND >> 16 {
            let message = format!("expected 0x{:04x}.... , observed 0x{received:08x}", RESET_COMMAND >> 16);
            return Err(RuntimeError::new(RuntimeCode::Reset, "initialise", message));
        }
        transport.request(Request::StartMonitoring)?;
        transport.request(Request::AccumulateErrors)?;
        transport.request(Request::NotifyReset)?;
        transport.request(Request::SetSecondaryDeviceId)?;
        tracing::info!("device initialized");
        Ok(())
    }

    /// Writes the board's configuration, except to the sync groups, which are cleared instead.
    ///
    /// # Errors
    /// If a register cannot be accessed or a sync group does not clear.
    pub fn replay(&mut self, configuration: &Configuration) -> Result<(), RuntimeError> {
        let transport = &mut self.transport;
        for write in configuration.writes() {
            if write.offset != GROUP_1 && write.offset != GROUP_2 {
                transport.write(write.offset, write.value)?;
                // Reading drains the posted write: the order of the records matters to the device.
                transport.read(CCSR)?;
            }
        }
        for group in [GROUP_1, GROUP_2] {
            transport.write(group, 0)?;
            wait_mark(transport, group, || "replay configuration".to_owned())?;
        }
        let register_writes = configuration.writes().len();
        tracing::info!(register_writes, "device configuration replayed");
        Ok(())
    }

    /// Waits until every tile of `package` has ended its program.
    ///
    /// # Errors
    /// If a supervisor or a worker is still active, or stopped by an exception, at the end of the limit.
    pub fn check_completion(&mut self, package: &Package) -> Result<(), RuntimeError> {
        let deadline = self.transport.now() + HALT_LIMIT;
        for image in &package.tiles {
            while !self.has_ended(package, image.tile)? {
                if self.transport.now() >= deadline {
                    return Err(self.not_halted(package)?);
                }
                self.transport.pause(POLL);
            }
        }
        let mut busy = Vec::new();
        for image in &package.tiles {
            let status = self.context_status(image.tile)?;
            if (1..=crate::memory_map::WORKERS).any(|worker| context_state(status, worker) != 0) {
                busy.push(image.tile);
            }
        }
        if busy.is_empty() {
            tracing::info!(tiles = package.tiles.len(), "program completed");
            return Ok(());
        }
        let message = format!("workers did not halt on {}", super::tile_list(&busy));
        Err(RuntimeError::new(RuntimeCode::NotHalted, "completion", message))
    }

    /// The context status register of `tile`.
    ///
    /// # Errors
    /// As [`Transport::read`].
    pub fn context_status(&mut self, tile: PhysicalTile) -> Result<u32, RuntimeError> {
        self.transport.read(DebugRegister::ContextStatus.of(tile))
    }

    /// Inactive, or stopped at the final branch to address 0 with the completion word set.
    fn has_ended(&mut self, package: &Package, tile: PhysicalTile) -> Result<bool, RuntimeError> {
        let status = self.context_status(tile)?;
        match context_state(status, 0) {
            0 => Ok(true),
            3 => self.stopped_at_its_end(package, tile),
            _ => Ok(false),
        }
    }

    fn stopped_at_its_end(&mut self, package: &Package, tile: PhysicalTile) -> Result<bool, RuntimeError> {
        let Some(image) = package.tile(tile) else { return Ok(false) };
        let supervisor_status = self.read_supervisor_status(tile)?;
        Ok(exception_kind(supervisor_status) == EXCEPTION_INVALID_PC
            && self.read_memory(tile, image.diagnostic_address)? == 1)
    }

    fn not_halted(&mut self, package: &Package) -> Result<RuntimeError, RuntimeError> {
        let mut counts = [0_usize; 4];
        let mut unexpected = Vec::new();
        for image in &package.tiles {
            let state = context_state(self.context_status(image.tile)?, 0);
            counts[state as usize & 3] += 1;
            if state != 0 {
                unexpected.push(image.tile);
            }
        }
        let [inactive, active, debug, excepted] = counts;
        let message = format!(
            "supervisors did not halt: {inactive} inactive, {active} active, {debug} stopped for debug, {excepted} \
             excepted; {}",
            super::tile_list(&unexpected)
        );
        Ok(RuntimeError::new(RuntimeCode::NotHalted, "completion", message))
    }
}

/// Waits until the masked bits of `register` are `expected`.
pub(super) fn wait<T: Transport>(
    transport: &mut T,
    (register, mask): (u32, u32),
    expected: u32,
    limit: std::time::Duration,
    at: impl FnOnce() -> String,
) -> Result<(), RuntimeError> {
    let deadline = transport.now() + limit;
    loop {
        let observed = transport.read(register)? & mask;
        if observed == expected {
            return Ok(());
        }
        if transport.now() >= deadline {
            let message = format!("register 0x{register:x}: expected {expected}, observed {observed}");
            return Err(RuntimeError::new(RuntimeCode::Timeout, at(), message));
        }
        transport.pause(POLL);
    }
}

/// Waits until the mark of `group` is 0.
pub(super) fn wait_mark<T: Transport>(
    transport: &mut T,
    group: u32,
    at: impl FnOnce() -> String,
) -> Result<(), RuntimeError> {
    wait(transport, (group, MARK), 0, MARK_LIMIT, at)
}
