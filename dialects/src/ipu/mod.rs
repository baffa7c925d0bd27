//! The op-less dialect `ipu`: types, attributes and notations that all levels share.

mod address;
pub mod affine;
pub mod data;
mod element;
pub mod family;
pub mod float8;
mod origin;
mod tiles;
mod tolerance;
pub(crate) mod verify;

#[cfg(test)]
mod tests;

pub use address::Addresses;
pub use affine::{AffineError, AffineExpr};
pub use data::{Cycle, Edges, Iota, Normal, Npy};
pub use element::ScaledElement;
pub use family::{Family, parse_expr, parse_ids, print_ids};
pub use float8::{F143, F152};
pub use origin::OriginAttribute;
pub use tiles::TileSet;
pub use tolerance::{DEFAULT_TOLERANCE, ToleranceAttribute};

use crate::declaration::{Dialect, ValueDeclaration};

/// The dialect.
pub static DIALECT: Dialect = Dialect {
    name: "ipu",
    summary: "types and attributes that all levels share",
    description: "",
    ops: &[],
    types: &[
        ValueDeclaration::ty::<F143>(
            "8-bit float, 4 exponent and 3 mantissa bits, with a scale",
            "A code stands for its value times 2^scale. Can be a tensor element.",
            "`<` scale `>`",
        ),
        ValueDeclaration::ty::<F152>(
            "8-bit float, 5 exponent and 2 mantissa bits, with a scale",
            "A code stands for its value times 2^scale. Can be a tensor element.",
            "`<` scale `>`",
        ),
    ],
    attributes: &[
        ValueDeclaration::attribute::<Normal>(
            "normally distributed test data",
            "Mean 0; the same values for the same seed.",
            "`<` `seed` `=` int `,` `sigma` `=` float `>`",
        ),
        ValueDeclaration::attribute::<Iota>(
            "test data 0, 1, 2, ...",
            "In row-major order, or counted from `start`.",
            "(`<` `start` `=` int `>`)?",
        ),
        ValueDeclaration::attribute::<Npy>("test data from a NumPy file", "", "`<` string `>`"),
        ValueDeclaration::attribute::<Cycle>(
            "test data that repeats",
            "Element `i` in row-major order is value `i` modulo the number of values.",
            "`<` `[` number,* `]` `>`",
        ),
        ValueDeclaration::attribute::<Edges>(
            "test data at the edges of the type",
            "Zeros, ones, subnormals, the largest, infinities, NaN, and ties of the next narrower type, over and over.",
            "",
        ),
        ValueDeclaration::attribute::<ToleranceAttribute>(
            "how far a result may be from its reference",
            "A result passes if `|actual - reference| <= absolute + relative * |reference|`; 0.03 each by default.",
            "`<` `absolute` `=` float `,` `relative` `=` float `>`",
        ),
        ValueDeclaration::attribute::<TileSet>(
            "an ordered set of logical tiles",
            "Items are tiles or half-open ranges with an optional step. Inside op syntax only the brackets are written.",
            "`<` `[` (int | int `:` int (`:` int)?),* `]` `>`",
        ),
        ValueDeclaration::attribute::<Addresses>(
            "where a buffer stands",
            "One address for all tiles of the buffer, or one by group. Inside op syntax the brackets `<>` are not written.",
            "`<` (int | `{` (tile-set `=` int),* `}`) `>`",
        ),
        ValueDeclaration::attribute::<OriginAttribute>(
            "what an op was made for",
            "The path of a graph op and the passes it went through; stands as the metadata of a fused location.",
            "`<` string `,` `[` string,* `]` `>`",
        ),
    ],
};
