//! The `ipu` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ipu_driver::ipu::main()
}
