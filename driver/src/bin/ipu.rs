//! The `ipu` program.
fn main() {}
