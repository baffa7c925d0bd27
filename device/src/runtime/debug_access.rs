//! Looking into a tile through its debug window: instructions injected into a context that does not run.
//!
//! Source: hardware notes on the driver, section 8.

use crate::units::{Address, PhysicalTile};

use super::device::{Device, wait};
use super::error::{RuntimeCode, RuntimeError};
use super::registers::{DEBUG_LIMIT, DebugRegister};
use super::transport::Transport;

/// Failures and busy bit of the injection's status.
pub(super) const STATUS_BUSY: u32 = 1 << 3;
/// Failures of an injection: context not quiescent, invalid, double.
pub(super) const STATUS_FAILED: u32 = 0b111;
/// Clears "invalid" and "double".
const CLEAR_FAILURES: u32 = 6;

/// `put DBG_DATA, $m0`; the register stands in bits 23:20.
pub(super) const DATA_FROM_M0: u32 = 0x4300_8070;
/// `get $m0, DBG_DATA`; the register stands in bits 19:16.
pub(super) const M0_FROM_DATA: u32 = 0x4100_0070;
/// `get $m0, 1`: the context's own status.
pub(super) const M0_FROM_STATUS: u32 = 0x4100_0001;
/// Loads `$m0` from the address in `$m1`.
pub(super) const LOAD_M0: u32 = 0x01f0_1000;
/// Stores `$m0` at the address in `$m1`.
pub(super) const STORE_M0: u32 = 0x4f10_f000;
/// `$m1` instead of `$m0` in [`DATA_FROM_M0`].
pub(super) const SOURCE_M1: u32 = 1 << 20;
/// `$m1` instead of `$m0` in [`M0_FROM_DATA`].
pub(super) const DESTINATION_M1: u32 = 1 << 16;

/// The supervisor's context number.
const SUPERVISOR: u32 = 0;
/// An idle worker lends its registers to memory accesses, so that the supervisor's stay untouched.
const WORKER: u32 = 1;

impl<T: Transport> Device<T> {
    /// Reads the word at `address`, a multiple of 4, while a worker of `tile` is idle.
    ///
    /// # Errors
    /// If the context runs or the device does not answer.
    pub fn read_memory(&mut self, tile: PhysicalTile, address: Address) -> Result<u32, RuntimeError> {
        self.with_saved_registers(tile, WORKER, |device| {
            device.set_register(tile, WORKER, DESTINATION_M1, address.0)?;
            device.inject(tile, WORKER, LOAD_M0)?;
            device.register(tile, WORKER, 0)
        })
    }

    /// Writes the word at `address`, a multiple of 4, while a worker of `tile` is idle.
    ///
    /// # Errors
    /// As [`Device::read_memory`].
    pub fn write_memory(
        &mut self,
        tile: PhysicalTile,
        address: Address,
        value: u32,
    ) -> Result<(), RuntimeError> {
        self.with_saved_registers(tile, WORKER, |device| {
            device.set_register(tile, WORKER, DESTINATION_M1, address.0)?;
            device.set_register(tile, WORKER, 0, value)?;
            device.inject(tile, WORKER, STORE_M0)
        })
    }

    /// The status register of a supervisor that does not run: its exception kind stands in bits 7:4.
    ///
    /// # Errors
    /// As [`Device::read_memory`].
    pub fn read_supervisor_status(&mut self, tile: PhysicalTile) -> Result<u32, RuntimeError> {
        self.with_saved_registers(tile, SUPERVISOR, |device| {
            device.inject(tile, SUPERVISOR, M0_FROM_STATUS)?;
            device.register(tile, SUPERVISOR, 0)
        })
    }

    fn with_saved_registers<R>(
        &mut self,
        tile: PhysicalTile,
        context: u32,
        access: impl FnOnce(&mut Self) -> Result<R, RuntimeError>,
    ) -> Result<R, RuntimeError> {
        let m0 = self.register(tile, context, 0)?;
        let m1 = self.register(tile, context, SOURCE_M1)?;
        let result = access(self);
        self.set_register(tile, context, 0, m0)?;
        self.set_register(tile, context, DESTINATION_M1, m1)?;
        result
    }

    fn register(&mut self, tile: PhysicalTile, context: u32, source: u32) -> Result<u32, RuntimeError> {
        self.inject(tile, context, DATA_FROM_M0 | source)?;
        self.transport_mut().read(DebugRegister::Data.of(tile))
    }

    fn set_register(
        &mut self,
        tile: PhysicalTile,
        context: u32,
        destination: u32,
        value: u32,
    ) -> Result<(), RuntimeError> {
        self.transport_mut().write(DebugRegister::Data.of(tile), value)?;
        self.inject(tile, context, M0_FROM_DATA | destination)
    }

    fn inject(&mut self, tile: PhysicalTile, context: u32, word: u32) -> Result<(), RuntimeError> {
        let transport = self.transport_mut();
        transport.write(DebugRegister::StatusClear.of(tile), CLEAR_FAILURES)?;
        transport.write(DebugRegister::InjectOwner.of(tile), context)?;
        transport.write(DebugRegister::Inject.of(tile), word)?;
        let status = DebugRegister::Status.of(tile);
        let at = || format!("debug access to {}, context {context}", super::tile_list(&[tile]));
        wait(transport, (status, STATUS_BUSY), 0, DEBUG_LIMIT, at)?;
        let failures = transport.read(status)? & STATUS_FAILED;
        if failures == 0 {
            return Ok(());
        }
        let message = format!("instruction 0x{word:08x} failed with status {failures:#05b}");
        Err(RuntimeError::new(RuntimeCode::Access, at(), message)
            .fix("only a context that does not run can be asked"))
    }
}
