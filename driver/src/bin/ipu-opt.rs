//! The `ipu-opt` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ipu_driver::opt::main()
}
