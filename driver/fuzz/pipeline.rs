//! Pipeline text under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(broken) = ipu_driver::fuzz::Target::Pipeline.check(data) {
        panic!("{broken}");
    }
});
