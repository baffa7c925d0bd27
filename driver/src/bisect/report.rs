//! What bisection found, for people and as JSON.

use std::fmt::Write as _;

use ipu_device::{Address, Event, LogicalTile};
use ipu_dialects::ir::{Location, LocationKind, Module, OpId};
use serde::{Serialize, Serializer};

use super::places::index_text;

/// The first thing that is wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Position of the stage at fault among all stages; 0 is the input itself.
    pub stage: usize,
    /// The pass at fault, or `input`.
    pub pass: String,
    /// How it came to light.
    pub detected: Detected,
    /// What is wrong, in one sentence.
    pub summary: String,
    /// The op at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<OpAt>,
    /// The op of the program below in which it shows, such as a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emitted: Option<OpAt>,
    /// The first wrong element of what the op stores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub element: Option<ElementAt>,
    /// Where its bytes are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceAt>,
    /// The transfer that brings them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer: Option<TransferAt>,
    /// The first wrong element of the program's results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<ElementAt>,
    /// Where that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_place: Option<PlaceAt>,
    /// The first rewrite of the pass that does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewrite: Option<Rewrite>,
    /// More of what is known.
    pub notes: Vec<String>,
    /// The command that runs just that pass again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerun: Option<String>,
}

/// How a fault came to light.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Detected {
    /// The verifier, after the pass.
    Verifier,
    /// A static check, of bisection or of a later pass.
    StaticCheck,
    /// A pass cannot go on; nothing before it is wrong.
    Refusal,
    /// The program faults when it runs.
    Fault,
    /// The program computes something else.
    Values,
    /// The program is outside tolerance, and nothing else is wrong.
    Tolerance,
}

impl Detected {
    /// The word for tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Verifier => "verifier",
            Self::StaticCheck => "static check",
            Self::Refusal => "refusal",
            Self::Fault => "fault",
            Self::Values => "values",
            Self::Tolerance => "tolerance",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Verifier => "the verifier refuses what it left",
            Self::StaticCheck => "a static check refuses what it left",
            Self::Refusal => "it cannot go on; what comes before it computes the same",
            Self::Fault => "what it left faults when it runs",
            Self::Values => "what it left computes something else",
            Self::Tolerance => "what it left is outside tolerance",
        }
    }
}

/// An op and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpAt {
    /// Its name, such as `mapped.relabel`.
    pub name: String,
    /// The value or symbol that it defines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defines: Option<String>,
    /// File, line, column of the op that it was made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// Path of the op that it was made for, and the passes that it came through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

impl OpAt {
    /// The op `op` of `module`.
    #[must_use]
    pub fn of(module: &Module, op: OpId) -> Self {
        let value = module.results(op).first().and_then(|&value| module.value_name(value));
        let symbol = module.symbol_name(op).map(|name| format!("@{name}"));
        Self {
            name: module.name(op).to_string(),
            defines: value.map(|name| format!("%{name}")).or(symbol),
            line: file_line(&module.location(op)),
            origin: module.origin(op).map(|origin| {
                let passes: Vec<&str> = origin.passes().iter().map(|pass| pass.as_str()).collect();
                format!("{} through {}", origin.path(), passes.join(", "))
            }),
        }
    }

    /// An op that the module of the text does not hold.
    #[must_use]
    pub fn named(name: &str, defines: Option<String>) -> Self {
        Self { name: name.to_owned(), defines, line: None, origin: None }
    }

    /// Whether this op is of that name; families of an op count as the op.
    #[must_use]
    pub fn is_a(&self, name: &str) -> bool {
        self.name == name || (name == "exchange.copy" && self.name == "exchange.copies")
    }

    fn text(&self) -> String {
        let mut text = format!("`{}`", self.name);
        if let Some(defines) = &self.defines {
            let _ = write!(text, " `{defines}`");
        }
        if let Some(line) = &self.line {
            let _ = write!(text, " at {line}");
        }
        if let Some(origin) = &self.origin {
            let _ = write!(text, ", made for {origin}");
        }
        text
    }
}

/// File, line and column of the first place in a location.
fn file_line(location: &Location) -> Option<String> {
    match location.kind() {
        LocationKind::File { file, line, column } => Some(format!("{file}:{line}:{column}")),
        LocationKind::Name { child, .. } => child.as_ref().and_then(file_line),
        LocationKind::Fused { locations, .. } => locations.iter().find_map(file_line),
        LocationKind::CallSite { callee, .. } => file_line(callee),
        LocationKind::Unknown => None,
    }
}

/// An element that is wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ElementAt {
    /// The tensor that it belongs to.
    pub tensor: String,
    /// Its index, one number an axis.
    pub index: Vec<u32>,
    /// What it must be.
    pub expected: Number,
    /// What it is; nothing if it was never written.
    pub actual: Option<Number>,
    /// Elements of the tensor that are wrong, where all were looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong: Option<u64>,
}

/// A number with its bits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Number {
    /// The bits.
    #[serde(serialize_with = "hexadecimal")]
    pub bits: u32,
    /// Digits of the bits in base 16.
    #[serde(skip)]
    pub digits: usize,
    /// The number.
    pub value: f64,
}

fn hexadecimal<S: Serializer>(bits: &u32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("0x{bits:x}"))
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = self.digits;
        // Whole numbers in full; others as short as f32 has them.
        if self.value.fract() == 0.0 {
            return write!(f, "{} (0x{:0digits$x})", self.value, self.bits);
        }
        write!(f, "{} (0x{:0digits$x})", self.value as f32, self.bits)
    }
}

impl ElementAt {
    fn text(&self) -> String {
        let actual = self.actual.map_or_else(|| "never written".to_owned(), |number| number.to_string());
        let mut text =
            format!("{} {}: expected {}, is {actual}", self.tensor, index_text(&self.index), self.expected);
        if let Some(wrong) = self.wrong {
            let _ = write!(text, "; {wrong} elements are wrong");
        }
        text
    }
}

/// Bytes on a tile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlaceAt {
    /// Logical number of the tile.
    pub tile: u16,
    /// Physical number of the tile.
    pub physical: u16,
    /// The buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<String>,
    /// First byte in the buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u32>,
    /// Address, once placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

impl PlaceAt {
    /// A place on `tile`.
    #[must_use]
    pub fn on(tile: LogicalTile, buffer: Option<(&str, u32)>, address: Option<Address>) -> Self {
        Self {
            tile: tile.0,
            physical: tile.physical().0,
            buffer: buffer.map(|(name, _)| name.to_owned()),
            offset: buffer.map(|(_, offset)| offset),
            address: address.map(|address| address.to_string()),
        }
    }

    fn text(&self) -> String {
        let mut text = format!("tile {} (physical {})", self.tile, self.physical);
        if let (Some(buffer), Some(offset)) = (&self.buffer, self.offset) {
            let _ = write!(text, ", byte {offset} of `{buffer}`");
        }
        if let Some(address) = &self.address {
            let _ = write!(text, ", address {address}");
        }
        text
    }
}

/// A word on its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TransferAt {
    /// Symbol of the phase.
    pub phase: String,
    /// Which transfer of the phase.
    pub transfer: usize,
    /// Where the word is read.
    pub from: PlaceAt,
    /// Where it goes.
    pub to: PlaceAt,
    /// What the device did with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrived: Option<Arrived>,
}

/// A word as the device moved it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Arrived {
    /// Tile that it came from.
    pub sender: u16,
    /// Address that it was read from.
    pub source: String,
    /// Event at which it left, on the sender's clock.
    pub sent: i64,
    /// Event at which it was written, on the receiver's clock.
    pub written: i64,
}

impl Arrived {
    /// The word that the simulator recorded.
    #[must_use]
    pub fn of(write: &ipu_device::simulator::ExchangeWrite) -> Self {
        let Event(sent) = write.sent;
        let Event(written) = write.event;
        Self { sender: write.sender.logical().0, source: write.source.to_string(), sent, written }
    }
}

impl TransferAt {
    fn text(&self) -> String {
        let Self { phase, transfer, from, to, arrived } = self;
        let mut text = format!("number {transfer} of `@{phase}`: from {} to {}", from.text(), to.text());
        if let Some(Arrived { sender, source, sent, written }) = arrived {
            let _ = write!(
                text,
                "; the word there left tile {sender}, address {source}, at event {sent} and was written at event {written}"
            );
        }
        text
    }
}

/// A rewrite of a pass that counts them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rewrite {
    /// Its number, from 1: with `--fuel` one less the pass is right.
    pub number: u64,
    /// What it changes: lines that go (`-`) and come (`+`).
    pub change: Vec<String>,
}

impl Finding {
    /// A finding about `stage`, with nothing but a sentence.
    #[must_use]
    pub fn new(stage: usize, pass: &str, detected: Detected, summary: String) -> Self {
        Self {
            stage,
            pass: pass.to_owned(),
            detected,
            summary,
            op: None,
            emitted: None,
            element: None,
            place: None,
            transfer: None,
            result: None,
            result_place: None,
            rewrite: None,
            notes: Vec::new(),
            rerun: None,
        }
    }

    /// The report.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |name: &str, what: &str| {
            let _ = writeln!(text, "{name:9} {what}");
        };
        if self.stage == 0 {
            line("at fault", &format!("the input itself: {}", self.summary));
        } else {
            let what = if self.pass == "package" { "the package" } else { &format!("pass `{}`", self.pass) };
            line("at fault", &format!("{what}: {}", self.detected.text()));
            line("", &self.summary);
        }
        let parts = [
            ("op", self.op.as_ref().map(OpAt::text)),
            ("emitted", self.emitted.as_ref().map(OpAt::text)),
            ("element", self.element.as_ref().map(ElementAt::text)),
            ("at", self.place.as_ref().map(PlaceAt::text)),
            ("transfer", self.transfer.as_ref().map(TransferAt::text)),
            ("result", self.result.as_ref().map(ElementAt::text)),
            ("at", self.result_place.as_ref().map(PlaceAt::text)),
        ];
        for (name, part) in parts {
            if let Some(part) = part {
                line(name, &part);
            }
        }
        if let Some(rewrite) = &self.rewrite {
            line(
                "rewrite",
                &format!("number {} of the pass (`--fuel={}` is right):", rewrite.number, rewrite.number - 1),
            );
            rewrite.change.iter().for_each(|change| line("", change));
        }
        self.notes.iter().for_each(|note| line("note", note));
        if let Some(rerun) = &self.rerun {
            line("rerun", rerun);
        }
        text
    }
}
