//! The states a program can be in, read off its ops.
//!
//! A program is the top-level op `@main`; its dialect is its level. Exchange programs are further *scheduled*
//! when every transfer has `send` and *placed* when every buffer has `at`; half a state is the state's lack.

use ipu_dialects::case::Level;
use ipu_dialects::ir::{Module, OpId};
use ipu_dialects::tile;

/// What a pass can ask of its input, in the order in which a program comes down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// `graph.func @main`.
    Graph,
    /// `mapped.func @main`.
    Mapped,
    /// `exchange.program @main`.
    Exchange,
    /// All transfers of the exchange program have start times.
    Scheduled,
    /// All buffers of the exchange program have addresses.
    Placed,
    /// `tile.program @main`.
    Tile,
    /// The tile program has supervisor code, not just exchange rows.
    Code,
}

/// Why a module is not in a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// The first op that shows it, if there is one.
    pub op: Option<OpId>,
    /// What is so, as the end of "..., but ...".
    pub reason: String,
}

impl State {
    const ALL: [Self; 7] =
        [Self::Graph, Self::Mapped, Self::Exchange, Self::Scheduled, Self::Placed, Self::Tile, Self::Code];

    /// Its name in listings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::Mapped => "mapped",
            Self::Exchange => "exchange",
            Self::Scheduled => "scheduled",
            Self::Placed => "placed",
            Self::Tile => "tile",
            Self::Code => "code",
        }
    }

    /// What the state is, as the object of "takes ...".
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Graph => "a graph program (`graph.func @main`)",
            Self::Mapped => "a mapped program (`mapped.func @main`)",
            Self::Exchange => "an exchange program (`exchange.program @main`)",
            Self::Scheduled => "a scheduled exchange program (every transfer with `send`)",
            Self::Placed => "a placed exchange program (every buffer with `at`)",
            Self::Tile => "a tile program (`tile.program @main`)",
            Self::Code => "a tile program with supervisor code (no image with `tile.steps`)",
        }
    }

    /// All states `module` is in.
    #[must_use]
    pub fn of(module: &Module) -> Vec<Self> {
        Self::ALL.into_iter().filter(|state| state.lacking(module).is_none()).collect()
    }

    /// Why `module` is not in this state; `None` if it is.
    #[must_use]
    pub fn lacking(self, module: &Module) -> Option<Lack> {
        match self {
            Self::Graph => lacks_program(module, "graph"),
            Self::Mapped => lacks_program(module, "mapped"),
            Self::Exchange => lacks_program(module, "exchange"),
            Self::Tile => lacks_program(module, "tile"),
            Self::Scheduled => lacks_program(module, "exchange")
                .or_else(|| lacks_attribute(module, &["exchange.copy", "exchange.copies"], "send")),
            Self::Placed => lacks_program(module, "exchange")
                .or_else(|| lacks_attribute(module, &["exchange.buffer"], "at")),
            Self::Code => lacks_program(module, "tile").or_else(|| lacks_code(module)),
        }
    }
}

/// The program: the top-level op `@main` of one of the four levels.
#[must_use]
pub fn main_program(module: &Module) -> Option<OpId> {
    let is_main = |&op: &OpId| module.symbol_name(op) == Some("main") && Level::of(module, op).is_some();
    module.direct_children(module.root()).find(is_main)
}

fn lacks_program(module: &Module, dialect: &str) -> Option<Lack> {
    let Some(main) = main_program(module) else {
        return Some(Lack { op: None, reason: "the file has no program `@main`".into() });
    };
    let name = module.name(main);
    (name.dialect() != Some(dialect))
        .then(|| Lack { op: Some(main), reason: format!("`@main` is a `{name}`") })
}

fn lacks_attribute(module: &Module, ops: &[&str], attribute: &str) -> Option<Lack> {
    let main = main_program(module)?;
    let op = module
        .walk(main)
        .find(|&op| ops.contains(&module.name(op).as_str()) && module.attribute(op, attribute).is_none())?;
    Some(Lack { op: Some(op), reason: format!("this `{}` has no `{attribute}`", module.name(op)) })
}

fn lacks_code(module: &Module) -> Option<Lack> {
    let main = main_program(module)?;
    let steps = module.walk(main).find(|&op| module.is::<tile::ops::StepsOp>(op))?;
    Some(Lack { op: Some(steps), reason: "this image has `tile.steps`".into() })
}
