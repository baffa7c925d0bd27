//! How one logical axis is cut into parts.
//!
//! The uneven rule: an axis of `n` elements with grain `g` has `q = ceil(n / g)` units; the first `q mod parts`
//! parts hold `ceil(q / parts)` units, the rest `floor(q / parts)`. Padding exists only inside the last unit.
//! There may be more parts than units: the parts past the last unit are empty.

use std::ops::Range;

/// One axis of a tensor, cut into parts of whole grains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AxisSplit {
    extent: u32,
    grain: u32,
    parts: u32,
    /// Units of a small part.
    small: u32,
    /// Parts that hold one unit more.
    large: u32,
}

impl AxisSplit {
    /// Cuts `extent` elements into `parts` parts of whole units of `grain` elements. A zero grain or part
    /// count counts as one.
    #[must_use]
    pub fn new(extent: u32, grain: u32, parts: u32) -> Self {
        let (grain, parts) = (grain.max(1), parts.max(1));
        let units = extent.div_ceil(grain);
        Self { extent, grain, parts, small: units / parts, large: units % parts }
    }

    /// Elements of the axis.
    #[must_use]
    pub fn extent(self) -> u32 {
        self.extent
    }

    /// Elements of a unit.
    #[must_use]
    pub fn grain(self) -> u32 {
        self.grain
    }

    /// Parts, empty ones included.
    #[must_use]
    pub fn parts(self) -> u32 {
        self.parts
    }

    /// Units of the axis, the last one possibly padded.
    #[must_use]
    pub fn units(self) -> u32 {
        self.small * self.parts + self.large
    }

    /// Parts that hold one unit more than the others; they come first. Zero for an even split.
    #[must_use]
    pub fn large_parts(self) -> u32 {
        self.large
    }

    /// Units of `part`.
    #[must_use]
    pub fn units_of(self, part: u32) -> u32 {
        self.small + u32::from(part < self.large)
    }

    /// First unit of `part`; for `part == parts` the unit count.
    fn first_unit(self, part: u32) -> u32 {
        part * self.small + part.min(self.large)
    }

    /// First element of `part`, not clipped to the extent.
    #[must_use]
    pub fn start(self, part: u32) -> u32 {
        self.first_unit(part) * self.grain
    }

    /// Elements of `part` with the padding of its last unit.
    #[must_use]
    pub fn padded(self, part: u32) -> u32 {
        self.units_of(part) * self.grain
    }

    /// The logical elements of `part`, without padding.
    #[must_use]
    pub fn range(self, part: u32) -> Range<u32> {
        let start = self.start(part).min(self.extent);
        start..(self.start(part) + self.padded(part)).min(self.extent)
    }

    /// The most elements a part holds, padding included.
    #[must_use]
    pub fn largest(self) -> u32 {
        self.padded(0)
    }

    /// Whether all parts hold the same number of units.
    #[must_use]
    pub fn is_even(self) -> bool {
        self.large == 0
    }

    /// The part that holds element `index`, and the element's place in it. `index` may lie in the padding.
    #[must_use]
    pub fn locate(self, index: u32) -> (u32, u32) {
        let unit = index / self.grain;
        let (small, large) = (self.small, self.large);
        let in_large = large * (small + 1);
        let part = match unit.checked_sub(in_large) {
            None => unit / (small + 1),
            Some(rest) => large + rest.checked_div(small).unwrap_or(0),
        };
        (part, index - self.start(part))
    }

    /// The parts that hold elements of `range`, as a half-open range of part numbers; empty for an empty range.
    #[must_use]
    pub fn parts_over(self, range: &Range<u32>) -> Range<u32> {
        if range.start >= range.end || range.start >= self.extent {
            return 0..0;
        }
        let last = range.end.min(self.extent) - 1;
        self.locate(range.start).0..self.locate(last).0 + 1
    }

    /// Whether every part of `fine` lies inside one part of `self`, `factor` consecutive parts of `fine` to
    /// each part of `self`.
    #[must_use]
    pub fn is_refined_by(self, fine: Self, factor: u32) -> bool {
        self.extent == fine.extent
            && u64::from(fine.parts) == u64::from(self.parts) * u64::from(factor)
            && (0..self.parts).all(|part| {
                let (first, end) = (fine.range(part * factor), fine.range((part + 1) * factor - 1));
                let whole = self.range(part);
                first.start == whole.start && end.end == whole.end
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_parts_are_the_large_ones() {
        let split = AxisSplit::new(100, 16, 3);
        assert_eq!(split.units(), 7);
        assert_eq!((0..3).map(|part| split.range(part)).collect::<Vec<_>>(), [0..48, 48..80, 80..100]);
        assert_eq!((0..3).map(|part| split.padded(part)).collect::<Vec<_>>(), [48, 32, 32]);
    }

    #[test]
    fn more_parts_than_units_leaves_empty_parts() {
        let split = AxisSplit::new(3, 1, 5);
        assert_eq!((0..5).map(|part| split.padded(part)).collect::<Vec<_>>(), [1, 1, 1, 0, 0]);
        assert_eq!(split.range(4), 3..3);
    }

    proptest! {
        #[test]
        fn parts_tile_the_axis(extent in 0u32..400, grain in 1u32..40, parts in 1u32..70) {
            let split = AxisSplit::new(extent, grain, parts);
            let mut next = 0;
            for part in 0..parts {
                let range = split.range(part);
                prop_assert_eq!(range.start, next.min(extent));
                for index in range.clone() {
                    prop_assert_eq!(split.locate(index), (part, index - split.start(part)));
                }
                next = range.end;
                prop_assert!(split.padded(part) >= split.range(part).len() as u32);
                prop_assert!(split.padded(part) - (split.range(part).len() as u32) < grain);
            }
            prop_assert_eq!(next, extent);
        }
    }
}
