//! Choices where the sources about the chip disagree or say nothing, each with both sides.
//!
//! `ipu doc --assumptions` lists [`ALL`]. A constant that embodies a choice stands beside its entry.

use crate::numerics::Overflow;

/// One choice.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Assumption {
    /// Short stable name.
    pub name: &'static str,
    /// What is assumed.
    pub choice: &'static str,
    /// The evidence for it, and for the alternatives.
    pub sources: &'static str,
}

/// Cycles a supervisor instruction takes outside exchange rows.
pub const SUPERVISOR_ISSUE_CYCLES: u64 = 1;

/// When an AMP accumulator rounds to f32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AmpInnerRounding {
    /// Once an AMP instruction: the exact dot product of 4 f16, 8 FP8 or 1 f32 inputs is added.
    EachInstruction,
    /// Once a micro step of 32 bytes of inputs.
    EachStep,
}

/// When an AMP accumulator rounds to f32.
pub const AMP_INNER_ROUNDING: AmpInnerRounding = AmpInnerRounding::EachInstruction;

/// What arithmetic does with a finite result past the largest f16 or FP8 value.
pub const F16_OVERFLOW: Overflow = Overflow::Saturate;

/// Whether f32 arithmetic reads and writes zero in place of subnormals.
pub const F32_FLUSHES_SUBNORMALS: bool = true;

/// Cycles that writing INCOMING_BASE or OUTGOING_BASE takes; measured at 13 inside rows.
pub const EXCHANGE_BASE_WRITE_CYCLES: u64 = 13;

/// Cycles of a worker launch and rendezvous beyond the slots of the slowest worker.
pub const WORKER_LAUNCH_CYCLES: u64 = 30;

/// Cycles from the last arrival at a global sync to its release.
pub const GLOBAL_SYNC_CYCLES: u64 = 213;

/// All choices.
pub const ALL: &[Assumption] = &[
    Assumption {
        name: "supervisor-issue",
        choice: "a supervisor instruction outside a row takes 1 cycle",
        sources: "setzi is measured at 1 cycle inside timed rows; the barrel pipeline suggests 6; a flat 6 does not \
                  fit measured call overheads",
    },
    Assumption {
        name: "exchange-base-write",
        choice: "writing INCOMING_BASE or OUTGOING_BASE takes 13 cycles everywhere, any other control register 1",
        sources: "13 events are measured inside rows; other control register writes were never timed",
    },
    Assumption {
        name: "worker-launch",
        choice: "a launch with its rendezvous takes 30 cycles beyond 6 x the slots of the slowest worker",
        sources: "30 is what counted slots leave of the measured GEMM step; a copy call of 288 fits 30 and 150",
    },
    Assumption {
        name: "global-sync-latency",
        choice: "a global sync, internal or with the host, passes 213 cycles after the last arrival",
        sources: "chosen so that the set-up, barrier, sync, row and return of a phase cost its horizon + 286, the middle \
                  of the measured 278 to 294; the vendor's model charges 600 in all",
    },
    Assumption {
        name: "sans-count",
        choice: "`sans n` takes part in the next n + 1 global syncs of any zone, several add up, and `sync 1` waits for all",
        sources: "the only reading under which the sequences of internal phases, host batches and the boot loader end",
    },
    Assumption {
        name: "host-mark",
        choice: "a host sync passes when the host has a mark left, and all bytes of a batch move before its closing sync",
        sources: "marks read 0 after the last ack on hardware; the loader's marks need the other reading",
    },
    Assumption {
        name: "host-close",
        choice: "the closing read of zero bytes counts as one arrived word and leaves tile memory alone",
        sources: "something takes the 1 off INCOMING_DCOUNT; the word at 0x50160 may be overwritten on hardware",
    },
    Assumption {
        name: "exchange-reset",
        choice: "exchange registers start with the neutral source, 32-bit format and bases 0; there is no receive pointer",
        sources: "reset values are unknown; a word that arrives before a pointer is set is a fault",
    },
    Assumption {
        name: "bank-window",
        choice: "a receive holds its element from the first write to 5 events after the last, a send from start to end",
        sources: "the scheduler rule of the peer, verified by replay of large phases; the exact cycles are unknown",
    },
    Assumption {
        name: "mixed-width",
        choice: "a 64-bit item that meets a 32-bit format, or the reverse, is a fault",
        sources: "unknown on hardware; error MODI is the nearest code",
    },
    Assumption {
        name: "paired-source-tie",
        choice: "at equal events a tile's own paired source control stands against its partner's, delayed by one event",
        sources: "no recorded case has it; it occurs when two paired messages to one pair come from different directions \
                  back to back",
    },
    Assumption {
        name: "worker-consensus",
        choice: "the exit status of a launch is the conjunction over its workers",
        sources: "unknown; no program of ours reads it",
    },
    Assumption {
        name: "amp-inner-rounding",
        choice: "an AMP instruction adds its exact dot product to the f32 accumulator with one rounding",
        sources: "accumulators are f32; the order inside an instruction is undocumented, and rounding the dot product \
                  first is the alternative; no recorded count or maximum tells them apart",
    },
    Assumption {
        name: "f16-rounding",
        choice: "drains and casts to f16 and FP8 round to nearest, ties to even",
        sources: "the recorded FP8 run shows it for GEMM and casts; stochastic rounding is a control bit that stays off",
    },
    Assumption {
        name: "f16-overflow",
        choice: "a finite result past the largest f16 or FP8 value saturates; infinite operands stay infinite in f16",
        sources: "the vendor documents saturation while NANOO is clear and NaN while it is set; later runtimes of the \
                  peer enable the overflow trap instead; IEEE 754 would give infinity",
    },
    Assumption {
        name: "nan-payload",
        choice: "a NaN that arithmetic makes is 0x7e00 in f16 and 0x7fc00000 in f32",
        sources: "payloads are undocumented; verdicts take any NaN for any NaN",
    },
    Assumption {
        name: "f32-subnormals",
        choice: "f32 arithmetic flushes subnormal operands and results to zero; f16 keeps them",
        sources: "inferred from the vendor's kernels; never measured",
    },
    Assumption {
        name: "reduce-order",
        choice: "reduce_add adds the remote partials one by one to the first, rounding each sum to the partial type",
        sources: "two f16 operations for 8 elements and partial fit the measured slots; adding in f32 accumulators with \
                  one rounding would fit as well; equal for two partials, the only recorded case",
    },
    Assumption {
        name: "gemm-f32-output",
        choice: "f32 results drain in panels of 8 columns, `amp_left<8>`, the order the next f32 GEMM reads",
        sources: "f16 results drain in the order of f16 operands; the peer removed its f32 kernel and left no layout",
    },
    Assumption {
        name: "gemm-f16-f32-cost",
        choice: "an f16 GEMM with f32 partials costs two passes of the f16 one a micro step",
        sources: "the f32-drain instruction has 8 channels in place of 16; never measured",
    },
    Assumption {
        name: "host-page-order",
        choice: "attached buffers follow each other in index order in the space of exchange offsets",
        sources: "the offsets of the peer's packets fit it; its identity-table request is never made",
    },
    Assumption {
        name: "load-clears",
        choice: "memory that an image does not cover is zero when the program starts",
        sources: "the IPU1 boot program clears it at the start and the autoloader before the load; measured for the \
                 latter only",
    },
    Assumption {
        name: "worker-seeds",
        choice: "programs that draw no random numbers leave worker register 7 and the random seed at reset",
        sources: "the peer's start-up always sets both from the physical tile id; register 7 is in no table and nothing \
                  of ours reads it; like tiles then keep equal images and are simulated once",
    },
];
