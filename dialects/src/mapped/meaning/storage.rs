//! The storage meaning: what an op does to the bytes of each shard, as [`calls::work`] says.

use std::collections::BTreeMap;

use ipu_device::LogicalTile;
use ipu_device::numerics::decode_elements;
use rayon::prelude::*;

use super::logical::LogicalValue;
use super::memory::{CallMemory, Piece, TileMemory};
use crate::ir::{Module, OpId};
use crate::mapped::calls::{self, Stage, Storage, TileCall, Work};
use crate::mapped::codes::{MappedCode, MappedError};
use crate::mapped::layout::Replicas;
use crate::mapped::sharded::ShardedTensor;
use crate::tensor_data::TensorData;

/// The storage of one shard.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shard {
    /// Its bytes, padding included.
    pub bytes: Vec<u8>,
    /// Whether each byte is written; empty stands for all.
    pub written: Vec<bool>,
}

/// A tensor as its tiles hold it.
#[derive(Debug, Clone)]
pub struct Shards {
    /// Layout and element type.
    pub tensor: ShardedTensor,
    /// The shards, by shard number.
    pub shards: Vec<Shard>,
}

impl Shards {
    /// The shards of a tensor that enters; padding is zero.
    ///
    /// # Errors
    /// The layout holds partial values, or the data does not suit it.
    pub fn pack(tensor: ShardedTensor, data: &TensorData) -> Result<Self, MappedError> {
        let shards = tensor.placement.pack(&data.bytes)?;
        let shards = shards.into_iter().map(|bytes| Shard { bytes, written: Vec::new() }).collect();
        Ok(Self { tensor, shards })
    }

    /// The whole tensor. Copies other than the first are not read.
    ///
    /// # Errors
    /// The layout holds partial values, or an element was never written.
    pub fn unpack(&self) -> Result<TensorData, MappedError> {
        self.unpack_all()?.into_whole()
    }

    /// The whole tensor, or each of its partials.
    ///
    /// # Errors
    /// An element was never written.
    pub fn unpack_all(&self) -> Result<LogicalValue, MappedError> {
        self.check_written()?;
        let placement = &self.tensor.placement;
        let parts = match placement.layout().replicas {
            Replicas::Partial(count) => count,
            _ => 1,
        };
        let bytes: Vec<&[u8]> = self.shards.iter().map(|shard| shard.bytes.as_slice()).collect();
        let shape: Vec<u64> = placement.shape().map(u64::from).collect();
        let part = |part| -> Result<TensorData, MappedError> {
            let bytes = placement.unpack_replica(&bytes, part)?;
            Ok(TensorData { shape: shape.clone(), element: self.tensor.element, bytes })
        };
        Ok(LogicalValue { parts: (0..parts).map(part).collect::<Result<_, _>>()? })
    }

    /// The numbers of a shard in storage order, padding included.
    #[must_use]
    pub fn values(&self, shard: u32) -> Vec<f64> {
        let element = self.tensor.element;
        let bytes = self.shards.get(shard as usize).map_or(&[][..], |shard| &shard.bytes);
        decode_elements(element.element, element.scale, bytes).unwrap_or_default()
    }

    /// The image of the tensor; see [`Placement::image_ranges`](crate::mapped::layout::Placement::image_ranges).
    #[must_use]
    pub fn image(&self) -> Vec<u8> {
        let mut image = Vec::new();
        for (range, shard) in self.tensor.placement.image_ranges().into_iter().zip(&self.shards) {
            if range.start == image.len() {
                image.extend_from_slice(&shard.bytes);
            }
        }
        image
    }

    /// The shards of the tensor with that image.
    ///
    /// # Errors
    /// The image is shorter than the layout asks for.
    pub fn from_image(tensor: ShardedTensor, image: &[u8]) -> Result<Self, MappedError> {
        let ranges = tensor.placement.image_ranges();
        let whole = ranges.last().map_or(0, |last| last.end);
        let bytes: Option<Vec<&[u8]>> = ranges.into_iter().map(|range| image.get(range)).collect();
        let short = || {
            let message = format!("an image of {} bytes, expected {whole}", image.len());
            MappedError::new(MappedCode::Fault, message)
        };
        let shard = |bytes: &[u8]| Shard { bytes: bytes.to_vec(), written: Vec::new() };
        let shards = bytes.ok_or_else(short)?.into_iter().map(shard).collect();
        Ok(Self { tensor, shards })
    }

    /// Every logical element is written in the shards that are read.
    fn check_written(&self) -> Result<(), MappedError> {
        let placement = &self.tensor.placement;
        let width = placement.element_bytes() as usize;
        for ((number, tile), shard) in (0u32..).zip(placement.tiles()).zip(&self.shards) {
            for (element, written) in (0u32..).zip(shard.written.chunks(width.max(1))) {
                let missing = written.contains(&false);
                if let Some(coordinates) = placement.coordinates(number, element).filter(|_| missing) {
                    let message = format!(
                        "element {coordinates:?}, number {element} of shard {number} on tile {tile}, was never written"
                    );
                    return Err(MappedError::new(MappedCode::Fault, message));
                }
            }
        }
        Ok(())
    }
}

/// The result of `mapped` op `op` on shards.
///
/// # Errors
/// The op has no work, or a kernel reads what nothing wrote.
pub fn execute(module: &Module, op: OpId, operands: &[&Shards]) -> Result<Shards, MappedError> {
    let work = calls::work(module, op)?;
    let result = ShardedTensor::of(module, module.result(op, 0))?;
    run(&work, operands, result)
}

/// What an op left in the storage that lives while it runs: the scratch's name, and the bytes of each tile.
pub type ScratchShards = Vec<(&'static str, BTreeMap<LogicalTile, Shard>)>;

/// As [`execute`], with what is left in the scratch of the op.
///
/// # Errors
/// As [`execute`].
pub fn execute_with_scratch(
    module: &Module,
    op: OpId,
    operands: &[&Shards],
) -> Result<(Shards, ScratchShards), MappedError> {
    let work = calls::work(module, op)?;
    let result = ShardedTensor::of(module, module.result(op, 0))?;
    run_with_scratch(&work, operands, result)
}

/// Executes `work`.
pub(super) fn run(work: &Work, operands: &[&Shards], result: ShardedTensor) -> Result<Shards, MappedError> {
    Ok(run_with_scratch(work, operands, result)?.0)
}

fn run_with_scratch(
    work: &Work,
    operands: &[&Shards],
    result: ShardedTensor,
) -> Result<(Shards, ScratchShards), MappedError> {
    if work.stages.is_empty() && operands.len() == 1 {
        // The same bytes under another layout.
        let shards = operands.iter().flat_map(|one| one.shards.clone()).collect();
        return Ok((Shards { tensor: result, shards }, Vec::new()));
    }
    let mut tiles = memories(work, operands, &result);
    for stage in &work.stages {
        exchange(stage, &mut tiles)?;
        compute(stage, &mut tiles)?;
    }
    let mut shards = Vec::with_capacity(result.placement.shard_count() as usize);
    for tile in result.placement.tiles() {
        let piece = tiles.get_mut(tile).and_then(|memory| memory.take(Storage::Result));
        shards.push(piece.map(Piece::into_shard).unwrap_or_default());
    }
    let mut scratch = ScratchShards::new();
    for (number, kind) in (0u32..).zip(&work.scratch) {
        let left = tiles.iter_mut().filter_map(|(tile, memory)| {
            memory.take(Storage::Scratch(number)).map(|piece| (*tile, piece.into_shard()))
        });
        scratch.push((kind.name, left.collect()));
    }
    Ok((Shards { tensor: result, shards }, scratch))
}

type Tiles<'a> = BTreeMap<LogicalTile, TileMemory<'a>>;

fn memories<'a>(work: &Work, operands: &[&'a Shards], result: &ShardedTensor) -> Tiles<'a> {
    let mut tiles = Tiles::new();
    for (number, operand) in (0u32..).zip(operands) {
        for (tile, shard) in operand.tensor.placement.tiles().iter().zip(&operand.shards) {
            tiles.entry(*tile).or_default().add(Storage::Operand(number), Piece::of(shard));
        }
    }
    for (shard, tile) in (0u32..).zip(result.placement.tiles()) {
        let bytes = result.placement.shard_bytes(shard).0;
        tiles.entry(*tile).or_default().add(Storage::Result, Piece::unwritten(bytes));
    }
    for (number, scratch) in (0u32..).zip(&work.scratch) {
        for (tile, bytes) in &scratch.bytes {
            tiles.entry(*tile).or_default().add(Storage::Scratch(number), Piece::unwritten(bytes.0));
        }
    }
    tiles
}

fn fault(tile: LogicalTile, what: &str, reason: &str) -> MappedError {
    MappedError::new(MappedCode::Fault, format!("{what} on tile {tile}: {reason}"))
}

/// All moves read before any writes.
fn exchange(stage: &Stage, tiles: &mut Tiles<'_>) -> Result<(), MappedError> {
    let absent = "there is no such storage";
    let mut sent = Vec::with_capacity(stage.moves.len());
    for run in &stage.moves {
        let piece = tiles.get(&run.source).and_then(|memory| memory.piece(run.from));
        let bytes = piece.ok_or_else(|| absent.to_owned());
        let bytes = bytes.and_then(|piece| piece.read(run.source_offset.0, run.bytes.0 as usize));
        sent.push(bytes.map_err(|reason| fault(run.source, "a transfer sends", &reason))?.to_vec());
    }
    for (run, bytes) in stage.moves.iter().zip(sent) {
        for &tile in &run.destinations {
            let piece = tiles.get_mut(&tile).and_then(|memory| memory.piece_mut(run.to));
            piece
                .ok_or_else(|| absent.to_owned())
                .and_then(|piece| piece.write(run.destination_offset.0, &bytes))
                .map_err(|reason| fault(tile, "a transfer arrives", &reason))?;
        }
    }
    Ok(())
}

/// The calls of each tile in order, tiles side by side.
fn compute(stage: &Stage, tiles: &mut Tiles<'_>) -> Result<(), MappedError> {
    let mut by_tile: BTreeMap<LogicalTile, Vec<&TileCall>> = BTreeMap::new();
    for call in &stage.calls {
        by_tile.entry(call.tile).or_default().push(call);
    }
    let mut jobs: Vec<(&LogicalTile, &mut TileMemory<'_>, Vec<&TileCall>)> = Vec::new();
    for (tile, memory) in tiles.iter_mut() {
        if let Some(calls) = by_tile.remove(tile) {
            jobs.push((tile, memory, calls));
        }
    }
    let outcomes: Vec<Result<(), MappedError>> = jobs
        .into_par_iter()
        .map(|(tile, memory, calls)| {
            for call in calls {
                let mut memory = CallMemory { memory, operands: &call.operands };
                call.kernel.run(&call.scalars, &mut memory).map_err(|found| {
                    fault(*tile, &format!("call of `@{}`", call.kernel.symbol()), &found.to_string())
                })?;
            }
            Ok(())
        })
        .collect();
    outcomes.into_iter().collect()
}
