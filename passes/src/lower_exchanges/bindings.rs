//! Host moves as slices of bindings at tile addresses.
//!
//! The host exchange of a package moves all weights, then all inputs, runs the program, and moves all outputs. So loads
//! must come before every other step and stores after; a move in between would happen at another time than it says.

use ipu_device::Bytes;
use ipu_dialects::diagnostics::Diagnostics;
use ipu_dialects::exchange::Step;
use ipu_dialects::exchange::program::{Binding, BindingKind, HostMove};
use ipu_dialects::ir::Name;
use ipu_dialects::tile;

use super::{LowerCode, Lowering};

/// How far down the program a walk has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Loads,
    Body,
    Stores,
}

impl Lowering<'_> {
    /// The bindings with a slice for each part of their moves.
    pub(super) fn bindings(&self, findings: &mut Diagnostics) -> Vec<tile::Binding> {
        self.check_order(findings);
        let mut bindings: Vec<tile::Binding> = self.program.bindings.iter().map(binding).collect();
        for step in &self.program.steps {
            let (Step::LoadHost(moves) | Step::StoreHost(moves)) = step else { continue };
            if let Some(binding) = bindings.get_mut(moves.binding) {
                binding.slices.extend(self.slices(moves));
            }
        }
        bindings
    }

    fn slices<'m>(&'m self, moves: &'m HostMove) -> impl Iterator<Item = tile::Slice> + 'm {
        moves.parts.iter().filter_map(|part| {
            let start = self.program.buffer(part.slice.buffer).address(part.tile)?;
            Some(tile::Slice {
                tile: part.tile,
                address: start.checked_add(Bytes(part.slice.offset))?,
                image_offset: part.image_offset,
                bytes: Bytes(part.slice.bytes),
            })
        })
    }

    fn check_order(&self, findings: &mut Diagnostics) {
        let mut reached = Part::Loads;
        for step in &self.program.steps {
            let (part, moves) = match step {
                Step::LoadHost(moves) => (Part::Loads, Some(moves)),
                Step::StoreHost(moves) => (Part::Stores, Some(moves)),
                Step::Phase(_) | Step::Compute(_) | Step::Repeat { .. } => (Part::Body, None),
            };
            if part < reached {
                let (op, what) = match step {
                    Step::LoadHost(moves) => (moves.op, "a host load comes after other steps"),
                    Step::Phase(phase) => (phase.op, "a phase comes after a host store"),
                    Step::Compute(compute) => (compute.op, "a compute step comes after a host store"),
                    Step::Repeat { op, .. } => (*op, "a repeat comes after a host store"),
                    Step::StoreHost(moves) => (moves.op, "a host store comes too early"),
                };
                let error = self.error(LowerCode::HostOrder, op, what);
                findings.push(error.note("loads come before all steps and stores after them"));
            }
            reached = reached.max(part);
            if let Some(moves) = moves {
                self.check_once(moves, findings);
            }
        }
        self.check_repeats(findings);
    }

    /// Weights come once, other tensors with each call.
    fn check_once(&self, moves: &HostMove, findings: &mut Diagnostics) {
        let Some(binding) = self.program.bindings.get(moves.binding) else { return };
        let weight = binding.kind == BindingKind::Weight;
        if weight != moves.once {
            let message = format!(
                "`@{}` is {} and is moved {}",
                binding.name,
                if weight { "a weight" } else { "no weight" },
                if moves.once { "once" } else { "with every call" }
            );
            findings.push(self.error(LowerCode::HostOrder, moves.op, message));
        }
    }

    fn check_repeats(&self, findings: &mut Diagnostics) {
        let steps = &self.program.steps;
        let bodies = steps.iter().filter_map(|step| match step {
            Step::Repeat { body, .. } => steps.get(body.clone()),
            _ => None,
        });
        let inside = bodies.flatten().find_map(|step| match step {
            Step::LoadHost(moves) | Step::StoreHost(moves) => Some(moves.op),
            _ => None,
        });
        if let Some(op) = inside {
            findings.push(self.error(LowerCode::HostOrder, op, "a host move stands in a repeat"));
        }
    }
}

fn binding(binding: &Binding) -> tile::Binding {
    let attributes = binding.attributes.iter();
    tile::Binding {
        source: Some(binding.op),
        name: binding.name.clone(),
        kind: binding.kind.into(),
        ty: binding.ty.clone(),
        attributes: attributes.map(|(name, value)| (Name::intern(name), value.clone())).collect(),
        slices: Vec::new(),
    }
}
