//! The events of a run, in order and with their fields.

mod fake_machine;

use std::fmt::Write;
use std::sync::{Arc, Mutex};

use fake_machine::{SLOT_BYTES, ScriptedMachine, call, input_batch, output_batch, package, startup};
use ipu_device::runtime::{
    BootProgram, Configuration, Device, DeviceLock, RunInputs, SimulatedTransport, run_package,
};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Keeps each event as its message and its fields.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<String>>>);

impl Subscriber for Events {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("ipu_device")
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        self.0.lock().unwrap().push(line.message + &line.fields);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => write!(self.fields, " {name}={value:?}").unwrap(),
        }
    }
}

#[test]
fn a_run_reports_each_step_with_its_figures() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("device.lock");
    let package = package(vec![call("initialize", 1, 0, 2), call("run", 1, 4, 9)]);
    let outputs = (0..4).flat_map(|_| output_batch(0));
    let script = [startup(), input_batch(), input_batch()].concat().into_iter().chain(outputs).collect();
    let input = [0; 2 * SLOT_BYTES];
    let events = Events::default();
    tracing::subscriber::with_default(events.clone(), || {
        let lock = DeviceLock::acquire(&path, |_| ()).unwrap();
        let open = || Ok(SimulatedTransport::new(ScriptedMachine::new(script)));
        let mut device = Device::open(Some(lock), open).unwrap();
        let inputs = RunInputs { weights: &input, invocations: &[&input] };
        let configuration = Configuration::c600().unwrap();
        run_package(&mut device, &package, &configuration, &BootProgram::stand_in(), inputs).unwrap();
    });
    let expected = [
        &format!("acquired hardware ownership path={}", path.display()),
        "device opened simulated=true",
        "device attached",
        "device initialized",
        "device configuration replayed register_writes=2003",
        "application loading tiles=1472 final_mark=23",
        "application loaded and initial synchronization completed",
        "host pages attached pages=2",
        "host exchange session started startup_mark=23",
        "host call invoked name=\"initialize\" command=7 phases=2",
        "host call invoked name=\"run\" command=7 phases=9",
        "program completed tiles=1472",
    ];
    assert_eq!(*events.0.lock().unwrap(), expected);
}
