//! Moves between host and tiles: whole words, on the tiles that the layout of the binding says.

use super::{Checker, tile_text};
use crate::exchange::codes::ExchangeCode;
use crate::exchange::program::{HostMove, HostPart};
use crate::mapped::ImagePlaces;

/// Bytes of a word, the least that the host exchange moves.
const WORD: u32 = 4;

impl Checker<'_> {
    /// Reports the first part that the host exchange cannot move, and the first that is not where the layout says.
    pub(super) fn host_move(&mut self, moves: &HostMove) {
        let Some(binding) = self.program.bindings.get(moves.binding) else { return };
        let odd = |part: &&HostPart| {
            part.slice.bytes == 0 || !(part.slice.offset | part.slice.bytes).is_multiple_of(WORD)
        };
        if let Some(part) = moves.parts.iter().find(odd) {
            let message = format!(
                "the host moves whole words: `{}` has {} bytes from offset {} of `{}` on {}, expected multiples of {WORD}",
                binding.name,
                part.slice.bytes,
                part.slice.offset,
                self.name(part.slice.buffer),
                tile_text(part.tile)
            );
            let error = self.error(ExchangeCode::Misaligned, moves.op, message);
            self.diagnostics.push(error.note("give the layout a `grain` of whole words, or pad the tensor"));
        }
        let Some(places) = ImagePlaces::of_type(&binding.ty) else { return };
        let misplaced = moves.parts.iter().find_map(|part| {
            let bytes =
                u64::from(part.image_offset)..u64::from(part.image_offset) + u64::from(part.slice.bytes);
            places.misplaced(part.tile, bytes).map(|reason| (part, reason))
        });
        if let Some((part, reason)) = misplaced {
            let message = format!("`{}` on {}: {reason}", binding.name, tile_text(part.tile));
            let error = self.error(ExchangeCode::WrongBinding, moves.op, message);
            self.diagnostics.push(error.label(self.module.span(binding.op), "the layout"));
        }
    }
}
