//! What a module stores of each op, block, region and value. A million of each must fit in little memory, so rare parts are boxed,
//! results are a range of ids, and names are ranges of one text.

use std::ops::Range;

use smallvec::SmallVec;

use super::attribute::Attribute;
use super::entity::{BlockId, OpId, RegionId, ValueId};
use super::location::{Location, Origin};
use super::module::{OpKind, Use, ValueSource};
use super::name::Name;
use super::types::Type;
use crate::source::Span;

#[derive(Debug, Clone)]
pub(super) struct OpData {
    pub(super) kind: OpKind,
    pub(super) operands: SmallVec<[ValueId; 4]>,
    /// Results have consecutive ids, made with the op.
    pub(super) first_result: u32,
    pub(super) result_count: u32,
    pub(super) attributes: Box<[(Name, Attribute)]>,
    pub(super) location: Option<Location>,
    pub(super) extra: Option<Box<OpExtra>>,
    pub(super) parent: Option<BlockId>,
    pub(super) previous: Option<OpId>,
    pub(super) next: Option<OpId>,
    pub(super) span: Span,
    pub(super) live: bool,
}

impl OpData {
    /// Where the results are among all values.
    pub(super) fn result_range(&self) -> Range<usize> {
        let first = self.first_result as usize;
        first..first + self.result_count as usize
    }
}

/// What few ops have.
#[derive(Debug, Clone, Default)]
pub(super) struct OpExtra {
    pub(super) regions: SmallVec<[RegionId; 2]>,
    pub(super) successors: SmallVec<[BlockId; 2]>,
    pub(super) origin: Option<Origin>,
}

#[derive(Debug, Clone)]
pub(super) struct BlockData {
    pub(super) region: Option<RegionId>,
    pub(super) arguments: SmallVec<[ValueId; 4]>,
    pub(super) first: Option<OpId>,
    pub(super) last: Option<OpId>,
    pub(super) name: NameRange,
}

#[derive(Debug, Clone)]
pub(super) struct RegionData {
    pub(super) owner: Option<OpId>,
    pub(super) blocks: SmallVec<[BlockId; 4]>,
}

#[derive(Debug, Clone)]
pub(super) struct ValueData {
    pub(super) ty: Type,
    pub(super) source: ValueSource,
    pub(super) name: NameRange,
    /// Uses, and former uses that are dropped when they outnumber the real ones.
    pub(super) uses: SmallVec<[Use; 2]>,
    pub(super) use_count: u32,
}

/// A name in a [`NamePool`]; the default is no name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct NameRange {
    start: u32,
    length: u32,
}

/// The names of values and blocks of a module, one behind another.
#[derive(Debug, Clone, Default)]
pub(super) struct NamePool(String);

impl NamePool {
    /// Adds a name. Past 4 GiB of names there are no more.
    pub(super) fn add(&mut self, name: Option<&str>) -> NameRange {
        let Some(name) = name.filter(|name| !name.is_empty()) else { return NameRange::default() };
        match (u32::try_from(self.0.len()), u32::try_from(name.len())) {
            (Ok(start), Ok(length)) if start.checked_add(length).is_some() => {
                self.0.push_str(name);
                NameRange { start, length }
            }
            _ => NameRange::default(),
        }
    }

    /// The name, if it is one.
    pub(super) fn get(&self, name: NameRange) -> Option<&str> {
        let start = name.start as usize;
        (name.length > 0).then(|| self.0.get(start..start + name.length as usize)).flatten()
    }
}
