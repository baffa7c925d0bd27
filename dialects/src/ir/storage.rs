//! What a module stores of each op, block, region and value. A million of each must fit in little memory, so rare parts are boxed,
//! results are a range of ids, and names are ranges of one text.

use std::num::NonZeroU32;
use std::ops::Range;

use smallvec::SmallVec;
use thin_vec::ThinVec;

use super::attribute::AttributeKind;
use super::attribute_list::StoredAttributes;
use super::entity::{BlockId, OpId, RegionId, ValueId};
use super::location::{Location, Origin};
use super::module::{OpKind, Use, ValueSource};
use super::types::Type;
use crate::source::Span;

#[derive(Debug, Clone)]
pub(super) struct OpData {
    pub(super) kind: OpKind,
    pub(super) operands: SmallVec<[ValueId; 4]>,
    pub(super) results: ResultRange,
    pub(super) attributes: StoredAttributes,
    pub(super) location: Option<Location>,
    pub(super) extra: Option<Box<OpExtra>>,
    pub(super) parent: Option<BlockId>,
    pub(super) previous: Option<OpId>,
    pub(super) next: Option<OpId>,
    pub(super) span: Span,
}

/// The results of an op, which have consecutive ids; and whether the op is erased.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResultRange {
    first: u32,
    /// Their number, and [`ERASED`].
    count: u32,
}

/// Marks an erased op.
const ERASED: u32 = 1 << 31;

impl ResultRange {
    pub(super) fn new(first: usize, count: usize) -> Self {
        assert!(count < ERASED as usize, "internal bug: an op with 2^31 results");
        Self { first: first as u32, count: count as u32 }
    }

    /// Where they are among all values.
    pub(super) fn get(self) -> Range<usize> {
        let first = self.first as usize;
        first..first + (self.count & !ERASED) as usize
    }

    pub(super) fn is_erased(self) -> bool {
        self.count & ERASED != 0
    }

    pub(super) fn erase(&mut self) {
        self.count |= ERASED;
    }
}

/// What few ops have.
#[derive(Debug, Clone, Default)]
pub(super) struct OpExtra {
    pub(super) regions: SmallVec<[RegionId; 2]>,
    pub(super) successors: ThinVec<BlockId>,
    pub(super) origin: Option<Origin>,
}

#[derive(Debug, Clone)]
pub(super) struct BlockData {
    pub(super) region: Option<RegionId>,
    pub(super) arguments: ThinVec<ValueId>,
    pub(super) first: Option<OpId>,
    pub(super) last: Option<OpId>,
    pub(super) name: NameId,
}

#[derive(Debug, Clone)]
pub(super) struct RegionData {
    pub(super) owner: Option<OpId>,
    pub(super) blocks: SmallVec<[BlockId; 4]>,
}

#[derive(Debug, Clone)]
pub(super) struct ValueData {
    pub(super) ty: Type,
    pub(super) source: PackedSource,
    pub(super) name: NameId,
    /// Uses, and former uses that are dropped when they outnumber the real ones.
    pub(super) uses: SmallVec<[Use; 2]>,
    pub(super) use_count: u32,
}

/// A [`ValueSource`] in 8 bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackedSource {
    /// Op or block; none of a value that is used and not yet defined.
    owner: u32,
    /// Position, and [`ARGUMENT`] for an argument.
    index: u32,
}

/// Marks an owner that is a block.
const ARGUMENT: u32 = 1 << 31;

impl PackedSource {
    pub(super) fn of(source: ValueSource) -> Self {
        let at = |owner: usize, index: u32, mark: u32| {
            assert!(index < ARGUMENT, "internal bug: 2^31 results or arguments");
            Self { owner: owner as u32, index: index | mark }
        };
        match source {
            ValueSource::Result { op, index } => at(op.index(), index, 0),
            ValueSource::Argument { block, index } => at(block.index(), index, ARGUMENT),
            ValueSource::Forward => Self { owner: u32::MAX, index: 0 },
        }
    }

    pub(super) fn get(self) -> ValueSource {
        let (owner, index) = (self.owner as usize, self.index & !ARGUMENT);
        match self.index & ARGUMENT {
            _ if self.owner == u32::MAX => ValueSource::Forward,
            0 => ValueSource::Result { op: OpId::new(owner), index },
            _ => ValueSource::Argument { block: BlockId::new(owner), index },
        }
    }
}

/// A name in a [`NamePool`]; the default is no name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct NameId(Option<NonZeroU32>);

/// The names of values and blocks of a module, one behind another.
#[derive(Debug, Clone, Default)]
pub(super) struct NamePool {
    text: String,
    /// Where each name ends.
    ends: Vec<u32>,
}

impl NamePool {
    /// Adds a name. Past 4 GiB of names there are no more.
    pub(super) fn add(&mut self, name: Option<&str>) -> NameId {
        let Some(name) = name.filter(|name| !name.is_empty()) else { return NameId::default() };
        let Ok(end) = u32::try_from(self.text.len() + name.len()) else { return NameId::default() };
        self.text.push_str(name);
        self.ends.push(end);
        NameId(NonZeroU32::new(self.ends.len() as u32))
    }

    /// The name, if it is one.
    pub(super) fn get(&self, name: NameId) -> Option<&str> {
        let index = name.0?.get() as usize - 1;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.text.get(start as usize..self.ends[index] as usize)
    }
}

/// What a million of each may take.
const _: () = {
    assert!(size_of::<OpData>() <= 96, "an op takes more memory");
    assert!(size_of::<ValueData>() <= 48, "a value takes more memory");
    assert!(size_of::<BlockData>() <= 24, "a block takes more memory");
    assert!(size_of::<AttributeKind>() <= 32, "an attribute takes more memory: box what is large and rare");
};
