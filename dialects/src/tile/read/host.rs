//! Pages and calls of the host that the text gives explicitly.

use ipu_device::package::{HostCall, HostExchange, HostPage, HostSlice};

use super::{Read, Reader};
use crate::declaration::Op;
use crate::exchange::{ColumnAccess, ColumnValues};
use crate::ir::OpId;
use crate::tile::codes::TileCode;
use crate::tile::ops::{HostCallOp, HostPagesOp};

/// The four columns of slices, and the ends of batches.
struct Slices<'m> {
    columns: [Option<ColumnAccess<'m>>; 4],
    batches: &'m [i64],
}

impl Reader<'_> {
    fn host_error<T>(&self, op: OpId, message: impl Into<String>) -> Read<T> {
        Err(self.error(TileCode::HostExchange, op, message))
    }

    fn narrow<T: TryFrom<i64>>(&self, op: OpId, what: &str, value: i64) -> Read<T> {
        T::try_from(value).or_else(|_| self.host_error(op, format!("`{what}` is {value}, out of range")))
    }

    fn narrow_all<T: TryFrom<i64>>(&self, op: OpId, what: &str, values: &[i64]) -> Read<Vec<T>> {
        values.iter().map(|&value| self.narrow(op, what, value)).collect()
    }

    pub(super) fn host_pages(&mut self, op: HostPagesOp) -> Read<()> {
        let (module, id) = (self.module, op.id());
        let indices: Vec<u32> = self.narrow_all(id, "indices", op.indices(module))?;
        let sizes: Vec<u64> = self.narrow_all(id, "sizes", op.sizes(module))?;
        if indices.len() != sizes.len() {
            return self.host_error(id, format!("{} pages and {} sizes", indices.len(), sizes.len()));
        }
        let exchange = HostExchange {
            startup_mark: self.narrow(id, "startup", op.startup(module))?,
            command_page: self.narrow(id, "command", op.command_page(module))?,
            command_offset: self.narrow(id, "at", op.command_offset(module))?,
            pages: indices.into_iter().zip(sizes).map(|(index, size)| HostPage { index, size }).collect(),
            attach_order: self.narrow_all(id, "attach", op.order(module))?,
            calls: Vec::new(),
        };
        if self.program.host.is_some() {
            return self.host_error(id, "a program has `tile.host_pages` once, before its calls");
        }
        self.program.host = Some(exchange);
        Ok(())
    }

    pub(super) fn host_call(&mut self, op: HostCallOp) -> Read<()> {
        let (module, id) = (self.module, op.id());
        let inputs = Slices {
            columns: [op.in_page(module), op.in_at(module), op.in_offset(module), op.in_bytes(module)],
            batches: op.in_batches(module).unwrap_or(&[]),
        };
        let outputs = Slices {
            columns: [op.out_page(module), op.out_at(module), op.out_offset(module), op.out_bytes(module)],
            batches: op.out_batches(module).unwrap_or(&[]),
        };
        let call = HostCall {
            name: op.name(module).to_owned(),
            command: self.narrow(id, "command", op.command(module))?,
            phases: self.narrow(id, "phases", op.phases(module))?,
            invocations: self.narrow(id, "invocations", op.invocations(module))?,
            input_batch_ends: self.narrow_all(id, "batches", inputs.batches)?,
            inputs: self.host_slices(id, &inputs)?,
            output_batch_ends: self.narrow_all(id, "batches", outputs.batches)?,
            outputs: self.host_slices(id, &outputs)?,
        };
        match &mut self.program.host {
            Some(host) => host.calls.push(call),
            None => return self.host_error(id, "a call stands after `tile.host_pages`"),
        }
        Ok(())
    }

    /// The slices: as many as the last batch ends at.
    fn host_slices(&self, op: OpId, slices: &Slices<'_>) -> Read<Vec<HostSlice>> {
        let Some(&count) = slices.batches.last() else { return Ok(Vec::new()) };
        let names = ["page", "at", "offset", "bytes"];
        let mut columns: Vec<ColumnValues<'_>> = Vec::new();
        for (name, column) in names.iter().zip(&slices.columns) {
            let values = column.and_then(|column| column.values(self.module));
            let rows = values.as_ref().and_then(ColumnValues::rows);
            let fits = rows.is_none_or(|rows| i64::try_from(rows) == Ok(count));
            match values {
                Some(values) if fits => columns.push(values),
                _ => return self.host_error(op, format!("column `{name}` has no {count} rows")),
            }
        }
        let rows: u32 = self.narrow(op, "batches", count)?;
        let limit = crate::limits::MAX_FAMILY_MEMBERS;
        if u64::from(rows) > limit {
            return self.host_error(op, format!("{rows} slices, expected at most {limit}"));
        }
        let value = |column: usize, row: usize| {
            let value = columns.get(column).and_then(|column| column.get(row)).unwrap_or(-1);
            self.narrow::<u64>(op, names[column], value)
        };
        (0..rows as usize)
            .map(|row| {
                let page = value(0, row)?;
                Ok(HostSlice {
                    page: self.narrow(op, "page", i64::try_from(page).unwrap_or(-1))?,
                    page_offset: value(1, row)?,
                    file_offset: value(2, row)?,
                    size: value(3, row)?,
                })
            })
            .collect()
    }
}
