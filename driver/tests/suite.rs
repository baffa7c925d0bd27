//! The tests of the programs, as one program: linked and optimised once. A file here is a module of it.

mod bench;
mod book;
mod chunks;
mod determinism;
mod error_pages;
mod exchange_cases;
mod fmt;
mod goldens;
mod hunt;
mod mlir;
mod packages;
mod reference;
mod repro;
mod run;
mod sanitizer;
mod suites;
mod timing;
mod tree;
mod vectors;
