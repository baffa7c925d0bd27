//! The `ipu-opt` program.
fn main() {}
