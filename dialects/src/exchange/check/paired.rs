//! 64-bit transfers: pairs of tiles, and buffers whose addresses are multiples of an item. And the incoming base of a phase.

use ipu_device::hash::HashSet;
use ipu_device::{Address, LogicalTile};

use super::{Checker, tile_text};
use crate::exchange::codes::ExchangeCode;
use crate::exchange::program::{BufferId, Phase};
use crate::ir::OpId;

/// Bytes of a 64-bit item.
const ITEM: u32 = 8;

impl Checker<'_> {
    /// Both tiles of each receiving pair receive, the sender's partner is there to lend its lane, and addresses can be
    /// multiples of an item. One finding an op.
    pub(super) fn paired(&mut self, phase: &Phase) {
        let transfers = &phase.transfers;
        let mut reported: HashSet<OpId> = HashSet::default();
        let tiles: HashSet<LogicalTile> = self.program.tiles.iter().copied().collect();
        for row in (0..transfers.len()).filter(|&row| transfers.paired[row]) {
            let (op, member) = (transfers.op[row], transfers.member[row]);
            let reached = |tile| transfers.receivers_of(row).any(|receiver| receiver.tile == tile);
            let lonely = transfers.receivers_of(row).find(|receiver| !reached(receiver.tile.partner()));
            let buffers = transfers.receivers_of(row).map(|receiver| receiver.buffer);
            let narrow = std::iter::once(transfers.source_buffer[row])
                .chain(buffers)
                .find(|&buffer| !self.program.buffer(buffer).align.0.is_multiple_of(ITEM));
            let lender = transfers.source[row].partner();
            let problem = if let Some(receiver) = lonely {
                Some(half_pair(member, receiver.tile))
            } else if !tiles.contains(&lender) {
                Some(no_lender(member, transfers.source[row]))
            } else {
                narrow.map(|buffer| self.narrow_buffer(buffer))
            };
            if let Some((code, message)) = problem.filter(|_| reported.insert(op)) {
                let error = self.error(code, op, message);
                self.diagnostics
                    .push(error.note("a paired transfer moves 64 bits an event to pairs of tiles"));
            }
        }
    }

    fn narrow_buffer(&self, buffer: BufferId) -> (ExchangeCode, String) {
        let align = self.program.buffer(buffer).align;
        let message = format!("`{}` has align {}, expected a multiple of {ITEM}", self.name(buffer), align.0);
        (ExchangeCode::Misaligned, message)
    }

    /// A base is the address of a word, and stands in a program whose buffers have addresses.
    pub(super) fn incoming_base(&mut self, phase: &Phase) {
        if phase.base.is_none() {
            return;
        }
        if !self.program.is_placed() {
            let message =
                format!("phase `@{}` has a `base`, the buffers of the program have no `at`", phase.name);
            let error = self.error(ExchangeCode::HalfState, phase.op, message);
            self.diagnostics.push(error.note("a base is chosen with the addresses that are relative to it"));
        }
        let odd = |tile: &&LogicalTile| !phase.incoming_base(**tile).0.is_multiple_of(4);
        if let Some(&tile) = self.program.tiles.iter().find(odd) {
            let Address(base) = phase.incoming_base(tile);
            let message = format!(
                "the base of phase `@{}` on {} is {base:#x}, expected a multiple of 4",
                phase.name,
                tile_text(tile)
            );
            self.report(ExchangeCode::Misaligned, phase.op, message);
        }
    }
}

fn half_pair(member: u32, receiver: LogicalTile) -> (ExchangeCode, String) {
    let (tile, partner) = (tile_text(receiver), tile_text(receiver.partner()));
    (ExchangeCode::BadTransfer, format!("member {member} reaches {tile} and not its partner, {partner}"))
}

fn no_lender(member: u32, source: LogicalTile) -> (ExchangeCode, String) {
    let (tile, partner) = (tile_text(source), tile_text(source.partner()));
    let message = format!(
        "member {member} sends from {tile} over the lane of {partner} too, which is no tile of the program"
    );
    (ExchangeCode::NoSuchTile, message)
}
