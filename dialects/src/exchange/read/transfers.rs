//! Copies as families and as columns.

use ipu_device::LogicalTile;

use super::{Read, Reader};
use crate::declaration::Op;
use crate::exchange::codes::ExchangeCode;
use crate::exchange::column::{ColumnAccess, ColumnValues};
use crate::exchange::members::CopyFamily;
use crate::exchange::ops::{CopiesOp, CopyOp};
use crate::exchange::program::{BufferId, Piece, Receiver, Transfer, Transfers};
use crate::ir::OpId;

/// Most receivers or pieces of one `exchange.copies`.
const MAX_COLUMN_ROWS: usize = 1 << 24;

/// The columns of an `exchange.copies`.
struct Columns<'m> {
    from: ColumnValues<'m>,
    offset: ColumnValues<'m>,
    bytes: ColumnValues<'m>,
    receivers: ColumnValues<'m>,
    to: ColumnValues<'m>,
    buffer: ColumnValues<'m>,
    shift: ColumnValues<'m>,
    pieces: ColumnValues<'m>,
    into: ColumnValues<'m>,
    lengths: Option<ColumnValues<'m>>,
}

impl Reader<'_> {
    pub(super) fn copy(&self, op: CopyOp, transfers: &mut Transfers) -> Read<()> {
        let (module, id) = (self.module, op.id());
        let (source, destination) =
            (self.operand(op.source(module), id)?, self.operand(op.destination(module), id)?);
        let CopyFamily { family, source: read, from, to, into } = op.family(module);
        self.check_lengths(op)?;
        let offsets = self.values(id, "source", &read.start, family)?;
        let senders = self.values(id, "from", from, family)?;
        let receivers: Vec<Vec<i64>> =
            to.iter().map(|index| self.values(id, "to", index, family)).collect::<Read<_>>()?;
        let starts: Vec<Vec<i64>> =
            into.iter().map(|slice| self.values(id, "into", &slice.start, family)).collect::<Read<_>>()?;
        let mut row = (Vec::new(), Vec::new());
        for member in 0..family.len() {
            let (targets, pieces) = &mut row;
            targets.clear();
            pieces.clear();
            for column in &receivers {
                let tile = self.tile(id, member, "to", column[member], destination)?;
                targets.push(Receiver { tile, buffer: destination, shift: 0 });
            }
            for (column, slice) in starts.iter().zip(into) {
                let offset = self.range(id, member, "into", column[member], slice.length, destination)?;
                pieces.push(Piece { offset, bytes: slice.length });
            }
            transfers.push(Transfer {
                op: id,
                member: member as u32,
                source: self.tile(id, member, "from", senders[member], source)?,
                source_buffer: source,
                source_offset: self.range(id, member, "source", offsets[member], read.length, source)?,
                bytes: read.length,
                paired: op.paired(module),
                receivers: targets,
                pieces,
            });
        }
        let send = op.send(module).map(|send| self.column(id, "send", send)).transpose()?;
        self.sends(id, send, family.len(), transfers)
    }

    /// Lengths do not depend on the member.
    fn check_lengths(&self, op: CopyOp) -> Read<()> {
        let CopyFamily { source, to, into, .. } = op.family(self.module);
        let written: u64 = into.iter().map(|slice| u64::from(slice.length)).sum();
        if written != u64::from(source.length) {
            let message = format!("{} bytes are read and {written} written, expected as many", source.length);
            return self.fail(ExchangeCode::LengthMismatch, op.id(), message);
        }
        if to.is_empty() {
            return self.fail(
                ExchangeCode::BadTransfer,
                op.id(),
                "`to` names no tile, a transfer has a receiver",
            );
        }
        Ok(())
    }

    /// Appends the starts of the last `rows` transfers, if there are any.
    fn sends(
        &self,
        op: OpId,
        send: Option<ColumnValues<'_>>,
        rows: usize,
        transfers: &mut Transfers,
    ) -> Read<()> {
        let Some(column) = send else { return Ok(()) };
        self.check_rows(op, "send", &column, rows)?;
        for row in 0..rows {
            transfers.send.push(self.cell(op, "send", &column, row)?);
        }
        Ok(())
    }

    pub(super) fn copies(&self, op: CopiesOp, transfers: &mut Transfers) -> Read<()> {
        let (module, id) = (self.module, op.id());
        let source = self.operand(op.source(module), id)?;
        let destinations: Vec<BufferId> =
            op.destinations(module).iter().map(|&value| self.operand(value, id)).collect::<Read<_>>()?;
        let columns = self.columns(op)?;
        let send = op.send(module).map(|send| self.column(id, "send", send)).transpose()?;
        let rows = self.check_columns(id, &columns, send.as_ref())?;
        let (mut receiver, mut piece) = (0, 0);
        let mut row = (Vec::new(), Vec::new());
        for index in 0..rows {
            let (targets, pieces) = &mut row;
            targets.clear();
            pieces.clear();
            for _ in 0..self.cell(id, "receivers", &columns.receivers, index)? {
                targets.push(self.receiver(id, index, &columns, receiver, &destinations)?);
                receiver += 1;
            }
            let bytes = self.cell(id, "bytes", &columns.bytes, index)?;
            for _ in 0..self.cell(id, "pieces", &columns.pieces, index)? {
                let offset = self.cell(id, "into", &columns.into, piece)?;
                let length = columns.lengths.as_ref().map(|lengths| self.cell(id, "lengths", lengths, piece));
                pieces.push(Piece { offset, bytes: length.transpose()?.unwrap_or(bytes) });
                piece += 1;
            }
            self.check_row(id, index, bytes, targets, pieces)?;
            let offset = i64::from(self.cell(id, "offset", &columns.offset, index)?);
            let from = i64::from(self.cell(id, "from", &columns.from, index)?);
            transfers.push(Transfer {
                op: id,
                member: index as u32,
                source: self.tile(id, index, "from", from, source)?,
                source_buffer: source,
                source_offset: self.range(id, index, "offset", offset, bytes, source)?,
                bytes,
                paired: op.paired(module),
                receivers: targets,
                pieces,
            });
        }
        self.sends(id, send, rows, transfers)
    }

    fn columns(&self, op: CopiesOp) -> Read<Columns<'_>> {
        let (module, id) = (self.module, op.id());
        Ok(Columns {
            from: self.column(id, "from", op.from(module))?,
            offset: self.column(id, "offset", op.offset(module))?,
            bytes: self.column(id, "bytes", op.bytes(module))?,
            receivers: self.column_or(id, "receivers", op.receivers(module), 1)?,
            to: self.column(id, "to", op.to(module))?,
            buffer: self.column_or(id, "buffer", op.buffer(module), 0)?,
            shift: self.column_or(id, "shift", op.shift(module), 0)?,
            pieces: self.column_or(id, "pieces", op.pieces(module), 1)?,
            into: self.column(id, "into", op.into(module))?,
            lengths: op.lengths(module).map(|access| self.column(id, "lengths", access)).transpose()?,
        })
    }

    fn column_or<'c>(
        &'c self,
        op: OpId,
        name: &str,
        access: Option<ColumnAccess<'c>>,
        default: i64,
    ) -> Read<ColumnValues<'c>> {
        match access {
            Some(access) => self.column(op, name, access),
            None => Ok(ColumnValues::Same(default)),
        }
    }

    fn column<'c>(&'c self, op: OpId, name: &str, access: ColumnAccess<'c>) -> Read<ColumnValues<'c>> {
        match access.values(self.module) {
            Some(values) => Ok(values),
            None => {
                let message =
                    format!("`{name}` is a resource that the file does not hold, or no 64-bit integers");
                self.fail(ExchangeCode::BadIndex, op, message)
            }
        }
    }

    /// Number of transfers; the columns agree on it, and on the numbers of receivers and pieces.
    fn check_columns(&self, op: OpId, columns: &Columns<'_>, send: Option<&ColumnValues<'_>>) -> Read<usize> {
        let by_transfer = [
            ("from", &columns.from),
            ("offset", &columns.offset),
            ("bytes", &columns.bytes),
            ("receivers", &columns.receivers),
            ("pieces", &columns.pieces),
        ];
        let rows = by_transfer.iter().find_map(|(_, column)| column.rows());
        let shared = |rows: &ColumnValues<'_>, counts: &ColumnValues<'_>| {
            let count =
                counts.get(0).and_then(|count| usize::try_from(count).ok()).filter(|&count| count > 0);
            Some(rows.rows()? / count?)
        };
        let rows = rows.or_else(|| send.and_then(ColumnValues::rows));
        let rows = rows.or_else(|| shared(&columns.to, &columns.receivers));
        let rows = rows.or_else(|| shared(&columns.into, &columns.pieces)).unwrap_or(1);
        for (name, column) in by_transfer {
            self.check_rows(op, name, column, rows)?;
        }
        let receivers = self.total(op, "receivers", &columns.receivers, rows)?;
        for (name, column) in [("to", &columns.to), ("buffer", &columns.buffer), ("shift", &columns.shift)] {
            self.check_rows(op, name, column, receivers)?;
        }
        let pieces = self.total(op, "pieces", &columns.pieces, rows)?;
        self.check_rows(op, "into", &columns.into, pieces)?;
        if let Some(lengths) = &columns.lengths {
            self.check_rows(op, "lengths", lengths, pieces)?;
        }
        Ok(rows)
    }

    fn total(&self, op: OpId, name: &str, column: &ColumnValues<'_>, rows: usize) -> Read<usize> {
        let mut total = 0usize;
        for row in 0..rows {
            total = total.saturating_add(self.cell(op, name, column, row)? as usize);
        }
        if total > MAX_COLUMN_ROWS {
            let message = format!("`{name}` adds up to {total}, more than {MAX_COLUMN_ROWS}");
            return self.fail(ExchangeCode::BadIndex, op, message);
        }
        Ok(total)
    }

    fn check_rows(&self, op: OpId, name: &str, column: &ColumnValues<'_>, rows: usize) -> Read<()> {
        match column.rows() {
            Some(found) if found != rows => {
                let message = format!("`{name}` has {found} entries, expected {rows}");
                self.fail(ExchangeCode::LengthMismatch, op, message)
            }
            _ => Ok(()),
        }
    }

    fn cell(&self, op: OpId, name: &str, column: &ColumnValues<'_>, row: usize) -> Read<u32> {
        match column.get(row).map(u32::try_from) {
            Some(Ok(value)) => Ok(value),
            Some(Err(_)) => {
                let value = column.get(row).unwrap_or(0);
                self.fail(
                    ExchangeCode::BadIndex,
                    op,
                    format!("`{name}` of member {row} is {value}, expected 32 bits without sign"),
                )
            }
            None => self.fail(ExchangeCode::LengthMismatch, op, format!("`{name}` has no entry {row}")),
        }
    }

    fn receiver(
        &self,
        op: OpId,
        member: usize,
        columns: &Columns<'_>,
        row: usize,
        destinations: &[BufferId],
    ) -> Read<Receiver> {
        let index = self.cell(op, "buffer", &columns.buffer, row)?;
        let Some(&buffer) = destinations.get(index as usize) else {
            let message = format!(
                "`buffer` of receiver {row} is {index}, there are {} destinations",
                destinations.len()
            );
            return self.fail(ExchangeCode::BadIndex, op, message);
        };
        let tile = i64::from(self.cell(op, "to", &columns.to, row)?);
        let tile: LogicalTile = self.tile(op, member, "to", tile, buffer)?;
        Ok(Receiver { tile, buffer, shift: self.cell(op, "shift", &columns.shift, row)? })
    }

    fn check_row(
        &self,
        op: OpId,
        row: usize,
        bytes: u32,
        receivers: &[Receiver],
        pieces: &[Piece],
    ) -> Read<()> {
        let written: u64 = pieces.iter().map(|piece| u64::from(piece.bytes)).sum();
        if written != u64::from(bytes) {
            let message =
                format!("transfer {row}: {bytes} bytes are read and {written} written, expected as many");
            return self.fail(ExchangeCode::LengthMismatch, op, message);
        }
        if receivers.is_empty() {
            return self.fail(ExchangeCode::BadTransfer, op, format!("transfer {row} has no receiver"));
        }
        for receiver in receivers {
            for piece in pieces {
                let start = i64::from(piece.offset) + i64::from(receiver.shift);
                self.range(op, row, "into", start, piece.bytes, receiver.buffer)?;
            }
        }
        Ok(())
    }
}
