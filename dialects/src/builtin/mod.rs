//! The dialect `builtin`: the module around all ops. Its types and attributes are the language's own.

use crate::declaration::{AnyAttribute, Dialect, Maybe, OneBlock, Op, SymbolName};

crate::operations! {
    /// Holds the top-level ops of a text. A text whose only top-level op is a `builtin.module` (short: `module`) writes
    /// it; any other text is the inside of one.
    ModuleOp = "builtin.module", "the module around all ops" {
        attributes { sym_name: Maybe<SymbolName>, sym_visibility: Maybe<AnyAttribute> }
        regions { contents: OneBlock }
        traits [Symbol, SymbolTable, IsolatedFromAbove, NoTerminator]
        format "($sym_name^)? attr-dict-with-keyword $contents"
    }
}

/// The dialect.
pub static DIALECT: Dialect = Dialect {
    name: "builtin",
    summary: "the module around all ops",
    description: "",
    ops: &[ModuleOp::DECLARATION],
    types: &[],
    attributes: &[],
};
