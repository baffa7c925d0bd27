//! Control and status registers: numbers and names of the lower space, as `put` and `get` address them.
//!
//! Numbers come from the architecture tables for IPU1; the exchange, worker base and debug registers are in use
//! under the same numbers on IPU21 hardware.

use super::form::Context;

/// A control or status register of the lower space, `0..256`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ControlRegister(pub u8);

macro_rules! control_registers {
    ($($(#[$doc:meta])* $constant:ident = $number:literal, $name:literal, $context:ident;)*) => {
        impl ControlRegister {
            $($(#[$doc])* pub const $constant: Self = Self($number);)*
        }

        /// Number, name and contexts of each named register.
        const NAMES: &[(u8, &str, Option<Context>)] = &[$(($number, $name, control_registers!(@ $context)),)*];
    };
    (@ Both) => { None };
    (@ $context:ident) => { Some(Context::$context) };
}

control_registers! {
    /// Program counter.
    PC = 0x00, "PC", Both;
    /// Supervisor status.
    SSR = 0x01, "SSR", Supervisor;
    /// Worker status; the context id minus one in bits 2..0.
    WSR = 0x01, "WSR", Worker;
    /// Supervisor control.
    CR = 0x02, "CR", Supervisor;
    /// Vertex base of a worker.
    VERTEX_BASE = 0x02, "VERTEX_BASE", Worker;
    /// Physical tile id, read-only.
    TILE_ID = 0x03, "TILE_ID", Supervisor;
    /// Worker base of a worker.
    WORKER_BASE = 0x03, "WORKER_BASE", Worker;
    /// Worker start-up writes eight times the tile plus the worker here; its meaning is unknown.
    WORKER_SYNC_CONTEXT = 0x07, "WORKER_SYNC_CONTEXT", Worker;
    /// Initial floating-point control of every worker.
    FP_ICTL = 0x20, "FP_ICTL", Supervisor;
    /// Base of worker 0.
    WORKER0_BASE = 0x21, "WORKER0_BASE", Supervisor;
    /// Base of worker 1.
    WORKER1_BASE = 0x22, "WORKER1_BASE", Supervisor;
    /// Base of worker 2.
    WORKER2_BASE = 0x23, "WORKER2_BASE", Supervisor;
    /// Base of worker 3.
    WORKER3_BASE = 0x24, "WORKER3_BASE", Supervisor;
    /// Base of worker 4.
    WORKER4_BASE = 0x25, "WORKER4_BASE", Supervisor;
    /// Base of worker 5.
    WORKER5_BASE = 0x26, "WORKER5_BASE", Supervisor;
    /// Source address of coefficient loads.
    CCCSLOAD = 0x50, "CCCSLOAD", Supervisor;
    /// Lower half of the supervisor's cycle counter.
    SCOUNT_L = 0x60, "SCOUNT_L", Supervisor;
    /// Lower half of a worker's cycle counter.
    COUNT_L = 0x60, "COUNT_L", Worker;
    /// Upper half of the supervisor's cycle counter.
    SCOUNT_U = 0x61, "SCOUNT_U", Supervisor;
    /// Upper half of a worker's cycle counter.
    COUNT_U = 0x61, "COUNT_U", Worker;
    /// Mailbox to the debug bus.
    DBG_DATA = 0x70, "DBG_DATA", Both;
    /// States of the contexts.
    CTXT_STS = 0x72, "CTXT_STS", Supervisor;
    /// Debug execution control and status.
    DBG_ECSR = 0x74, "DBG_ECSR", Supervisor;
    /// Clears exceptions, one bit a context.
    DBG_ECLR = 0x75, "DBG_ECLR", Supervisor;
    /// The bus the tile listens to.
    INCOMING_MUX = 0xa0, "INCOMING_MUX", Supervisor;
    /// Source of the borrowed half in 64-bit mode.
    INCOMING_MUXPAIR = 0xa1, "INCOMING_MUXPAIR", Supervisor;
    /// Receive cursor in bytes.
    INCOMING_DELTA = 0xa2, "INCOMING_DELTA", Supervisor;
    /// 0 for 32-bit words, 1 or 2 for 64-bit items from that direction.
    INCOMING_FORMAT = 0xa3, "INCOMING_FORMAT", Supervisor;
    /// Added to the receive cursor.
    INCOMING_BASE = 0xa4, "INCOMING_BASE", Supervisor;
    /// Unknown.
    INCOMING_SINIT = 0xa5, "INCOMING_SINIT", Supervisor;
    /// Words that `sync 0` waits for, 17 bits.
    INCOMING_DCOUNT = 0xa6, "INCOMING_DCOUNT", Supervisor;
    /// Added to the send cursor.
    OUTGOING_BASE = 0xa7, "OUTGOING_BASE", Supervisor;
    /// Send cursor in bytes.
    OUTGOING_DELTA = 0xa8, "OUTGOING_DELTA", Supervisor;
    /// Exchange mode bits; the boot code writes 7.
    EXCHANGE_CTL = 0xa9, "EXCHANGE_CTL", Supervisor;
    /// Syncs that an earlier `sans` still has to join.
    ANS_DCOUNT = 0xaa, "ANS_DCOUNT", Supervisor;
    /// Column offset and direction swap of mux ids; left 0.
    EXCHANGE_ADJ = 0xab, "EXCHANGE_ADJ", Supervisor;
}

impl ControlRegister {
    /// The base register of worker `worker`, `0..6`.
    #[must_use]
    pub fn worker_base(worker: u8) -> Option<Self> {
        (worker < 6).then(|| Self(Self::WORKER0_BASE.0 + worker))
    }

    /// The register's name in `context`, if it has one.
    #[must_use]
    pub fn name(self, context: Context) -> Option<&'static str> {
        let (_, name, _) =
            NAMES.iter().find(|(number, _, at)| *number == self.0 && at.is_none_or(|at| at == context))?;
        Some(name)
    }

    /// The register of that name, in any context.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, known, _)| *known == name).map(|(number, _, _)| Self(*number))
    }
}
