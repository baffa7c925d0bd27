//! The field table: every supervisor and exchange instruction, and the worker instructions that start-up needs.
//!
//! A line reads: variant = mnemonic, contexts, evidence, words, fixed bits, operands in text order as
//! `name: type = kind [lowest bit + width, ...]`.

use smallvec::{SmallVec, smallvec};

use super::control_register::ControlRegister;
use super::form::{Contexts, Evidence, Field, Form, Operand, instruction_table};
use super::operand::{FloatRegister, OperandKind, OperandValue, Register};
use crate::units::Address;

instruction_table! {
    /// Waits for a sync: 0 words of a host read, 1 the syncs of an earlier `sans`, 2 the tile's workers, 3 all tiles,
    /// 4 to 7 external zones as slave, 12 to 15 as master.
    Sync = "sync" Supervisor Encoder words 1 mask 0xfffffff0 value 0x41800000 { zone: u32 = Unsigned [0 + 4] }
    /// Stops for the debugger; an odd code differs from an even one.
    Trap = "trap" Both Hardware words 1 mask 0xfffffff0 value 0x41801000 { code: u32 = Unsigned [0 + 4] }
    /// Takes part in the next `syncs_minus_1 + 1` global syncs without waiting.
    Sans = "sans" Supervisor Encoder words 1 mask 0xfff80000 value 0x40c00000 { syncs_minus_1: u32 = CountMinusOne [0 + 19] }
    /// Jumps.
    Bri = "bri" Both Vectors words 1 mask 0xfff80000 value 0x40800000 { target: Address = CodeAddress [0 + 19] }
    /// Jumps to the address in a register.
    Br = "br" Both Encoder words 1 mask 0xff0fffff value 0x43000000 { target: Register = Register [20 + 4] }
    /// Jumps and keeps the address of the next instruction in `link`.
    Call = "call" Both Encoder words 1 mask 0xff080000 value 0x18000000
        { link: Register = Register [20 + 4], target: Address = CodeAddress [0 + 19] }
    /// Jumps when the register is zero.
    Brz = "brz" Both Encoder words 1 mask 0xff080000 value 0x13000000
        { source: Register = Register [20 + 4], target: Address = CodeAddress [0 + 19] }
    /// Jumps when the register is not zero.
    Brnz = "brnz" Both Vectors words 1 mask 0xff080000 value 0x11000000
        { source: Register = Register [20 + 4], target: Address = CodeAddress [0 + 19] }
    /// Jumps when the register is not zero, and decrements it either way.
    Brnzdec = "brnzdec" Both Vectors words 1 mask 0xff080000 value 0x13080000
        { counter: Register = Register [20 + 4], target: Address = CodeAddress [0 + 19] }
    /// Sets a register to a 20-bit constant.
    Setzi = "setzi" Both Encoder words 1 mask 0xff000000 value 0x19000000
        { destination: Register = Register [20 + 4], value: u32 = Hexadecimal [0 + 20] }
    /// Writes a control register.
    Put = "put" Both Encoder words 1 mask 0xff0fff00 value 0x43008000
        { control: ControlRegister = ControlRegister [0 + 8], source: Register = Register [20 + 4] }
    /// Reads a control register.
    Get = "get" Both Hardware words 1 mask 0xfff0ff00 value 0x41000000
        { destination: Register = Register [16 + 4], control: ControlRegister = ControlRegister [0 + 8] }
    /// Loads the word at base + delta + 4 x offset.
    Ld32 = "ld32" Both Encoder words 1 mask 0xff000000 value 0x01000000
        { destination: Register = Register [16 + 4], base: Register = Register [20 + 4], delta: Register = Register [12 + 4], offset: u32 = Unsigned [0 + 12] }
    /// Stores a word at base + delta + 4 x offset.
    St32 = "st32" Supervisor Encoder words 1 mask 0xff000000 value 0x4f000000
        { source: Register = Register [16 + 4], base: Register = Register [20 + 4], delta: Register = Register [12 + 4], offset: u32 = Unsigned [0 + 12] }
    /// Loads the word at base + delta + 4 x offset register.
    Ld32Register = "ld32" Both Vectors words 1 mask 0xff000f0f value 0x4d000000
        { destination: Register = Register [4 + 4], base: Register = Register [20 + 4], delta: Register = Register [12 + 4], offset: Register = Register [16 + 4] }
    /// Stores a word at base + delta, then adds 4 x step to delta.
    St32step = "st32step" Supervisor SameFamily words 1 mask 0xff000f00 value 0x4e000000
        { source: Register = Register [16 + 4], base: Register = Register [20 + 4], delta: Register = Register [12 + 4], step: i32 = Signed [0 + 8] }
    /// Stores a word at base + 4 x offset register.
    Stm32 = "stm32" Supervisor Vectors words 1 mask 0xff000fff value 0x4c000000
        { source: Register = Register [16 + 4], base: Register = Register [20 + 4], offset: Register = Register [12 + 4] }
    /// Adds a signed constant.
    AddImmediate = "add" Both Encoder words 1 mask 0xff000000 value 0x22000000
        { destination: Register = Register [16 + 4], source: Register = Register [20 + 4], value: i32 = Signed [0 + 16] }
    /// Constant minus register.
    SubImmediate = "sub" Both Vectors words 1 mask 0xff000000 value 0x39000000
        { destination: Register = Register [16 + 4], value: i32 = Signed [0 + 16], source: Register = Register [20 + 4] }
    /// The lesser, signed.
    MinImmediate = "min" Both Vectors words 1 mask 0xff000000 value 0x33000000
        { destination: Register = Register [16 + 4], source: Register = Register [20 + 4], value: i32 = Signed [0 + 16] }
    /// The greater, signed.
    MaxImmediate = "max" Both Vectors words 1 mask 0xff000000 value 0x30000000
        { destination: Register = Register [16 + 4], source: Register = Register [20 + 4], value: i32 = Signed [0 + 16] }
    /// 1 when the register equals a signed constant, else 0.
    CmpeqImmediate = "cmpeq" Both Vectors words 1 mask 0xff000000 value 0x28000000
        { destination: Register = Register [16 + 4], source: Register = Register [20 + 4], value: i32 = Signed [0 + 16] }
    /// 1 when the register is below an unsigned constant, else 0.
    CmpultImmediate = "cmpult" Both Vectors words 1 mask 0xff000000 value 0x2a000000
        { destination: Register = Register [16 + 4], source: Register = Register [20 + 4], value: u32 = Unsigned [0 + 16] }
    /// Shifts left.
    ShlImmediate = "shl" Both Encoder words 1 mask 0xff00f000 value 0x4200a000
        { destination: Register = Register [16 + 4], source: Register = Register [20 + 4], value: u32 = Unsigned [0 + 12] }
    /// Shifts right, filling with zeros.
    ShrImmediate = "shr" Both Vectors words 1 mask 0xff00f000 value 0x4200d000
        { destination: Register = Register [16 + 4], source: Register = Register [20 + 4], value: u32 = Unsigned [0 + 12] }
    /// And with a constant.
    AndImmediate = "and" Both Vectors words 1 mask 0xff00f000 value 0x42008000
        { destination: Register = Register [16 + 4], source: Register = Register [20 + 4], value: u32 = Unsigned [0 + 12] }
    /// Or with a constant; with 0 it moves a register.
    OrImmediate = "or" Both Vectors words 1 mask 0xff00f000 value 0x42009000
        { destination: Register = Register [16 + 4], source: Register = Register [20 + 4], value: u32 = Unsigned [0 + 12] }
    /// And with the complement of a constant.
    AndcImmediate = "andc" Both Vectors words 1 mask 0xff00f000 value 0x4200b000
        { destination: Register = Register [16 + 4], source: Register = Register [20 + 4], value: u32 = Unsigned [0 + 12] }
    /// Or with a constant whose low 20 bits are zero.
    OrHigh = "or" Both Vectors words 1 mask 0xff00f000 value 0x4200c000
        { destination: Register = Register [16 + 4], source: Register = Register [20 + 4], value: u32 = High20 [0 + 12] }
    /// Sum of two registers.
    Add = "add" Both Vectors words 1 mask 0xff0f0f0f value 0x44000001
        { destination: Register = Register [4 + 4], left: Register = Register [20 + 4], right: Register = Register [12 + 4] }
    /// Left minus right; here alone the left operand is in the lower field.
    Sub = "sub" Both Vectors words 1 mask 0xff0f0f0f value 0x44000602
        { destination: Register = Register [4 + 4], left: Register = Register [12 + 4], right: Register = Register [20 + 4] }
    /// Or of two registers.
    Or = "or" Both Vectors words 1 mask 0xff0f0f0f value 0x44000301
        { destination: Register = Register [4 + 4], left: Register = Register [20 + 4], right: Register = Register [12 + 4] }
    /// Exclusive or of two registers.
    Xor = "xor" Both Vectors words 1 mask 0xff0f0f0f value 0x44000701
        { destination: Register = Register [4 + 4], left: Register = Register [20 + 4], right: Register = Register [12 + 4] }
    /// Left and the complement of right.
    Andc = "andc" Both Vectors words 1 mask 0xff0f0f0f value 0x44000100
        { destination: Register = Register [4 + 4], left: Register = Register [20 + 4], right: Register = Register [12 + 4] }
    /// 1 when two registers are equal, else 0.
    Cmpeq = "cmpeq" Both Vectors words 1 mask 0xff0f0f0f value 0x44000102
        { destination: Register = Register [4 + 4], left: Register = Register [20 + 4], right: Register = Register [12 + 4] }
    /// Starts one worker at the address in `entry`; the vertex base is relative to the start of memory.
    Run = "run" Supervisor Vectors words 1 mask 0xff000000 value 0x14000000
        { entry: Register = Register [20 + 4], vertex_base: Register = Register [12 + 4], stride_words: u32 = Unsigned [0 + 12, 16 + 4] }
    /// Starts the six workers at the address in `entry`, vertex bases `stride_words` words apart.
    Runall = "runall" Supervisor Vectors words 1 mask 0xff000000 value 0x15000000
        { entry: Register = Register [20 + 4], vertex_base: Register = Register [12 + 4], stride_words: u32 = Unsigned [0 + 12, 16 + 4] }
    /// Does nothing: the word of `setzi $m14, 0`.
    Nop = "nop" Both Hardware words 1 mask 0xffffffff value 0x19e00000 {}
    /// Lets time pass.
    Delay = "delay" Supervisor Encoder words 1 mask 0xfff80000 value 0x40a00000
        { events_minus_1: u32 = CountMinusOne [0 + 19] }
    /// Waits, then at its last event sets the receive cursor (selector 0, value x 4) or the receive format (1).
    Delaypic = "delaypic" Supervisor Encoder words 1 mask 0xfc000000 value 0x60000000
        { events_minus_1: u32 = CountMinusOne [19 + 7], selector: u32 = Unsigned [18 + 1], value: u32 = Hexadecimal [0 + 18] }
    /// Waits, then at its last event selects the source (selector 0) or the paired source (1).
    Delayxpic = "delayxpic" Supervisor Encoder words 1 mask 0xfc000000 value 0x64000000
        { events_minus_1: u32 = CountMinusOne [14 + 12], selector: u32 = Unsigned [13 + 1], value: u32 = Hexadecimal [0 + 13] }
    /// Sends from an item address: words, or double words when bit 2 of the send control is set.
    Send = "send" Supervisor Encoder words 1 mask 0xf8000000 value 0x78000000
        { items_minus_1: u32 = CountMinusOne [21 + 6], address: u32 = Hexadecimal [3 + 18], control: u32 = Unsigned [0 + 3] }
    /// Continues a stream, its cursor moved by `delta` items.
    Sendoff = "sendoff" Supervisor Encoder words 1 mask 0xf8100000 value 0x70000000
        { items_minus_1: u32 = CountMinusOne [21 + 6, 14 + 6], delta: u32 = Hexadecimal [3 + 11], control: u32 = Unsigned [0 + 3] }
    /// Continues a stream and applies one control at its first event: source (selector 0), paired source (1), receive
    /// cursor (2) or receive format (3).
    Sendpic = "sendpic" Supervisor Encoder words 1 mask 0xf8100000 value 0x70100000
        { items_minus_1: u32 = CountMinusOne [21 + 6], selector: u32 = Unsigned [18 + 2], value: u32 = Hexadecimal [0 + 18] }
    /// Applies a source control and a pointer control at its first event and, unless `control` is 0, restarts the
    /// stream at an item address. Its first word lies on a multiple of 8 bytes.
    Sendpicp = "sendpicp" Supervisor Encoder words 2 mask 0xf0000000 value 0xf0000000
        {
            items_minus_1: u32 = CountMinusOne [21 + 6], address: u32 = Hexadecimal [3 + 18], control: u32 = Unsigned [0 + 3],
            pointer_selector: u32 = Unsigned [27 + 1], source_selector: u32 = Unsigned [63 + 1], source: u32 = Hexadecimal [50 + 13],
            pointer: u32 = Hexadecimal [32 + 18],
        }
    /// Ends a worker; its part of the local consensus is whether the register is zero.
    Exitz = "exitz" Worker Vectors words 1 mask 0xff0fffff value 0x43004000 { source: Register = Register [20 + 4] }
    /// Ends a worker; its part of the local consensus is whether the register is not zero.
    Exitnz = "exitnz" Worker Vectors words 1 mask 0xff0fffff value 0x43002000 { source: Register = Register [20 + 4] }
    /// Repeats the following `body_minus_1 + 1` bundles `count` times.
    RptImmediate = "rpt" Worker Vectors words 1 mask 0xfff00000 value 0x40000000
        { count: u32 = Unsigned [8 + 12], body_minus_1: u32 = CountMinusOne [0 + 8] }
    /// Writes a control register of the upper space, numbered from its start.
    Uput = "uput" Worker Vectors words 1 mask 0xff0fff00 value 0x51008000
        { control: u32 = Unsigned [0 + 8], source: FloatRegister = FloatRegister [20 + 4] }
    /// Loads the double word at base + delta + 8 x offset into a register pair.
    Ld64 = "ld64" Worker Vectors words 1 mask 0xff000000 value 0x09000000
        { destination: FloatRegister = FloatPair [16 + 4], base: Register = Register [20 + 4], delta: Register = Register [12 + 4], offset: u32 = Unsigned [0 + 12] }
    /// Draws 64 random bits into a register pair.
    Urand64 = "urand64" Worker Vectors words 1 mask 0xffffff0f value 0x50000100
        { destination: FloatRegister = FloatPair [4 + 4] }
}
