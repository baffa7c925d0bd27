//! Test data: the sequences that `#ipu.normal`, `#ipu.iota` and `#ipu.constant` stand for.
//!
//! Element `i` depends on its index alone, so any part of a tensor can be made by itself. Values are made in f32 and
//! rounded once to the tensor's type by the caller ([`crate::numerics::encode_elements`]).

use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::SplitMix64;

/// Element `index` of a normal tensor: a standard normal sample of a SplitMix64 generator seeded with
/// `seed xor index`, narrowed to f32, times `sigma` in f32.
#[must_use]
pub fn normal_element(seed: u64, sigma: f32, index: u64) -> f32 {
    let mut generator = SplitMix64::seed_from_u64(seed ^ index);
    let sample: f64 = StandardNormal.sample(&mut generator);
    sample as f32 * sigma
}

/// The first `count` elements of a normal tensor in row-major order.
pub fn normal(seed: u64, sigma: f32, count: u64) -> impl Iterator<Item = f32> {
    (0..count).map(move |index| normal_element(seed, sigma, index))
}

/// The first `count` elements of `start, start + step, start + 2 * step, ...`, each rounded once to f32.
pub fn iota(start: f64, step: f64, count: u64) -> impl Iterator<Item = f32> {
    (0..count).map(move |index| (start + step * index as f64) as f32)
}

/// `count` times the same value.
pub fn constant(value: f32, count: u64) -> impl Iterator<Item = f32> {
    (0..count).map(move |_| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_depends_on_its_index_alone() {
        let all: Vec<f32> = normal(7, 0.5, 100).collect();
        assert_eq!(all[63], normal_element(7, 0.5, 63));
        assert_eq!(normal_element(6, 0.5, 62), normal_element(7, 0.5, 63), "seeds combine by exclusive or");
    }

    #[test]
    fn iota_and_constant_are_what_they_say() {
        assert_eq!(iota(1.0, 0.5, 4).collect::<Vec<_>>(), [1.0, 1.5, 2.0, 2.5]);
        assert_eq!(constant(-3.0, 2).collect::<Vec<_>>(), [-3.0, -3.0]);
    }
}
