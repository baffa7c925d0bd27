//! The host's protocol against scripted tiles: the whole life of a run, and every way in which it can fail.

use std::time::Duration;

use crate::fake_machine::{
    self, Action, SLOT_BYTES, ScriptedMachine, call, input_batch, output_batch, package, startup,
};
use ipu_device::package::Package;
use ipu_device::runtime::registers::{CCSR, GROUP_1, GROUP_2, exchange_block, exchange_block_operational};
use ipu_device::runtime::{
    BootProgram, Configuration, Device, Request, RunInputs, RunOutputs, RuntimeError, SimulatedTransport,
    Transport, run_package,
};
use ipu_device::{Address, PhysicalTile};

/// A change to the loader's buffer.
type Spoil = fn(&mut [u8]);

/// A transport that notes what the host does and may spoil the loader's buffer before a mark.
struct Observed {
    inner: SimulatedTransport<ScriptedMachine>,
    log: Vec<String>,
    group_2_writes: usize,
    spoil: Spoil,
    simulated: bool,
    /// What the control unit answers, where that is not what the simulated one does.
    answer: Option<[u32; 5]>,
}

impl Observed {
    fn new(script: Vec<Vec<Action>>) -> Self {
        let inner = SimulatedTransport::new(ScriptedMachine::new(script));
        Self { inner, log: Vec::new(), group_2_writes: 0, spoil: |_| (), simulated: true, answer: None }
    }
}

impl Transport for Observed {
    fn is_simulated(&self) -> bool {
        self.simulated
    }
    fn read(&mut self, offset: u32) -> Result<u32, RuntimeError> {
        self.inner.read(offset)
    }
    fn write(&mut self, offset: u32, value: u32) -> Result<(), RuntimeError> {
        if offset == GROUP_1 && value == 1 {
            self.inner.buffer(0).into_iter().for_each(self.spoil);
        }
        self.group_2_writes += usize::from(offset == GROUP_2 && value == 1);
        self.inner.write(offset, value)
    }
    fn request(&mut self, request: Request) -> Result<(), RuntimeError> {
        self.log.push(format!("{request:?}"));
        self.inner.request(request)
    }
    fn mailbox(&mut self, sent: [u32; 5]) -> Result<[u32; 5], RuntimeError> {
        self.log.push("Mailbox".to_owned());
        let answer = self.inner.mailbox(sent)?;
        Ok(self.answer.unwrap_or(answer))
    }
    fn attach_buffer(&mut self, index: u32, size: usize) -> Result<(), RuntimeError> {
        self.log.push(format!("attach {index}: {size}"));
        self.inner.attach_buffer(index, size)
    }
    fn buffer(&mut self, index: u32) -> Option<&mut [u8]> {
        self.inner.buffer(index)
    }
    fn detach_buffer(&mut self, index: u32) {
        self.log.push(format!("detach {index}"));
        self.inner.detach_buffer(index);
    }
    fn fence(&mut self) {}
    fn now(&self) -> Duration {
        self.inner.now()
    }
    fn pause(&mut self, duration: Duration) {
        self.inner.pause(duration);
    }
}

fn run(
    transport: Observed,
    package: &Package,
    weights: &[u8],
    inputs: &[&[u8]],
) -> (Result<RunOutputs, RuntimeError>, Observed) {
    let mut device = Device::open(None, || Ok(transport)).unwrap();
    let configuration = Configuration::c600().unwrap();
    let inputs = RunInputs { weights, invocations: inputs };
    let result = run_package(&mut device, package, &configuration, &BootProgram::stand_in(), inputs);
    (result, device.close())
}

fn bytes(count: usize, first: u8) -> Vec<u8> {
    (0..count).map(|k| first.wrapping_add(k as u8)).collect()
}

fn error(transport: Observed, package: &Package, weights: &[u8], inputs: &[&[u8]]) -> RuntimeError {
    run(transport, package, weights, inputs).0.expect_err("the run must fail")
}

#[test]
fn a_run_loads_all_tiles_moves_all_batches_and_ends() {
    let batch = 2 * SLOT_BYTES;
    let package = package(vec![call("initialize", 1, 0, 2), call("run", 2, 2, 7)]);
    let invocation = [input_batch(), input_batch(), output_batch(1), output_batch(2)].concat();
    let script = [startup(), input_batch(), invocation.clone(), invocation].concat();
    let (weights, first, second) = (bytes(batch, 3), bytes(2 * batch, 50), bytes(2 * batch, 90));
    let (result, transport) = run(Observed::new(script), &package, &weights, &[&first, &second]);

    // Scripted tiles answer with what they read last, plus the batch's number.
    let answer = |input: &[u8]| -> Vec<u8> {
        let newest = &input[input.len() - SLOT_BYTES..];
        [1, 1, 2, 2].iter().flat_map(|add| newest.iter().map(move |byte| byte.wrapping_add(*add))).collect()
    };
    assert_eq!(result.unwrap().invocations, [answer(&first), answer(&second)]);
    let machine = transport.inner.machine();
    assert_eq!(machine.store, [weights, first, second].concat());
    // 1 start-up sync, 2 per weight batch, 2 per input and output batch of each invocation.
    assert_eq!(transport.group_2_writes, 1 + 2 + 2 * 2 * 4);
}

#[test]
fn every_tile_gets_its_image_and_equal_images_are_one_allocation() {
    let package = package(vec![call("run", 1, 1, 3)]);
    let script = [startup(), input_batch(), output_batch(0)].concat();
    let input = bytes(2 * SLOT_BYTES, 0);
    let (result, transport) = run(Observed::new(script), &package, &[], &[&input]);
    result.unwrap();
    let images = &transport.inner.machine().images;
    assert_eq!(images.len(), 1472);
    for image in &package.tiles {
        let loaded = &images[&image.tile.0];
        let mut expected = vec![0; loaded.len()];
        for segment in image.segments.iter() {
            let at = (segment.address.0 - 0x4c010) as usize;
            expected[at..at + segment.data.len()].copy_from_slice(&segment.data);
        }
        assert_eq!(**loaded, expected, "tile {}", image.tile);
        assert!(loaded.len() >= 0x4134 && loaded.len().is_multiple_of(992));
    }
    let mut distinct: Vec<_> = images.values().map(|image| image.as_ptr()).collect();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 3);
}

#[test]
fn a_reset_that_is_not_confirmed_is_refused_with_the_answer() {
    let transport = Observed {
        answer: Some([0x0bad_0000, 0, 0, 0, 0]),
        ..Observed::new([startup(), input_batch(), output_batch(0)].concat())
    };
    let found = error(transport, &package(vec![call("run", 1, 1, 3)]), &[], &[&bytes(2 * SLOT_BYTES, 0)]);
    assert_eq!(found.code(), "D0354");
    assert!(found.to_string().contains("observed 0x0bad0000"), "{found}");
}

#[test]
fn requests_and_buffers_come_in_the_documented_order() {
    let package = package(vec![call("run", 1, 1, 3)]);
    let script = [startup(), input_batch(), output_batch(0)].concat();
    let input = bytes(2 * SLOT_BYTES, 0);
    let (result, mut transport) = run(Observed::new(script), &package, &[], &[&input]);
    result.unwrap();
    let expected = [
        "UserAttach",
        "SetDeviceId",
        "StopMonitoring",
        "Mailbox",
        "StartMonitoring",
        "AccumulateErrors",
        "NotifyReset",
        "SetSecondaryDeviceId",
        "attach 0: 42213376",
        "detach 0",
        "DetachAllBuffers",
        "attach 0: 4096",
        "attach 1: 8192",
        "detach 1",
        "detach 0",
    ];
    assert_eq!(transport.log, expected);
    assert_eq!(transport.read(CCSR).unwrap(), 4, "restored to the last value of the configuration");
    for block in 0..16 {
        assert_eq!(transport.read(exchange_block(block)).unwrap(), exchange_block_operational(block));
    }
}

#[test]
fn phases_count_two_a_batch_and_the_last_may_be_the_final_release() {
    let check = |inputs: u32, outputs: u32, phases: u32| {
        let package = package(vec![call("run", inputs, outputs, phases)]);
        let batches = (0..inputs).map(|_| input_batch()).chain((0..outputs).map(|_| output_batch(0)));
        let script = startup().into_iter().chain(batches.flatten()).collect();
        let input = bytes(2 * SLOT_BYTES * inputs as usize, 0);
        run(Observed::new(script), &package, &[], &[&input]).0.map(|_| ())
    };
    // The recorded run: one input batch, four output batches.
    assert_eq!(check(1, 4, 9), Ok(()));
    assert_eq!(check(3, 1, 7), Ok(()));
    assert_eq!(check(1, 4, 10), Ok(()));
    assert_eq!(check(2, 0, 4), Ok(()));
    assert_eq!(check(2, 0, 3), Ok(()));
    assert_eq!(check(0, 0, 0), Ok(()));
    for (inputs, outputs, phases) in [(1, 4, 8), (1, 4, 11), (2, 0, 2), (0, 0, 1), (1, 1, 0)] {
        let error = check(inputs, outputs, phases).unwrap_err();
        assert_eq!(error.code(), "D0361", "{error}");
    }
}

#[test]
fn a_call_is_refused_for_its_name_or_the_length_of_its_input() {
    let package = package(vec![call("go", 1, 1, 3)]);
    let wrong_name = error(Observed::new(startup()), &package, &[], &[&[]]);
    assert_eq!(
        wrong_name.to_string(),
        "wrong host call: host call `run`: the package has no such call, it has [\"go\"]"
    );
    let package = fake_machine::package(vec![call("run", 1, 1, 3)]);
    let wrong_length = error(Observed::new(startup()), &package, &[], &[&[1, 2]]);
    assert_eq!(
        wrong_length.to_string(),
        "wrong host call: host call `run`: the input has 2 bytes, expected 128"
    );
}

#[test]
fn a_program_that_ends_early_or_goes_on_is_an_error() {
    let package = package(vec![call("run", 1, 1, 3)]);
    let input = bytes(2 * SLOT_BYTES, 0);
    let once = [startup(), input_batch(), output_batch(0)].concat();
    let early = error(Observed::new(once.clone()), &package, &[], &[&input, &input]);
    assert_eq!(early.code(), "D0359", "{early}");
    assert!(early.is_program_fault());

    let twice = [once, input_batch(), output_batch(0)].concat();
    let (result, transport) = run(Observed::new(twice), &package, &[], &[&input]);
    let late = result.unwrap_err();
    assert_eq!(late.code(), "D0360");
    let expected = "program did not end: completion: supervisors did not halt: 0 inactive, 1472 active, 0 stopped \
                    for debug, 0 excepted; tile 0 (physical 0)";
    assert!(late.to_string().starts_with(expected), "{late}");
    assert_eq!(transport.log.last().unwrap(), "detach 0", "pages are detached after an error");
}

#[test]
fn a_fault_of_the_tiles_ends_the_run_and_names_them() {
    let package = package(vec![call("run", 1, 1, 3)]);
    let script = [startup(), input_batch(), vec![vec![Action::Fault(PhysicalTile(64))]]].concat();
    let fault = error(Observed::new(script), &package, &[], &[&bytes(2 * SLOT_BYTES, 0)]);
    assert_eq!(fault.code(), "D9901");
    assert_eq!(
        fault.to_string(),
        "scripted fault on tile 2 (physical 64): waits for words that nobody sends"
    );
    let beyond = Action::Read { offset: 4096 + 8192 - 32, size: 64 };
    let fault = error(Observed::new(vec![vec![beyond]]), &package, &[], &[]);
    assert!(fault.to_string().contains("leaves the attached pages (12288 bytes)"), "{fault}");
}

#[test]
fn a_program_stopped_at_its_final_branch_has_ended_if_its_completion_word_says_so() {
    let package = package(vec![]);
    let ended = |completion: u32, final_status: u32| {
        let mut transport = Observed::new(startup());
        let machine = transport.inner.machine_mut();
        machine.final_status = final_status;
        (0..1472).for_each(|tile| {
            machine.words.insert((tile, 0x58000), completion);
        });
        run(transport, &package, &[], &[]).0.map(|_| ())
    };
    assert_eq!(ended(0, 0), Ok(()));
    assert_eq!(ended(1, 3), Ok(()));
    assert_eq!(ended(0, 3).unwrap_err().code(), "D0360");
    let workers = ended(1, 1 << 4).unwrap_err();
    assert!(workers.to_string().contains("workers did not halt"), "{workers}");
}

#[test]
fn memory_of_a_tile_can_be_read_and_written_through_the_debug_window() {
    let mut device = Device::open(None, || Ok(Observed::new(startup()))).unwrap();
    let tile = PhysicalTile(1471);
    device.write_memory(tile, Address(0x58000), 0xabcd_ef01).unwrap();
    assert_eq!(device.read_memory(tile, Address(0x58000)).unwrap(), 0xabcd_ef01);
    assert_eq!(device.read_memory(tile, Address(0x58004)).unwrap(), 0);
    assert_eq!(device.read_memory(PhysicalTile(0), Address(0x58000)).unwrap(), 0);
    for address in [0x4bffc, 0xe8000, 0x58002] {
        assert_eq!(device.read_memory(tile, Address(address)).unwrap_err().code(), "D0357", "0x{address:x}");
    }
    assert_eq!(device.read_memory(tile, Address(0x58000)).unwrap(), 0xabcd_ef01);
}

#[test]
fn the_boot_program_refuses_wrong_descriptors_and_frames() {
    // First frame of the first batch at byte 4096, its second at 5120; 17 frames; descriptors of 8 bytes.
    let cases: &[(Spoil, &str)] = &[
        (|buffer| buffer[4096] = 1, "frame 0 of 17 has header"),
        (|buffer| buffer[5120] = 0, "frame 1 of 17 has header"),
        (|buffer| buffer[4100] = 9, "frame 0 of 17 has header"),
        (|buffer| buffer[4096 + 11] = 8, "frame 0 of 17 has header"),
        (|buffer| buffer[4096 + 16 * 1024 + 11] = 0, "frame 16 of 17 has header"),
        (|buffer| buffer[4108] = 1, "frame 0 of 17 has header"),
        (|buffer| buffer[4] = 16, "16 frames, expected 17 to 643"),
        (|buffer| buffer[4..8].copy_from_slice(&644_u32.to_le_bytes()), "644 frames, expected 17 to 643"),
        (|buffer| buffer[3] = 0x7f, "leave the buffer"),
        (|buffer| buffer[..8].fill(0xff), "told to start, but has no image"),
    ];
    for (spoil, text) in cases {
        let mut transport = Observed::new(startup());
        transport.spoil = *spoil;
        let error = error(transport, &package(vec![]), &[], &[]);
        assert_eq!(error.code(), "D0358", "{error}");
        assert!(error.to_string().contains("tile 0 (physical 0)"), "{error}");
        assert!(error.to_string().contains(text), "{error}: {text}");
    }
}

#[test]
fn a_tile_without_descriptor_is_never_loaded_and_cannot_start() {
    let mut transport = Observed::new(startup());
    // In pass 1 tile 5 of every row has nothing to do; in pass 2 it is told to start.
    transport.spoil = |buffer| {
        if buffer[0] != 0xff {
            buffer[40..44].fill(0);
        }
    };
    let error = error(transport, &package(vec![]), &[], &[]);
    assert!(error.to_string().contains("physical 5): it is told to start, but has no image"), "{error}");
}

#[test]
fn a_device_without_boot_program_runs_into_the_limit() {
    let mut device = Device::open(None, || Ok(Observed::new(startup()))).unwrap();
    device.initialise().unwrap();
    let package = package(vec![]);
    let error = device.start_session(&package.host_exchange).map(|_| ()).unwrap_err();
    assert_eq!(error.code(), "D0353");
    assert_eq!(
        error.to_string(),
        "device did not answer in time: host session start: register 0x3030: expected 0, observed 1"
    );
}

#[test]
fn pages_that_cannot_be_attached_are_refused() {
    let mut package = package(vec![]);
    package.host_exchange.pages[1].size = 1 << 40;
    let error = error(Observed::new(startup()), &package, &[], &[]);
    assert_eq!(error.code(), "D0362", "{error}");
}

#[test]
fn hardware_is_not_given_what_only_a_simulator_can_run() {
    let refusal = |spoil: fn(&mut Package)| {
        let mut package = package(vec![]);
        spoil(&mut package);
        let mut transport = Observed::new(startup());
        transport.simulated = false;
        error(transport, &package, &[], &[])
    };
    let kernels = |package: &mut Package| {
        package.footer.as_mut().unwrap().reference_kernels = vec!["gemm".to_owned(), "cast".to_owned()];
    };
    assert_eq!(refusal(|_| ()).code(), "D0356", "the stand-in boot program");
    let error = refusal(kernels);
    assert_eq!(error.code(), "D0363");
    assert!(error.to_string().contains("2 reference kernels have no code"), "{error}");
}
