//! Codes of what the verifier of `exchange` finds.

ipu_device::coded_enum! {
    /// What can be wrong with an exchange program.
    pub enum ExchangeCode {
        /// An op where it has no meaning.
        Misplaced = "V0210", "op in the wrong place",
        /// A tile that the program or the buffer does not have.
        NoSuchTile = "V0211", "tile outside of the program or of the buffer",
        /// Bytes outside of a buffer.
        OutOfBuffer = "V0212", "range outside of a buffer",
        /// Lengths that must agree do not.
        LengthMismatch = "V0213", "lengths that must agree differ",
        /// An index expression, table or column without a usable value.
        BadIndex = "V0214", "index without a usable value",
        /// A call that does not fit its kernel.
        KernelCall = "V0215", "call does not fit its kernel",
        /// Some have a state and some do not.
        HalfState = "V0216", "half a state",
        /// Two transfers of a phase write one byte.
        WrittenTwice = "V0217", "byte written twice in one phase",
        /// A byte is read and written in a phase.
        ReadAndWritten = "V0218", "byte read and written in one phase",
        /// An address, offset or length that is not a multiple of what it must be.
        Misaligned = "V0219", "misaligned",
        /// An address outside of the memory that the buffer wants.
        WrongMemory = "V0220", "address outside of the wanted memory",
        /// Two buffers that live at the same time share bytes.
        StorageOverlap = "V0221", "buffers that live at the same time overlap",
        /// Buffers that must lie apart share a memory element.
        NotSeparate = "V0222", "buffers that must lie apart share a memory element",
        /// A binding that is unknown or goes the other way.
        WrongBinding = "V0223", "wrong binding",
        /// A transfer that the fabric cannot do.
        BadTransfer = "V0224", "transfer that the fabric cannot do",
        /// A size or alignment of a buffer that cannot be.
        BadBuffer = "V0225", "buffer that cannot be",
    }
}
