//! The dialect `mapped`: where every tensor lives and how every operation is computed.
//!
//! A value is a tensor whose encoding is a [`layout::Layout`]. Every op has a logical meaning, on coordinates, and a
//! storage meaning, what its kernels do to the bytes of each shard. What an op makes its tiles do is decided in
//! [`calls`] alone: verifier, storage meaning and expansion read the same [`calls::Work`].

pub mod calls;
mod codes;
pub mod layout;
pub mod meaning;
mod ops;
mod sharded;
mod verify;

pub use codes::{MappedCode, MappedError};
pub use ops::{Cast, ConvertLayout, Finalist, Func, Gemm, Reduce, Relabel, Return};
pub use sharded::{ImagePlaces, ShardedTensor};

use crate::declaration::{Dialect, Op, ValueDeclaration};
use layout::Layout;

/// The dialect.
pub static DIALECT: Dialect = Dialect {
    name: "mapped",
    summary: "where tensors live and how operations are computed",
    description: "Every tensor has a layout as its encoding. Nothing else states a grid: that of a GEMM, its replication \
and its split of the inner axis are derived from the three layouts.",
    ops: &[
        Func::DECLARATION,
        Return::DECLARATION,
        ConvertLayout::DECLARATION,
        Cast::DECLARATION,
        Relabel::DECLARATION,
        Gemm::DECLARATION,
        Reduce::DECLARATION,
        Finalist::DECLARATION,
    ],
    types: &[],
    attributes: &[ValueDeclaration::attribute::<Layout>(
        "where a tensor lives",
        "`split`: parts of each axis, in whole units of `grain` elements; the first parts are the larger ones and the \
last unit may hold padding, of which `pad` says what it is. `copies` shards hold the same part, or the value is the \
sum of `partial` shards. `tiles` gives the tile of each shard from the part of each axis and the copy or partial, \
`through` a table where no expression can. `order` is the order of elements in a shard.",
        layout::attribute::SYNTAX,
    )],
};

#[cfg(test)]
mod tests;
