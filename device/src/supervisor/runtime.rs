//! The runtime that every tile carries: start-up, worker barrier, runners of host batches, completion.
//!
//! It is the same on every tile: what depends on the tile is computed from its id at start-up. `$m2` to `$m4` and
//! `$m9` survive a batch program, which changes only `$m8`.
//!
//! With [`WorkerSeeds::PerTile`] start-up gives each worker a context word and a random seed of its own. The seed
//! reaches the worker through its stack, since a worker cannot move a main register to an arithmetic one. Programs
//! that draw no random numbers leave both alone, so that like tiles stay alike.

use super::assembler::{Assembler, LinkError, Symbol};
use crate::host_exchange::program::{HEADER_ADDRESS, REQUEST_ADDRESS};
use crate::isa::{ControlRegister, FloatRegister, Instruction, Register};
use crate::memory_map::{COMPLETION_WORD, HOST_STAGING, WORKER_STACK_BASE, WORKER_STACK_SIZE, WORKERS};
use crate::topology::{HOST_SOURCE_BASE, NEUTRAL_SOURCE};
use crate::units::{Address, Bytes};

/// First code of a tile after the boot hand-over.
pub const START: Symbol = Symbol::fixed("start");
/// Waits until all workers have exited; returns through `$m7`, changes `$m8`.
pub const WORKER_BARRIER: Symbol = Symbol::fixed("worker_barrier");
/// Runs `$m2` batches with descriptors at `$m3` and the program at `$m4`; returns through `$m9`.
pub const HOST_RUN: Symbol = Symbol::fixed("host_run");
/// Calls `$m3` `$m2` times; returns through `$m9`.
pub const REPEAT_CALL: Symbol = Symbol::fixed("repeat_call");
/// Writes the completion word and stops the supervisor.
pub const COMPLETE: Symbol = Symbol::fixed("complete");
/// The tile's own program: the runtime jumps there.
pub const PROGRAM: Symbol = Symbol::fixed("program");
/// Entry of workers that exit at once.
const EXIT_WORKER: Symbol = Symbol::fixed("exit_worker");
/// Entry of workers at start-up.
const INITIALIZE_WORKER: Symbol = Symbol::fixed("initialize_worker");

/// Discarded draws after seeding.
const DISCARDED_DRAWS: usize = 15;
/// Number of the random seed register in the upper space.
const SEED_REGISTER: u32 = 7;
/// Sync zones: workers of the tile, all tiles, host.
const LOCAL: u32 = 2;
const INTERNAL: u32 = 3;
const HOST: u32 = 7;

use Register as R;

/// Whether start-up tells workers apart from those of other tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum WorkerSeeds {
    /// Context words and random seeds keep their reset values.
    #[default]
    Reset,
    /// Context word `8 x tile + worker`, seed `8 x (tile + 1) + worker`, physical ids, fifteen draws discarded.
    PerTile,
}

/// The runtime's code. It refers to [`PROGRAM`].
#[must_use]
pub fn runtime(seeds: WorkerSeeds) -> Assembler {
    let mut code = Assembler::new();
    start(&mut code, seeds);
    worker_barrier(&mut code);
    host_run(&mut code);
    repeat_call(&mut code);
    complete(&mut code);
    workers(&mut code, seeds);
    code
}

/// The two words at the first executed address: a jump to [`START`].
///
/// # Errors
/// When the address does not fit.
pub fn entry_words(start: Address) -> Result<Vec<u32>, LinkError> {
    let jump = [Instruction::Setzi { destination: R::M0, value: start.0 }, Instruction::Br { target: R::M0 }];
    Ok(crate::isa::encode_all(&jump)?)
}

fn put(code: &mut Assembler, control: ControlRegister, value: u32) {
    code.push(Instruction::Setzi { destination: R::M8, value });
    code.push(Instruction::Put { control, source: R::M8 });
}

fn put_zero(code: &mut Assembler, control: ControlRegister) {
    code.push(Instruction::Put { control, source: R::M15 });
}

fn start(code: &mut Assembler, seeds: WorkerSeeds) {
    code.label(START);
    code.push(Instruction::Sync { zone: INTERNAL });
    code.push(Instruction::Sync { zone: LOCAL });
    put(code, ControlRegister::INCOMING_MUX, NEUTRAL_SOURCE.into());
    put_zero(code, ControlRegister::OUTGOING_BASE);
    // Reset values of these are unknown, and the first row relies on them.
    put_zero(code, ControlRegister::INCOMING_BASE);
    put_zero(code, ControlRegister::INCOMING_DELTA);
    put_zero(code, ControlRegister::INCOMING_FORMAT);
    worker_stacks(code);
    if seeds == WorkerSeeds::PerTile {
        seed_workers(code);
    }
    put(code, ControlRegister::INCOMING_MUX, HOST_SOURCE_BASE.into());
    code.push(Instruction::Sync { zone: HOST });
    put(code, ControlRegister::INCOMING_MUX, NEUTRAL_SOURCE.into());
    code.set_address(R::M0, PROGRAM);
    code.push(Instruction::Br { target: R::M0 });
}

/// Sets worker bases; the supervisor's stack starts where the last worker's ends.
fn worker_stacks(code: &mut Assembler) {
    code.set(R::M11, WORKER_STACK_BASE.0);
    for worker in 0..WORKERS as u8 {
        let control = ControlRegister(ControlRegister::WORKER0_BASE.0 + worker);
        code.push(Instruction::Put { control, source: R::M11 });
        code.add(R::M11, i64::from(WORKER_STACK_SIZE.0));
    }
}

/// Leaves each worker its seed at its base and lets workers initialise themselves, with eight times the tile's id as
/// vertex base.
fn seed_workers(code: &mut Assembler) {
    code.push(Instruction::Get { destination: R::M0, control: ControlRegister::TILE_ID });
    code.push(Instruction::ShlImmediate { destination: R::M0, source: R::M0, value: 3 });
    code.push(Instruction::AddImmediate { destination: R::M1, source: R::M0, value: 8 });
    code.set(R::M2, WORKER_STACK_BASE.0);
    for _ in 0..WORKERS {
        code.push(Instruction::St32 { source: R::M1, base: R::M2, delta: R::M15, offset: 0 });
        code.push(Instruction::St32 { source: R::M15, base: R::M2, delta: R::M15, offset: 1 });
        code.add(R::M1, 1);
        code.add(R::M2, i64::from(WORKER_STACK_SIZE.0));
    }
    code.set_address(R::M2, INITIALIZE_WORKER);
    code.push(Instruction::Runall { entry: R::M2, vertex_base: R::M0, stride_words: 0 });
    code.push(Instruction::Sync { zone: LOCAL });
}

fn worker_barrier(code: &mut Assembler) {
    code.label(WORKER_BARRIER);
    code.set_address(R::M8, EXIT_WORKER);
    code.push(Instruction::Runall { entry: R::M8, vertex_base: R::M15, stride_words: 0 });
    code.push(Instruction::Sync { zone: LOCAL });
    code.push(Instruction::Br { target: R::M7 });
}

/// Copies `count` words from `from` to `to` through `$m1`; all three change, a count of zero copies nothing.
fn copy_words(code: &mut Assembler, to: Register, from: Register, count: Register) {
    let (again, done) = (code.local(), code.local());
    code.reference(Instruction::Brz { source: count, target: Address(0) }, done.clone());
    code.label(again.clone());
    code.push(Instruction::Ld32 { destination: R::M1, base: from, delta: R::M15, offset: 0 });
    code.push(Instruction::St32 { source: R::M1, base: to, delta: R::M15, offset: 0 });
    code.add(from, 4);
    code.add(to, 4);
    code.add(count, -1);
    code.reference(Instruction::Brnz { source: count, target: Address(0) }, again);
    code.label(done);
}

/// Calls the address in `target`, which returns through `$m10`.
fn call_register(code: &mut Assembler, target: Register) {
    let back = code.local();
    code.set_address(R::M10, back.clone());
    code.push(Instruction::Br { target });
    code.label(back);
}

fn load(destination: Register, offset: u32) -> Instruction {
    Instruction::Ld32 { destination, base: R::M3, delta: R::M15, offset }
}

/// For each descriptor: packets to the packet area, the batch program, received words to their destination.
fn host_run(code: &mut Assembler) {
    let again = code.local();
    code.label(HOST_RUN);
    code.label(again.clone());
    code.push(load(R::M5, 1));
    code.push(Instruction::ShrImmediate { destination: R::M6, source: R::M5, value: 24 });
    // Bit 23 says that the tile is no owner: its packets go 8 bytes further, behind the request bitmap.
    code.push(Instruction::ShrImmediate { destination: R::M5, source: R::M5, value: 20 });
    code.push(Instruction::AndImmediate {
        destination: R::M5,
        source: R::M5,
        value: HEADER_ADDRESS.0 - REQUEST_ADDRESS.0,
    });
    code.set(R::M0, REQUEST_ADDRESS.0);
    code.push(Instruction::Add { destination: R::M0, left: R::M0, right: R::M5 });
    code.push(load(R::M7, 2));
    copy_words(code, R::M0, R::M7, R::M6);
    call_register(code, R::M4);
    code.push(load(R::M5, 1));
    code.push(Instruction::ShlImmediate { destination: R::M5, source: R::M5, value: 9 });
    code.push(Instruction::ShrImmediate { destination: R::M5, source: R::M5, value: 9 });
    code.push(load(R::M0, 0));
    code.set(R::M7, HOST_STAGING.0);
    copy_words(code, R::M0, R::M7, R::M5);
    code.add(R::M3, 12);
    code.add(R::M2, -1);
    code.reference(Instruction::Brnz { source: R::M2, target: Address(0) }, again);
    code.push(Instruction::Br { target: R::M9 });
}

fn repeat_call(code: &mut Assembler) {
    let again = code.local();
    code.label(REPEAT_CALL);
    code.label(again.clone());
    call_register(code, R::M3);
    code.add(R::M2, -1);
    code.reference(Instruction::Brnz { source: R::M2, target: Address(0) }, again);
    code.push(Instruction::Br { target: R::M9 });
}

fn complete(code: &mut Assembler) {
    code.label(COMPLETE);
    code.set(R::M0, 1);
    code.set(R::M1, COMPLETION_WORD.0);
    code.push(Instruction::St32 { source: R::M0, base: R::M1, delta: R::M15, offset: 0 });
    // A branch to address 0 stops the supervisor.
    code.push(Instruction::Br { target: R::M15 });
}

fn workers(code: &mut Assembler, seeds: WorkerSeeds) {
    code.align();
    if seeds == WorkerSeeds::PerTile {
        code.label(INITIALIZE_WORKER);
        code.push(Instruction::Get { destination: R::M0, control: ControlRegister::WSR });
        code.push(Instruction::AndImmediate { destination: R::M0, source: R::M0, value: 7 });
        code.push(Instruction::Or { destination: R::M0, left: R::M0, right: R::M13 });
        code.push(Instruction::Put { control: ControlRegister::WORKER_SYNC_CONTEXT, source: R::M0 });
        let pair = FloatRegister::A0;
        code.push(Instruction::Ld64 { destination: pair, base: R::M12, delta: R::M15, offset: 0 });
        code.push(Instruction::Uput { control: SEED_REGISTER, source: pair });
        code.extend(std::iter::repeat_n(Instruction::Urand64 { destination: pair }, DISCARDED_DRAWS));
    }
    code.label(EXIT_WORKER);
    code.push(Instruction::Exitz { source: R::M15 });
}

/// The supervisor entry of a kernel that has no code yet: `size` bytes of traps.
#[must_use]
pub fn reference_kernel(symbol: impl Into<Symbol>, size: Bytes) -> Assembler {
    let mut code = Assembler::new();
    code.label(symbol);
    code.extend(std::iter::repeat_n(Instruction::Trap { code: 0 }, size.words_ceil().0.max(1) as usize));
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{Context, decode_all};

    fn linked() -> super::super::Linked {
        runtime(WorkerSeeds::PerTile)
            .link(Address(0x5c000), |name| (name == "program").then_some(Address(0x5d000)))
            .expect("links")
    }

    #[test]
    fn the_runtime_links_and_every_supervisor_word_decodes() {
        let linked = linked();
        let at = |name: &str| (linked.symbols[name].0 - 0x5c000) as usize / 4;
        let (supervisor, workers) = linked.words.split_at(at("initialize_worker"));
        assert!(decode_all(Context::Supervisor, supervisor).is_ok());
        let workers = decode_all(Context::Worker, workers).expect("known words");
        assert!(matches!(workers.last(), Some((_, Instruction::Exitz { source: R::M15 }))));
        assert_eq!(workers.len(), 7 + DISCARDED_DRAWS);
        for name in ["start", "worker_barrier", "host_run", "repeat_call", "complete"] {
            assert!(linked.symbols.contains_key(name), "{name}");
        }
    }

    #[test]
    fn start_up_goes_through_its_syncs_in_order() {
        let linked = linked();
        let decoded = decode_all(Context::Supervisor, &linked.words[..70]).expect("known words");
        let zones = decoded.iter().filter_map(|(_, instruction)| match instruction {
            Instruction::Sync { zone } => Some(*zone),
            _ => None,
        });
        assert_eq!(zones.take(4).collect::<Vec<_>>(), [INTERNAL, LOCAL, LOCAL, HOST]);
    }

    #[test]
    fn words_known_from_the_notes_appear() {
        let words = linked().words;
        // Stack base, next stack, barrier launch, exit of a worker, completion address.
        for word in [0x19b5_80e0, 0x22bb_0100, 0x1580_f000, 0x43f0_4000, 0x1915_8000] {
            assert!(words.contains(&word), "{word:08x}");
        }
        assert_eq!(entry_words(Address(0x4c100)).expect("fits"), [0x1904_c100, 0x4300_0000]);
    }

    #[test]
    fn a_reference_kernel_is_traps_of_the_declared_size() {
        let kernel = reference_kernel("gemm".to_owned(), Bytes(20));
        assert_eq!(kernel.size(), Bytes(20));
        assert_eq!(kernel.link(Address(0x5d000), |_| None).expect("links").words, [0x4180_1000; 5]);
    }
}
