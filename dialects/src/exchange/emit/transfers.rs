//! Transfers as families where they fit, as columns where not.

use indexmap::IndexMap;
use smallvec::SmallVec;

use super::{Emitter, tile_number};
use crate::declaration::Op;
use crate::exchange::column::column_attribute;
use crate::exchange::families::{factor, family_of, fit_or_table};
use crate::exchange::index::MemberSlice;
use crate::exchange::members::CopyFamily;
use crate::exchange::ops::{CopiesOp, CopyOp};
use crate::exchange::program::{BufferId, Transfers};
use crate::exchange::write_back::set_send;
use crate::ir::{Attribute, BlockId, InsertionPoint, OpId};

/// Most families of a phase that are written however small they are.
const MAX_SMALL_FAMILIES: usize = 64;
/// Members of a family that is always worth an op.
const LARGE_FAMILY: usize = 8;

/// What the members of a family have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    op: OpId,
    source: BufferId,
    destination: BufferId,
    receivers: usize,
    paired: bool,
    lengths: SmallVec<[u32; 2]>,
}

/// A family: rows of the phase in the order of its members, and the columns they give.
struct Fitted {
    key: Key,
    rows: Vec<usize>,
    family: CopyFamily,
}

/// Transfers that may form families by what they have in common, and those that may not.
fn group(transfers: &Transfers) -> (IndexMap<Key, Vec<usize>>, Vec<usize>) {
    let (mut groups, mut rest): (IndexMap<Key, Vec<usize>>, _) = (IndexMap::new(), Vec::new());
    for row in 0..transfers.len() {
        let mut receivers = transfers.receivers_of(row);
        let count = receivers.len();
        let Some(first) = receivers.next().filter(|first| first.shift == 0) else {
            rest.push(row);
            continue;
        };
        if !receivers.all(|other| other.buffer == first.buffer && other.shift == 0) {
            rest.push(row);
            continue;
        }
        let key = Key {
            op: transfers.op[row],
            source: transfers.source_buffer[row],
            destination: first.buffer,
            receivers: count,
            paired: transfers.paired[row],
            lengths: transfers.pieces(row).iter().map(|piece| piece.bytes).collect(),
        };
        groups.entry(key).or_default().push(row);
    }
    (groups, rest)
}

/// The rows as a family, in this order or in that of senders or receivers.
fn fit_group(transfers: &Transfers, key: &Key, rows: Vec<usize>) -> Result<Fitted, Vec<usize>> {
    let by_sender = |&row: &usize| (transfers.source[row], transfers.source_offset[row], row);
    let by_receiver = |&row: &usize| {
        let first = transfers.receivers(row).start;
        (transfers.receiver.get(first).copied(), transfers.pieces(row).first().map(|piece| piece.offset), row)
    };
    let mut order = rows.clone();
    for attempt in 0..3 {
        match attempt {
            0 => {}
            1 => order.sort_unstable_by_key(by_sender),
            _ => order.sort_unstable_by_key(by_receiver),
        }
        if let Some(family) = fit_rows(transfers, key, &order) {
            return Ok(Fitted { key: key.clone(), rows: order, family });
        }
    }
    Err(rows)
}

fn fit_rows(transfers: &Transfers, key: &Key, rows: &[usize]) -> Option<CopyFamily> {
    let column = |value: &dyn Fn(usize) -> i64| rows.iter().map(|&row| value(row)).collect::<Vec<i64>>();
    let mut columns = vec![
        column(&|row| tile_number(transfers.source[row])),
        column(&|row| transfers.source_offset[row].into()),
    ];
    for at in 0..key.receivers {
        columns.push(column(&|row| tile_number(transfers.receiver[transfers.receivers(row).start + at])));
    }
    for at in 0..key.lengths.len() {
        columns.push(column(&|row| transfers.pieces(row)[at].offset.into()));
    }
    let sizes = factor(&columns)?;
    let mut indices = columns.iter().map(|column| fit_or_table(column, &sizes));
    let (from, start) = (indices.next()?, indices.next()?);
    let to = indices.by_ref().take(key.receivers).collect();
    let into = indices.zip(&key.lengths).map(|(start, &length)| MemberSlice { start, length }).collect();
    let length = key.lengths.iter().sum();
    Some(CopyFamily { family: family_of(&sizes), source: MemberSlice { start, length }, from, to, into })
}

impl Emitter<'_> {
    pub(super) fn transfers(&mut self, block: BlockId, transfers: &Transfers) {
        let (groups, mut rest) = group(transfers);
        let mut families = Vec::new();
        for (key, rows) in groups {
            match fit_group(transfers, &key, rows) {
                Ok(fitted) => families.push(fitted),
                Err(rows) => rest.extend(rows),
            }
        }
        if families.len() > MAX_SMALL_FAMILIES {
            let (large, small): (Vec<_>, Vec<_>) =
                families.into_iter().partition(|fitted| fitted.rows.len() >= LARGE_FAMILY);
            families = large;
            rest.extend(small.into_iter().flat_map(|fitted| fitted.rows));
        }
        for fitted in families {
            self.copy(block, transfers, fitted);
        }
        rest.sort_unstable();
        let mut by_source: IndexMap<(OpId, BufferId, bool), Vec<usize>> = IndexMap::new();
        for row in rest {
            let key = (transfers.op[row], transfers.source_buffer[row], transfers.paired[row]);
            by_source.entry(key).or_default().push(row);
        }
        for ((op, source, _), rows) in by_source {
            self.copies(block, transfers, op, source, &rows);
        }
    }

    fn set_sends(&mut self, op: OpId, transfers: &Transfers, rows: &[usize]) {
        if transfers.is_scheduled() {
            let starts: Vec<u32> = rows.iter().map(|&row| transfers.send[row]).collect();
            set_send(self.module, op, &starts);
        }
    }

    fn copy(&mut self, block: BlockId, transfers: &Transfers, fitted: Fitted) {
        let Fitted { key, rows, family } = fitted;
        let state = CopyOp::state()
            .operand(self.value(key.source))
            .operand(self.value(key.destination))
            .attribute("family", Attribute::dialect(family))
            .maybe_attribute("paired", key.paired.then(Attribute::unit));
        let op = self.build(InsertionPoint::BlockEnd(block), key.op, state);
        self.set_sends(op, transfers, &rows);
    }

    fn copies(
        &mut self,
        block: BlockId,
        transfers: &Transfers,
        origin: OpId,
        source: BufferId,
        rows: &[usize],
    ) {
        let by_row = |value: &dyn Fn(usize) -> i64| rows.iter().map(|&row| value(row)).collect::<Vec<i64>>();
        let receivers: Vec<_> = rows.iter().flat_map(|&row| transfers.receivers_of(row)).collect();
        let pieces: Vec<_> = rows.iter().flat_map(|&row| transfers.pieces(row)).collect();
        let mut destinations: IndexMap<BufferId, ()> = IndexMap::new();
        let buffer = |buffer| destinations.insert_full(buffer, ()).0 as i64;
        let buffers: Vec<i64> = receivers.iter().map(|receiver| receiver.buffer).map(buffer).collect();
        let unless = |default: i64, values: Vec<i64>| {
            values.iter().any(|&value| value != default).then(|| column_attribute(values))
        };
        let piece_counts = by_row(&|row| transfers.pieces(row).len() as i64);
        let whole = piece_counts.iter().all(|&count| count == 1);
        let lengths =
            (!whole).then(|| column_attribute(pieces.iter().map(|piece| piece.bytes.into()).collect()));
        let paired = rows.iter().any(|&row| transfers.paired[row]);
        let values: Vec<_> = destinations.keys().map(|&buffer| self.value(buffer)).collect();
        let state = CopiesOp::state()
            .operand(self.value(source))
            .operands(values)
            .attribute("from", column_attribute(by_row(&|row| tile_number(transfers.source[row]))))
            .attribute("offset", column_attribute(by_row(&|row| transfers.source_offset[row].into())))
            .attribute("bytes", column_attribute(by_row(&|row| transfers.bytes[row].into())))
            .maybe_attribute("receivers", unless(1, by_row(&|row| transfers.receivers(row).len() as i64)))
            .attribute("to", column_attribute(receivers.iter().map(|r| tile_number(r.tile)).collect()))
            .maybe_attribute("buffer", unless(0, buffers))
            .maybe_attribute("shift", unless(0, receivers.iter().map(|r| r.shift.into()).collect()))
            .maybe_attribute("pieces", unless(1, piece_counts))
            .attribute("into", column_attribute(pieces.iter().map(|piece| piece.offset.into()).collect()))
            .maybe_attribute("lengths", lengths)
            .maybe_attribute("paired", paired.then(Attribute::unit));
        let op = self.build(InsertionPoint::BlockEnd(block), origin, state);
        self.set_sends(op, transfers, rows);
    }
}
