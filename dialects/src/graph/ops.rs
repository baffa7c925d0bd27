//! The ops of `graph`.

use super::verify;
use crate::declaration::{
    AnyAttribute, AnyType, Flag, Integers, Maybe, OneBlock, SymbolName, Tensor, TypeValue, Variadic,
};

crate::operations! {
    /// A function on tensors. Its arguments carry what they are as attributes: `ipu.kind` (`"input"` or `"weight"`) and
    /// `ipu.data`, the test data. A function named `@reference` in a file of a lower level says what that file must
    /// compute.
    Func = "graph.func", "a function on tensors" {
        attributes {
            sym_name: SymbolName, function_type: TypeValue, arg_attrs: Maybe<AnyAttribute>,
            res_attrs: Maybe<AnyAttribute>
        }
        regions { body: OneBlock }
        traits [Symbol, SymbolTable, IsolatedFromAbove, FunctionLike]
        format "function-signature attr-dict-with-keyword $body"
    }

    /// Ends a function and gives its results.
    Return = "graph.return", "results of a function" {
        operands { values: Variadic<AnyType> }
        traits [Terminator, Pure]
        format "($values^ `:` type($values))? attr-dict"
        verify(verify::returned)
    }

    /// A value known at compile time.
    Constant = "graph.constant", "a value known at compile time" {
        results { result: Tensor }
        attributes { value: AnyAttribute }
        traits [Pure]
        format "$value attr-dict"
        infer(verify::constant_type)
        verify(verify::constant)
    }

    /// `result[.., m, n]` is the sum over `k` of `left[.., m, k] * right[.., k, n]`. `multiply` is the type in which operands
    /// are multiplied: an operand of another type is converted to it first. `accumulate` is the type of partial sums. Without them
    /// operands are multiplied as they are stored and the sum is exact but for the rounding to the result's type.
    /// Leading axes are batches and must be equal. The flags exchange the last two axes of an operand first.
    Gemm = "graph.gemm", "matrix product with declared precision" {
        operands { left: Tensor, right: Tensor }
        results { result: Tensor }
        attributes {
            multiply: Maybe<TypeValue>, accumulate: Maybe<TypeValue>, transpose_left: Flag, transpose_right: Flag
        }
        traits [Pure]
        format "$left `,` $right (`transpose_left` $transpose_left^)? (`transpose_right` $transpose_right^)? (`multiply` `(` $multiply^ `)`)? (`accumulate` `(` $accumulate^ `)`)? attr-dict `:` type($left) `,` type($right) `->` type($result)"
        verify(verify::gemm)
    }

    /// Each element in another type, rounded to nearest even.
    Cast = "graph.cast", "elements in another type" {
        operands { input: Tensor }
        results { result: Tensor }
        traits [Pure]
        format "$input attr-dict `:` type($input) `->` type($result)"
        verify(verify::cast)
    }

    /// Axis `i` of the result is axis `permutation[i]` of the input.
    Transpose = "graph.transpose", "axes in another order" {
        operands { input: Tensor }
        results { result: Tensor }
        attributes { permutation: Integers }
        traits [Pure]
        format "$input `permutation` $permutation attr-dict `:` type($input) `->` type($result)"
        verify(verify::transpose)
    }

    /// The same elements in row-major order under another shape.
    Reshape = "graph.reshape", "the same elements under another shape" {
        operands { input: Tensor }
        results { result: Tensor }
        traits [Pure]
        format "$input attr-dict `:` type($input) `->` type($result)"
        verify(verify::reshape)
    }
}
