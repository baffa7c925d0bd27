//! Whole programs on all 1,472 simulated tiles: phases, host batches, kernels, and what faults say.

use crate::tile_programs::{Host, Image, ROW, active_phase, call, inactive_phase, put, setzi, start, stop};
use ipu_device::Coded as _;
use ipu_device::isa::{ControlRegister, Instruction, Register};
use ipu_device::memory_map::{HOST_STAGING, LOAD_BASE};
use ipu_device::runtime::{Machine, MachineState};
use ipu_device::simulator::{FaultCode, KernelSymbols, Simulator, SimulatorOptions};
use ipu_device::units::{Address, Event, PhysicalTile};

const SOURCE: Address = Address(0x65000);
const DESTINATION: Address = Address(0x60000);
/// Rows of four words from logical tile 0 to logical tile 2, and the tiles' physical ids.
const SENDER_ROW: [u32; 3] = [0x40a0_001e, 0x786c_a001, 0x43a0_0000];
const RECEIVER_ROW: [u32; 5] = [0x6400_0000, 0x6400_c640, 0x6189_8000, 0x40a0_0008, 0x43a0_0000];
const SENDER: u16 = 0;
const RECEIVER: u16 = 64;

/// Reads the cycle counter into `register`.
fn cycles(destination: Register) -> Instruction {
    Instruction::Get { destination, control: ControlRegister::SCOUNT_L }
}

/// Stores `source` at 0x58004.
fn store(source: Register) -> [Instruction; 2] {
    [
        setzi(Register::M3, 0x58004),
        Instruction::St32 { source, base: Register::M3, delta: Register::M15, offset: 0 },
    ]
}

fn active() -> Vec<Instruction> {
    let mut program = vec![cycles(Register::M1)];
    program.extend(active_phase(ROW));
    program.push(cycles(Register::M2));
    program.push(Instruction::Sub { destination: Register::M2, left: Register::M2, right: Register::M1 });
    program.extend(store(Register::M2));
    program.push(stop());
    program
}

fn inactive() -> Image {
    let mut program = inactive_phase();
    program.push(stop());
    Image::new(&program)
}

fn two_tiles() -> Vec<(u16, Image)> {
    vec![
        (SENDER, Image::new(&active()).words(ROW, &SENDER_ROW).words(SOURCE, &[11, 22, 33, 44])),
        (RECEIVER, Image::new(&active()).words(ROW, &RECEIVER_ROW)),
    ]
}

fn fault(simulator: &mut Simulator) -> String {
    simulator.advance(&mut Host(Vec::new())).expect_err("a fault").to_string()
}

fn word(simulator: &Simulator, tile: u16, address: Address) -> u32 {
    simulator.read_word(PhysicalTile(tile), address).expect("mapped")
}

#[test]
fn the_machine_is_loaded_then_started_then_advanced() {
    let mut simulator = Simulator::new(SimulatorOptions::default(), KernelSymbols::default());
    let early = [
        simulator.start(),
        simulator.advance(&mut Host(Vec::new())).map(|_| ()),
        simulator.release_host_sync(),
        simulator.load_tile(PhysicalTile(1472), &Vec::new().into()),
    ];
    for refused in early {
        assert_eq!(refused.unwrap_err().code, FaultCode::Machine.code());
    }
}

#[test]
fn two_tiles_exchange_words_while_all_others_take_part() {
    let mut simulator = start(&two_tiles(), &inactive(), KernelSymbols::default());
    assert_eq!(simulator.advance(&mut Host(Vec::new())), Ok(MachineState::Stopped));
    let received: Vec<u32> =
        (0..4).map(|index| word(&simulator, RECEIVER, Address(DESTINATION.0 + 4 * index))).collect();
    assert_eq!(received, [11, 22, 33, 44]);
    let statistics = simulator.statistics();
    assert_eq!((statistics.syncs, statistics.phases.len()), (1, 1));
    assert_eq!((statistics.phases[0].horizon, statistics.phases[0].words), (Event(64), 4));
    assert_eq!(statistics.classes, 3, "idle tiles are simulated once");
    assert_eq!(simulator.context_status(PhysicalTile(RECEIVER)), 0);
    let last = simulator.writes()[3].write;
    assert_eq!((last.sender, last.source, last.value), (PhysicalTile(SENDER), Address(0x6500c), 44));
}

/// The documented protocol costs 278 to 294 cycles beyond the horizon; one of the cycles counted is the counter's.
#[test]
fn a_phase_costs_its_horizon_and_the_calibrated_overhead() {
    let mut simulator = start(&two_tiles(), &inactive(), KernelSymbols::default());
    simulator.advance(&mut Host(Vec::new())).expect("no fault");
    assert_eq!(word(&simulator, RECEIVER, Address(0x58004)), 64 + 286 + 1);
}

#[test]
fn a_tile_that_misses_a_sync_is_named_with_those_that_wait_for_it() {
    let mut tiles = two_tiles();
    tiles.push((66, Image::new(&[stop()])));
    let mut simulator = start(&tiles, &inactive(), KernelSymbols::default());
    let text = fault(&mut simulator);
    assert_eq!(
        text,
        "deadlock on tile 3 (physical 66): the internal sync (zone 3) cannot pass; absent: tile 3 (physical 66) \
         stopped; waiting: 1469 tiles (1, 4..1471) taking part by `sans` in 1 more sync, instruction at 0x4c020; \
         2 tiles (0, 2) at the internal sync (zone 3), instruction at 0x4c02c [cycle 72]"
    );
    assert_eq!(fault(&mut simulator), text, "a fault stays");
}

#[test]
fn a_row_that_lies_in_the_element_it_writes_is_a_clash() {
    let mut tiles = two_tiles();
    let row = Address(DESTINATION.0 + 0x100);
    let mut program = active_phase(row);
    program.push(stop());
    tiles[1].1 = Image::new(&program).words(row, &RECEIVER_ROW);
    let text = fault(&mut start(&tiles, &inactive(), KernelSymbols::default()));
    assert_eq!(
        text,
        "transfer in the memory element of executing code on tile 2 (physical 64): a receive writes 0x60000 in \
         element 24, from which instructions are being fetched [event 55]"
    );
}

#[test]
fn words_that_were_never_written_cannot_be_sent() {
    let mut tiles = two_tiles();
    tiles[0].1 = Image::new(&active()).words(ROW, &SENDER_ROW);
    let text = fault(&mut start(&tiles, &inactive(), KernelSymbols::default()));
    assert_eq!(
        text,
        "send of unwritten memory on tile 0 (physical 0): the word at 0x65000, sent to tile 2 (physical 64), was never \
         written [event 32]"
    );
}

#[test]
fn memory_used_before_the_last_word_has_arrived_is_a_fault() {
    let mut tiles = two_tiles();
    // The row without its last delay: it ends at the first write, a store follows two cycles later.
    let mut row = RECEIVER_ROW.to_vec();
    row.remove(3);
    let mut program = active_phase(ROW);
    program.extend(store(Register::M2));
    tiles[1].1 = Image::new(&program).words(ROW, &row);
    let text = fault(&mut start(&tiles, &inactive(), KernelSymbols::default()));
    assert_eq!(
        text,
        "words that arrive after the row has ended on tile 2 (physical 64): the last word is written at event 58, memory \
         or workers are used from event 57 on [event 58, instruction at 0x4c034]"
    );
}

#[test]
fn a_trap_with_a_kernels_symbol_runs_the_registry_arithmetic() {
    let kernel = Address(0x5d000);
    let program = [
        setzi(Register::M2, 0x60000),
        setzi(Register::M3, 0x64000),
        setzi(Register::M4, 12),
        call(Register::M10, kernel),
        Instruction::Sans { syncs_minus_1: 0 },
        Instruction::Sync { zone: 1 },
        stop(),
    ];
    let image = Image::new(&program)
        .code(kernel, &[Instruction::Trap { code: 0 }])
        .words(Address(0x64000), &(0..64).collect::<Vec<u32>>());
    let symbols = KernelSymbols::new([("copy_u64", kernel), ("not_a_kernel", LOAD_BASE)]);
    let entry = symbols.at(kernel).expect("a kernel of the registry").entry();
    assert_eq!(entry.scalars.len() + entry.operands.len(), 3, "{entry:?}");
    let lead = [setzi(Register::M8, 0), Instruction::Sync { zone: 3 }, stop()];
    let mut simulator = start(&[(0, Image::new(&lead))], &image, symbols);
    simulator.advance(&mut Host(Vec::new())).expect("no fault");
    for index in 0..24 {
        assert_eq!(word(&simulator, 1471, Address(0x60000 + 4 * index)), index);
    }
    assert_eq!(simulator.statistics().classes, 2);
}

/// One host batch in the roles of the notes: tile 69 is the target, tile 5 its owner, all others follow.
mod host_batch {
    use super::*;

    const TARGET: u16 = 69;
    const OWNER: u16 = 5;
    const HEADERS: u32 = 0x50008;

    fn to_host(program: &mut Vec<Instruction>, zone: u32) {
        program.extend([
            setzi(Register::M8, 0x605),
            put(ControlRegister::INCOMING_MUX, Register::M8),
            Instruction::Sync { zone },
        ]);
    }

    fn from_host(program: &mut Vec<Instruction>) {
        program.extend([
            Instruction::Sync { zone: 7 },
            setzi(Register::M8, 0x640),
            put(ControlRegister::INCOMING_MUX, Register::M8),
            stop(),
        ]);
    }

    fn owner(request: bool) -> Image {
        let mut program = Vec::new();
        to_host(&mut program, 15);
        if request {
            program.push(Instruction::Send { items_minus_1: 1, address: 0x14000, control: 3 });
        }
        from_host(&mut program);
        // Tile 69 is row 1, bit 1 clear: bit 2 of the bitmap.
        Image::new(&program).words(Address(0x50000), &[0b100, 0])
    }

    fn expect_words(words: u32) -> [Instruction; 2] {
        [setzi(Register::M8, words), put(ControlRegister::INCOMING_DCOUNT, Register::M8)]
    }

    fn followers() -> Image {
        Image::new(&[Instruction::Sans { syncs_minus_1: 1 }, Instruction::Sync { zone: 1 }, stop()])
    }

    fn drive(simulator: &mut Simulator, host: &mut Host) -> Result<(), String> {
        for _sync in 0..2 {
            assert_eq!(simulator.advance(host).map_err(|fault| fault.to_string())?, MachineState::AtHostSync);
            simulator.release_host_sync().map_err(|fault| fault.to_string())?;
        }
        assert_eq!(simulator.advance(host).map_err(|fault| fault.to_string())?, MachineState::Stopped);
        Ok(())
    }

    fn read_program() -> Image {
        let mut program = Vec::new();
        to_host(&mut program, 7);
        program.extend(expect_words(16 + 3));
        program.extend([
            Instruction::Send { items_minus_1: 1, address: HEADERS / 4, control: 3 },
            Instruction::Sendoff { items_minus_1: 1, delta: 0, control: 3 },
            Instruction::Sync { zone: 0 },
        ]);
        from_host(&mut program);
        let tile = u32::from(TARGET) << 15;
        let headers = [
            // 64 bytes at 8192, long and not the last; 12 bytes at 8256, short and the last.
            0xe000_0200 | tile | 0xc,
            1 << 31 | (8192 >> 6) << 4 | 1,
            0xcc00_0200 | tile | 0xe,
            1 << 31 | (8256 >> 2) << 4 | 3,
        ];
        Image::new(&program).words(Address(HEADERS), &headers)
    }

    #[test]
    fn host_words_arrive_in_the_staging_buffer() {
        let mut host = Host((0..16384_u32).map(|index| index as u8 ^ (index >> 8) as u8).collect());
        let tiles = [(TARGET, read_program()), (OWNER, owner(true))];
        let mut simulator = start(&tiles, &followers(), KernelSymbols::default());
        drive(&mut simulator, &mut host).expect("no fault");
        let mut staged = [0; 76];
        simulator.read(PhysicalTile(TARGET), HOST_STAGING, &mut staged).expect("written");
        assert_eq!(staged[..], host.0[8192..8192 + 76]);
        assert_eq!(simulator.statistics().host_bytes, 76);
    }

    #[test]
    fn a_target_without_its_owners_request_is_a_fault() {
        let tiles = [(TARGET, read_program()), (OWNER, owner(false))];
        let mut simulator = start(&tiles, &followers(), KernelSymbols::default());
        let text = drive(&mut simulator, &mut Host(vec![0; 16384])).expect_err("a fault");
        assert!(text.contains("its owner") && text.contains("(physical 5)"), "{text}");
    }

    #[test]
    fn words_that_never_arrive_are_a_deadlock_that_says_how_many() {
        let image = read_program();
        let mut program = Vec::new();
        to_host(&mut program, 7);
        program.extend(expect_words(20));
        program.push(Instruction::Send { items_minus_1: 1, address: HEADERS / 4 + 2, control: 3 });
        program.push(Instruction::Sync { zone: 0 });
        from_host(&mut program);
        let tiles = [(TARGET, image.code(LOAD_BASE, &program)), (OWNER, owner(true))];
        let mut simulator = start(&tiles, &followers(), KernelSymbols::default());
        let text = drive(&mut simulator, &mut Host(vec![0; 16384])).expect_err("a fault");
        assert!(text.contains("tile 180 (physical 69) waiting for 17 words of a host read"), "{text}");
    }

    #[test]
    fn tile_words_arrive_at_the_host() {
        let mut program = Vec::new();
        to_host(&mut program, 7);
        program.extend(expect_words(1));
        program.extend([
            Instruction::Send { items_minus_1: 1, address: HEADERS / 4, control: 3 },
            Instruction::Send { items_minus_1: 4, address: 0x60000 / 4, control: 3 },
            Instruction::Delay { events_minus_1: 12 },
            Instruction::Send { items_minus_1: 1, address: HEADERS / 4 + 2, control: 3 },
            Instruction::Sync { zone: 0 },
        ]);
        from_host(&mut program);
        let tile = u32::from(TARGET) << 15;
        let headers = [0x8000_0000 | tile, 1 << 31 | (4104 >> 2) << 4 | 5, 0xcc00_0200 | tile | 0xb, 1 << 31];
        let target =
            Image::new(&program).words(Address(HEADERS), &headers).words(Address(0x60000), &[1, 2, 3, 4, 5]);
        let mut host = Host(vec![0; 16384]);
        let tiles = [(TARGET, target), (OWNER, owner(true))];
        drive(&mut start(&tiles, &followers(), KernelSymbols::default()), &mut host).expect("no fault");
        let words: Vec<u32> = host.0[4104..4124]
            .chunks(4)
            .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")))
            .collect();
        assert_eq!(words, [1, 2, 3, 4, 5]);
        assert_eq!(host.0.iter().filter(|&&byte| byte != 0).count(), 5);
    }
}
