//! A real device: the configuration space mapped from its node, requests as ioctls, buffers as anonymous
//! memory that the driver pins.
//!
//! Source: hardware notes on the driver, sections 1 to 3.
#![allow(unsafe_code, reason = "the configuration space and attached buffers are mapped memory")]

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use super::error::{RuntimeCode, RuntimeError};
use super::registers::SPACE;
use super::transport::{Request, Transport};

/// The node of the first device.
pub const DEVICE_NODE: &str = "/dev/ipu0";

const USER_ATTACH: u32 = 0xc008_ed0a;
const BUFFER_ATTACH: u32 = 0xc008_ed0b;
const BUFFER_DETACH: u32 = 0xc008_ed0c;
const SET_IPU_ID: u32 = 0xc008_ed0e;
const BUFFER_DETACH_ALL: u32 = 0x0000_ed12;
const MAILBOX_WRITE_READ: u32 = 0xc008_ed1f;
const STOP_MONITORING: u32 = 0x0000_ed22;
const START_MONITORING: u32 = 0x0000_ed23;
const ACCUMULATE_ERRORS: u32 = 0x0000_ed24;
const RESET_DEVICE: u32 = 0x4004_ed2d;
const SET_SECONDARY_IPU_ID: u32 = 0x4008_ed2f;

/// Argument of `BUFFER_ATTACH`.
#[repr(C)]
struct AttachArgument {
    index: u32,
    size: u32,
    address: u64,
}

/// Argument of `MAILBOX_WRITE_READ`.
#[repr(C)]
struct MailboxArgument {
    sent: *const [u32; 5],
    received: *mut [u32; 5],
}

/// A device behind its node.
#[derive(Debug)]
pub struct DeviceTransport {
    // Buffers are unmapped before the node is closed, and the space before both.
    space: Mapping,
    buffers: BTreeMap<u32, Mapping>,
    node: File,
    path: PathBuf,
    opened: Instant,
}

impl DeviceTransport {
    /// Opens the device behind `path`, usually [`DEVICE_NODE`]. Blocks all signals of the calling thread first:
    /// the driver raises real-time signals whose default is to end the process.
    ///
    /// # Errors
    /// If there is no such node, or it cannot be opened or mapped.
    pub fn open(path: &Path) -> Result<Self, RuntimeError> {
        let at = || format!("`{}`", path.display());
        // A process that goes on without a device keeps its signals.
        std::fs::metadata(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                RuntimeError::new(RuntimeCode::NoDevice, at(), "the device node does not exist")
                    .fix("load the vendor's kernel driver, or run on the simulated device")
            }
            _ => io_error(at(), "stat", &error),
        })?;
        block_signals().map_err(|error| io_error(at(), "block signals", &error))?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_CLOEXEC);
        let node = options.open(path).map_err(|error| io_error(at(), "open", &error))?;
        let space =
            Mapping::of_file(&node, SPACE as usize).map_err(|error| io_error(at(), "mmap", &error))?;
        Ok(Self { space, buffers: BTreeMap::new(), node, path: path.to_owned(), opened: Instant::now() })
    }

    fn register(&self, offset: u32) -> Result<*mut u32, RuntimeError> {
        if !offset.is_multiple_of(4) || offset >= SPACE {
            let message = format!("0x{offset:x} is no register");
            return Err(RuntimeError::new(RuntimeCode::Access, "register access", message));
        }
        // SAFETY: the mapping is SPACE bytes long and page aligned, and `offset` is a multiple of 4 below SPACE.
        Ok(unsafe { self.space.address.as_ptr().add(offset as usize) }.cast())
    }

    fn ioctl(&self, name: &str, code: u32, argument: usize) -> Result<(), RuntimeError> {
        // SAFETY: the descriptor is open; `argument` is a value or points to the structure that `code` wants,
        // which outlives the call.
        let result = unsafe { libc::ioctl(self.node.as_raw_fd(), libc::Ioctl::from(code), argument) };
        if result == 0 {
            return Ok(());
        }
        Err(io_error(format!("`{}`", self.path.display()), name, &Error::last_os_error()))
    }
}

impl Transport for DeviceTransport {
    fn is_simulated(&self) -> bool {
        false
    }

    fn read(&mut self, offset: u32) -> Result<u32, RuntimeError> {
        let register = self.register(offset)?;
        // SAFETY: `register` is an aligned word of the live mapping; device registers need volatile access.
        Ok(unsafe { register.read_volatile() })
    }

    fn write(&mut self, offset: u32, value: u32) -> Result<(), RuntimeError> {
        let register = self.register(offset)?;
        // SAFETY: as in `read`.
        unsafe { register.write_volatile(value) };
        Ok(())
    }

    fn request(&mut self, request: Request) -> Result<(), RuntimeError> {
        let id = 0_u32;
        let (name, code, argument) = match request {
            Request::UserAttach => ("USER_ATTACH", USER_ATTACH, 0),
            Request::SetDeviceId => ("SET_IPU_ID", SET_IPU_ID, 0),
            Request::DetachAllBuffers => ("BUFFER_DETACH_ALL", BUFFER_DETACH_ALL, 0),
            Request::StopMonitoring => ("STOP_MONITORING", STOP_MONITORING, 0),
            Request::StartMonitoring => ("START_MONITORING", START_MONITORING, 0),
            Request::AccumulateErrors => ("ACCUMULATE_ERRORS", ACCUMULATE_ERRORS, 0),
            Request::NotifyReset => ("RESET_DEVICE", RESET_DEVICE, 0),
            Request::SetSecondaryDeviceId => {
                ("SET_SECONDARY_IPU_ID", SET_SECONDARY_IPU_ID, std::ptr::from_ref(&id).expose_provenance())
            }
        };
        self.ioctl(name, code, argument)
    }

    fn mailbox(&mut self, sent: [u32; 5]) -> Result<[u32; 5], RuntimeError> {
        let mut received = [0; 5];
        let mut argument = MailboxArgument { sent: &raw const sent, received: &raw mut received };
        let argument = (&raw mut argument).expose_provenance();
        self.ioctl("MAILBOX_WRITE_READ", MAILBOX_WRITE_READ, argument)?;
        // SAFETY: a plain local array that the driver has filled through the pointer in `argument`; the
        // volatile read keeps the compiler from assuming that it still holds zeros.
        Ok(unsafe { (&raw const received).read_volatile() })
    }

    fn attach_buffer(&mut self, index: u32, size: usize) -> Result<(), RuntimeError> {
        let at = format!("buffer {index}");
        let refuse = |message: &str| Err(RuntimeError::new(RuntimeCode::Access, at.clone(), message));
        if self.buffers.contains_key(&index) {
            return refuse("a buffer is attached under this index already");
        }
        let Ok(attached_size) = u32::try_from(size) else {
            return refuse("a buffer must be below 4 GiB");
        };
        let mapping = Mapping::anonymous(size).map_err(|error| io_error(at.clone(), "mmap", &error))?;
        let address = mapping.address.as_ptr().expose_provenance() as u64;
        let mut argument = AttachArgument { index, size: attached_size, address };
        self.ioctl("BUFFER_ATTACH", BUFFER_ATTACH, (&raw mut argument).expose_provenance())?;
        self.buffers.insert(index, mapping);
        Ok(())
    }

    fn buffer(&mut self, index: u32) -> Option<&mut [u8]> {
        let mapping = self.buffers.get_mut(&index)?;
        // SAFETY: the mapping is `size` readable and writable bytes, borrowed through `self`; by the contract of
        // this method the device does not touch it while the slice lives.
        Some(unsafe { std::slice::from_raw_parts_mut(mapping.address.as_ptr(), mapping.size) })
    }

    fn detach_buffer(&mut self, index: u32) {
        if let Some(mapping) = self.buffers.remove(&index)
            && self.ioctl("BUFFER_DETACH", BUFFER_DETACH, index as usize).is_err()
        {
            // The driver may still hold the pages, so they must not be given to anything else.
            std::mem::forget(mapping);
        }
    }

    fn fence(&mut self) {
        fence(Ordering::SeqCst);
    }

    fn now(&self) -> Duration {
        self.opened.elapsed()
    }

    fn pause(&mut self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

impl Drop for DeviceTransport {
    fn drop(&mut self) {
        while let Some((&index, _)) = self.buffers.last_key_value() {
            self.detach_buffer(index);
        }
    }
}

/// Mapped memory.
#[derive(Debug)]
struct Mapping {
    address: NonNull<u8>,
    size: usize,
}

impl Mapping {
    /// The first `size` bytes behind `file`, shared with the device.
    fn of_file(file: &File, size: usize) -> Result<Self, Error> {
        Self::map(size, libc::MAP_SHARED, file.as_raw_fd())
    }

    /// `size` zeroed bytes, present from the start.
    fn anonymous(size: usize) -> Result<Self, Error> {
        Self::map(size, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1)
    }

    fn map(size: usize, flags: libc::c_int, descriptor: libc::c_int) -> Result<Self, Error> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping at an address of the system's choice affects no existing memory.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, descriptor, 0) };
        match NonNull::new(address.cast::<u8>()) {
            Some(address) if address.as_ptr().cast() != libc::MAP_FAILED => Ok(Self { address, size }),
            _ => Err(Error::last_os_error()),
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this mapping was made with this size and nothing borrows from it any more.
        unsafe { libc::munmap(self.address.as_ptr().cast(), self.size) };
    }
}

fn block_signals() -> Result<(), Error> {
    let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigfillset` initialises the set that `pthread_sigmask` then reads.
    let result = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), std::ptr::null_mut())
    };
    if result == 0 { Ok(()) } else { Err(Error::from_raw_os_error(result)) }
}

fn io_error(at: String, operation: &str, error: &Error) -> RuntimeError {
    RuntimeError::new(RuntimeCode::Io, at, format!("{operation}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_node_is_no_device() {
        let directory = tempfile::tempdir().unwrap();
        let error = DeviceTransport::open(&directory.path().join("ipu0")).unwrap_err();
        assert_eq!(error.code(), "D0351");
        assert!(error.to_string().contains("simulated device"), "{error}");
    }

    #[test]
    fn a_node_that_cannot_be_opened_or_mapped_is_named_with_the_request() {
        let directory = tempfile::tempdir().unwrap();
        let error = DeviceTransport::open(directory.path()).unwrap_err();
        assert_eq!(error.code(), "D0352");
        assert!(error.to_string().contains("open: "), "{error}");
        let beside = directory.path().join("file");
        std::fs::write(&beside, b"no device").unwrap();
        let error = DeviceTransport::open(&beside.join("ipu0")).unwrap_err();
        assert_eq!(error.code(), "D0352");
        assert!(error.to_string().contains("stat: "), "{error}");
    }
}
