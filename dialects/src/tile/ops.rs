//! The ops of `tile` around instructions; those are in [`super::instructions`].

use super::slices::SliceFamily;
use super::syntax::{FlagsWord, HexNumber, HexWords};
use super::{syntax, verify};
use crate::declaration::{
    Dictionary, Flag, Integer, Integers, Keyword, KeywordSet, Maybe, OneBlock, Symbol, SymbolName, Text,
    TypeValue, Value, WithNotation,
};
use crate::exchange::Column;
use crate::exchange::ops::BindingKinds;
use crate::ipu::TileSet;

/// Parts of the host plan.
#[derive(Debug)]
pub struct HostParts;

impl KeywordSet for HostParts {
    const WHAT: &'static str = "part of the host plan";
    const WORDS: &'static [&'static str] = &["weights", "inputs", "outputs"];
}

crate::operations! {
    /// The finished program of all 1,472 tiles: bindings, kernels, sections that every image has, and images. Symbols of an
    /// image are looked up there first, then here. Host pages and calls follow from the bindings unless `tile.host_pages` says
    /// otherwise.
    ProgramOp = "tile.program", "the finished program of every tile" {
        attributes { sym_name: SymbolName }
        regions { body: OneBlock }
        traits [Symbol, SymbolTable, IsolatedFromAbove, NoTerminator]
        format "$sym_name attr-dict-with-keyword $body"
        verify(verify::program)
    }

    /// A tensor that enters (`input` for every call, `weight` once) or leaves, and where its bytes live: a slice for each
    /// member of the family, on a logical tile, at an address, with its first byte in the image and its length.
    BindingOp = "tile.binding", "a tensor that enters or leaves" {
        attributes { sym_name: SymbolName, kind: Keyword<BindingKinds>, slices: Maybe<Value<SliceFamily>>, tensor: TypeValue }
        traits [Symbol]
        format "$sym_name $kind custom<Slices> `:` $tensor attr-dict"
        hooks { "Slices": ["slices"] syntax::parse_slices, syntax::print_slices }
        verify(verify::inside)
    }

    /// Pages that the device sees: index and size of each, the order of attachment, where the command word is, and the last
    /// mark of the load.
    HostPagesOp = "tile.host_pages", "host memory that the device sees" {
        attributes { indices: Integers, sizes: Integers, order: Integers, command_page: Integer, command_offset: Integer, startup: Integer }
        format "$indices `sizes` $sizes `attach` $order `command` $command_page `at` $command_offset `startup` $startup attr-dict"
        verify(verify::inside)
    }

    /// A call that the host may make: where in the pages its input and output bytes are, batch after batch. `batches` are end
    /// indices in the slices.
    HostCallOp = "tile.host_call", "a call of the host" {
        attributes {
            name: Text, command: Integer, phases: Integer, invocations: Integer,
            in_page: Maybe<Column>, in_at: Maybe<Column>, in_offset: Maybe<Column>, in_bytes: Maybe<Column>, in_batches: Maybe<Integers>,
            out_page: Maybe<Column>, out_at: Maybe<Column>, out_offset: Maybe<Column>, out_bytes: Maybe<Column>, out_batches: Maybe<Integers>
        }
        format "$name `command` $command `phases` $phases `invocations` $invocations (`in` wrap `page` $in_page `at` $in_at `offset` $in_offset `bytes` $in_bytes `batches` $in_batches^)? (`out` wrap `page` $out_page `at` $out_at `offset` $out_offset `bytes` $out_bytes `batches` $out_batches^)? attr-dict"
        verify(verify::inside)
    }

    /// A kernel in the images of a set of tiles, by default of all. `reference`: it has no code yet; its symbol holds traps, a
    /// simulator runs the registry's arithmetic, hardware cannot run the program. Else its words follow.
    KernelOp = "tile.kernel", "a kernel in the images" {
        attributes {
            sym_name: SymbolName, address: HexNumber, size: Integer, reference: Flag, tiles: Maybe<WithNotation<TileSet>>,
            words: Maybe<HexWords>
        }
        traits [Symbol]
        format "$sym_name `at` $address `size` $size (`reference` $reference^)? (`on` $tiles^)? ($words^)? attr-dict"
        verify(verify::inside)
    }

    /// Bytes of a buffer on a set of tiles, `live` from the sync that opens one exchange phase to the end of another: phases count
    /// from 1, 0 is the time before the first; without `live` they matter always. A program may leave storage out; where it
    /// says it, a simulator refuses writes outside of live buffers and forgets what died.
    StorageOp = "tile.storage", "where a buffer lives" {
        attributes {
            buffer: Text, address: HexNumber, size: Integer, first: Maybe<Integer>, last: Maybe<Integer>,
            tiles: WithNotation<TileSet>
        }
        format "$buffer `at` $address `size` $size (`live` $first `to` $last^)? `on` $tiles attr-dict"
        verify(verify::inside)
    }

    /// What a set of logical tiles has in its memory. Tiles with equal contents share an image. `physical` is the hardware's id
    /// of a single tile, for people; it is checked.
    ImageOp = "tile.image", "the memory of tiles" {
        attributes { tiles: Value<TileSet>, physical: Maybe<Integer> }
        regions { body: OneBlock }
        traits [SymbolTable, NoTerminator]
        format "custom<Tiles> attr-dict-with-keyword $body"
        hooks { "Tiles": ["tiles", "physical"] syntax::parse_tiles, syntax::print_tiles, syntax::says_tiles }
        verify(verify::inside)
    }

    /// The instructions of an exchange phase on a tile.
    RowOp = "tile.row", "an exchange row" {
        attributes { sym_name: SymbolName, address: HexNumber }
        regions { body: OneBlock }
        traits [Symbol, NoTerminator]
        format "$sym_name `at` $address attr-dict-with-keyword $body"
        verify(verify::inside)
    }

    /// Instructions of a supervisor or worker.
    CodeOp = "tile.code", "code" {
        attributes { sym_name: SymbolName, address: HexNumber }
        regions { body: OneBlock }
        traits [Symbol, NoTerminator]
        format "$sym_name `at` $address attr-dict-with-keyword $body"
        verify(verify::inside)
    }

    /// Words that are not code: `table` is read-only, `data` is written too. `bytes` is how much of the words is stored, by
    /// default all; `size` is how much memory they take, by default what is stored; the rest is zero.
    DataOp = "tile.data", "words that are not code" {
        attributes { sym_name: SymbolName, address: HexNumber, flags: FlagsWord, bytes: Maybe<Integer>, size: Maybe<Integer>, words: HexWords }
        traits [Symbol]
        format "$sym_name `at` $address $flags (`bytes` $bytes^)? (`size` $size^)? $words attr-dict"
        verify(verify::inside)
    }

    /// A word of code that is no known instruction.
    WordOp = "tile.word", "a word of code" {
        attributes { word: HexNumber }
        format "$word attr-dict"
        verify(verify::inside)
    }

    /// What the tiles of an image do, in order; emit-tile-code turns it into `tile.code`.
    StepsOp = "tile.steps", "what tiles do, in order" {
        regions { body: OneBlock }
        traits [NoTerminator]
        format "attr-dict-with-keyword $body"
        verify(verify::inside)
    }

    /// All host batches of one part of the host plan, which follows from the bindings.
    ExchangeHostOp = "tile.exchange_host", "bytes from or to the host" {
        attributes { part: Keyword<HostParts> }
        format "$part attr-dict"
        verify(verify::inside)
    }

    /// An exchange phase: the barrier, then the row. Pointers of the row are relative to `base`, by default 0. `idle`: the tile
    /// takes part in the sync only, its row is a lone return.
    ExchangeOp = "tile.exchange", "an exchange phase" {
        attributes { row: Symbol, base: Maybe<HexNumber>, idle: Flag }
        format "$row (`base` $base^)? (`idle` $idle^)? attr-dict"
        verify(verify::inside)
    }

    /// A call of a kernel with the addresses of its operands, the output first, and its scalars.
    CallKernelOp = "tile.call_kernel", "a kernel call" {
        attributes { kernel: Symbol, addresses: HexWords, scalars: Maybe<Dictionary> }
        format "custom<Call> attr-dict-with-keyword"
        hooks { "Call": ["kernel", "addresses", "scalars"] syntax::parse_call, syntax::print_call }
        verify(verify::inside)
    }

    /// Runs its steps this many times.
    RepeatOp = "tile.repeat", "steps again and again" {
        attributes { count: Integer }
        regions { body: OneBlock }
        traits [NoTerminator]
        format "$count attr-dict-with-keyword $body"
        verify(verify::inside)
    }
}
