//! What an op makes its tiles do: the one place that turns a `mapped` op into transfers and kernel calls.
//!
//! Rules:
//!
//! * the storage meaning executes a [`Work`] as it stands, and expansion emits it as it stands: there is no second version;
//! * stages run one after the other; in a stage all moves read before any writes, then the calls run, those of a tile
//!   in order;
//! * a call is bound to the padded shards of its tile by the kernel registry, so uneven shards have calls of their own;
//! * local bytes move by copy kernels, runs at regular distances by one strided call.

mod cast;
mod conversion;
mod copies;
mod gemm;
mod reduce;

use std::collections::BTreeMap;

use ipu_device::kernels::{Family, Kernel, KernelEntry, ScalarValues};
use ipu_device::memory_map::MemoryClass;
use ipu_device::{Bytes, LogicalTile};
use smallvec::SmallVec;

use super::codes::{MappedCode, MappedError};
use super::ops::{Cast, ConvertLayout, Gemm, Reduce, Relabel};
use super::sharded::ShardedTensor;
use super::verify::same_tiles;
use crate::ir::{Module, OpId, SymbolRef, ValueId};

/// What a call or a move works on: storage that every tile has at most once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Storage {
    /// The tile's shard of operand number `.0`.
    Operand(u32),
    /// The tile's shard of the result.
    Result,
    /// The tile's part of scratch number `.0` in [`Work::scratch`].
    Scratch(u32),
}

/// Storage that lives only while the op runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scratch {
    /// A name for the buffer: `remote`, `own`.
    pub name: &'static str,
    /// Memory class.
    pub memory: MemoryClass,
    /// Bytes on each tile that has it, by tile.
    pub bytes: BTreeMap<LogicalTile, Bytes>,
}

/// The name of the buffer that holds `value`: its own, or `v` and its number.
#[must_use]
pub fn buffer_name(module: &Module, value: ValueId) -> String {
    module.value_name(value).map_or_else(|| format!("v{}", value.index()), str::to_owned)
}

/// Bytes that go from one tile to others in an exchange phase. Whole words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// Tile that sends.
    pub source: LogicalTile,
    /// Storage on it.
    pub from: Storage,
    /// First byte there.
    pub source_offset: Bytes,
    /// Tiles that receive; never the source.
    pub destinations: SmallVec<[LogicalTile; 4]>,
    /// Storage on each of them.
    pub to: Storage,
    /// First byte there, the same on all.
    pub destination_offset: Bytes,
    /// Length.
    pub bytes: Bytes,
}

/// An operand of a call: the bytes that the kernel touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallOperand {
    /// Storage on the tile of the call.
    pub storage: Storage,
    /// First byte there.
    pub offset: Bytes,
    /// Bytes from it, gaps of strided access included, read-ahead excluded.
    pub bytes: Bytes,
}

/// A kernel call on one tile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TileCall {
    /// The tile.
    pub tile: LogicalTile,
    /// The kernel, constants included.
    pub kernel: Kernel,
    /// Operands in the kernel's order, the output first.
    pub operands: SmallVec<[CallOperand; 4]>,
    /// Scalars.
    pub scalars: ScalarValues,
}

impl TileCall {
    /// The call of `kernel` with operands that start at these places; lengths are what the kernel touches.
    fn new(
        tile: LogicalTile,
        kernel: Kernel,
        scalars: ScalarValues,
        places: &[(Storage, u32)],
    ) -> Result<Self, MappedError> {
        let extents = kernel.extents(&scalars)?;
        let operands = places
            .iter()
            .zip(&extents)
            .map(|(&(storage, offset), extent)| CallOperand {
                storage,
                offset: Bytes(offset),
                bytes: extent.bytes,
            })
            .collect();
        Ok(Self { tile, kernel, operands, scalars })
    }
}

/// Moves, then calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stage {
    /// One exchange phase; empty for none.
    pub moves: Vec<Move>,
    /// Calls by tile; those of a tile in the order in which they run.
    pub calls: Vec<TileCall>,
}

impl Stage {
    fn of_calls(calls: Vec<TileCall>) -> Self {
        Self { moves: Vec::new(), calls }
    }

    /// Whether nothing happens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.moves.is_empty() && self.calls.is_empty()
    }
}

/// All that an op makes its tiles do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Work {
    /// Storage beside operands and result.
    pub scratch: Vec<Scratch>,
    /// Stages in order, none of them empty. Without stages the result is the operand's storage itself.
    pub stages: Vec<Stage>,
}

impl Work {
    fn push(&mut self, stage: Stage) {
        if !stage.is_empty() {
            self.stages.push(stage);
        }
    }
}

/// The work of `mapped` op `op`.
///
/// # Errors
/// Layouts, kernel and shards do not fit together, or the op computes nothing on tiles.
pub fn work(module: &Module, op: OpId) -> Result<Work, MappedError> {
    let tensor = |value| ShardedTensor::of(module, value);
    if let Some(convert) = module.cast::<ConvertLayout>(op) {
        let (from, to) = (tensor(convert.input(module))?, tensor(convert.result(module))?);
        return conversion::work(&from, &to);
    }
    if let Some(cast) = module.cast::<Cast>(op) {
        let (from, to) = (tensor(cast.input(module))?, tensor(cast.result(module))?);
        return cast::work(entry(cast.kernel(module), Family::Cast)?, &from, &to);
    }
    if let Some(relabel) = module.cast::<Relabel>(op) {
        let (from, to) = (tensor(relabel.input(module))?, tensor(relabel.result(module))?);
        return relabel_work(&from, &to);
    }
    if let Some(gemm) = module.cast::<Gemm>(op) {
        let operands = [tensor(gemm.left(module))?, tensor(gemm.right(module))?];
        let result = tensor(gemm.result(module))?;
        let entry = entry(gemm.kernel(module), Family::Gemm)?;
        return gemm::work(entry, gemm.block(module), &operands, &result);
    }
    if let Some(reduce) = module.cast::<Reduce>(op) {
        let (from, to) = (tensor(reduce.input(module))?, tensor(reduce.result(module))?);
        let entry = entry(reduce.kernel(module), Family::Reduce)?;
        return reduce::work(entry, reduce.staging(module) == "one", &from, &to);
    }
    let message = format!("`{}` is no op that tiles execute", module.name(op));
    Err(MappedError::new(MappedCode::Misplaced, message))
}

/// The registry entry `symbol`, which must be for `family`.
fn entry(symbol: &SymbolRef, family: Family) -> Result<&'static KernelEntry, MappedError> {
    let name = symbol.leaf();
    let Some(entry) = KernelEntry::find(name) else {
        let known = ipu_device::kernels::entries().filter(|entry| entry.family == family);
        let known: Vec<&str> = known.map(|entry| entry.name).collect();
        let hint = match crate::spelling::nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `@{near}`?"),
            None => format!("known are {}", known.join(", ")),
        };
        let message = format!("the kernel registry has no entry `@{name}`; {hint}");
        return Err(MappedError::new(MappedCode::Kernel, message));
    };
    if entry.family != family {
        let message = format!("kernel `@{name}` is of family {:?}, expected {family:?}", entry.family);
        return Err(MappedError::new(MappedCode::Kernel, message));
    }
    Ok(entry)
}

fn relabel_work(from: &ShardedTensor, to: &ShardedTensor) -> Result<Work, MappedError> {
    if from.element != to.element || !from.placement.shape().eq(to.placement.shape()) {
        let message = "a relabel keeps shape and element type; `mapped.cast` changes elements";
        return Err(MappedError::new(MappedCode::Disagree, message));
    }
    same_tiles(from, to, "a relabel")?;
    for shard in 0..from.placement.shard_count() {
        let (old, new) = (from.placement.shard_bytes(shard), to.placement.shard_bytes(shard));
        if old != new {
            let message = format!("shard {shard} has {old} in the operand and {new} in the result");
            return Err(MappedError::new(MappedCode::Disagree, message));
        }
    }
    Ok(Work::default())
}
