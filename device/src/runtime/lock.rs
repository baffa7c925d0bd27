//! One run at a time: an advisory lock on a file of the caller's choice, held until the device is closed.
//!
//! The lock belongs to the open file, so the operating system releases it when its process ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use super::error::{RuntimeCode, RuntimeError};

/// Ownership of the device.
#[derive(Debug)]
pub struct DeviceLock {
    path: PathBuf,
    _file: File,
}

impl DeviceLock {
    /// Waits for the lock on `path`, which is created if it does not exist and never truncated. If another
    /// process holds it, `waiting` is called once before the wait.
    ///
    /// # Errors
    /// If the file cannot be opened or locked.
    pub fn acquire(path: &Path, waiting: impl FnOnce(&Path)) -> Result<Self, RuntimeError> {
        let refuse = |error: std::io::Error| {
            RuntimeError::new(RuntimeCode::Lock, format!("`{}`", path.display()), error.to_string())
                .fix("choose a lock file in a directory that exists and can be written")
        };
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path).map_err(refuse)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                tracing::info!(path = %path.display(), "waiting for hardware ownership");
                waiting(path);
                file.lock().map_err(refuse)?;
            }
            Err(TryLockError::Error(error)) => return Err(refuse(error)),
        }
        tracing::info!(path = %path.display(), "acquired hardware ownership");
        Ok(Self { path: path.to_owned(), _file: file })
    }

    /// The lock file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}
