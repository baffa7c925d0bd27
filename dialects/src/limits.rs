//! Limits on input, so that none overflows the stack or allocates without bound. Each has an error code.

/// Longest source text, in bytes: spans are 32 bits.
pub const MAX_SOURCE_BYTES: usize = 1 << 31;
/// Nesting of types, attributes, expressions and locations, together.
pub const MAX_NESTING: usize = 96;
/// Nesting of regions below the root.
pub const MAX_REGION_NESTING: usize = 64;
/// Findings that are kept; the rest is counted.
pub const MAX_DIAGNOSTICS: usize = 100;
/// Elements of a dense attribute that is given by a splat or a list.
pub const MAX_DENSE_ELEMENTS: u64 = 1 << 28;
/// Dimensions of a tensor.
pub const MAX_RANK: usize = 16;
/// Results named by one `%x:n`.
pub const MAX_RESULT_GROUP: u64 = 1 << 16;
/// Tiles listed by one tile set.
pub const MAX_TILE_SET: usize = 1472;
/// Sources that a fused location keeps; the rest is dropped.
pub const MAX_FUSED_LOCATIONS: usize = 8;
/// Members of a family.
pub const MAX_FAMILY_MEMBERS: u64 = 1 << 22;
