//! Symbols: ops with a `sym_name`, found by path in the symbol tables around a user.

use ipu_device::hash::HashMap;

use super::attribute::SymbolRef;
use super::entity::OpId;
use super::module::Module;
use crate::declaration::Trait;

/// The attribute that names a symbol.
pub const SYMBOL_NAME: &str = "sym_name";

/// The symbols of one symbol table, for many lookups.
#[derive(Debug, Default)]
pub struct SymbolTable<'m> {
    symbols: HashMap<&'m str, OpId>,
}

impl<'m> SymbolTable<'m> {
    /// The symbols directly in the regions of `scope`; the first of equal names counts.
    #[must_use]
    pub fn of(module: &'m Module, scope: OpId) -> Self {
        let mut symbols = HashMap::default();
        for op in module.direct_children(scope) {
            if let Some(name) = module.symbol_name(op) {
                symbols.entry(name).or_insert(op);
            }
        }
        Self { symbols }
    }

    /// The symbol `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<OpId> {
        self.symbols.get(name).copied()
    }
}

impl Module {
    /// Ops directly in the regions of `op`, in order.
    pub fn direct_children(&self, op: OpId) -> impl Iterator<Item = OpId> + '_ {
        let blocks = self.regions(op).iter().flat_map(|&region| self.blocks_of(region));
        blocks.flat_map(|&block| self.ops_of(block))
    }

    /// The name of a symbol op.
    #[must_use]
    pub fn symbol_name(&self, op: OpId) -> Option<&str> {
        self.attribute(op, SYMBOL_NAME)?.as_str()
    }

    /// Whether symbols directly in `op` are looked up there.
    #[must_use]
    pub fn is_symbol_table(&self, op: OpId) -> bool {
        self.has_trait(op, Trait::SymbolTable)
    }

    /// The symbol at `path` in the table `scope`. Linear; for many lookups build a [`SymbolTable`].
    #[must_use]
    pub fn lookup_symbol(&self, scope: OpId, path: &SymbolRef) -> Option<OpId> {
        let mut found = scope;
        for name in path.path() {
            found = self.direct_children(found).find(|&op| self.symbol_name(op) == Some(name))?;
        }
        Some(found)
    }

    /// The symbol at `path` in the innermost table around `user` that has it.
    #[must_use]
    pub fn resolve_symbol(&self, user: OpId, path: &SymbolRef) -> Option<OpId> {
        self.ancestors(user)
            .filter(|&op| self.is_symbol_table(op))
            .find_map(|scope| self.lookup_symbol(scope, path))
    }
}
