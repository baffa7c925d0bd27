//! The ops of `mapped`.

use super::verify;
use crate::declaration::{
    AnyAttribute, AnyType, Integer, Integers, Keyword, KeywordSet, Maybe, OneBlock, Symbol, SymbolName,
    Tensor, Text, TypeValue, Variadic,
};

/// How remote partials of a reduction are staged.
#[derive(Debug)]
pub struct Staging;

impl KeywordSet for Staging {
    const WHAT: &'static str = "staging";
    const WORDS: &'static [&'static str] = &["all", "one"];
}

crate::operations! {
    /// A function on tensors that live on tiles. Arguments and results carry the same attributes as those of
    /// `graph.func`. Every tensor type has a layout.
    Func = "mapped.func", "a function on tensors that live on tiles" {
        attributes {
            sym_name: SymbolName, function_type: TypeValue, arg_attrs: Maybe<AnyAttribute>,
            res_attrs: Maybe<AnyAttribute>
        }
        regions { body: OneBlock }
        traits [Symbol, SymbolTable, IsolatedFromAbove, FunctionLike]
        format "function-signature attr-dict-with-keyword $body"
        verify(verify::function)
    }

    /// Ends a function and gives its results.
    Return = "mapped.return", "results of a function" {
        operands { values: Variadic<AnyType> }
        traits [Terminator, Pure]
        format "($values^ `:` type($values))? attr-dict"
        verify(verify::returned)
    }

    /// The same values in another layout: an exchange phase for what moves between tiles, copies for what stays.
    /// Logically the identity.
    ConvertLayout = "mapped.convert_layout", "the same values in another layout" {
        operands { input: Tensor }
        results { result: Tensor }
        traits [Pure, VerifiedBySignature]
        format "$input attr-dict `:` type($input) `->` type($result)"
        verify(verify::work)
    }

    /// Each element in another type, rounded once, by `kernel` on every shard. The element order of the result is what
    /// the kernel makes of that of the input: a flat cast keeps it, a cast of panels regroups it.
    Cast = "mapped.cast", "elements in another type" {
        operands { input: Tensor }
        results { result: Tensor }
        attributes { kernel: Symbol }
        traits [Pure, ForeignSymbols, VerifiedBySignature]
        format "$input `kernel` $kernel attr-dict `:` type($input) `->` type($result)"
        verify(verify::work)
    }

    /// The same bytes under another layout; nothing moves. Logically the identity, which storage is only where the two
    /// layouts order the elements of every shard alike; a lint says where they do not.
    Relabel = "mapped.relabel", "the same bytes under another layout" {
        operands { input: Tensor }
        results { result: Tensor }
        traits [Pure]
        format "$input attr-dict `:` type($input) `->` type($result)"
        verify(verify::relabel)
    }

    /// The product of the blocks that meet on each tile, by `kernel`. `block` holds the rows, columns and inner elements
    /// of the largest call; shards larger than it take several calls. The grid is that of the three layouts: copies of
    /// the left operand are column blocks, those of the right one row blocks, partials of the result inner blocks.
    Gemm = "mapped.gemm", "matrix product, block by block" {
        operands { left: Tensor, right: Tensor }
        results { result: Tensor }
        attributes { kernel: Symbol, block: Integers }
        traits [Pure, ForeignSymbols, VerifiedBySignature]
        format "$left `,` $right `kernel` $kernel `block` $block attr-dict `:` type($left) `,` type($right) `->` type($result)"
        verify(verify::work)
    }

    /// The sum of the partials of the input, in the layout of the result. Partials travel to the owner of each part; one
    /// that is already there, in place where its bytes lie together, is the first term, then the others in order.
    /// `staging`: `all` gathers every remote partial in one phase, `one` takes a phase a partial and the room of one.
    Reduce = "mapped.reduce", "sum of partials" {
        operands { input: Tensor }
        results { result: Tensor }
        attributes { kernel: Symbol, staging: Keyword<Staging> }
        traits [Pure, ForeignSymbols, VerifiedBySignature]
        format "$input `kernel` $kernel `staging` $staging attr-dict `:` type($input) `->` type($result)"
        verify(verify::work)
    }

    /// A plan that the planner kept and did not take, for the reader: what it costs, what it is, why not this one.
    Finalist = "mapped.finalist", "a plan that was not taken" {
        attributes { index: Integer, cycles: Integer, exchange_cycles: Integer, plan: Text, why: Maybe<Text> }
        format "$index `cycles` $cycles `exchange` $exchange_cycles `plan` $plan (`why` $why^)? attr-dict"
    }
}
