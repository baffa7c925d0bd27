//! The device's side of the protocol in software: registers, marks, loader, buffers, over simulated tiles.
//!
//! Configuration registers are plain cells, except: the two sync groups, the autoloader, the debug window.
//! * Sync group 1 (boot): a mark of n lets n host syncs of the boot program pass, each worked off before the
//!   mark reads 0. The mark after the last starts the tiles and stays.
//! * Sync group 2 (application): a mark of n is n credits. Whenever the host looks, the tiles run to their next
//!   host sync, which passes if there is a credit. All bytes of a batch have moved before its closing sync.
//!
//! Nothing here advances by itself: tiles run when the host reads a mark or looks into a tile, and the clock
//! runs when the host pauses. Source: hardware notes on the driver, sections 3, 5.6 and 9.

mod boot;
mod buffers;
mod debug_window;

use std::time::Duration;

use crate::topology::TILE_COUNT;
use crate::units::PhysicalTile;

use self::boot::{Autoloader, Boot, BootState};
use self::buffers::AttachedBuffers;
use self::debug_window::DebugWindow;
use super::error::{RuntimeCode, RuntimeError};
use super::machine::{Machine, MachineState};
use super::registers::{
    AUTOLOADER, AUTOLOADER_DATA, AUTOLOADER_TARGET, DEBUG_WINDOW, DEBUG_WINDOW_STRIDE, EXCHANGE_WINDOW,
    EXCHANGE_WINDOW_BUFFERS, GROUP_1, GROUP_2, MARK, SPACE,
};
use super::transport::{Request, Transport};

/// The control unit's answer to a reset: the command's upper half.
const RESET_ANSWER: u32 = 0x4078_0000;

/// A simulated device over the tiles of `machine`.
#[derive(Debug)]
pub struct SimulatedTransport<M> {
    machine: M,
    registers: Vec<u32>,
    buffers: AttachedBuffers,
    autoloader: Autoloader,
    boot: Boot,
    debug: DebugWindow,
    program: Program,
    clock: Duration,
}

/// How far the tile program has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Program {
    NotStarted,
    /// Tiles can execute; `at_sync` is set while they are known to wait at a host sync.
    Running {
        at_sync: bool,
    },
    Stopped,
}

impl<M: Machine> SimulatedTransport<M> {
    /// A device that has just been switched on.
    pub fn new(machine: M) -> Self {
        Self {
            machine,
            registers: vec![0; (SPACE / 4) as usize],
            buffers: AttachedBuffers::default(),
            autoloader: Autoloader::default(),
            boot: Boot::default(),
            debug: DebugWindow::default(),
            program: Program::NotStarted,
            clock: Duration::ZERO,
        }
    }

    /// The simulated tiles.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// The simulated tiles.
    pub fn machine_mut(&mut self) -> &mut M {
        &mut self.machine
    }

    /// Gives the tiles back.
    pub fn into_machine(self) -> M {
        self.machine
    }

    fn cell(&mut self, offset: u32) -> Result<&mut u32, RuntimeError> {
        let aligned = offset.is_multiple_of(4);
        self.registers.get_mut((offset / 4) as usize).filter(|_| aligned).ok_or_else(|| {
            let message =
                format!("0x{offset:x} is no register: they are the multiples of 4 below 0x{SPACE:x}");
            RuntimeError::new(RuntimeCode::Access, "register access", message)
        })
    }

    /// Lets the tiles run as far as they can without the host.
    fn advance(&mut self) -> Result<(), RuntimeError> {
        if self.program == (Program::Running { at_sync: false }) {
            self.program = match self.machine.advance(&mut self.buffers)? {
                MachineState::AtHostSync => Program::Running { at_sync: true },
                MachineState::Stopped => Program::Stopped,
            };
        }
        Ok(())
    }

    /// Takes credits off the mark of group 2 as long as host syncs can pass.
    fn work_off_credits(&mut self) -> Result<u32, RuntimeError> {
        loop {
            let credits = *self.cell(GROUP_2)? & MARK;
            if credits == 0 || self.program == Program::NotStarted {
                return Ok(credits);
            }
            self.advance()?;
            if self.program == Program::Stopped {
                let message = "the host waits for a host sync, but every tile has stopped";
                return Err(RuntimeError::new(RuntimeCode::ProgramEnded, "sync group 2", message)
                    .fix("are the host's calls and batches those for which the tile program was made?"));
            }
            self.machine.release_host_sync()?;
            self.program = Program::Running { at_sync: false };
            *self.cell(GROUP_2)? = credits - 1;
        }
    }

    fn write_boot_mark(&mut self, mark: u32) -> Result<(), RuntimeError> {
        for passed in 0..mark {
            match self.boot.state() {
                BootState::Absent | BootState::Done => {
                    *self.cell(GROUP_1)? = mark - passed;
                    return Ok(());
                }
                BootState::Ready => {
                    self.boot.start(&mut self.machine)?;
                    self.program = Program::Running { at_sync: false };
                    *self.cell(GROUP_1)? = mark - passed;
                    return Ok(());
                }
                BootState::Loading => {
                    self.boot.pass_sync(&self.registers, self.buffers.get(0), &mut self.machine)?;
                }
            }
        }
        *self.cell(GROUP_1)? = 0;
        Ok(())
    }

    /// The tile and register of an offset in the debug window.
    fn debug_register(offset: u32) -> Option<(PhysicalTile, u32)> {
        let inside = offset.checked_sub(DEBUG_WINDOW)?;
        let tile =
            PhysicalTile::new(u64::from(inside / DEBUG_WINDOW_STRIDE)).filter(|tile| tile.0 < TILE_COUNT)?;
        Some((tile, inside % DEBUG_WINDOW_STRIDE / 4))
    }
}

impl<M: Machine> Transport for SimulatedTransport<M> {
    fn is_simulated(&self) -> bool {
        true
    }

    fn read(&mut self, offset: u32) -> Result<u32, RuntimeError> {
        if let Some((tile, register)) = Self::debug_register(offset) {
            self.advance()?;
            let cell = *self.cell(offset)?;
            return Ok(self.debug.read(tile, register, cell, &self.machine));
        }
        match offset {
            GROUP_2 => self.work_off_credits(),
            _ => Ok(*self.cell(offset)?),
        }
    }

    fn write(&mut self, offset: u32, value: u32) -> Result<(), RuntimeError> {
        if let Some((tile, register)) = Self::debug_register(offset) {
            *self.cell(offset)? = value;
            self.advance()?;
            self.debug.write(tile, register, value, &mut self.machine);
            return Ok(());
        }
        match offset {
            GROUP_1 => self.write_boot_mark(value & MARK),
            GROUP_2 => {
                *self.cell(GROUP_2)? = value & MARK;
                Ok(())
            }
            AUTOLOADER_DATA => {
                self.autoloader.push();
                Ok(())
            }
            AUTOLOADER => {
                let target = *self.cell(AUTOLOADER_TARGET)?;
                if self.autoloader.control(value, target)? {
                    self.boot = Boot::loaded();
                    self.program = Program::NotStarted;
                }
                *self.cell(AUTOLOADER)? = value & !super::registers::AUTOLOADER_GO;
                Ok(())
            }
            _ => {
                *self.cell(offset)? = value;
                Ok(())
            }
        }
    }

    fn request(&mut self, request: Request) -> Result<(), RuntimeError> {
        if request == Request::DetachAllBuffers {
            self.buffers.clear();
        }
        Ok(())
    }

    fn mailbox(&mut self, sent: [u32; 5]) -> Result<[u32; 5], RuntimeError> {
        Ok([RESET_ANSWER | sent[0] & 0xffff, 0, 0, 0, 0])
    }

    fn attach_buffer(&mut self, index: u32, size: usize) -> Result<(), RuntimeError> {
        if *self.cell(EXCHANGE_WINDOW)? & EXCHANGE_WINDOW_BUFFERS == 0 {
            let message = format!("register 0x{EXCHANGE_WINDOW:x} does not map buffers");
            return Err(RuntimeError::new(RuntimeCode::Access, format!("buffer {index}"), message));
        }
        self.buffers.attach(index, size)
    }

    fn buffer(&mut self, index: u32) -> Option<&mut [u8]> {
        self.buffers.get_mut(index)
    }

    fn detach_buffer(&mut self, index: u32) {
        self.buffers.detach(index);
    }

    fn fence(&mut self) {}

    fn now(&self) -> Duration {
        self.clock
    }

    fn pause(&mut self, duration: Duration) {
        self.clock += duration;
    }
}
