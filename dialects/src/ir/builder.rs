//! Builds ops one after the other, each with the place and origin of what it is made from.

use super::edit::{InsertionPoint, OpState};
use super::entity::{OpId, ValueId};
use super::module::Module;
use super::name::Name;

/// Inserts ops at a point, each after the one before, all with the place and origin of one source op.
#[derive(Debug)]
pub struct Builder<'m> {
    /// The module.
    pub module: &'m mut Module,
    /// Where the next op goes.
    pub point: InsertionPoint,
    source: Option<OpId>,
    pass: Option<Name>,
}

impl<'m> Builder<'m> {
    /// A builder that inserts at `point`.
    pub fn new(module: &'m mut Module, point: InsertionPoint) -> Self {
        Self { module, point, source: None, pass: None }
    }

    /// A builder that inserts before `op` and gives what it builds the place and origin of `op`, through `pass`.
    pub fn replacing(module: &'m mut Module, op: OpId, pass: Name) -> Self {
        Self { module, point: InsertionPoint::Before(op), source: Some(op), pass: Some(pass) }
    }

    /// From here on ops are made for `source`.
    pub fn set_source(&mut self, source: Option<OpId>) {
        self.source = source;
    }

    /// Creates and inserts an op.
    pub fn build(&mut self, state: OpState) -> OpId {
        let op = self.module.insert_new(self.point, state);
        if let Some(source) = self.source {
            self.module.inherit(op, &[source]);
        }
        if let (Some(pass), Some(origin)) = (self.pass, self.module.origin(op)) {
            let origin = origin.through(pass);
            self.module.set_origin(op, Some(origin));
        }
        if !matches!(self.point, InsertionPoint::Before(_) | InsertionPoint::BlockEnd(_)) {
            self.point = InsertionPoint::After(op);
        }
        op
    }

    /// Creates and inserts an op with one result, and gives that.
    pub fn value(&mut self, state: OpState) -> ValueId {
        let op = self.build(state);
        self.module.result(op, 0)
    }
}
