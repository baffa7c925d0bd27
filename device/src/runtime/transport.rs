//! What a device offers its host: registers, requests to the kernel driver, attached memory.

use std::time::Duration;

use super::error::RuntimeError;

/// A request to the kernel driver without data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Request {
    /// Makes this process the user of the device.
    UserAttach,
    /// Sets the device id that signals carry to 0.
    SetDeviceId,
    /// Detaches every buffer, of whomever.
    DetachAllBuffers,
    /// Stops the driver's monitoring.
    StopMonitoring,
    /// Starts it.
    StartMonitoring,
    /// Collects error counters.
    AccumulateErrors,
    /// Tells the driver that the device has been reset.
    NotifyReset,
    /// Sets the secondary device id to 0.
    SetSecondaryDeviceId,
}

/// A device as the host sees it.
pub trait Transport {
    /// Whether this is a simulator: it runs programs that no hardware could.
    fn is_simulated(&self) -> bool;

    /// Reads the register at `offset`, a multiple of 4 below [`SPACE`](super::registers::SPACE).
    ///
    /// # Errors
    /// A wrong offset; in a simulator, whatever the device does wrong up to the instant of the read.
    fn read(&mut self, offset: u32) -> Result<u32, RuntimeError>;

    /// Writes the register at `offset`.
    ///
    /// # Errors
    /// As [`Transport::read`].
    fn write(&mut self, offset: u32, value: u32) -> Result<(), RuntimeError>;

    /// Makes a request to the kernel driver.
    ///
    /// # Errors
    /// If the driver refuses.
    fn request(&mut self, request: Request) -> Result<(), RuntimeError>;

    /// Sends five words to the device's control unit and returns its answer.
    ///
    /// # Errors
    /// If the driver refuses.
    fn mailbox(&mut self, sent: [u32; 5]) -> Result<[u32; 5], RuntimeError>;

    /// Attaches `size` bytes of fresh, zeroed host memory under `index`.
    ///
    /// # Errors
    /// If the index is taken, the memory is not to be had, or the driver refuses.
    fn attach_buffer(&mut self, index: u32, size: usize) -> Result<(), RuntimeError>;

    /// The memory attached under `index`. The caller must not touch it while the device may: between writing a
    /// mark and reading it as 0.
    fn buffer(&mut self, index: u32) -> Option<&mut [u8]>;

    /// Detaches and frees the memory under `index`; nothing if there is none.
    fn detach_buffer(&mut self, index: u32);

    /// Makes writes to attached memory visible to the device before any later register write.
    fn fence(&mut self);

    /// Time since some fixed instant. A simulator's clock advances only in [`Transport::pause`].
    fn now(&self) -> Duration;

    /// Waits.
    fn pause(&mut self, duration: Duration);
}
