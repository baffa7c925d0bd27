//! The hash maps of the workspace: fast, and in an order that a test can change.
//!
//! Nothing that is printed may depend on the order in which a hash map gives its entries. To show that nothing does, all maps
//! hash with the process's seed: [`set_seed`] changes the order of every map that is made afterwards, and the same bytes must
//! come out. Seed 0 is plain FxHash. Where nobody sets a seed, `IPU_HASH_SEED` is it, so tests run as they are for any seed
//! (`.ci/determinism`).

#![allow(clippy::disallowed_types, reason = "this is where the allowed ones come from")]

use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHasher;

/// A hash map whose order follows the seed.
pub type HashMap<K, V> = std::collections::HashMap<K, V, SeededState>;
/// A hash set whose order follows the seed.
pub type HashSet<K> = std::collections::HashSet<K, SeededState>;

static SEED: LazyLock<AtomicU64> = LazyLock::new(|| {
    let given = std::env::var("IPU_HASH_SEED").ok().and_then(|seed| seed.parse().ok());
    AtomicU64::new(given.unwrap_or(0))
});

/// Sets the seed of all maps made from now on; for tests of determinism.
pub fn set_seed(seed: u64) {
    SEED.store(seed, Ordering::Relaxed);
}

/// How a map hashes: with the seed that the process had when the map was made.
#[derive(Debug, Clone)]
pub struct SeededState {
    seed: u64,
}

impl Default for SeededState {
    fn default() -> Self {
        Self { seed: SEED.load(Ordering::Relaxed) }
    }
}

impl BuildHasher for SeededState {
    type Hasher = SeededHasher;

    fn build_hasher(&self) -> SeededHasher {
        SeededHasher { inner: FxHasher::default(), seed: self.seed }
    }
}

/// FxHash whose result is mixed with a seed.
#[derive(Clone)]
pub struct SeededHasher {
    inner: FxHasher,
    seed: u64,
}

impl fmt::Debug for SeededHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeededHasher").field("seed", &self.seed).finish_non_exhaustive()
    }
}

macro_rules! forwarded {
    ($($write:ident $ty:ty,)*) => {$(
        #[inline]
        fn $write(&mut self, value: $ty) {
            self.inner.$write(value);
        }
    )*};
}

impl Hasher for SeededHasher {
    forwarded! {
        write &[u8],
        write_u8 u8,
        write_u16 u16,
        write_u32 u32,
        write_u64 u64,
        write_u128 u128,
        write_usize usize,
    }

    #[inline]
    fn finish(&self) -> u64 {
        let hash = self.inner.finish();
        if self.seed == 0 {
            return hash;
        }
        // An odd factor permutes the 64-bit numbers; the fold brings its high bits, which know of all, to the bucket.
        let mixed = (hash ^ self.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ (self.seed << 1));
        mixed ^ (mixed >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys in the order of a map with `seed`, which is set for this map only.
    fn order(seed: u64) -> Vec<u32> {
        let mut map = std::collections::HashMap::with_hasher(SeededState { seed });
        map.extend((0..64).map(|key| (key, ())));
        map.into_keys().collect()
    }

    #[test]
    fn another_seed_is_another_order_and_the_same_seed_the_same() {
        assert_eq!(order(0), order(0));
        assert_eq!(order(7), order(7));
        for (one, other) in [(0, 1), (1, 2), (0, 7)] {
            assert_ne!(order(one), order(other), "seeds {one} and {other}");
        }
    }
}
