//! The `ipu` program.

use std::process::ExitCode;

/// A module is many small allocations.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ipu_driver::ipu::main()
}
