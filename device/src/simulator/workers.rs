//! The six workers of a tile, executed one after the other to their exits.
//!
//! Workers share nothing while they run but memory, and a launch is over when all have exited, so their order does
//! not show. A slot is 6 tile cycles. Only integer and start-up instructions are modelled; arithmetic runs as
//! reference kernels.

use crate::isa::{Context, ControlRegister, Instruction, Register};
use crate::memory_map::WORKERS;
use crate::units::{Address, PhysicalTile};

use super::arithmetic::Registers;
use super::decoder;
use super::fault::{Fault, FaultCode};
use super::memory::TileMemory;

/// Most instructions of one worker in one launch.
const SLOT_LIMIT: u64 = 10_000_000;
/// Tile cycles of a worker's slot.
pub(crate) const CYCLES_PER_SLOT: u64 = WORKERS as u64;

/// What a launch hands to a worker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Launch {
    pub(crate) tile: PhysicalTile,
    /// `0..6`.
    pub(crate) worker: u32,
    pub(crate) entry: u32,
    pub(crate) vertex_base: u32,
    pub(crate) worker_base: u32,
    /// Tile cycle of the launch.
    pub(crate) cycle: u64,
}

/// How a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) slots: u64,
    pub(crate) success: bool,
}

struct Worker {
    launch: Launch,
    registers: Registers,
    program_counter: u32,
    slots: u64,
    /// Repeat under way: first word, end, iterations left.
    repeat: Option<(u32, u32, u32)>,
    exit: Option<bool>,
}

/// Runs one worker to its exit.
pub(crate) fn run(launch: Launch, memory: &mut TileMemory) -> Result<Exit, Fault> {
    let mut registers = Registers::default();
    registers.set(Register::M12, launch.worker_base);
    registers.set(Register::M13, launch.vertex_base);
    let mut worker =
        Worker { launch, registers, program_counter: launch.entry, slots: 0, repeat: None, exit: None };
    loop {
        if worker.slots >= SLOT_LIMIT {
            let message = format!("worker {} does not exit after {SLOT_LIMIT} instructions", launch.worker);
            return Err(
                Fault::on(launch.tile, FaultCode::Runaway, message).at_instruction(worker.program_counter)
            );
        }
        let at = worker.program_counter;
        worker.step(memory).map_err(|fault| fault.at_instruction(at))?;
        if let Some(success) = worker.exit {
            return Ok(Exit { slots: worker.slots, success });
        }
    }
}

impl Worker {
    fn step(&mut self, memory: &TileMemory) -> Result<(), Fault> {
        let tile = self.launch.tile;
        let word = memory
            .word(Address(self.program_counter))
            .map_err(|error| Fault::memory(tile, error, "instruction fetch of a worker"))?;
        let instruction = decoder::decode(Context::Worker, word, None).map_err(|_unknown| {
            let message = format!(
                "word `0x{word:08x}` is executed by worker {}; the simulator models integer and start-up \
                 instructions of workers only",
                self.launch.worker
            );
            Fault::on(tile, FaultCode::NotModelled, message)
        })?;
        self.slots += 1;
        let mut next = self.program_counter.wrapping_add(4);
        if !self.registers.execute(&instruction) {
            match self.registers.branch(&instruction, next) {
                Some(target) => next = target,
                None => next = self.special(&instruction, memory)?.unwrap_or(next),
            }
        }
        if let Some((first, end, left)) = self.repeat
            && next == end
        {
            if left > 1 {
                self.repeat = Some((first, end, left - 1));
                next = first;
            } else {
                self.repeat = None;
            }
        }
        self.program_counter = next;
        Ok(())
    }

    /// Executes what is neither arithmetic nor branch; returns where to go if not to the next word.
    fn special(&mut self, instruction: &Instruction, memory: &TileMemory) -> Result<Option<u32>, Fault> {
        let tile = self.launch.tile;
        match *instruction {
            Instruction::Exitz { source } => self.exit = Some(self.registers.get(source) == 0),
            Instruction::Exitnz { source } => self.exit = Some(self.registers.get(source) != 0),
            Instruction::Ld32 { destination, base, delta, offset } => {
                let address =
                    self.registers.get(base).wrapping_add(self.registers.get(delta)).wrapping_add(4 * offset);
                let value = memory
                    .word(Address(address))
                    .map_err(|error| Fault::memory(tile, error, "load of a worker"))?;
                self.registers.set(destination, value);
            }
            // Arithmetic registers are not modelled; the bytes must be there all the same.
            Instruction::Ld64 { base, delta, offset, .. } => {
                let address =
                    self.registers.get(base).wrapping_add(self.registers.get(delta)).wrapping_add(8 * offset);
                for half in [address, address.wrapping_add(4)] {
                    memory
                        .word(Address(half))
                        .map_err(|error| Fault::memory(tile, error, "load of a worker"))?;
                }
            }
            Instruction::RptImmediate { count, body_minus_1 } => {
                // A body is a run of 8-byte bundles; repeating it zero times skips it.
                let first = self.program_counter.wrapping_add(4);
                let end = first.wrapping_add(8 * (body_minus_1 + 1));
                if count == 0 {
                    return Ok(Some(end));
                }
                self.repeat = Some((first, end, count));
            }
            Instruction::Get { destination, control } => {
                let value = self.control(control)?;
                self.registers.set(destination, value);
            }
            // Plain storage or random state that nothing modelled reads.
            Instruction::Put { .. } | Instruction::Uput { .. } | Instruction::Urand64 { .. } => {}
            _ => {
                let message = format!("`{}` is not modelled in a worker", instruction.form().mnemonic);
                return Err(Fault::on(tile, FaultCode::NotModelled, message));
            }
        }
        Ok(None)
    }

    fn control(&self, control: ControlRegister) -> Result<u32, Fault> {
        let now = self.launch.cycle + self.slots * CYCLES_PER_SLOT;
        Ok(match control {
            ControlRegister::PC => self.program_counter,
            ControlRegister::WSR => self.launch.worker,
            ControlRegister::VERTEX_BASE => self.launch.vertex_base,
            ControlRegister::WORKER_BASE => self.launch.worker_base,
            ControlRegister::COUNT_L => now as u32,
            ControlRegister::COUNT_U => (now >> 32) as u32,
            ControlRegister(number) => {
                let message = format!("worker reads control register 0x{number:02x}, which is not modelled");
                return Err(Fault::on(self.launch.tile, FaultCode::NotModelled, message));
            }
        })
    }
}
