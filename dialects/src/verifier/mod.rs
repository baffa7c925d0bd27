//! Structural rules of the IR, and the rules of each op; collects all errors, in order of the text.
//!
//! Rules: every op is declared (unless undeclared ones are allowed) and has the parts of its declaration; a value is
//! defined where it is used; an isolated op uses nothing from outside; blocks end in a terminator where they must;
//! symbols of a table differ and references resolve; a function's signature agrees with its entry arguments.
//! What passes is wrapped in [`Verified`], which passes ask for.

mod numbering;
mod signature;

use ipu_device::hash::{HashMap, HashSet};

use crate::codes::VerifyCode;
use crate::declaration::{Trait, check_op};
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::ir::{
    Attribute, AttributeKind, Module, OpId, OpKind, SYMBOL_NAME, SymbolRef, SymbolTable, ValueId, ValueSource,
};
use numbering::Numbering;
use signature::Signature;

/// How to verify.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerifyOptions {
    /// Accept ops that no dialect declares.
    pub allow_unregistered: bool,
}

/// A module that has passed the verifier and has not changed since.
#[derive(Debug, Clone, Copy)]
pub struct Verified<'m>(&'m Module);

impl<'m> Verified<'m> {
    /// The module.
    #[must_use]
    pub fn module(self) -> &'m Module {
        self.0
    }
}

impl std::ops::Deref for Verified<'_> {
    type Target = Module;
    fn deref(&self) -> &Module {
        self.0
    }
}

/// Verifies a whole module. Warnings come back with the token.
///
/// # Errors
/// All findings, if one is an error.
pub fn verify(module: &Module, options: VerifyOptions) -> Result<(Verified<'_>, Diagnostics), Diagnostics> {
    let mut verifier = Verifier {
        module,
        options,
        diagnostics: Diagnostics::new(),
        numbering: Numbering::of(module),
        tables: HashMap::default(),
        right: HashSet::default(),
    };
    verifier.run();
    let mut diagnostics = verifier.diagnostics;
    diagnostics.sort();
    if diagnostics.has_errors() { Err(diagnostics) } else { Ok((Verified(module), diagnostics)) }
}

struct Verifier<'m> {
    module: &'m Module,
    options: VerifyOptions,
    diagnostics: Diagnostics,
    numbering: Numbering,
    tables: HashMap<OpId, SymbolTable<'m>>,
    /// Signatures of ops that kept all rules of their own.
    right: HashSet<Signature<'m>>,
}

impl<'m> Verifier<'m> {
    fn run(&mut self) {
        let module = self.module;
        // A rule of one op may read the op around it and those that make its operands.
        let mut malformed = HashSet::default();
        for op in module.walk(module.root()) {
            self.check_kind(op);
            let well_formed = check_op(module, op, &mut self.diagnostics);
            if !well_formed {
                malformed.insert(op);
            }
            self.check_operands(op);
            self.check_regions(op);
            self.check_position(op);
            self.check_symbols_differ(op);
            self.check_references(op);
            crate::ipu::verify::attributes(module, op, &mut self.diagnostics);
            if !well_formed {
                continue;
            }
            if module.has_trait(op, Trait::FunctionLike) {
                self.check_signature(op);
                crate::ipu::verify::signature(module, op, &mut self.diagnostics);
            }
            let makers = module.operands(op).iter().filter_map(|&value| module.defining_op(value));
            if module.parent_op(op).into_iter().chain(makers).any(|other| malformed.contains(&other)) {
                continue;
            }
            self.check_own_rules(op);
        }
    }

    /// The `verify` of the declaration of `op`.
    fn check_own_rules(&mut self, op: OpId) {
        let Some(declaration) = self.module.declaration(op) else { return };
        let Some(verify) = declaration.verify else { return };
        if !declaration.has_trait(Trait::VerifiedBySignature) {
            return verify(self.module, op, &mut self.diagnostics);
        }
        let signature = Signature::of(self.module, op);
        if self.right.contains(&signature) {
            return;
        }
        let before = self.diagnostics.count();
        verify(self.module, op, &mut self.diagnostics);
        if self.diagnostics.count() == before {
            self.right.insert(signature);
        }
    }

    fn error(&mut self, code: VerifyCode, op: OpId, message: String) {
        self.diagnostics.push(Diagnostic::error(code, self.module.span(op), message));
    }

    fn check_kind(&mut self, op: OpId) {
        if let (OpKind::Undeclared(name), false) = (self.module.kind(op), self.options.allow_unregistered) {
            self.error(VerifyCode::UnknownOp, op, format!("no dialect declares `{name}`"));
        }
    }

    // Values.

    fn check_operands(&mut self, op: OpId) {
        for &value in self.module.operands(op) {
            match self.is_visible(op, value) {
                Visibility::Visible => {}
                Visibility::NotDefined => {
                    let text = self.module.value_text(value);
                    let message = format!("`{text}` is used where it is not defined");
                    let error = Diagnostic::error(VerifyCode::Dominance, self.module.span(op), message);
                    let defined = self.module.value_span(value);
                    self.diagnostics.push(error.label(defined, "defined here"));
                }
                Visibility::Outside(isolated) => {
                    let (text, name) = (self.module.value_text(value), self.module.name(isolated));
                    let message =
                        format!("`{text}` is defined outside of `{name}`, which uses nothing from outside");
                    let error = Diagnostic::error(VerifyCode::Isolation, self.module.span(op), message);
                    self.diagnostics.push(error.label(self.module.span(isolated), "the isolated op"));
                }
            }
        }
    }

    fn is_visible(&self, user: OpId, value: ValueId) -> Visibility {
        let module = self.module;
        let (block, definer) = match module.value_source(value) {
            ValueSource::Result { op, .. } if module.is_live(op) => (module.parent_block(op), Some(op)),
            ValueSource::Argument { block, .. } => (Some(block), None),
            _ => return Visibility::NotDefined,
        };
        let (Some(block), mut crossed) = (block, None) else { return Visibility::NotDefined };
        let region = module.block_region(block);
        let mut at = user;
        loop {
            let Some(here) = module.parent_block(at) else { return Visibility::NotDefined };
            if module.block_region(here) == region {
                let visible = if here == block {
                    definer
                        .is_none_or(|definer| self.numbering.position(definer) < self.numbering.position(at))
                } else {
                    self.numbering.dominates(block, here)
                };
                return match crossed {
                    _ if !visible => Visibility::NotDefined,
                    Some(isolated) => Visibility::Outside(isolated),
                    None => Visibility::Visible,
                };
            }
            let Some(parent) = module.block_owner(here) else { return Visibility::NotDefined };
            if module.has_trait(parent, Trait::IsolatedFromAbove) {
                crossed = crossed.or(Some(parent));
            }
            at = parent;
        }
    }

    // Regions and blocks.

    fn check_regions(&mut self, op: OpId) {
        let module = self.module;
        let Some(declaration) = module.declaration(op) else { return };
        for (declared, &region) in declaration.regions.iter().zip(module.regions(op)) {
            let count = module.blocks_of(region).len();
            if declared.one_block && count != 1 {
                let message = format!(
                    "region `{}` of `{}` has {count} blocks, expected one",
                    declared.name, declaration.name
                );
                self.error(VerifyCode::BlockCount, op, message);
            }
            if declaration.has_trait(Trait::NoTerminator) {
                continue;
            }
            for &block in module.blocks_of(region) {
                let ends = module.last_op(block).is_some_and(|last| {
                    module.declaration(last).is_none_or(|last| last.has_trait(Trait::Terminator))
                });
                if !ends {
                    let message = format!("a block of `{}` does not end in a terminator", declaration.name);
                    self.error(VerifyCode::Terminator, op, message);
                }
            }
        }
    }

    fn check_position(&mut self, op: OpId) {
        let module = self.module;
        let misplaced = module.has_trait(op, Trait::Terminator) && module.next_op(op).is_some();
        if misplaced || (!module.successors(op).is_empty() && module.next_op(op).is_some()) {
            let message = format!("`{}` ends its block, but more ops follow", module.name(op));
            self.error(VerifyCode::Terminator, op, message);
        }
        let region = module.parent_block(op).and_then(|block| module.block_region(block));
        for &successor in module.successors(op) {
            if module.block_region(successor) != region {
                let message = format!("`{}` leads to a block of another region", module.name(op));
                self.error(VerifyCode::Terminator, op, message);
            }
        }
    }

    // Symbols.

    fn check_symbols_differ(&mut self, op: OpId) {
        let module = self.module;
        if !module.is_symbol_table(op) {
            return;
        }
        let mut seen: HashMap<&str, OpId> = HashMap::default();
        for child in module.direct_children(op) {
            let Some(name) = module.symbol_name(child) else { continue };
            if let Some(&first) = seen.get(name) {
                let message = format!("symbol `@{name}` is defined twice in `{}`", module.name(op));
                let error = Diagnostic::error(VerifyCode::DuplicateSymbol, module.span(child), message);
                self.diagnostics.push(error.label(module.span(first), "the first definition"));
            } else {
                seen.insert(name, child);
            }
        }
    }

    /// Every symbol reference in the attributes of `op` must resolve, unless its dialect looks it up elsewhere.
    fn check_references(&mut self, op: OpId) {
        let module = self.module;
        let Some(declaration) = module.declaration(op).filter(|op| !op.has_trait(Trait::ForeignSymbols))
        else {
            return;
        };
        let mut stack: Vec<&Attribute> = module
            .attributes(op)
            .iter()
            .filter(|(name, _)| name.as_str() != SYMBOL_NAME)
            .map(|(_, a)| a)
            .collect();
        while let Some(attribute) = stack.pop() {
            match attribute.kind() {
                AttributeKind::Array(elements) => stack.extend(elements),
                AttributeKind::Dictionary(entries) => stack.extend(entries.iter().map(|(_, value)| value)),
                AttributeKind::Symbol(path) if !self.resolves(op, path) => {
                    let text = attribute.to_string();
                    let message = format!("`{}` refers to `{text}`, which is not defined", declaration.name);
                    let mut error = Diagnostic::error(VerifyCode::UnknownSymbol, module.span(op), message);
                    let scope = module.ancestors(op).find(|&op| module.is_symbol_table(op));
                    let names = scope.into_iter().flat_map(|scope| module.direct_children(scope));
                    let names = names.filter_map(|op| module.symbol_name(op));
                    if let Some(near) = self.diagnostics.nearest(path.root(), names) {
                        error = error.note(format!("did you mean `@{near}`?"));
                    }
                    self.diagnostics.push(error);
                }
                _ => {}
            }
        }
    }

    fn resolves(&mut self, user: OpId, path: &SymbolRef) -> bool {
        let module = self.module;
        let scopes: Vec<OpId> = module.ancestors(user).filter(|&op| module.is_symbol_table(op)).collect();
        scopes.into_iter().any(|scope| {
            let mut found = Some(scope);
            for name in path.path() {
                found = found.and_then(|scope| {
                    self.tables.entry(scope).or_insert_with(|| SymbolTable::of(module, scope)).get(name)
                });
            }
            found.is_some()
        })
    }

    // Functions.

    fn check_signature(&mut self, op: OpId) {
        let module = self.module;
        let function = module.attribute(op, "function_type").and_then(Attribute::as_type);
        let Some(function) = function.and_then(|ty| ty.as_function()) else {
            let message = format!("`function_type` of `{}` must be a function type", module.name(op));
            return self.error(VerifyCode::Signature, op, message);
        };
        let arguments = module.entry_block(op, 0).map_or(&[][..], |block| module.arguments(block));
        let found: Vec<_> = arguments.iter().map(|&argument| module.value_type(argument)).collect();
        if !found.iter().copied().eq(&function.inputs) {
            let message = format!("the arguments of the body are not the inputs of `{}`", module.name(op));
            self.error(VerifyCode::Signature, op, message);
        }
        for (name, wanted) in [("arg_attrs", function.inputs.len()), ("res_attrs", function.results.len())] {
            let Some(list) = module.attribute(op, name) else { continue };
            let fits = list.as_array().is_some_and(|list| {
                list.len() == wanted && list.iter().all(|entry| entry.as_dictionary().is_some())
            });
            if !fits {
                self.error(
                    VerifyCode::Signature,
                    op,
                    format!("`{name}` must be an array of {wanted} dictionaries"),
                );
            }
        }
    }
}

enum Visibility {
    Visible,
    NotDefined,
    Outside(OpId),
}
