//! Codes of language and verifier errors. Codes are stable and unique across the workspace.

ipu_device::coded_enum! {
    /// What can be wrong with a text.
    pub enum ParseCode {
        /// A character or number that is no token.
        BadToken = "E0101", "text that is no token",
        /// A string without its closing quote.
        UnterminatedString = "E0102", "string without end",
        /// An escape that strings do not have.
        BadEscape = "E0103", "bad escape in a string",
        /// A number that does not fit its type.
        BadNumber = "E0104", "number out of range",
        /// A token where another was expected.
        Unexpected = "E0201", "unexpected token",
        /// An op nobody declared.
        UnknownOp = "E0202", "unknown op",
        /// A type nobody declared.
        UnknownType = "E0203", "unknown type",
        /// An attribute nobody declared.
        UnknownAttribute = "E0204", "unknown attribute",
        /// An alias without definition.
        UnknownAlias = "E0205", "unknown alias",
        /// An alias defined twice or by itself.
        BadAlias = "E0206", "bad alias definition",
        /// A word that is none of the expected ones.
        UnknownWord = "E0207", "unknown word",
        /// A value used without definition.
        UndefinedValue = "E0301", "undefined value",
        /// A name defined twice.
        Redefinition = "E0302", "name defined twice",
        /// A value used at another type than it has.
        TypeMismatch = "E0303", "type differs from the definition",
        /// A block that is used and not defined.
        UndefinedBlock = "E0304", "undefined block",
        /// A wrong number of results named.
        ResultCount = "E0305", "wrong number of results",
        /// An attribute given twice.
        DuplicateAttribute = "E0306", "attribute given twice",
        /// A malformed type.
        BadType = "E0401", "malformed type",
        /// A malformed attribute.
        BadAttribute = "E0402", "malformed attribute",
        /// An op whose parts are not those of its declaration.
        BadOp = "E0501", "op does not fit its declaration",
        /// An affine expression that is not one.
        BadExpression = "E0502", "bad index expression",
        /// A tile set that is not one.
        BadTileSet = "E0503", "bad tile set",
        /// Nesting past the limit.
        TooDeep = "E0901", "nested too deeply",
        /// An input past another limit.
        TooLarge = "E0902", "too large",
    }
}

ipu_device::coded_enum! {
    /// What the verifier finds.
    pub enum VerifyCode {
        /// An op nobody declared.
        UnknownOp = "V0101", "unknown op",
        /// Wrong number of operands, results, regions or successors.
        Count = "V0102", "wrong number of parts",
        /// An operand or result of another type than declared.
        TypeConstraint = "V0103", "type breaks a rule of the op",
        /// A required attribute is missing.
        MissingAttribute = "V0104", "missing attribute",
        /// An attribute of another kind than declared.
        AttributeConstraint = "V0105", "attribute breaks a rule of the op",
        /// An attribute the op does not have.
        UnknownAttribute = "V0106", "unknown attribute",
        /// A value used where it is not defined.
        Dominance = "V0201", "value used where it is not defined",
        /// A value from outside used in an isolated op.
        Isolation = "V0202", "value crosses an isolated op",
        /// A block without terminator, or a terminator elsewhere.
        Terminator = "V0203", "missing or misplaced terminator",
        /// More than one block, or none, where one is wanted.
        BlockCount = "V0204", "wrong number of blocks",
        /// Two symbols of one name in a table.
        DuplicateSymbol = "V0301", "symbol defined twice",
        /// A reference to no symbol.
        UnknownSymbol = "V0302", "unknown symbol",
        /// A rule of the op itself.
        OpRule = "V0401", "op breaks its own rule",
        /// A rule about function types and entry arguments.
        Signature = "V0402", "signature and body disagree",
    }
}
