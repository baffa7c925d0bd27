//! The ops of `exchange`.

use super::buffer_type::BufferValue;
use super::column::Column;
use super::members::{CopyFamily, MoveFamily, RunFamily};
use super::{syntax, verify};
use crate::declaration::{
    Dictionary, Flag, Integer, Keyword, KeywordSet, Maybe, OneBlock, Symbol, SymbolName, Text, TypeValue,
    Value, Variadic, WithNotation,
};
use crate::ipu::{Addresses, TileSet};

/// Which way a tensor crosses.
#[derive(Debug)]
pub struct BindingKinds;

impl KeywordSet for BindingKinds {
    const WHAT: &'static str = "kind of binding";
    const WORDS: &'static [&'static str] = &["input", "weight", "output"];
}

/// Kinds of memory.
#[derive(Debug)]
pub struct MemoryClasses;

impl KeywordSet for MemoryClasses {
    const WHAT: &'static str = "memory class";
    const WORDS: &'static [&'static str] = &["standard", "interleaved"];
}

crate::operations! {
    /// A bulk-synchronous program on a set of logical tiles: bindings, buffers, then steps in order. A program is *placed*
    /// when all its buffers have addresses.
    ProgramOp = "exchange.program", "a bulk-synchronous program on tiles" {
        attributes { sym_name: SymbolName, tiles: WithNotation<TileSet> }
        regions { body: OneBlock }
        traits [Symbol, SymbolTable, IsolatedFromAbove, NoTerminator]
        format "$sym_name `on` $tiles attr-dict-with-keyword $body"
        verify(verify::program)
    }

    /// A tensor that enters (`input` for every call, `weight` once) or leaves (`output`). Its image is the storage of the
    /// distinct shards of its layout, one behind the other in shard order. `ipu.data` is its test data.
    BindingOp = "exchange.binding", "a tensor that enters or leaves" {
        attributes { sym_name: SymbolName, kind: Keyword<BindingKinds>, tensor: TypeValue }
        traits [Symbol]
        format "$sym_name $kind `:` $tensor attr-dict"
        verify(verify::inside)
    }

    /// Storage on each tile of a set, by default all tiles of the program. `tail` bytes past its end may be fetched and never
    /// used. `at` is its address once placed: one for all tiles, or one by group of tiles.
    BufferOp = "exchange.buffer", "storage on tiles" {
        results { buffer: BufferValue }
        attributes {
            name: Text, bytes: Integer, memory: Keyword<MemoryClasses>, align: Integer, tail: Maybe<Integer>,
            tiles: Maybe<WithNotation<TileSet>>, at: Maybe<WithNotation<Addresses>>
        }
        format "$name `:` $bytes `bytes` custom<Storage> (`on` $tiles^)? (`at` $at^)? attr-dict-with-keyword"
        hooks { "Storage": ["memory", "align", "tail"] syntax::parse_storage, syntax::print_storage }
        verify(verify::inside)
    }

    /// Bytes of a binding's image into a buffer, on one tile for each member. `once`: before all calls, and the buffer keeps
    /// them. `bytes` is where in the buffer, by default from its start.
    LoadHostOp = "exchange.load_host", "host to tiles" {
        operands { buffer: BufferValue }
        attributes { binding: Symbol, once: Flag, family: Value<MoveFamily> }
        format "$binding `->` $buffer custom<Members> attr-dict"
        hooks { "Members": ["once", "family"] syntax::parse_moves, syntax::print_moves }
        verify(verify::inside)
    }

    /// Bytes of a buffer to a binding's image, from one tile for each member.
    StoreHostOp = "exchange.store_host", "tiles to host" {
        operands { buffer: BufferValue }
        attributes { binding: Symbol, once: Flag, family: Value<MoveFamily> }
        format "$buffer `->` $binding custom<Members> attr-dict"
        hooks { "Members": ["once", "family"] syntax::parse_moves, syntax::print_moves }
        verify(verify::inside)
    }

    /// Transfers between tiles, all at once: all sources are read as they are at phase entry, then all destinations are
    /// written. A byte written twice, or read and written, is an error. A phase is *scheduled* when all its transfers have
    /// `send`. `base`, one address for all tiles or one by group of tiles, is what a receiver's program puts into its incoming
    /// base: pointers in its row are relative to it. Without `base` it is 0 and pointers are addresses.
    PhaseOp = "exchange.phase", "transfers between tiles" {
        attributes { sym_name: SymbolName, base: Maybe<WithNotation<Addresses>> }
        regions { body: OneBlock }
        traits [Symbol, NoTerminator]
        format "$sym_name (`base` $base^)? attr-dict-with-keyword $body"
        verify(verify::inside)
    }

    /// One transfer for each member: bytes of the source buffer on tile `from`, to the same places of the destination buffer
    /// on each tile of `to`. `send` is the row time at which the first send instruction starts. `paired`: 64 bits an event, over
    /// the sender's lane and its partner's; both tiles of each receiving pair receive, lengths and offsets are multiples of 8.
    CopyOp = "exchange.copy", "a family of transfers" {
        operands { source: BufferValue, destination: BufferValue }
        attributes { family: Value<CopyFamily>, paired: Flag, send: Maybe<Column> }
        format "custom<Copy> (`paired` $paired^)? (`send` $send^)? attr-dict"
        hooks { "Copy": ["family"] syntax::parse_copy, syntax::print_copy }
        verify(verify::inside)
    }

    /// Transfers as columns, for phases that are too irregular or too large for families. Columns with one row a transfer:
    /// `from`, `offset` (first byte read), `bytes`, `receivers` (how many, default 1), `pieces` (how many, default 1), `send`.
    /// One row a receiver: `to`, `buffer` (which destination, default the first), `shift` (added to where pieces are written,
    /// default 0). One row a piece: `into` (first byte written), `lengths` (default all bytes of the transfer). `paired` as in
    /// `exchange.copy`, for all transfers of the op.
    CopiesOp = "exchange.copies", "transfers as columns" {
        operands { source: BufferValue, destinations: Variadic<BufferValue> }
        attributes {
            from: Column, offset: Column, bytes: Column, receivers: Maybe<Column>, to: Column, buffer: Maybe<Column>,
            shift: Maybe<Column>, pieces: Maybe<Column>, into: Column, lengths: Maybe<Column>, paired: Flag,
            send: Maybe<Column>
        }
        format "$source `->` $destinations `from` $from `offset` $offset `bytes` $bytes (`receivers` $receivers^)? `to` $to (`buffer` $buffer^)? (`shift` $shift^)? (`pieces` $pieces^)? `into` $into (`lengths` $lengths^)? (`paired` $paired^)? (`send` $send^)? attr-dict"
        verify(verify::inside)
    }

    /// Kernel runs between two barriers. Runs of one tile happen in order.
    ComputeOp = "exchange.compute", "kernel runs" {
        attributes { sym_name: SymbolName }
        regions { body: OneBlock }
        traits [Symbol, NoTerminator]
        format "$sym_name attr-dict-with-keyword $body"
        verify(verify::inside)
    }

    /// One call of a kernel for each member, on one tile. Operands in the kernel's order, the output first; an operand without
    /// brackets is the whole buffer.
    RunOp = "exchange.run", "a family of kernel calls" {
        operands { operands: Variadic<BufferValue> }
        attributes { kernel: Symbol, family: Value<RunFamily>, scalars: Maybe<Dictionary> }
        traits [ForeignSymbols]
        format "custom<Run> attr-dict-with-keyword"
        hooks { "Run": ["kernel", "family", "scalars"] syntax::parse_run, syntax::print_run, syntax::says_run }
        verify(verify::inside)
    }

    /// Runs its steps this many times.
    RepeatOp = "exchange.repeat", "steps again and again" {
        attributes { count: Integer }
        regions { body: OneBlock }
        traits [NoTerminator]
        format "$count attr-dict-with-keyword $body"
        verify(verify::inside)
    }

    /// The two buffers lie in different memory elements on every tile that has both.
    SeparateOp = "exchange.separate", "buffers in different memory elements" {
        operands { first: BufferValue, second: BufferValue }
        format "$first `,` $second attr-dict"
        verify(verify::inside)
    }
}
