//! One allocation for equal contents: most tiles of a package have one of a few images.

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use crate::hash::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use super::model::Segment;

/// Different contents kept for one hash; more are not shared, so that a file made to collide costs no more.
const COLLISIONS_MAX: usize = 4;

/// Contents seen so far.
#[derive(Default)]
pub(super) struct Interner {
    data: Pool<u8>,
    segments: Pool<Segment>,
}

impl Interner {
    /// `bytes`, shared with equal bytes seen before.
    pub(super) fn data(&mut self, bytes: &[u8]) -> Arc<[u8]> {
        let hash = FxBuildHasher.hash_one(bytes);
        self.data.find(hash, |known| **known == *bytes, || bytes.into())
    }

    /// `segments`, whose data must come from [`Interner::data`], shared with an equal list seen before.
    pub(super) fn segments(&mut self, segments: Vec<Segment>) -> Arc<[Segment]> {
        let key =
            |segment: &Segment| (segment.address, segment.size, segment.flags, segment.data.as_ptr().addr());
        let mut hasher = FxBuildHasher.build_hasher();
        segments.iter().for_each(|segment| key(segment).hash(&mut hasher));
        let hash = std::hash::Hasher::finish(&hasher);
        let same = |known: &Arc<[Segment]>| {
            known.len() == segments.len() && known.iter().zip(&segments).all(|(a, b)| key(a) == key(b))
        };
        self.segments.find(hash, same, || segments.as_slice().into())
    }
}

struct Pool<T>(HashMap<u64, SmallVec<[Arc<[T]>; 1]>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<T> Pool<T> {
    fn find(
        &mut self,
        hash: u64,
        same: impl Fn(&Arc<[T]>) -> bool,
        make: impl FnOnce() -> Arc<[T]>,
    ) -> Arc<[T]> {
        let bucket = self.0.entry(hash).or_default();
        if let Some(known) = bucket.iter().find(|known| same(known)) {
            return Arc::clone(known);
        }
        let new = make();
        if bucket.len() < COLLISIONS_MAX {
            bucket.push(Arc::clone(&new));
        }
        new
    }
}
