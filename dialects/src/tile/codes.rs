//! Codes of what the verifier of `tile` finds.

ipu_device::coded_enum! {
    /// What can be wrong with a tile program.
    pub enum TileCode {
        /// An op where it has no meaning.
        Misplaced = "V0310", "op in the wrong place",
        /// Operands that no form of the instruction takes, or that do not fit their fields.
        BadOperands = "V0311", "operands that the instruction does not take",
        /// A symbol that stands for no address.
        UnresolvedSymbol = "V0312", "symbol without an address",
        /// An address that code or data cannot have.
        BadAddress = "V0313", "address that code or data cannot have",
        /// Two things at one address.
        Overlap = "V0314", "ranges of tile memory overlap",
        /// A tile without an image, or with two.
        TileCoverage = "V0315", "tile without an image, or with two",
        /// A physical tile that is not the logical one's.
        WrongPhysical = "V0316", "not the physical tile",
        /// Steps in some images and code in others.
        HalfState = "V0317", "half a state",
        /// Slices of a binding that cannot be.
        BadBinding = "V0318", "slices of a binding that cannot be",
        /// A call that does not fit its kernel.
        KernelCall = "V0319", "call does not fit its kernel",
        /// Sizes of data, code or kernels that disagree.
        BadSize = "V0320", "sizes that disagree",
        /// Host pages or calls that cannot be.
        HostExchange = "V0321", "host exchange that cannot be",
        /// A step that an image cannot do.
        BadStep = "V0322", "step that the image cannot do",
        /// A symbol that stands for two things.
        AmbiguousSymbol = "V0323", "symbol that stands for two things",
        /// Storage outside of tile memory, or a lifetime that ends before it begins.
        BadStorage = "V0324", "storage that cannot be",
    }
}
