//! Executes one supervisor, instruction by instruction, until it waits for something or faults.
//!
//! Rules: an exchange instruction takes exactly its events; a write of an exchange base takes 13 cycles; every other
//! instruction takes [`SUPERVISOR_ISSUE_CYCLES`]. Inside an exchange nothing may touch memory before the words under
//! way have been moved ([`Wait::Settle`]); a class of several tiles may do nothing that depends on which tile it is
//! ([`Wait::Split`]).

use crate::assumptions::{SUPERVISOR_ISSUE_CYCLES, WORKER_LAUNCH_CYCLES};
use crate::isa::{Context, ControlRegister, Instruction, Register};
use crate::memory_map::{INTERLEAVED_BASE, MEMORY_BASE, WORKERS};
use crate::topology::TILE_COUNT;
use crate::units::{Address, PhysicalTile};

use super::core_state::{Core, Wait, Zone};
use super::decoder;
use super::fault::{Fault, FaultCode};
use super::memory::TileMemory;
use super::routines::{self, KernelSymbols};
use super::workers::{self, CYCLES_PER_SLOT, Launch};

/// What executing programs need from the machine around them.
pub(crate) struct Environment<'a> {
    pub(crate) symbols: &'a KernelSymbols,
    /// Most instructions of one supervisor between two global syncs.
    pub(crate) step_limit: u64,
}

/// A supervisor at work: its state, its memory, and whether it stands for several tiles.
pub(crate) struct Supervisor<'a> {
    pub(crate) core: &'a mut Core,
    pub(crate) memory: &'a mut TileMemory,
    /// The tile, or the first of a class.
    pub(crate) tile: PhysicalTile,
    pub(crate) is_class: bool,
}

/// What becomes of the supervisor after an instruction.
enum Flow {
    /// Goes on with the next word.
    Next,
    /// Goes on elsewhere.
    Jump(u32),
    /// Waits; the instruction is executed again unless a sync ends it.
    Wait(Wait),
}

impl Supervisor<'_> {
    /// Runs until the supervisor waits; its core then says for what.
    ///
    /// # Errors
    /// The first fault, with tile, cycle and instruction.
    pub(crate) fn run(&mut self, environment: &Environment<'_>) -> Result<(), Fault> {
        self.core.wait = Wait::Runnable;
        while self.core.wait == Wait::Runnable {
            let (cycle, at) = (self.core.cycle, self.core.program_counter);
            self.step(environment).map_err(|fault| fault.at_cycle(cycle).at_instruction(at))?;
        }
        Ok(())
    }

    fn step(&mut self, environment: &Environment<'_>) -> Result<(), Fault> {
        if self.core.program_counter == 0 {
            self.core.wait = Wait::Halted;
            return Ok(());
        }
        if self.core.steps >= environment.step_limit {
            let message =
                format!("{} instructions since the last sync and no end in sight", environment.step_limit);
            return Err(Fault::on(self.tile, FaultCode::Runaway, message));
        }
        self.core.steps += 1;
        let (at, start) = (self.core.program_counter, self.core.row_time());
        let instruction = self.fetch(at)?;
        let flow = self.execute(&instruction, environment)?;
        match flow {
            Flow::Wait(wait) => {
                self.core.wait = wait;
                return Ok(());
            }
            Flow::Next => self.core.program_counter = at.wrapping_add(4 * instruction.word_count() as u32),
            Flow::Jump(target) => self.core.program_counter = target,
        }
        if self.core.interval.zone.is_some_and(|zone| !zone.needs_host()) && !self.core.interval.settled {
            let end = self.core.row_time();
            self.core.unit.timeline.push_fetch(at, start, end);
        }
        Ok(())
    }

    fn fetch(&self, at: u32) -> Result<Instruction, Fault> {
        if !(MEMORY_BASE.0..INTERLEAVED_BASE.0).contains(&at) || !at.is_multiple_of(4) {
            let message = format!(
                "execution at {}; code lies on multiples of 4 in {MEMORY_BASE} to {INTERLEAVED_BASE}",
                Address(at)
            );
            return Err(Fault::on(self.tile, FaultCode::InvalidProgramCounter, message));
        }
        let word = self
            .memory
            .word(Address(at))
            .map_err(|error| Fault::memory(self.tile, error, "instruction fetch"))?;
        // Only a double control, whose top four bits are set, has a second word.
        let second = if word >> 28 == 15 { self.memory.word(Address(at + 4)).ok() } else { None };
        decoder::decode(Context::Supervisor, word, second)
            .map_err(|error| Fault::on(self.tile, FaultCode::InvalidInstruction, error.to_string()))
    }

    fn execute(&mut self, instruction: &Instruction, environment: &Environment<'_>) -> Result<Flow, Fault> {
        if instruction.events().is_some() {
            return self.exchange(instruction);
        }
        if self.core.registers.execute(instruction) {
            self.core.cycle += SUPERVISOR_ISSUE_CYCLES;
            return Ok(Flow::Next);
        }
        let next = self.core.program_counter.wrapping_add(4);
        if let Some(target) = self.core.registers.branch(instruction, next) {
            self.core.cycle += SUPERVISOR_ISSUE_CYCLES;
            return Ok(Flow::Jump(target));
        }
        match *instruction {
            Instruction::Sync { zone } => self.sync(zone),
            Instruction::Sans { syncs_minus_1 } => {
                self.core.answers = self.core.answers.saturating_add(syncs_minus_1 + 1);
                self.core.cycle += SUPERVISOR_ISSUE_CYCLES;
                Ok(Flow::Next)
            }
            Instruction::Put { control, source } => Ok(self.put(control, self.core.registers.get(source))),
            Instruction::Get { destination, control } => self.get(destination, control),
            _ if self.core.must_settle() => Ok(Flow::Wait(Wait::Settle)),
            Instruction::Trap { code } => self.trap(code, environment),
            Instruction::Run { entry, vertex_base, stride_words } => {
                let base = MEMORY_BASE.0.wrapping_add(self.core.registers.get(vertex_base));
                self.launch(entry, base.wrapping_add(4 * stride_words), 0, 1)
            }
            Instruction::Runall { entry, vertex_base, stride_words } => {
                self.launch(entry, self.core.registers.get(vertex_base), 4 * stride_words, WORKERS)
            }
            _ => self.access(instruction),
        }
    }

    fn exchange(&mut self, instruction: &Instruction) -> Result<Flow, Fault> {
        let is_delay = matches!(instruction, Instruction::Delay { .. });
        if self.is_class && !is_delay {
            return Ok(Flow::Wait(Wait::Split));
        }
        let interval = self.core.interval;
        if !is_delay && (interval.zone.is_none() || interval.settled) {
            let message = if interval.zone.is_none() {
                "no sync has started an exchange"
            } else {
                "the exchange is over: memory or workers were used since its sync"
            };
            return Err(Fault::on(self.tile, FaultCode::OutsideExchange, message));
        }
        if instruction.word_count() == 2 && !self.core.program_counter.is_multiple_of(8) {
            let message = "`sendpicp` must start on a multiple of 8 bytes";
            return Err(Fault::on(self.tile, FaultCode::Misaligned, message));
        }
        let start = self.core.row_time();
        let events = self
            .core
            .unit
            .execute(instruction, start)
            .map_err(|error| Fault::on(self.tile, error.code, error.message).at_event(start))?;
        self.core.cycle += u64::from(events);
        Ok(Flow::Next)
    }

    fn sync(&mut self, selector: u32) -> Result<Flow, Fault> {
        if let Some(zone) = Zone::of_selector(selector) {
            self.core.cycle += SUPERVISOR_ISSUE_CYCLES;
            return Ok(Flow::Wait(Wait::Global(zone)));
        }
        match selector {
            0 if self.core.unit.registers.expected_words > 0 => return Ok(Flow::Wait(Wait::Receive)),
            1 if self.core.answers > 0 => return Ok(Flow::Wait(Wait::Answer)),
            0 | 1 => {}
            2 => {
                self.core.cycle = self.core.cycle.max(self.core.workers_end);
                self.core.workers_out = false;
            }
            _ => {
                let message = format!("sync selector {selector} is unknown; expected 0 to 7 or 12 to 15");
                return Err(Fault::on(self.tile, FaultCode::NotModelled, message));
            }
        }
        self.core.cycle += SUPERVISOR_ISSUE_CYCLES;
        Ok(Flow::Next)
    }

    fn put(&mut self, control: ControlRegister, value: u32) -> Flow {
        let selects_tile =
            matches!(control, ControlRegister::INCOMING_MUX | ControlRegister::INCOMING_MUXPAIR)
                && value < u32::from(TILE_COUNT);
        if self.is_class && selects_tile {
            return Flow::Wait(Wait::Split);
        }
        self.core.put(control, value);
        Flow::Next
    }

    fn get(&mut self, destination: Register, control: ControlRegister) -> Result<Flow, Fault> {
        let depends_on_words =
            matches!(control, ControlRegister::INCOMING_DELTA | ControlRegister::INCOMING_DCOUNT);
        if depends_on_words && self.core.must_settle() {
            return Ok(Flow::Wait(Wait::Settle));
        }
        if control == ControlRegister::TILE_ID && self.is_class {
            return Ok(Flow::Wait(Wait::Split));
        }
        let worker = usize::from(control.0.wrapping_sub(ControlRegister::WORKER0_BASE.0));
        let value = match control {
            ControlRegister::PC => self.core.program_counter,
            ControlRegister::SSR => u32::from(self.core.consensus) | u32::from(self.core.answers == 0) << 2,
            ControlRegister::TILE_ID => u32::from(self.tile.0),
            ControlRegister::SCOUNT_L => self.core.cycle as u32,
            ControlRegister::SCOUNT_U => (self.core.cycle >> 32) as u32,
            _ => self
                .core
                .get_exchange_control(control)
                .or_else(|| self.core.worker_bases.get(worker).copied())
                .unwrap_or_else(|| self.core.plain.get(&control.0).copied().unwrap_or(0)),
        };
        self.core.registers.set(destination, value);
        self.core.cycle += SUPERVISOR_ISSUE_CYCLES;
        Ok(Flow::Next)
    }

    /// A trap is the body of a reference kernel where the symbols say so.
    fn trap(&mut self, code: u32, environment: &Environment<'_>) -> Result<Flow, Fault> {
        let Some(kernel) = environment.symbols.at(Address(self.core.program_counter)) else {
            let message = format!("`trap {code}`; no kernel of the registry has its symbol here");
            return Err(Fault::on(self.tile, FaultCode::Trap, message));
        };
        self.workers_must_be_idle()?;
        self.core.cycle += routines::call(kernel, &self.core.registers, self.memory, self.tile)?;
        Ok(Flow::Jump(self.core.registers.get(Register::M10)))
    }

    fn workers_must_be_idle(&self) -> Result<(), Fault> {
        if self.core.workers_out && self.core.workers_end > self.core.cycle {
            let message = "workers of an earlier launch are running; `sync 2` waits for them";
            return Err(Fault::on(self.tile, FaultCode::WorkersRunning, message));
        }
        Ok(())
    }

    /// Runs `count` workers to their exits; the next local sync waits for the slowest.
    fn launch(&mut self, entry: Register, vertex_base: u32, stride: u32, count: u32) -> Result<Flow, Fault> {
        self.workers_must_be_idle()?;
        let cycle = self.core.cycle + SUPERVISOR_ISSUE_CYCLES;
        let (mut slots, mut success) = (0, true);
        for worker in 0..count {
            let launch = Launch {
                tile: self.tile,
                worker,
                entry: self.core.registers.get(entry),
                vertex_base: vertex_base.wrapping_add(stride.wrapping_mul(worker)),
                worker_base: self.core.worker_bases.get(worker as usize).copied().unwrap_or(0),
                cycle,
            };
            let exit = workers::run(launch, self.memory)?;
            slots = slots.max(exit.slots);
            success &= exit.success;
        }
        self.core.consensus = success;
        self.core.workers_out = true;
        self.core.cycle = cycle;
        self.core.workers_end = cycle + slots * CYCLES_PER_SLOT + WORKER_LAUNCH_CYCLES;
        Ok(Flow::Next)
    }

    /// Loads and stores.
    fn access(&mut self, instruction: &Instruction) -> Result<Flow, Fault> {
        let registers = &self.core.registers;
        let sum = |base: Register, delta: Register| registers.get(base).wrapping_add(registers.get(delta));
        match *instruction {
            Instruction::Ld32 { destination, base, delta, offset } => {
                self.load(destination, sum(base, delta).wrapping_add(4 * offset))?;
            }
            Instruction::Ld32Register { destination, base, delta, offset } => {
                let address = sum(base, delta).wrapping_add(registers.get(offset).wrapping_mul(4));
                self.load(destination, address)?;
            }
            Instruction::St32 { source, base, delta, offset } => {
                let value = registers.get(source);
                self.store(sum(base, delta).wrapping_add(4 * offset), value)?;
            }
            Instruction::Stm32 { source, base, offset } => {
                let address = registers.get(base).wrapping_add(registers.get(offset).wrapping_mul(4));
                let value = registers.get(source);
                self.store(address, value)?;
            }
            Instruction::St32step { source, base, delta, step } => {
                let moved = registers.get(delta).wrapping_add_signed(4 * step);
                let value = registers.get(source);
                self.store(sum(base, delta), value)?;
                self.core.registers.set(delta, moved);
            }
            _ => {
                let message = format!("`{}` is not modelled in a supervisor", instruction.form().mnemonic);
                return Err(Fault::on(self.tile, FaultCode::NotModelled, message));
            }
        }
        self.core.cycle += SUPERVISOR_ISSUE_CYCLES;
        Ok(Flow::Next)
    }

    fn load(&mut self, destination: Register, address: u32) -> Result<(), Fault> {
        let value =
            self.memory.word(Address(address)).map_err(|error| Fault::memory(self.tile, error, "load"))?;
        self.core.registers.set(destination, value);
        Ok(())
    }

    fn store(&mut self, address: u32, value: u32) -> Result<(), Fault> {
        self.memory
            .write_word(Address(address), value)
            .map_err(|error| Fault::memory(self.tile, error, "store"))
    }
}
