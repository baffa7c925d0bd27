//! Behaviour of `mapped` in text and in what its ops mean.
#![allow(unreachable_pub, dead_code)]

mod cases;
mod samples;
