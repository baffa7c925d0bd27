//! Large texts to measure with: valid modules of each dialect and of an unknown one, written line by line and never by our
//! printer. A text is a function of its kind, the ops asked for and the seed.

mod exchange;
mod graph;
mod mapped;
mod rich;
mod simple;
mod tile;

use std::fmt::Arguments;
use std::io::{Result, Write};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;

/// What a text is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `graph` functions: chains of products, casts, transposes and reshapes.
    Graph,
    /// `mapped` functions: the layers of a planned network.
    Mapped,
    /// One `exchange` program: the layers of a network, scheduled and placed.
    Exchange,
    /// One `tile` program: rows and code of each tile.
    Tile,
    /// Ops of an unknown dialect in generic form, in one block: operands, a result, an integer each.
    Simple,
    /// Ops of an unknown dialect in generic form: all kinds of attributes and types, blocks, nested regions.
    Rich,
}

/// Writes a text of `ops` ops or a few more, all in one file; returns how many it has.
///
/// # Errors
/// `out` cannot be written.
pub(super) fn write(kind: Kind, ops: u64, seed: u64, out: &mut dyn Write) -> Result<u64> {
    let mut text = Text { out, ops: 0, wanted: ops, random: SplitMix64::seed_from_u64(seed) };
    match kind {
        Kind::Graph => graph::write(&mut text)?,
        Kind::Mapped => mapped::write(&mut text)?,
        Kind::Exchange => exchange::write(&mut text)?,
        Kind::Tile => tile::write(&mut text)?,
        Kind::Simple => simple::write(&mut text)?,
        Kind::Rich => rich::write(&mut text)?,
    }
    Ok(text.ops)
}

/// A text as it is written.
struct Text<'o> {
    out: &'o mut dyn Write,
    ops: u64,
    wanted: u64,
    random: SplitMix64,
}

impl Text<'_> {
    /// A line that is no op.
    fn line(&mut self, line: Arguments<'_>) -> Result<()> {
        self.out.write_fmt(line)?;
        self.out.write_all(b"\n")
    }

    /// A line on which one op starts.
    fn op(&mut self, line: Arguments<'_>) -> Result<()> {
        self.ops += 1;
        self.line(line)
    }

    /// A random number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.random.random_range(0..bound)
    }

    /// Writes parts, numbered from 0, one at least, until no more ops are wanted.
    fn parts(&mut self, mut part: impl FnMut(&mut Self, u64) -> Result<()>) -> Result<()> {
        for index in 0.. {
            part(self, index)?;
            if !self.wants_more(0) {
                break;
            }
        }
        Ok(())
    }

    /// Whether ops are wanted still, beyond `coming` that are due.
    fn wants_more(&self, coming: u64) -> bool {
        self.ops + coming < self.wanted
    }
}
