//! Wrong exchange programs: expanded, rewritten, scheduled or placed wrongly.

use ipu_device::kernels::ScalarValues;
use ipu_device::memory_map::{INTERLEAVED_BASE, MEMORY_END};
use ipu_device::{Address, Bytes, LogicalTile};
use ipu_dialects::exchange::program::{Buffer, Compute, HostMove, PerTile, Transfers};
use ipu_dialects::exchange::{Phase, Program, Run, Step};

use super::{Mutation, Plant, on_split_seed};

const fn wrong(
    name: &'static str,
    pass: &'static str,
    op: &'static str,
    summary: &'static str,
    plant: fn(&mut Program) -> Option<()>,
) -> Mutation {
    on_split_seed(name, pass, op, summary, Plant::Exchange(plant))
}

const EXPAND: &str = "expand-plans";
const OPTIMIZE: &str = "optimize-exchanges";
const SCHEDULE: &str = "schedule-exchanges";
const PLACE: &str = "place-storage";
const REPLACE: &str = "optimize-exchange-placement";

pub(super) static MUTATIONS: &[Mutation] = &[
    wrong(
        "dropped-transfer",
        EXPAND,
        "mapped.convert_layout",
        "a transfer of a gather left out",
        dropped_transfer,
    ),
    wrong("dropped-partial", EXPAND, "mapped.reduce", "a partial that never travels", dropped_partial),
    wrong(
        "double-added-partial",
        EXPAND,
        "exchange.run",
        "a tile's own partial added twice",
        double_added_partial,
    ),
    wrong("wrong-source-offset", EXPAND, "exchange.copy", "bytes read 8 too far on", wrong_source_offset),
    wrong("wrong-destination", EXPAND, "exchange.copy", "two destinations exchanged", wrong_destination),
    wrong("wrong-source-tile", EXPAND, "exchange.copy", "bytes of the neighbour", wrong_source_tile),
    wrong("short-transfer", EXPAND, "mapped.reduce", "a transfer a word short", short_transfer),
    wrong(
        "swapped-multicast-members",
        EXPAND,
        "exchange.copy",
        "members of two multicasts exchanged",
        swapped_members,
    ),
    wrong("wrong-loop-bound", EXPAND, "mapped.convert_layout", "a copy of one row less", |program| {
        scalar(program, "copy_strided_u64", "rows", -1)
    }),
    wrong("wrong-stride", EXPAND, "exchange.run", "a copy with another distance between rows", |program| {
        scalar(program, "copy_strided_u64", "source_stride", -4)
    }),
    wrong("wrong-product-scale", EXPAND, "exchange.run", "a product scaled by half", |program| {
        scalar(program, "gemm_f143_f16", "product_scale", -1)
    }),
    wrong(
        "swapped-host-parts",
        EXPAND,
        "exchange.load_host",
        "parts of an input on each other's tiles",
        swapped_host_parts,
    ),
    wrong(
        "shifted-result",
        EXPAND,
        "exchange.store_host",
        "two parts of the result exchanged",
        shifted_result,
    ),
    wrong(
        "compute-before-exchange",
        EXPAND,
        "exchange.run",
        "a kernel before the exchange that feeds it",
        compute_before_exchange,
    ),
    wrong(
        "wrong-coalescing",
        OPTIMIZE,
        "exchange.copy",
        "a merged transfer that starts at its second part",
        wrong_coalescing,
    ),
    wrong(
        "dropped-receiver",
        OPTIMIZE,
        "exchange.copy",
        "a multicast without its last receiver",
        dropped_receiver,
    ),
    wrong(
        "swapped-pieces",
        OPTIMIZE,
        "exchange.copy",
        "pieces of a merged transfer in another order",
        swapped_pieces,
    ),
    wrong(
        "hoisted-phase",
        OPTIMIZE,
        "exchange.copy",
        "a phase moved above the kernels that it reads from",
        hoisted_phase,
    ),
    wrong("equal-times", SCHEDULE, "exchange.copy", "a tile that sends two transfers at once", equal_times),
    wrong(
        "all-at-once",
        SCHEDULE,
        "exchange.copy",
        "two senders that reach one receiver at once",
        all_at_once,
    ),
    wrong(
        "before-the-row",
        SCHEDULE,
        "exchange.copy",
        "a send before its receivers can listen",
        before_the_row,
    ),
    wrong(
        "overlapping-lifetimes",
        PLACE,
        "exchange.buffer",
        "a buffer on another that is still in use",
        overlapping_lifetimes,
    ),
    wrong("misaligned", PLACE, "exchange.buffer", "a buffer 4 bytes off its alignment", misaligned),
    wrong(
        "missing-tail",
        PLACE,
        "exchange.buffer",
        "a kernel's look-ahead past the end of memory",
        missing_tail,
    ),
    wrong("wrong-memory", PLACE, "exchange.buffer", "an interleaved buffer in standard memory", wrong_memory),
    wrong(
        "moved-onto-another",
        REPLACE,
        "exchange.buffer",
        "a buffer moved onto one that is in use",
        overlapping_lifetimes,
    ),
    wrong(
        "moved-into-code",
        REPLACE,
        "exchange.buffer",
        "a buffer moved to where code goes",
        moved_into_code,
    ),
    wrong("stale-schedule", REPLACE, "exchange.copy", "times of before kept for one transfer", equal_times),
];

fn phases(program: &mut Program) -> impl Iterator<Item = &mut Phase> {
    program.steps.iter_mut().filter_map(|step| match step {
        Step::Phase(phase) => Some(phase),
        _ => None,
    })
}

fn computes(program: &mut Program) -> impl Iterator<Item = &mut Compute> {
    program.steps.iter_mut().filter_map(|step| match step {
        Step::Compute(compute) => Some(compute),
        _ => None,
    })
}

fn runs(program: &mut Program) -> impl Iterator<Item = &mut Run> {
    computes(program).flat_map(|compute| &mut compute.runs)
}

fn first_transfers(program: &mut Program) -> Option<&mut Transfers> {
    phases(program).next().map(|phase| &mut phase.transfers)
}

fn last_transfers(program: &mut Program) -> Option<&mut Transfers> {
    phases(program).last().map(|phase| &mut phase.transfers)
}

/// Takes out transfer `gone`.
fn without(transfers: &mut Transfers, gone: usize) -> Option<()> {
    *transfers = transfers.filtered(|row| row != gone, |_, _| true);
    Some(())
}

fn dropped_transfer(program: &mut Program) -> Option<()> {
    let transfers = first_transfers(program)?;
    without(transfers, transfers.len().checked_sub(1)?)
}

fn dropped_partial(program: &mut Program) -> Option<()> {
    let transfers = last_transfers(program)?;
    without(transfers, 0)
}

fn double_added_partial(program: &mut Program) -> Option<()> {
    let run = runs(program).find(|run| run.kernel.entry().name == "reduce_add_f16")?;
    let own = *run.operands.get(1)?;
    *run.operands.get_mut(2)? = own;
    Some(())
}

fn wrong_source_offset(program: &mut Program) -> Option<()> {
    let transfers = first_transfers(program)?;
    let row = transfers.source_offset.iter().position(|&offset| offset == 0)?;
    transfers.source_offset[row] += 8;
    Some(())
}

fn wrong_destination(program: &mut Program) -> Option<()> {
    let transfers = first_transfers(program)?;
    let (first, second) = two_pieces(transfers)?;
    let offset = transfers.pieces[first].offset;
    transfers.pieces[first].offset = transfers.pieces[second].offset;
    transfers.pieces[second].offset = offset;
    Some(())
}

/// The pieces of two transfers with the same receivers and size, of different tiles or offsets.
fn two_pieces(transfers: &Transfers) -> Option<(usize, usize)> {
    let receivers =
        |row: usize| transfers.receivers_of(row).map(|receiver| receiver.tile).collect::<Vec<_>>();
    let piece = |row: usize| transfers.pieces_end[row] as usize - 1;
    (1..transfers.len()).find_map(|row| {
        (0..row)
            .find(|&other| {
                receivers(other) == receivers(row)
                    && transfers.pieces(other).len() == 1
                    && transfers.pieces(row).len() == 1
                    && transfers.bytes[other] == transfers.bytes[row]
                    && transfers.pieces(other) != transfers.pieces(row)
            })
            .map(|other| (piece(other), piece(row)))
    })
}

fn wrong_source_tile(program: &mut Program) -> Option<()> {
    let tiles = program.buffers.clone();
    let transfers = first_transfers(program)?;
    let has =
        |row: usize, tile: LogicalTile| tiles[transfers.source_buffer[row].index()].tiles.contains(&tile);
    let receives = |row: usize, tile| transfers.receivers_of(row).any(|receiver| receiver.tile == tile);
    let (row, tile) = (0..transfers.len()).find_map(|row| {
        let tile = LogicalTile(transfers.source[row].0 + 3);
        (has(row, tile) && !receives(row, tile)).then_some((row, tile))
    })?;
    transfers.source[row] = tile;
    Some(())
}

fn short_transfer(program: &mut Program) -> Option<()> {
    let transfers = last_transfers(program)?;
    transfers.bytes[0] -= 4;
    transfers.pieces[0].bytes -= 4;
    Some(())
}

fn swapped_members(program: &mut Program) -> Option<()> {
    let transfers = first_transfers(program)?;
    let several = |row: &usize| transfers.receivers(*row).len() > 1;
    let first = (0..transfers.len()).find(several)?;
    let tiles = |row: usize| transfers.receivers_of(row).map(|receiver| receiver.tile).collect::<Vec<_>>();
    let apart = |&row: &usize| {
        several(&row)
            && transfers.receivers(row).len() == transfers.receivers(first).len()
            && tiles(row).iter().all(|tile| !tiles(first).contains(tile) && *tile != transfers.source[first])
            && tiles(first).iter().all(|tile| *tile != transfers.source[row])
            && transfers.pieces(row) == transfers.pieces(first)
    };
    let second = (first + 1..transfers.len()).find(apart)?;
    let (one, other) = (transfers.receivers(first).start, transfers.receivers(second).start);
    transfers.receiver.swap(one, other);
    Some(())
}

/// Adds to a scalar of the first run of `kernel`.
fn scalar(program: &mut Program, kernel: &str, name: &str, change: i64) -> Option<()> {
    let run = runs(program).find(|run| run.kernel.entry().name.starts_with(kernel))?;
    let named = run.scalars.named().map(|(known, value)| {
        let value = i64::from(value);
        (known, if known == name { value + change } else { value })
    });
    run.scalars = ScalarValues::from_named(run.kernel.entry(), named.collect::<Vec<_>>()).ok()?;
    // The bytes that the text gives to operands are those that the kernel touches.
    let extents = run.kernel.extents(&run.scalars).ok()?;
    run.operands.iter_mut().zip(extents).for_each(|(slice, extent)| slice.bytes = extent.bytes.0);
    Some(())
}

fn host_moves(program: &mut Program, store: bool) -> impl Iterator<Item = &mut HostMove> {
    program.steps.iter_mut().filter_map(move |step| match step {
        Step::LoadHost(moves) if !store => Some(moves),
        Step::StoreHost(moves) if store => Some(moves),
        _ => None,
    })
}

fn swapped_host_parts(program: &mut Program) -> Option<()> {
    swap_images(host_moves(program, false).find(|moves| !moves.once)?)
}

fn shifted_result(program: &mut Program) -> Option<()> {
    swap_images(host_moves(program, true).next()?)
}

fn swap_images(moves: &mut HostMove) -> Option<()> {
    let [first, second, ..] = moves.parts.as_mut_slice() else { return None };
    std::mem::swap(&mut first.image_offset, &mut second.image_offset);
    Some(())
}

fn compute_before_exchange(program: &mut Program) -> Option<()> {
    let phase = program.steps.iter().rposition(|step| matches!(step, Step::Phase(_)))?;
    program.steps.swap(phase, phase + 1);
    Some(())
}

fn wrong_coalescing(program: &mut Program) -> Option<()> {
    let transfers = last_transfers(program)?;
    let row = (0..transfers.len()).find(|&row| transfers.source_offset[row] >= 8)?;
    transfers.source_offset[row] -= 8;
    Some(())
}

fn dropped_receiver(program: &mut Program) -> Option<()> {
    let transfers = first_transfers(program)?;
    let row = (0..transfers.len()).find(|&row| transfers.receivers(row).len() > 1)?;
    let last = transfers.receivers(row).len() - 1;
    *transfers = transfers.filtered(|_| true, |at, place| at != row || place != last);
    Some(())
}

fn swapped_pieces(program: &mut Program) -> Option<()> {
    let transfers = first_transfers(program)?;
    let row = (0..transfers.len()).find(|&row| {
        let pieces = transfers.pieces(row);
        pieces.len() > 1 && pieces[0].bytes == pieces[1].bytes
    })?;
    let first = transfers.pieces_end[row] as usize - transfers.pieces(row).len();
    transfers.pieces.swap(first, first + 1);
    Some(())
}

fn hoisted_phase(program: &mut Program) -> Option<()> {
    let phase = program.steps.iter().rposition(|step| matches!(step, Step::Phase(_)))?;
    program.steps.swap(phase - 1, phase);
    Some(())
}

fn equal_times(program: &mut Program) -> Option<()> {
    for phase in phases(program) {
        let transfers = &mut phase.transfers;
        let again = (1..transfers.len()).find_map(|row| {
            let earlier = (0..row).find(|&other| transfers.source[other] == transfers.source[row])?;
            Some((earlier, row))
        });
        if let Some((earlier, row)) = again {
            transfers.send[row] = transfers.send[earlier];
            return Some(());
        }
    }
    None
}

fn all_at_once(program: &mut Program) -> Option<()> {
    for phase in phases(program) {
        let transfers = &mut phase.transfers;
        let shared = (1..transfers.len()).find_map(|row| {
            let earlier = (0..row).find(|&other| {
                transfers.source[other] != transfers.source[row]
                    && transfers
                        .receivers_of(other)
                        .any(|one| transfers.receivers_of(row).any(|other| one.tile == other.tile))
            })?;
            Some((earlier, row))
        });
        if let Some((earlier, row)) = shared {
            transfers.send[row] = transfers.send[earlier];
            return Some(());
        }
    }
    None
}

fn before_the_row(program: &mut Program) -> Option<()> {
    let transfers = first_transfers(program)?;
    *transfers.send.first_mut()? = 0;
    Some(())
}

/// Puts `buffer` at one address on all of its tiles.
fn put(buffer: &mut Buffer, address: Address) {
    buffer.at = Some(PerTile::Same(address));
}

fn named<'p>(program: &'p mut Program, name: &str) -> Option<&'p mut Buffer> {
    program.buffers.iter_mut().find(|buffer| buffer.name == name)
}

fn overlapping_lifetimes(program: &mut Program) -> Option<()> {
    let tile = LogicalTile(0);
    let there = named(program, "c_partial")?.address(tile)?;
    put(named(program, "c.remote")?, there);
    Some(())
}

fn misaligned(program: &mut Program) -> Option<()> {
    let buffer = program.buffers.last_mut()?;
    let there = buffer.address(*buffer.tiles.first()?)?;
    put(buffer, there.checked_add(Bytes(4))?);
    Some(())
}

fn missing_tail(program: &mut Program) -> Option<()> {
    let buffer = program.buffers.iter_mut().find(|buffer| buffer.tail.0 > 0)?;
    put(buffer, Address(MEMORY_END.0 - buffer.bytes.0));
    Some(())
}

fn wrong_memory(program: &mut Program) -> Option<()> {
    let buffer = named(program, "b")?;
    put(buffer, Address(INTERLEAVED_BASE.0 - 0x2000));
    Some(())
}

fn moved_into_code(program: &mut Program) -> Option<()> {
    put(named(program, "c")?, Address(0x5c000));
    Some(())
}
