//! A crash that is planted in a pass, so that tests show what becomes of a real one.

use std::fmt;
use std::str::FromStr;

use ipu_dialects::ir::Module;

/// What a planted crash does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The pass panics.
    Panic,
    /// The pass leaves a module that does not verify.
    Invalid,
}

/// A crash of one pass, written `panic:PASS` or `invalid:PASS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlantedCrash {
    kind: Kind,
    pass: String,
}

impl PlantedCrash {
    /// Panics if that is what happens to `pass`.
    ///
    /// # Panics
    /// That is what it is for.
    pub(super) fn before(&self, pass: &str) {
        assert!(self.kind != Kind::Panic || self.pass != pass, "planted in `{pass}`");
    }

    /// Makes what `pass` left invalid if that is what happens to it: its first op loses all attributes.
    pub(super) fn after(&self, pass: &str, module: &mut Module) {
        let first = module.direct_children(module.root()).next();
        let Some(op) = first.filter(|_| self.kind == Kind::Invalid && self.pass == pass) else { return };
        let names: Vec<_> = module.attributes(op).iter().map(|(name, _)| *name).collect();
        for name in names {
            module.remove_attribute(op, name.as_str());
        }
    }
}

impl FromStr for PlantedCrash {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, pass) = text.split_once(':').unwrap_or((text, ""));
        let kind = match kind {
            "panic" => Kind::Panic,
            "invalid" => Kind::Invalid,
            _ => return Err("expected `panic:PASS` or `invalid:PASS`".to_owned()),
        };
        Ok(Self { kind, pass: pass.to_owned() })
    }
}

impl fmt::Display for PlantedCrash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Panic => "panic",
            Kind::Invalid => "invalid",
        };
        write!(f, "{kind}:{}", self.pass)
    }
}
